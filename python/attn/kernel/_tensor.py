"""Tensors at the border: any array that the caller has → NumPy view → DLTensor, and results back to the caller's kind.

Nothing is copied unless its rows are not contiguous (or not aligned) in memory, or the kernel was compiled for
C-contiguous arrays.
"""

from __future__ import annotations

import functools
import numbers
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.kernel import _library, _subclasses

Array = npt.NDArray[Any]

# DLPack's type codes: 0 int, 1 unsigned int, 2 float, 4 bfloat, 6 bool, 10 float8_e4m3fn, 12 float8_e5m2.
TYPE_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
# Types of ml_dtypes, which NumPy's DLPack does not know: their codes, and the integers of their size.
NARROW_CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12}
CARRIERS = {"bfloat16": "int16", "float8_e4m3fn": "int8", "float8_e5m2": "int8"}
# What exporters and NumPy raise where they have no tensor to give or to take.
EXPORT_ERRORS = (BufferError, RuntimeError, TypeError, ValueError)
# Of an array on a CUDA device that is given to a processor.
WRITE_TARGET = 'write target="sm_80" or another GPU of attn.targets()'


class StandIn(np.ndarray[Any, Any]):
    """An array for an array on a device: shape and type are those of that, the values are nobody's."""


def as_array(name: str, value: Any) -> Array:
    """A NumPy view of a NumPy array, or of any object with `__dlpack__` in CPU memory; never a copy.

    Raises:
      TypeError: the object is neither, its memory is not on the CPU, or its type has no counterpart in NumPy.
    """
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"expected {name} without a mask of its own, found numpy.ma; write {name}.filled(…)")
        return value
    if is_torch(value):
        return _of_torch(name, value)
    refuse_tracer(name, value)
    if not hasattr(value, "__dlpack__"):
        raise TypeError(f"expected {name} to be a NumPy array or an object with __dlpack__, found {_kind(value)}")
    device = value.__dlpack_device__()
    if device[0] != _library.DEVICE_CPU:
        advice = f"; {WRITE_TARGET}" if device[0] == _library.DEVICE_CUDA else ""
        raise TypeError(f"expected {name} in CPU memory, found DLPack device type {int(device[0])}{advice}")
    try:
        return np.from_dlpack(value)
    except EXPORT_ERRORS as error:
        array = _of_narrow(value)
        if array is None:
            raise TypeError(f"expected {name} to export a CPU tensor through DLPack, found: {error}") from error
        return array


def _of_torch(name: str, tensor: Any) -> Array:
    """A NumPy view of a torch tensor, by what its `__dlpack__` ends in, which takes a third of the time.

    Not by `Tensor.numpy`, after which PyTorch never resizes the storage again, as FSDP does to free parameters.

    Raises:
      TypeError: its memory is not on the CPU, not what its elements are, or its gradient would be lost.
    """
    torch = sys.modules["torch"]
    if type(tensor) is not torch.Tensor:
        _subclasses.check(name, tensor)
    if not tensor.is_cpu:
        is_cuda = str(tensor.device).startswith("cuda")
        advice = f"{WRITE_TARGET}, or attn.torch.sdpa, or {name}.cpu()" if is_cuda else f"write {name}.cpu()"
        raise TypeError(f"expected {name} in CPU memory, found a tensor on {tensor.device}; {advice}")
    if tensor.requires_grad:
        tensor = without_gradient(name, tensor)
    if tensor.is_neg():
        raise TypeError(f"expected {name} to be a tensor without the negative bit; write tensor.resolve_neg()")
    try:
        if not tensor.data_ptr() and tensor.numel():
            raise TypeError("one without memory, as after untyped_storage().resize_(0)")
        return _view(torch, tensor)
    except EXPORT_ERRORS as error:
        _subclasses.check(name, tensor)
        raise TypeError(f"expected {name} to be a dense CPU tensor, found: {error}") from error


def _view(torch: Any, tensor: Any) -> Array:
    """A NumPy view of a tensor that has CPU memory."""
    name = _subclasses.element_of(tensor.dtype)
    if name in CARRIERS:
        with torch._C._DisableFuncTorch():  # whose transforms would wrap the integers
            tensor = tensor.view(getattr(torch, CARRIERS[name]))
    array: Array = np.from_dlpack(_Capsule(torch._C._to_dlpack_versioned(tensor)))
    return array.view(dtype(name)) if name in CARRIERS else array


def without_gradient(name: str, value: Any) -> Any:
    """The object, or of a torch tensor that requires a gradient which nobody records the tensor without it.

    Raises:
      TypeError: the gradient is recorded, and would be lost.
    """
    if not is_torch(value) or not value.requires_grad:
        return value
    if sys.modules["torch"].is_grad_enabled():
        raise TypeError(
            f"expected {name} to be a tensor that requires no gradient, found one that does, which attn.torch.sdpa "
            "records; write that, or for inference call it under torch.no_grad()"
        )
    return value.detach()


def count_writes(values: tuple[Any, ...]) -> None:
    """Has autograd know, as after its own functions, that tensors of PyTorch among these were written in place."""
    torch = sys.modules.get("torch")
    if torch is not None and values:
        torch.autograd.graph.increment_version([x for x in values if isinstance(x, torch.Tensor)])


def is_tracer(value: Any) -> bool:
    """Whether this is what JAX calls functions with to trace them."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def refuse_tracer(name: str, value: Any) -> None:
    """For what computes with numbers.

    Raises:
      TypeError: it is what JAX calls functions with to trace them, and has none.
    """
    if is_tracer(value):
        raise TypeError(
            f"expected {name} to have its values, found a {_kind(value)} of JAX, which has none (under jax.jit, grad "
            "or vmap); write attn.jax.sdpa inside of these, or call attn outside of them"
        )


def _of_narrow(value: Any) -> Array | None:
    """A view of a tensor whose elements ml_dtypes knows, but not NumPy; None where they are others."""
    try:
        capsule = value.__dlpack__()
    except EXPORT_ERRORS:
        return None
    element = _library.DLTensor.from_address(_library.capsule_pointer(capsule, b"dltensor")).dtype
    for name, carrier in CARRIERS.items():
        if (element.code, element.bits, element.lanes) == (NARROW_CODES[name], 8 * np.dtype(carrier).itemsize, 1):
            element.code = TYPE_CODES["i"]
            integers: Array = np.from_dlpack(_Capsule(capsule))
            return integers.view(dtype(name))
    return None


class _Capsule:
    """What `numpy.from_dlpack` takes for a capsule that is there already.

    It is the consumer's own: to call its elements integers of their size changes nothing for who made it.
    """

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_library.DEVICE_CPU, 0)


def as_numbers(name: str, value: Any) -> Array:
    """The same of a few numbers, which may be a list as well; of any array those that NumPy makes of it."""
    refuse_tracer(name, value)
    return np.asarray(as_array(name, value) if is_torch(value) else value)


def as_scalar(name: str, value: Any) -> Array | None:
    """An array without dimensions, of a float that each call of a kernel gives; None of a number or None.

    Raises:
      TypeError, ValueError: it is an array of other elements than floats, or has dimensions.
    """
    if isinstance(value, numbers.Number) or not hasattr(value, "__dlpack__"):
        return None
    array = as_array(name, value)
    if array.ndim:
        raise ValueError(f"expected {name} to be a number or an array without dimensions, found shape {array.shape}")
    if array.dtype.kind not in "fV":
        raise TypeError(f"expected {name} to be a float, found {array.dtype}")
    return array


def contiguous(array: Array) -> Array:
    """The array itself where it is C-contiguous and aligned, otherwise a copy that is."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, requirements=["C", "A"])


def has_rows(array: Array) -> bool:
    """True where the elements of a row, the last dimension, lie one after the other, whatever the rows' strides."""
    size = array.itemsize
    is_row = array.ndim > 0 and (array.strides[-1] == size or array.shape[-1] == 1)
    return is_row and array.flags.aligned and all(stride % size == 0 for stride in array.strides)


def is_view(array: Array) -> bool:
    """True for what a kernel with strides of the call reads in place, and one for C-contiguous arrays does not."""
    return array.ndim > 1 and not array.flags.c_contiguous and has_rows(array)


def is_plain_i32(array: Any) -> bool:
    """True for a vector of i32 that a kernel takes as it is."""
    return type(array) is np.ndarray and array.dtype == np.int32 and array.ndim == 1 and array.flags.c_contiguous


def without_values(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """An array that stands for others of this shape and type: one element of memory."""
    return np.broadcast_to(np.empty((), dtype), shape)


def new(element: str, shape: list[int], model: Any) -> tuple[Array, Any]:
    """The memory of a result, and the result where it is there before it is computed, a tensor like `model`.

    PyTorch resizes no storage that another library has allocated, as those who drop activations ask it to.
    """
    if not is_torch(model):
        return np.empty(shape, dtype(element)), None
    torch = sys.modules["torch"]
    result = torch.empty(shape, dtype=getattr(torch, element), device=model.device)
    return _view(torch, result), result


def like(result: Array, model: Any) -> Any:
    """A finished result as the kind of object that `model` is, a tensor of PyTorch or an array of JAX; otherwise NumPy.

    It is over the same memory, but for arrays of JAX on another device than the CPU or of rows that are not aligned.
    """
    if not is_torch(model):
        jax = sys.modules.get("jax")
        if jax is None or not isinstance(model, jax.Array):
            return result
        return jax.device_put(result, next(iter(model.devices())), may_alias=True)
    torch = sys.modules["torch"]
    if type_name(result.dtype) == "bfloat16":
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)


@functools.cache
def dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of this name; "bfloat16", "float8_e4m3fn" and "float8_e5m2" come from ml_dtypes.

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


# What follows is remembered: a call of a small kernel takes no longer than asking NumPy and ctypes again.


@functools.cache
def type_name(dtype: np.dtype[Any]) -> str:
    """The name of a type, as "float32"."""
    return dtype.name


def is_torch(value: Any) -> bool:
    """Whether this is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _kind(value: Any) -> str:
    return type(value).__name__
