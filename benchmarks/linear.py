"""Products of a transformer block with constant weights and their bias, attn beside PyTorch's MKL and its oneDNN.

MKL is F.linear. oneDNN has its weights packed before, as inductor's freezing does. One thread; processor time, which
others on the machine hardly change; best of the rounds.

    . build/peers/bin/activate
    PYTHONPATH=python python benchmarks/linear.py [128,512]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everyone calls it
from block_models import COLUMNS, HIDDEN, KV_HEADS, SIZE
from onnx import TensorProto, helper, numpy_helper

import attn

SIZES = [(COLUMNS, COLUMNS), (COLUMNS, KV_HEADS * SIZE), (COLUMNS, HIDDEN), (HIDDEN, COLUMNS)]
ROUNDS = 12
TOLERANCE = 2e-4


def make_model(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> bytes:
    """MatMul and Add, as torch.onnx.export writes a linear layer."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    weights = [numpy_helper.from_array(np.ascontiguousarray(weight.T), "w"), numpy_helper.from_array(bias, "b")]
    shapes = {"x": x.shape, "y": (*x.shape[:-1], len(bias))}
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name])] for name in "xy"]
    graph = helper.make_graph(nodes, "linear", *ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()


def best_times(calls: list[Callable[[], object]]) -> list[float]:
    """Seconds of the processor, of the fastest call of each, in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            call()
            begin = time.process_time()
            call()
            best[i] = min(best[i], time.process_time() - begin)
    return best


def measure(rows: int, depth: int, columns: int) -> list[float]:
    """GFLOP/s of attn, MKL and oneDNN, whose results agree."""
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.standard_normal(s).astype(np.float32) for s in ((1, rows, depth), (columns, depth), columns))
    weight *= np.float32(depth**-0.5)
    kernel = attn.from_onnx(make_model(x, weight, bias), "linear", fail_on_fallback=True, cache=False, parallel="none")
    out = np.empty((1, rows, columns), np.float32)
    tx, tw, tb = map(torch.from_numpy, (x, weight, bias))
    packed = torch.ops.mkldnn._reorder_linear_weight(tw, rows)
    calls = [
        lambda: kernel(x, out=out),
        lambda: F.linear(tx, tw, tb),
        lambda: torch.ops.mkldnn._linear_pointwise(tx, packed, tb, "none", [], ""),
    ]
    for call in calls:
        np.testing.assert_allclose(np.asarray(call()), calls[1]().numpy(), rtol=0, atol=TOLERANCE)
    return [2e-9 * rows * depth * columns / seconds for seconds in best_times(calls)]


def main() -> None:
    """Prints a row a size."""
    torch.set_num_threads(1)
    print("| rows x depth x columns | attn, GFLOP/s | MKL | oneDNN, packed | oneDNN ÷ attn, time |")
    print("| --- | --- | --- | --- | --- |")
    with torch.no_grad():
        for rows in map(int, (sys.argv[1] if len(sys.argv) > 1 else "128,512").split(",")):
            for depth, columns in SIZES:
                ours, mkl, onednn = measure(rows, depth, columns)
                cells = [f"{rows} x {depth} x {columns}", *(f"{rate:.0f}" for rate in (ours, mkl, onednn))]
                print(f"| {' | '.join(cells)} | {ours / onednn:.2f} × |", flush=True)


if __name__ == "__main__":
    main()
