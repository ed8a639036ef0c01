"""attn.from_onnx on what exporters calculate from sizes, each at several sizes, against ONNX's reference evaluator."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import attn
from graph_models import HEADS, HIDDEN, SIZE, Graph, attend, evaluate


def ints(g, *numbers):
    return g.constant(np.array(numbers, np.int64))


def scalar(g, number):
    return g.constant(np.array(number, np.int64))


def size(g, x, dim):
    """x.size(dim) as TorchScript has it: rank 0."""
    return g.Gather(g.Shape(x), scalar(g, dim), axis=0)


def as_list(g, *sizes):
    return g.Concat(*(g.Unsqueeze(x, ints(g, 0)) for x in sizes), axis=0)


def check(g, *outputs, shapes, opset=18, **options):
    """The graph as one kernel, for inputs of each of these shapes."""
    model = g.finish(*outputs, opset=opset)
    kernel = attn.from_onnx(model, **options)
    for given in shapes:
        g.arrays = [g.rng.standard_normal(shape).astype(x.dtype) for shape, x in zip(given, g.arrays, strict=True)]
        found = kernel.kernel(*g.arrays)
        for x, expected in zip(found if isinstance(found, tuple) else (found,), evaluate(g, model), strict=True):
            np.testing.assert_allclose(x, expected, rtol=2e-5, atol=2e-5)


ROWS = [[(3, 5)], [(1, 1)], [(113, 203)]]


def matrix(g):
    return g.draw("x", 3, 5, symbols=["batch", "length"])


def test_expand_by_where_of_equal():
    """TorchScript's expand: each -1 of the list becomes 1."""
    g = Graph()
    x = matrix(g)
    wanted = as_list(g, size(g, x, 0), scalar(g, 4), scalar(g, -1), size(g, x, 1))
    flat = g.Reshape(wanted, ints(g, -1))
    ones = g.ConstantOfShape(g.Shape(flat), value=helper.make_tensor("one", TensorProto.INT64, [1], [1]))
    minus = g.Mul(ones, scalar(g, -1))
    shape = g.Where(g.Equal(flat, minus), ones, flat)
    repeated = g.Expand(g.Unsqueeze(x, ints(g, 1, 2)), shape)
    check(g, g.Transpose(g.Squeeze(repeated, ints(g, 2)), perm=[2, 0, 1]), shapes=ROWS)


def test_product_of_sizes_and_back():
    """Two sizes become one of which nothing but their product is known, and the same two again."""
    g = Graph()
    x = matrix(g)
    rows, columns = size(g, x, 0), size(g, x, 1)
    flat = g.Exp(g.Reshape(x, as_list(g, g.Mul(rows, columns), scalar(g, 1))))
    back = g.Reshape(flat, as_list(g, rows, scalar(g, 1), scalar(g, -1)))
    check(g, g.Relu(g.Reshape(back, ints(g, 0, -1))), shapes=ROWS)


def test_minus_one_beside_sums():
    """-1 is (batch * (length + 2)) / batch."""
    g = Graph()
    x = matrix(g)
    wide = g.Concat(x, g.Expand(g.constant(np.float32([[2]])), as_list(g, size(g, x, 0), scalar(g, 2))), axis=1)
    flat = g.Exp(g.Reshape(wide, ints(g, -1)))
    back = g.Reshape(flat, as_list(g, size(g, x, 0), scalar(g, -1)))
    check(g, g.Slice(back, ints(g, 0), as_list(g, size(g, x, 1)), ints(g, 1)), shapes=ROWS)


@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [(0, 1, 1), (0, 7, 1), (-2, 2**62, 1), (1, 2**62, 2), (-3, -1, 1), (0, -1, 1), (4, 2, 1), (-(2**62), -1, 3)],
)
def test_slices_of_a_dynamic_size(begin, end, step):
    """Bounds from the end and beyond it; the sum of a part, which may be empty."""
    g = Graph()
    x = matrix(g)
    part = g.Slice(x, ints(g, begin), ints(g, end), ints(g, 1), ints(g, step))
    check(g, g.ReduceSum(part, ints(g, 1)), shapes=[*ROWS, [(2, 2)], [(2, 3)]])


def test_pads_as_exporters_list_them():
    """F.pad: a list of PyTorch's order is filled with zeros, reversed in pairs and transposed."""
    g = Graph()
    x = matrix(g)
    zeros = g.ConstantOfShape(ints(g, 2), value=helper.make_tensor("zero", TensorProto.INT64, [1], [0]))
    pairs = g.Reshape(g.Concat(ints(g, 1, 2), zeros, axis=0), ints(g, -1, 2))
    backwards = g.Slice(pairs, ints(g, -1), ints(g, -(2**63) + 1), ints(g, 0), ints(g, -1))
    pads = g.Cast(g.Reshape(g.Transpose(backwards, perm=[1, 0]), ints(g, -1)), to=TensorProto.INT64)
    padded = g.Pad(x, pads, g.constant(np.float32(3)), mode="constant")
    check(g, g.ReduceSum(padded, ints(g, 1)), shapes=ROWS)


def test_sizes_that_the_run_compares():
    """min(length, 4) columns, and 1 or 2 of them by whether there are more than 3."""
    g = Graph()
    x = matrix(g)
    length = size(g, x, 1)
    fewer = g.Min(length, scalar(g, 4))
    first = g.Slice(x, ints(g, 0), as_list(g, fewer), ints(g, 1))
    chosen = g.Where(g.Greater(length, scalar(g, 3)), scalar(g, 2), scalar(g, 1))
    last = g.Slice(x, g.Neg(as_list(g, chosen)), ints(g, 2**62), ints(g, 1))
    sums = [g.ReduceSum(part, ints(g, 1)) for part in (first, last)]
    check(g, g.Sub(*sums), shapes=[*ROWS, [(2, 3)], [(2, 4)]])


def test_quotient_of_sizes():
    """Half the columns, as rotary embeddings have them, and the rest; odd numbers too."""
    g = Graph()
    x = matrix(g)
    length = size(g, x, 1)
    half = as_list(g, g.Div(length, scalar(g, 2)))
    first = g.Slice(x, ints(g, 0), half, ints(g, 1))
    rest = g.Slice(x, half, ints(g, 2**62), ints(g, 1))
    turned = g.Concat(g.Neg(rest), first, axis=1)
    check(g, g.ReduceSum(g.Mul(turned, turned), ints(g, 1)), g.ReduceSum(first, ints(g, 1)), shapes=ROWS)


def test_causal_mask_of_expanded_ranges():
    """Positions as TorchScript compares them; the mask becomes key ranges."""
    g = Graph()
    symbols = ["batch", HEADS, "length", SIZE]
    q, k, v = (g.draw(x, 2, HEADS, 12, SIZE, symbols=symbols) for x in "qkv")
    batch, length = size(g, q, 0), size(g, q, 2)
    positions = g.Range(scalar(g, 0), g.Cast(length, to=TensorProto.INT64), scalar(g, 1))
    rows, columns = (g.Unsqueeze(positions, ints(g, *x)) for x in ((0, 1, 3), (0, 1, 2)))
    wanted = as_list(g, batch, scalar(g, -1), length, length)
    ones = g.ConstantOfShape(g.Shape(wanted), value=helper.make_tensor("one", TensorProto.INT64, [1], [1]))
    shape = g.Where(g.Equal(wanted, g.Mul(ones, scalar(g, -1))), ones, wanted)
    keeps = g.Expand(g.LessOrEqual(columns, rows), shape)
    mask = g.Where(keeps, g.constant(np.float32(0)), g.constant(np.float32(-np.inf)))
    out = attend(g, q, k, v, mask=mask)
    check(g, out, shapes=[[(x, HEADS, y, SIZE)] * 3 for x, y in ((2, 12), (1, 1), (3, 70))], fail_on_fallback=True)


def cut(length, types):
    """x * HardSigmoid, heads by a shape that covered nodes calculate from x, attention."""
    g = Graph()
    x = g.draw("x", 2, 12, HIDDEN, symbols=["batch", length, HIDDEN])
    shape = as_list(g, size(g, x, 0), size(g, x, 1), scalar(g, HEADS), scalar(g, SIZE))
    hard = g.HardSigmoid(x, name="uncovered")

    def project():
        return g.Transpose(g.Reshape(g.MatMul(hard, g.weight(HIDDEN, HIDDEN)), shape), perm=[0, 2, 1, 3])

    model = g.finish(attend(g, project(), project(), project()))
    if types:
        kind = helper.make_tensor_value_info(hard, TensorProto.FLOAT, ["batch", length, HIDDEN])
        model.graph.value_info.append(kind)
    return g, model


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("length", [12, "length"])
def test_sizes_survive_a_cut(length, types):
    g, model = cut(length, types)
    kernel = attn.from_onnx(model, "softmax", fail_on_fallback=True)
    (expected,) = evaluate(g, model)
    found = kernel.kernel(np.clip(0.2 * g.arrays[0] + 0.5, 0, 1))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_result_of_a_size_that_is_chosen_is_refused():
    """Whether two sizes are equal decides on the size of the result: no caller could calculate it."""
    g = Graph()
    x = matrix(g)
    rows, columns = size(g, x, 0), size(g, x, 1)
    count = g.Where(g.Equal(rows, columns), rows, g.Mul(columns, scalar(g, 2)))
    repeated = g.Expand(g.constant(np.float32([[2]])), as_list(g, count, scalar(g, 3)))
    with pytest.raises(attn.CompileError, match="expected sizes of results that are arithmetic on sizes of inputs"):
        attn.from_onnx(g.finish(repeated))


@pytest.mark.parametrize("short", [False, True])
def test_mask_read_at_its_own_positions(short):
    """dynamo's masks: GatherND at (batch, keys), a view; of fewer keys, which is none; attention with such a mask."""
    g = Graph()
    symbols = ["batch", HEADS, "length", SIZE]
    q, k, v = (g.draw(x, 2, HEADS, 12, SIZE, symbols=symbols) for x in "qkv")
    kept = g.Greater(g.draw("mask", 2, 12, symbols=["batch", "length"]), g.constant(np.float32(-0.5)))
    batch, length = size(g, q, 0), size(g, q, 2)
    keys = g.Min(length, scalar(g, 5)) if short else length

    def positions(count, *axes):
        counted = g.Range(scalar(g, 0), count, scalar(g, 1))
        return g.Expand(g.Unsqueeze(counted, ints(g, *axes)), shape)

    shape = as_list(g, batch, scalar(g, 1), scalar(g, 1), keys)
    columns = [positions(batch, 1, 2, 3), positions(keys, 0, 1, 2)]
    read = g.GatherND(kept, g.Concat(*(g.Unsqueeze(x, ints(g, -1)) for x in columns), axis=-1))
    if short:
        counts = g.ReduceSum(g.Cast(read, to=TensorProto.FLOAT), ints(g, 3), keepdims=0)
        out = g.Add(q, g.Unsqueeze(counts, ints(g, 3)))
    else:
        mask = g.Where(read, g.constant(np.float32(0)), g.constant(np.float32(-1e4)))
        out = attend(g, q, k, v, mask=mask)
    check(g, out, shapes=[[(x, HEADS, y, SIZE)] * 3 + [(x, y)] for x, y in ((2, 12), (1, 1), (3, 70))])


def test_positions_that_do_not_fit_are_no_view():
    """Rows counted up to the number of columns: another dimension's positions, taken for the nearest inside."""
    g = Graph()
    x = matrix(g)
    counted = g.Range(scalar(g, 0), size(g, x, 1), scalar(g, 1))
    read = g.GatherND(g.Transpose(x, perm=[1, 0]), g.Unsqueeze(counted, ints(g, 1)))
    wide = g.Unsqueeze(g.Expand(g.Unsqueeze(counted, ints(g, 1)), as_list(g, size(g, x, 1), size(g, x, 0))), ints(g, 2))
    check(g, g.ReduceSum(read, ints(g, 0)), g.ReduceSum(g.GatherND(g.Transpose(x, perm=[1, 0]), wide), ints(g, 0, 2)),
          shapes=[[(5, 5)], [(1, 1)], [(7, 3)]])  # fmt: skip
