#!/usr/bin/env python3
"""Times products with weights of 4 and 8 bits beside ONNX Runtime, on ONNX models of random weights.

    python -m venv PEERS; PEERS/bin/pip install onnx onnxruntime
    PYTHONPATH=python PEERS/bin/python benchmarks/quantised.py [--rows=1,4,8,128] [--layers=8] [--size=2048]

A model is a chain of square products: MatMulNBits with blocks of 32 (ONNX Runtime's exporters), or DequantizeLinear of
columns in front of MatMul. `accuracy_level=4` lets ONNX Runtime round rows to 8 bits; its error is beside attn's.
A row has milliseconds of processor time with one thread, best and median of rounds in turn, and the bytes of weights
and scales that attn reads a second; `attnc bench --ceilings` has the read bandwidth of the machine.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

import attn

BLOCK, ROUNDS = 32, 15
KINDS = {
    "4 bits": (4, 0),
    "4 bits, rows of 8 bits": (4, 4),
    "8 bits": (8, 0),
    "8 bits, DequantizeLinear": (8, None),
}


def make_model(bits: int, level: int | None, rows: int, size: int, layers: int) -> ModelProto:
    """A chain of products; `level` is the accuracy_level of MatMulNBits, None for DequantizeLinear."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []

    def constant(array: np.ndarray) -> str:
        name = f"c{len(weights)}"
        weights.append(numpy_helper.from_array(array, name))
        return name

    x = "x0"
    for i in range(layers):
        y = f"x{i + 1}"
        if level is None:
            numbers = constant(rng.integers(-128, 128, (size, size)).astype(np.int8))
            scales = constant(rng.uniform(1e-4, 2e-4, size).astype(np.float32))
            nodes.append(helper.make_node("DequantizeLinear", [numbers, scales], [f"w{i}"], axis=1))
            nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [y]))
        else:
            shape = (size, size // BLOCK, BLOCK * bits // 8)
            numbers = constant(rng.integers(0, 256, shape).astype(np.uint8))
            scales = constant(rng.uniform(1e-3, 2e-3, size * size // BLOCK).astype(np.float32))
            words = {"K": size, "N": size, "bits": bits, "block_size": BLOCK, "accuracy_level": level}
            nodes.append(helper.make_node("MatMulNBits", [x, numbers, scales], [y], domain="com.microsoft", **words))
        x = y
    kind = TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, kind, (rows, size)) for name in ("x0", x)]
    graph = helper.make_graph(nodes, "main_graph", ends[:1], ends[1:], weights)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def measure_row(kind: str, rows: int, size: int, layers: int) -> str:
    """The cells of a kind and a number of rows."""
    bits, level = KINDS[kind]
    model = make_model(bits, level, rows, size, layers)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kernel = attn.from_onnx(model, cache=False)
    x = np.random.default_rng(1).standard_normal((rows, size)).astype(np.float32)
    expected = session.run(None, {"x0": x})[0]
    error = np.abs(kernel(x) - expected).max() / np.abs(expected).max()
    calls = {"attn": lambda: kernel(x), "runtime": lambda: session.run(None, {"x0": x})}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            times[name].append((time.process_time() - begin) * 1e3)
    scales = 4 * size * (size // BLOCK if level is not None else 1)
    rate = layers * (size * size * bits / 8 + scales) / min(times["attn"]) / 1e6
    cells = [f"{min(x):.2f} / {statistics.median(x):.2f}" for x in times.values()]
    ratio = min(times["runtime"]) / min(times["attn"])
    return f"{' | '.join(cells)} | {ratio:.2f} × | {rate:.1f} GB/s | {error:.0e}"


def main() -> None:
    """Prints a row a kind and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,4,8,128")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--size", type=int, default=2048)
    options = parser.parse_args()
    attn.set_num_threads(1)
    print("| weights | rows | attn | ONNX Runtime | ONNX Runtime ÷ attn | weights and scales read | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        for rows in map(int, options.rows.split(",")):
            print(f"| {kind} | {rows} | {measure_row(kind, rows, options.size, options.layers)} |", flush=True)


if __name__ == "__main__":
    main()
