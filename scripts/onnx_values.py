"""What ONNX Runtime makes of a model's values, and how far a kernel's are from them."""

from __future__ import annotations

import re

import numpy as np
import onnx
from onnx import helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

TOLERANCE = {8: 1e-6, 4: 2e-5, 2: 2e-2}  # relative to the largest element, by bytes


def evaluate(model: onnx.ModelProto, arrays: dict[str, np.ndarray], names: list[str]) -> list[np.ndarray]:
    """Values of the graph by name; by onnx.reference where onnxruntime is not installed or refuses the model."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    present = {x.name for x in model.graph.output}
    model.graph.output.extend(helper.make_empty_tensor_value_info(x) for x in names if x not in present)
    if onnxruntime:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(model.SerializeToString(), options).run(names, arrays)
        except Exception:  # RotaryEmbedding with caches of one batch index, which ONNX allows: one class an error
            pass
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(names, arrays)


def get_difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest element; of other shapes or NaN beside a number: infinite."""
    if found.shape != expected.shape:
        return float("inf")
    if found.size == 0:
        return 0.0
    expected = expected.astype(np.float64)
    difference = np.abs(found.astype(np.float64) - expected).max() / max(np.abs(expected).max(), 1e-9)
    return float(difference) if difference == difference else float("inf")


def is_near(difference: float, found: np.ndarray) -> bool:
    """Whether the element type explains the difference."""
    return difference <= TOLERANCE.get(found.dtype.itemsize, 0.0)


def get_functions(text: str) -> list[tuple[str, str, str]]:
    """Name, arguments and body of each kernel of a module that attnc has printed."""
    return re.findall(r"^  func\.func @(\w+)\(.*?attn\.arguments = \[(.*?)\](.*?)^  \}", text, re.S | re.M)


def count_attentions(body: str) -> int:
    """Attentions of a function that are one op, or a chain of which the weights are a result."""
    return body.count("attn.sdpa") + body.count("attn.apply")
