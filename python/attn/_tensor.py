"""Tensors at the border: any array that the caller has → NumPy view → DLTensor, and results back to the caller's kind.

Nothing is copied unless it is not C-contiguous (or not aligned) in memory.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from attn import _library

Array = npt.NDArray[Any]

# DLPack's type codes: 0 int, 1 unsigned int, 2 float, 4 bfloat, 6 bool, 10 float8_e4m3fn.
TYPE_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
# Types of ml_dtypes, which NumPy's DLPack does not know: their codes, and the integers of their size.
NARROW_CODES = {"bfloat16": 4, "float8_e4m3fn": 10}
CARRIERS = {"bfloat16": "int16", "float8_e4m3fn": "int8"}


def as_array(name: str, value: Any) -> Array:
    """A NumPy view of a NumPy array, or of any object with `__dlpack__` in CPU memory; never a copy.

    Raises:
      TypeError: the object is neither, its memory is not on the CPU, or its type has no counterpart in NumPy.
    """
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "__dlpack__"):
        raise TypeError(f"expected {name} to be a NumPy array or an object with __dlpack__, found {_kind(value)}")
    device = value.__dlpack_device__()
    if device[0] != _library.DEVICE_CPU:
        raise TypeError(f"expected {name} in CPU memory, found DLPack device type {int(device[0])}")
    try:
        if _is_torch(value):
            name = str(value.dtype).removeprefix("torch.")
            if name in CARRIERS:
                return np.from_dlpack(value.view(getattr(sys.modules["torch"], CARRIERS[name]))).view(dtype(name))
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"expected {name} to export a CPU tensor through DLPack, found: {error}") from error


def contiguous(array: Array) -> Array:
    """The array itself where it is C-contiguous and aligned, otherwise a copy that is."""
    return np.require(array, requirements=["C", "A"])


def like(result: Array, model: Any) -> Any:
    """A result as the kind of object that `model` is: a torch tensor over the same memory, otherwise NumPy."""
    if not _is_torch(model):
        return result
    torch = sys.modules["torch"]
    if result.dtype.name == "bfloat16":
        return torch.from_dlpack(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_dlpack(result)


def dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of this name; "bfloat16" and "float8_e4m3fn" come from ml_dtypes.

    Raises:
      ImportError: it is one of these and ml_dtypes is not installed.
    """
    if name not in CARRIERS:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(
            f"expected ml_dtypes for arrays of {name}, found none; write pip install ml_dtypes"
        ) from error
    narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return narrow


def describe(name: str, array: Array) -> _library.DLTensor:
    """A DLTensor that borrows the array's memory; the array must outlive it.

    Raises:
      TypeError: the type of the elements is not a native number or bool.
    """
    code = NARROW_CODES.get(array.dtype.name, TYPE_CODES.get(array.dtype.kind))
    if code is None or not array.dtype.isnative:
        raise TypeError(f"expected {name} to hold native numbers or bool, found {array.dtype}")
    sizes = ctypes.c_int64 * array.ndim
    tensor = _library.DLTensor(ndim=array.ndim, byte_offset=0)
    # A null pointer is an error to the kernel, an empty array without memory is not one to us.
    tensor.data = array.ctypes.data or ctypes.addressof(tensor)
    tensor.device = _library.DLDevice(_library.DEVICE_CPU, 0)
    tensor.dtype = _library.DLDataType(code, 8 * array.dtype.itemsize, 1)
    tensor.shape = sizes(*array.shape)
    tensor.strides = sizes(*_strides(array))
    return tensor


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _strides(array: Array) -> tuple[int, ...]:
    """The strides in elements; those of a contiguous array are canonical, whatever NumPy has at sizes 0 and 1."""
    if not array.flags.c_contiguous:
        return tuple(stride // array.itemsize for stride in array.strides)
    strides = [1] * array.ndim
    for dim in range(array.ndim - 1, 0, -1):
        strides[dim - 1] = strides[dim] * array.shape[dim]
    return tuple(strides)


def _kind(value: Any) -> str:
    return type(value).__name__
