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

# DLPack's type codes: 0 int, 1 unsigned int, 2 float, 4 bfloat, 6 bool.
TYPE_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
BFLOAT_CODE = 4


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
        if _is_torch(value) and value.dtype == sys.modules["torch"].bfloat16:  # NumPy's DLPack has no bfloat16
            return np.from_dlpack(value.view(sys.modules["torch"].int16)).view(dtype("bfloat16"))
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
    """NumPy's type of this name; "bfloat16" comes from ml_dtypes.

    Raises:
      ImportError: it is bfloat16 and ml_dtypes is not installed.
    """
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(
            "expected ml_dtypes for arrays of bfloat16, found none; write pip install ml_dtypes"
        ) from error
    narrow: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return narrow


def describe(name: str, array: Array) -> _library.DLTensor:
    """A DLTensor that borrows the array's memory; the array must outlive it.

    Raises:
      TypeError: the type of the elements is not a native number or bool.
    """
    code = BFLOAT_CODE if array.dtype.name == "bfloat16" else TYPE_CODES.get(array.dtype.kind)
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
