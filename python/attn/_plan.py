"""The C call of a kernel without what all calls share: its entry is bound, and its tensors are described, once."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from attn import _library

WORDS = ctypes.sizeof(_library.DLTensor) // 8  # of a tensor, whose first one is the address


class Frame(NamedTuple):
    """What one call at a time passes to the library.

    Attributes:
      words: what the call writes.
      run: the call; returns its status. That of a GPU takes the workspace, its bytes, and the stream.
      message: explains a refusal.
      memory: all else that `run` has addresses of.
    """

    words: Any
    run: Callable[..., int]
    message: Any
    memory: tuple[Any, ...]


def bind(*entry: int, message: int) -> Callable[..., int]:
    """The call of a kernel: its module, addresses of its name and of pointers to its tensors, and their number."""
    return functools.partial(_library.module_call(), *entry, message, _library.MESSAGE_SIZE)


def bind_on_device(*entry: int, message: int) -> Callable[..., int]:
    """The same of a kernel for a GPU."""
    call, size = _library.module_call_cuda(), _library.MESSAGE_SIZE

    def run(workspace: int | None, needed: int, stream: int) -> int:
        status: int = call(*entry, workspace, needed, stream, message, size)
        return status

    return run


def frame(module: int, name: bytes, words: Any, pointers: Any, *memory: Any, bind: Callable[..., Any] = bind) -> Frame:
    """A frame for a kernel of a module, by pointers to its tensors."""
    kernel, message = ctypes.create_string_buffer(name), _library.Message()
    # ctypes converts a number in a third of the time that it takes for an array.
    name_at, first, message_at = [ctypes.addressof(x) for x in (kernel, pointers, message)]
    run = bind(module, name_at, first, len(pointers), message=message_at)
    return Frame(words, run, message, (kernel, pointers, *memory))


class Plan:
    """Calls a kernel with tensors of fixed shapes, types and strides; from any thread."""

    _bind = staticmethod(bind)

    def __init__(
        self,
        owner: Any,
        entry: tuple[int, bytes],
        forms: Sequence[_library.DLTensor],
        given: Sequence[int],
        scratch: Sequence[int],
    ) -> None:
        """For tensors of these forms.

        Args:
          owner: of the code, which lives as long as the plan.
          entry: the module and the name of the kernel.
          forms: the tensors in the order of the kernel's entry.
          given: which of them lie where a call says, in the order of its addresses.
          scratch: of each how many bytes, if nobody reads that result; otherwise 0.
        """
        self._owner, self._entry = owner, entry
        self._forms = list(forms)  # they own their sizes
        self._given = [WORDS * n for n in given]
        self._scratch = scratch
        self._idle: list[Frame] = []

    def __call__(self, addresses: Sequence[int], *place: Any) -> None:
        """Runs the kernel on memory at these addresses, none of which is 0.

        Args:
          addresses: of the tensors that are given.
          place: of a kernel for a GPU, the address of its workspace (None if it needs none), its bytes and the stream.

        Raises:
          TypeError, ValueError, RuntimeError: the entry refused them.
        """
        try:
            frame = self._idle.pop()
        except IndexError:  # the first call, or others are running
            frame = self._frame()
        words = frame[0]
        for position, address in zip(self._given, addresses, strict=True):
            words[position] = address
        status = frame[1](*place)
        if status != _library.OK:
            text = frame.message.value.decode(errors="replace")
            raise _library.error(status, f"{self._entry[1].decode()}: {text}")
        self._idle.append(frame)

    def _frame(self) -> Frame:
        count = len(self._forms)
        tensors = (_library.DLTensor * count)(*self._forms)
        first, size = ctypes.addressof(tensors), 8 * WORDS
        pointers = (ctypes.c_void_p * count)(*range(first, first + size * count, size))
        scratch = [ctypes.create_string_buffer(n) for n in self._scratch]
        for tensor, buffer in zip(tensors, scratch, strict=True):
            tensor.data = ctypes.addressof(buffer)
        words = (ctypes.c_uint64 * (WORDS * count)).from_buffer(tensors)
        return frame(*self._entry, words, pointers, tensors, scratch, bind=self._bind)


class DevicePlan(Plan):
    """Starts a kernel on a GPU, whose results all lie where a call says."""

    _bind = staticmethod(bind_on_device)

    def __init__(
        self, owner: Any, entry: tuple[int, bytes], forms: Sequence[_library.DLTensor], given: Sequence[int]
    ) -> None:
        """For tensors of these forms, as `Plan` takes them."""
        super().__init__(owner, entry, forms, given, [0] * len(forms))
        self._needed: int | None = None

    def workspace_bytes(self, addresses: Sequence[int]) -> int:
        """What it needs beside its tensors, wherever they lie.

        Raises:
          TypeError, ValueError, RuntimeError: the entry refused them.
        """
        if self._needed is None:
            tensors = (_library.DLTensor * len(self._forms))(*self._forms)
            for position, address in zip(self._given, addresses, strict=True):
                tensors[position // WORDS].data = address
            pointers = (ctypes.POINTER(_library.DLTensor) * len(tensors))(*map(ctypes.pointer, tensors))
            message = ctypes.create_string_buffer(_library.MESSAGE_SIZE)
            count = _library.load().attn_module_workspace_bytes
            needed = count(*self._entry, pointers, len(tensors), message, len(message))
            if needed < 0:
                text = message.value.decode(errors="replace")
                raise _library.error(-needed, f"{self._entry[1].decode()}: {text}")
            self._needed = needed
        return self._needed
