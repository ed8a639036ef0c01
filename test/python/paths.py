"""The ways to an answer that users have, each as `path(q, k, v, causal=None) -> out` on f64 arrays (B, H, S, D)."""

import functools
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import attn
from attn import reference
from chain_ir import chain
from helpers import C_COMPILER, Shape

ATTNC = Path(__file__).parents[2] / "build" / "release" / "bin" / "attnc"
# Where tests find the machine code that earlier ones have made.
OBJECTS = ATTNC.parents[1] / "test" / "objects"
CALLER = Path(__file__).with_name("call_kernel.c")


def call(*command: str | Path, text: str | None = None) -> str:
    """The standard output of a tool, which must not fail; `text` is its standard input."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{Path(command[0]).name}:\n{result.stdout}{result.stderr}"
    return result.stdout


def attnc(*arguments: str | Path, text: str | None = None) -> str:
    """The standard output of attnc."""
    return call(ATTNC, *arguments, f"--object-cache={OBJECTS}", text=text)


def python_call(q, k, v, causal=None):
    return attn.sdpa(*map(np.ascontiguousarray, (q, k, v)), causal=causal)


def kernel_of_chain(q, k, v, causal=None, *, expected="flash", **options):
    """A kernel compiled from the chain's ops."""
    compiled = attn.compile(chain_text(q, k, v, causal, weights=expected == "reference"), **options)
    assert compiled.manifest["kernels"][0]["path"] == expected
    found = compiled(q, k, v)
    return found[0] if isinstance(found, tuple) else found


def attnc_run(q, k, v, causal=None):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = []
        for word, array in zip("qkv", (q, k, v), strict=True):
            np.save(folder / f"{word}.npy", array)
            inputs += ["--input", folder / f"{word}.npy"]
        attnc("run", "-", *inputs, "--output", folder / "out.npy", text=chain_text(q, k, v, causal))
        return np.load(folder / "out.npy")


def c_program(q, k, v, causal=None):
    """An object file and its header in a C program, which reads the inputs and writes the output as raw bytes."""
    out = np.empty((*q.shape[:3], v.shape[3]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        to = ["-o", folder / "kernel.o", f"--header={folder / 'kernel.h'}"]
        attnc("-", *to, "--parallel=none", text=chain_text(q, k, v, causal))
        sizes = [f"-D{word}_SIZE={x.size}" for word, x in zip(["Q", "K", "V", "OUT"], (q, k, v, out), strict=True)]
        program = [*C_COMPILER, f"-I{folder}", *sizes, CALLER]
        subprocess.run([*program, folder / "kernel.o", "-lm", "-o", folder / "program"], check=True)
        inputs = b"".join(np.ascontiguousarray(x).tobytes() for x in (q, k, v))
        result = subprocess.run([folder / "program"], input=inputs, capture_output=True, check=True)
    return np.frombuffer(result.stdout).reshape(out.shape)


def chain_text(q, k, v, causal, **options):
    shape = Shape(q.shape[2], k.shape[2], q.shape[3], v.shape[3], b=q.shape[0], hq=q.shape[1], hkv=k.shape[1])
    return chain(shape, np.float64, causal=causal, **options)


PATHS = {
    "reference": reference.sdpa,
    "python": python_call,
    "fused chain": kernel_of_chain,
    "unfused chain": functools.partial(kernel_of_chain, expected="reference"),
    "reference pipeline": functools.partial(kernel_of_chain, expected="reference", reference=True),
    "one thread": functools.partial(kernel_of_chain, parallel="none", target="x86-64"),
    "attnc run": attnc_run,
    "c": c_program,
}
