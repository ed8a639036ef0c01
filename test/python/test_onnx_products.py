"""attn.from_onnx on products with weights and what follows them, as in a transformer's block: tiles and panels."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import attn
from graph_models import Graph

# Batch, rows, depth, columns: whole panels of AVX-512, AVX2 and no target; whole tiles and parts; few rows.
SIZES = [
    (1, 128, 96, 128),
    (1, 203, 59, 192),
    (3, 113, 128, 64),
    (16, 9, 300, 96),
    (1, 16, 777, 112),
    (2, 130, 64, 100),
    (1, 3, 512, 1024),
]


def linear(g, x, depth, columns, *, transposed=False):
    """X W + b, the weights as exporters have them."""
    if transposed:
        return g.Gemm(x, g.weight(columns, depth), g.weight(columns), transB=1)
    return g.Add(g.MatMul(x, g.weight(depth, columns)), g.weight(columns))


def expect(model, arrays, kernel=None):
    names = [x.name for x in model.graph.input]
    expected = ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))
    found = (kernel or attn.from_onnx(model))(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5 * np.abs(theirs).max(initial=1))


@pytest.mark.parametrize("size", SIZES)
def test_feed_forward(size):
    """A GELU between two products, with a residual."""
    batch, rows, depth, columns = size
    g = Graph()
    x = g.draw("x", batch, rows, depth)
    y = g.Gelu(linear(g, x, depth, columns))
    expect(g.finish(g.Add(x, linear(g, y, columns, depth)), opset=20), g.arrays)


@pytest.mark.parametrize("size", SIZES)
def test_gate(size):
    """Two products that one op reads, one of them twice; a third one of the same weights that is returned, too."""
    batch, rows, depth, columns = size
    g = Graph()
    x = g.draw("x", batch, rows, depth)
    weights = g.weight(depth, columns)
    gate = g.MatMul(x, weights)
    up = g.MatMul(x, g.weight(depth, columns))
    y = g.Mul(g.Mul(gate, g.Sigmoid(gate)), up)
    expect(g.finish(y, g.Add(g.MatMul(g.Neg(x), weights), weights if rows == depth else g.weight(columns))), g.arrays)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(128, 96, 128), (203, 59, 192), (33, 770, 96), (1, 64, 64)])
def test_transposed(rows, depth, columns):
    """Gemm of a weight in rows of its columns."""
    g = Graph()
    x = g.draw("x", rows, depth)
    expect(g.finish(g.Relu(linear(g, x, depth, columns, transposed=True))), g.arrays)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_other_panels(target):
    """Panels of narrower vectors."""
    g = Graph()
    x = g.draw("x", 2, 101, 96)
    y = g.Tanh(linear(g, x, 96, 192))
    model = g.finish(g.Add(x, linear(g, y, 192, 96)))
    expect(model, g.arrays, attn.from_onnx(model, target=target))


def test_weights_of_two_panels():
    """One matrix on the right of a product, transposed of another, and an operand besides."""
    g = Graph()
    x, weights = g.draw("x", 128, 192), g.weight(192, 192)
    y = g.Gemm(g.MatMul(x, weights), weights, transB=1)
    expect(g.finish(y, g.Mul(weights, g.weight(192))), g.arrays)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_an_argument(dtype):
    """Weights that a call brings."""
    g = Graph()
    x, w = g.draw("x", 2, 70, 128, dtype=dtype), g.draw("w", 128, 192, dtype=dtype)
    expect(g.finish(g.Tanh(g.MatMul(x, w))), g.arrays)


def test_any_number_of_rows():
    """One kernel for all lengths: whole tiles, each rest of a register block, rows of many sequences in one tile."""
    g = Graph()
    x = g.draw("x", 2, 300, 64, symbols=["batch", "rows", 64])
    y = g.Add(x, linear(g, g.Gelu(linear(g, x, 64, 192)), 192, 64))
    model = g.finish(y, opset=20)
    kernel = attn.from_onnx(model)
    rng = np.random.default_rng(1)
    for batch, rows in [(2, 300), (1, 1), (3, 128), (5, 129), (7, 1), (1, 7), (1, 11), (2, 126), (11, 13), (2, 0)]:
        expect(model, [rng.standard_normal((batch, rows, 64)).astype(np.float32)], kernel)


def test_open_sizes_that_broadcast():
    """A residual of one sequence for all, which keeps the dimensions of rows apart; a gate of products beside it."""
    g = Graph()
    x = g.draw("x", 3, 50, 64, symbols=["batch", "rows", 64])
    shared = g.draw("shared", 1, 50, 192, symbols=[1, "rows", 192])
    y = g.Add(linear(g, x, 64, 192), shared)
    up = g.Mul(g.Sigmoid(g.MatMul(x, g.weight(64, 192))), g.MatMul(x, g.weight(64, 192)))
    model = g.finish(g.Mul(y, up), opset=20)
    kernel = attn.from_onnx(model)
    rng = np.random.default_rng(2)
    for batch, rows in [(3, 50), (1, 1), (5, 129), (2, 0)]:
        shapes = (batch, rows, 64), (1, rows, 192)
        expect(model, [rng.standard_normal(shape).astype(np.float32) for shape in shapes], kernel)


def test_nan_of_a_row_stays_there():
    """A row of NaN, and one with an infinity, beside others in its tile."""
    g = Graph()
    x = np.random.default_rng(0).standard_normal((130, 128)).astype(np.float32)
    x[5], x[129, 3] = np.nan, np.inf
    model = g.finish(g.Relu(linear(g, g.input("x", x), 128, 128)))
    found = attn.from_onnx(model)(x)
    assert np.isnan(found[5]).all()
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), np.isfinite(x).all(axis=1))
