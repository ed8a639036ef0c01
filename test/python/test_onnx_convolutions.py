"""attn.from_onnx on convolutions: patches, points, groups, channels of their own, and places of any stride."""

import numpy as np
import pytest

import attn
from graph_models import Graph, check
from test_onnx_more_operators import fold, follow

# Shapes of input and weights, and attributes: panels of whole and of partial vectors, one and two dimensions.
CASES = {
    "patches": ((2, 3, 32, 48), (20, 3, 8, 16), {"strides": [8, 16]}),
    "patches apart": ((1, 3, 21, 40), (8, 3, 4, 5), {"strides": [5, 7]}),
    "patches of rows": ((2, 5, 60), (17, 5, 4), {"strides": [4]}),
    "points": ((2, 37, 9, 11), (24, 37, 1, 1), {}),
    "points apart": ((1, 37, 9, 11), (24, 37, 1, 1), {"strides": [2, 2]}),
    "places": ((2, 19, 30, 37), (33, 19, 3, 3), {"pads": [1, 1, 1, 1]}),
    "every second place": ((1, 7, 31, 70), (16, 7, 3, 5), {"pads": [1, 2, 1, 2], "strides": [2, 2]}),
    "every third place": ((1, 7, 31, 70), (16, 7, 5, 5), {"strides": [3, 3]}),
    "dilated": ((1, 6, 20, 41), (12, 6, 3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    "long rows": ((1, 80, 301), (64, 80, 3), {"pads": [1, 1]}),
    "long rows by two": ((2, 40, 301), (64, 40, 3), {"pads": [1, 1], "strides": [2]}),
    "one channel": ((1, 1, 803), (64, 1, 10), {"strides": [5]}),
    "three dimensions": ((1, 4, 6, 7, 9), (8, 4, 2, 3, 3), {"pads": [0, 1, 1, 0, 1, 1]}),
    "groups": ((1, 24, 53), (48, 8, 16), {"pads": [8, 8], "group": 3}),
    "groups of planes": ((2, 12, 9, 33), (8, 3, 3, 3), {"group": 4, "strides": [1, 2]}),
    "channels": ((2, 11, 23, 70), (11, 1, 7, 7), {"pads": [3, 3, 3, 3], "group": 11}),
    "channels by two": ((1, 11, 23, 70), (22, 1, 3, 3), {"group": 11, "strides": [2, 2]}),
    "channels of rows": ((1, 16, 203), (16, 1, 4), {"pads": [3, 0], "group": 16}),
    "one result": ((1, 3, 5, 5), (4, 3, 5, 5), {}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["x86-64-v2", "host"])
def test_forms(name, target):
    shape, kernel, attributes = CASES[name]
    g = Graph()
    x = g.draw("x", *shape)
    model = g.finish(g.Relu(g.Conv(x, g.weight(*kernel), g.weight(kernel[0]), **attributes)))
    check(g, model, attn.from_onnx(model, target=target), 1e-4)


@pytest.mark.parametrize("name", ["places", "every second place", "patches", "channels", "points"])
def test_open_sizes(name):
    """One kernel for all batches and images."""
    shape, kernel, attributes = CASES[name]
    g = Graph()
    x = g.draw("x", *shape, symbols=["batch", shape[1], "height", "width"])
    y = fold(g, g.Conv(x, g.weight(*kernel), g.weight(kernel[0]), **attributes), 3)
    y = fold(g, y, 2)
    follow(g, g.finish(y), (1, shape[1], 16, 33), (3, shape[1], 40, 65), tolerance=2e-4)


@pytest.mark.parametrize("name", ["places", "patches", "channels"])
def test_half_precision(name):
    """Sums are f32; ONNX's evaluator computes in f32 on the same elements."""
    shape, kernel, attributes = CASES[name]
    g = Graph()
    x = g.draw("x", *shape, dtype=np.float16)
    weights = (0.2 * g.rng.standard_normal(kernel)).astype(np.float16)
    found = attn.from_onnx(g.finish(g.Conv(x, g.constant(weights), **attributes)))(*g.arrays)
    whole = Graph()
    y = whole.Conv(
        whole.input("x", g.arrays[0].astype(np.float32)), whole.constant(weights.astype(np.float32)), **attributes
    )
    expected = attn.from_onnx(whole.finish(y))(*whole.arrays)
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


def test_nan_of_a_place_stays_there():
    """Lanes beyond the last column read nothing: a NaN reaches the results whose kernel covers it, and no others."""
    g = Graph()
    image = g.rng.standard_normal((1, 4, 6, 21)).astype(np.float32)
    image[0, 1, 2, 20] = np.nan
    y = g.Conv(g.input("x", image), g.weight(8, 4, 3, 3), strides=[1, 2])
    found = attn.from_onnx(g.finish(y))(image)
    assert np.isnan(found[..., :3, 9]).all()
    assert np.isfinite(found[..., :, :9]).all()
    assert np.isfinite(found[..., 3, :]).all()


def test_weights_of_the_call():
    """Weights that are an input."""
    g = Graph()
    x, w = g.draw("x", 2, 6, 13, 30), g.draw("w", 12, 6, 3, 3)
    model = g.finish(g.Conv(x, w, pads=[1, 1, 1, 1]))
    check(g, model, attn.from_onnx(model), 1e-4)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"strides": [2], "pads": [2, 1], "dilations": [2]}, {"auto_pad": "SAME_LOWER"}]
)
def test_grouped_convolution(groups, bias, options):
    g = Graph()
    x = g.draw("x", 2, 6, 13, symbols=["batch", 6, "length"])
    operands = [x, g.weight(12, 6 // groups, 3)] + ([g.weight(12)] if bias else [])
    y = fold(g, g.Conv(*operands, group=groups, kernel_shape=[3], **options), 2)
    follow(g, g.finish(y), (1, 6, 8), (3, 6, 29), tolerance=2e-4)


def test_depthwise_convolution_of_two_dimensions():
    g = Graph()
    x = g.draw("x", 2, 6, 11, 7)
    model = g.finish(g.Conv(x, g.weight(6, 1, 3, 2), group=6, strides=[2, 1], pads=[1, 0, 2, 1]))
    check(g, model, attn.from_onnx(model))


def test_convolution_refused():
    g = Graph()
    x = g.draw("x", 2, 6, 13)
    with pytest.raises(attn.CompileError, match="expected 8 channels of the input in 4 groups"):
        attn.from_onnx(g.finish(g.Conv(x, g.weight(12, 2, 3), group=4)))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 3, 70), {"kernel_shape": [3]}),
        ((1, 5, 17, 41), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
        ((1, 5, 17, 41), {"kernel_shape": [2, 5], "strides": [1, 3], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 5, 6, 19), {"kernel_shape": [2, 2, 3], "strides": [1, 2, 1]}),
        ((1, 3, 10, 23), {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}),
    ],
)
def test_pools(op, shape, options):
    g = Graph()
    x = g.draw("x", *shape)
    model = g.finish(getattr(g, op)(x, **options))
    check(g, model, attn.from_onnx(model))


def test_mean_with_pads():
    g = Graph()
    x = g.draw("x", 1, 3, 9, 21)
    options = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}
    model = g.finish(g.AveragePool(x, **options))
    check(g, model, attn.from_onnx(model))


def test_pool_of_open_sizes():
    g = Graph()
    x = g.draw("x", 2, 3, 12, 21, symbols=["batch", 3, "height", "width"])
    y = fold(g, g.MaxPool(x, kernel_shape=[2, 3], strides=[2, 1]), 3)
    follow(g, g.finish(fold(g, y, 2)), (1, 3, 8, 33), (3, 3, 2, 3))
