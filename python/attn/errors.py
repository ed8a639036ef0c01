"""The exception of the package."""

from __future__ import annotations


class CompileError(Exception):
    """The compiler refused a problem or an IR file, or does not support what was asked.

    Attributes:
      diagnostics: what the compiler said, with places in the input; one message a line. Empty where the refusal came
        before the compiler was asked.
    """

    def __init__(self, message: str, diagnostics: str = "") -> None:
        """Makes the error; its text is the message, and below it the diagnostics."""
        super().__init__(f"{message}\n{diagnostics}" if diagnostics else message)
        self.diagnostics = diagnostics
