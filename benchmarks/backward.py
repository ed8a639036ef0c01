#!/usr/bin/env python3
"""Gradient kernels beside the forward kernel in the same rounds, one thread, CPU time: GFLOP/s as medians.

A backward pass has five products, 10 pairs D; a forward pass two, 4 pairs D. --prototype is a library with `bwd`, a
kernel written by hand, which joins the rounds.
"""

import argparse
import ctypes
import os
import re
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "python"))
import attn

SLOPES = """captures(%slopes : tensor<8xf32>)
score_mod {
^bb0(%score: f32):
  %h = attn.index head : index
  %i = attn.index query : index
  %j = attn.index key : index
  %slope = tensor.extract %slopes[%h] : tensor<8xf32>
  %d = arith.subi %i, %j : index
  %n = arith.index_cast %d : index to i32
  %x = arith.sitofp %n : i32 to f32
  %y = arith.mulf %slope, %x : f32
  %r = arith.subf %score, %y : f32
  attn.yield %r : f32
}"""
# Distances in 32 buckets, as T5 has them: those of 16 and more have a bucket each 64.
BUCKETS = """captures(%table : tensor<32x8xf32>)
score_mod {
^bb0(%score: f32):
  %h = attn.index head : index
  %i = attn.index query : index
  %j = attn.index key : index
  %d = arith.subi %i, %j : index
  %zero = arith.constant 0 : index
  %near = arith.constant 15 : index
  %last = arith.constant 31 : index
  %wide = arith.constant 64 : index
  %from = arith.maxsi %d, %zero : index
  %far = arith.floordivsi %from, %wide : index
  %few = arith.minsi %from, %near : index
  %sum = arith.addi %far, %few : index
  %bucket = arith.minsi %sum, %last : index
  %t = tensor.extract %table[%bucket, %h] : tensor<32x8xf32>
  %r = arith.addf %score, %t : f32
  attn.yield %r : f32
}"""

# name: heads, length, head size, words of the problem line, pairs of a head, and a captured tensor with its regions
PROBLEMS = {
    "full 1k D 64": (8, 1024, 64, "", 1024**2, None, ""),
    "full 1k D 128": (8, 1024, 128, "", 1024**2, None, ""),
    "causal 1k D 64": (8, 1024, 64, "causal=top_left", 1024 * 1025 // 2, None, ""),
    "causal 1k D 128": (8, 1024, 128, "causal=top_left", 1024 * 1025 // 2, None, ""),
    "window 256 of 4k D 64": (
        2, 4096, 64, "causal=top_left window=256,", sum(min(i, 256) + 1 for i in range(4096)), None, "",
    ),
    "slopes of ALiBi 1k D 64": (8, 1024, 64, "", 1024**2, (8,), SLOPES),
    "buckets of T5 1k D 64": (8, 1024, 64, "", 1024**2, (32, 8), BUCKETS),
}  # fmt: skip


def pointer(array: np.ndarray | None) -> ctypes.c_void_p | None:
    """The address of an array, null for None."""
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def measure(name: str, prototype: ctypes.CDLL | None, rounds: int, target: str) -> tuple[str, dict[str, float]]:
    """One line of the table, and the GFLOP/s in it."""
    heads, length, size, words, pairs, shape, regions = PROBLEMS[name]
    rng = np.random.default_rng(0)
    q, k, v, dout = (rng.standard_normal((1, heads, length, size), dtype=np.float32) for _ in range(4))
    captured = () if shape is None else (rng.random(shape, dtype=np.float32),)
    line = f"b1 hq{heads} hkv{heads} sq{length} sk{length} d{size} f32 {words}"
    forward = attn.compile(f"{line} out=max,log_sum\n{regions}", target, parallel="none", cache=False)
    out, *terms = forward(q, k, v, *captured)
    lse = terms[0] + terms[1]
    names = ["q", "k", "v", *re.findall(r"captures\(%(\w+)", regions)]
    kernel = attn.compile(
        f"{line} grad={','.join(names)}\n{regions}",
        target,
        name="sdpa_backward",
        parallel="none",
        fail_on_fallback=True,
        cache=False,
    )
    gradients, other = (tuple(np.empty_like(x) for x in (q, k, v, *captured)) for _ in range(2))
    window = 256 if "window" in words else -1

    def run_prototype() -> None:
        problem = (0, size, heads, 1, length, int(bool(words)), window, ctypes.c_float(size**-0.5))
        prototype.bwd(*problem, *map(pointer, (q, k, v, out, dout, lse, None, *other[:3], None, None)))

    runs = {
        "forward": (4, lambda: forward(q, k, v, *captured, out=(out, *terms))),
        "backward": (10, lambda: kernel(q, k, v, *captured, out, *terms, dout, out=gradients)),
    }
    if prototype:
        runs["prototype"] = (10, run_prototype)
    times: dict[str, list[float]] = {x: [] for x in runs}
    for _ in range(rounds + 1):
        for x, (_, run) in runs.items():
            start = time.process_time()
            run()
            times[x].append(time.process_time() - start)
    work = pairs * size * heads / 1e9
    rate = {x: factor * work / statistics.median(times[x][1:]) for x, (factor, _) in runs.items()}
    table = ", ".join(f"{x} {value:.1f}" for x, value in rate.items())
    ratios = ", ".join(f"/ {x} {rate['backward'] / rate[x]:.2f}" for x in rate if x != "backward")
    return f"{name}: GFLOP/s {table}; backward {ratios}", rate


def draw(rates: dict[str, dict[str, float]], path: str) -> None:
    """Bars: how fast backward passes are, as parts of the speed of their forward passes."""
    from matplotlib.figure import Figure

    names = list(rates)[::-1]
    axes = (figure := Figure(figsize=(7, 0.5 * len(names) + 1), layout="constrained")).subplots()
    bars = axes.barh(names, [100 * rates[x]["backward"] / rates[x]["forward"] for x in names], color="#2166ac")
    axes.bar_label(bars, fmt="%.0f %%", padding=3)
    axes.axvline(100, color="#888888", linewidth=0.8)
    axes.set(xlabel="GFLOP/s of the backward pass, % of those of the forward pass", xlim=(0, 120))
    figure.savefig(path, dpi=100)


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of problems")
    parser.add_argument("--prototype", default="", help="a shared library")
    parser.add_argument("--target", default="host")
    parser.add_argument("--picture", default="", help="a file for bars, which needs matplotlib")
    arguments = parser.parse_args()
    prototype = ctypes.CDLL(arguments.prototype) if arguments.prototype else None
    rates = {}
    for name in PROBLEMS:
        if arguments.only in name:
            line, rates[name] = measure(name, prototype, arguments.rounds, arguments.target)
            print(line, flush=True)
    if arguments.picture:
        draw(rates, arguments.picture)


if __name__ == "__main__":
    main()
