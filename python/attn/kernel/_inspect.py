"""What a kernel becomes on its way, as text: its source, compiled again as far as that takes."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from attn.errors import CompileError
from attn.kernel import _background, _library


class Source(NamedTuple):
    """What a module is compiled from, and how.

    Attributes:
      kind: one of the `_library.SOURCE_…`.
      data: the bytes of the source.
      what: names the source in an error.
      target, parallel, reference, fail_on_fallback: as for `attn.compile`.
    """

    kind: int
    data: bytes
    what: str
    target: str
    parallel: str = "openmp"
    reference: bool = False
    fail_on_fallback: bool = False

    def options(self) -> _library.CompileOptions:
        """The options in C."""
        flags = (int(self.reference), int(self.fail_on_fallback))
        return _library.CompileOptions(self.target.encode(), self.parallel.encode(), *flags)

    def refusal(self, diagnostics: str) -> CompileError:
        """The error of a compilation that failed."""
        return CompileError(f"{self.what} was refused for target {self.target}", diagnostics)

    def text(self, what: int, phase: str | None = None) -> str:
        """The text of a compilation that attn_print gives.

        Args:
          what: one of the `_library.TEXT_…`.
          phase: of IR, the phase that it is printed after.

        Raises:
          CompileError: the compiler refused it.
          TypeError, ValueError: the way to the target has no such phase; the message lists those that it has.
        """
        if not isinstance(phase, str | None):
            raise TypeError(f"expected phase to be the name of one, found {phase!r}")
        name = None if phase is None else phase.encode()

        def work() -> tuple[int, str]:
            text, message = ctypes.c_void_p(), ctypes.c_void_p()
            status = _library.load().attn_print(
                *(self.kind, self.data, len(self.data), ctypes.byref(self.options()), what, name),
                *(ctypes.byref(text), ctypes.byref(message)),
            )
            return status, _library.take(text if status == _library.OK else message)

        # Where the wait ends early, the text is dropped.
        status, found = _background.call(work, lambda _: None)
        if status == _library.WRONG_VALUE:
            raise ValueError(found)
        if status != _library.OK:
            raise self.refusal(found)
        return found
