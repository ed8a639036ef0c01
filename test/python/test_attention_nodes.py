"""Attention nodes beyond ONNX's conformance data, against the operator's function body; the interface of from_onnx."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import attn

NAMES = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")
BATCH, HEADS, KEY_HEADS, QUERIES, NEW, PAST, SIZE, VALUE_SIZE = 2, 6, 3, 5, 7, 4, 8, 10
KEYS = PAST + NEW


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
        [helper.make_tensor_value_info(x, types["Q"], None) for x in wanted if x],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def evaluate(model, arrays):
    """The node's outputs by the operator's function body, which is normative, in ONNX's reference evaluator.

    (The package's Python implementation of the operator differs from it: it returns softcapped scores for
    qk_matmul_output_mode 0, and NaN where a boolean mask meets is_causal.)
    """
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
    expanded = helper.make_model(graph, opset_imports=body.opset_import)
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


def run(model, arrays, **options):
    """The kernel's outputs and the reference evaluator's."""
    found = attn.from_onnx(model, **options)(*(arrays.get(name) for name in NAMES))
    expected = evaluate(model, arrays)
    return found if isinstance(found, tuple) else (found,), expected


def check(model, arrays):
    found, expected = run(model, arrays)
    tolerance = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}[str(arrays["Q"].dtype)]
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def keep(rng, *shape):
    """A random boolean mask that leaves each row its first key."""
    mask = rng.random(shape) < 0.6
    mask[..., 0] = True
    return mask


PACKED = dict(q_num_heads=HEADS, kv_num_heads=KEY_HEADS)
parametrize_packed = pytest.mark.parametrize("packed", [False, True], ids=["4d", "3d"])


@parametrize_packed
@pytest.mark.parametrize("past", [False, True], ids=["new", "past"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_causal_softcap_and_scale(rng, packed, past, dtype):
    arrays = draw(rng, packed=packed, past=past, dtype=dtype)
    check(make_model(arrays, is_causal=1, softcap=1.5, scale=0.25, **(PACKED if packed else {})), arrays)


@parametrize_packed
@pytest.mark.parametrize(
    "shape", [(KEYS,), (QUERIES, KEYS), (1, KEYS), (HEADS, 1, KEYS), (1, 1, KEYS), (BATCH, 1, QUERIES, KEYS)], ids=str
)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_broadcast(rng, packed, shape, kind):
    arrays = draw(rng, packed=packed, past=True)
    arrays["attn_mask"] = keep(rng, *shape) if kind == "bool" else rng.standard_normal(shape).astype(np.float32)
    check(make_model(arrays, is_causal=1, **(PACKED if packed else {})), arrays)


@parametrize_packed
@pytest.mark.parametrize("keys", [1, 6])
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_a_short_mask_removes_the_keys_behind_it(rng, packed, keys, kind, outputs):
    arrays = draw(rng, packed=packed)
    shape = (QUERIES, keys)
    arrays["attn_mask"] = keep(rng, *shape) if kind == "bool" else rng.standard_normal(shape).astype(np.float32)
    model = make_model(arrays, outputs, qk_matmul_output_mode=2, **(PACKED if packed else {}))
    check(model, arrays)


def test_a_mask_of_one_key_broadcasts_in_opset_23(rng):
    arrays = draw(rng)
    arrays["attn_mask"] = rng.standard_normal((QUERIES, 1)).astype(np.float32)
    full = {**arrays, "attn_mask": np.repeat(arrays["attn_mask"], NEW, axis=1)}
    found = attn.from_onnx(make_model(arrays, opset=23))(*(arrays.get(x) for x in NAMES[:4]))
    expected = evaluate(make_model(full, opset=23), full)[0]
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


@parametrize_packed
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("softcap", [0.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_scores_are_returned(rng, packed, mode, softcap, dtype):
    arrays = draw(rng, packed=packed, past=True, dtype=dtype)
    arrays["attn_mask"] = keep(rng, QUERIES, KEYS)
    options = dict(qk_matmul_output_mode=mode, softcap=softcap, **(PACKED if packed else {}))
    if dtype == np.float32:
        return check(make_model(arrays, OUTPUTS, **options), arrays)
    # NumPy's half-precision steps round where ours do not: the rounded inputs in float32 are the reference.
    found = attn.from_onnx(make_model(arrays, OUTPUTS, **options))(*(arrays.get(name) for name in NAMES))
    wide = {name: x.astype(np.float32) if x.dtype == dtype else x for name, x in arrays.items()}
    for x, y in zip(found, evaluate(make_model(wide, OUTPUTS, **options), wide), strict=True):
        assert x.dtype == dtype
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-3)
    return None


@parametrize_packed
def test_present_without_past_is_the_new_rows(rng, packed):
    arrays = draw(rng, packed=packed)
    check(make_model(arrays, OUTPUTS[:3], is_causal=1, **(PACKED if packed else {})), arrays)


@parametrize_packed
@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_lengths(rng, packed, outputs):
    arrays = draw(rng, packed=packed)
    arrays["nonpad_kv_seqlen"] = np.array([3, 7], np.int64)
    check(make_model(arrays, outputs, qk_matmul_output_mode=3, is_causal=1, **(PACKED if packed else {})), arrays)


def test_lengths_out_of_range_keep_all_keys_or_none(rng):
    arrays = draw(rng)
    arrays["nonpad_kv_seqlen"] = np.array([-5, 2**40], np.int64)
    out = attn.from_onnx(make_model(arrays))(*(arrays.get(name) for name in NAMES))
    assert (out[0] == 0).all()
    arrays["nonpad_kv_seqlen"] = np.array([NEW, NEW], np.int64)
    np.testing.assert_allclose(out[1], run(make_model(arrays), arrays)[1][0][1], rtol=2e-6, atol=2e-6)


def test_a_row_without_keys_is_zero(rng):
    arrays = draw(rng)
    arrays["attn_mask"] = np.ones((QUERIES, NEW), bool)
    arrays["attn_mask"][2] = False
    out = attn.from_onnx(make_model(arrays))(*(arrays.get(name) for name in NAMES))
    assert (out[:, :, 2] == 0).all()
    assert np.isfinite(out).all()


# Sizes that are symbols


def make_symbolic(model, symbols):
    """The model with symbols for some dimensions of its inputs, by name: {"Q": {0: "batch"}}."""
    for x in model.graph.input:
        for dim, symbol in symbols.get(x.name, {}).items():
            x.type.tensor_type.shape.dim[dim].dim_param = symbol
    return model


@parametrize_packed
@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_one_kernel_serves_all_sizes(rng, packed, outputs):
    options = dict(is_causal=1, softcap=3.0, qk_matmul_output_mode=2, **(PACKED if packed else {}))
    rows = 1 if packed else 2
    arrays = draw(rng, packed=packed)
    arrays["attn_mask"] = keep(rng, QUERIES, NEW)
    model = make_model(arrays, outputs, **options)
    symbols = {
        "Q": {0: "b", rows: "s"},
        "K": {0: "b", rows: "t"},
        "V": {0: "b", rows: "t"},
        "attn_mask": {0: "s", 1: "t"},
    }
    kernel = attn.from_onnx(make_symbolic(make_model(arrays, outputs, **options), symbols))
    for _ in range(2):
        found = kernel(*(arrays.get(name) for name in NAMES))
        found = found if isinstance(found, tuple) else (found,)
        for x, y in zip(found, evaluate(model, arrays), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-6, atol=2e-6)
        # Fewer of everything.
        axes = ("Q", 4), ("K", 3), ("V", 3)
        arrays = {name: np.ascontiguousarray(arrays[name][:1].take(range(n), rows)) for name, n in axes}
        arrays["attn_mask"] = keep(rng, 4, 3)
        model = make_model(arrays, outputs, **options)


@parametrize_packed
def test_a_symbolic_batch_with_a_cache(rng, packed):
    arrays = draw(rng, packed=packed, past=True)
    model = make_model(arrays, OUTPUTS[:3], is_causal=1, **(PACKED if packed else {}))
    expected = evaluate(model, arrays)
    kernel = attn.from_onnx(make_symbolic(model, {name: {0: "b"} for name in arrays}))
    for x, y in zip(kernel(*(arrays.get(name) for name in NAMES)), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6, atol=2e-6)
    arrays["past_value"] = arrays["past_value"][:1].copy()
    with pytest.raises(ValueError, match="past_value"):
        kernel(*(arrays.get(name) for name in NAMES))


def test_a_symbolic_length_with_a_cache_is_refused(rng):
    model = make_symbolic(make_model(draw(rng, past=True)), {"past_key": {2: "p"}, "past_value": {2: "p"}})
    with pytest.raises(attn.CompileError, match="expected fixed lengths of K and past_key, found symbolic 'p'"):
        attn.from_onnx(model)


def test_a_symbolic_batch_with_a_short_mask(rng):
    arrays = draw(rng)
    arrays["attn_mask"] = keep(rng, QUERIES, 4)
    model = make_model(arrays)
    expected = evaluate(model, arrays)[0]
    kernel = attn.from_onnx(make_symbolic(model, {name: {0: "b"} for name in "QKV"}))
    np.testing.assert_allclose(kernel(*arrays.values()), expected, rtol=2e-6, atol=2e-6)
    with pytest.raises(ValueError, match="K"):
        kernel(arrays["Q"], arrays["K"][:1].copy(), arrays["V"][:1].copy(), arrays["attn_mask"])


# from_onnx


def test_a_path_bytes_and_a_model(rng, tmp_path):
    arrays = draw(rng)
    model = make_model(arrays)
    path = tmp_path / "one.onnx"
    path.write_bytes(model.SerializeToString())
    results = [attn.from_onnx(x)(*arrays.values()) for x in (model, model.SerializeToString(), path, str(path))]
    assert all((x == results[0]).all() for x in results)
    with pytest.raises(TypeError, match="found int"):
        attn.from_onnx(3)
    with pytest.raises(FileNotFoundError):
        attn.from_onnx(tmp_path / "none.onnx")


def test_one_of_several_nodes(rng):
    arrays = draw(rng)
    model = make_model(arrays, name="first")
    second = helper.make_node("Attention", ["Q", "K", "V"], ["Z"], name="/layer.1/attn", scale=2.0)
    model.graph.node.append(second)
    first = attn.from_onnx(model, "first")(*arrays.values())
    np.testing.assert_array_equal(first, attn.from_onnx(make_model(arrays))(*arrays.values()))
    found = attn.from_onnx(model, "_layer_1_attn")(*arrays.values())
    np.testing.assert_array_equal(found, attn.from_onnx(make_model(arrays, scale=2.0))(*arrays.values()))
    for node in (None, "third"):
        with pytest.raises(attn.CompileError, match=f"one of first, _layer_1_attn, found {node}"):
            attn.from_onnx(model, node)


def test_operands_are_the_nodes(rng):
    arrays = draw(rng, past=True)
    kernel = attn.from_onnx(make_model(arrays))
    q, k, v, past_key, past_value = arrays.values()
    assert "past_key" in repr(kernel)
    kernel(q, k, v, None, past_key, past_value)
    kernel(q, k, v, None, past_key, past_value, None)
    with pytest.raises(TypeError, match="found for past_value none"):
        kernel(q, k, v, None, past_key)
    with pytest.raises(TypeError, match="found for attn_mask one; the node leaves it out"):
        kernel(q, k, v, np.ones((QUERIES, KEYS), bool), past_key, past_value)
    with pytest.raises(ValueError, match="at most 7 inputs"):
        kernel(*[None] * 8)
    with pytest.raises(ValueError, match="K"):
        kernel(q, k[:, :, :3].copy(), v, None, past_key, past_value)


def test_out_is_written_in_place(rng):
    arrays = draw(rng)
    kernel = attn.from_onnx(make_model(arrays))
    out = np.full((BATCH, HEADS, QUERIES, VALUE_SIZE), np.nan, np.float32)
    assert kernel(*arrays.values(), out=out) is out
    np.testing.assert_array_equal(out, kernel(*arrays.values()))


def test_the_standard_function_body_is_refused():
    path = Path(onnx.__file__).parent / "backend/test/data/node/test_attention_4d_expanded/model.onnx"
    with pytest.raises(attn.CompileError, match="standard function body of Attention: write the Attention node itself"):
        attn.from_onnx(path)


def test_truncated_files_are_refused(rng):
    model = make_model(draw(rng)).SerializeToString()
    for end in range(len(model)):
        with pytest.raises(attn.CompileError, match=r"model\.onnx: "):
            attn.from_onnx(model[:end])


def test_symbols_must_be_tensors():
    model = make_model({name: np.zeros((1, 1, 2, 4), np.float32) for name in "QKV"})
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.UNDEFINED
    with pytest.raises(attn.CompileError, match=r"expected a tensor type with a shape for K \('K'\)"):
        attn.from_onnx(model)
