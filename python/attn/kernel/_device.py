"""CUDA devices as array libraries have them: streams, new arrays, the memory of those that there are.

What asks a library about its devices is here, and nowhere else: `TorchDevice` is all that needs torch.cuda. Nothing
waits for a device, and all memory comes from the library.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from attn.kernel import _dlpack, _library, _subclasses, _tensor
from attn.kernel._plan import DevicePlan

# cuda.h's CU_STREAM_LEGACY, as DLPack names it too.
LEGACY_STREAM = 1
UNKNOWN = -1  # the number of a device that an array does not name
ALIGNMENT = 16  # of a tensor's first byte
# From this compute capability on a block has no more shared memory than one of sm_89, less than code for 9.0 to 11.x.
SMALL_SHARED = (12, 0)


class Device:
    """A CUDA device of a library that speaks DLPack, as CuPy and JAX do, or the CUDA array interface, as Numba does."""

    def __init__(self, number: int, model: Any) -> None:
        """The device with this number; new arrays are of the kind of `model`."""
        self.number, self._model = number, model

    def __str__(self) -> str:
        """Its name, as PyTorch has it."""
        return f"cuda:{self.number}"

    def has(self, value: Any) -> bool:
        """Whether an array is on this device; of a CUDA array interface, which does not say it, on any."""
        other = of(value)
        return other is not None and (UNKNOWN in (self.number, other.number) or self.number == other.number)

    def stream(self) -> int:
        """The stream that the library uses at the moment, as DLPack names streams."""
        library = self._library()
        if library is not None:
            return int(library.cuda.get_current_stream().ptr) or LEGACY_STREAM
        if not hasattr(self._model, "__dlpack__"):
            return int(self._model.__cuda_array_interface__.get("stream") or LEGACY_STREAM)
        return LEGACY_STREAM

    def guard(self, stream: int) -> contextlib.AbstractContextManager[Any]:
        """While it is entered, the device is the thread's own, and new arrays belong to the stream."""
        library = self._library()
        if library is None:
            return contextlib.nullcontext()
        stack = contextlib.ExitStack()
        stack.enter_context(library.cuda.Device(self.number))
        if stream != self.stream():
            stack.enter_context(library.cuda.ExternalStream(0 if stream == LEGACY_STREAM else stream))
        return stack

    def _library(self) -> Any:
        """CuPy, where the array is of it; no other library here has streams and devices of its own."""
        name = type(self._model).__module__.partition(".")[0]
        return sys.modules.get(name) if name == "cupy" else None

    def empty(self, shape: list[int], dtype: str) -> Any:
        """A new array.

        Raises:
          TypeError: the library has not the array API standard.
        """
        model, library = self._model, self._library()
        if library is not None:
            return library.empty(tuple(shape), dtype=dtype)
        if not hasattr(model, "__array_namespace__"):
            raise TypeError(
                f"expected out= for inputs of {type(model).__name__}, whose library makes no arrays; found none"
            )
        namespace = model.__array_namespace__()
        same = str(getattr(model.dtype, "name", model.dtype)) == dtype
        return namespace.empty(
            tuple(shape), dtype=model.dtype if same else getattr(namespace, dtype), device=model.device
        )

    def form(self, name: str, value: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and the type of an array."""
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if isinstance(shape, tuple) and isinstance(dtype, np.dtype):
            return shape, dtype
        tensor = self.borrow(name, value, self.stream())
        return tensor.shape, tensor.dtype

    def is_view(self, value: Any) -> bool:
        """True for what a kernel with strides of the call reads in place, and one for contiguous arrays does not."""
        strides, shape = getattr(value, "strides", None), getattr(value, "shape", ())
        if not isinstance(strides, tuple) or len(shape) < 2:
            return False
        size = value.dtype.itemsize
        dense = tuple(size * x for x in _dlpack.dense_strides(shape))
        return strides != dense and strides[-1] == size and all(x % size == 0 for x in strides)

    def borrow(
        self, name: str, value: Any, stream: int, *, is_written: bool = False, in_place: bool = False
    ) -> _dlpack.Borrowed:
        """The memory of an array, which is ready on the stream; `in_place` with its strides.

        Raises:
          TypeError: it exports no tensor.
        """
        if not hasattr(value, "__dlpack__"):
            return _dlpack.of_interface(name, value, stream)
        try:
            capsule = value.__dlpack__(stream=stream)
        except _tensor.EXPORT_ERRORS as error:
            raise TypeError(f"expected {name} to export a CUDA tensor through DLPack, found: {error}") from error
        # DLManagedTensor begins with its DLTensor.
        address = _library.capsule_pointer(capsule, b"dltensor")
        return _dlpack.Borrowed(ctypes.cast(address, ctypes.POINTER(_library.DLTensor)), capsule, value)


class TorchDevice(Device):
    """A CUDA device of PyTorch."""

    def __init__(self, device: Any) -> None:
        """From a `torch.device` with an index."""
        super().__init__(device.index, None)
        self._torch, self._device = sys.modules["torch"], device

    @functools.cached_property
    def capability(self) -> tuple[int, int]:
        """The compute capability, as (9, 0)."""
        major, minor = self._torch.cuda.get_device_capability(self._device)
        return major, minor

    @functools.cached_property
    def target(self) -> str:
        """The best of attn's targets whose code it runs."""
        return target_of(self.capability)

    @property
    def is_capturing(self) -> bool:
        """Whether the current stream records a graph."""
        return bool(self._torch.cuda.is_current_stream_capturing())

    @property
    def is_current(self) -> bool:
        """Whether it is the thread's own device."""
        return bool(self._torch._C._cuda_getDevice() == self.number)

    def start(self, plan: DevicePlan, inputs: Sequence[Any], addresses: list[int], results: Sequence[Any]) -> None:
        """Starts a kernel on the current stream of the device, which is the thread's own.

        Args:
          plan: of the kernel.
          inputs, addresses: its tensors, and where they lie.
          results: what it writes.
        """
        stream = self._torch._C._cuda_getCurrentRawStream(self.number) or LEGACY_STREAM
        addresses = [*addresses, *[x.data_ptr() for x in results]]
        needed, workspace, address = plan.workspace_bytes(addresses), None, None
        if needed:  # kept until the kernel is on the stream
            workspace = self._torch.empty(needed, dtype=self._torch.uint8, device=self._device)
            address = workspace.data_ptr()
        plan(addresses, address, needed, stream)

    def stream(self) -> int:
        """PyTorch's current stream of the device."""
        return int(self._torch.cuda.current_stream(self._device).cuda_stream) or LEGACY_STREAM

    def guard(self, stream: int) -> contextlib.AbstractContextManager[Any]:
        """PyTorch's own guards: of the device, and of a stream that is not the current one."""
        if stream == self.stream():
            guard: contextlib.AbstractContextManager[Any] = self._torch.cuda.device(self._device)
        else:
            guard = self._torch.cuda.stream(self._stream(stream))
        return guard

    def empty(self, shape: list[int], dtype: str) -> Any:
        """A tensor of PyTorch's caching allocator, for the current stream."""
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype), device=self._device)

    def form(self, name: str, value: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and the type of a tensor."""
        return tuple(value.shape), _tensor.dtype(_dtype_name(name, value))

    def is_view(self, value: Any) -> bool:
        """True for a tensor that is read in place: with contiguous rows, from a multiple of 16 bytes on."""
        return (
            value.dim() > 1
            and not value.is_contiguous()
            and value.stride(-1) == 1
            and value.data_ptr() % ALIGNMENT == 0
        )

    def borrow(
        self, name: str, value: Any, stream: int, *, is_written: bool = False, in_place: bool = False
    ) -> _dlpack.Borrowed:
        """The memory of a tensor, or of a copy that is contiguous and begins at a multiple of 16 bytes."""
        _subclasses.check(name, value)
        value = _tensor.without_gradient(name, value)
        if not is_written and not (in_place and self.is_view(value)):
            value = _aligned(value)
        found = _of_torch(name, value, self.number, self.address(value, is_written=is_written))
        if stream != self.stream():  # else the allocator may give the memory away while the kernel runs
            value.record_stream(self._stream(stream))
        return found

    def address(self, value: Any, *, is_written: bool) -> int:
        """Where the tensor lies on the device."""
        return int(value.data_ptr())

    def _stream(self, stream: int) -> Any:
        return self._torch.cuda.ExternalStream(0 if stream == LEGACY_STREAM else stream, device=self._device)


def _of_torch(name: str, value: Any, number: int, address: int) -> _dlpack.Borrowed:
    return _dlpack.borrowed(address, _dtype_name(name, value), tuple(value.shape), value.stride(), number, value)


def _aligned(value: Any) -> Any:
    if math.prod(value.shape) and value.data_ptr() % ALIGNMENT:
        return value.clone(memory_format=sys.modules["torch"].contiguous_format)
    return value.contiguous()


def _dtype_name(name: str, value: Any) -> str:
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in _dlpack.TYPE_CODES:
        raise TypeError(f"expected {name} to hold numbers or bool that kernels know, found {value.dtype}")
    return dtype


@functools.lru_cache(maxsize=64)
def _torch_device(device: Any) -> TorchDevice:
    return TorchDevice(device)


def of(value: Any) -> Device | None:
    """The CUDA device in whose memory an array is; None for any other value."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return None if value.is_cpu or not value.is_cuda else _torch_device(value.device)
    if isinstance(value, np.ndarray):
        return None
    if not hasattr(value, "__dlpack_device__"):
        return Device(UNKNOWN, value) if hasattr(value, "__cuda_array_interface__") else None
    kind, number = value.__dlpack_device__()
    return Device(int(number), value) if int(kind) == _library.DEVICE_CUDA else None


def is_view(value: Any) -> bool:
    """Whether an array on a device is a view that kernels with strides of the call read in place."""
    device = of(value)
    return device is not None and device.is_view(value)


def handle_of(stream: Any) -> int:
    """The handle of a stream, as DLPack names streams.

    Raises:
      TypeError: it is neither a handle nor a stream of PyTorch, CuPy or Numba, nor one that has `__cuda_stream__`.
    """
    handle = stream
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    else:
        for name in ("cuda_stream", "ptr", "handle"):  # of PyTorch, CuPy, Numba
            handle = getattr(stream, name, handle)
    handle = getattr(handle, "value", handle)
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise TypeError(
            f"expected stream to be the handle of a CUDA stream or a stream of PyTorch or CuPy, found {stream!r}"
        )
    return handle or LEGACY_STREAM


def place(value: Any) -> str:
    """Where a value was found, for messages."""
    device = of(value)
    if device is not None:
        return f"it on {device}"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "it in CPU memory" if value.is_cpu else f"it on {value.device}"
    if not hasattr(value, "__dlpack_device__"):
        return f"a {type(value).__name__}"
    kind = int(value.__dlpack_device__()[0])
    return "it in CPU memory" if kind == _library.DEVICE_CPU else f"it in memory of DLPack device type {kind}"


def target_of(capability: tuple[int, int]) -> str:
    """The best of attn's targets for a device of this compute capability.

    Raises:
      RuntimeError: there is none.
    """
    names: bytes = _library.load().attn_targets()
    best = ""
    for name in names.decode().split():
        found = re.fullmatch(r"sm_(\d+)(\d)(a?)", name)
        if found is None:
            continue
        own = (int(found[1]), int(found[2]))
        is_too_large = capability >= SMALL_SHARED > own >= (9, 0)
        if own == capability or (own < capability and not found[3] and not is_too_large):
            best = name
    if not best:
        raise RuntimeError(
            f"expected a device of compute capability 8.0 or higher, found {capability[0]}.{capability[1]}; write the "
            "attention by the operators of the array library"
        )
    return best
