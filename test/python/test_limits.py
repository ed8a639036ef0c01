"""What compiling and running may cost: peak memory of a long problem, time of attnc."""

import subprocess
from pathlib import Path

import pytest

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


def stays_below(seconds: float, *command) -> bool:
    """Whether a command takes so much processor time on the project's own machine."""
    return clock.ever(
        lambda: clock.child_seconds(*command, stdout=subprocess.DEVNULL) <= CI_MARGIN * seconds * clock.slowness()
    )


def test_start_up():
    assert stays_below(START_SECONDS, ATTNC, "--version")


@pytest.mark.parametrize("problem", PROBLEMS + compared_problems())
def test_compile_time(tmp_path, problem):
    assert stays_below(COMPILE_SECONDS, ATTNC, f"--problem={problem}", "-o", tmp_path / "kernel.o")
