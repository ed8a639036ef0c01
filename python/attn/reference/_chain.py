"""The textbook chain, one function a step, in float64: scores, scale, softcap, mask, softmax, dropout, apply.

This is the formula of docs/Semantics.md with the score matrix in memory; `attn.reference` composes and re-exports it. A
*removed* key has the score −inf from `mask` on. Shapes: q (B, Hq, Sq, D), k (B, Hkv, Sk, D), v (B, Hkv, Sk, Dv), scores
(B, Hq, Sq, Sk); query head h reads key head h floordiv (Hq / Hkv).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks
from attn.reference import _philox

Array = npt.NDArray[Any]

# How many weights a scoring function may take.
SCORE_WEIGHTS = {"dot": (0,), "general": (1,), "additive": (1, 3)}


def scores(q: npt.ArrayLike, k: npt.ArrayLike, weights: Sequence[npt.ArrayLike] = (), kind: str = "dot") -> Array:
    """The scores (B, Hq, Sq, Sk) of every query row against every key row.

    Args:
      q, k: (B, Hq, Sq, D), (B, Hkv, Sk, D).
      weights: none for "dot"; one W (Dq, Dk) for "general"; w (A), or W_q (Dq, A), W_k (Dk, A), w (A) for "additive".
      kind: "dot": qᵀk; "general": qᵀ W k (Luong et al., 2015); "additive": wᵀ tanh(W_q q + W_k k) (Bahdanau et al.,
        2015), without W_q and W_k for rows that are projected already.
    """
    q, k, weights = _wide(q), _wide(k), [_wide(w) for w in weights]
    if kind not in SCORE_WEIGHTS or len(weights) not in SCORE_WEIGHTS[kind]:
        raise ValueError(f"expected a kind of {SCORE_WEIGHTS} with as many weights, found {kind!r} with {len(weights)}")
    if kind == "additive":
        if len(weights) == 3:
            q, k = q @ weights[0], k @ weights[1]
        rows, columns = _group(q, k.shape[1])[..., :, None, :], k[:, :, None, None, :, :]
        return (np.tanh(rows + columns) @ weights[-1]).reshape(*q.shape[:3], k.shape[2])
    if kind == "general":
        q = q @ weights[0]
    return (_group(q, k.shape[1]) @ k[:, :, None].swapaxes(-1, -2)).reshape(*q.shape[:3], k.shape[2])


def scale(s: Array, value: float) -> Array:
    """The scaled scores, value·s."""
    return value * s


def softcap(s: Array, cap: float) -> Array:
    """The capped scores, cap·tanh(s / cap); |result| ≤ cap. Raises ValueError unless cap > 0."""
    _checks.positive("softcap", cap)
    return cap * np.tanh(s / cap)


def mask(s: Array, bias: npt.ArrayLike | None = None, keep: npt.ArrayLike | None = None) -> Array:
    """The scores after an additive bias and a predicate, with −inf for each removed key.

    Args:
      s: scores (B, Hq, Sq, Sk).
      bias: added to s; exactly −inf removes the key, any finite number is an ordinary number. Broadcasts to s.
      keep: bool, true = attend; a select, so a removed key may hold NaN. Broadcasts to s.
    """
    kept = np.ones(s.shape, dtype=bool)
    if bias is not None:
        bias = _wide(bias)
        kept &= bias != -np.inf
        with np.errstate(invalid="ignore"):  # +inf − inf, at a key that is removed
            s = s + bias
    if keep is not None:
        kept &= np.asarray(keep)
    return np.where(kept, s, -np.inf)


def softmax(s: Array, sink: npt.ArrayLike | None = None) -> tuple[Array, Array]:
    """The row softmax over the kept keys, and its logarithm of the sum (natural).

    m = max_j s_j (and the sink); p_j = exp(s_j − m); l = Σ p_j + exp(sink − m); weights = p / l; lse = m + ln l.
    A row with nothing kept and no sink has weights 0 and lse −inf.

    Args:
      s: scores (B, Hq, Sq, Sk), −inf where removed.
      sink: one score a query head, [Hq], that takes part in the sum and in nothing else.

    Returns:
      weights (B, Hq, Sq, Sk) and lse (B, Hq, Sq).
    """
    weights, row_max, log_sum = softmax_terms(s, sink)
    return weights, row_max + log_sum


def softmax_terms(s: Array, sink: npt.ArrayLike | None = None) -> tuple[Array, Array, Array]:
    """As `softmax`: the weights, and the terms m and ln l of lse, both −inf in an empty row."""
    row_max = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        sink = _wide(sink)[:, None, None]
        row_max = np.maximum(row_max, sink)
    base = finite_base(row_max)
    with np.errstate(invalid="ignore"):  # +inf − inf is NaN, as it is in the kernels
        p = np.exp(s - base)
    row_sum = p.sum(axis=-1, keepdims=True)
    if sink is not None:
        row_sum = row_sum + np.exp(sink - base)
    with np.errstate(divide="ignore"):
        return p / nonzero(row_sum), row_max[..., 0], np.log(row_sum)[..., 0]


def dropout(weights: Array, p: float, seed: int, offset: int, index: Array | None = None) -> Array:
    """The weights after dropout: 0 with probability p, otherwise divided by 1 − p.

    Element (b, h, i, j) is kept iff r > p·(2³² − 1), r the Philox word of its index ((b·Hq + h)·Sq + i)·Sk + j, or of
    the `index` given, that of the whole that the weights are a part of.
    """
    if index is None:
        index = np.arange(weights.size, dtype=np.uint64).reshape(weights.shape)
    kept = _philox.random_bits(seed, offset, index) > p * (2.0**32 - 1)
    return np.where(kept, weights / (1.0 - p if p < 1.0 else 1.0), 0.0)


def apply(weights: Array, v: npt.ArrayLike, keep: Array | None = None) -> Array:
    """The weighted sum of values: out[b,h,i,:] = Σ_j weights[b,h,i,j]·v[b,hk,j,:], over the kept j.

    Args:
      weights: (B, Hq, Sq, Sk).
      v: (B, Hkv, Sk, Dv).
      keep: bool (B, Hq, Sq, Sk); a key that is not kept contributes nothing even where V holds NaN or Inf. All are
        kept if it is None.

    Returns:
      (B, Hq, Sq, Dv).
    """
    v = _wide(v)
    grouped = _group(weights, v.shape[1])  # (B, Hkv, group, Sq, Sk)
    kept = _group(np.ones(weights.shape, bool) if keep is None else keep, v.shape[1])
    finite = np.isfinite(v)
    out = grouped @ np.where(finite, v, 0.0)[:, :, None]
    # 0·NaN is NaN: values that are not finite are added one key at a time, to the rows that keep the key.
    for j in np.flatnonzero(~finite.all(axis=(0, 1, 3))):
        value, counts = v[:, :, None, j, None, :], ~finite[:, :, None, j, None, :]  # (B, Hkv, 1, 1, Dv)
        with np.errstate(invalid="ignore"):
            out = out + np.where(counts & kept[..., j, None], grouped[..., j, None] * value, 0.0)
    return out.reshape(*weights.shape[:3], v.shape[3])


def finite_base(row_max: Array) -> Array:
    """What is subtracted before exp: the row maximum, or 0 where nothing is kept, so that exp(−inf − 0) = 0."""
    return np.where(row_max == -np.inf, 0.0, row_max)


def nonzero(row_sum: Array) -> Array:
    """What is divided by: the row sum, or 1 in an empty row, so that 0 / 1 = 0."""
    return np.where(row_sum == 0.0, 1.0, row_sum)


def log_sum_exp(row_max: Array, row_sum: Array) -> Array:
    """The natural logarithm m + ln l; −inf in an empty row."""
    with np.errstate(divide="ignore"):
        return finite_base(row_max) + np.log(row_sum)


def _wide(x: npt.ArrayLike) -> Array:
    return np.asarray(x, dtype=np.float64)


def _group(x: Array, key_heads: int) -> Array:
    """(B, Hq, …) as (B, Hkv, Hq / Hkv, …): a view, K and V are never expanded."""
    return x.reshape(x.shape[0], key_heads, x.shape[1] // max(key_heads, 1), *x.shape[2:])
