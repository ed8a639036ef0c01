"""attnc: `python -m attn ARGS`, and of a wheel the program `attnc`; `--include` prints the folder of the C headers.

A wheel has attnc inside of libattn.so, so that LLVM is there once; a checkout has it as a program of its own.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from attn import api
from attn.kernel import _library

ENTRY = "attn_main"


def main() -> int:
    """Runs attnc with the arguments of this process, or with none of them its --help.

    Returns:
      The exit code.

    Raises:
      FileNotFoundError: a checkout whose attnc is not built.
    """
    if sys.argv[1:] == ["--include"]:
        print(api.get_include())
        return 0
    arguments = ["attnc", *(sys.argv[1:] or ["--help"])]
    run = getattr(_library.load(), ENTRY, None)
    if run is None:
        program = _library.path().parents[1] / "bin" / "attnc"
        if not program.is_file():
            raise FileNotFoundError(f"expected attnc at {program}, found none; run scripts/setup.sh to build it")
        os.execv(program, arguments)
    # As for a program: Python would wait for the end of the call, and ignore a pipe that is closed.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    texts = (ctypes.c_char_p * (len(arguments) + 1))(*map(os.fsencode, arguments), None)
    return int(run(len(arguments), texts))


if __name__ == "__main__":
    sys.exit(main())
