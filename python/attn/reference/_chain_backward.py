"""The gradients of the textbook chain, one function a step, in float64: the chain rule of `_chain`.

`_backward` composes them for the whole; `attn.reference` re-exports them. Shapes are those of the forward. A
gradient of exactly 0 passes nothing on, so that what stands at a removed key, NaN included, reaches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.reference import _chain
from attn.reference._dual import tanh_slope, times

Array = npt.NDArray[Any]


def scores_backward(
    q: npt.ArrayLike, k: npt.ArrayLike, ds: Array, weights: Sequence[npt.ArrayLike] = (), kind: str = "dot"
) -> tuple[Array, ...]:
    """The gradients of `scores`, from that of its result: dq, dk, and one of each weight.

    Args:
      q, k, weights, kind: as in `scores`.
      ds: (B, Hq, Sq, Sk), unscaled.
    """
    q, k, weights = (np.asarray(q, np.float64), np.asarray(k, np.float64), [np.asarray(w, np.float64) for w in weights])
    if kind == "general":  # s = (q W) k
        dq, dk = scores_backward(q @ weights[0], k, ds)
        return dq @ weights[0].T, dk, _outer(q, dq)
    if kind == "additive" and len(weights) == 3:  # s = w tanh(q W_q + k W_k)
        dq, dk, dw = scores_backward(q @ weights[0], k @ weights[1], ds, weights[2:], kind)
        return dq @ weights[0].T, dk @ weights[1].T, _outer(q, dq), _outer(k, dk), dw
    if kind == "additive":  # s = w u, u = tanh(q + k):  dw = Σ ds u, d(q + k) = ds w (1 − u²)
        per_head = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
        inner = q[..., :, None, :] + per_head[..., None, :, :]
        d = times(ds[..., None], weights[0] * tanh_slope(inner))
        return d.sum(3), fold(d.sum(2), k.shape[1]), times(ds[..., None], np.tanh(inner)).sum((0, 1, 2, 3))
    # s = q·k:  dq = ds K, dk = dsᵀ Q
    keep, transposed = ds != 0, ds.swapaxes(-1, -2)
    return _chain.apply(ds, k, keep), fold(_chain.apply(transposed, q, keep.swapaxes(-1, -2)), k.shape[1])


def scale_backward(s: Array, value: float, ds: Array) -> tuple[Array, Array]:
    """The gradients of `scale(s, value)`: of s, and of the value, Σ ds s."""
    return value * ds, times(ds, s).sum()


def softcap_backward(s: Array, cap: float, ds: Array) -> tuple[Array, Array]:
    """The gradients of `softcap(s, cap)`: with t = tanh(s / cap), of s, ds (1 − t²), and of the cap."""
    t = np.tanh(s / cap)
    inner = times(ds, tanh_slope(s / cap))
    # Σ ds (t − (1 − t²) s / cap)
    return inner, (times(ds, t) - times(inner, s / cap)).sum()


def mask_backward(kept: Array, bias_shape: tuple[int, ...], ds: Array) -> tuple[Array, Array]:
    """The gradients of `mask`: of s, 0 where a key is removed, and of a bias, summed where its size is 1."""
    ds = np.where(kept, ds, 0.0)
    return ds, ds.sum(axis=tuple(x for x in range(ds.ndim) if bias_shape[x] == 1), keepdims=True)


def softmax_backward(
    weights: Array,
    lse: Array,
    dweights: Array,
    dlse: npt.ArrayLike = 0.0,
    sink: npt.ArrayLike | None = None,
) -> tuple[Array, Array | None]:
    """The gradients of `softmax`: of the scores, and of the sinks [Hq] (None without them).

    Args:
      weights, lse: the results of `softmax`.
      dweights, dlse: their gradients; neither is read where a weight is 0, or in an empty row.
      sink: as in `softmax`.
    """
    is_empty = lse == -np.inf
    # Δ = Σ_j p dp − dlse;  ds = p (dp − Δ);  dsink = −Σ exp(sink − lse) Δ
    delta = times(weights, dweights).sum(-1) - dlse
    ds = times(weights, dweights - delta[..., None])
    if sink is None:
        return ds, None
    with np.errstate(invalid="ignore", over="ignore"):  # of an empty row
        share = np.where(is_empty, 0.0, np.exp(np.asarray(sink, np.float64)[:, None] - lse))
    return ds, -times(share, delta).sum((0, 2))


def apply_backward(weights: Array, v: npt.ArrayLike, dout: Array, keep: Array | None = None) -> tuple[Array, Array]:
    """The gradients of `apply`: of the weights, dout Vᵀ, and of v, weightsᵀ dout, summed over the heads of a group.

    That of the weights is 0 where a key is removed. The weights of removed keys are 0, as in the forward.
    """
    v = np.asarray(v, np.float64)
    keep = np.ones(weights.shape, bool) if keep is None else keep
    with np.errstate(invalid="ignore", over="ignore"):  # of a removed key V may be anything
        dweights = np.where(keep, _chain.scores(dout, v), 0.0)
    return dweights, fold(_chain.apply(weights.swapaxes(-1, -2), dout, keep.swapaxes(-1, -2)), v.shape[1])


def fold(x: Array, key_heads: int) -> Array:
    """The sum (B, Hkv, …) over the heads of each group of (B, Hq, …)."""
    group = x.shape[1] // max(key_heads, 1)
    return x.reshape(x.shape[0], key_heads, group, *x.shape[2:]).sum(2)


def _outer(x: Array, d: Array) -> Array:
    """The gradient of W where rows x W have the gradient d: Σ xᵀ d."""
    return np.tensordot(x, d, axes=((0, 1, 2), (0, 1, 2)))
