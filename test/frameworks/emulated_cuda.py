"""A CUDA device of PyTorch whose tensors are on the CPU: kernels run in the emulated driver, on copies.

It stands in for `attn.kernel._device.TorchDevice`, which is all of attn that asks torch.cuda.
"""

from __future__ import annotations

import contextlib
import ctypes

import torch

from attn.kernel import _device
from fake_cuda import EMULATOR, Driver

is_built = EMULATOR.is_file()


class EmulatedDevice(_device.TorchDevice):
    """While a call runs, each of its tensors has a copy in the driver's memory; what it writes is copied back.

    Attributes:
      streams: of each call, in order.
      made: by `empty`: the shape and type of each.
      started: how many plans.
      views: how many inputs were no contiguous tensors.
      has_padding: what kernels write is given, and keeps what it holds elsewhere; otherwise the emulator refuses to
        read what is not written.
    """

    def __init__(self, capability=(8, 0)) -> None:
        """The device of the driver, with this compute capability."""
        self._device, self._torch, self.number = torch.device("cpu"), torch, 0
        self.capability, self.current, self.is_capturing = capability, 77, False
        self.driver = Driver()
        self.driver.library.attn_emulator_set_capability(10 * capability[0] + capability[1])
        self.streams, self.made = [], []
        self.started = self.views = 0
        self.has_padding = False
        self._copies: dict[int, tuple[torch.Tensor, int]] = {}
        self._new: list[torch.Tensor] = []

    is_capturing = False
    capability = (8, 0)

    is_current = True

    def start(self, plan, inputs, addresses, results) -> None:
        """On copies of the inputs; what the kernel writes is copied to the results."""
        assert addresses == [x.data_ptr() for x in inputs]
        self.started += 1
        with self.guard(self.current):
            made = [self.address(x, is_written=False) for x in inputs]
            made += [self.address(x, is_written=True) for x in results]
            self._new += results
            needed = plan.workspace_bytes(made)
            plan(made, self.driver.allocate(max(needed, 1)), needed, self.current)

    def stream(self) -> int:
        """The number that a test has set."""
        return self.current

    @contextlib.contextmanager
    def guard(self, stream):
        """Copies what the call has made back."""
        self.streams.append(stream)
        try:
            yield
            for tensor in self._new:
                self._read_back(tensor)
        finally:
            for _, address in self._copies.values():
                assert self.driver.library.cuMemFree_v2(ctypes.c_uint64(address)) == 0
            self._copies.clear()
            self._new.clear()

    def _read_back(self, tensor):
        entry = self._copies.get(id(tensor))
        if entry is None or tensor.dtype == torch.uint8 or not tensor.numel():
            return
        assert self.driver.library.cuMemcpyDtoH_v2(tensor.data_ptr(), entry[1], tensor.nbytes) == 0

    def empty(self, shape, dtype):
        """A tensor of NaN, so that what no kernel writes shows."""
        made = torch.empty(shape, dtype=getattr(torch, dtype))
        made = made.fill_(float("nan")) if made.is_floating_point() else made
        self.made.append((tuple(shape), dtype))
        self._new.append(made)
        return made

    def address(self, value, *, is_written):
        """That of its copy."""
        if id(value) in self._copies:
            return self._copies[id(value)][1]
        assert value.is_contiguous() or (value.stride(-1) == 1 and not is_written)
        # Of a view, all between its first element and its last.
        self.views += not value.is_contiguous()
        steps = [(size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True)]
        span = value.itemsize * (1 + sum(steps)) if value.numel() else 0
        address = self.driver.allocate(span)
        self._copies[id(value)] = (value, address)
        if is_written and self.has_padding:
            self._new.append(value)
        if (not is_written or self.has_padding) and value.numel():
            assert self.driver.library.cuMemcpyHtoD_v2(address, value.data_ptr(), span) == 0
        return address
