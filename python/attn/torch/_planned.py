"""Kernels for tensors of one form, by plans: further calls write addresses alone."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from attn.kernel import _device, _kernel, _plan, _tensor
from attn.kernel._device import TorchDevice

Tensor = torch.Tensor

# Results that nobody reads lie in memory of the plan; beyond these bytes they are allocated.
MAX_SCRATCH_BYTES = 1 << 14


class Step(NamedTuple):
    """A kernel for tensors of one form.

    Attributes:
      plan: calls the kernel; of a device, a DevicePlan.
      copied: which of the inputs are copied to be contiguous.
      make: allocate the results, in the order of the plan: each a function, and the input that it takes.
      device: where it runs; None for the CPU.
    """

    plan: _plan.Plan
    copied: list[int]
    make: list[tuple[Callable[[Tensor], Tensor], int]]
    device: TorchDevice | None = None

    def run(self, inputs: Sequence[Tensor], addresses: list[int]) -> list[Tensor]:
        """The results."""
        if self.copied:
            copies = {n: inputs[n].contiguous() for n in self.copied}
            addresses = [copies[n].data_ptr() if n in copies else x for n, x in enumerate(addresses)]
            inputs = [copies.get(n, x) for n, x in enumerate(inputs)]
        results = [make(inputs[n]) for make, n in self.make]
        if self.device is None:
            self.plan([*addresses, *[x.data_ptr() for x in results]])
        else:
            assert isinstance(self.plan, _plan.DevicePlan)
            self.device.start(self.plan, inputs, addresses, results)
        return results

    def runs_here(self, addresses: Sequence[int]) -> bool:
        """Whether it takes what lies at these addresses, on the device that is the thread's own."""
        if self.device is None:
            return True
        return self.device.is_current and not functools.reduce(operator.or_, addresses) % _device.ALIGNMENT


def made(kernel: _kernel.Kernel, prepared: list[Any], inputs: Sequence[Tensor], kept: Sequence[str]) -> Step | None:
    """The step of a kernel; None where what it takes is not the memory of the inputs. On a GPU it makes all results."""
    device = _device.of(inputs[0])
    is_here = isinstance(device, TorchDevice)
    given = list(inputs) if is_here else [_tensor.as_array("input", x.detach()) for x in inputs]
    if len(given) != len(prepared) or not all(_is_taken(x, y) for x, y in zip(given, prepared, strict=True)):
        return None
    shapes = zip(kernel.outputs, kernel.new_shapes(given), strict=True)
    forms = {x["name"]: (shape, getattr(torch, x["dtype"])) for x, shape in shapes}
    others = [name for name in forms if name not in kept]
    if is_here or sum(math.prod(forms[x][0]) * forms[x][1].itemsize for x in others) > MAX_SCRATCH_BYTES:
        kept = [*kept, *others]
    plan, copied = kernel.device_plan(given, device, kept) if is_here else kernel.plan(given, kept)
    return Step(plan, copied, [_maker(*forms[name], inputs) for name in kept], device)


def _is_taken(x: Any, y: Any) -> bool:
    """Whether what a kernel takes is this, or of integers a copy: it takes lengths and prefix sums where they are."""
    is_copy = isinstance(x, np.ndarray) and x.dtype == y.dtype == np.int32 and np.array_equal(x, y)
    return is_copy or _memory(x) == _memory(y)


def _memory(x: Any) -> tuple[Any, ...]:
    """Where a tensor of PyTorch or an array of NumPy lies, and as what."""
    is_array = isinstance(x, np.ndarray)
    return (is_array, x.shape, x.ctypes.data if is_array else x.data_ptr(), x.dtype)


def _maker(shape: list[int], dtype: torch.dtype, inputs: Sequence[Tensor]) -> tuple[Callable[[Tensor], Tensor], int]:
    """What allocates a result in the least time: like an input, or of sizes one by one rather than in a tuple."""
    for n, x in enumerate(inputs):
        if list(x.shape) == shape and x.dtype == dtype and x.is_contiguous():
            return torch.empty_like, n
    return operator.methodcaller("new_empty", *shape or [()], dtype=dtype), 0
