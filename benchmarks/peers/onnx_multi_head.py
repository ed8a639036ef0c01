"""ONNX Runtime's own MultiHeadAttention (com.microsoft), on (B, S, H·D)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Inputs, Peer, UnsupportedError
from peers.onnx_attention import session_call
from peers.problem import Problem

DOMAIN = "com.microsoft"


def load(threads: int) -> Peer:
    """ONNX Runtime with so many threads."""
    import onnxruntime
    from onnx import helper

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        if problem.kv != problem.dtype:
            raise UnsupportedError(f"no K and V of {problem.kv}")
        if problem.dtype != "f32":
            raise UnsupportedError(f"no MultiHeadAttention of {problem.dtype} for processors")
        if problem.hq != problem.hkv:
            raise UnsupportedError("no grouped heads")
        if problem.mask or problem.window:
            raise UnsupportedError("no mask over queries and keys")
        packed = {name: np.ascontiguousarray(inputs[name].transpose(0, 2, 1, 3)) for name in "qkv"}
        packed = {name: x.reshape(*x.shape[:2], -1) for name, x in packed.items()}
        names = ["q", "k", "v"]
        if problem.bias:
            packed["bias"] = inputs["bias"]
            names += ["", "", "bias"]
        node = helper.make_node(
            "MultiHeadAttention",
            names,
            ["out"],
            domain=DOMAIN,
            num_heads=problem.hq,
            unidirectional=int(problem.causal),
        )
        shape = (problem.b, problem.sq, problem.hq * problem.dv)
        return session_call(node, packed, ("float32", shape), DOMAIN, threads)

    def to_numpy(out: Any, problem: Problem) -> np.ndarray:
        return out.numpy().reshape(problem.b, problem.sq, problem.hq, problem.dv).transpose(0, 2, 1, 3)

    return Peer(onnxruntime.__version__, prepare, to_numpy)
