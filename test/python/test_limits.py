"""What compiling and running may cost: heap and stack of kernels, peak memory of a long problem, time of attnc."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import attn
import clock
from helpers import C_COMPILER
from paths import ATTNC, CALLER, attnc

LENGTH, HEAD_SIZE = 16384, 64
MEMORY_BEYOND_TENSORS = 64 << 20  # bytes
START_SECONDS, COMPILE_SECONDS = 0.050, 0.5
# The figures above are those of the project's own machine; a machine of CI shares its caches.
CI_MARGIN = 3

PROBLEMS = [
    "b2 hq8 hkv2 sq113 sk203 d59 dv80 f32 causal=bottom_right out=lse",
    "b1 hq8 sq1024 d128 f32",
    "b2 hq4 sq113 sk203 d256 f64 causal=top_left softcap=30 bias=1,4,113,203 mask=bool out=lse",
]
LIBRARIES = ATTNC.parents[1] / "lib"
COMPARED = Path(__file__).parents[2] / "benchmarks" / "problems" / "compare.txt"


def compared_problems() -> list[str]:
    """The problems of benchmarks/compare.py."""
    lines = [line.partition("#")[0].strip() for line in COMPARED.read_text().splitlines()]
    return [" ".join(line.split()) for line in lines if line]


@pytest.mark.parametrize("causal", ["", " causal=top_left"], ids=["full", "causal"])
def test_peak_memory(tmp_path, causal):
    """A child process, so that the peak is the kernel's and not that of NumPy and pytest."""
    size = LENGTH * HEAD_SIZE
    problem = f"--problem=sq{LENGTH} d{HEAD_SIZE} f32{causal}"
    attnc(problem, "-o", tmp_path / "kernel.o", f"--header={tmp_path / 'kernel.h'}", "--parallel=none")
    source = CALLER.with_name("peak_memory.c")
    sources = [source, tmp_path / "kernel.o", "-lm", "-o", tmp_path / "program"]
    subprocess.run([*C_COMPILER, f"-I{tmp_path}", f"-DSIZE={size}", *sources], check=True)
    result = subprocess.run([tmp_path / "program"], capture_output=True, check=True)
    peak, tensors = 1024 * int(result.stdout), 4 * size * 4
    assert tensors < peak <= tensors + MEMORY_BEYOND_TENSORS


# By what the sizes of a call say of the shapes of its tensors: states of key splits, and buffers of each thread.
DYNAMIC = "hq8 sq? sk? d64 causal=bottom_right", "{1, 8, 7, 64}, {1, 8, 300, 64}, {1, 8, 300, 64}, {1, 8, 7, 64}"
CHAIN = (
    "hq2 sq? sk? d16 out=weights",
    "{1, 2, 70, 16}, {1, 2, 90, 16}, {1, 2, 90, 16}, {1, 2, 70, 16}, {1, 2, 70, 90}",
)
PREFILL = "hq2 sq512 d64 f32", ", ".join(4 * ["{1, 2, 512, 64}"])


def call_in_c(folder, kind: str, problem: str, shapes: str, *words) -> tuple[bytes, dict]:
    """What kernel_memory.c prints of a kernel, and what the manifest says of it."""
    manifest = folder / "kernel.json"
    files = [f"--header={folder / 'kernel.h'}", f"--manifest={manifest}", "-o", folder / "kernel.o"]
    attnc(f"--problem={problem}", *files, *words)
    runtime = [] if "--parallel=none" in words else [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lattn_runtime"]
    sources = [CALLER.with_name("kernel_memory.c"), folder / "kernel.o", *runtime, "-lm", "-o", folder / "program"]
    flags = [f"-I{folder}", f"-D{kind}", f"-DSHAPES={shapes}", "-pthread", "-Wl,--wrap=malloc,--wrap=free"]
    subprocess.run([*C_COMPILER, *flags, *sources], check=True)
    done = subprocess.run([folder / "program"], capture_output=True, check=True)
    return done.stdout, json.loads(manifest.read_text())["kernels"][0]


@pytest.mark.parametrize(
    ("case", "words"),
    [(DYNAMIC, ["--parallel=none"]), (DYNAMIC, []), (CHAIN, ["--parallel=none"]), (CHAIN, []), (PREFILL, [])],
    ids=["dynamic", "dynamic-threads", "chain", "chain-threads", "prefill"],
)
def test_no_memory(tmp_path, case, words):
    """Each allocation fails once: a code with a message, and nothing is lost."""
    count, kernel = call_in_c(tmp_path, "HEAP", *case, *words)
    assert kernel["heap_bytes"] == (0 if case is PREFILL else None)
    assert (int(count) == 0) == (case is PREFILL)


@pytest.mark.parametrize("case", [DYNAMIC, PREFILL], ids=["dynamic", "prefill"])
def test_stack(tmp_path, case):
    used, kernel = call_in_c(tmp_path, "STACK", *case, "--parallel=none")
    assert 0.9 * kernel["stack_bytes"] <= int(used) <= kernel["stack_bytes"] + 4096


SUMS = """
func.func @sums(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %wide = tensor.empty(%n) : tensor<?x4096x4096xf32>
  %rows = linalg.broadcast ins(%x : tensor<?xf32>) outs(%wide : tensor<?x4096x4096xf32>) dimensions = [1, 2]
  %empty = tensor.empty(%n) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce {arith.addf} ins(%rows : tensor<?x4096x4096xf32>) outs(%init : tensor<?xf32>) dimensions = [1, 2]
  %max = linalg.reduce {arith.maximumf} ins(%rows : tensor<?x4096x4096xf32>) outs(%init : tensor<?xf32>)
    dimensions = [1, 2]
  return %sum, %max : tensor<?xf32>, tensor<?xf32>
}
"""


def test_memory_error():
    """A buffer of more bytes than a process has addresses."""
    kernel = attn.compile(SUMS, cache=False)
    np.testing.assert_array_equal(kernel(np.ones(1, np.float32)), [[4096**2], [1]])
    with pytest.raises(MemoryError, match="sums: expected memory for the kernel's own buffers"):
        kernel(np.ones(1 << 22, np.float32))


def test_a_workspace_of_the_caller(tmp_path):
    written, kernel = call_in_c(tmp_path, "WORKSPACE", *DYNAMIC, "--parallel=none", "--workspace=caller")
    assert kernel["heap_bytes"] == 0
    assert kernel["workspace_bytes"] == "sdpa_workspace_bytes"
    shapes = [[1, 8, n, 64] for n in (7, 300, 300)]
    q, k, v = (
        ((np.arange(np.prod(x)) * 37 + i) % 101 / np.float32(50) - 1).astype(np.float32).reshape(x)
        for i, x in enumerate(shapes)
    )
    expected = attn.reference.sdpa(q, k, v, causal="bottom_right")
    np.testing.assert_allclose(np.frombuffer(written, np.float32).reshape(expected.shape), expected, atol=1e-5)


def stays_below(seconds: float, *command) -> bool:
    """Whether a command takes so much processor time on the project's own machine."""

    def attempt() -> bool:
        before = clock.slowness()  # a moment in front of the command and one behind it: neighbours come and go
        taken = clock.child_seconds(*command, stdout=subprocess.DEVNULL)
        return taken <= CI_MARGIN * seconds * max(before, clock.slowness())

    return clock.ever(attempt)


def test_start_up():
    assert stays_below(START_SECONDS, ATTNC, "--version")


@pytest.mark.parametrize("problem", PROBLEMS + compared_problems())
def test_compile_time(tmp_path, problem):
    assert stays_below(COMPILE_SECONDS, ATTNC, f"--problem={problem}", "-o", tmp_path / "kernel.o")
