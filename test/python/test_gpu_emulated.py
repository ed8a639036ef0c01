"""The shipped PTX, executed: every line of benchmarks/problems/gpu_suite.txt and every IR file, in the emulator.

A case compiles to PTX, and attn-ptx-run runs it and compares the outputs with the reference; any finding of the
emulator (a race, a read of what is not there, ...) fails as a wrong number does.
"""

import functools
import os
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from paths import ATTNC

ROOT = Path(__file__).parents[2]
RUN = ATTNC.with_name("attn-ptx-run")
LINES = ROOT / "benchmarks" / "problems" / "gpu_suite.txt"
TARGET = "sm_80"
TIME_LIMIT = 120  # seconds a tool
# What no problem line says: regions, block maps, captures. Of multi-head, weights and additive see REFUSED_FILES of
# test/Tools/attnc-gpu-refused.test.
EXAMPLES = [
    "alibi",
    "causal",
    "chain",
    "document-mask",
    "grouped-heads",
    "packed-sequences",
    "paged-decode",
    "prefix-lm",
    "sinks",
    "sliding-window",
    "softcap",
]


def read_cases() -> dict[str, list[str]]:
    """By name: the words that give attnc and attn-ptx-run the problem, then those for attn-ptx-run alone."""
    cases = {}
    for text in LINES.read_text().splitlines():
        line, _, sizes = (part.strip() for part in text.partition("#"))
        if line:
            cases[text.strip()] = [f"--problem={line}", *(f"--size={word}" for word in sizes.split())]
    files = [ROOT / "examples" / f"{name}.mlir" for name in EXAMPLES]
    files += sorted((ROOT / "test" / "python" / "gpu").glob("*.mlir"))
    return cases | {file.name: [f"--ir={file}"] for file in files}


CASES = read_cases()


def execute(words: list[str], ptx: Path) -> str:
    """What attn-ptx-run says; raises where a tool fails."""

    def call(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
        assert done.returncode == 0, f"{Path(command[0]).name}:\n{done.stdout}{done.stderr}"
        return done.stdout

    source = words[0].removeprefix("--ir=")
    call(ATTNC, source, f"--target={TARGET}", "--emit=ptx", "--fail-on-fallback", "-o", ptx)
    return call(RUN, ptx, *words)


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """The cases that were asked for, a core each, while the tests wait for one after the other."""
    folder = tmp_path_factory.mktemp("ptx")
    names = [item.callspec.params["name"] for item in request.session.items if "name" in getattr(item, "fixturenames", [])]
    with ThreadPoolExecutor(os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()) as pool:
        submit = functools.partial(pool.submit, execute)
        futures: dict[str, Future[str]] = {name: submit(CASES[name], folder / f"{i}.ptx") for i, name in enumerate(names)}
        yield futures
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(name, runs):
    text = runs[name].result()
    results = [line for line in text.splitlines() if "largest error" in line]
    assert results and all(line.endswith(": ok") for line in results), text


def test_lines_are_enough():
    assert len(CASES) >= 150
