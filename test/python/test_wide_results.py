"""out_dtype=float32 beside 16-bit q: partial results, whose sum is as exact as that of one call."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference

NARROW = (ml_dtypes.bfloat16, np.float16)
ROUNDING = {ml_dtypes.bfloat16: 2.0**-8, np.float16: 2.0**-11}
BLOCKS = 4


def draw(dtype, *shapes):
    rng = np.random.default_rng(7)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def exact(arrays, **options):
    return reference.sdpa(*(np.asarray(x, np.float64) for x in arrays), **options)


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(("queries", "keys", "d"), [(113, 203, 59), (1, 777, 64), (33, 0, 64), (0, 9, 64)])
def test_is_not_rounded(dtype, queries, keys, d):
    q, k, v = draw(dtype, (2, 4, queries, d), (2, 2, keys, d), (2, 2, keys, d))
    out, lse = attn.sdpa(q, k, v, causal="bottom_right", out_dtype=np.float32, return_lse=True)
    expected = exact((q, k, v), causal="bottom_right")
    assert out.dtype == lse.dtype == np.float32
    # Of the weights alone, whose largest is 1.
    scale = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(out, expected, rtol=0, atol=2 * ROUNDING[dtype] * scale)
    narrow = attn.sdpa(q, k, v, causal="bottom_right")
    np.testing.assert_array_equal(out.astype(dtype), narrow)  # the same numbers, rounded at the end


@pytest.mark.parametrize("dtype", NARROW)
def test_blocks_are_as_exact_as_the_whole(dtype):
    q, k, v = draw(dtype, (1, 4, 128, 64), (1, 4, 1024, 64), (1, 4, 1024, 64))
    expected = exact((q, k, v))
    whole = attn.sdpa(q, k, v).astype(np.float64)
    parts = [
        attn.sdpa(q, *(x[:, :, i::BLOCKS] for x in (k, v)), out_dtype="float32", return_lse=True) for i in range(BLOCKS)
    ]
    out, lse = parts[0]
    for other in parts[1:]:
        out, lse = attn.merge(out, lse, *other)
    merged = out.astype(dtype).astype(np.float64)
    assert rms(merged - expected) <= 1.02 * rms(whole - expected)


@pytest.mark.parametrize("dtype", NARROW)
def test_gradients_add_up(dtype):
    q, k, v = draw(dtype, (1, 4, 64, 64), (1, 2, 512, 64), (1, 2, 512, 64))
    (dout,) = draw(np.float32, (1, 4, 64, 64))
    expected = reference.sdpa_backward(
        *(np.asarray(x, np.float64) for x in (q, k, v)), *_saved(q, k, v), dout.astype(np.float64)
    )
    out, row_max, log_sum = attn.sdpa(q, k, v, out_dtype=np.float32, return_max=True, return_log_sum=True)
    dq = np.zeros(q.shape, np.float32)
    for i in range(BLOCKS):
        keys = (x[:, :, i::BLOCKS] for x in (k, v))
        part = attn.sdpa_backward(q, *keys, out, (row_max, log_sum), dout, out_dtype=np.float32)
        assert {x.dtype for x in part.values()} == {np.dtype(np.float32)}
        dq += part["q"]
        for name in "kv":
            whole = expected[name][:, :, i::BLOCKS]
            atol = 2 * ROUNDING[dtype] * np.abs(whole).max()
            np.testing.assert_allclose(part[name], whole, rtol=0, atol=atol)
    np.testing.assert_allclose(dq, expected["q"], rtol=0, atol=2 * ROUNDING[dtype] * np.abs(expected["q"]).max())


def _saved(q, k, v):
    return reference.sdpa(*(np.asarray(x, np.float64) for x in (q, k, v)), return_lse=True)


def test_packed_and_paged():
    q, k, v = draw(ml_dtypes.bfloat16, (60, 4, 64), (60, 2, 64), (60, 2, 64))
    starts = np.array([0, 17, 60], np.int32)
    packed = attn.varlen_sdpa(q, k, v, starts, starts, causal="top_left", out_dtype=np.float32)
    table = np.array([[0, 1, 3], [2, 4, 5]], np.int32)
    caches = [np.full((6, 16, 2, 64), np.nan, q.dtype) for _ in "kv"]
    for cache, rows in zip(caches, (k, v), strict=True):
        for sequence, (begin, end) in enumerate(itertools.pairwise(starts)):
            for row in range(begin, end):
                page, place = divmod(row - begin, 16)
                cache[table[sequence, page], place] = rows[row]
    lengths = np.diff(starts).astype(np.int32)
    paged = attn.paged_sdpa(
        q, *caches, table, lengths, cu_seqlens_q=starts, causal="bottom_right", out_dtype=np.float32
    )
    for out in (packed, paged):
        assert out.dtype == np.float32
        for begin, end in itertools.pairwise(starts):
            one = [x[begin:end].swapaxes(0, 1)[None] for x in (q, k, v)]
            expected = exact(one, causal="top_left")[0].swapaxes(0, 1)
            np.testing.assert_allclose(out[begin:end], expected, rtol=0, atol=2**-7 * np.abs(expected).max())


def test_types():
    (q,) = draw(ml_dtypes.bfloat16, (1, 1, 8, 16))
    assert attn.sdpa(q, q, q, out_dtype=ml_dtypes.bfloat16).dtype == q.dtype
    wide = q.astype(np.float32)
    assert attn.sdpa(wide, wide, wide, out_dtype=np.float32).dtype == np.float32
    for x, other, message in (
        (q, np.float64, "out_dtype to be bfloat16, the type of q, or float32, found float64"),
        (wide, np.float16, "out_dtype to be float32, the type of q, found float16"),
        (q, "wide", "out_dtype to be bfloat16, the type of q, or float32, found 'wide'"),
    ):
        with pytest.raises(TypeError, match=message):
            attn.sdpa(x, x, x, out_dtype=other)
    with pytest.raises(attn.CompileError, match="no result=f32 with weights"):
        attn.sdpa(q, q, q, out_dtype=np.float32, return_weights=True)
