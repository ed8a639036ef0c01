"""ONNX Runtime's Attention of ONNX opset 23, on (B, H, S, D)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from peers import Inputs, Peer, UnsupportedError
from peers.problem import Problem, kept_pairs

TYPES = {"float32": "FLOAT", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "bool": "BOOL"}


def session_call(node: Any, inputs: Inputs, out: tuple[str, tuple[int, ...]], domain: str, threads: int) -> Any:
    """A call of a model of one node; inputs and output stay bound to their memory."""
    import onnxruntime
    from onnx import TensorProto, helper

    def info(name: str, dtype: str, shape: tuple[int, ...]) -> Any:
        return helper.make_tensor_value_info(name, getattr(TensorProto, TYPES[dtype]), shape)

    arguments = [info(name, x.dtype.name, x.shape) for name, x in inputs.items()]
    graph = helper.make_graph([node], "attention", arguments, [info("out", *out)])
    opsets = [helper.make_opsetid("", 23)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    result = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(out[1], out[0]))
    for name, x in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_ortvalue_output("out", result)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return result

    return call


def load(threads: int) -> Peer:
    """ONNX Runtime with so many threads."""
    import onnxruntime
    from onnx import helper

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        if problem.kv != problem.dtype:
            raise UnsupportedError(f"no K and V of {problem.kv}")
        if problem.dtype != "f32":
            raise UnsupportedError(f"no Attention of {problem.dtype} for processors")
        inputs = dict(inputs)
        if problem.window:
            inputs["mask"] = kept_pairs(problem)[None, None]
        is_causal = int(problem.causal and not problem.window)
        node = helper.make_node("Attention", list(inputs), ["out"], is_causal=is_causal)
        shape = (problem.b, problem.hq, problem.sq, problem.dv)
        return session_call(node, inputs, (inputs["q"].dtype.name, shape), "", threads)

    return Peer(onnxruntime.__version__, prepare, lambda out, _: out.numpy())
