"""The gradients of the chain's steps: against central differences, and composed against `sdpa_backward`."""

import numpy as np
import pytest

from attn import reference
from helpers import Shape, draw

NAN = float("nan")
SHAPE = Shape(5, 7, 3, 2, b=2, hq=4, hkv=2)


def check(function, inputs, found, rng):
    """Compares gradients with differences of Σ cotangent · result along random directions; inputs change in place."""
    results = function()
    cotangents = [x for _, x in results]
    assert len(found) == len(inputs)

    def loss():
        return sum((cotangent * result).sum() for (result, _), cotangent in zip(function(), cotangents, strict=True))

    for x, gradient in zip(inputs, found, strict=True):
        assert gradient.shape == x.shape
        for _ in range(3):
            u, before, values = rng.standard_normal(x.shape), x.copy(), []
            for step in (2, 1, -1, -2):
                x[...] = before + step * 1e-4 * u
                values.append(loss())
            x[...] = before
            slope = (8 * (values[1] - values[2]) - (values[0] - values[3])) / 12e-4
            np.testing.assert_allclose((gradient * u).sum(), slope, rtol=1e-7, atol=1e-9)


def weights_of(kind, rng):
    """The rows of q and k and the weights of each kind of scores."""
    shapes = {
        "dot": (3, 3, []),
        "general": (3, 5, [(3, 5)]),
        "additive": (3, 3, [(3,)]),
        "additive with projections": (3, 5, [(3, 6), (5, 6), (6,)]),
    }
    dq, dk, weights = shapes[kind]
    q, k = rng.standard_normal((2, 4, 5, dq)), rng.standard_normal((2, 2, 7, dk))
    return q, k, [rng.standard_normal(shape) for shape in weights]


@pytest.mark.parametrize("kind", ["dot", "general", "additive", "additive with projections"])
def test_scores(rng, kind):
    q, k, weights = weights_of(kind, rng)
    ds, name = rng.standard_normal(SHAPE.scores), kind.split()[0]
    found = reference.scores_backward(q, k, ds, weights, name)
    check(lambda: [(reference.scores(q, k, weights, name), ds)], [q, k, *weights], found, rng)


@pytest.mark.parametrize("kind", ["dot", "general", "additive", "additive with projections"])
def test_scores_without_a_gradient_pass_no_nan_on(rng, kind):
    q, k, weights = weights_of(kind, rng)
    ds, name = rng.standard_normal(SHAPE.scores), kind.split()[0]
    ds[..., -1] = ds[:, :, 2] = 0
    expected = reference.scores_backward(q, k, ds, weights, name)
    q[:, :, 2] = k[:, :, -1] = NAN
    found = reference.scores_backward(q, k, ds, weights, name)
    for x, y in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("sink", [False, True])
def test_softmax(rng, sink):
    s, sinks = rng.standard_normal(SHAPE.scores), rng.standard_normal(4) if sink else None
    keep = rng.random(s.shape) < 0.6
    keep[0, :, 1] = False
    dweights, dlse = rng.standard_normal(s.shape), rng.standard_normal(s.shape[:3])
    dweights[~keep] = NAN

    def softmax():
        weights, lse = reference.softmax(reference.mask(s, keep=keep), sinks)
        is_empty = lse == -np.inf
        return [(np.where(keep, weights, 0), np.where(keep, dweights, 0)), (np.where(is_empty, 0, lse), dlse)]

    weights, lse = reference.softmax(reference.mask(s, keep=keep), sinks)
    ds, dsink = reference.softmax_backward(weights, lse, dweights, np.where(lse == -np.inf, NAN, dlse), sinks)
    assert (ds[~keep] == 0).all()
    assert sink == (dsink is not None)
    check(softmax, [s, sinks] if sink else [s], [ds, dsink] if sink else [ds], rng)


def test_a_sink_in_empty_rows():
    lse, dlse = np.array([[[-np.inf, 0.5]]]), np.array([[[NAN, 2.0]]])  # as where the first row is beyond q_lengths
    ds, dsink = reference.softmax_backward(np.zeros((1, 1, 2, 3)), lse, np.full((1, 1, 2, 3), NAN), dlse, [0.5])
    assert (ds == 0).all()
    assert dsink.tolist() == [2.0]


def test_scale_softcap_mask_and_apply(rng):
    s, ds = rng.standard_normal(SHAPE.scores), rng.standard_normal(SHAPE.scores)
    value, cap = np.array(0.7), np.array(1.3)
    check(lambda: [(reference.scale(s, value), ds)], [s, value], reference.scale_backward(s, value, ds), rng)
    softcap = [np.asarray(x) for x in reference.softcap_backward(s, cap, ds)]
    check(lambda: [(reference.softcap(s, float(cap)), ds)], [s, cap], softcap, rng)

    keep, bias = rng.random(s.shape) < 0.6, rng.standard_normal((1, 4, 1, 7))

    def masked():
        return [(np.where(keep, reference.mask(s, bias, keep), 0), ds)]

    check(masked, [s, bias], reference.mask_backward(keep, bias.shape, ds), rng)

    v, dout = rng.standard_normal((2, 2, 7, 2)), rng.standard_normal((2, 4, 5, 2))
    found = reference.apply_backward(s, v, dout)
    check(lambda: [(reference.apply(s, v), dout)], [s, v], found, rng)
    keep[..., -1] = False
    s[~keep] = 0
    expected = reference.apply_backward(s, v, dout, keep)
    v[:, :, -1] = NAN
    for x, y in zip(reference.apply_backward(s, v, dout, keep), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("sink", [False, True])
def test_the_chain_is_the_whole(rng, sink):
    q, k, v = draw(SHAPE, np.float64)
    bias, sinks = rng.standard_normal((1, 4, 1, 7)), rng.standard_normal(4) if sink else None
    keep = rng.random(SHAPE.scores) < 0.6
    keep[:, :, 1] = False
    dout, dlse = rng.standard_normal((2, 4, 5, 2)), rng.standard_normal((2, 4, 5))
    dweights = rng.standard_normal(SHAPE.scores)
    dropout, grad = (0.3, 42, 1), ("q", "k", "v", "bias", "scale", "softcap") + (("sink",) if sink else ())
    expected = reference.sdpa_backward(
        q, k, v, None, None, dout, dlse=dlse, dweights=dweights, grad=grad,
        scale=0.4, softcap=2.0, bias=bias, mask=keep, sink=sinks, dropout=dropout,
    )  # fmt: skip

    dot = reference.scores(q, k)
    scaled = reference.scale(dot, 0.4)
    weights, lse = reference.softmax(reference.mask(reference.softcap(scaled, 2.0), bias, keep), sinks)
    dropped = reference.dropout(weights, *dropout)
    found = {}
    d, found["v"] = reference.apply_backward(dropped, v, dout, keep)
    d = reference.dropout(d + dweights, *dropout)
    d, found["sink"] = reference.softmax_backward(weights, lse, d, dlse, sinks)
    d, found["bias"] = reference.mask_backward(keep, bias.shape, d)
    d, found["softcap"] = reference.softcap_backward(scaled, 2.0, d)
    d, found["scale"] = reference.scale_backward(dot, 0.4, d)
    found["q"], found["k"] = reference.scores_backward(q, k, d)
    for name in grad:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-11, atol=1e-13, err_msg=name)


def test_multi_head(rng):
    x, dout = rng.standard_normal((2, 5, 6)), rng.standard_normal((2, 5, 3))
    shapes = {"w_q": (6, 12), "w_k": (6, 6), "w_v": (6, 4), "w_o": (8, 3)}
    arrays = {"x": x} | {name: rng.standard_normal(shape) / 2 for name, shape in shapes.items()}
    sink = rng.standard_normal(4)
    options = dict(heads=4, kv_heads=2, causal="top_left", sink=sink)
    grad = (*arrays, "sink")
    found = reference.multi_head_backward(**arrays, **options, dout=dout, grad=grad)
    assert tuple(found) == grad
    check(lambda: [(reference.multi_head(**arrays, **options), dout)], [*arrays.values(), sink], [*found.values()], rng)
    for bad in (dict(dout=dout[:1]), dict(grad=("q",)), dict(grad=("mask",))):
        with pytest.raises(ValueError, match="expected"):
            reference.multi_head_backward(**arrays, **options, **dict(dout=dout) | bad)
