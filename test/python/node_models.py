"""Models of one Attention node for the tests, and what the operator's function body makes of them."""

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

NAMES = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")
BATCH, HEADS, KEY_HEADS, QUERIES, NEW, PAST, SIZE, VALUE_SIZE = 2, 6, 3, 5, 7, 4, 8, 10
KEYS = PAST + NEW
# The attributes of a node whose Q, K and V are (batch, rows, heads · size).
PACKED = dict(q_num_heads=HEADS, kv_num_heads=KEY_HEADS)


def make_model(arrays, outputs=("Y",), opset=24, name="node", **attributes):
    """A model of one node whose inputs have the types of these arrays; None leaves one out."""
    inputs = [x for x in NAMES if arrays.get(x) is not None]
    last = max(NAMES.index(x) for x in inputs)
    types = {x: helper.np_dtype_to_tensor_dtype(arrays[x].dtype) for x in inputs}
    wanted = [x if x in outputs else "" for x in OUTPUTS[: max(OUTPUTS.index(x) for x in outputs) + 1]]
    node = helper.make_node(
        "Attention", [x if x in inputs else "" for x in NAMES[: last + 1]], wanted, name=name, **attributes
    )
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info(x, types[x], arrays[x].shape) for x in inputs],
        [helper.make_tensor_value_info(x, types["V" if x == "present_value" else "Q"], None) for x in wanted if x],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def expand(model, arrays):
    """The model with the operator's function body, which is normative, in the place of its node."""
    (node,) = model.graph.node
    (opset,) = model.opset_import
    types = [
        helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(arrays[x].dtype), arrays[x].shape)
        for x in node.input
        if x
    ]
    by_name = dict(zip((x for x in node.input if x), types, strict=True))
    schema = onnx.defs.get_schema("Attention", opset.version)
    body = onnx.FunctionProto.FromString(
        schema.get_context_dependent_function(
            node.SerializeToString(),
            [by_name[x].SerializeToString() if x else b"" for x in node.input],
        )
    )
    results = [helper.make_empty_tensor_value_info(x) for x in node.output if x]
    graph = helper.make_graph(body.node, "body", [x for x in model.graph.input if x.name in body.input], results)
    return helper.make_model(graph, opset_imports=body.opset_import)


def evaluate(model, arrays):
    """The node's outputs by the operator's function body in ONNX's reference evaluator.

    (The package's Python implementation of the operator differs from it: it returns softcapped scores for
    qk_matmul_output_mode 0, and NaN where a boolean mask meets is_causal.)
    """
    expanded = expand(model, arrays)
    with np.errstate(invalid="ignore"):  # inf - inf in rows without keys, which the body then makes 0
        return ReferenceEvaluator(expanded).run(None, {x: y for x, y in arrays.items() if y is not None})


def draw(rng, *, packed=False, past=False, dtype=np.float32):
    """Q, K, V and the cache of the sizes above."""

    def rows(heads, length, size):
        x = rng.standard_normal((BATCH, heads, length, size)).astype(dtype)
        return np.ascontiguousarray(x.swapaxes(1, 2).reshape(BATCH, length, heads * size)) if packed else x

    arrays = {
        "Q": rows(HEADS, QUERIES, SIZE),
        "K": rows(KEY_HEADS, NEW, SIZE),
        "V": rows(KEY_HEADS, NEW, VALUE_SIZE),
    }
    if past:
        arrays["past_key"] = rng.standard_normal((BATCH, KEY_HEADS, PAST, SIZE)).astype(dtype)
        arrays["past_value"] = rng.standard_normal((BATCH, KEY_HEADS, PAST, VALUE_SIZE)).astype(dtype)
    return arrays


def keep(rng, *shape):
    """A random boolean mask that leaves each row its first key."""
    mask = rng.random(shape) < 0.6
    mask[..., 0] = True
    return mask


def make_symbolic(model, symbols):
    """The model with symbols for some dimensions of its inputs, by name: {"Q": {0: "batch"}}."""
    for x in model.graph.input:
        for dim, symbol in symbols.get(x.name, {}).items():
            x.type.tensor_type.shape.dim[dim].dim_param = symbol
    return model
