"""attn beside other systems on the same problems, interleaved round by round in one process, best of the rounds.

Peers are optional: one that is not installed is named and left out. So far: ONNX Runtime's MultiHeadAttention
(`pip install onnxruntime onnx`), on causal and full prefill in f32.

    build/venv/bin/python benchmarks/compare.py [--threads N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import attn

# batch, heads, length, head size, causal
PROBLEMS = [
    (1, 8, 1024, 64, False),
    (1, 8, 1024, 64, True),
    (1, 8, 1024, 128, False),
    (1, 8, 1024, 128, True),
    (1, 2, 4096, 64, False),
    (1, 2, 4096, 64, True),
    (16, 16, 128, 64, False),
]
Call = Callable[[], np.ndarray]


def attn_call(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> Call:
    """A call of our kernel on (B, S, H, D) arrays, the layout that the peers take."""
    alignment = "top_left" if causal else None
    return lambda: attn.sdpa(q, k, v, causal=alignment, layout="bshd")


def onnxruntime_call(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, threads: int) -> Call:
    """The same by com.microsoft.MultiHeadAttention, on (B, S, H·D)."""
    import onnxruntime
    from onnx import TensorProto, helper

    b, s, h, d = q.shape
    names, shape = ["query", "key", "value"], [b, s, h * d]
    node = helper.make_node(
        "MultiHeadAttention", names, ["out"], domain="com.microsoft", num_heads=h, unidirectional=int(causal)
    )
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in [*names, "out"]]
    graph = helper.make_graph([node], "attention", values[:3], values[3:])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {name: x.reshape(shape) for name, x in zip(names, (q, k, v), strict=True)}
    return lambda: session.run(None, feed)[0].reshape(b, s, h, d)


def best_times(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """Seconds of the best round of each call; one call of each in every round."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    """Prints a table: times in milliseconds, and attn's advantage over each peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    attn.set_num_threads(arguments.threads)
    rng = np.random.default_rng(0)
    for b, h, s, d, causal in PROBLEMS:
        q, k, v = (rng.standard_normal((b, s, h, d), dtype=np.float32) for _ in range(3))
        calls = {"attn": attn_call(q, k, v, causal)}
        try:
            calls["onnxruntime"] = onnxruntime_call(q, k, v, causal, arguments.threads)
        except ImportError as error:
            print(f"without onnxruntime: {error}")
        results = [call() for call in calls.values()]  # warm, and the same numbers
        for result in results[1:]:
            np.testing.assert_allclose(result, results[0], atol=1e-4)
        times = best_times(calls, arguments.rounds)
        line = f"B {b} H {h} S {s} D {d} {'causal' if causal else 'full':6}"
        for name, seconds in times.items():
            line += f" | {name} {seconds * 1e3:8.3f} ms"
            if name != "attn":
                line += f" ({seconds / times['attn']:.2f} x)"
        print(line, flush=True)


if __name__ == "__main__":
    main()
