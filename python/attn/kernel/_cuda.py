"""Calls on a CUDA device: `target=` names a GPU of `attn.targets()`, and arrays lie in the memory of a device.

```python
import cupy  # or torch

q, k, v = (cupy.random.standard_normal((1, 8, 1024, 64), dtype="float32").astype("float16") for _ in "qkv")
out, lse = attn.sdpa(q, k, v, causal="top_left", return_lse=True, target="sm_80")  # arrays of CuPy
gradients = attn.sdpa_backward(q, k, v, out, lse, dout, causal="top_left", target="sm_80")

library = attn.load_library("attention.json")  # attnc --problems=FILE --target=sm_80,sm_90a --emit=shared …
out = library.sdpa(q, k, v, causal="top_left", stream=stream)  # the code for the device of the stream
```

One rule says which arrays are accepted, by kernels, libraries and the calls with `target=`:

| | |
| --- | --- |
| kind | `__dlpack__`; or `__cuda_array_interface__`, where its stream is none or that of the call |
| place | one CUDA device for all of a call, numbers (scale, seeds of dropout) on the host |
| layout | q, k, v, bias, mask and dout: any strides of rows; others C-contiguous; else copied (PyTorch), or refused |
| types | as for processors, without float64; sinks, scales of k and v, captured floats: float32 |
| integers | lengths, offsets, prefix sums, block tables: int32; the host does not read them, so they are not tested |

Results are new arrays of the library of q, by its allocator, as is the workspace. Kernels start on the stream that
this library uses at the moment (PyTorch, CuPy), or on the legacy default stream; `Library` takes `stream=`. Nothing
waits for the device, so a call can be part of a CUDA graph of PyTorch; its first call loads the code, and is better
made before.

Refused: weights as results, `multi_head`, and a `target` below 8.0.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from attn.kernel import _device, _dlpack, _library, _tensor
from attn.kernel._device import Device
from attn.kernel._dlpack import Borrowed


class Entry(NamedTuple):
    """What a call needs of a kernel, of a module or a library.

    Attributes:
      label: what the message of an error begins with.
      inputs, outputs: its arguments in the manifest.
      new_shapes: from the inputs, and the names of outputs that are not made new, to the shapes of the outputs.
      in_order: from the inputs and then the outputs to the order of the C entry.
      workspace_bytes: takes what `start` takes, without the workspace, its bytes and the stream.
      start: takes the tensors, their count, workspace, its bytes, the stream, and where to write a message.
    """

    label: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    new_shapes: Callable[[list[Any], Collection[str]], list[list[int]]]
    in_order: Callable[[list[Any]], list[Any]]
    workspace_bytes: Callable[..., int]
    start: Callable[..., int]


def is_target(target: str) -> bool:
    """Whether a target's name is that of a GPU.

    Raises:
      TypeError, ValueError: it is no name.
    """
    if not isinstance(target, str):
        raise TypeError(f'expected target to be "host" or a name in attn.targets(), found {target!r}')
    if target in ("cuda", "gpu"):
        raise ValueError(f'expected target to be "host" or a name in attn.targets(), as "sm_80", found {target!r}')
    return target.startswith("sm_")


def refuse_gpu(function: str, target: str, instead: str) -> None:
    """For functions that take host arrays alone.

    Raises:
      ValueError: the target is a GPU.
    """
    if is_target(target):
        raise ValueError(f"expected a processor as target of {function}, found {target!r}; {instead}")


def stand_in(name: str, value: Any, device: Device) -> _tensor.StandIn:
    """A NumPy array with shape and type of a device's array; its values mean nothing, and it takes no memory."""
    shape, dtype = device.form(name, value)
    return np.broadcast_to(np.zeros((), dtype), shape).view(_tensor.StandIn)


def device_of(arrays: dict[str, Any]) -> Device:
    """The device that all of these arrays are on.

    Raises:
      TypeError: one is elsewhere, or has no values.
    """
    device, first = None, ""
    for name, value in arrays.items():
        own = _device.of(value)
        if own is None:
            _tensor.refuse_tracer(name, value)
            raise TypeError(
                f"expected {name} in the memory of a CUDA device, found {_device.place(value)}; copy it there, or "
                'write target="host"'
            )
        if device is None:
            device, first = own, name
        elif not device.has(value):
            raise TypeError(f"expected {name} on {device}, as {first} is, found it on {own}; copy it there")
    if device is None:
        raise TypeError("expected arrays in the memory of a CUDA device, found none")
    return device


def split(target: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Any] | None]:
    """The arguments of a call, in the order of its kernel, with stand-ins for arrays on a device, and these arrays.

    The problem follows from shapes and types. Values are on the device, where nothing tests them: lengths must be in
    range, and integers int32. None and words stay. For a processor the arguments stay as they are, without arrays.
    """
    if not is_target(target):
        return arguments, None
    given = {name: x for name, x in arguments.items() if x is not None and not isinstance(x, str)}
    device = device_of(given)
    return arguments | {name: stand_in(name, x, device) for name, x in given.items()}, list(given.values())


def call(entry: Entry, inputs: tuple[Any, ...], out: Any = None, stream: Any = None) -> Any:
    """The output of a kernel, or a tuple of its outputs.

    Args:
      entry: the kernel.
      inputs: as the kernel takes them: arrays on one device, and numbers where it takes scalars.
      out: the arrays to write to; None for new ones, also in the place of one of several.
      stream: a stream or its handle; None for the one that the library of the first array uses.
    """
    given = {x["name"]: y for x, y in zip(entry.inputs, inputs, strict=True) if x["passed_by"] != "value"}
    device = device_of(given)
    queue = device.stream() if stream is None else _device.handle_of(stream)
    with device.guard(queue):
        tensors = [_describe(device, x, y, queue) for x, y in zip(entry.inputs, inputs, strict=True)]
        places = (out,) if not isinstance(out, tuple | list) else tuple(out)
        if out is None:
            places = (None,) * len(entry.outputs)
        elif len(places) != len(entry.outputs):
            raise ValueError(f"expected {len(entry.outputs)} outputs, found {len(places)}")
        written = {x["name"]: y for x, y in zip(entry.outputs, places, strict=True) if y is not None}
        device_of(given | written)
        shapes = entry.new_shapes(tensors, written) if len(written) < len(places) else [[]] * len(places)
        results = tuple(
            device.empty(shape, x["dtype"]) if y is None else y
            for shape, x, y in zip(shapes, entry.outputs, places, strict=True)
        )
        for x, y in zip(entry.outputs, results, strict=True):
            tensors.append(device.borrow(x["name"], y, queue, is_written=True))
        _run(entry, entry.in_order(tensors), device, queue)
    if out is not None:
        _tensor.count_writes(results)
    return results[0] if len(results) == 1 else results


def _describe(device: Device, argument: dict[str, Any], value: Any, stream: int) -> Any:
    """A tensor on the device; of a scalar, one on the host."""
    if argument["passed_by"] == "value":
        return _HostScalar(argument, value)
    return device.borrow(argument["name"], value, stream, in_place=argument["strided"])


class _HostScalar:
    """A scalar that the kernel takes by value."""

    def __init__(self, argument: dict[str, Any], value: Any) -> None:
        self.array = np.asarray(value, dtype=_tensor.dtype(argument["dtype"]))
        self.tensor = ctypes.pointer(_dlpack.describe(argument["name"], self.array))
        self.shape = self.array.shape


def _run(entry: Entry, tensors: list[Borrowed], device: Device, stream: int) -> None:
    pointers = (ctypes.POINTER(_library.DLTensor) * len(tensors))(*(x.tensor for x in tensors))
    needed = _library.workspace_bytes(entry.label, entry.workspace_bytes, pointers, len(tensors))
    # The library may give this memory away when the call has returned: to what is on the stream behind the kernel.
    workspace, address = None, None
    if needed:
        workspace = device.borrow("the workspace", device.empty([needed], "uint8"), stream, is_written=True)
        address = workspace.address
    message = _library.Message()
    status = entry.start(pointers, len(tensors), address, needed, stream, message, len(message))
    if status != _library.OK:
        raise _library.error(status, f"{entry.label}: {message.value.decode(errors='replace')}")
