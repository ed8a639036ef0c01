"""attn.from_onnx as an interface: sources, one of several nodes, operands, refusals."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import attn
from node_models import (
    BATCH,
    HEADS,
    KEYS,
    QUERIES,
    VALUE_SIZE,
    draw,
    make_model,
)


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
    np.testing.assert_array_equal(attn.from_onnx(model)(*arrays.values()), first)  # what the graph returns
    with pytest.raises(attn.CompileError, match=r"one of first, _layer_1_attn, \w*, found third$"):
        attn.from_onnx(model, "third")


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


def test_windows_are_of_opset_25(rng):
    arrays = draw(rng)
    with pytest.raises(attn.CompileError, match="expected left_window_size in opset 25 or later, found opset 24"):
        attn.from_onnx(make_model(arrays, left_window_size=2))
    with pytest.raises(attn.CompileError, match="expected right_window_size from -1 to 2147483647, found -2"):
        attn.from_onnx(make_model(arrays, opset=25, right_window_size=-2))
    inputs = list(arrays.values())
    unbounded = attn.from_onnx(make_model(arrays, opset=28, left_window_size=-1))(*inputs)
    np.testing.assert_array_equal(unbounded, attn.from_onnx(make_model(arrays))(*inputs))
