"""The backward of docs/Semantics.md, "Gradients", in NumPy and float64: `sdpa_backward`.

`attn.reference` re-exports it. The formulas are those of FlashAttention-2 (Dao, arXiv:2307.08691), with dlse in Δ as in
FlashAttention-4, and the chain rule of each step of the forward, which come from `_forward.steps`. A key that is
removed is removed by selection here too: nothing of it, NaN included, reaches a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _checks
from attn.reference import _chain, _dual, _forward
from attn.reference._chain import apply
from attn.reference._chain_backward import (
    apply_backward,
    fold,
    mask_backward,
    scale_backward,
    scores_backward,
    softcap_backward,
)
from attn.reference._dual import times
from attn.trace import _capture
from attn.words import _signatures
from attn.words._words import Given

Array = npt.NDArray[Any]

# What has a gradient besides the arrays of floats that score_mod reads: always, and where the call has it.
ALWAYS = ("q", "k", "v", "scale")
GIVEN = ("softcap", "bias", "sink", "k_scale", "v_scale")
# From here on lse as one number is tested for being that of the call itself, and how far rounding to float32 moves it.
LARGE_LSE = 2.0**8
LSE_ROUNDING = 2.0**-22
# What stands behind **options.
KEYWORDS = [*_forward.KEYWORDS, "alibi_slopes", "softcap_first"]


def sdpa_backward(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    out: npt.ArrayLike | None,
    lse: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] | None,
    dout: npt.ArrayLike | None,
    *,
    dlse: npt.ArrayLike | None = None,
    dweights: npt.ArrayLike | None = None,
    grad: Sequence[str] = ("q", "k", "v"),
    dropout: tuple[float, int, int] | None = None,
    whole: tuple[int, int, int] | None = None,
    layout: str = "bhsd",
    heads: int | tuple[int, int] | None = None,
    **options: Any,
) -> dict[str, Array]:
    """The gradients of `sdpa`: of Σ dout·out + Σ dlse·lse + Σ dweights·weights, every step in float64.

    Args:
      q, k, v: as in `sdpa`, in `layout`.
      out, lse: what `sdpa` returned for them; None to compute it here. lse is one array, or the pair (max, log_sum),
        whose sum it is; an array is replaced by the pair of this call where it is that sum but for rounding.
      dout: the cotangent of out, of its shape, or None for 0 beside another one. Rows that keep no key are not read.
      dlse: the cotangent of lse, (B, Hq, Sq), or None for 0. Rows whose lse is −inf are not read.
      dweights: the cotangent of the weights, (B, Hq, Sq, Sk), or None for 0. Keys that are removed are not read.
      grad: whose gradients: "q", "k", "v", "bias", "sink", "scale", "softcap", "k_scale", "v_scale", and the names of
        arrays of floats that score_mod reads. That of "scale" is there whether or not the call names the scale.
      dropout, whole, layout, heads: as in `sdpa`.
      options: scale, causal, window, chunk, prefix, softcap, bias, mask, sink, align, q_lengths, kv_lengths, score_mod,
        mask_mod, alibi_slopes, softcap_first, k_scale, v_scale and the origins as in `sdpa`.

    Returns:
      The gradients by name, in the order of `grad`, float64, each of the shape of its input. dk and dv are 0 for keys
      that no row keeps, dq for rows that keep no key. dk and dv are of k and v, not of k_scale·k and v_scale·v.

    Raises:
      ValueError: a gradient is asked for of what has none (masks, lengths, integers), or is not in the call; or as in
        `sdpa`.
      TypeError: as in `sdpa`; or score_mod has a function without a derivative.
    """
    _signatures.keywords("sdpa_backward", options, KEYWORDS)
    options = _forward.in_one_function(options, q, k, layout)
    grad = _checks.gradients(grad)
    narrow = [x for x, array in (("k", k), ("v", v)) if np.asarray(array).dtype.itemsize == 1]
    _check_names(grad, options, narrow)
    at = _forward.steps(q, k, v, layout=layout, heads=heads, **options)
    sizes, kept = at.sizes, at.s != -np.inf
    rows = kept.any(-1, keepdims=True)
    is_used = fold(kept.any(2)[..., None], sizes.hkv) > 0

    def with_heads(name: str, x: npt.ArrayLike) -> Array:
        x = _checks.head_major(name, np.asarray(x, np.float64), layout, sizes.hq)
        return np.where(rows, of_shape(name, x, (*sizes.scores[:3], sizes.dv)), 0.0)

    z = np.ones(sizes.scores)
    given = {name: options[name] for name in Given.__dataclass_fields__ if name in options}
    origins = _forward.origins(sizes, Given(**given, dropout=dropout, whole=whole))
    if dropout is not None:
        z = _chain.dropout(z, *_checks.dropout(dropout), _forward.dropout_index(sizes, origins))
    row_max, log_sum = _terms(at, lse)
    out = np.where(rows, apply(z * at.weights, at.v, kept), 0.0) if out is None else with_heads("out", out)
    if dout is None and dlse is None and dweights is None:
        raise TypeError("expected dout, dlse or dweights, the cotangent of a result, found None for all")
    dout = np.zeros(out.shape) if dout is None else with_heads("dout", dout)
    is_empty = row_max == -np.inf
    shape = row_max.shape
    dlse = np.zeros(shape) if dlse is None else of_shape("dlse", np.asarray(dlse, np.float64), shape)

    result: dict[str, Array] = {}
    with np.errstate(invalid="ignore", over="ignore"):  # at keys that are removed anything may stand
        # P = kept ? exp(min(s − m, 0) − ln l) : 0, and 0 where m = −inf;  W = z P, what multiplies V
        p = np.exp(np.minimum(at.s - row_max[..., None], 0) - log_sum[..., None])
        p = np.where(kept & ~is_empty[..., None], p, 0.0)
        w = z * p
        # dW = dO Vᵀ;  dV = Wᵀ dO;  dP = z dW;  Δ = Σ dO O − dlse;  dS = P (dP − Δ)
        dw, dv = apply_backward(w, at.v, dout, kept)
        delta = (dout * out).sum(-1) - dlse
        if dweights is not None:  # Σ_j P dP has W · dweights too, which is not in dO O
            dweights = np.where(kept, of_shape("dweights", np.asarray(dweights, np.float64), sizes.scores), 0.0)
            dw, delta = dw + dweights, delta + (w * dweights).sum(-1)
        ds = np.where(kept, p * (z * dw - delta[..., None]), 0.0)
        if options.get("sink") is not None:  # dsink = −Σ exp(min(sink − m, 0) − ln l) Δ
            sink = np.asarray(options["sink"], np.float64)[:, None]
            share = np.exp(np.minimum(sink - row_max, 0) - log_sum)
            result["sink"] = np.where(is_empty, 0.0, -share * delta).sum((0, 2))

        # Back through bias, softcap, score_mod and scale.
        if options.get("bias") is not None:
            ds, result["bias"] = mask_backward(kept, np.shape(options["bias"]), ds)
        if not _checks.is_absent("softcap", options.get("softcap")):
            ds, result["softcap"] = softcap_backward(at.modified, options["softcap"], ds)
        if options.get("score_mod") is not None:
            derivative = _dual.differentiate(options["score_mod"], at.scaled, *_forward.positions(sizes, origins))
            result |= _of_captures(grad, ds, derivative.reads)
            ds = times(ds, derivative.score)
        ds, result["scale"] = scale_backward(at.dot, at.scale, ds)
        result["q"], dk = scores_backward(at.q, at.k, ds)
        result |= _of_keys("k", dk, at.k_given, options, is_used) | _of_keys("v", dv, at.v_given, options, is_used)

    for name in grad:
        if name not in result:
            raise _no_gradient(name)
    result = {name: np.asarray(result[name]) for name in grad}
    return {name: _forward.in_layout(x, layout) if name in ("q", "k", "v") else x for name, x in result.items()}


def _check_names(grad: Sequence[str], options: dict[str, Any], narrow: list[str]) -> None:
    """Raises if a gradient is asked for of what the call does not have."""
    for name in grad:
        if name in GIVEN and options.get(name) is None:
            raise ValueError(f"expected {name} in the call whose grad has {name!r}, found none")
        if name in narrow:
            raise ValueError(
                f"expected grad of quantised keys and values to leave out {name!r}; write {name}_scale for its scales"
            )
        if name not in ALWAYS + GIVEN and options.get("score_mod") is None:
            raise _no_gradient(name)


def _terms(at: _forward.Steps, lse: Any) -> tuple[Array, Array]:
    """The terms max and log_sum of a given lse, those of this call where none is given."""
    shape = at.sizes.scores[:3]
    if lse is None:
        return at.max, at.log_sum
    if isinstance(lse, tuple):
        row_max, log_sum = (of_shape("lse", np.asarray(x, np.float64), shape) for x in lse)
        return row_max, log_sum
    lse = of_shape("lse", np.asarray(lse, np.float64), shape)
    with np.errstate(invalid="ignore"):
        is_own = np.isfinite(lse) & (np.abs(lse) >= LARGE_LSE) & (np.abs(lse - at.lse) <= LSE_ROUNDING * np.abs(lse))
    return np.where(is_own, at.max, lse), np.where(is_own, at.log_sum, 0.0)


def _no_gradient(name: str) -> ValueError:
    names = ", ".join(ALWAYS + GIVEN)
    return ValueError(
        f"expected grad of {names}, or the name of an array of floats that score_mod reads, found {name!r}, which has "
        "no gradient"
    )


def of_shape(name: str, x: Array, shape: tuple[int, ...]) -> Array:
    """The array, whose shape is checked."""
    if x.shape != shape:
        raise ValueError(f"expected {name} of shape {shape}, found {x.shape}")
    return x


def _of_keys(name: str, d: Array, given: Array, options: dict[str, Any], is_used: Array) -> dict[str, Array]:
    """The gradients of k or v and of its scales, from that of their product: dx = scale · d, dscale = Σ d x.

    A key that is not used, by no row of no head, has 0, whatever its own elements and scale are.
    """
    if options.get(f"{name}_scale") is None:
        return {name: np.where(is_used, d, 0.0)}
    scale = np.asarray(options[f"{name}_scale"], np.float64)
    dscale = np.where(is_used, d * given, 0.0).sum(-1)
    return {
        name: np.where(is_used, _forward.by_row(scale) * d, 0.0),
        f"{name}_scale": dscale.sum((0, 2)) if scale.ndim == 1 else dscale,
    }


class _Sum(NamedTuple):
    """The gradient of a captured array, flat, and what is read."""

    array: _capture.Captured
    flat: Array


def _of_captures(grad: Sequence[str], ds: Array, reads: list[tuple[_dual.Read, Array]]) -> dict[str, Array]:
    """The gradients of the arrays that score_mod reads and grad names: each read's part of ds, added where it reads."""
    sums: dict[str, _Sum] = {}
    for read, tangent in reads:
        name = read.array.name or "captured"
        if name not in grad or name in ALWAYS + GIVEN:
            continue
        array = _capture.root(read.array)
        total = sums.setdefault(name, _Sum(array, np.zeros(array.size)))
        if _capture.place(array) != _capture.place(total.array):
            raise ValueError(f"expected one captured array {name}, found several; write attn.capture(array, name)")
        if tangent.any():  # else the read may be of any shape
            places, d = (np.broadcast_to(x, ds.shape) for x in (read.places, times(ds, tangent)))
            np.add.at(total.flat, places, d)
    return {name: x.flat.reshape(x.array.shape) for name, x in sums.items()}
