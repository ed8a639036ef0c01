#!/usr/bin/env python3
"""Runs the kernels that build.sh has made: right, the same bits each time, how fast. Needs NumPy and a CUDA driver.

  python3 run.py                            on the GPU; one table, and results.json
  python3 run.py --driver=libcuda_emulator.so --repeat=2 --seconds=0 --size=128     without one: no times

Each line is checked by rows of its outputs in f64 (the first, the last and random ones) and all of them for NaN; run
--repeat times more, the outputs have to have the same bits; then it is timed, --seconds at least. Beside them: a copy
of device memory, and where torch is installed a large GEMM and its scaled_dot_product_attention, each back end that
takes the line. TFLOP/s count two products over the keys that the masks keep; GB/s inputs and outputs once.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from device import Buffer, Driver, Kernel, decode
from expected import Rows, draw

FOLDER = Path(__file__).resolve().parent
TOLERANCE = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 1e-2}  # of the largest number of the reference
LSE_TOLERANCE = 1e-5
COPY_BYTES = 1 << 30
GEMM_SIZE = 8192
ROUNDS = 5
MIN_LAUNCHES = 3


def measure(driver: Driver, start: Callable[[], None], seconds: float) -> float:
    """Seconds of a launch: the median of rounds, each long enough for the clock of the host."""
    start()
    driver.synchronize()
    begin = time.perf_counter()
    for _ in range(MIN_LAUNCHES):
        start()
    driver.synchronize()
    once = (time.perf_counter() - begin) / MIN_LAUNCHES
    count = max(MIN_LAUNCHES, int(seconds / ROUNDS / max(once, 1e-7)))
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(count):
            start()
        driver.synchronize()
        rounds.append((time.perf_counter() - begin) / count)
    return statistics.median(rounds)


def check(rows: Rows, outputs: dict[str, np.ndarray], types: dict[str, str], count: int) -> tuple[float, list[str]]:
    """The largest error of rows of out against the largest number of the reference, and what is wrong."""
    generator, last = np.random.default_rng(1), rows.sequences - 1
    places = [(0, 0, 0), (last, rows.heads - 1, len(rows.get_rows("q", last, 0)) - 1)]
    places += [tuple(generator.integers(0, (rows.sequences, rows.heads, rows.most_queries))) for _ in range(count)]
    out, faults, error, largest, lse_error = decode(outputs["out"], types["out"]), [], 0.0, 1e-30, 0.0
    for b, h, i in (map(int, place) for place in places):
        row, lse = rows.compute(b, h, i)
        found = rows.get_output(out, b, h)[i]
        error, largest = max(error, np.abs(found - row).max()), max(largest, np.abs(row).max())
        if "lse" in outputs and np.isfinite(lse):
            found = float(rows.get_lse(outputs["lse"], b, h)[i])
            lse_error = max(lse_error, abs(found - lse) / max(1, abs(lse)))
    if np.isnan(out).any():
        faults.append(f"{np.isnan(out).sum()} NaN")
    if not error / largest <= TOLERANCE[types["out"]]:
        faults.append(f"error {error / largest:.1e}")
    if not lse_error <= LSE_TOLERANCE:
        faults.append(f"lse: error {lse_error:.1e}")
    return error / largest, faults


def count_work(kernel: Kernel, rows: Rows, arrays: dict[str, np.ndarray]) -> tuple[float, float]:
    """Operations of both products over the keys that causal and window keep, and bytes of inputs and outputs."""
    shapes = {argument["name"]: argument["shape"] for argument in kernel.arguments}
    words, kept = kernel.conventions, 0.0
    for b in range(rows.sequences):
        used, keys = rows.count(b)
        middle = np.arange(used) + (keys - used if (words["causal"] or words["align"]) == "bottom_right" else 0)
        last = middle if words["causal"] else np.full(used, keys - 1)
        if words["window_right"] is not None:
            last = np.minimum(last, middle + words["window_right"])
        first = np.maximum(0, middle - words["window_left"]) if words["window_left"] is not None else 0
        kept += np.maximum(0, np.minimum(last, keys - 1) - first + 1).sum()
    size = sum(array.nbytes for name, array in arrays.items() if name in shapes)
    depths = rows.get_rows("q", 0, 0).shape[1] + rows.get_rows("v", 0, 0).shape[1]
    return 2.0 * rows.heads * kept * depths, size


def run_line(driver: Driver, stem: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What there is to say of a line."""
    sizes = {"b": 1, "hq": 8, "hkv": 8, "sq": options.size, "sk": options.size}
    kernel = Kernel(driver, stem, sizes)
    result: dict[str, Any] = {"line": kernel.line, "label": kernel.label, "target": kernel.target}
    arrays = draw(kernel.arguments, np.random.default_rng(0))
    buffers = kernel.bind(arrays)
    results = {a["name"]: a for a in kernel.arguments if a["role"] == "output"}
    rows = Rows(kernel.line, kernel.arguments, kernel.conventions, arrays)

    def call() -> dict[str, np.ndarray]:
        kernel.launch(arrays, buffers)
        driver.synchronize()
        return {name: buffers[name].read(a["shape"], a["dtype"]) for name, a in results.items()}

    first = call()
    types = {argument["name"]: argument["dtype"] for argument in kernel.arguments}
    result["error"], faults = check(rows, first, types, options.rows)
    for number in range(options.repeat):
        again = call()
        if any(again[name].tobytes() != first[name].tobytes() for name in first):
            faults.append(f"other bits in run {number + 2}")
            break
    result["faults"] = faults
    if options.seconds > 0:
        seconds = measure(driver, lambda: kernel.launch(arrays, buffers), options.seconds)
        operations, size = count_work(kernel, rows, arrays)
        size += sum(array.nbytes for array in first.values())
        result |= {"microseconds": seconds * 1e6, "tflops": operations / seconds / 1e12, "gbps": size / seconds / 1e9}
        try:
            import peers

            result["torch"] = peers.measure(
                kernel, arrays, operations, lambda start: measure(driver, start, options.seconds)
            )
        except ImportError:
            pass
    return result


def measure_ceilings(driver: Driver, seconds: float) -> dict[str, float]:
    """GB/s of a copy within the device, read and written; TFLOP/s of torch's bf16 GEMM where it is installed."""
    source, target = Buffer(driver, COPY_BYTES), Buffer(driver, COPY_BYTES)
    words = ctypes.c_uint64(target.address), ctypes.c_uint64(source.address), ctypes.c_size_t(COPY_BYTES)
    ceilings = {
        "copy_gbps": 2 * COPY_BYTES / measure(driver, lambda: driver.call("cuMemcpyDtoD_v2", *words), seconds) / 1e9
    }
    try:
        import torch

        x = torch.randn(GEMM_SIZE, GEMM_SIZE, device="cuda", dtype=torch.bfloat16)
        ceilings["gemm_tflops"] = 2 * GEMM_SIZE**3 / measure(driver, lambda: torch.mm(x, x), seconds) / 1e12
    except ImportError:
        print("torch is not installed: no GEMM and no scaled_dot_product_attention to compare with")
    return ceilings


def print_result(result: dict[str, Any]) -> None:
    """A row of the table."""
    text = f"{result['label'] or result['line']:52.52} {result['error']:8.1e}"
    if "tflops" in result:
        text += f" {result['microseconds']:10.1f} us {result['tflops']:7.1f} TFLOP/s {result['gbps']:7.0f} GB/s"
    text += "".join(f"  {name} {tflops:.1f}" for name, tflops in result.get("torch", {}).items())
    print(text, "; ".join(result["faults"]) or "ok", flush=True)


def main() -> int:
    """The exit status: 1 where a line is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="libcuda.so.1")
    parser.add_argument("--repeat", type=int, default=50, help="runs that have to give the same bits")
    parser.add_argument("--rows", type=int, default=64, help="random rows that are checked")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement; 0: none")
    parser.add_argument("--size", type=int, default=4096, help="queries and keys where a line leaves them open")
    options = parser.parse_args()
    driver, results = Driver(options.driver), []
    report: dict[str, Any] = {"device": driver.name(), "date": time.strftime("%F %T"), "results": results}
    if options.seconds > 0:
        report["ceilings"] = measure_ceilings(driver, options.seconds)
        print(report["device"], ", ".join(f"{name} {value:.0f}" for name, value in report["ceilings"].items()))
    for stem in sorted((FOLDER / "kernels").glob("*.so")):
        try:
            results.append(run_line(driver, stem, options))
        except RuntimeError as error:
            line, label = stem.with_suffix(".txt").read_text().split("\n")[:2]
            results.append({"line": line, "label": label, "error": float("nan"), "faults": [str(error)]})
        print_result(results[-1])
    (FOLDER / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    failed = sum(bool(result["faults"]) for result in results)
    print(f"{len(results)} lines, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
