"""alibi_slopes, and softcap_first: what comes before what of a score, beside NumPy in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import attn

CAP = 2.0


def bias_of(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    """A score_mod whose place beside a softcap shows."""
    return s - 0.3 * j + 0.1 * h


def attention(
    q: Any, k: Any, v: Any, slopes: Any = None, *, cap: float | None, mod: bool, is_first: bool, causal: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """out and lse of one sequence (Hq, Sq, D), in float64."""
    q, k, v = (np.asarray(x, "f8") for x in (q, k, v))
    group = q.shape[0] // k.shape[0]
    s = q @ np.repeat(k, group, 0).swapaxes(1, 2) / math.sqrt(q.shape[2])
    h, i, j = np.ogrid[: q.shape[0], : q.shape[1], : k.shape[1]]
    off = k.shape[1] - q.shape[1]
    capped = (lambda x: x) if cap is None else (lambda x: cap * np.tanh(x / cap))
    changed = (lambda x: bias_of(x, 0, h, i, j)) if mod else (lambda x: x)
    s = changed(capped(s)) if is_first else capped(changed(s))
    if slopes is not None:
        s = s - np.asarray(slopes, "f8")[:, None, None] * np.abs(i + off - j)
    s = np.where(j <= i + off, s, -np.inf) if causal else s + 0 * j
    if k.shape[1] == 0:
        return np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[:2], -np.inf)
    m = s.max(2, keepdims=True, initial=-np.inf)
    w = np.where(m > -np.inf, np.exp(s - np.where(m > -np.inf, m, 0)), 0)
    total = w.sum(2, keepdims=True)
    out = w / np.where(total > 0, total, 1) @ np.repeat(v, group, 0)
    with np.errstate(divide="ignore"):
        return out, (m + np.log(total))[..., 0]


def close(found: Any, wanted: Any, bound: float = 2e-5) -> None:
    """Within the bound; −inf is −inf."""
    found = np.asarray(found, "f8")
    assert found.shape == np.shape(wanted)
    largest = np.abs(np.nan_to_num(wanted, neginf=0)).max(initial=1.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound * largest)


def slopes_of(rng: Any, form: str, heads: int, batch: int) -> tuple[Any, Any]:
    """Slopes as a call takes them, and those of each sequence."""
    if form == "none":
        return None, [None] * batch
    given = rng.uniform(0.05, 0.5, heads if form == "head" else (batch, heads)).astype("f4")
    return given, list(np.broadcast_to(given, (batch, heads)))


ORDERS = [*itertools.product(("none", "head", "batch"), (None, CAP), (False, True), (False, True))]


@pytest.mark.parametrize(("sq", "sk", "d"), [(1, 37, 64), (23, 23, 59), (11, 40, 16)])
@pytest.mark.parametrize(("form", "cap", "mod", "is_first"), ORDERS)
def test_dense(sq: int, sk: int, d: int, form: str, cap: float | None, mod: bool, is_first: bool) -> None:
    """Each order, decode and prefill, with groups."""
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(2, h, s, d)).astype("f4") for h, s in ((4, sq), (2, sk), (2, sk)))
    given, of_each = slopes_of(rng, form, 4, 2)
    words = {"softcap": cap, "score_mod": bias_of if mod else None, "alibi_slopes": given, "softcap_first": is_first}
    out, lse = attn.sdpa(q, k, v, causal="bottom_right", return_lse=True, **words)
    for b in range(2):
        wanted = attention(q[b], k[b], v[b], of_each[b], cap=cap, mod=mod, is_first=is_first)
        close(out[b], wanted[0])
        close(lse[b], wanted[1])


@pytest.mark.parametrize("layout", ["bhsd", "bshd", "bsd"])
@pytest.mark.parametrize("form", ["head", "batch"])
def test_lengths_and_layouts(layout: str, form: str) -> None:
    """Distances are of effective lengths, a length 0 among them; without causal keys behind the diagonal count too."""
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=(3, h, s, 16)).astype("f4") for h, s in ((4, 9), (2, 31), (2, 31)))
    given, of_each = slopes_of(rng, form, 4, 3)
    rows, keys = [9, 4, 0], [31, 7, 0]
    placed = [x if layout == "bhsd" else x.swapaxes(1, 2) for x in (q, k, v)]
    placed = [x.reshape(*x.shape[:2], -1) if layout == "bsd" else x for x in placed]
    options = {"layout": layout, "heads": (4, 2) if layout == "bsd" else None}
    out = attn.sdpa(*placed, q_lengths=rows, kv_lengths=keys, alibi_slopes=given, **options)
    out = out.reshape(3, 9, 4, 16).swapaxes(1, 2) if layout != "bhsd" else out
    for b, (n, m) in enumerate(zip(rows, keys, strict=True)):
        wanted = attention(
            q[b, :, :n], k[b, :, :m], v[b, :, :m], of_each[b], cap=None, mod=False, is_first=False, causal=False
        )
        close(out[b, :, :n], wanted[0])
        assert not out[b, :, n:].any()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("form", "cap", "mod", "is_first"), [x for x in ORDERS if x[0] != "none"])
def test_packed_and_paged(form: str, cap: float | None, mod: bool, is_first: bool, dynamic: bool) -> None:
    """Packed sequences, and packed queries on pages, empty ones among them."""
    rng = np.random.default_rng(3)
    rows, keys, page, d = [5, 1, 0, 3], [9, 37, 4, 3], 8, 59
    given, of_each = slopes_of(rng, form, 4, 4)
    words = {"softcap": cap, "score_mod": bias_of if mod else None, "alibi_slopes": given, "softcap_first": is_first}
    sums, key_sums = (np.cumsum([0, *x]).astype("i4") for x in (rows, keys))
    q, k, v = (
        rng.normal(size=(n, h, d)).astype("f4") for n, h in ((sums[-1], 4), (key_sums[-1], 2), (key_sums[-1], 2))
    )
    cache = np.full((2, 24, page, 2, d), np.nan, "f4")
    table = rng.permutation(20).reshape(4, 5).astype("i4")
    for b, first in enumerate(key_sums[:-1]):
        for j in range(keys[b]):
            cache[:, table[b, j // page], j % page] = k[first + j], v[first + j]
    how = {"causal": "bottom_right", "dynamic": dynamic, "return_lse": True, **words}
    packed = attn.varlen_sdpa(q, k, v, sums, key_sums, **how)
    paged = attn.paged_sdpa(q, *cache, table, np.array(keys, "i4"), cu_seqlens_q=sums, **how)
    for b in range(4):
        at, of = slice(*sums[b : b + 2]), slice(*key_sums[b : b + 2])
        sides = [x[y].swapaxes(0, 1) for x, y in ((q, at), (k, of), (v, of))]
        wanted = attention(*sides, of_each[b], cap=cap, mod=mod, is_first=is_first)
        for out, lse in (packed, paged):
            close(out[at].swapaxes(0, 1), wanted[0])
            close(lse[:, at], wanted[1])


@pytest.mark.parametrize("mod", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_gradients(mod: bool, is_first: bool) -> None:
    """Of all inputs, the slopes among them, by differences of a float64 kernel's forward."""
    rng = np.random.default_rng(4)
    arrays = {x: rng.normal(size=(1, h, s, 8)) for x, h, s in (("q", 2, 3), ("k", 1, 5), ("v", 1, 5))}
    arrays["alibi_slopes"] = rng.uniform(0.1, 0.5, 2)
    words = {"softcap": 0.7, "softcap_first": is_first, "score_mod": bias_of if mod else None}
    dout = rng.normal(size=(1, 2, 3, 8))

    def loss(given: dict[str, Any]) -> float:
        slopes = given["alibi_slopes"]
        s = {x: y[0] for x, y in given.items() if x != "alibi_slopes"}
        out, _ = attention(s["q"], s["k"], s["v"], slopes, cap=0.7, mod=mod, is_first=is_first, causal=False)
        return float((out * dout[0]).sum())

    _, pullback = attn.vjp(
        *(arrays[x] for x in "qkv"), grad=("q", "k", "v", "alibi_slopes"), alibi_slopes=arrays["alibi_slopes"], **words
    )
    found = pullback(dout)
    for name, x in arrays.items():
        wanted = np.empty(x.shape)
        for at in np.ndindex(x.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = {y: z.copy() for y, z in arrays.items()}
                moved[name][at] += step
                sides.append(loss(moved))
            wanted[at] = (sides[0] - sides[1]) / 2e-5
        close(found[name], wanted, 1e-7)


def test_types_and_memory() -> None:
    """Slopes of another type, beside bf16 and a window; nothing is traced for ALiBi alone but once."""
    from ml_dtypes import bfloat16

    rng = np.random.default_rng(5)
    q, k, v = (rng.normal(size=(1, 2, s, 16)).astype(bfloat16) for s in (6, 20, 20))
    slopes = np.array([0.25, 0.5])
    out = attn.sdpa(q, k, v, causal="bottom_right", window=(4, 0), alibi_slopes=slopes)
    kept = attn.reference.sdpa(
        q, k, v, causal="bottom_right", window=(4, 0), score_mod=lambda s, b, h, i, j: s - slopes[h] * (i + 14 - j)
    )
    close(out, kept, 2e-2)
    before = attn.call._scores._alibi.cache_info().misses
    for n in (1, 2, 3):
        q32 = np.ones((2 * n, 2, 16), "f4")
        sums = 2 * np.arange(n + 1, dtype="i4")
        attn.varlen_sdpa(q32, q32, q32, sums, sums, alibi_slopes=slopes)
    assert attn.call._scores._alibi.cache_info().misses <= before + 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"alibi_slopes": np.ones(3, "f4")}, r"alibi_slopes of shape \(2,\), one a query head, or \(1, 2\)"),
        ({"alibi_slopes": np.ones(2, "i4")}, "alibi_slopes to hold floats"),
        ({"alibi_slopes": np.ones(2, "f4"), "q_origin": 3}, "no q_origin beside alibi_slopes"),
        ({"alibi_slopes": np.ones(2, "f4"), "softcap": -1.0}, "softcap > 0"),
        ({"softcap_first": 1, "softcap": 1.0}, "softcap_first"),
    ],
)
def test_refused(words: dict[str, Any], message: str) -> None:
    """What the words may not be."""
    q = np.ones((1, 2, 4, 8), "f4")
    with pytest.raises((TypeError, ValueError), match=message):
        attn.sdpa(q, q, q, score_mod=bias_of if "softcap_first" in words else None, **words)


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("form", ["none", "head"])
def test_softcap_of_0_is_none(form, is_first):
    """As where softcap stands alone."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, 2, 5, 16)).astype("f4") for _ in range(3))
    slopes, (of_heads,) = slopes_of(rng, form, 2, 1)
    words = {"score_mod": bias_of, "causal": "bottom_right", "alibi_slopes": slopes, "softcap_first": is_first}
    expected, _ = attention(q[0], k[0], v[0], of_heads, cap=None, mod=True, is_first=is_first)
    close(attn.sdpa(q, k, v, softcap=0.0, **words)[0], expected)


@pytest.mark.parametrize("form", ["none", "head", "batch"])
@pytest.mark.parametrize(("cap", "mod", "is_first"), list(itertools.product([None, CAP], [False, True], [False, True])))
def test_the_reference_has_the_same_order(form: str, cap: float | None, mod: bool, is_first: bool) -> None:
    """Dense, in layout bshd, packed, and from pages."""
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((2, heads, n, 16)) for heads, n in ((4, 7), (2, 11), (2, 11)))
    given, of_each = slopes_of(rng, form, 4, 2)
    options: dict[str, Any] = dict(softcap=cap, softcap_first=is_first, causal="bottom_right", return_lse=True)
    options |= dict(score_mod=bias_of if mod else None, alibi_slopes=given)
    wanted = [
        attention(*x, slopes, cap=cap, mod=mod, is_first=is_first) for *x, slopes in zip(q, k, v, of_each, strict=True)
    ]
    out, lse = (np.stack(x) for x in zip(*wanted, strict=True))
    for x, y in zip(attn.reference.sdpa(q, k, v, **options), (out, lse), strict=True):
        close(x, y, 1e-12)
    rows = [x.swapaxes(1, 2) for x in (q, k, v)]
    close(attn.reference.sdpa(*rows, layout="bshd", **options)[0].swapaxes(1, 2), out, 1e-12)
    packed, sums = [x.reshape(-1, *x.shape[2:]) for x in rows], ([0, 7, 14], [0, 11, 22])
    close(attn.reference.varlen_sdpa(*packed, *sums, **options)[0], out.swapaxes(1, 2).reshape(14, 4, 16), 1e-12)
    pages = [np.pad(x, [(0, 0), (0, 1), (0, 0), (0, 0)]).reshape(6, 4, 2, 16) for x in rows[1:]]
    table, lengths = np.arange(6).reshape(2, 3), np.array([11, 11])
    found = attn.reference.paged_sdpa(packed[0], *pages, table, lengths, cu_seqlens_q=sums[0], **options)
    close(found[0], out.swapaxes(1, 2).reshape(14, 4, 16), 1e-12)
