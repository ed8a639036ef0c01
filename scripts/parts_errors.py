#!/usr/bin/env python3
"""Errors of attention by parts of bf16 (`parts` of #attn.prefill), beside multiply-adds of f32, against f64.

  scripts/parts_errors.py --emulator=FILE.so   the tables of docs/Semantics.md; FILE.so is test/python/tile_emulator.c

The first table has outputs of f32: an error is relative to the largest number of its column of the reference. The
second one has log-sum-exps of f16 inputs, which are f32; their errors are absolute. Of both come the largest error and
the root of the mean of squares. Kernels run as `attnc run --target=sapphirerapids --emulated`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

ATTNC = Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "attnc"
WAYS = {
    "f32 FMA": "#attn.prefill<instruction = fma, overlap = false, parts = 1>",
    "bf16x6": "#attn.prefill<parts = 3>",
    "two parts": "#attn.prefill<parts = 2>",
}
F16_WAYS = {
    "f16 FMA": "#attn.prefill<instruction = fma, overlap = false, parts = 1>",
    "f16, two parts": "#attn.prefill<parts = 2>",
}


def draw(rows: int, keys: int, columns: int, seed: int) -> list[np.ndarray]:
    """Normal q, k and v (1, 1, rows, columns)."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((1, 1, n, columns)).astype(np.float32) for n in (rows, keys, keys)]


def make_inputs() -> dict[str, list[np.ndarray]]:
    """q, k and v by name; all finite."""
    rng = np.random.default_rng(1)
    inputs = {"normal": draw(64, 1000, 64, 0)}
    inputs["normal, q times 8"] = [inputs["normal"][0] * np.float32(8), *inputs["normal"][1:]]
    # Each column of q and k, and each one of v, has a size of its own; products of q and k are as large as before.
    q, k, v = draw(64, 300, 64, 2)
    size = (10.0 ** rng.uniform(-6, 6, 64)).astype(np.float32)
    inputs["columns of 1e-6 to 1e6"] = [q * size, k / size, v * size]
    # The same is added to all scores of a row.
    for sign, name in ((1, "scores of 1e4"), (-1, "scores of -1e4")):
        q, k, v = draw(64, 300, 64, 3)
        q[..., 0], k[..., 0] = 283.7, 281.9 * sign
        inputs[name] = [q, k, v]
    q, k, v = draw(64, 300, 64, 4)
    tiny = (2.0 ** rng.integers(-149, -100, k.shape)).astype(np.float32)
    inputs["half denormal"] = [np.where(rng.random(x.shape) < 0.5, x, y) for x, y in ((q, q), (k, tiny), (v, tiny))]
    q, k, v = draw(64, 300, 64, 5)
    inputs["v of 1e36"] = [q, k, v * np.float32(1e36)]
    return inputs


def make_f16_inputs() -> dict[str, list[np.ndarray]]:
    """q, k and v of f16 by name."""
    rng = np.random.default_rng(6)
    inputs = {"normal": draw(64, 1000, 64, 0)}
    inputs["normal, q times 8"] = [inputs["normal"][0] * 8, *inputs["normal"][1:]]
    q, k, v = draw(64, 300, 64, 2)
    size = 10.0 ** rng.uniform(-2, 2, 64)
    inputs["columns of 1e-2 to 1e2"] = [q * size, k / size, v]
    q, k, v = draw(64, 300, 64, 3)
    inputs["half denormal"] = [q, np.where(rng.random(k.shape) < 0.5, k, 2.0 ** rng.integers(-24, -14, k.shape)), v]
    return {name: [x.astype(np.float16) for x in xs] for name, xs in inputs.items()}


def get_log_sums(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """lse (b, h, i) in f64."""
    scores = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), k.astype(np.float64)) / np.sqrt(q.shape[-1])
    largest = scores.max(axis=-1)
    return largest + np.log(np.exp(scores - largest[..., None]).sum(axis=-1))


def get_reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention in f64, of infinite and NaN inputs too."""
    with np.errstate(invalid="ignore", over="ignore"):
        scores = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), k.astype(np.float64)) / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.einsum("bhij,bhje->bhie", weights / weights.sum(axis=-1, keepdims=True), v.astype(np.float64))


def run(inputs: list[np.ndarray], schedule: str, emulator: Path, lse: bool = False) -> np.ndarray:
    """The output, or lse, that the kernel with that schedule makes of q, k and v, which have one type."""
    q, k, v = inputs
    name = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[str(q.dtype)]
    line = f"b1 hq1 sq{q.shape[2]} sk{k.shape[2]} d{q.shape[3]} dv{v.shape[3]} {name}{' out=lse' * lse}"
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for i, x in enumerate(inputs):
            np.save(f"{folder}/{i}.npy", x.view("V2") if name == "bf16" else x)
            words.append(f"--input={folder}/{i}.npy")
        command = [ATTNC, "run", f"--problem={line}", "--target=sapphirerapids", "--emulated", *words]
        command += [f"--output={folder}/{x}.npy" for x in ("out", "lse")[: 1 + lse]]
        command += [f"--schedule={schedule}"] if schedule else []
        environment = {**os.environ, "LD_PRELOAD": str(emulator)}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        out = np.load(f"{folder}/{'lse' if lse else 'out'}.npy")
    return out.view(ml_dtypes.bfloat16) if name == "bf16" and not lse else out


def get_errors(found: np.ndarray, expected: np.ndarray, unit: np.ndarray | None = None) -> tuple[float, float]:
    """The largest error and the root of the mean of squares, relative to unit: each column's largest number if None."""
    unit = np.abs(expected).max(axis=-2, keepdims=True) if unit is None else unit
    error = (found.astype(np.float64) - expected) / unit
    return float(np.abs(error).max()), float(np.sqrt((error**2).mean()))


def print_row(*cells: str) -> None:
    """One row of a table of Markdown."""
    print("| " + " | ".join(cells) + " |", flush=True)


def print_outputs(emulator: Path) -> None:
    """Outputs of f32, and of bf16."""
    print_row("inputs", *WAYS, "bf16")
    print_row(*["---"] * (len(WAYS) + 2))
    for name, inputs in make_inputs().items():
        expected = get_reference(*inputs)
        found = [run(inputs, schedule, emulator) for schedule in WAYS.values()]
        found.append(run([x.astype(ml_dtypes.bfloat16) for x in inputs], "", emulator))
        print_row(name, *["{:.1e} / {:.1e}".format(*get_errors(x, expected)) for x in found])


def print_log_sums(emulator: Path) -> None:
    """Log-sum-exps of f16 inputs."""
    print_row("lse, inputs", *F16_WAYS)
    print_row(*["---"] * (len(F16_WAYS) + 1))
    for name, inputs in make_f16_inputs().items():
        expected = get_log_sums(*inputs[:2])
        found = [run(inputs, schedule, emulator, lse=True) for schedule in F16_WAYS.values()]
        errors = [get_errors(x.reshape(expected.shape), expected, np.ones(())) for x in found]
        print_row(name, *["{:.1e} / {:.1e}".format(*x) for x in errors])


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", type=Path, required=True, help="tile_emulator.c as a library")
    emulator = parser.parse_args().emulator.resolve()
    print_outputs(emulator)
    print()
    print_log_sums(emulator)


if __name__ == "__main__":
    main()
