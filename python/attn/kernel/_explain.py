"""A page that shows a kernel: `attnc explain` of its source, as a program of its own."""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from attn.errors import CompileError
from attn.kernel import _inspect, _library

SUFFIXES = {_library.SOURCE_MLIR: ".mlir", _library.SOURCE_ONNX: ".onnx"}


def explain(source: _inspect.Source, form: str, more: list[str]) -> str:
    """What `attnc explain` writes of a source: a page, or its facts as JSON.

    Raises:
      CompileError: the compiler refused the source, or a result differs from the reference.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"page.{form}"
        options = [f"--target={source.target}", f"--parallel={source.parallel}", f"--format={form}", "-o", str(out)]
        if source.kind == _library.SOURCE_PROBLEM:
            what = f"--problem={source.data.decode()}"
        elif source.kind == _library.SOURCE_ONNX_FILE:
            what = os.fsdecode(source.data)
        else:
            path = Path(folder) / f"source{SUFFIXES[source.kind]}"
            path.write_bytes(source.data)
            what = str(path)
        # This package, wherever it was found.
        paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, "-m", "attn", "explain", what, *options, *more],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise CompileError(f"{source.what} has no page", done.stderr)
        return out.read_text(encoding="utf-8")


def frame(page: str) -> str:
    """A page within another one, whose style it does not change."""
    return f'<iframe srcdoc="{html.escape(page)}" title="attn" style="width:100%;height:40rem;border:0"></iframe>'
