"""Queries and results of 8 bits: what q_scale, out_dtype and out_scale mean, beside NumPy in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import attn
from test_append_types import E4M3, E5M2, quantised
from test_score_order import attention


def inputs(sq: int, sk: int, d: int = 64) -> tuple[Any, ...]:
    """q, k, v of 4 heads and 2 key heads, with values that go into 8 bits."""
    rng = np.random.default_rng(1)
    return tuple(rng.normal(size=(1, h, s, d)).astype("f4") for h, s in ((4, sq), (2, sk), (2, sk)))


@pytest.mark.parametrize("scale", [None, 0.5, "one", "head"])
@pytest.mark.parametrize("out_dtype", [None, "float32", "bfloat16", "float16", E4M3])
@pytest.mark.parametrize("of_q", [E4M3, E5M2], ids=str)
def test_queries(of_q: np.dtype[Any], out_dtype: Any, scale: Any) -> None:
    """q_scale · q is the query, in decode and in prefill."""
    given = {"one": np.array([0.3], "f4"), "head": np.array([0.3, 1, 2, 0.7], "f4")}.get(str(scale), scale)
    factor = np.broadcast_to(np.asarray(1.0 if given is None else given), 4)[:, None, None]
    kinds = {"bfloat16": ml_dtypes.bfloat16, None: ml_dtypes.bfloat16, "float16": np.float16}
    wide = kinds.get(out_dtype if isinstance(out_dtype, str) else None, np.float32)
    wide = np.float32 if out_dtype == E4M3 else wide
    chosen = kinds.get(out_dtype, out_dtype) if out_dtype in ("bfloat16", "float16") else out_dtype
    for sq in (1, 9):
        q, k, v = inputs(sq, 33)
        q, k, v = q.astype(of_q), k.astype(wide), v.astype(wide)
        out, lse = attn.sdpa(q, k, v, q_scale=given, out_dtype=chosen, return_lse=True)
        wanted, wanted_lse = attention(
            q[0].astype("f8") * factor, k[0], v[0], cap=None, mod=False, is_first=False, causal=False
        )
        assert out.dtype == (E4M3 if out_dtype == E4M3 else wide)
        bound = 2.0**-4 if out_dtype == E4M3 else 1e-5 if wide is np.float32 else 1e-2
        assert np.abs(out[0].astype("f8") - wanted).max() < bound * np.abs(wanted).max()
        assert np.abs(lse[0] - wanted_lse).max() < (1e-5 if wide is np.float32 else 5e-2)


@pytest.mark.parametrize("scale", [None, 0.01, "one"])
@pytest.mark.parametrize("out_dtype", [E4M3, E5M2], ids=str)
def test_results(out_dtype: np.dtype[Any], scale: Any) -> None:
    """out is the kernel's over out_scale, rounded and limited as an append does."""
    q, k, v = inputs(9, 33)
    v[0, 1] *= 1e6  # beyond the type
    given = np.array([0.25], "f4") if scale == "one" else scale
    plain = attn.sdpa(q, k, v)
    out = attn.sdpa(q, k, v, out_dtype=out_dtype, out_scale=given)
    assert out.dtype == out_dtype
    np.testing.assert_array_equal(out.astype("f8"), quantised(plain, 1.0 if given is None else given, out_dtype))


def test_packed_pages_and_layouts() -> None:
    """The heads of q are where a layout has them."""
    rng = np.random.default_rng(2)
    scale = np.array([0.5, 2.0], "f4")
    q = rng.normal(size=(5, 2, 16)).astype(E4M3)
    k, v = (rng.normal(size=(5, 2, 16)).astype("f4") for _ in "kv")
    sums = np.array([0, 5], "i4")
    wide = q.astype("f4") * scale[:, None]
    wanted = attn.varlen_sdpa(wide, k, v, sums, sums)
    how = {"q_scale": scale, "out_dtype": np.float32}
    np.testing.assert_array_equal(attn.varlen_sdpa(q, k, v, sums, sums, **how), wanted)
    found = attn.paged_sdpa(q, k[None], v[None], [[0]], [5], cu_seqlens_q=sums, **how)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    found = attn.sdpa(q[None], k[None], v[None], layout="bshd", **how)
    np.testing.assert_allclose(found[0], wanted, atol=1e-6)


@pytest.mark.parametrize("out_dtype", [None, np.float32, E5M2])
def test_all_of_8_bits(out_dtype: Any) -> None:
    """Queries, caches and results, as an engine has them: those of the widened call."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.normal(size=x).astype(E4M3) for x in ((3, 4, 64), (4, 8, 2, 64), (4, 8, 2, 64)))
    step = (k, v, np.array([[2, 0], [1, 3]]), np.array([13, 5], "i4"))
    how = {"cu_seqlens_q": np.array([0, 2, 3], "i4"), "causal": "bottom_right"}
    how |= {"k_scale": np.array([0.5, 0.25], "f4"), "v_scale": np.array([2, 1], "f4")}
    found = attn.paged_sdpa(
        q, *step, q_scale=0.5, out_scale=0.25 if out_dtype == E5M2 else None, out_dtype=out_dtype, **how
    )
    wide = (q.astype("f4") / 2).astype(ml_dtypes.bfloat16 if out_dtype is None else "f4")
    wanted = attn.paged_sdpa(wide, *step, **how)
    if out_dtype == E5M2:
        wanted = quantised(wanted, 0.25, E5M2)
    np.testing.assert_array_equal(found.astype("f8"), wanted.astype("f8"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"q_scale": 1.0}, "q_scale only beside q of float8_e4m3fn or float8_e5m2"),
        ({"out_scale": 1.0}, "out_scale only beside out_dtype of"),
        ({"out_scale": np.ones(2, "f4"), "out_dtype": E4M3}, "out_scale of one element"),
        ({"out_scale": "1", "out_dtype": E4M3}, "out_scale to be a number"),
    ],
)
def test_refused(words: dict[str, Any], message: str) -> None:
    """Scales beside other types."""
    q = np.ones((1, 2, 4, 8), "f4")
    with pytest.raises((TypeError, ValueError), match=message):
        attn.sdpa(q, q, q, **words)
    with pytest.raises((TypeError, ValueError), match=r"q_scale of one element or of shape \(2,\)"):
        attn.sdpa(q.astype(E4M3), q, q, q_scale=np.ones(3, "f4"), out_dtype=np.float32)
