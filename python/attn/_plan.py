"""The C call of a CPU kernel without what all calls share: its entry is bound, and its tensors are described, once."""

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
      run: the call; returns its status.
      message: explains a refusal.
      memory: all else that `run` has addresses of.
    """

    words: Any
    run: Callable[[], int]
    message: Any
    memory: tuple[Any, ...]


def frame(module: int, name: bytes, words: Any, pointers: Any, *memory: Any) -> Frame:
    """A frame for a kernel of a module, by pointers to its tensors."""
    kernel, message = ctypes.create_string_buffer(name), _library.Message()
    # ctypes converts a number in a third of the time that it takes for an array.
    name_at, first, message_at = [ctypes.addressof(x) for x in (kernel, pointers, message)]
    size = _library.MESSAGE_SIZE
    run = functools.partial(_library.module_call(), module, name_at, first, len(pointers), message_at, size)
    return Frame(words, run, message, (kernel, pointers, *memory))


class Plan:
    """Calls a kernel with tensors of fixed shapes, types and strides; from any thread."""

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

    def __call__(self, addresses: Sequence[int]) -> None:
        """Runs the kernel on memory at these addresses, none of which is 0.

        Raises:
          TypeError, ValueError, RuntimeError: the entry refused them.
        """
        try:
            frame = self._idle.pop()
        except IndexError:  # the first call, or others are running
            frame = self._frame()
        words = frame[0]
        for place, address in zip(self._given, addresses, strict=True):
            words[place] = address
        status = frame[1]()
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
        return frame(*self._entry, words, pointers, tensors, scratch)
