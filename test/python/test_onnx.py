"""attn.from_onnx: ONNX's own conformance data for Attention, through compiled kernels; what the data does not cover."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import attn

CASES = sorted(
    (case for case in load_model_tests(kind="node") if case.name.startswith("test_attention_")),
    key=lambda case: case.name,
)
CASES = [case for case in CASES if not case.name.endswith("_expanded")]
EXPANDED = Path(onnx.__file__).parent / "backend/test/data/node/test_attention_4d_expanded/model.onnx"


def test_onnx_has_64_cases():
    assert len(CASES) == 64


def load(folder, kind):
    """The arrays of a data set's inputs or outputs, by name."""
    paths = [folder / f"{kind}_{i}.pb" for i in range(len(list(folder.glob(f"{kind}_*.pb"))))]
    tensors = [onnx.TensorProto.FromString(path.read_bytes()) for path in paths]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_onnx_conformance(case):
    path = Path(case.model_dir)
    (node,) = onnx.load(path / "model.onnx").graph.node
    kernel = attn.from_onnx(path / "model.onnx")
    data_sets = list(path.glob("test_data_set_*"))
    assert data_sets
    for data_set in data_sets:
        inputs, expected = load(data_set, "input"), load(data_set, "output")
        found = kernel(*(inputs[name] if name else None for name in node.input))
        found = found if isinstance(found, tuple) else (found,)
        Runner.assert_similar_outputs(
            [expected[name] for name in node.output if name], found, rtol=case.rtol, atol=case.atol
        )
