"""The exception of the package."""

from __future__ import annotations


class CompileError(Exception):
    """The compiler refused a problem or an IR file, or does not support a feature of it.

    Attributes:
      diagnostics: messages of the compiler, with locations in the input; one a line. Empty if the refusal came before
        the compiler ran.
    """

    def __init__(self, message: str, diagnostics: str = "") -> None:
        """Makes the error; its text is the message, and below it the diagnostics."""
        super().__init__(f"{message}\n{diagnostics}" if diagnostics else message)
        self.diagnostics = diagnostics
