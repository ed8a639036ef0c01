"""One to 24 queries beside what attnc tune finds, and one kernel of a dynamic number of them beside those of each.

A kernel and those beside it are timed in turn, on one thread; of each the best round counts.

    build/venv/bin/python benchmarks/few_queries.py tuned --target=x86-64-v3
    build/venv/bin/python benchmarks/few_queries.py dynamic --check

With --check, a ratio above its goal (TUNED, STEP, DYNAMIC) ends the program with status 1, after the table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import attn

ATTNC = Path(__file__).parents[1] / "build" / "release" / "bin" / "attnc"
QUERIES = [1, 2, 3, 4, 6, 8, 10, 11, 12, 16, 17, 20, 24]
ROUNDS = 15
# Goals: time of the policy's schedule by that of the tuned one; time per query by that of one query less; time of the
# kernel of any number of queries by that of this number.
TUNED, STEP, DYNAMIC = 1.15, 1.1, 1.05
# Heads of Q that share one of K, heads of K, head sizes of K and V.
GROUPS = [
    *[(1, 8, 64, 64), (1, 8, 128, 128), (4, 4, 64, 64), (4, 4, 128, 128)],
    *[(16, 1, 128, 128), (128, 1, 576, 512)],
]


def best(calls: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of the fastest round of each, the rounds in turn."""
    seconds = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def draw(heads: int, kv_heads: int, queries: int, keys: int, d: int, dv: int, b: int = 1) -> list[np.ndarray]:
    """Normal q, k, v."""
    rng = np.random.default_rng(0)
    shapes = [(b, heads, queries, d), (b, kv_heads, keys, d), (b, kv_heads, keys, dv)]
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def print_tuned(target: str, budget: float) -> bool:
    """A row a group and head size: the largest ratio of policy to tuned, and the largest step by one query more.

    Returns whether all of them meet their goals.
    """
    is_met = True
    print(f"| group, D ({target}) | policy / tuned, at most | at | step, at most | at |")
    print("| --- | --- | --- | --- | --- |")
    for group, kv_heads, d, dv in GROUPS:
        lines = [f"b1 hq{group * kv_heads} hkv{kv_heads} sq{n} sk1024 d{d} dv{dv}" for n in QUERIES]
        with tempfile.TemporaryDirectory() as folder:
            problems, tuned = Path(folder, "problems.txt"), Path(folder, "tuned.json")
            problems.write_text("\n".join(lines) + "\n")
            options = [f"--problems={problems}", f"--target={target}", f"--budget={budget * len(lines)}", "-o", tuned]
            subprocess.run([ATTNC, "tune", *options], check=True, capture_output=True)
            found = json.loads(tuned.read_text())["problems"]
        ratios = {n: x["policy_seconds"] / x["seconds"] for n, x in zip(QUERIES, found, strict=True)}
        worst = max(ratios, key=lambda n: ratios[n])
        seconds = {n: x["policy_seconds"] for n, x in zip(QUERIES, found, strict=True)}
        # A row more may take its share of time.
        steps = {n: seconds[m] / seconds[n] / (m / n) for n, m in itertools.pairwise(QUERIES)}
        step = max(steps, key=lambda n: steps[n])
        print(f"| {group}, {d} | {ratios[worst]:.2f} | {worst} | {steps[step]:.2f} per query | {step} |", flush=True)
        is_met &= ratios[worst] <= TUNED and steps[step] <= STEP
    return is_met


def print_dynamic(target: str) -> bool:
    """A row a number of queries: the time of the kernel of any number beside that of this one.

    Returns whether all of them meet their goal.
    """
    is_met = True
    print("| queries, 4096 keys | static | dynamic | ratio |\n| --- | --- | --- | --- |")
    for heads, kv_heads in ((8, 8), (32, 8)):
        dynamic = attn.compile(f"b? hq{heads} hkv{kv_heads} sq? sk? d128 causal=bottom_right", target)
        for n in QUERIES:
            arrays = draw(heads, kv_heads, n, 4096, 128, 128)
            static = attn.compile(f"b1 hq{heads} hkv{kv_heads} sq{n} sk4096 d128 causal=bottom_right", target)
            t = best({"static": lambda: static(*arrays), "dynamic": lambda: dynamic(*arrays)})  # noqa: B023
            ratio = t["dynamic"] / t["static"]
            row = f"{1e3 * t['static']:.2f} ms | {1e3 * t['dynamic']:.2f} ms | {ratio:.2f}"
            print(f"| {n}, {heads} heads on {kv_heads} | {row} |", flush=True)
            is_met &= ratio <= DYNAMIC
    return is_met


def main() -> None:
    """Prints a table as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["tuned", "dynamic"])
    parser.add_argument("--target", default="host")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of tuning for each problem")
    parser.add_argument("--check", action="store_true", help="status 1 where a ratio is above its goal")
    options = parser.parse_args()
    attn.set_num_threads(1)
    is_tuned = options.table == "tuned"
    is_met = print_tuned(options.target, options.budget) if is_tuned else print_dynamic(options.target)
    if options.check and not is_met:
        raise SystemExit("error: expected all ratios to meet their goals, found larger ones")


if __name__ == "__main__":
    main()
