"""Softcaps: far from the scores, near them, and both in one tile; tanh has a short form for small scores."""

import numpy as np
import pytest

import attn
from helpers import DTYPES, TYPES, Shape, check, draw

SHAPE = Shape(70, 131, 32, 24, b=1, hq=2, hkv=2)


@pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "f64"])
@pytest.mark.parametrize("cap", [1e-6, 0.5, 3.0, 8.0, 30.0, 1000.0, 1e6])
def test_caps(cap, dtype):
    check(*draw(SHAPE, dtype), softcap=cap, causal="bottom_right")


def test_a_block_with_one_large_score():
    # Half of the cap is where the short form ends: one key's scores lie above it, one beside it, the others below.
    q, k, v = draw(SHAPE)
    k[:, :, 5] *= 40
    k[:, :, 77] *= 6
    check(q, k, v, softcap=10.0)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=str)
def test_a_bad_key_that_is_removed(bad, dtype):
    # The first key of the block: its score hides the others from the test whether all of them are small.
    q, k, v = draw(Shape(16, 64, 16, 16), dtype)
    k *= dtype(4)
    keep = np.ones((1, 1, 1, 64), bool)
    keep[..., 0] = False
    expected = check(q, k, v, mask=keep, softcap=2.0)
    k[:, :, 0] = bad
    for x, y in zip(attn.sdpa(q, k, v, mask=keep, softcap=2.0, return_lse=True), expected, strict=True):
        np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_a_bad_row():
    q, k, v = draw(Shape(48, 64, 16, 16))
    q *= np.float32(0.01)
    q[:, :, 16] *= 2000
    expected = check(q, k, v, softcap=2.0)
    q[:, :, 0] = np.nan
    for x, y in zip(attn.sdpa(q, k, v, softcap=2.0, return_lse=True), expected, strict=True):
        np.testing.assert_allclose(x[:, :, 1:], y[:, :, 1:], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["softcap", "score_mod"])
@pytest.mark.parametrize(("dtype", "least"), [(np.float32, 10.0), (np.float64, 20.0)], ids=["f32", "f64"])
def test_gradients_where_every_score_is_saturated(dtype, least, form):
    """The slope of tanh is no difference from 1: where tanh rounds to 1, it is small and exact, not 0."""
    rng = np.random.default_rng(0)
    q, k, v, dout = (rng.standard_normal((1, 2, n, 8)).astype(dtype) for n in (20, 33, 33, 20))
    q[..., 1:] = 0
    q[..., 0], k[..., 0] = 1 + rng.random((1, 2, 20)) / 20, least + rng.random((1, 2, 33))
    mod = {"softcap": {"softcap": 1.0}, "score_mod": {"score_mod": lambda s, b, h, i, j: attn.tanh(s)}}[form]
    options = {"scale": 1.0, **mod}
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    found = attn.sdpa_backward(q, k, v, out, lse, dout, **options)
    x = (q[:, :, :, None].astype(np.float64) * k[:, :, None]).sum(-1)
    p = np.full(x.shape, 1 / 33)  # all scores are 1 but for less than their roundings
    dp = (dout[:, :, :, None].astype(np.float64) * v[:, :, None]).sum(-1)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / np.cosh(x) ** 2
    bound = {np.float32: 2e-5, np.float64: 2e-12}[dtype]
    for name, expected in (("q", ds @ k), ("k", ds.swapaxes(-1, -2) @ q)):
        reference = attn.reference.sdpa_backward(q, k, v, out, lse, dout, grad=(name,), **options)[name]
        for what, actual in (("kernel", found[name]), ("reference", reference)):
            error = np.abs(actual - expected).max() / np.abs(expected).max()
            assert error <= bound, f"d{name} of the {what}: {error:.3g}"
