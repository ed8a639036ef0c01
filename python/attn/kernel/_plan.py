"""The C call of a kernel without what all calls share: its entry is bound, and its tensors are described, once."""

from __future__ import annotations

import ctypes
import functools
import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from attn.kernel import _library

WORDS = ctypes.sizeof(_library.DLTensor) // 8  # of a tensor, whose first one is the address


class Frame(NamedTuple):
    """What one call at a time passes to the library.

    Attributes:
      words: what the call writes: addresses.
      run: the call; returns its status. That of a GPU takes the workspace, its bytes, and the stream.
      message: explains a refusal.
      memory: all else that `run` has addresses of.
      sizes: what it writes too, of tensors whose shapes it says.
    """

    words: Any
    run: Callable[..., int]
    message: Any
    memory: tuple[Any, ...]
    sizes: Any = None


def bind(*entry: int, message: int) -> Callable[..., int]:
    """The call of a kernel: its module, addresses of its name and of pointers to its tensors, and their number."""
    return functools.partial(_library.in_addresses("attn_module_call"), *entry, message, _library.MESSAGE_SIZE)


def bind_on_device(*entry: int, message: int) -> Callable[..., int]:
    """The same of a kernel for a GPU."""
    call, size = _library.in_addresses("attn_module_call_cuda"), _library.MESSAGE_SIZE

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
    """Calls a kernel with tensors of fixed types and strides, and of fixed shapes but for some; from any thread."""

    _bind = staticmethod(bind)

    def __init__(
        self,
        owner: Any,
        entry: tuple[int, bytes],
        forms: Sequence[_library.DLTensor],
        given: Sequence[int],
        scratch: Sequence[int],
        shaped: Sequence[int] = (),
    ) -> None:
        """For tensors of these forms.

        Args:
          owner: of the code, which lives as long as the plan.
          entry: the module and the name of the kernel.
          forms: the tensors in the order of the kernel's entry.
          given: which of them lie where a call says, in the order of its addresses.
          scratch: of each how many bytes, if nobody reads that result; otherwise 0.
          shaped: of which of them a call says the shape, in the order of its sizes.
        """
        self._owner, self._entry = owner, entry
        self._forms = list(forms)  # they own their sizes
        self._given = list(given)
        self._scratch = scratch
        self._shaped = list(shaped)
        self._pack = struct.Struct(f"{sum(forms[n].ndim for n in shaped)}q").pack_into
        self._idle: list[Frame] = []

    def __call__(self, addresses: Sequence[int], *place: Any, sizes: Sequence[int] | None = None) -> None:
        """Runs the kernel on memory at these addresses, none of which is 0.

        Args:
          addresses: of the tensors that are given.
          place: of a kernel for a GPU, the address of its workspace (None if it needs none), its bytes and the stream.
          sizes: the shapes that a call says, one after the other; None if there are none.

        Raises:
          TypeError, ValueError, RuntimeError: the entry refused them.
        """
        try:
            frame = self._idle.pop()
        except IndexError:  # the first call, or others are running
            frame = self._frame()
        frame[0][:] = array("Q", addresses)
        if sizes is not None:
            self._pack(frame[4], 0, *sizes)
        status = frame[1](*place)
        text = None if status == _library.OK else frame.message.value.decode(errors="replace")
        self._idle.append(frame)
        if text is not None:
            raise _library.error(status, f"{self._entry[1].decode()}: {text}")

    def frame_of(self, addresses: Sequence[int], sizes: Sequence[int] = ()) -> Frame:
        """A frame of its own with all that a call writes, whose `run` is the C call alone."""
        frame = self._frame()
        frame.words[:] = array("Q", addresses)
        self._pack(frame.sizes, 0, *sizes)
        return frame

    @property
    def entry(self) -> tuple[int, list[int]]:
        """The module, and which of those that are given each argument of the kernel's entry is: all of them are."""
        return self._entry[0], [self._given.index(n) for n in range(len(self._forms))]

    def _frame(self) -> Frame:
        count = len(self._forms)
        # Those that are given lie first: their addresses are one slice, which is written at once.
        order = [*self._given, *[n for n in range(count) if n not in self._given]]
        tensors = (_library.DLTensor * count)(*[self._forms[n] for n in order])
        first, size = ctypes.addressof(tensors), 8 * WORDS
        pointers = (ctypes.c_void_p * count)(*[first + size * order.index(n) for n in range(count)])
        scratch = [ctypes.create_string_buffer(n) for n in self._scratch]
        for n, tensor in zip(order, tensors, strict=True):
            tensor.data = ctypes.addressof(scratch[n])
        sizes = (ctypes.c_int64 * sum(self._forms[n].ndim for n in self._shaped))()
        position = ctypes.addressof(sizes)
        for n in self._shaped:
            tensor = tensors[order.index(n)]
            tensor.shape = ctypes.cast(position, ctypes.POINTER(ctypes.c_int64))
            position += 8 * tensor.ndim
        all_words = memoryview((ctypes.c_uint64 * (WORDS * count)).from_buffer(tensors)).cast("B").cast("Q")
        words = all_words[: WORDS * len(self._given) : WORDS]
        return frame(*self._entry, words, pointers, tensors, scratch, bind=self._bind)._replace(sizes=sizes)


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
            for n, address in zip(self._given, addresses, strict=True):
                tensors[n].data = address
            pointers = (ctypes.POINTER(_library.DLTensor) * len(tensors))(*map(ctypes.pointer, tensors))
            count = _library.load().attn_module_workspace_bytes
            label = self._entry[1].decode()
            self._needed = _library.workspace_bytes(label, count, *self._entry, pointers, len(tensors))
        return self._needed
