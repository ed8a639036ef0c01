#!/usr/bin/env python3
"""Runs random schedules, as somebody writes them by hand: each is refused with a message, or its numbers are right.

  scripts/schedules.py                     2,000 schedules over 200 problems
  scripts/schedules.py --count=60 --start=400 --seed=7 --jobs=4

Ten schedules belong to a problem line of scripts/matrix.py. A schedule starts as the policy's for one of TARGETS and
has some fields changed: to what fits the others, to any number, to no number at all, or to another kind of kernel. It
comes in by --schedule, or stands in the IR, on attn.sdpa or on attn.online_step; GPU targets run in the emulator.
`right` is a kernel whose outputs agree with the reference. `refused` is an error at its place in the source that says
what a field should be. All else, a wrong number, a crash, no end, a message without advice, is wrong and printed as a
line to paste.

The last line is `N schedules: right R, refused F, wrong W`; the exit status is 1 where W is not 0. Schedule N is the
same for each --count that covers it: --start=N --count=1 repeats it. --messages prints the refusals by their text.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

import matrix_cases
import matrix_rules

TIME_LIMIT = 600  # seconds a tool
PER_PROBLEM = 10
TARGETS = {"host": 5, "x86-64-v3": 3, "x86-64-v2": 2, "sm_80": 1}  # with the number of times each is drawn
ROUTES = {"option": 7, "attn.sdpa": 2, "attn.online_step": 1}
FLAGS = ("shared_keys", "overlap", "pack_first", "producer")
INSTRUCTIONS = ("fma", "pairs", "bytes", "amx", "mma", "tf32", "wgmma")
LARGEST = 1 << 24
# Any number of a field, in range and out of it.
NUMBERS = {
    "query_tile": (0, 1, 2, 3, 5, 8, 16, 17, 24, 32, 48, 64, 96, 128, 203, 256, 1024, 1 << 16, LARGEST),
    "key_tile": (0, 1, 2, 3, 5, 8, 16, 20, 32, 48, 64, 96, 100, 128, 256, 1024, 1 << 16, LARGEST),
    "lanes": (0, 1, 2, 3, 4, 8, 16, 32, 64, LARGEST),
    "block_rows": (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 1000, LARGEST),
    "block_vectors": (0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 64, 1000, LARGEST),
    "block_queries": (0, 1, 2, 3, 4, 8, 16, 32, LARGEST),
    "warp_rows": (0, 1, 8, 16, 32, 48, 64, 128, 1024, LARGEST),
    "stages": (0, 1, 2, 3, 8, LARGEST),
    "split_keys": (0, 1, 5, 16, 64, 96, 100, 128, 256, 1024, LARGEST),
    "prefetch": (0, 1, 2, 7, 8, 16, 64, 100, 1024, 1 << 20, LARGEST),
    "warps": (0, 1, 2, 3, 4, 5, 8, 16, 17, 64, LARGEST),
    "kv_heads": (0, 1, 2, 3, 4, 5, 6, 8, LARGEST),
}
# What is no integer, or no field of its kind, MLIR's parser refuses in IR.
NO_NUMBERS = ("", "-1", "abc", "1.5", "0x10", "16777217", "9223372036854775808", "-9223372036854775808", "1e3")

SDPA = r"(attn\.sdpa ins.*?outs\([^)]*\)(?: max\([^)]*\))?(?: log_sum\([^)]*\))?)"  # up to its attributes
SCHEDULE = r"#attn\.(prefill|decode|block)<(.*?)>"
# The fields of each kind of kernel, those first that have to be there.
KINDS = {
    "prefill": (
        "query_tile",
        "key_tile",
        "lanes",
        "block_rows",
        "block_vectors",
        "instruction",
        "prefetch",
        "overlap",
        "pack_first",
    ),
    "decode": ("query_tile", "key_tile", "lanes", "block_queries", "instruction", "split_keys", "prefetch", "kv_heads"),
    "block": (
        "query_tile",
        "key_tile",
        "warps",
        "warp_rows",
        "instruction",
        "shared_keys",
        "split_keys",
        "stages",
        "producer",
    ),
}
REQUIRED = {"prefill": 5, "decode": 4, "block": 4}

Fields = dict[str, str]
Schedule = tuple[str, Fields]  # kind and fields


def pick(generator: random.Random, weights: dict[str, int]) -> str:
    """A key, drawn as often as its number says."""
    return generator.choices(list(weights), list(weights.values()))[0]


def fits_gpu(problem: matrix_rules.Levels) -> bool:
    """False where no GPU kernel is for it, whatever the schedule."""
    sizes = [int(problem[name] or problem["d"]) for name in ("d", "dv")]
    has_kernel = problem["element"] != "f64" and not problem["grad"] and not problem["strided"]
    return has_kernel and all(size % 8 == 0 for size in sizes)


def choose_decode(generator: random.Random, policy: Schedule, problem: matrix_rules.Levels) -> Schedule:
    """A kernel whose tile has all queries of the heads that share keys, with fields that belong together."""
    kind, fields = policy
    changed = {"query_tile": problem["size"].split("x")[0]}
    if kind == "block":
        changed |= {"key_tile": str(16 * generator.randint(1, 4)), "shared_keys": "true"}
    else:
        kind, lanes = "decode", int(fields["lanes"])
        changed |= {"key_tile": str(generator.choice((1, 3, 8, 16, 32, 64, 128))), "lanes": str(lanes)}
        changed["block_queries"] = str(1 << generator.randrange(lanes.bit_length()))
        changed["kv_heads"] = generator.choice(("1", "1", problem["heads"].split(",")[1]))
    changed["split_keys"] = str(int(changed["key_tile"]) * generator.choice((0, 0, 1, 2, 5)))
    return kind, changed


def choose_prefill(generator: random.Random, policy: Schedule) -> Schedule:
    """A kernel whose tile has queries of one head, with fields that belong together."""
    kind, fields = policy
    if kind == "block":
        rows, warps = 16 * generator.randint(1, 2), generator.choice((1, 2, 4))
        changed = {"query_tile": str(rows * warps), "key_tile": str(16 * generator.randint(1, 4))}
        return kind, changed | {"warp_rows": str(rows), "warps": str(warps), "shared_keys": "false", "split_keys": "0"}
    changed = {"query_tile": str(int(fields["lanes"]) * generator.randint(1, 9)), "lanes": fields["lanes"]}
    changed["key_tile"] = generator.choice(("1", "7", "16", "32", "50", "64", "96"))
    changed["block_rows"], changed["block_vectors"] = str(generator.randint(1, 9)), str(generator.randint(1, 9))
    return "prefill", changed


def choose_any(generator: random.Random, name: str) -> str:
    """A value of one field."""
    if name == "instruction":
        return generator.choice(INSTRUCTIONS)
    if name in FLAGS:
        return generator.choice(("true", "false"))
    return generator.choice(NO_NUMBERS) if generator.random() < 0.05 else str(generator.choice(NUMBERS[name]))


def draw_fields(generator: random.Random, policy: Schedule, problem: matrix_rules.Levels) -> Schedule:
    """The kind, and the fields that are not the policy's."""
    schedule: Schedule = policy[0], {}
    draw = generator.random()
    if draw < (0.1 if "q" in problem["dynamic"] else 0.4):
        schedule = choose_decode(generator, policy, problem)
    elif draw < 0.7:
        schedule = choose_prefill(generator, policy)
    elif draw < 0.75:
        schedule = generator.choice(list(KINDS)), {}
    kind, changed = schedule
    names = KINDS[kind] if generator.random() < 0.95 else [*NUMBERS, "instruction", *FLAGS]
    # Where fields fit each other, one more is changed often, not always.
    count = generator.randint(0, 2) if changed else generator.choice((1, 1, 2, 3, len(names)))
    likely = [
        name for name in ("prefetch", "instruction", "key_tile", "kv_heads", "split_keys", "stages") if name in names
    ]
    for _ in range(count):
        name = generator.choice(likely if changed and generator.random() < 0.6 else names)
        changed[name] = choose_any(generator, name)
    return kind, changed


def print_schedule(kind: str, fields: Fields) -> str:
    """As the IR has it."""
    return f"#attn.{kind}<" + ", ".join(f"{name} = {value}" for name, value in fields.items()) + ">"


@dataclass(frozen=True)
class Case:
    """A schedule on its way in."""

    problem: matrix_rules.Levels
    target: str
    route: str
    kind: str
    fields: Fields  # that the option names
    policy: Schedule
    seed: int

    @property
    def line(self) -> str:
        """The problem line."""
        return matrix_cases.print_problem(self.problem)

    @property
    def text(self) -> str:
        """As --schedule takes it."""
        return print_schedule(self.kind, self.fields)

    @property
    def attribute(self) -> str:
        """As the IR has it."""
        required = dict.fromkeys(KINDS[self.kind][: REQUIRED[self.kind]], "1")
        fields = self.policy[1] if self.policy[0] == self.kind else {}
        return print_schedule(self.kind, required | fields | self.fields)


@dataclass(frozen=True)
class Result:
    """How a schedule ended: right, refused, or what was wrong in a short line."""

    verdict: str
    message: str
    paste: str


class Runner:
    """Runs cases with the tools of one build."""

    def __init__(self, attnc: Path, folder: Path, object_cache: str = "") -> None:
        """Takes the driver's path, a folder for IR and PTX, and one where attnc keeps machine code."""
        self.attnc, self.folder = attnc, folder
        self.cache = [f"--object-cache={object_cache}"] if object_cache else []
        # Idle threads that spin would take the cores of the other jobs.
        self.environment = os.environ | {"OMP_WAIT_POLICY": "passive", "LLVM_DISABLE_SYMBOLIZATION": "1"}
        self.find_policy = lru_cache(maxsize=None)(self.find_policy_once)

    def call(self, *words: str, tool: str = "attnc") -> tuple[int, str]:
        """Exit status and what was printed."""
        command = [str(self.attnc.with_name(tool)), *(word for word in words if word)]
        command += self.cache if tool == "attnc" else []
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIME_LIMIT, env=self.environment, check=False)
        except subprocess.TimeoutExpired:
            return 124, f"error: no end within {TIME_LIMIT} s"
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def find_policy_once(self, line: str, target: str) -> Schedule | None:
        """The policy's schedule; None where the target has no kernel."""
        code, output = self.call("--problem=" + line, "--target=" + target, "--stop-after=select-schedule")
        found = re.search(SCHEDULE, output)
        return (found[1], dict(word.split(" = ") for word in found[2].split(", "))) if code == 0 and found else None

    def draw(self, number: int, seed: int, problem: matrix_rules.Levels) -> Case:
        """Schedule `number`, one of those of a problem."""
        generator = random.Random(f"{seed}/{number}")
        target = pick(generator, TARGETS)
        if target == "sm_80" and not fits_gpu(problem):
            target = "host"
        route = "option" if target == "sm_80" else pick(generator, ROUTES)
        # The online form of packed sequences has no reference.
        if route == "attn.online_step" and problem["layout"] == "varlen":
            route = "attn.sdpa"
        start = ("block", {}) if target == "sm_80" else ("prefill", {"lanes": "8"})
        policy = self.find_policy(matrix_cases.print_problem(problem), target) or start
        kind, fields = draw_fields(generator, policy, problem)
        if route != "option":
            fields = {name: "-1" if value in NO_NUMBERS else value for name, value in fields.items()}
            fields = {name: value for name, value in fields.items() if name in KINDS[kind]}
        return Case(problem, target, route, kind, fields, policy, number)

    def write_ir(self, case: Case, number: int) -> Path | None:
        """The problem as IR with the schedule in it; None where its way has no such op."""
        phase = "input" if case.route == "attn.sdpa" else "online"
        code, text = self.call("--problem=" + case.line, "--target=" + case.target, "--stop-after=" + phase)
        if code != 0:
            return None
        if phase == "online":
            changed, count = re.subn(SCHEDULE, case.attribute, text)
        else:
            schedule = f"schedule = {case.attribute}"
            changed, count = re.subn(rf"{SDPA} \{{", rf"\1 {{{schedule}, ", text)
            if not count:
                changed, count = re.subn(SDPA, rf"\1 {{{schedule}}}", text)
        path = self.folder / f"{number}.mlir"
        path.write_text(changed)
        return path if count else None

    def run(self, case: Case, number: int) -> Result:
        """Compiles, runs and judges."""
        problem, target, sizes = (
            "--problem=" + case.line,
            "--target=" + case.target,
            matrix_cases.print_sizes(case.problem),
        )
        schedule, seed = "--schedule=" + case.text, f"--seed={case.seed}"
        if case.target == "sm_80":
            ptx = str(self.folder / f"{number}.ptx")
            paste = shlex.join(["attnc", problem, target, schedule, "--emit=ptx", "-o", "kernel.ptx"])
            code, output = self.call(problem, target, schedule, "--emit=ptx", "-o", ptx)
            if code != 0:
                return self.judge(code, output, paste)
            words = [word for word in (problem, schedule, seed, sizes) if word]
            paste += " && " + shlex.join(["attn-ptx-run", "kernel.ptx", *words])
            return self.judge(*self.call(ptx, *words, tool="attn-ptx-run"), paste)
        words = ["run", "--check", problem, target, schedule, seed, sizes]
        if case.route != "option":
            path = self.write_ir(case, number)
            if not path:
                return self.judge(*self.call(*words), shlex.join(["attnc", *words]))
            words = ["run", "--check", str(path), target, seed, sizes]
        paste = shlex.join(["attnc", *(word for word in words if word)])
        return self.judge(*self.call(*words), paste if case.route == "option" else f"{paste}  # {case.line}")

    def judge(self, code: int, output: str, paste: str) -> Result:
        """The verdict on what a tool printed."""
        errors = [line for line in output.splitlines() if "error:" in line or "FAILED" in line]
        text = re.sub(r"^.*?error: ", "", errors[0]) if errors else ""
        message = re.sub(r"\d+", "N", text)
        if code == 0 and ": ok" in output:
            return Result("right", "", paste)
        if any("FAILED" in line for line in errors):
            return Result("wrong numbers", message, paste)
        if code != 1 or not errors:
            return Result(f"exit status {code}", message, paste)
        # A message says what was expected or what to write, and where.
        has_place = re.match(r"(.*?:\d+:\d+|attnc|attn-ptx-run): error: ", errors[0])
        names = ("schedule", "instruction", *NUMBERS)
        says_what = ("expected" in text or "write " in text) and any(name in text for name in names)
        return Result("refused" if has_place and says_what else "a message without advice", message, paste)


def main() -> int:
    """Returns the exit status."""
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="schedules to run (2000)")
    parser.add_argument("--start", type=int, default=0, help="number of the first schedule (0)")
    parser.add_argument("--seed", type=int, default=1, help="of the problems and schedules (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="schedules at a time (one a core)")
    parser.add_argument("--attnc", type=Path, default=root / "build/release/bin/attnc")
    parser.add_argument("--object-cache", default="", help="attnc's: a folder where machine code is kept")
    parser.add_argument("--messages", action="store_true", help="print the refusals, the most frequent first")
    parser.add_argument("--keep", type=Path, help="folder for the IR of --start and --count, which is else removed")
    arguments = parser.parse_args()

    numbers = range(arguments.start, arguments.start + arguments.count)
    cases = matrix_cases.Generator(arguments.seed).cases()
    # Weights are those of a chain, which has no tiles.
    legal = (case for case in cases if not matrix_rules.broken_rules(case) and "weights" not in case["out"])
    problems = list(islice(legal, numbers.stop // PER_PROBLEM + 1))
    verdicts: Counter[str] = Counter()
    messages: Counter[str] = Counter()

    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(arguments.jobs) as pool:
        runner = Runner(arguments.attnc, arguments.keep or Path(temporary), arguments.object_cache)

        def run(number: int) -> Result:
            return runner.run(runner.draw(number, arguments.seed, problems[number // PER_PROBLEM]), number)

        for number, result in zip(numbers, pool.map(run, numbers), strict=True):
            verdicts[result.verdict] += 1
            if result.verdict == "refused":
                messages[result.message] += 1
            elif result.verdict != "right":
                print(f"schedule {number}: {result.verdict}: {result.message}\n  {result.paste}", flush=True)
    if arguments.messages:
        print(*(f"{count:5} {message}" for message, count in messages.most_common()), sep="\n")
    right, refused = verdicts.pop("right", 0), verdicts.pop("refused", 0)
    for verdict, count in verdicts.most_common():
        print(f"{count} wrong: {verdict}")
    wrong = verdicts.total()
    print(f"{len(numbers)} schedules: right {right}, refused {refused}, wrong {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
