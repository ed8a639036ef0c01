"""bf16 and f16: max|out − ref| ≤ 2·max|low − ref| (docs/Semantics.md), on the sizes of FlashAttention's tests."""

import numpy as np
import pytest

import attn
from attn import reference
from helpers import BF16, NARROW, Shape, check, draw

LENGTHS = [(113, 203), (128, 217), (113, 211), (108, 256), (256, 512), (512, 256), (1024, 1024), (1023, 1024), (1, 147)]
HEAD_SIZES = [32, 40, 59, 64, 80, 96, 111, 128, 160, 192, 256]
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625])

parametrize_dtype = pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)


@parametrize_dtype
@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda x: f"{x[0]}x{x[1]}")
def test_lengths(lengths, dtype):
    check(*draw(Shape(*lengths, 64, 64, hq=2, hkv=1), dtype), causal="bottom_right")


@parametrize_dtype
@pytest.mark.parametrize("d", HEAD_SIZES)
def test_head_sizes(d, dtype):
    check(*draw(Shape(113, 203, d, d, hq=2, hkv=2), dtype))


@parametrize_dtype
@pytest.mark.parametrize("name", ["softcap", "bias", "score_mod"])
def test_features(name, dtype, rng):
    options = {
        "softcap": dict(softcap=1.0),
        "bias": dict(bias=rng.standard_normal((1, 4, 113, 203)).astype(dtype)),
        "score_mod": dict(score_mod=lambda s, b, h, i, j: s - SLOPES[h] * abs(i - j)),
    }[name]
    check(*draw(Shape(113, 203, 64, 64, hq=4, hkv=2), dtype), causal="bottom_right", **options)


@parametrize_dtype
def test_returned_weights_are_narrow(dtype):
    q, k, v = draw(Shape(33, 65, 32, 32, hq=2, hkv=2), dtype)
    out, weights = attn.sdpa(q, k, v, return_weights=True)
    expected, expected_weights = reference.sdpa(q, k, v, return_weights=True)
    assert out.dtype == weights.dtype == dtype
    rounding = 2.0**-8 if dtype == BF16 else 2.0**-11
    np.testing.assert_allclose(weights.astype(np.float64), expected_weights, rtol=2 * rounding, atol=1e-6)
    assert np.abs(out.astype(np.float64) - expected).max() <= 4 * rounding * np.abs(expected).max()
