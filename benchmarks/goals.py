"""The goals of docs/Performance.md with what this machine gives: shares of ceilings and ratios, each of one run.

The problems of a goal are timed in turn, round by round, by `attnc bench`; of times the best round counts, of shares
the median. Goals against PyTorch are read from the results of benchmarks/compare.py, where there are any.

    build/venv/bin/python benchmarks/goals.py [--only REGEX]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ATTNC = ROOT / "build" / "release" / "bin" / "attnc"
COMPARED = ROOT / "build" / "compare" / "threads-1.json"
ROUNDS, SECONDS = 5, 0.25
LINE = re.compile(r"best ([\d.]+) ms.* ([\d.]+) %(?:,|$)", re.M)


@dataclasses.dataclass
class Figure:
    """Of one problem: seconds of the best round, and in percent the share of the ceiling of each."""

    seconds: float = float("inf")
    shares: list[float] = dataclasses.field(default_factory=list)


def bench(*problems: str, flags: tuple[str, ...] = (), threads: tuple[int, ...] = (1,)) -> list[Figure]:
    """A figure a problem and number of threads, problems first."""
    figures = [Figure() for _ in threads for _ in problems]
    for _ in range(ROUNDS):
        cases = [(problem, count) for count in threads for problem in problems]
        for figure, (problem, count) in zip(figures, cases, strict=True):
            command = [ATTNC, "bench", f"--seconds={SECONDS}", f"--threads={count}", f"--problem={problem}", *flags]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            milliseconds, share = map(float, LINE.search(output).groups())
            figure.seconds = min(figure.seconds, milliseconds * 1e-3)
            figure.shares.append(share)
    return figures


def share(problem: str, *flags: str, threads: int = 1) -> float:
    """Percent of the ceiling: the median round, since memory is as fast as the neighbours let it be."""
    return statistics.median(bench(problem, flags=flags, threads=(threads,))[0].shares)


def time_ratio(problem: str, base: str) -> float:
    """Time of a problem ÷ time of another."""
    figure, other = bench(problem, base)
    return figure.seconds / other.seconds


def cost(problem: str, base: str = "sq1024 d64") -> float:
    """Percent that a problem takes longer than another."""
    return 100 * (time_ratio(problem, base) - 1)


def speedup(problem: str) -> float:
    """Time on one thread ÷ time on two."""
    one, two = bench(problem, threads=(1, 2))
    return one.seconds / two.seconds


def beside(peer: str, title: str) -> float:
    """Time of another system ÷ time of attn, from the results of compare.py."""
    rows = json.loads(COMPARED.read_text())["rows"]
    systems = next(row["systems"] for row in rows if row["title"] == title)
    return systems[peer]["best"] / systems["attn"]["best"]


def compile_seconds(problem: str) -> float:
    """Processor seconds from the command line to the object; the fastest of several."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([ATTNC, f"--problem={problem}", "-o", f"{folder}/kernel.o"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@dataclasses.dataclass(frozen=True)
class Goal:
    """One line of the table. `more` is better, or less."""

    name: str
    must: float
    stretch: float
    unit: str
    measure: Callable[[], float]
    more: bool = True

    def verdict(self, value: float) -> str:
        """Which of the two is met."""
        met = [value >= goal if self.more else value <= goal for goal in (self.must, self.stretch)]
        return "stretch" if met[1] else "must" if met[0] else "below must"


ALIBI = """sq1024 d64
captures(%slopes : tensor<1xf32>)
score_mod {
^bb0(%score: f32):
  %h = attn.index head : index
  %i = attn.index query : index
  %j = attn.index key : index
  %slope = tensor.extract %slopes[%h] : tensor<1xf32>
  %distance = arith.subi %j, %i : index
  %narrow = arith.index_cast %distance : index to i32
  %real = arith.sitofp %narrow : i32 to f32
  %added = arith.mulf %slope, %real : f32
  %sum = arith.addf %score, %added : f32
  attn.yield %sum : f32
}"""
AVX2 = "--target=x86-64-v3"
DECODE = "b8 hq32 hkv8 sq1 sk4096 d128"
GOALS = [
    Goal("f32 prefill, S 1k, D 64", 80, 89, "%", lambda: share("sq1024 d64")),
    Goal("f32 prefill, S 1k, D 128", 80, 92, "%", lambda: share("sq1024 d128")),
    Goal("f32 prefill, S 4k, D 64", 80, 89, "%", lambda: share("sq4096 d64")),
    Goal("f32 prefill, S 4k, D 128", 80, 92, "%", lambda: share("sq4096 d128")),
    Goal(
        "causal ÷ full, S 4k, D 64",
        0.56,
        0.53,
        "",
        lambda: time_ratio("sq4096 d64 causal=top_left", "sq4096 d64"),
        more=False,
    ),
    Goal(
        "causal ÷ full, S 1k, D 64",
        0.60,
        0.56,
        "",
        lambda: time_ratio("sq1024 d64 causal=top_left", "sq1024 d64"),
        more=False,
    ),
    Goal("PyTorch ÷ attn, full 1k, D 64", 1.15, 1.3, "×", lambda: beside("torch", "full 1k, D 64")),
    Goal("PyTorch ÷ attn, causal 1k, D 64", 1.5, 1.9, "×", lambda: beside("torch", "causal 1k, D 64")),
    Goal("PyTorch ÷ attn, window 256 of 4k", 10, 20, "×", lambda: beside("torch", "window 256 of 4k, D 64")),
    Goal("16×16 heads, S 128, D 64", 70, 80, "%", lambda: share("b16 hq16 sq128 d64")),
    Goal("16×16 heads, S 128, D 128", 70, 80, "%", lambda: share("b16 hq16 sq128 d128")),
    Goal("boolean mask: cost", 12, 6, "%", lambda: cost("sq1024 d64 mask=bool"), more=False),
    Goal("bias: cost", 12, 6, "%", lambda: cost("sq1024 d64 bias=1,1,1024,1024"), more=False),
    Goal("softcap: cost", 12, 6, "%", lambda: cost("sq1024 d64 softcap=30"), more=False),
    Goal("ALiBi as a region: cost", 12, 6, "%", lambda: cost(ALIBI), more=False),
    Goal(
        "heads of its own ÷ grouped 32/8",
        0.98,
        1.02,
        "×",
        lambda: time_ratio("hq32 sq1024 d128", "hq32 hkv8 sq1024 d128"),
    ),
    Goal("decode B 8, 32/8 heads, 4k, f32, 1 thread", 85, 95, "%", lambda: share(DECODE)),
    Goal("decode B 8, 32/8 heads, 4k, f32, 2 threads", 85, 95, "%", lambda: share(DECODE, threads=2)),
    Goal("decode B 8, 32/8 heads, 4k, bf16, 1 thread", 85, 95, "%", lambda: share(f"{DECODE} bf16")),
    Goal("decode B 8, 32/8 heads, 4k, bf16, 2 threads", 85, 95, "%", lambda: share(f"{DECODE} bf16", threads=2)),
    Goal("decode B 8, 32/8 heads, 4k, int8 K and V", 85, 95, "%", lambda: share(f"{DECODE} kv=int8 kvscale=head")),
    Goal(
        "decode B 8, 32/8 heads, 4k, bf16, int8 K and V",
        85,
        95,
        "%",
        lambda: share(f"{DECODE} bf16 kv=int8 kvscale=head"),
    ),
    Goal(
        "decode B 8, 8/8 heads, 4k, bf16, int8 K and V",
        85,
        95,
        "%",
        lambda: share("b8 hq8 hkv8 sq1 sk4096 d128 bf16 kv=int8 kvscale=head"),
    ),
    Goal("decode B 1, 8/1 heads, 32k, 1 thread", 85, 95, "%", lambda: share("hq8 hkv1 sq1 sk32768 d128")),
    Goal("decode B 1, 8/1 heads, 32k, 2 threads", 85, 95, "%", lambda: share("hq8 hkv1 sq1 sk32768 d128", threads=2)),
    Goal("bf16 prefill, S 1k, D 64", 75, 83, "%", lambda: share("sq1024 d64 bf16")),
    Goal("bf16 prefill, S 1k, D 128", 75, 83, "%", lambda: share("sq1024 d128 bf16")),
    Goal("two threads ÷ one, full", 1.9, 1.97, "×", lambda: speedup("b2 hq8 sq1024 d64")),
    Goal("two threads ÷ one, causal 4k", 1.9, 1.97, "×", lambda: speedup("hq2 sq4096 d64 causal=top_left")),
    Goal("AVX2, S 1k, D 64", 84, 89, "%", lambda: share("sq1024 d64", AVX2)),
    Goal("AVX2, S 1k, D 128", 86, 93, "%", lambda: share("sq1024 d128", AVX2)),
    Goal("compile, S 1k, D 64", 0.5, 0.2, "s", lambda: compile_seconds("sq1024 d64"), more=False),
    Goal(
        "compile, causal, grouped, bf16",
        0.5,
        0.2,
        "s",
        lambda: compile_seconds("hq32 hkv8 sq1024 d128 bf16 causal=top_left"),
        more=False,
    ),
    Goal("compile, decode, int8", 0.5, 0.2, "s", lambda: compile_seconds(f"{DECODE} kv=int8 kvscale=head"), more=False),
]


def main() -> None:
    """Prints a row a goal as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", default="", help="goals whose name matches")
    only = parser.parse_args().only
    print("| | must | stretch | measured | met |\n| --- | --- | --- | --- | --- |")
    for goal in GOALS:
        if not re.search(only, goal.name):
            continue
        try:
            value = goal.measure()
        except FileNotFoundError as error:
            if Path(error.filename or "") != COMPARED:
                raise
            measured, verdict = "–", "run compare.py first"
        else:
            measured, verdict = f"{value:.3g} {goal.unit}".strip(), goal.verdict(value)
        texts = [f"{number:.3g} {goal.unit}".strip() for number in (goal.must, goal.stretch)]
        print(f"| {goal.name} | " + " | ".join([*texts, measured, verdict]) + " |", flush=True)


if __name__ == "__main__":
    main()
