"""Calls of GPU kernels on tensors in the memory of a device, through DLPack, on the caller's stream.

Nothing is copied and nothing waits: outputs and workspace come from the array library of the inputs, and the kernel
is started on the stream that this library uses. Libraries without streams of their own (JAX) are given the legacy
default stream.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from attn import _library, _tensor

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
}
# cuda.h's CU_STREAM_LEGACY, as DLPack names it too.
LEGACY_STREAM = 1


class DeviceTensor:
    """A DLTensor of an object with `__dlpack__`, which lives as long as this does."""

    def __init__(self, name: str, value: Any, stream: int | None) -> None:
        """Borrows the memory of `value`.

        Raises:
          TypeError: it exports no DLPack tensor, or none in the memory of a CUDA device.
        """
        _tensor.refuse_tracer(name, value)
        value = _tensor.without_gradient(name, value)
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"expected {name} to be an object with __dlpack__, found {type(value).__name__}")
        device = value.__dlpack_device__()
        if device[0] != _library.DEVICE_CUDA:
            raise TypeError(
                f"expected {name} in the memory of a CUDA device, found DLPack device type {int(device[0])}; "
                'copy it there, or write target="host"'
            )
        self.device = int(device[1])
        self.value = value
        try:
            self._capsule = value.__dlpack__(stream=stream)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"expected {name} to export a CUDA tensor through DLPack, found: {error}") from error
        # DLManagedTensor begins with its DLTensor.
        address = _library.capsule_pointer(self._capsule, b"dltensor")
        self.tensor = ctypes.cast(address, ctypes.POINTER(_library.DLTensor))

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


def is_target(target: str) -> bool:
    """Whether a target's name is that of a GPU.

    Raises:
      TypeError: it is no name.
    """
    if not isinstance(target, str):
        raise TypeError(f'expected target to be "host" or a name in attn.targets(), found {target!r}')
    return target.startswith("sm_")


def is_on_device(value: Any) -> bool:
    """Whether a tensor is in the memory of a CUDA device."""
    if getattr(value, "is_cpu", False):  # torch's quicker way
        return False
    return hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) == _library.DEVICE_CUDA


def refuse_gpu(function: str, target: str, instead: str) -> None:
    """For functions that take host arrays alone.

    Raises:
      ValueError: the target is a GPU.
    """
    if is_target(target):
        raise ValueError(f"expected a processor as target of {function}, found {target!r}; {instead}")


def stand_in(name: str, value: Any) -> Any:
    """A NumPy array with shape and type of a device's tensor; its values mean nothing, and it takes no memory."""
    tensor = DeviceTensor(name, value, stream_of(value))
    return np.broadcast_to(np.zeros((), tensor.dtype), tensor.shape)


def split(target: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Any] | None]:
    """The arguments of a call, in the order of its kernel, with stand-ins for tensors on a device, and these tensors.

    The problem follows from shapes and types. Values are on the device, where nothing tests them: lengths must be in
    range, and integers int32. None and words stay. For a processor the arguments stay as they are, without tensors.
    """
    if not is_target(target):
        return arguments, None
    tensors = {name: x for name, x in arguments.items() if x is not None and not isinstance(x, str)}
    return arguments | {name: stand_in(name, x) for name, x in tensors.items()}, list(tensors.values())


def stream_of(model: Any) -> int:
    """The stream that the array library of `model` uses at the moment, as DLPack names streams."""
    library = sys.modules.get(type(model).__module__.partition(".")[0])
    if library is not None and library.__name__ == "torch":
        return int(library.cuda.current_stream(model.device).cuda_stream) or LEGACY_STREAM
    if library is not None and library.__name__ == "cupy":
        return int(library.cuda.get_current_stream().ptr) or LEGACY_STREAM
    return LEGACY_STREAM


def empty(model: Any, shape: list[int], dtype: str) -> Any:
    """A new array of the library and on the device of `model`.

    Raises:
      TypeError: the library is neither torch nor one with the array API standard.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.Tensor):
        return torch.empty(shape, dtype=getattr(torch, dtype), device=model.device)
    if not hasattr(model, "__array_namespace__"):
        raise TypeError(
            f"expected out= for inputs of {type(model).__name__}, whose library makes no arrays; found none"
        )
    namespace = model.__array_namespace__()
    same = str(getattr(model.dtype, "name", model.dtype)) == dtype
    return namespace.empty(tuple(shape), dtype=model.dtype if same else getattr(namespace, dtype), device=model.device)


def call(kernel: Any, inputs: tuple[Any, ...], out: Any) -> Any:
    """`Kernel.__call__` of a GPU kernel."""
    model = next((x for x in inputs if hasattr(x, "__dlpack_device__") and not isinstance(x, np.ndarray)), None)
    if model is None:
        raise TypeError(f"expected tensors in the memory of a CUDA device for {kernel.name}, found none")
    stream = stream_of(model)
    given = [_describe(argument, x, stream) for argument, x in zip(kernel.inputs, inputs, strict=True)]
    if out is None:
        shapes = kernel.new_shapes(given)
        results = tuple(empty(model, shape, x["dtype"]) for shape, x in zip(shapes, kernel.outputs, strict=True))
    else:
        results = tuple(out) if isinstance(out, tuple | list) else (out,)
        if len(results) != len(kernel.outputs):
            raise ValueError(f"expected {len(kernel.outputs)} outputs, found {len(results)}")
    outputs = [DeviceTensor(x["name"], y, stream) for x, y in zip(kernel.outputs, results, strict=True)]
    _run(kernel, kernel.in_order([*given, *outputs]), model, stream)
    return results[0] if len(results) == 1 else results


def _describe(argument: dict[str, Any], value: Any, stream: int) -> Any:
    """A tensor on the device; of a scalar, one on the host."""
    if argument["passed_by"] == "value":
        return _HostScalar(argument, value)
    if hasattr(value, "contiguous"):
        value = value.contiguous()
    return DeviceTensor(argument["name"], value, stream)


class _HostScalar:
    """A scalar that the kernel takes by value."""

    def __init__(self, argument: dict[str, Any], value: Any) -> None:
        self.array = np.asarray(value, dtype=_tensor.dtype(argument["dtype"]))
        self.tensor = ctypes.pointer(_tensor.describe(argument["name"], self.array))
        self.shape = self.array.shape


def _run(kernel: Any, tensors: list[Any], model: Any, stream: int) -> None:
    library = _library.load()
    pointers = (ctypes.POINTER(_library.DLTensor) * len(tensors))(*(x.tensor for x in tensors))
    message = ctypes.create_string_buffer(_library.MESSAGE_SIZE)
    name = kernel.name.encode()
    needed = library.attn_module_workspace_bytes(kernel._module, name, pointers, len(tensors), message, len(message))
    if needed < 0:
        raise _error(kernel, -needed, message)
    workspace = DeviceTensor("the workspace", empty(model, [needed], "uint8"), stream) if needed else None
    address = None if workspace is None else workspace.tensor[0].data + workspace.tensor[0].byte_offset
    status = library.attn_module_call_cuda(
        kernel._module, name, pointers, len(tensors), address, needed, stream, message, len(message)
    )
    if status != _library.OK:
        raise _error(kernel, status, message)


def _error(kernel: Any, status: int, message: Any) -> Exception:
    return _library.error(status, f"{kernel.name}: {message.value.decode(errors='replace')}")
