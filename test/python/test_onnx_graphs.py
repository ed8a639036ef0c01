"""attn.from_onnx on graphs of other nodes, against ONNX's reference evaluator."""

import numpy as np
import pytest
from onnx import TensorProto

import attn
from graph_models import BATCH, HEADS, HIDDEN, LENGTH, SIZE, Graph, attend, block, check, evaluate


def test_decomposed_attention_is_one_kernel():
    g = Graph()
    q, k, v = (g.draw(x, BATCH, HEADS, LENGTH, SIZE) for x in "qkv")
    model = g.finish(attend(g, q, k, v))
    kernel = attn.from_onnx(model, fail_on_fallback=True)
    assert kernel.kernel.manifest["kernels"][0]["path"] == "flash"
    check(g, model, kernel)


def test_causal_constant_and_guard():
    g = Graph()
    q, k, v = (g.draw(x, BATCH, HEADS, LENGTH, SIZE) for x in "qkv")
    triangle = np.triu(np.full((LENGTH, LENGTH), -np.inf, np.float32), 1)
    model = g.finish(attend(g, q, k, v, mask=g.constant(triangle), guard=True))
    kernel = attn.from_onnx(model, fail_on_fallback=True)
    assert kernel.kernel.manifest["kernels"][0]["path"] == "flash"
    check(g, model, kernel)


def test_symbolic_sizes_and_shape_arithmetic():
    g = Graph()
    symbols = ["batch", HEADS, "length", SIZE]
    q, k, v = (g.draw(x, BATCH, HEADS, LENGTH, SIZE, symbols=symbols) for x in "qkv")
    length = g.Slice(g.Shape(q), *(g.constant(np.array([x], np.int64)) for x in (2, 3)))
    ones = g.Expand(g.constant(np.float32(1)), g.Concat(length, length, axis=0))
    lower = g.Equal(g.Trilu(ones, upper=0), g.constant(np.float32(0)))
    mask = g.Where(lower, g.constant(np.float32(-np.inf)), g.constant(np.float32(0)))
    model = g.finish(attend(g, q, k, v, mask=mask))
    kernel = attn.from_onnx(model, fail_on_fallback=True)
    check(g, model, kernel)
    for array in g.arrays:
        array.resize((3, HEADS, 5, SIZE), refcheck=False)
    check(g, model, kernel)
    with pytest.raises(ValueError, match="expected size 5 in dimension 2"):
        kernel.kernel(g.arrays[0], g.arrays[1][:, :, :4], g.arrays[2])


def test_whole_graph():
    g = Graph()
    tokens = g.input("tokens", g.rng.integers(0, 20, (BATCH, LENGTH)))
    padding = g.input("padding", g.rng.integers(0, 2, (BATCH, LENGTH)))
    g.arrays[1][:, 0] = 1
    keeps = g.Unsqueeze(g.Cast(padding, to=TensorProto.BOOL), g.constant(np.array([1, 2], np.int64)))
    mask = g.Where(keeps, g.constant(np.float32(0)), g.constant(np.float32(np.finfo(np.float32).min)))
    x = g.Gather(g.weight(20, HIDDEN), tokens, axis=0)
    for i in range(2):
        x = block(g, x, mask=mask, name=f"softmax_{i}")
    model = g.finish(x)
    check(g, model, attn.from_onnx(model, fail_on_fallback=True))


def test_attention_nodes_in_a_graph():
    def attention(g, q, k, v):
        return g.Attention(q, k, v, name="layer/attention", is_causal=1)

    g = Graph()
    x = g.draw("x", BATCH, LENGTH, HIDDEN)
    model = g.finish(block(g, x, attention), opset=23)
    check(g, model, attn.from_onnx(model, fail_on_fallback=True))
    rows = [g.rng.standard_normal((BATCH, HEADS, LENGTH, SIZE)).astype(np.float32) for _ in range(3)]
    found = attn.from_onnx(model, "layer_attention", fail_on_fallback=True)(*rows)
    np.testing.assert_allclose(found, attn.reference.sdpa(*rows, causal="top_left"), rtol=2e-5, atol=2e-5)


def test_the_graph_is_meant_where_names_clash():
    """A node has the graph's name, and the inputs have those of the operator's, in another order."""
    g = Graph()
    v, q, k = (g.draw(x, BATCH, HEADS, LENGTH, SIZE) for x in "VQK")
    model = g.finish(g.Attention(q, k, v, name="main_graph", is_causal=1), opset=23)
    check(g, model, attn.from_onnx(model))
    model = g.finish(g.Attention(g.Relu(g.nodes[0].output[0]), k, v, name="graph"), opset=23)
    check(g, model, attn.from_onnx(model))


def test_parts_around_an_operator_that_is_not_covered():
    g = Graph()
    x = g.draw("x", BATCH, LENGTH, HIDDEN)
    first = block(g, x, name="first")
    # Its type is that of its input: no shape inference need write it.
    last = block(g, g.Hardmax(first, axis=-1), name="last")
    model = g.finish(last)
    (expected,) = evaluate(g, model)
    with pytest.raises(attn.CompileError, match="one of first, last, found None; the graph is none of them"):
        attn.from_onnx(model)
    middle = attn.from_onnx(model, "first", fail_on_fallback=True).kernel(*g.arrays)
    chosen = (middle == middle.max(-1, keepdims=True)).astype(np.float32)
    found = attn.from_onnx(model, "last", fail_on_fallback=True).kernel(chosen)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_dimension_becomes_two_of_this_run():
    g = Graph()
    x = g.draw("x", 3, 5, symbols=["batch", "length"])
    one = g.constant(np.array([1], np.int64))
    sizes = [g.Shape(x, start=i, end=i + 1) for i in range(2)]
    flat = g.Exp(g.Reshape(g.Relu(x), g.constant(np.array([-1], np.int64))))
    model = g.finish(g.Relu(g.Reshape(flat, g.Concat(sizes[0], one, one, sizes[1], axis=0))))
    kernel = attn.from_onnx(model)
    check(g, model, kernel)
    g.arrays[0].resize((2, 7), refcheck=False)
    check(g, model, kernel)


def test_attention_between_reshapes_of_this_run():
    """Rows of all sequences are one dimension for the products, as exporters write layers."""
    g = Graph()
    x = g.draw("x", 3, 5, HIDDEN, symbols=["batch", "length", HIDDEN])
    sizes = g.Concat(g.Shape(x, start=0, end=2), g.constant(np.array([HEADS, SIZE], np.int64)), axis=0)
    rows = g.Reshape(x, g.constant(np.array([-1, HIDDEN], np.int64)))

    def project():
        return g.Transpose(g.Reshape(g.Gemm(rows, g.weight(HIDDEN, HIDDEN)), sizes), perm=[0, 2, 1, 3])

    out = g.Transpose(attend(g, project(), project(), project()), perm=[0, 2, 1, 3])
    model = g.finish(g.Reshape(out, g.Shape(x)))
    check(g, model, attn.from_onnx(model))


def test_long_chain():
    """Thousands of elementwise nodes take seconds: a loop has many of them."""
    g = Graph()
    x = g.draw("x", 3, 5)
    for _ in range(2000):
        x = g.Relu(g.Sub(x, g.constant(np.float32(1e-4))))
    model = g.finish(x)
    check(g, model, attn.from_onnx(model))
