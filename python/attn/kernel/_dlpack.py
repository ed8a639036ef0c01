"""DLTensors over memory of the CPU and of CUDA devices: the form in which kernels take tensors."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.kernel import _library, _tensor

Array = npt.NDArray[Any]

CPU = _library.DLDevice(_library.DEVICE_CPU, 0)
# What tensors on a device may hold: DLPack's type code and bits, and NumPy's name.
TYPE_NAMES = {
    (0, 8): "int8",
    (0, 32): "int32",
    (0, 64): "int64",
    (1, 8): "uint8",
    (2, 16): "float16",
    (2, 32): "float32",
    (2, 64): "float64",
    (4, 16): "bfloat16",
    (6, 8): "bool",
    (10, 8): "float8_e4m3fn",
    (12, 8): "float8_e5m2",
}
TYPE_CODES = {name: code for code, name in TYPE_NAMES.items()}


class Borrowed:
    """A DLTensor over the memory of an array on a device, and what keeps both alive."""

    def __init__(self, tensor: Any, *owners: Any) -> None:
        """Of a pointer to a DLTensor."""
        self.tensor, self._owners = tensor, owners

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return tuple(self.tensor[0].shape[i] for i in range(self.tensor[0].ndim))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the elements."""
        kind = self.tensor[0].dtype
        name = TYPE_NAMES.get((kind.code, kind.bits))
        if name is None:
            raise TypeError(f"expected numbers or bool, found DLPack type code {kind.code} of {kind.bits} bits")
        return _tensor.dtype(name)

    @property
    def address(self) -> int:
        """Of the first element."""
        return int(self.tensor[0].data or 0) + int(self.tensor[0].byte_offset)


def borrowed(
    address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], number: int, owner: Any
) -> Borrowed:
    """A tensor at an address on the device of this number; strides count elements."""
    tensor = _described(address, dtype, shape, strides, number)
    return Borrowed(ctypes.pointer(tensor), tensor, owner)


def form_of(
    dtype: str, shape: tuple[int, ...], number: int, strides: tuple[int, ...] | None = None
) -> _library.DLTensor:
    """A tensor on the device of this number, contiguous without strides, whose address is still to be written."""
    return _described(0, dtype, shape, dense_strides(shape) if strides is None else strides, number)


def _described(
    address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], number: int
) -> _library.DLTensor:
    code, bits = TYPE_CODES[dtype]
    sizes = ctypes.c_int64 * max(len(shape), 1)
    place, kind = _library.DLDevice(_library.DEVICE_CUDA, number), _library.DLDataType(code, bits, 1)
    return _library.DLTensor(address, place, len(shape), kind, sizes(*shape), sizes(*strides), 0)  # which keeps both


def of_interface(name: str, value: Any, stream: int) -> Borrowed:
    """The memory of an array that speaks the CUDA array interface.

    Raises:
      TypeError: it does not; or it is not ready on the stream, its type is unknown, or elements are missing.
    """
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(
            f"expected {name} to be an object with __dlpack__ or __cuda_array_interface__, found {type(value).__name__}"
        )
    own, dtype = interface.get("stream"), np.dtype(interface["typestr"])
    if own is not None and own != stream:
        raise TypeError(f"expected {name} to be ready on the stream {stream}, found an array of the stream {own}")
    if dtype.name not in TYPE_CODES or interface.get("mask") is not None:
        raise TypeError(f"expected {name} to hold numbers or bool without a mask, found {interface['typestr']}")
    shape, steps = tuple(interface["shape"]), interface.get("strides")
    is_dense = steps is None
    strides = dense_strides(shape) if is_dense else tuple(step // dtype.itemsize for step in steps)
    return borrowed(int(interface["data"][0]), dtype.name, shape, strides, 0, value)


def describe(name: str, array: Array) -> _library.DLTensor:
    """A DLTensor that borrows the array's memory; the array must outlive it.

    Raises:
      TypeError: the type of the elements is not a native number or bool.
    """
    strides = None if array.flags.c_contiguous else tuple(stride // array.itemsize for stride in array.strides)
    form = _form(array.dtype, array.shape, strides)
    if form is None:
        raise TypeError(f"expected {name} to hold native numbers or bool, found {array.dtype}")
    tensor = _library.DLTensor.from_buffer_copy(form)
    tensor.form = form  # it owns the sizes
    # A null pointer is an error to the kernel, an empty array without memory is not one to us.
    tensor.data = array.ctypes.data or ctypes.addressof(tensor)
    return tensor


def call(function: Any, first: tuple[Any, ...], label: str, names: list[str], arrays: list[Array]) -> None:
    """Calls a checked entry of the library.

    Args:
      function: takes what is in `first`, then the tensors, their count, and where to write a message.
      first: its arguments before the tensors.
      label: what the message of an error begins with.
      names, arrays: the arguments of the kernel in the order of its entry.

    Raises:
      TypeError, ValueError, RuntimeError: the entry refused them.
    """
    borrowed = [borrow(name, array) for name, array in zip(names, arrays, strict=True)]
    pointers = _pointers(len(borrowed))(*[address for address, _ in borrowed])
    message = _library.Message()
    status = function(*first, pointers, len(borrowed), message, _library.MESSAGE_SIZE)
    if status != _library.OK:
        raise _library.error(status, f"{label}: {message.value.decode(errors='replace')}")


def borrow(name: str, array: Array) -> tuple[int, Any]:
    """The address of a DLTensor that borrows the array's memory, and its owner; array and owner must outlive it.

    NumPy's own tensor where it exports one, which takes a fifth of the time of `describe`: it has none of read-only
    arrays and of ml_dtypes' types.

    Raises:
      TypeError: as `describe`.
    """
    if array.dtype.kind in _tensor.TYPE_CODES and array.size:
        try:
            capsule = array.__dlpack__()
        except BufferError:
            pass
        else:  # DLManagedTensor begins with its DLTensor.
            return _library.capsule_pointer(capsule, b"dltensor"), capsule
    tensor = describe(name, array)
    return ctypes.addressof(tensor), tensor


def borrow_plain(arrays: list[Any], pointers: Any) -> list[Any] | None:
    """The owners of DLTensors of arrays as most are: of NumPy, C-contiguous, aligned, writable and of its own types.

    Args:
      arrays: of any kind; if one is another, the result is None.
      pointers: as many, which receive the addresses.
    """
    owners = []
    try:
        for n, array in enumerate(arrays):
            if type(array) is not np.ndarray or not array.flags.carray:
                return None
            capsule = array.__dlpack__()
            pointers[n] = _library.capsule_pointer(capsule, b"dltensor")
            owners.append(capsule)
    except BufferError:
        return None
    return owners


# What follows is remembered: a call of a small kernel takes no longer than asking NumPy and ctypes again.


@functools.cache
def _pointers(count: int) -> Any:
    """The type of a C array of pointers."""
    return ctypes.c_void_p * count


@functools.cache
def _element(dtype: np.dtype[Any]) -> _library.DLDataType | None:
    """DLPack's name of a native number or bool, None of any other type."""
    code = _tensor.NARROW_CODES.get(dtype.name, _tensor.TYPE_CODES.get(dtype.kind))
    return None if code is None or not dtype.isnative else _library.DLDataType(code, 8 * dtype.itemsize, 1)


@functools.lru_cache(maxsize=1024)
def _form(dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...] | None) -> _library.DLTensor | None:
    """A tensor without memory, which nobody may write to; strides in elements, None for contiguous ones."""
    element = _element(dtype)
    if element is None:
        return None
    if strides is None:  # whatever NumPy has at sizes 0 and 1
        strides = dense_strides(shape)
    sizes = ctypes.c_int64 * len(shape)
    return _library.DLTensor(None, CPU, len(shape), element, sizes(*shape), sizes(*strides), 0)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous array, in elements."""
    return tuple([math.prod(shape[dim + 1 :]) for dim in range(len(shape))])
