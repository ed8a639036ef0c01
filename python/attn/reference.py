"""Attention as docs/Semantics.md says it, in NumPy and float64: the executable specification, the oracle of all tests.

It is written to be read, not to be fast: the score matrix is materialised. Where it differs from that page, it is
wrong.
`sdpa` is the whole forward; `scores … apply` (from `attn._chain`) are its steps; `init_state, online_step,
merge_states, finalize` are the same mathematics over ranges of keys; `sdpa_backward` has the gradients. Below: the same
attention over packed sequences, paged caches and projections.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attn import _capture, _checks
from attn._backward import sdpa_backward
from attn._chain import apply, dropout, mask, scale, scores, softcap, softmax
from attn._forward import predicate, sdpa
from attn._online import State, finalize, init_state, merge_states, online_step
from attn._philox import random_bits
from attn._types import Integers

__all__ = [
    "State",
    "apply",
    "dropout",
    "finalize",
    "gather_pages",
    "init_state",
    "kv_append",
    "mask",
    "merge",
    "merge_states",
    "multi_head",
    "online_step",
    "paged_sdpa",
    "predicate",
    "random_bits",
    "scale",
    "scores",
    "sdpa",
    "sdpa_backward",
    "softcap",
    "softmax",
    "varlen_sdpa",
]

Array = npt.NDArray[Any]


def varlen_sdpa(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    cu_seqlens_q: npt.ArrayLike,
    cu_seqlens_k: npt.ArrayLike,
    *,
    return_lse: bool = False,
    **options: Any,
) -> Array | tuple[Array, ...]:
    """Attention over packed sequences: each by itself, as `sdpa` computes it.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv).
      cu_seqlens_q, cu_seqlens_k: [B + 1], exclusive prefix sums of the lengths.
      return_lse: return lse (Hq, total_q) too.
      options: scale, causal, window, align, softcap, sink, score_mod, mask_mod as in `sdpa`; offsets are [B], and
        positions count from the start of a sequence.

    Returns:
      out (total_q, Hq, Dv), or (out, lse); float64.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    rows = _checks.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0])
    keys = _checks.cu_seqlens("cu_seqlens_k", cu_seqlens_k, k.shape[0])
    out, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[1::-1], -np.inf)
    given = [name for name in ("score_mod", "mask_mod") if options.get(name) is not None]
    mods = {name: _capture.rebind(options.pop(name)) for name in given}
    for b in range(rows.size - 1):
        at, of = slice(rows[b], rows[b + 1]), slice(keys[b], keys[b + 1])
        mine = {x: options[x][b : b + 1] if _is_offsets(options[x]) else options[x] for x in options}
        if "score_mod" in mods:
            mine["score_mod"] = lambda s, x, h, i, j, b=b: mods["score_mod"](s, np.full_like(x, b), h, i, j)
        if "mask_mod" in mods:
            mine["mask_mod"] = lambda x, h, i, j, b=b: mods["mask_mod"](np.full_like(x, b), h, i, j)
        sequence = (q[None, at], k[None, of], v[None, of])
        part, part_lse = sdpa(*sequence, layout="bshd", return_lse=True, **mine)
        out[at], lse[:, at] = part[0], part_lse[0]
    return (out, lse) if return_lse else out


def _is_offsets(value: Any) -> bool:
    return isinstance(value, np.ndarray | list) and np.asarray(value).dtype.kind in "iu"


def gather_pages(
    cache: npt.ArrayLike,
    block_table: npt.ArrayLike,
    lengths: Integers,
    page_layout: str = "nhd",
) -> Array:
    """The rows of a paged cache in a dense array (B, Hkv, max_pages·page, D), zero past each length.

    Args:
      cache: [pages, page, Hkv, D] for page_layout "nhd", [pages, Hkv, page, D] for "hnd".
      block_table: [B, max_pages], where each page of each sequence lies; entries past the length are not read.
      lengths: [B].
      page_layout: "nhd" or "hnd".
    """
    cache = np.asarray(cache)
    cache = cache if _checks.page_layout(page_layout) == "nhd" else cache.swapaxes(1, 2)
    pages, page = cache.shape[:2]
    lengths = np.asarray(lengths)
    table = _checks.block_table(block_table, lengths, page, pages)
    dense = np.zeros((table.shape[0], cache.shape[2], table.shape[1] * page, cache.shape[3]), dtype=cache.dtype)
    for b, length in enumerate(lengths):
        for j in range(length):
            dense[b, :, j] = cache[table[b, j // page], j % page]
    return dense


def paged_sdpa(
    q: npt.ArrayLike,
    k_cache: npt.ArrayLike,
    v_cache: npt.ArrayLike,
    block_table: npt.ArrayLike,
    kv_lengths: Integers,
    *,
    page_layout: str = "nhd",
    **options: Any,
) -> Array | tuple[Array, ...]:
    """Attention on a paged cache: `gather_pages` of keys and values, then `sdpa` with `kv_lengths` and the options."""
    k, v = (gather_pages(x, block_table, kv_lengths, page_layout) for x in (k_cache, v_cache))
    return sdpa(q, k, v, kv_lengths=kv_lengths, **options)


def kv_append(
    cache: npt.ArrayLike,
    new: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    block_table: npt.ArrayLike | None = None,
    page_layout: str | None = None,
) -> Array:
    """A copy of the cache with `new` (B, Hkv, N, D) at positions[b] … positions[b] + N − 1 of each sequence.

    The cache is (B, Hkv, S, D), or paged as in `gather_pages` where there is a block table.
    """
    cache, new = np.array(cache), np.asarray(new)
    count = new.shape[2]
    if block_table is None:
        where = _checks.positions(positions, cache.shape[0], count, cache.shape[2])
        for b, position in enumerate(where):
            cache[b, :, position : position + count] = new[b]
        return cache
    pages = cache if _checks.page_layout(page_layout or "nhd") == "nhd" else cache.swapaxes(1, 2)
    page, limit = pages.shape[1], np.shape(block_table)[1] * pages.shape[1]
    where = _checks.positions(positions, new.shape[0], count, limit)
    table = _checks.block_table(block_table, where + count, page, pages.shape[0], first=where)
    for b, position in enumerate(where):
        for n in range(count):
            place = position + n
            pages[table[b, place // page], place % page] = new[b, :, n]
    return cache


def merge(out1: Array, lse1: Array, out2: Array, lse2: Array) -> tuple[Array, Array]:
    """The attention over the keys of two calls, from the out (B, H, Sq, Dv) and lse (B, H, Sq) of both."""
    states = [
        State(np.asarray(out, np.float64), np.asarray(lse, np.float64), np.ones(np.shape(lse)))
        for out, lse in ((out1, lse1), (out2, lse2))
    ]
    return finalize(merge_states(*states))


def multi_head(
    x: npt.ArrayLike,
    w_q: npt.ArrayLike,
    w_k: npt.ArrayLike,
    w_v: npt.ArrayLike,
    w_o: npt.ArrayLike,
    heads: int,
    kv_heads: int | None = None,
    **options: Any,
) -> Array:
    """Multi-head self-attention (Vaswani et al., "Attention Is All You Need", 2017): concat_h(sdpa_h)·W_O.

    Args:
      x: (B, S, E); w_q: (E, heads·D); w_k: (E, kv_heads·D); w_v: (E, kv_heads·Dv); w_o: (heads·Dv, E'). Heads are
        contiguous ranges of columns.
      heads, kv_heads: how many heads; they divide the columns of the projections. kv_heads is heads if it is None.
      options: passed on to `sdpa`.

    Returns:
      (B, S, E').
    """
    x, w_o = np.asarray(x, dtype=np.float64), np.asarray(w_o, dtype=np.float64)
    pair = (heads, heads if kv_heads is None else kv_heads)
    if x.ndim != 3 or np.shape(w_q)[-1] % heads:
        raise ValueError(
            f"expected x of rank 3 and projections divisible by {heads} heads, found {x.shape}, {np.shape(w_q)}"
        )
    q, k, v = (x @ np.asarray(w, dtype=np.float64) for w in (w_q, w_k, w_v))
    out: Array = sdpa(q, k, v, layout="bsd", heads=pair, **options) @ w_o
    return out
