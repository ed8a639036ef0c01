"""attn.from_onnx where a result's size follows from several, and where a size has a limit; against ONNX's reference."""

import numpy as np
import pytest

import attn
from graph_models import HEADS, HIDDEN, SIZE, Graph, attend, evaluate
from test_onnx_sizes import as_list, check, ints, matrix, scalar, size

ROWS = [[(3, 5)], [(1, 1)], [(113, 203)], [(0, 7)]]


def test_product_of_two_sizes():
    g = Graph()
    check(g, g.Relu(g.Reshape(matrix(g), ints(g, -1))), shapes=ROWS)


def test_rows_of_two_sizes():
    """Batches and rows in one dimension, as classifiers of tokens return them."""
    g = Graph()
    x = g.draw("x", 2, 3, 8, symbols=["batch", "length", 8])
    flat = g.Reshape(x, ints(g, -1, 8))
    check(g, g.MatMul(flat, g.weight(8, 5)), g.Relu(flat), shapes=[[(2, 3, 8)], [(1, 17, 8)], [(5, 113, 8)]])


def test_past_and_new_keys():
    """A decoder's cache grows by the rows of the call; attention reads it."""
    g = Graph()
    q = g.draw("q", 2, HEADS, 3, SIZE, symbols=["batch", HEADS, "new", SIZE])
    k, v = (g.draw(x, 2, HEADS, 3, SIZE, symbols=["batch", HEADS, "new", SIZE]) for x in "kv")
    past = [g.draw(f"past_{x}", 2, HEADS, 9, SIZE, symbols=["batch", HEADS, "past", SIZE]) for x in "kv"]
    keys, values = (g.Concat(old, new, axis=2) for old, new in zip(past, (k, v), strict=True))
    shapes = [[(b, HEADS, n, SIZE)] * 3 + [(b, HEADS, p, SIZE)] * 2 for b, n, p in [(2, 3, 9), (1, 1, 0), (3, 7, 113)]]
    check(g, attend(g, q, keys, values), keys, values, shapes=shapes, fail_on_fallback=True)


@pytest.mark.parametrize("step", [2, 3])
def test_quotient_of_a_size(step):
    """Every second column: (length + 1) / 2."""
    g = Graph()
    columns = g.Slice(matrix(g), ints(g, 0), ints(g, 2**62), ints(g, 1), ints(g, step))
    check(g, g.Relu(columns), shapes=[*ROWS, [(4, 0)]])


def test_sizes_in_the_description():
    """The manifest says how a caller calculates the size."""
    g = Graph()
    x = matrix(g)
    wide = g.Concat(x, x, g.constant(np.zeros((1, 5), np.float32)), axis=0)
    g.inputs[0].type.tensor_type.shape.dim[1].dim_value = 5
    kernel = attn.from_onnx(g.finish(g.Relu(g.Reshape(wide, ints(g, -1))))).kernel
    (entry,) = kernel.manifest["kernels"]
    (name,) = kernel.outputs[0]["shape"]
    values = {"0": 5, "1": 15}
    assert set(entry["size_formulas"]) == {name}
    from attn.kernel._formulas import evaluate as value_of

    assert [value_of(entry["size_formulas"][name], {entry["sizes"][0]: int(x)}) for x in values] == list(
        values.values()
    )


@pytest.mark.parametrize("shape", [(14,), (16,), (0,)])
def test_wrong_buffer_is_named(shape):
    g = Graph()
    kernel = attn.from_onnx(g.finish(g.Relu(g.Reshape(matrix(g), ints(g, -1))))).kernel
    name, out = kernel.outputs[0]["name"], np.full(shape, 7, np.float32)
    message = f"'{name}': expected size 15 in dimension 0, as sizes of other arguments make it, found {shape[0]}"
    with pytest.raises(ValueError, match=message):
        kernel(g.arrays[0], out=out)
    assert np.all(out == 7)


def table_model(limit=64):
    """A learned position table of `limit` rows, as ViT, GPT-2 and others slice it, before attention."""
    g = Graph()
    x = g.draw("x", 2, 12, HIDDEN, symbols=["batch", "length", HIDDEN])
    rows = g.Slice(g.weight(limit, HIDDEN), ints(g, 0), as_list(g, size(g, x, 1)), ints(g, 0))
    placed = g.Add(x, rows)

    def heads(y):
        return g.Transpose(g.Reshape(y, ints(g, 0, 0, HEADS, SIZE)), perm=[0, 2, 1, 3])

    q, k, v = (heads(g.MatMul(placed, g.weight(HIDDEN, HIDDEN))) for _ in range(3))
    return g, g.finish(attend(g, q, k, v))


def test_more_rows_than_a_table_has():
    g, model = table_model()
    kernel = attn.from_onnx(model, fail_on_fallback=True).kernel
    for length in (1, 17, 64):
        g.arrays = [np.random.default_rng(length).standard_normal((2, length, HIDDEN)).astype(np.float32)]
        np.testing.assert_allclose(kernel(*g.arrays), evaluate(g, model)[0], rtol=2e-5, atol=2e-5)
    for length in (65, 4096):
        with pytest.raises(ValueError, match=f"'x': expected a size of at most 64 in dimension 1, found {length}"):
            kernel(np.zeros((2, length, HIDDEN), np.float32))
    assert kernel.manifest["kernels"][0]["size_limits"] == [[kernel.inputs[0]["shape"][1], "64"]]


def test_past_and_new_rows_beyond_a_table():
    """Rows past to past + new of a table of 16."""
    g = Graph()
    x = g.draw("x", 3, 5, symbols=["new", 5])
    past = g.draw("past", 4, 5, symbols=["past", 5])
    end = g.Add(size(g, x, 0), size(g, past, 0))
    rows = g.Slice(g.weight(16, 5), as_list(g, size(g, past, 0)), as_list(g, end), ints(g, 0))
    model = g.finish(g.Add(x, rows), g.Relu(past))
    kernel = attn.from_onnx(model).kernel
    for new, old in [(3, 4), (16, 0), (1, 15)]:
        g.arrays = [g.rng.standard_normal((n, 5)).astype(np.float32) for n in (new, old)]
        for found, expected in zip(kernel(*g.arrays), evaluate(g, model), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="expected sizes that make one of at most 16, found 17"):
        kernel(np.zeros((2, 5), np.float32), np.zeros((15, 5), np.float32))
    with pytest.raises(ValueError, match="'past': expected a size of at most 16 in dimension 0, found 17"):
        kernel(np.zeros((0, 5), np.float32), np.zeros((17, 5), np.float32))


def test_end_beyond_the_dimension_is_the_dimension():
    """length + 1 of length columns: all of them."""
    g = Graph()
    x = matrix(g)
    end = g.Add(size(g, x, 1), scalar(g, 1))
    check(g, g.Relu(g.Slice(x, ints(g, 0), as_list(g, end), ints(g, 1))), shapes=ROWS)


def test_slice_of_one_row_is_repeated():
    """ALiBi's table as dynamo writes it: rows from max(1 - length, 0) on of the only one, then a broadcast."""
    g = Graph()
    x = matrix(g)
    start = g.Max(g.Sub(scalar(g, 1), size(g, x, 0)), scalar(g, 0))
    row = g.Slice(g.weight(1, 1), as_list(g, start), ints(g, 2**62), ints(g, 0))
    model = g.finish(g.Add(x, row))
    kernel = attn.from_onnx(model).kernel
    for rows in (1, 2, 113):
        g.arrays = [g.rng.standard_normal((rows, 5)).astype(np.float32)]
        np.testing.assert_allclose(kernel(*g.arrays), evaluate(g, model)[0], rtol=1e-6)
    with pytest.raises(ValueError, match="expected sizes that make one of at most 0, found 1"):
        kernel(np.zeros((0, 5), np.float32))


@pytest.mark.parametrize("first", [0, 1])
def test_sizes_that_are_taken_to_be_equal_are_tested(first):
    """x (n, 4) + rows of y (m, 4): where there is one of them, ONNX repeats it, and the kernel does not."""
    g = Graph()
    x = g.draw("x", 5, 4, symbols=["n", 4])
    y = g.draw("y", 5 + first, 4, symbols=["m", 4])
    rows = g.Slice(y, ints(g, first), ints(g, 2**62), ints(g, 0)) if first else y
    model = g.finish(g.Add(x, rows))
    kernel = attn.from_onnx(model).kernel
    left, right = g.arrays
    np.testing.assert_array_equal(kernel(left, right), left + right[first:])
    for count, of in ((5, 1), (5, 4), (4, 5)):
        with pytest.raises(ValueError, match=r"expected (a size of at most|size|sizes that make one of at most) \d"):
            kernel(left[:count], right[: first + of])
