"""OpenVINO's ScaledDotProductAttention."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Inputs, Peer, UnsupportedError
from peers.problem import Problem, kept_pairs

TYPES = {"f32": "f32", "bf16": "bf16", "f16": "f16"}


def load(threads: int) -> Peer:
    """OpenVINO with so many threads."""
    # Its import forks a process that reports its use over the network, and waits there for ever without one.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    import openvino
    from openvino import opset13

    core = openvino.Core()

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        if problem.hq != problem.hkv:
            raise UnsupportedError("no grouped heads")
        if problem.kv != problem.dtype:
            raise UnsupportedError(f"no K and V of {problem.kv}")
        element = getattr(openvino.Type, TYPES[problem.dtype])
        inputs = dict(inputs)
        if problem.window:
            inputs["mask"] = kept_pairs(problem)[None, None]
        tensors = []
        for x in inputs.values():
            is_bf16 = x.dtype.name == "bfloat16"
            bits = x.view(np.uint16) if is_bf16 else x
            tensors.append(
                openvino.Tensor(bits, x.shape, element) if is_bf16 else openvino.Tensor(x, shared_memory=True)
            )
        parameters = [opset13.parameter(t.shape, t.element_type) for t in tensors]
        causal = problem.causal and not problem.window
        node = opset13.scaled_dot_product_attention(*parameters, causal=causal)
        model = openvino.Model([node], parameters)
        config = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": problem.dtype,
            "ENABLE_CPU_PINNING": False,
        }
        request = core.compile_model(model, "CPU", config).create_infer_request()
        for i, tensor in enumerate(tensors):
            request.set_input_tensor(i, tensor)

        def call(_: Inputs) -> Any:
            request.infer()
            return request.get_output_tensor(0)

        return functools.partial(call, inputs)  # whose memory the tensors point to

    def to_numpy(out: Any, problem: Problem) -> np.ndarray:
        if problem.dtype == "bf16":
            bits = np.asarray(out.data).view(np.uint16).astype(np.uint32) << 16
            return bits.view(np.float32)
        return np.asarray(out.data, np.float32)

    return Peer(openvino.__version__.split("-")[0], prepare, to_numpy)
