"""The shipped PTX, executed: benchmarks/problems/gpu_suite.txt, gpu_regions.txt and examples, in the emulator.

attn-ptx-run compiles a case to PTX, executes it and compares the outputs with the reference; any finding of the
emulator (a race, a read of what is not there, ...) fails as a wrong number does. Each case runs on three inputs: scores
of one size; rows of several sizes, so that a maximum which is not the row's lets powers of two overflow; and rows
beyond what one multiply-add brings to an exponent. What no query may read is NaN. A process runs the kernels of all
targets, which share inputs and reference. sm_90a stands for kernels whose products are wgmma.
"""

import os
import re
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import clock
from paths import ATTNC

ROOT = Path(__file__).parents[2]
RUN = ATTNC.with_name("attn-ptx-run")
LINES = ROOT / "benchmarks" / "problems" / "gpu_suite.txt"
REGIONS = Path(__file__).with_name("gpu_regions.txt")
INPUTS = 3
# Instructions of PTX that their case executes. The rest: loops over tiles without masks where the sizes have none, and
# blocks for large scores where there are no scores. Tiles of sm_90a have 128 keys, so that more lines have no whole
# tile; test_gpu_wgmma.py has each number of them.
LEAST_COVERAGE = {"sm_80": 0.95, "sm_90a": 0.89}
TARGETS = list(LEAST_COVERAGE)
# A kernel a file, of few blocks; the other examples have several, or take the emulator longer.
EXAMPLES = ["alibi", "causal", "document-mask", "packed-sequences", "paged-decode", "prefix-lm", "sinks"]


def read_cases() -> dict[str, list[str]]:
    """By name: the words that give attnc and attn-ptx-run the problem, then those for attn-ptx-run alone."""
    cases = {}
    for text in LINES.read_text().splitlines():
        line, _, sizes = (part.strip() for part in text.partition("#"))
        if line:
            cases[text.strip()] = [f"--problem={line}", *(f"--size={word}" for word in sizes.split())]
    for text in REGIONS.read_text().split("\n\n"):
        regions = " ".join(word for word in ("score_mod", "mask_mod", "captures") if word in text)
        cases[f"{text.splitlines()[0]} ({regions})"] = [f"--problem={text}"]
    return cases | {f"{name}.mlir": [f"--ir={ROOT / 'examples' / name}.mlir"] for name in EXAMPLES}


CASES = read_cases()

# vfork from several threads at once: an exec failed with EFAULT once in thousands on a sandboxed kernel.
subprocess._USE_VFORK = False


def call(*command) -> str:
    """What a tool says; raises where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=clock.NO_END)
    assert done.returncode == 0, f"{Path(command[0]).name}:\n{done.stdout}{done.stderr}"
    return done.stdout


def execute(target: str, words: list[str]) -> str:
    return call(RUN, f"--target={target}", *words)


def expect_right(text: str) -> None:
    """On each input, all outputs agree with the reference."""
    results = [line for line in text.splitlines() if "largest error" in line]
    assert len(results) >= INPUTS, text
    assert all(line.endswith(": ok") for line in results), text


def execute_all(targets: list[str], words: list[str]) -> dict[str, str]:
    """By target: what attn-ptx-run says of it. Of one alone it does not say the name."""
    text = execute(",".join(targets), words)
    if len(targets) == 1:
        return {targets[0]: text}
    parts = re.split(r"^(sm_\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def runs(request):
    """The cases that were requested, a core each, while the tests wait for one after the other."""
    targets: dict[str, list[str]] = {}
    for item in request.session.items:
        if "name" in getattr(item, "fixturenames", []):
            targets.setdefault(item.callspec.params["name"], []).append(item.callspec.params["target"])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures: dict[str, Future[dict[str, str]]] = {
            name: pool.submit(execute_all, asked, CASES[name]) for name, asked in targets.items()
        }
        yield futures
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(name, target, runs):
    expect_right(runs[name].result()[target])


def test_exchanged_operands_are_seen(tmp_path):
    line = "--problem=b1 hq2 sq17 sk33 d64 bf16"
    ptx = tmp_path / "k.ptx"
    call(ATTNC, line, "--target=sm_80", "--emit=ptx", "-o", ptx)
    exchanged, count = re.subn(r"(\tmma\.sync[^;]*\{)(%r\d+), (%r\d+)(\},)", r"\1\3, \2\4", ptx.read_text(), count=1)
    assert count == 1
    ptx.write_text(exchanged)
    done = subprocess.run([RUN, ptx, line], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "FAILED" in done.stdout + done.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_coverage(target, runs, capsys):
    """Of the kernels that were launched: how much of their text was executed at least once."""
    counts = [
        (int(executed), int(whole), name, line)
        for name, future in runs.items()
        for line in future.result().get(target, "").splitlines()
        for executed, whole in re.findall(r": (\d+) of (\d+) instructions executed", line)
    ]
    executed, whole = (sum(count[i] for count in counts) for i in (0, 1))
    with capsys.disabled():
        print(f"\n{target}: {executed} of {whole} PTX instructions of {len(counts)} kernels executed", end=" ")
        print(f"({executed / whole:.2%})")
    missed = "\n".join(f"{name}: {line}" for *_, name, line in counts if "none of lines" in line)
    assert executed >= LEAST_COVERAGE[target] * whole or len(counts) < len(CASES) / 2, missed


def test_lines_are_enough():
    assert len(CASES) >= 150
