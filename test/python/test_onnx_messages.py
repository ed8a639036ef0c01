"""attn.from_onnx on nodes that no rule takes: a small model a message, each wrong in one thing."""

import numpy as np
import pytest
from onnx import TensorProto

import attn
from graph_models import Graph

I64 = np.int64


def x(g, *shape, dtype=np.float32, symbols=None):
    """An input of the graph: a value of the run."""
    return g.input(f"x{len(g.inputs)}", np.zeros(shape, dtype), symbols)


def c(g, *numbers):
    """A constant list of integers."""
    return g.constant(np.array(numbers, I64))


def run(g, *shape):
    """Integers that only the run knows."""
    return x(g, *shape, dtype=I64)


def flag(g, *shape):
    return x(g, *shape, dtype=np.bool_)


def rotary(g, cos=(6, 2), ids=(1, 6), dtype=I64, shape=(1, 2, 6, 4), **more):
    cache = x(g, *cos)
    positions = [x(g, *ids, dtype=dtype)] if ids else []
    return g.RotaryEmbedding(x(g, *shape), cache, cache, *positions, **more)


CASES = {
    # What every rule asks.
    "expected 2 to 2 inputs, found 1": lambda g: g.MatMul(x(g, 2, 3)),
    "expected input 1, found it left out": lambda g: g.MatMul(x(g, 2, 3), ""),
    "expected tensors of rank 0 to 8, found 9": lambda g: g.Unsqueeze(x(g, *[1] * 8), c(g, 0)),
    "expected 1 outputs, found output 1": lambda g: g.Relu(x(g, 2), outputs=2)[0],
    "expected an operator of ONNX or com.microsoft, found the domain 'other'": lambda g: g.Relu(
        x(g, 2), domain="other"
    ),
    "expected axes as a constant, found a value of the run": lambda g: g.Squeeze(x(g, 1, 2), run(g, 1)),
    "expected an axis from -2 to 1, found 2": lambda g: g.Softmax(x(g, 2, 3), axis=2),
    "expected each axis once, found -2 again": lambda g: g.Squeeze(x(g, 1, 2), c(g, 0, -2)),
    # Elements.
    "expected inputs of one element type, found FLOAT and INT64": lambda g: g.Add(x(g, 2), run(g, 2)),
    "expected sizes that broadcast to each other, found others": lambda g: g.Add(x(g, 2), x(g, 3)),
    "expected inputs of numbers, found BOOL": lambda g: g.Add(flag(g, 2), flag(g, 2)),
    "'Less' is not covered: expected inputs of numbers, found BOOL": lambda g: g.Less(flag(g, 2), flag(g, 2)),
    "expected a constant divisor of integers that is not 0, found another": lambda g: g.Div(run(g, 300), run(g, 300)),
    "expected a base of floats and an exponent of numbers, found INT64": lambda g: g.Pow(run(g, 300), run(g, 300)),
    "expected inputs of BOOL, found FLOAT": lambda g: g.And(x(g, 2), x(g, 2)),
    "expected a condition of BOOL, found FLOAT": lambda g: g.Where(x(g, 2), x(g, 2), x(g, 2)),
    "expected bounds of rank 0 in the type of the input, found others": lambda g: g.Clip(x(g, 2), x(g, 2)),
    "expected numbers, with the bounds as inputs, found others": lambda g: g.Clip(x(g, 2), min=1.0),
    "expected an input of floats, found INT64": lambda g: g.Exp(run(g, 300)),
    "'IsNaN' is not covered: found an input of INT64": lambda g: g.IsNaN(run(g, 300)),
    "'Neg' is not covered: expected an input of numbers, found BOOL": lambda g: g.Neg(flag(g, 2)),
    "expected a cast to FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64 or BOOL, found UINT8": lambda g: g.Cast(
        x(g, 2), to=TensorProto.UINT8
    ),
    "expected training_mode = false, found another": lambda g: g.Dropout(x(g, 2), x(g), flag(g)),
    # Positions.
    "expected indices of INT64 or INT32, found FLOAT": lambda g: g.Gather(x(g, 2, 3), x(g, 2)),
    "expected an input with elements, found none": lambda g: g.Gather(x(g, 0, 3), run(g, 2)),
    "expected an index below 3, found 3": lambda g: g.Gather(x(g, 3, 2), c(g, 3)),
    "expected indices of the input's rank, found another": lambda g: g.GatherElements(x(g, 2, 3), run(g, 2)),
    "expected at most 3 indices in dimension 1, found more": lambda g: g.GatherElements(x(g, 2, 3), run(g, 2, 4)),
    "expected batch_dims = 0 and positions in 1 or more dimensions of the input": lambda g: g.GatherND(
        x(g, 2, 3), run(g, 2, 1), batch_dims=1
    ),
    "expected a matrix and a constant diagonal, found others": lambda g: g.Trilu(x(g, 2, 3), run(g)),
    "expected integers that are sizes or constants, found values of the run": lambda g: g.Range(run(g), run(g), run(g)),
    "expected a constant delta of 1 or more, found another": lambda g: g.Range(c(g, 5), c(g, 0), c(g, -1)),
    "expected bounds of at most 1099511627776, found 1099511627777": lambda g: g.Range(
        c(g, 0), c(g, 2**40 + 1), c(g, 1)
    ),
    # Movement.
    "'Reshape' is not covered: expected the shape as a constant or made of sizes": lambda g: g.Reshape(
        x(g, 2), run(g, 1)
    ),
    "expected a dimension of the input for the 0 at 1 of the shape, found none": lambda g: g.Reshape(
        x(g, 2), c(g, 2, 0)
    ),
    "expected one -1 in the shape, found more": lambda g: g.Reshape(x(g, 4), c(g, -1, -1)),
    "expected a shape whose -1 can be told, found another": lambda g: g.Reshape(x(g, 4), c(g, -1, 3)),
    "expected a shape with as many elements as the input has, found another": lambda g: g.Reshape(x(g, 4), c(g, 3)),
    "expected sizes from 0 to 2147483647 and at most 1099511627776 elements": lambda g: g.Reshape(
        x(g, 4, symbols=["n"]), c(g, 2**31)
    ),
    "expected an axis from 0 to 2, found 3": lambda g: g.Flatten(x(g, 2, 3), axis=3),
    "expected size 1 in dimension 1, found another": lambda g: g.Squeeze(x(g, 1, 2), c(g, 1)),
    "'Unsqueeze' is not covered: expected axes, found none": lambda g: g.Unsqueeze(x(g, 2)),
    "'Expand' is not covered: expected the shape as a constant or made of sizes": lambda g: g.Expand(
        x(g, 2), run(g, 1)
    ),
    "expected a shape that the input's sizes broadcast to, found another": lambda g: g.Expand(x(g, 2), c(g, 3)),
    "expected perm of 2 dimensions, found 1": lambda g: g.Transpose(x(g, 2, 3), perm=[0]),
    "expected starts and ends as constants or sizes, found values of the run": lambda g: g.Slice(
        x(g, 4), run(g, 1), c(g, 2)
    ),
    "expected axes and steps as constants, found values of the run": lambda g: g.Slice(
        x(g, 4), c(g, 0), c(g, 2), run(g, 1)
    ),
    "expected starts, ends, axes and steps of one length, found others": lambda g: g.Slice(
        x(g, 4), c(g, 0), c(g, 2, 3)
    ),
    "expected steps that are not 0, found 0": lambda g: g.Slice(x(g, 4), c(g, 3), c(g, 0), c(g, 0), c(g, 0)),
    "expected constant starts and ends and a fixed size where a step is below 0, found others": lambda g: g.Slice(
        g.draw("x", 4, symbols=["n"]), c(g, 3), c(g, 0), c(g, 0), c(g, -1)
    ),
    "expected a fixed size of the dimension that is split, found a symbol": lambda g: g.Split(
        x(g, 4, symbols=["n"]), c(g, 2, 2), outputs=2
    )[0],
    "expected parts of 4 together, found others": lambda g: g.Split(x(g, 4), c(g, 2, 3), outputs=2)[0],
    "expected 2 parts of 4 together, found others": lambda g: g.Split(x(g, 4), c(g, 1, 2), outputs=2)[0],
    "expected inputs of one element type and rank, found others": lambda g: g.Concat(x(g, 2), x(g, 2, 3), axis=0),
    "expected inputs of one size in dimension 1, found others": lambda g: g.Concat(x(g, 2, 3), x(g, 2, 4), axis=0),
    'expected mode = "constant", pads of sizes and constant axes, found others': lambda g: g.Pad(
        x(g, 2), c(g, 1, 1), mode="reflect"
    ),
    "expected 2 pads and one value of the input's type, found others": lambda g: g.Pad(x(g, 2), c(g, 1)),
    "expected pads from 0 to 2147483647, found -1": lambda g: g.Pad(x(g, 2), c(g, -1, 1)),
    "'ConstantOfShape' is not covered: expected the shape as a constant or made of": lambda g: g.ConstantOfShape(
        run(g, 1)
    ),
    "expected sizes from 0 to 2147483647, found -1": lambda g: g.ConstantOfShape(c(g, -1, 2)),
    "expected value, value_int, value_ints or value_float, found none": lambda g: g.Constant(value_string="text"),
    # Repeats and selections.
    "expected axis as one constant, found others": lambda g: g.CumSum(x(g, 4), run(g)),
    "expected repeats as a constant or made of sizes, found values of the run": lambda g: g.Tile(x(g, 4), run(g, 1)),
    "expected 1 repeats, one a dimension, found 2": lambda g: g.Tile(x(g, 4), c(g, 2, 2)),
    "expected repeats from 0 to 2147483647, found -1": lambda g: g.Tile(x(g, 4), c(g, -1)),
    "expected elements in dimension 0, found none": lambda g: g.ArgMax(x(g, 0, 3)),
    # Products.
    "expected inputs of one type of floats, found INT64": lambda g: g.MatMul(x(g, 2, 3), run(g, 3, 2)),
    "expected inputs of rank 1 or more, found rank 0": lambda g: g.MatMul(x(g), x(g, 3)),
    "expected as many columns of the first input as rows of the second, found 3 and 4": lambda g: g.MatMul(
        x(g, 2, 3), x(g, 4, 2)
    ),
    "expected batches that broadcast to each other, found others": lambda g: g.MatMul(x(g, 2, 2, 3), x(g, 3, 3, 2)),
    "expected matrices of rank 2, found others": lambda g: g.Gemm(x(g, 2, 2, 3), x(g, 3, 2)),
    "expected C that broadcasts to the product, found others": lambda g: g.Gemm(x(g, 2, 3), x(g, 3, 2), x(g, 3, 2)),
    "expected letters, and at most one ellipsis a term, in the equation, found 'i1'": lambda g: g.Einsum(
        x(g, 2, 3), equation="i1->i"
    ),
    "expected each label once in a term of the equation, found 'ii'": lambda g: g.Einsum(x(g, 2, 2), equation="ii->i"),
    "expected 1 terms in the equation, found 2": lambda g: g.Einsum(x(g, 2), equation="i,j->ij"),
    "expected labels of the result that an operand has, found 'i->j'": lambda g: g.Einsum(x(g, 2), equation="i->j"),
    # Pools.
    "expected an input of floats (batch, channels, sizes), found another": lambda g: g.MaxPool(
        x(g, 3, 8), kernel_shape=[2]
    ),
    "expected kernel_shape with a size for each dimension after the channels, found another": lambda g: g.MaxPool(
        x(g, 1, 3, 8), kernel_shape=[2, 2]
    ),
    "expected no output of indices, found one": lambda g: g.MaxPool(x(g, 1, 3, 8), kernel_shape=[2], outputs=2)[0],
    "expected count_include_pad = 0 beside ceil_mode = 1, found 1": lambda g: g.AveragePool(
        x(g, 1, 3, 8), kernel_shape=[2], ceil_mode=1, count_include_pad=1, pads=[1, 0]
    ),
    "expected strides and pads at the end of one window together beside ceil_mode = 1, found more": lambda g: g.MaxPool(
        x(g, 1, 3, 8), kernel_shape=[2], ceil_mode=1, strides=[3]
    ),
    # ScatterND.
    "expected reduction = none and positions in 1 or more dimensions of the input": lambda g: g.ScatterND(
        x(g, 4), run(g, 2, 1), x(g, 2), reduction="add"
    ),
    "expected updates of rank 2 in the type of the input, found others": lambda g: g.ScatterND(
        x(g, 4, 3), run(g, 2, 1), x(g, 2)
    ),
    # Resize.
    "expected a coordinate_transformation_mode other than tf_crop_and_resize": lambda g: g.Resize(
        x(g, 4), "", "", c(g, 8), coordinate_transformation_mode="tf_crop_and_resize"
    ),
    "expected mode nearest, linear or cubic, found area": lambda g: g.Resize(x(g, 4), "", "", c(g, 8), mode="area"),
    "expected antialias = 0 and keep_aspect_ratio_policy stretch": lambda g: g.Resize(
        x(g, 4), "", "", c(g, 8), mode="linear", antialias=1
    ),
    "expected scales or sizes, found both or neither": lambda g: g.Resize(x(g, 4)),
    "expected a constant scale or size for each dimension, found others": lambda g: g.Resize(
        x(g, 4), "", "", c(g, 8, 8)
    ),
    "expected fixed sizes above 0 of dimension 0, which changes, found another": lambda g: g.Resize(
        g.draw("x", 4, symbols=["n"]), "", "", c(g, 8)
    ),
    "expected a size above 0, found 0 of dimension 0": lambda g: g.Resize(x(g, 4), "", "", c(g, 0)),
    # Convolutions.
    "expected auto_pad of NOTSET, VALID, SAME_UPPER or SAME_LOWER, found ODD": lambda g: g.Conv(
        x(g, 1, 3, 8), x(g, 4, 3, 3), auto_pad="ODD"
    ),
    "expected pads, strides and dilations of 1 dimensions, found others": lambda g: g.Conv(
        x(g, 1, 3, 8), x(g, 4, 3, 3), strides=[1, 1]
    ),
    "expected pads from 0 and strides and dilations from 1 to 2147483647, found 0": lambda g: g.Conv(
        x(g, 1, 3, 8), x(g, 4, 3, 3), strides=[0]
    ),
    "expected fixed spatial sizes where auto_pad is SAME_UPPER or SAME_LOWER": lambda g: g.Conv(
        x(g, 1, 3, 8, symbols=[1, 3, "n"]), x(g, 4, 3, 3), strides=[2], auto_pad="SAME_UPPER"
    ),
    "expected weights of fixed spatial sizes of at least 1, found others": lambda g: g.Conv(
        x(g, 1, 3, 8), x(g, 4, 3, 3, symbols=[4, 3, "n"])
    ),
    "expected kernel_shape as the weights have it, 3 in dimension 0, found another": lambda g: g.Conv(
        x(g, 1, 3, 8), x(g, 4, 3, 3), kernel_shape=[2]
    ),
    "expected a padded input of at least 3 elements in dimension 2, found 2": lambda g: g.Conv(
        x(g, 1, 3, 2), x(g, 4, 3, 3)
    ),
    "expected an input (batch, channels, sizes), weights (outputs, channels, sizes)": lambda g: g.Conv(
        x(g, 1, 3), x(g, 4, 3)
    ),
    "expected group from 1 to 2147483647, found 0": lambda g: g.Conv(x(g, 1, 3, 8), x(g, 4, 3, 3), group=0),
    "expected fixed numbers of channels where group is not 1, found a symbol": lambda g: g.Conv(
        x(g, 1, 4, 8, symbols=[1, "n", 8]), x(g, 4, 2, 3), group=2
    ),
    "expected outputs in 2 groups, found 3": lambda g: g.Conv(x(g, 1, 4, 8), x(g, 3, 2, 3), group=2),
    # Reductions and normalisations.
    "'ReduceMean' is not covered: expected an input of floats, found INT64": lambda g: g.ReduceMean(run(g, 300)),
    "'ReduceMax' is not covered: expected axes, found none": lambda g: g.ReduceMax(x(g, 2), noop_with_empty_axes=1),
    "'Softmax' is not covered: expected an input of floats, found INT64": lambda g: g.Softmax(run(g, 300)),
    "expected an input, scale and bias of one type of floats that broadcast to the input": lambda g: (
        g.LayerNormalization(x(g, 2, 3), x(g, 3, dtype=np.float64))
    ),
    "expected stash_type = 1 (FLOAT), found another": lambda g: g.LayerNormalization(
        x(g, 2, 3), x(g, 3), stash_type=11
    ),
    "expected an input, skip and bias of one type of floats, of which the last two": lambda g: g.SkipLayerNormalization(
        x(g, 2, 3), x(g, 2, 4), x(g, 3), domain="com.microsoft"
    ),
    "expected the outputs 0 and 3, found another": lambda g: g.SkipSimplifiedLayerNormalization(
        x(g, 2, 3), x(g, 2, 3), x(g, 3), outputs=2, domain="com.microsoft"
    )[0],
    "expected input 1 of rank 1 and as long as there are channels, found another": lambda g: g.InstanceNormalization(
        x(g, 1, 3, 8), x(g, 2), x(g, 3)
    ),
    "expected an input (batch, channels, sizes), found rank 1": lambda g: g.InstanceNormalization(
        x(g, 3), x(g, 3), x(g, 3)
    ),
    "expected an input (batch, channels, sizes), found rank 2": lambda g: g.InstanceNormalization(
        x(g, 1, 3), x(g, 3), x(g, 3)
    ),
    "expected a fixed number of channels that num_groups divides, found 2 groups": lambda g: g.GroupNormalization(
        x(g, 1, 3, 8), x(g, 3), x(g, 3), num_groups=2
    ),
    "expected input 1 of rank 1 and as long as there are groups, found another": lambda g: g.GroupNormalization(
        x(g, 1, 4, 8), x(g, 4), x(g, 4), num_groups=2
    ),
    "expected training_mode = 0, found another": lambda g: g.BatchNormalization(
        x(g, 1, 3, 8), *(x(g, 3) for _ in range(4)), training_mode=1
    ),
    # Rotations.
    "expected an input of rank 3 or 4, found rank 2": lambda g: rotary(g, shape=(6, 4)),
    "expected is_packed_batching = 0 and scale = 1, found others": lambda g: rotary(g, scale=2.0),
    "expected an input and caches of one type of floats, found others": lambda g: g.RotaryEmbedding(
        x(g, 1, 2, 6, 4), x(g, 1, 6, 2, dtype=np.float64), x(g, 1, 6, 2, dtype=np.float64)
    ),
    "expected an even number of rotated elements from 2 to 4, found 3": lambda g: rotary(g, rotary_embedding_dim=3),
    "expected caches of rank 2 with position_ids, and of 2 columns, found others": lambda g: rotary(g, cos=(1, 6, 2)),
    "expected caches of rank 3 without position_ids, and of 2 columns, found others": lambda g: rotary(g, ids=()),
    "expected position_ids (batch, rows) of INT64, found others": lambda g: rotary(g, dtype=np.int32),
    "expected caches or position_ids of the input's batch and rows, found others": lambda g: rotary(g, ids=(1, 5)),
}


@pytest.mark.parametrize("message", CASES)
def test_what_a_rule_expects(message):
    g = Graph()
    model = g.finish(CASES[message](g))
    with pytest.raises(attn.CompileError) as error:
        attn.from_onnx(model)
    assert message in str(error.value)


def test_old_softmax():
    g = Graph()
    model = g.finish(g.Softmax(x(g, 2, 3, 4), axis=1), opset=11)
    with pytest.raises(attn.CompileError, match="expected the last axis in opset 11, found 1"):
        attn.from_onnx(model)
