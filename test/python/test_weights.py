"""Returned weights: what multiplies V, in the type of Q, from the materialised path."""

import numpy as np
import pytest

import attn
from helpers import TYPES, Shape, check, draw

# Large enough for blocks of rows, which do not divide the rows.
SHAPE = Shape(133, 203, 16, 8, b=2, hq=4, hkv=2)
RNG = np.random.default_rng(5)
OPTIONS = {
    "plain": {},
    "scale": dict(scale=-0.3),
    "causal": dict(causal="bottom_right"),
    "window": dict(window=(7, 3), align="top_left"),
    "softcap": dict(softcap=0.7),
    "bias": dict(bias=RNG.standard_normal((1, 4, 133, 203))),
    "mask": dict(mask=RNG.random((2, 1, 133, 203)) < 0.4),
    "sink": dict(sink=RNG.standard_normal(4)),
    "sink and lengths": dict(sink=RNG.standard_normal(4), q_lengths=[133, 70]),
    "lengths": dict(q_lengths=[133, 70], kv_lengths=[0, 150]),
    "offsets": dict(causal=[-3, 20]),
    "dropout": dict(dropout=(0.3, 1, 2)),
    "mods": dict(score_mod=lambda s, b, h, i, j: s - 0.1 * (i - j), mask_mod=lambda b, h, i, j: (i + j) % 2 == h % 2),
    "empty rows": dict(mask=np.arange(133).reshape(1, 1, 133, 1) % 3 != 0),
}


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_weights(name, dtype):
    options = dict(OPTIONS[name])
    if "bias" in options:
        options["bias"] = options["bias"].astype(dtype)
    _, _, weights = check(*draw(SHAPE, dtype), **options, return_weights=True)
    assert weights.shape == SHAPE.scores


def test_rows_sum_to_one_and_multiply_the_values():
    q, k, v = draw(SHAPE)
    out, weights = attn.sdpa(q, k, v, return_weights=True)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(weights @ np.repeat(v, 2, axis=1), out, atol=1e-5)


def test_out_is_that_of_the_fused_kernel():
    q, k, v = draw(SHAPE)
    fused = attn.sdpa(q, k, v, causal="bottom_right")
    np.testing.assert_allclose(attn.sdpa(q, k, v, causal="bottom_right", return_weights=True)[0], fused, atol=1e-6)


@pytest.mark.parametrize("layout", ["bshd", "bsd"])
def test_layouts_leave_the_weights_as_they_are(layout):
    q, k, v = draw(SHAPE)
    expected = attn.sdpa(q, k, v, return_weights=True)[1]
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v))
    heads = None
    if layout == "bsd":
        q, k, v = (x.reshape(*x.shape[:2], -1) for x in (q, k, v))
        heads = (4, 2)
    found = attn.sdpa(q, k, v, return_weights=True, layout=layout, heads=heads)[1]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "shape", [Shape(5, 0, 8, 4, hq=2, hkv=2), Shape(1, 1, 1, 1), Shape(1, 203, 32, 32, hq=2, hkv=1)]
)
def test_other_shapes(shape):
    check(*draw(shape), return_weights=True)
