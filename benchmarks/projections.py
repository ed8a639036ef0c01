"""Products of matrices, as the projections around attention are, on one thread beside NumPy's BLAS; best of the runs.

Those of bf16 beside PyTorch where it is installed, as in the environment of setup_peers.sh.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=python build/peers/bin/python benchmarks/projections.py
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import attn

# Rows, depth, columns.
SIZES = [(512, 512, 512), (1024, 1024, 1024), (300, 777, 500), (16, 1024, 1024), (1, 1024, 1024), (1, 4096, 4096)]
RUNS = 30

PRODUCT = """func.func @product(%a: A, %b: B) -> C {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : C
  %init = linalg.fill ins(%zero : f32) outs(%empty : C) -> C
  %out = linalg.matmul ins(%a, %b : A, B) outs(%init : C) -> C
  return %out : C
}
"""


def best_times(*calls: Callable[[], object]) -> list[float]:
    """Seconds of the fastest run of each, run in turn."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(RUNS):
        for call, runs in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            runs.append(time.perf_counter() - start)
    return [min(runs) for runs in times]


def compile_product(m: int, k: int, n: int, factor: str) -> attn.Kernel:
    """The kernel C = A B in f32, of A and B in the type `factor`."""
    text = PRODUCT
    for name, shape, element in (("A", (m, k), factor), ("B", (k, n), factor), ("C", (m, n), "f32")):
        for mark in (": ", "-> ", ", "):
            text = text.replace(mark + name, f"{mark}tensor<{shape[0]}x{shape[1]}x{element}>")
    return attn.compile(text, parallel="none")


def measure(m: int, k: int, n: int, torch: Any) -> tuple[float, float]:
    """GFLOP/s of the kernel and of NumPy, or of PyTorch in bf16 where it is given."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    out = np.empty((m, n), np.float32)
    if torch:
        left, right = (torch.from_numpy(x).bfloat16() for x in (a, b))
        calls = partial(compile_product(m, k, n, "bf16"), left, right, out=out), partial(torch.matmul, left, right)
    else:
        calls = partial(compile_product(m, k, n, "f32"), a, b, out=out), partial(np.matmul, a, b, out=out)
    ours, theirs = (2e-9 * m * k * n / seconds for seconds in best_times(*calls))
    return ours, theirs


def main() -> None:
    """Prints a row a size, f32 first."""
    libraries = [None]
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        libraries.append(torch)
    print("| rows x depth x columns | attn, GFLOP/s | beside | ratio |\n| --- | --- | --- | --- |")
    for torch in libraries:
        for m, k, n in SIZES:
            ours, theirs = measure(m, k, n, torch)
            name, element = ("PyTorch", "bf16") if torch else ("NumPy", "f32")
            print(
                f"| {m} x {k} x {n} {element} | {ours:.1f} | {name}, {theirs:.1f} | {ours / theirs:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
