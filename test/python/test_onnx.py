"""attn.from_onnx on ONNX's own conformance data for Attention: 91 cases through compiled kernels, and two refused.

What the data does not cover is in test_attention_nodes.py, so that `pytest -k onnx` shows these 93 and nothing else.
"""

import re
import warnings

import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import attn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other operators' data, which are made as they are loaded
    CASES = sorted(
        (
            case
            for case in load_model_tests(kind="node")
            if case.name.startswith("test_attention_") and not case.name.endswith("_expanded")
        ),
        key=lambda case: case.name,
    )
# In the package onnx 1.23.2; a version with other data is looked at first.
assert len(CASES) == 93
# What these two ask for is told apart and refused.
REFUSED = {
    "test_attention_local_window_gqa_rank4_mask": "DOUBLE .11. with DOUBLE inputs, found DOUBLE",
    "test_attention_local_window_with_past": "as many queries as new keys with a left_window_size of less than the 8",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_onnx(case):
    (node,) = case.model.graph.node
    if case.name in REFUSED:
        with pytest.raises(attn.CompileError) as refusal:
            attn.from_onnx(case.model)
        assert re.search(REFUSED[case.name], refusal.value.diagnostics)
        return
    kernel = attn.from_onnx(case.model)
    assert case.data_sets
    for arrays in case.data_sets:
        inputs, expected = (
            {value.name: array for value, array in zip(values, some, strict=True)}
            for values, some in zip((case.model.graph.input, case.model.graph.output), arrays, strict=True)
        )
        found = kernel(*(inputs[name] if name else None for name in node.input))
        found = found if isinstance(found, tuple) else (found,)
        # ONNX's own comparison and tolerance.
        Runner.assert_similar_outputs(
            [expected[name] for name in node.output if name], found, rtol=case.rtol, atol=case.atol
        )
