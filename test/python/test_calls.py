"""The calls around attention: multi_head with its projections, and merge of two results."""

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from helpers import DTYPES, TOLERANCE, Shape, assert_close, assert_lse, assert_within, draw

parametrize_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "f64"])


def projections(rng, dtype, width=24, heads=(4, 2), sizes=(16, 12), out=20):
    shapes = [(2, 33, width), (width, heads[0] * sizes[0]), (width, heads[1] * sizes[0])]
    shapes += [(width, heads[1] * sizes[1]), (heads[0] * sizes[1], out)]
    return [(rng.standard_normal(shape) / np.sqrt(shape[-2])).astype(dtype) for shape in shapes]


@parametrize_dtype
@pytest.mark.parametrize(
    "options", [{}, dict(causal="top_left"), dict(window=(7, 2)), dict(softcap=0.5, scale=0.3)], ids=str
)
def test_multi_head(rng, options, dtype):
    arrays = projections(rng, dtype)
    found = attn.multi_head(*arrays, 4, 2, **options)
    assert found.dtype == dtype
    assert_close(found, reference.multi_head(*arrays, 4, 2, **options), dtype)


def test_multi_head_of_the_specification():
    i, j = np.arange(1, 9)[:, None], np.arange(1, 9)
    x = (0.01 * i[:5] + 0.02 * j)[None]
    weights = (base + 0.001 * i + 0.0001 * j for base in (0.05, 0.04, 0.03, 0.02))
    expected = [0.006773, 0.006800, 0.006828, 0.006855, 0.006883, 0.006910, 0.006938, 0.006965]
    np.testing.assert_allclose(attn.multi_head(x, *weights, 2)[0, 0], expected, atol=5e-7)


def test_bad_projections(rng):
    x, w_q, w_k, w_v, w_o = projections(rng, np.float32)
    with pytest.raises(ValueError, match="64 columns of q to be a multiple of its 5 heads"):
        attn.multi_head(x, w_q, w_k, w_v, w_o, 5, 2)
    with pytest.raises(ValueError, match="w_o to have 48 rows"):
        attn.multi_head(x, w_q, w_k, w_v, w_o[1:], 4, 2)
    with pytest.raises(ValueError, match="w_q to have the 24 rows that x has columns"):
        attn.multi_head(x, w_q[1:], w_k, w_v, w_o, 4, 2)
    with pytest.raises(TypeError, match="w_k to have the type of q, float32, found float64"):
        attn.multi_head(x, w_q, w_k.astype(np.float64), w_v, w_o, 4, 2)


@parametrize_dtype
def test_merge_of_two_halves_is_the_whole(dtype):
    q, k, v = draw(Shape(33, 65, 16, 12, b=2, hq=4, hkv=2), dtype)
    mask = np.arange(33).reshape(1, 1, 33, 1) > 4  # rows that the second half leaves empty
    first = attn.sdpa(q, k[:, :, :40].copy(), v[:, :, :40].copy(), return_lse=True)
    second = attn.sdpa(q, k[:, :, 40:].copy(), v[:, :, 40:].copy(), mask=mask, return_lse=True)
    out, lse = attn.merge(*first, *second)
    whole = mask | (np.arange(65) < 40)
    expected = reference.sdpa(q, k, v, mask=whole, return_lse=True)
    assert out.dtype == dtype
    assert_close(out, expected[0], dtype)
    assert_lse(lse, expected[1])


@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.bfloat16])
@pytest.mark.parametrize("has_terms", [False, True])
def test_merge_of_many_rows(dtype, has_terms):
    """As many as are merged block by block."""
    shape = Shape(257, 96, 24, 80, b=2, hq=4, hkv=2)
    q, k, v = draw(shape, dtype)
    wanted = {"return_lse": True} if not has_terms else {"return_max": True, "return_log_sum": True}

    def part(keys, **options):
        out, *terms = attn.sdpa(q, k[:, :, keys].copy(), v[:, :, keys].copy(), **wanted, **options)
        return out, tuple(terms) if has_terms else terms[0]

    mask = np.arange(shape.sq).reshape(1, 1, -1, 1) > 130  # rows that the second part leaves empty
    out, lse = attn.merge(*part(slice(40)), *part(slice(40, None), mask=mask))
    expected = reference.sdpa(q, k, v, mask=mask | (np.arange(shape.sk) < 40), return_lse=True)
    assert out.dtype == dtype
    if np.dtype(dtype) in TOLERANCE:
        assert_close(out, expected[0], dtype)
    else:  # rounded in both parts, and once more
        assert_within(2.0**-7 * np.abs(expected[0]).max(), out, expected[0])
    assert_lse(lse[0] + lse[1] if has_terms else lse, expected[1])


def test_merge_of_empty_rows_is_empty():
    out, lse = np.zeros((1, 1, 3, 4), np.float32), np.full((1, 1, 3), -np.inf, np.float32)
    found = attn.merge(out, lse, out, lse)
    assert (found[0] == 0).all()
    assert (found[1] == -np.inf).all()


def test_bad_merges():
    out, lse = np.zeros((1, 1, 3, 4), np.float32), np.zeros((1, 1, 3), np.float32)
    with pytest.raises(ValueError, match=r"out2 of shape \(1, 1, 3, 4\) beside out1"):
        attn.merge(out, lse, out[:, :, :2], lse)
    with pytest.raises(TypeError, match="lse1 and lse2 in float32, found float64"):
        attn.merge(out, lse.astype(np.float64), out, lse)
