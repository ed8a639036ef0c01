"""attn.from_onnx on ONNX's own data of single operators, and on the function bodies of Attention."""

import re
import warnings

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import attn

TYPES = {getattr(TensorProto, x) for x in ("FLOAT", "DOUBLE", "FLOAT16", "INT64", "INT32", "BOOL")}
OPERATORS = (
    "abs|add|and|averagepool|causal_conv_with_state|clip|concat|constant|constantofshape|conv|cos|div|dropout|equal|erf|exp|expand|"
    "flatten|floor|gather|gelu|gemm|globalaveragepool|globalmaxpool|greater|identity|isnan|layer_normalization|"
    "leakyrelu|less|linear_attention|log|matmul|max|maxpool|min|mod|mul|neg|not|or|pad|pow|reciprocal|reduce_l2|reduce_max|"
    "reduce_mean|reduce_min|reduce_sum|relu|reshape|resize|rms_normalization|scatternd|shape|sigmoid|sign|sin|size|slice|softmax|"
    "split|sqrt|squeeze|sub|sum|swish|tanh|transpose|tril|triu|unsqueeze|where|xor"
)
# What is refused, with a message, of operators that are covered.
REFUSED = re.compile(
    "not covered|expected a kernel to compute what it returns|expected at least one output|without elements"
)


def load_cases(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other operators' data, which are made as they are loaded
        cases = load_model_tests(kind="node")
    return sorted((x for x in cases if re.match(pattern, x.name)), key=lambda case: case.name)


def has_types(case):
    """True where no rule refuses the case for an element type alone."""
    values = [*case.model.graph.input, *case.model.graph.output]
    return all(x.type.tensor_type.elem_type in TYPES for x in values)


def fix_operands(model, arrays):
    """The model with its shapes, axes and the like as constants, as exporters write them; and the other arrays."""
    model = type(model).FromString(model.SerializeToString())
    left, inputs = [], list(model.graph.input)
    del model.graph.input[:]
    for i, (x, array) in enumerate(zip(inputs, arrays, strict=True)):
        if i > 0 and (array.dtype == np.int64 or x.name == "scales") and array.ndim <= 1:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), x.name))
            continue
        model.graph.input.append(x)
        left.append(np.asarray(array))
    return model, left


def run(model, arrays, **options):
    found = attn.from_onnx(model, **options).kernel(*arrays)
    return found if isinstance(found, tuple) else (found,)


OPERATOR_CASES = [
    x for x in load_cases(f"test_({OPERATORS})(?!.*(training|_expanded|uint|int8|int16))") if has_types(x)
]


def test_operators_by_onnx_data():
    """All that compiles is right; and most of it compiles."""
    right = 0
    for case in OPERATOR_CASES:
        for arrays in case.data_sets:
            model, inputs = fix_operands(case.model, arrays[0])
            try:
                found = run(model, inputs)
            except attn.CompileError as refusal:
                if not REFUSED.search(refusal.diagnostics):
                    raise
                continue
            Runner.assert_similar_outputs(arrays[1], found, rtol=max(case.rtol, 1e-6), atol=max(case.atol, 1e-6))
            right += 1
    assert right >= 452


@pytest.mark.parametrize("case", load_cases("test_attention_.*_expanded"), ids=lambda case: case.name)
def test_function_bodies_of_attention(case):
    for arrays in case.data_sets:
        found = run(case.model, [x for x in arrays[0] if x is not None])
        # Narrow floats are rounded at fewer places than the body has.
        tolerance = 1e-2 if any(x.dtype.itemsize == 2 for x in arrays[1]) else 1e-5
        for x, expected in zip(found, arrays[1], strict=True):
            expected = expected.astype(np.float64)
            np.testing.assert_allclose(x.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
