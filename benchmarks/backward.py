#!/usr/bin/env python3
"""Gradient kernels beside the forward kernel in the same rounds, one thread, CPU time: GFLOP/s as medians.

A backward pass has five products, 10 pairs D; a forward pass two, 4 pairs D. --prototype is a library with `bwd`, a
kernel written by hand, which joins the rounds.
"""

import argparse
import ctypes
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

sys.path += [str(Path(__file__).parents[1] / x) for x in ("python", "test/python")]
import attn
from backward_ir import Sizes, backward

# name: heads, length, head size, attributes of the op, words of the forward's problem line, pairs of a head
PROBLEMS = {
    "full 1k D 64": (8, 1024, 64, "", "", 1024**2),
    "full 1k D 128": (8, 1024, 128, "", "", 1024**2),
    "causal 1k D 64": (8, 1024, 64, "causal = #attn.causal<top_left>", "causal=top_left", 1024 * 1025 // 2),
    "causal 1k D 128": (8, 1024, 128, "causal = #attn.causal<top_left>", "causal=top_left", 1024 * 1025 // 2),
    "window 256 of 4k D 64": (
        2, 4096, 64, "causal = #attn.causal<top_left>, window = #attn.window<left = 256>",
        "causal=top_left window=256,", sum(min(i, 256) + 1 for i in range(4096)),
    ),
}  # fmt: skip


def pointer(array: np.ndarray | None) -> ctypes.c_void_p | None:
    """The address of an array, null for None."""
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def measure(name: str, prototype: ctypes.CDLL | None, rounds: int, target: str) -> str:
    """One line of the table."""
    heads, length, size, attributes, words, pairs = PROBLEMS[name]
    rng = np.random.default_rng(0)
    q, k, v, dout = (rng.standard_normal((1, heads, length, size), dtype=np.float32) for _ in range(4))
    line = f"b1 hq{heads} hkv{heads} sq{length} sk{length} d{size} f32 out=lse {words}"
    forward = attn.compile(line, target, parallel="none")
    out, lse = forward(q, k, v)
    text = backward(Sizes(1, heads, heads, length, length, size, size), attributes=attributes)
    kernel = attn.compile(text, target, parallel="none", fail_on_fallback=True, cache=False)
    gradients, other = (tuple(np.empty_like(x) for x in (q, k, v)) for _ in range(2))
    window = 256 if "window" in attributes else -1

    def run_prototype() -> None:
        problem = (0, size, heads, 1, length, int(bool(attributes)), window, ctypes.c_float(size**-0.5))
        prototype.bwd(*problem, *map(pointer, (q, k, v, out, dout, lse, None, *other, None, None)))

    runs = {
        "forward": (4, lambda: forward(q, k, v, out=(out, lse))),
        "backward": (10, lambda: kernel(q, k, v, out, lse, dout, out=gradients)),
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
    return f"{name}: GFLOP/s {table}; backward {ratios}"


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of problems")
    parser.add_argument("--prototype", default="", help="a shared library")
    parser.add_argument("--target", default="host")
    arguments = parser.parse_args()
    prototype = ctypes.CDLL(arguments.prototype) if arguments.prototype else None
    for name in PROBLEMS:
        if arguments.only in name:
            print(measure(name, prototype, arguments.rounds, arguments.target), flush=True)


if __name__ == "__main__":
    main()
