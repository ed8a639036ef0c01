"""Attention as SPEC §2 to §5 says it, in NumPy and float64: the executable specification and the oracle of every test.

It is written to be read, not to be fast: the score matrix is materialised. It may be ahead of the compiler. Where it
differs from SPEC, it is wrong. `sdpa` is the whole forward; `scores … apply` (from `attn._chain`) are its steps;
`init_state, online_step, merge_states, finalize` are the same mathematics over ranges of keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn import _chain, _checks
from attn._chain import apply, mask, scale, scores, softcap, softmax
from attn._philox import random_bits

__all__ = [
    "State",
    "apply",
    "finalize",
    "init_state",
    "mask",
    "merge_states",
    "multi_head",
    "online_step",
    "predicate",
    "random_bits",
    "scale",
    "scores",
    "sdpa",
    "softcap",
    "softmax",
]

Array = npt.NDArray[Any]


def sdpa(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    scale: float | None = None,
    causal: str | npt.ArrayLike | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    bias: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    sink: npt.ArrayLike | None = None,
    align: str | npt.ArrayLike | None = None,
    q_lengths: npt.ArrayLike | None = None,
    kv_lengths: npt.ArrayLike | None = None,
    score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    dropout: tuple[float, int, int] | None = None,
    layout: str = "bhsd",
    return_lse: bool = False,
    return_weights: bool = False,
) -> Any:
    """Scaled dot-product attention, the forward of SPEC §2 in its order, every step in float64.

    Args:
      q, k, v: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv); for layout "bshd" heads and length are exchanged.
      scale: factor on Q·Kᵀ; None for 1/√D.
      causal: "top_left", "bottom_right" or offsets [B]: keeps j ≤ i + off.
      window: (L, R), inclusive, None for unbounded: keeps i + off − L ≤ j ≤ i + off + R.
      softcap: c > 0 of c·tanh(s / c), before the bias.
      bias: added to the scores, rank 4, each size 1 or full; exactly −inf removes the key.
      mask: bool, true = attend, rank 4, each size 1 or full.
      sink: [Hq], a score a head that only adds to the sum of the softmax.
      align: the alignment of a window without causal, spelled as causal; needed unless Sq = Sk without lengths.
      q_lengths, kv_lengths: [B] effective lengths; later rows give out 0, lse −inf, later keys are removed.
      score_mod: score_mod(score, b, h, i, j), called once on arrays that broadcast to the scores, after the scale.
      mask_mod: mask_mod(b, h, i, j) → bool, called once likewise; true = attend.
      dropout: (p, seed, offset); the sum of the softmax uses the undropped weights.
      layout: "bhsd" or "bshd", of q, k, v and out.
      return_lse, return_weights: ask for lse (B, Hq, Sq) and for the weights (B, Hq, Sq, Sk) that multiply V.

    Returns:
      out (B, Hq, Sq, Dv) in `layout`, or a tuple of out and what was asked, in the order lse, weights; all float64.

    Raises:
      ValueError, TypeError: an argument has the wrong shape, kind or range; the message says what was expected.
    """
    swap = _checks.layout(layout) == "bshd"
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    if swap and q.ndim == k.ndim == v.ndim == 4:
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    sizes = _checks.qkv(q.shape, k.shape, v.shape)
    if bias is not None:
        _checks.broadcast("bias", np.shape(bias), sizes.scores)
    if sink is not None and np.shape(sink) != (sizes.hq,):
        raise ValueError(f"expected sink of shape ({sizes.hq},), one a query head, found {np.shape(sink)}")
    kept = predicate(sizes, causal, window, align, mask, q_lengths, kv_lengths, mask_mod)

    with np.errstate(invalid="ignore", over="ignore"):  # scores of keys that are removed may be anything
        s = _chain.scale(scores(q, k), _checks.scale(scale, sizes.d))
        if score_mod is not None:
            s = np.broadcast_to(np.asarray(score_mod(s, *_indices(sizes)), dtype=np.float64), sizes.scores)
        if softcap is not None:
            s = _chain.softcap(s, softcap)
    s = _chain.mask(s, bias, kept)
    weights, lse = softmax(s, sink)
    if dropout is not None:
        weights = _chain.dropout(weights, *_checks.dropout(dropout))
    out = apply(weights, v, keep=s != -np.inf)
    if q_lengths is not None:  # with a sink such a row is empty all the same
        lse = np.where(np.arange(sizes.sq) < np.asarray(q_lengths)[:, None, None], lse, -np.inf)

    results = [out.swapaxes(1, 2) if swap else out]
    results += [lse] if return_lse else []
    results += [weights] if return_weights else []
    return results[0] if len(results) == 1 else tuple(results)


def predicate(
    sizes: _checks.Sizes,
    causal: Any = None,
    window: Any = None,
    align: Any = None,
    mask: Any = None,
    q_lengths: Any = None,
    kv_lengths: Any = None,
    mask_mod: Callable[..., Any] | None = None,
) -> npt.NDArray[np.bool_]:
    """P of SPEC §2 step 4: which keys each query keeps, bool, broadcasts to (B, Hq, Sq, Sk).

    Lengths ∧ causal ∧ window ∧ boolean mask ∧ mask_mod; the arguments are those of `sdpa`.
    """
    b, _, i, j = indices = _indices(sizes)
    q_len = _checks.lengths("q_lengths", q_lengths, sizes.b, sizes.sq)
    kv_len = _checks.lengths("kv_lengths", kv_lengths, sizes.b, sizes.sk)
    rows = np.full(sizes.b, sizes.sq) if q_len is None else q_len
    keys = np.full(sizes.b, sizes.sk) if kv_len is None else kv_len
    kept = (i < rows[b]) & (j < keys[b])

    diagonal = i + _offset(sizes, causal, window, align, rows, keys)[b]
    if causal is not None:
        kept = kept & (j <= diagonal)
    left, right = _checks.window(window) or (None, None)
    if left is not None:
        kept = kept & (diagonal - left <= j)
    if right is not None:
        kept = kept & (j <= diagonal + right)
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype != np.bool_:
            raise TypeError(f"expected mask to be bool, true = attend, found {mask.dtype}")
        _checks.broadcast("mask", mask.shape, sizes.scores)
        kept = kept & mask
    if mask_mod is not None:
        kept = kept & np.asarray(mask_mod(*indices), dtype=bool)
    return kept


def _offset(sizes: _checks.Sizes, causal: Any, window: Any, align: Any, rows: Array, keys: Array) -> Array:
    """The offset [B] of the diagonal j = i + off for causal and window."""
    if align is not None and (causal is not None or window is None):
        raise ValueError("expected align only for a window without causal; causal says the alignment itself")
    if causal is None and align is None:
        if window is not None and (rows != keys).any():
            raise ValueError('expected align for a window where Sq and Sk differ; write align="bottom_right"')
        return np.zeros_like(rows)
    chosen = _checks.alignment("causal" if align is None else "align", causal if align is None else align, sizes.b)
    if isinstance(chosen, str):
        return np.zeros_like(rows) if chosen == "top_left" else keys - rows
    return np.asarray(chosen)


def _indices(sizes: _checks.Sizes) -> tuple[Array, Array, Array, Array]:
    """Batch, query head, query row and key column, each broadcasting to the scores."""
    b, h, i, j = np.ogrid[: sizes.b, : sizes.hq, : sizes.sq, : sizes.sk]
    return b, h, i, j


class State(NamedTuple):
    """A running state over the keys seen so far: acc = Σ exp(s_j − m)·v_j, row_max m, row_sum l = Σ exp(s_j − m).

    Shapes (B, Hq, Sq, Dv), (B, Hq, Sq), (B, Hq, Sq). Source: Milakov and Gimelshein, "Online normalizer calculation for
    softmax", 2018; Dao, "FlashAttention-2", 2023.
    """

    acc: Array
    row_max: Array
    row_sum: Array


def init_state(rows: tuple[int, int, int], dv: int) -> State:
    """The empty state for rows (B, Hq, Sq): acc 0, m = −inf, l = 0. It is the neutral element of `merge_states`."""
    return State(np.zeros((*rows, dv)), np.full(rows, -np.inf), np.zeros(rows))


def online_step(state: State, s: Array, v: npt.ArrayLike) -> State:
    """Folds one range of keys into the state.

    Args:
      state: the state for (B, Hq, Sq).
      s: the scores of the range after scale, softcap and mask, (B, Hq, Sq, n), −inf where removed.
      v: the values of the range, (B, Hkv, n, Dv).
    """
    row_max = s.max(axis=-1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        p = np.exp(s - _chain.finite_base(row_max)[..., None])
    return merge_states(state, State(apply(p, v, keep=s != -np.inf), row_max, p.sum(axis=-1)))


def merge_states(a: State, b: State) -> State:
    """The state over the keys of both: associative and commutative up to rounding.

    m = max(m_a, m_b), factor_x = (m_x == −inf) ? 0 : exp(m_x − m), acc = Σ factor_x·acc_x, l = Σ factor_x·l_x.
    """
    row_max = np.maximum(a.row_max, b.row_max)
    base = _chain.finite_base(row_max)
    with np.errstate(invalid="ignore"):
        factor_a, factor_b = np.exp(a.row_max - base), np.exp(b.row_max - base)  # exp(−inf − 0) = 0
    acc = factor_a[..., None] * a.acc + factor_b[..., None] * b.acc
    return State(acc, row_max, factor_a * a.row_sum + factor_b * b.row_sum)


def finalize(state: State) -> tuple[Array, Array]:
    """The state's out = acc / l (B, Hq, Sq, Dv) and lse = m + ln l (B, Hq, Sq); 0 and −inf in an empty row."""
    return state.acc / _chain.nonzero(state.row_sum)[..., None], _chain.log_sum_exp(state.row_max, state.row_sum)


def multi_head(
    x: npt.ArrayLike,
    w_q: npt.ArrayLike,
    w_k: npt.ArrayLike,
    w_v: npt.ArrayLike,
    w_o: npt.ArrayLike,
    heads: int,
    **kw: Any,
) -> Array:
    """Multi-head self-attention (Vaswani et al., "Attention Is All You Need", 2017): concat_h(sdpa_h)·W_O.

    Args:
      x: (B, S, E); w_q, w_k, w_v: (E, heads·D); w_o: (heads·D, E'). Heads are contiguous ranges of columns.
      heads: how many heads; divides the columns of the projections.
      kw: passed on to `sdpa`.

    Returns:
      (B, S, E').
    """
    x, w_o = np.asarray(x, dtype=np.float64), np.asarray(w_o, dtype=np.float64)
    if x.ndim != 3 or np.shape(w_q)[-1] % heads:
        raise ValueError(
            f"expected x of rank 3 and projections divisible by {heads} heads, found {x.shape}, {np.shape(w_q)}"
        )
    q, k, v = ((x @ np.asarray(w, dtype=np.float64)).reshape(*x.shape[:2], heads, -1) for w in (w_q, w_k, w_v))
    out: Array = sdpa(q, k, v, layout="bshd", **kw).reshape(*x.shape[:2], -1) @ w_o
    return out
