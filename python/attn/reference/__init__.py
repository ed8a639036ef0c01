"""Attention as docs/Semantics.md says it, in NumPy and float64: the executable specification, the oracle of all tests.

It is written to be read, not to be fast: the score matrix is materialised. Where it differs from that page, it is
wrong.
`sdpa` is the whole forward; `scores … apply` (from `_chain`) are its steps; `init_state, online_step,
merge_states, finalize` are the same mathematics over ranges of keys. `sdpa_backward` has the gradients,
`apply_backward … scores_backward` (from `_chain_backward`) those of the steps. `varlen_sdpa` and its backward are
the same over packed sequences. `linear_attention` and its backward are the recurrence of the gated delta rule and its
family. Below: attention on paged caches, and with projections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _pages
from attn.reference._backward import of_shape, sdpa_backward
from attn.reference._chain import apply, dropout, mask, scale, scores, softcap, softmax
from attn.reference._chain_backward import (
    apply_backward,
    mask_backward,
    scale_backward,
    scores_backward,
    softcap_backward,
    softmax_backward,
)
from attn.reference._forward import predicate, sdpa
from attn.reference._linear import linear_attention
from attn.reference._linear_backward import linear_attention_backward
from attn.reference._online import State, finalize, init_state, merge_states, online_step
from attn.reference._packed import packed_queries, varlen_sdpa, varlen_sdpa_backward
from attn.reference._philox import random_bits
from attn.words._types import Integers

__all__ = [
    "State",
    "apply",
    "apply_backward",
    "dropout",
    "finalize",
    "gather_pages",
    "init_state",
    "kv_append",
    "linear_attention",
    "linear_attention_backward",
    "mask",
    "mask_backward",
    "merge",
    "merge_states",
    "multi_head",
    "multi_head_backward",
    "online_step",
    "paged_sdpa",
    "predicate",
    "random_bits",
    "scale",
    "scale_backward",
    "scores",
    "scores_backward",
    "sdpa",
    "sdpa_backward",
    "softcap",
    "softcap_backward",
    "softmax",
    "softmax_backward",
    "varlen_sdpa",
    "varlen_sdpa_backward",
]

Array = npt.NDArray[Any]


def gather_pages(
    cache: npt.ArrayLike,
    block_table: npt.ArrayLike,
    lengths: Integers,
    page_layout: str = "nhd",
) -> Array:
    """The rows of a paged cache in a dense array (B, Hkv, max_pages·page, D), zero past each length.

    Args:
      cache: [pages, page, Hkv, D] for page_layout "nhd", [pages, Hkv, page, D] for "hnd"; or without
        D, a number a row.
      block_table: [B, max_pages], where each page of each sequence lies; entries past the length are not read.
      lengths: [B].
      page_layout: "nhd" or "hnd".
    """
    cache = np.asarray(cache)
    cache = cache if _pages.page_layout(page_layout) == "nhd" else cache.swapaxes(1, 2)
    pages, page = cache.shape[:2]
    lengths = np.asarray(lengths)
    table = _pages.block_table(block_table, lengths, page, pages)
    dense = np.zeros((table.shape[0], cache.shape[2], table.shape[1] * page, *cache.shape[3:]), dtype=cache.dtype)
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
    cu_seqlens_q: npt.ArrayLike | None = None,
    page_layout: str = "nhd",
    **options: Any,
) -> Array | tuple[Array, ...]:
    """Attention on a paged cache: `gather_pages` of keys and values, then `sdpa` with `kv_lengths` and the options.

    With cu_seqlens_q [B + 1] q is (total_q, Hq, D), and the results are those of `varlen_sdpa`. k_scale, v_scale and
    key_sums are as in `attn.paged_sdpa`.
    """
    k, v = (gather_pages(x, block_table, kv_lengths, page_layout) for x in (k_cache, v_cache))
    for name, cache in (("k_scale", k_cache), ("v_scale", v_cache)):
        scale, shape = options.get(name), np.shape(cache)[:3]
        if np.ndim(scale) == 2:  # one a page
            of_page = np.asarray(scale)[:, None] if page_layout == "nhd" else np.asarray(scale)[:, :, None]
            scale = np.broadcast_to(of_page, shape)
        if np.shape(scale) == shape:
            options[name] = gather_pages(scale, block_table, kv_lengths, page_layout)
    if cu_seqlens_q is not None:
        results = packed_queries(q, k, v, cu_seqlens_q, kv_lengths, **options)
    else:
        results = sdpa(q, k, v, kv_lengths=kv_lengths, **options)
    if not options.get("return_key_sums"):
        return results
    page = shape[1 if page_layout == "nhd" else 2]
    return (*results[:-1], results[-1].reshape(*results[-1].shape[:2], np.shape(block_table)[1], page))


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
        where = _pages.positions(positions, cache.shape[0], count, cache.shape[2])
        for b, position in enumerate(where):
            cache[b, :, position : position + count] = new[b]
        return cache
    pages = cache if _pages.page_layout(page_layout or "nhd") == "nhd" else cache.swapaxes(1, 2)
    table, page = _pages.block_table_form(block_table, new.shape[0]), pages.shape[1]
    where = _pages.positions(positions, new.shape[0], count, table.shape[1] * page)
    table = _pages.block_table(table, where + count, page, pages.shape[0], first=where)
    for b, position in enumerate(where):
        for n in range(count):
            place = position + n
            pages[table[b, place // page], place % page] = new[b, :, n]
    return cache


def merge(out1: Array, lse1: Any, out2: Array, lse2: Any) -> tuple[Array, Any]:
    """The attention over the keys of two calls, from the out (B, H, Sq, Dv) and lse (B, H, Sq) of both.

    Each lse is an array or the pair (max, log_sum); that of the result is a pair where one of them is.
    """
    is_pair = isinstance(lse1, tuple) or isinstance(lse2, tuple)
    states = []
    for out, lse in ((out1, lse1), (out2, lse2)):
        row_max, log_sum = lse if isinstance(lse, tuple) else (lse, np.zeros(np.shape(lse)))
        row_sum = np.exp(np.asarray(log_sum, np.float64))
        states.append(State(np.asarray(out, np.float64) * row_sum[..., None], np.asarray(row_max, np.float64), row_sum))
    merged = merge_states(*states)
    out, lse = finalize(merged)
    with np.errstate(divide="ignore"):
        return (out, (merged.row_max, np.log(merged.row_sum))) if is_pair else (out, lse)


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
    q, k, v, pair = _project(x, w_q, w_k, w_v, heads, kv_heads)
    out: Array = sdpa(q, k, v, layout="bsd", heads=pair, **options) @ w_o
    return out


def multi_head_backward(
    x: npt.ArrayLike,
    w_q: npt.ArrayLike,
    w_k: npt.ArrayLike,
    w_v: npt.ArrayLike,
    w_o: npt.ArrayLike,
    heads: int,
    kv_heads: int | None = None,
    *,
    dout: npt.ArrayLike,
    grad: Sequence[str] = ("x", "w_q", "w_k", "w_v", "w_o"),
    **options: Any,
) -> dict[str, Array]:
    """The gradients of `multi_head`: with y = concat_h(sdpa_h), of L = Σ dout · (y W_O).

    Args:
      x, w_q, w_k, w_v, w_o, heads, kv_heads, options: as in `multi_head`.
      dout: (B, S, E'), the cotangent of the result.
      grad: whose gradients: the names of x and the projections, and those of `sdpa_backward` but q, k and v.

    Returns:
      The gradients by name, in the order of `grad`, float64, each of the shape of its input.

    Raises:
      ValueError: grad names what is no input or has no gradient, or as in `multi_head`.
    """
    grad = _checks.gradients(grad)
    x, w_q, w_k, w_v, w_o, dout = (np.asarray(y, dtype=np.float64) for y in (x, w_q, w_k, w_v, w_o, dout))
    q, k, v, pair = _project(x, w_q, w_k, w_v, heads, kv_heads)
    y = sdpa(q, k, v, layout="bsd", heads=pair, **options)
    for name in ("q", "k", "v"):
        if name in grad:
            raise ValueError(f"expected grad of inputs of multi_head, found {name!r}, a product; write 'w_{name}'")
    others = [name for name in grad if name not in ("x", "w_q", "w_k", "w_v", "w_o")]
    dy = of_shape("dout", dout, (*x.shape[:2], w_o.shape[1])) @ w_o.T
    d = sdpa_backward(q, k, v, y, None, dy, layout="bsd", heads=pair, grad=("q", "k", "v", *others), **options)
    # dX = dQ W_Qᵀ + dK W_Kᵀ + dV W_Vᵀ;  dW_Q = Xᵀ dQ and likewise;  dW_O = yᵀ dout
    d["x"] = d["q"] @ w_q.T + d["k"] @ w_k.T + d["v"] @ w_v.T
    d |= {f"w_{name}": np.tensordot(x, d[name], axes=((0, 1), (0, 1))) for name in ("q", "k", "v")}
    d["w_o"] = np.tensordot(y, dout, axes=((0, 1), (0, 1)))
    return {name: d[name] for name in grad}


def _project(x: Array, w_q: Any, w_k: Any, w_v: Any, heads: int, kv_heads: int | None) -> tuple[Any, ...]:
    """The rows of Q, K and V, and the numbers of heads."""
    if x.ndim != 3 or np.shape(w_q)[-1] % heads:
        raise ValueError(
            f"expected x of rank 3 and projections divisible by {heads} heads, found {x.shape}, {np.shape(w_q)}"
        )
    pair = (heads, heads if kv_heads is None else kv_heads)
    return (*(x @ np.asarray(w, dtype=np.float64) for w in (w_q, w_k, w_v)), pair)
