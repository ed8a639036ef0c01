#!/usr/bin/env python3
"""Runs problem lines that hold every pair of features, each against the reference.

  scripts/matrix.py                        2,000 lines; about 20 minutes of one core
  scripts/matrix.py --count=200 --start=400 --seed=7 --jobs=4 --minimize
  scripts/matrix.py --with=grad --count=1000   only lines that have another level of the axis grad than its first
  scripts/matrix.py --target=sapphirerapids --emulator=FILE.so   what this processor lacks is emulated
  scripts/matrix.py --target=neoverse-v2 --runner=build/arm/runner   another architecture, under qemu-user
  scripts/matrix.py --target=sm_80 --count=500   lines for GPUs, compiled only: each has a kernel, or is refused by name

A case is one level of each axis of scripts/matrix_cases.py. The first cases are chosen so that each pair of levels that
the parser accepts together is in one of them at least; the others are random. One case in REFUSED_EVERY breaks a rule
there on purpose: the parser has to refuse it with that rule's message, and may refuse no other. Every line runs as
`attnc run --check --problem=LINE --seed=N`; lines with dynamic sizes get `--size=…`, so that they run with the sizes of
the axes: 1, 0 and odd ones too. What lies beyond lengths is NaN in every line that has lengths or pages, and may reach
no output.

Failures are printed as lines to paste; with --minimize each is cut down while the same thing is wrong. Then come the
pairs, an axis a row, and `N lines, N passed, M refused, K failed`. The exit status is 1 where one failed. Case N is
the same for each --count that covers it: --start=N --count=1 repeats it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from matrix_cases import AXES, GPU_AXES, Generator, print_problem, print_sizes
from matrix_rules import GPU_REFUSALS, Levels, broken_rules

TIME_LIMIT = 300  # seconds a line


@dataclass(frozen=True)
class Result:
    """How a line ended: `passed`, `refused` as was expected, or what was wrong in one short line."""

    verdict: str
    output: str
    paste: str

    @property
    def failed(self) -> bool:
        """True where something was wrong."""
        return self.verdict not in ("passed", "refused")


def is_gpu(target: str) -> bool:
    """True where lines are compiled only: this machine may have no such device."""
    return target.startswith("sm_")


def judge(case: Levels, code: int, output: str, compiles: bool = False) -> str:
    """The verdict on what attnc printed, which ran the line or, if `compiles`, only compiled it."""
    broken = broken_rules(case)
    is_refused = code == 1 and "error: problem line" in output
    if is_refused and any(rule.message in output for rule in broken):
        return "refused"
    if is_refused or broken:
        return ("not refused, expected: " + broken[0].message) if broken else "refused, expected it to run"
    if code == 0 and (": ok" in output or compiles):
        return "passed"
    if compiles and code == 1 and any(text in output for text in GPU_REFUSALS):
        return "refused"
    lines = [line for line in output.splitlines() if "error:" in line or "FAILED" in line]
    text = re.sub(r"error [^ ]*, relative to max \|ref\| \S+", "error", lines[0]) if lines else f"exit status {code}"
    text = re.sub(r"^.*?(error|attnc): ", "", text)
    return re.sub(r"\d+", "N", text)[:160]


class Runner:
    """Runs cases with one attnc."""

    def __init__(self, attnc: Path, target: str = "", emulator: Path | None = None, runner: str = "") -> None:
        """Takes the driver's path, the target, and the library (tile_emulator.c) or the command that runs it."""
        self.attnc = attnc
        self.cache: list[str] = []  # an option that no paste needs
        self.options = [f"--target={target}"] if target else []
        self.compiles = is_gpu(target)
        # Idle threads that spin would take the cores of the other jobs.
        self.environment = os.environ | {"OMP_WAIT_POLICY": "passive", "LLVM_DISABLE_SYMBOLIZATION": "1"}
        if runner:
            self.options.append(f"--runner={runner}")
        if emulator:
            self.options.append("--emulated")
            self.environment["LD_PRELOAD"] = str(emulator.resolve())

    def run(self, case: Levels, seed: int) -> Result:
        """Runs one line with inputs of this seed."""
        options = ["--emit=obj", "-o", os.devnull]  # gradients have several kernels, a text each
        if not self.compiles:
            options = ["run", "--check", f"--seed={seed}", print_sizes(case)]
        options += ["--problem=" + print_problem(case), *self.options]
        command = [str(self.attnc), *(option for option in options if option)]
        paste = shlex.join(["attnc", *command[1:]])
        try:
            done = subprocess.run(
                [*command, *self.cache], capture_output=True, timeout=TIME_LIMIT, env=self.environment, check=False
            )
        except subprocess.TimeoutExpired:
            return Result(f"no end within {TIME_LIMIT} s", "", paste)
        output = (done.stdout + done.stderr).decode(errors="replace")
        return Result(judge(case, done.returncode, output, self.compiles), output, paste)

    def minimize(self, case: Levels, seed: int, failure: Result) -> Result:
        """Sets axes to their plainest levels for as long as the same thing is wrong."""
        case = dict(case)
        while True:
            for axis, level in case.items():
                plainer = [other for other in AXES[axis][:2] if AXES[axis].index(other) < AXES[axis].index(level)]
                results = ((other, self.run(case | {axis: other}, seed)) for other in plainer)
                better = next(((o, result) for o, result in results if result.verdict == failure.verdict), None)
                if better:
                    case[axis], failure = better
                    break
            else:
                return failure


def print_pairs(generator: Generator, seen: set[tuple[str, str, str, str]]) -> None:
    """A row an axis: how many of its pairs with others were in a line, and how many the parser accepts."""
    print(f"{'axis':<12}{'levels':>8}{'covered':>10}{'accepted':>10}")
    for axis, levels in AXES.items():
        accepted = [pair for pair in generator.possible if axis in pair[::2]]
        print(f"{axis:<12}{len(levels):>8}{sum(pair in seen for pair in accepted):>10}{len(accepted):>10}")
    print(f"{'all':<20}{sum(p in seen for p in generator.possible):>10}{len(generator.possible):>10}")


def main() -> int:
    """Returns the exit status."""
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="lines to run (2000)")
    parser.add_argument("--start", type=int, default=0, help="number of the first line (0)")
    parser.add_argument("--with", dest="needed", choices=AXES, default="", help="an axis that is at no first level")
    parser.add_argument("--seed", type=int, default=1, help="of the cases and, with their numbers, of the inputs (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="lines at a time (one a core)")
    parser.add_argument("--attnc", type=Path, default=root / "build/release/bin/attnc")
    parser.add_argument("--object-cache", default="", help="attnc's: a folder where machine code is kept")
    parser.add_argument("--target", default="", help="of the kernels (this processor)")
    parser.add_argument("--emulator", type=Path, help="a library, preloaded, that executes what the processor lacks")
    parser.add_argument("--runner", default="", help="a command that runs another architecture, of attnc run --runner")
    parser.add_argument("--minimize", action="store_true", help="cut failures down to the smallest lines")
    parser.add_argument("--list", action="store_true", help="print the lines and run none")
    arguments = parser.parse_args()

    if is_gpu(arguments.target):
        AXES.update(GPU_AXES)
    generator, runner = (
        Generator(arguments.seed, arguments.needed),
        Runner(arguments.attnc, arguments.target, arguments.emulator, arguments.runner),
    )
    runner.cache += [f"--object-cache={arguments.object_cache}"] if arguments.object_cache else []
    stop = arguments.start + arguments.count
    cases = [case for _, case in zip(range(stop), generator.cases(), strict=False)][arguments.start :]
    numbers = range(arguments.start, stop)
    seen = {pair for case in cases if not broken_rules(case) for pair in generator.pairs_of(case)}
    if arguments.list:
        print(*map(print_problem, cases), sep="\n")
        return 0
    verdicts: Counter[str] = Counter()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for case, number, result in zip(cases, numbers, pool.map(runner.run, cases, numbers), strict=True):
            verdicts[result.verdict] += 1
            if result.failed:
                result = runner.minimize(case, number, result) if arguments.minimize else result
                print(f"line {number}: {result.verdict}\n  {result.paste}", flush=True)
    passed, refused = verdicts.pop("passed", 0), verdicts.pop("refused", 0)
    print(*(f"{count} failed: {verdict}" for verdict, count in verdicts.most_common()), sep="\n")
    print_pairs(generator, seen)
    failed = verdicts.total()
    print(f"{len(cases)} lines, {passed} passed, {refused} refused, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
