"""Products of matrices, as the projections around attention are, on one thread beside NumPy's BLAS; best of the runs.

OPENBLAS_NUM_THREADS=1 PYTHONPATH=python build/venv/bin/python benchmarks/projections.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

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


def best_time(call: Callable[[], object]) -> float:
    """Seconds of the fastest call."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(m: int, k: int, n: int) -> tuple[float, float]:
    """GFLOP/s of the kernel and of NumPy."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    out = np.empty((m, n), np.float32)
    text = PRODUCT
    for name, array in (("A", a), ("B", b), ("C", out)):
        for mark in (": ", "-> ", ", "):
            text = text.replace(mark + name, f"{mark}tensor<{array.shape[0]}x{array.shape[1]}xf32>")
    calls = partial(attn.compile(text, parallel="none"), a, b, out=out), partial(np.matmul, a, b, out=out)
    ours, theirs = (2e-9 * m * k * n / best_time(call) for call in calls)
    return ours, theirs


if __name__ == "__main__":
    for m, k, n in SIZES:
        ours, theirs = measure(m, k, n)
        print(f"{m} x {k} x {n} f32: {ours:.1f} GFLOP/s, NumPy {theirs:.1f}, ratio {ours / theirs:.2f}")
