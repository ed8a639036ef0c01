"""attn.from_onnx on ONNX's own conformance data for Attention: 64 cases through compiled kernels, none left out.

What the data does not cover is in test_attention_nodes.py, so that `pytest -k onnx` shows these 64 and nothing else.
"""

from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import attn

CASES = sorted(
    (
        case
        for case in load_model_tests(kind="node")
        if case.name.startswith("test_attention_") and not case.name.endswith("_expanded")
    ),
    key=lambda case: case.name,
)
# In the package onnx 1.22.0; a version with other data is looked at first.
assert len(CASES) == 64


def load(folder, kind):
    """The arrays of a data set's inputs or outputs, by name."""
    paths = [folder / f"{kind}_{i}.pb" for i in range(len(list(folder.glob(f"{kind}_*.pb"))))]
    tensors = [onnx.TensorProto.FromString(path.read_bytes()) for path in paths]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_onnx(case):
    path = Path(case.model_dir)
    (node,) = onnx.load(path / "model.onnx").graph.node
    kernel = attn.from_onnx(path / "model.onnx")
    data_sets = list(path.glob("test_data_set_*"))
    assert data_sets
    for data_set in data_sets:
        inputs, expected = load(data_set, "input"), load(data_set, "output")
        found = kernel(*(inputs[name] if name else None for name in node.input))
        found = found if isinstance(found, tuple) else (found,)
        # ONNX's own comparison and tolerance.
        Runner.assert_similar_outputs(
            [expected[name] for name in node.output if name], found, rtol=case.rtol, atol=case.atol
        )
