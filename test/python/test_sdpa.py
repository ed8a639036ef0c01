"""attn.sdpa against the reference: the standing shapes, each convention, odd values."""

import numpy as np
import pytest

import attn
from helpers import DTYPES, Shape, check, draw

INF = float("inf")
HEAD_SIZES = [32, 40, 59, 64, 80, 96, 111, 128, 160, 192, 256]

SHAPES = [
    Shape(1, 1, 1, 1),
    Shape(113, 203, 64, 64, b=2, hq=8, hkv=2),
    Shape(113, 203, 59, 80, b=2, hq=8, hkv=2),
    Shape(203, 113, 64, 32, b=2, hq=3, hkv=3),
    Shape(1, 203, 64, 64, b=2, hq=8, hkv=1),
    Shape(113, 1, 16, 7),
    Shape(64, 64, 64, 64, hq=4, hkv=4),
    Shape(17, 33, 5, 3, b=3, hq=6, hkv=3),
    Shape(1023, 1024, 64, 64),
]

parametrize_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "f64"])


@parametrize_dtype
@pytest.mark.parametrize("causal", [None, "top_left", "bottom_right"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_standing_shapes(shape, causal, dtype):
    check(*draw(shape, dtype), causal=causal)


@parametrize_dtype
@pytest.mark.parametrize("d", HEAD_SIZES)
def test_head_sizes(d, dtype):
    check(*draw(Shape(33, 65, d, d, hq=2, hkv=2), dtype))


@pytest.mark.parametrize(("d", "dv"), [(64, 1), (1, 64), (128, 40), (40, 128), (64, 512)])
def test_value_head_size_differs(d, dv):
    check(*draw(Shape(50, 70, d, dv)))


@parametrize_dtype
def test_without_keys_every_row_is_empty(dtype):
    out, lse = check(*draw(Shape(5, 0, 64, 32, b=2, hq=4, hkv=2), dtype))
    assert (out == 0).all()
    assert (lse == -INF).all()


@parametrize_dtype
def test_more_queries_than_keys_leaves_empty_rows(dtype):
    out, lse = check(*draw(Shape(203, 113, 64, 64, hq=2, hkv=2), dtype), causal="bottom_right")
    assert (out[:, :, :90] == 0).all()
    assert (lse[:, :, :90] == -INF).all()
    assert np.isfinite(lse[:, :, 90:]).all()


def test_large_scores(rng):
    # Integer scores up to ±1e4 are exact in float32, so that the comparison is about the softmax alone.
    q = rng.integers(-12, 13, (1, 2, 33, 64)).astype(np.float32)
    k = rng.integers(-12, 13, (1, 2, 65, 64)).astype(np.float32)
    q[..., 0], k[..., 0] = 96, rng.choice([-96, 96], (1, 2, 65))
    check(q, k, draw(Shape(33, 65, 64, 64, hq=2, hkv=2))[2], scale=1.0)


@pytest.mark.parametrize("scale", [0, 1, -0.5, 1e-3, 0.1])
def test_scale(scale):
    check(*draw(Shape(33, 65, 16, 16)), scale=scale)


@parametrize_dtype
@pytest.mark.parametrize("cap", [0.5, 2, 30.0])
def test_softcap(cap, dtype):
    check(*draw(Shape(33, 65, 16, 16), dtype), softcap=cap, scale=1.0)


BROADCASTS = [
    (2, 4, 33, 65),
    (1, 4, 33, 65),
    (2, 1, 33, 65),
    (1, 1, 33, 65),
    (2, 1, 1, 65),
    (1, 4, 33, 1),
    (1, 1, 1, 1),
]
MASKED = Shape(33, 65, 16, 16, b=2, hq=4, hkv=2)


@parametrize_dtype
@pytest.mark.parametrize("shape", BROADCASTS, ids=str)
def test_bias_broadcasts(rng, shape, dtype):
    check(*draw(MASKED, dtype), bias=rng.standard_normal(shape).astype(dtype))


@parametrize_dtype
@pytest.mark.parametrize("shape", BROADCASTS, ids=str)
def test_mask_broadcasts(rng, shape, dtype):
    check(*draw(MASKED, dtype), mask=rng.random(shape) < 0.6)


@parametrize_dtype
def test_everything_at_once(rng, dtype):
    bias = rng.standard_normal((1, 4, 33, 65)).astype(dtype)
    bias[rng.random(bias.shape) < 0.1] = -INF
    mask = rng.random((2, 1, 33, 65)) < 0.8
    check(*draw(MASKED, dtype), scale=0.3, causal="bottom_right", softcap=2.5, bias=bias, mask=mask)


def test_rows_that_a_mask_empties(rng):
    mask = rng.random((2, 4, 33, 65)) < 0.5
    mask[:, :, ::3] = False
    out, lse = check(*draw(MASKED), mask=mask)
    assert (out[:, :, ::3] == 0).all()
    assert (lse[:, :, ::3] == -INF).all()


def test_rows_whose_first_tiles_are_masked():
    # The running maximum is −inf over whole tiles before the first kept key.
    mask = np.zeros((1, 1, 33, 1024), dtype=bool)
    mask[..., -3:] = True
    check(*draw(Shape(33, 1024, 64, 64)), mask=mask)


@pytest.mark.parametrize("value", [-INF, np.finfo(np.float32).min])
def test_bias_of_minus_infinity_removes_and_the_finite_minimum_does_not(value):
    bias = np.zeros((1, 1, 33, 65), dtype=np.float32)
    bias[..., 5, :], bias[..., 20:, 30:] = value, value
    out, lse = check(*draw(Shape(33, 65, 16, 16)), bias=bias)
    assert (out[0, 0, 5] == 0).all() == (value == -INF)
    assert (lse[0, 0, 5] == -INF) == (value == -INF)


@parametrize_dtype
def test_nan_in_a_query_reaches_only_its_row(dtype):
    q, k, v = draw(Shape(33, 65, 16, 16), dtype)
    q[0, 0, 7, 3] = np.nan
    out, lse = check(q, k, v)
    assert np.isnan(out[0, 0, 7]).all()
    assert np.isnan(lse[0, 0, 7])


@parametrize_dtype
def test_nan_in_a_key_reaches_the_rows_that_keep_it(dtype):
    q, k, v = draw(Shape(65, 65, 16, 16), dtype)
    k[0, 0, 40] = np.nan
    out, _ = check(q, k, v, causal="top_left")
    assert np.isnan(out[0, 0, 40:]).all()


@pytest.mark.parametrize("how", ["bias", "mask"])
def test_nan_in_a_removed_key_reaches_nothing(how):
    # Removal is a select: NaN + (−inf) would be NaN.
    q, k, v = draw(Shape(33, 65, 16, 16))
    k[0, 0, 40] = np.nan
    keep = (np.arange(65) != 40).reshape(1, 1, 1, 65)
    removed = {"mask": keep} if how == "mask" else {"bias": np.where(keep, 0, -INF).astype(np.float32)}
    out, _ = check(q, k, v, **removed)
    assert np.isfinite(out).all()


@parametrize_dtype
def test_nan_in_a_value_reaches_its_column(dtype):
    q, k, v = draw(Shape(33, 65, 16, 16), dtype)
    v[0, 0, 64, 2] = np.nan
    out, lse = check(q, k, v)
    assert np.isnan(out[..., 2]).all()
    assert np.isfinite(lse).all()


def test_without_lse_the_result_is_one_array():
    q, k, v = draw(MASKED)
    out = attn.sdpa(q, k, v)
    assert isinstance(out, np.ndarray)
    np.testing.assert_allclose(out, attn.sdpa(q, k, v, return_lse=True)[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("causal", [None, "bottom_right"])
def test_targets(target, causal):
    q, k, v = draw(Shape(113, 203, 59, 80, hq=4, hkv=2))
    out = attn.sdpa(q, k, v, causal=causal, target=target)
    np.testing.assert_allclose(out, attn.reference.sdpa(q, k, v, causal=causal), atol=1e-5)
