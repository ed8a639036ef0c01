"""Values at the ends of each type: large scores, denormals, infinities, scales of zero and below."""

import ml_dtypes
import numpy as np
import pytest

import attn
import processor
from attn import reference
from helpers import BF16, TOLERANCE, TYPES, Shape, assert_lse, assert_within, check, draw, is_narrow

INF = float("inf")
# Many rows, one, and a few: prefill, decoding, speculative decoding; several tiles of keys, the last one partial.
SHAPES = [
    Shape(33, 203, 64, 64, b=2, hq=2, hkv=2),
    Shape(1, 203, 64, 64, b=2, hq=4, hkv=2),
    Shape(4, 203, 64, 64, b=2, hq=4, hkv=1),
]
GAP = 1e4

parametrize_type = pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
parametrize_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def eps(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def check_exact_scores(q, k, v):
    """Scores that are exact in f32: what is left is the rounding of P and of out, whatever the size of the scores."""
    found = attn.sdpa(q, k, v, scale=1.0, return_lse=True)
    expected = reference.sdpa(q, k, v, scale=1.0, return_lse=True)
    limit = 1.5 * eps(q.dtype) if is_narrow(q.dtype) else TOLERANCE[q.dtype]
    assert_within(limit * np.abs(v.astype(np.float64)).max(), found[0], expected[0])
    assert_lse(found[1], expected[1])
    return found


def exact(shape, dtype, rng):
    """Small integers with room in column 0; q and k are exact in every type."""
    q, k, v = draw(shape, dtype)
    q[...], k[...] = rng.integers(-8, 9, q.shape), rng.integers(-8, 9, k.shape)
    q[..., 0] = 96
    return q, k, v


@parametrize_type
@parametrize_shape
def test_scores_of_ten_thousand_with_both_signs(shape, dtype, rng):
    q, k, v = exact(shape, dtype, rng)
    k[..., 0] = rng.choice([-104, 104], k.shape[:3])
    assert np.abs(reference.scores(q, k)).max() > GAP
    check_exact_scores(q, k, v)


@parametrize_type
@parametrize_shape
def test_scores_that_are_all_far_below_zero(shape, dtype, rng):
    q, k, v = exact(shape, dtype, rng)
    q[..., 1:], k[..., 0] = 0, -104
    out, lse = check_exact_scores(q, k, v)
    assert (lse < -9000).all()
    assert np.abs(out.astype(np.float64)).max() > 0.01


@parametrize_type
@parametrize_shape
def test_a_maximum_that_jumps_in_the_last_tile(shape, dtype, rng):
    # What came before is scaled by exp(−2·10⁴) = 0, and must not become NaN.
    q, k, v = exact(shape, dtype, rng)
    k[..., 0] = -104
    k[:, :, -3:, 0] = 104
    check_exact_scores(q, k, v)


def smallest(dtype, rows):
    """Numbers about the smallest normal one, most of them denormal."""
    return (rows.astype(np.float64) * float(ml_dtypes.finfo(dtype).smallest_normal)).astype(dtype)


@parametrize_type
@parametrize_shape
def test_denormal_values(shape, dtype):
    q, k, v = draw(shape, dtype)
    v = smallest(dtype, v)
    normal = float(ml_dtypes.finfo(dtype).smallest_normal)
    assert (np.abs(v.astype(np.float64)) < normal).mean() > 0.5
    if dtype != BF16 and not (dtype == np.float32 and processor.has("amx-bf16")):
        out, _ = check(q, k, v)
        assert (out != 0).any()
        return
    # Instructions that multiply pairs of bf16 take what is below the smallest normal number as zero, each of the three
    # parts of an f32 too.
    parts = 3 if dtype == np.float32 else 1
    for larger in 1, 64:
        v = (v.astype(np.float64) * larger).astype(dtype)
        expected = reference.sdpa(q, k, v)
        assert_within(parts * normal + eps(dtype) * np.abs(expected).max(), attn.sdpa(q, k, v), expected)


@parametrize_type
@parametrize_shape
def test_denormal_queries_and_keys(shape, dtype):
    # All scores are zero in f32, or next to it: rows become means.
    q, k, v = draw(shape, dtype)
    check(smallest(dtype, q), smallest(dtype, k), v)


@parametrize_type
@pytest.mark.parametrize("scale", [0.0, -0.25, 1e-30])
def test_scales(scale, dtype):
    for shape in SHAPES[:2]:
        check(*draw(shape, dtype), scale=scale)


@parametrize_type
@pytest.mark.parametrize("value", ["-inf", "lowest"])
def test_a_bias_of_minus_infinity_removes_and_the_lowest_number_does_not(value, dtype):
    lowest = -INF if value == "-inf" else float(ml_dtypes.finfo(dtype).min)
    for shape in SHAPES[:2]:
        bias = np.zeros((1, 1, shape.sq, shape.sk), dtype)
        bias[..., ::3] = lowest
        bias[..., -1, :] = lowest
        q, k, v = draw(shape, dtype)
        found = attn.sdpa(q, k, v, bias=bias, return_lse=True)
        if value == "-inf":
            check(q, k, v, bias=bias)
            assert (found[0][:, :, -1] == 0).all()
            assert (found[1][:, :, -1] == -INF).all()
        else:
            # Scores that the sum absorbs: the last row is the mean of all values.
            mean = v.astype(np.float64).mean(axis=2)[:, np.arange(shape.hq) * shape.hkv // shape.hq]
            limit = 1.5 * eps(dtype) if is_narrow(dtype) else TOLERANCE[np.dtype(dtype)]
            if not (is_narrow(dtype) and float(lowest) > -1e5):  # f16's lowest is an ordinary score
                assert_within(limit * np.abs(v.astype(np.float64)).max(), found[0][:, :, -1], mean)
            assert np.isfinite(found[0].astype(np.float64)).all()


@parametrize_type
@pytest.mark.parametrize("value", [-INF, 1e4, -1e4])
def test_sinks(value, dtype):
    for shape in SHAPES[:2]:
        check(*draw(shape, dtype), sink=np.array([value, 0.0, value, 1.0])[: shape.hq])


@parametrize_type
@pytest.mark.parametrize("cap", [1e-3, 1e6])
def test_softcaps(cap, dtype):
    check(*draw(SHAPES[0], dtype), softcap=cap)
