"""The gradients of linear attention in NumPy and float64, backwards from token to token: `linear_attention_backward`.

`attn.reference` re-exports it. With the D, e and S of a token as docs/Semantics.md has them, S' the state behind it, dS
the cotangent of S' and R what erase reads, D S or S:

    dS += scale q doutᵀ;  dq = scale S' dout;  dk = dS v;  dv = dSᵀ k;  de = dSᵀ b;  db = dS e;  da = R de;  dR = a deᵀ
    dD = dS + dR, or dS with before;  ddecay = Σ dD ∘ (D S) over what shares it;  the next dS is D dD, + dR with before
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks
from attn.reference import _linear
from attn.reference._backward import of_shape
from attn.reference._linear import apply, outer

Array = npt.NDArray[Any]


def linear_attention_backward(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    dout: npt.ArrayLike | None,
    *,
    dstate: npt.ArrayLike | None = None,
    grad: Sequence[str] = ("q", "k", "v"),
    **options: Any,
) -> dict[str, Array]:
    """The gradients of `linear_attention`: of Σ dout·out + Σ dstate·state, every step in float64.

    Args:
      q, k, v: as in `linear_attention`.
      dout: the cotangent of out, of its shape, or None for 0.
      dstate: the cotangent of the state that is returned, of its shape, or None for 0.
      grad: whose gradients: "q", "k", "v", "decay", "beta", "erase", "write", "state".
      options: decay, beta, erase, write, before, scale, normalize, state, cu_seqlens, slots as in `linear_attention`.

    Returns:
      The gradients by name, in the order of `grad`, float64, each of the shape of its input. That of a pool is dstate
      in slots that no sequence has.

    Raises:
      ValueError: a gradient is asked for of what is not in the call; or as in `linear_attention`.
    """
    at = _linear.terms(q, k, v, **options)
    grad = _checks.gradients(grad)
    for name in grad:
        if name not in at.given:
            raise ValueError(f"expected grad of {', '.join(at.given)}, what the call has, found {name!r}")
    result = _apart(at, *_cotangents(at, dout, dstate))
    return {name: result[name] for name in grad}


def _cotangents(at: _linear.Terms, dout: Any, dstate: Any) -> tuple[Array, Array]:
    """The cotangents of out, (N, Hv, T, Dv), and of the returned state."""
    if dout is None and dstate is None:
        raise TypeError("expected dout or dstate, the cotangent of a result, found None for both")
    n, hv, t, dv = at.v.shape
    shape: tuple[int, ...] = (t, hv, dv) if at.is_packed else (n, hv, t, dv)
    dout = np.zeros(shape) if dout is None else of_shape("dout", np.asarray(dout, np.float64), shape)
    shape = at.given["state"].shape if "state" in at.given else at.sizes.state
    dstate = np.zeros(shape) if dstate is None else of_shape("dstate", np.asarray(dstate, np.float64), shape)
    return dout.swapaxes(0, 1)[None] if at.is_packed else dout, dstate


def _apart(at: _linear.Terms, dout: Array, dstate: Array) -> dict[str, Array]:
    """The gradients of all that the call has, of those of the recurrence."""
    dlast = dstate
    if at.places is not None:
        numbers, slots = at.places
        dlast = np.zeros(at.sizes.state)
        dlast[numbers] = dstate[slots]
    result, dstart = _recurrence(at, dout, dlast)
    result["state"] = dstart
    if at.places is not None:
        result["state"] = dstate.copy()
        result["state"][slots] = dstart[numbers]
    dk = result["k"] if "write" in at.given else result["k"] + result["write"]
    if "beta" in at.given:  # a = −β k, v is β v: dβ = v·dv − k·da, dk gets −β da
        beta, v = (at.rows(name) for name in ("beta", "v"))
        result["beta"] = (v * result["v"]).sum(-1, keepdims=True) - (at.k * result["erase"]).sum(-1, keepdims=True)
        result["v"], dk = beta * result["v"], dk - beta * result["erase"]
    for name, d, rows in (("q", result["q"], at.q), ("k", dk, at.k)):
        if at.normalize is not None:  # n = x / |x|: dx = (dn − n (n·dn)) / |x|
            size = at.repeated(_linear.norm(at.rows(name), at.normalize))
            d = (d - rows * (rows * d).sum(-1, keepdims=True)) / size
        n, _, *rest = d.shape
        result[name] = d.reshape(n, at.sizes.hk, -1, *rest).sum(2)
    return {name: x if name == "state" else _as_given(at, name, x) for name, x in result.items() if name in at.given}


def _recurrence(at: _linear.Terms, dout: Array, dstate: Array) -> tuple[dict[str, Array], Array]:
    """The gradients of the terms, and of the states that sequences start from."""
    names = {"q": at.q, "k": at.k, "v": at.v, "decay": at.decay, "erase": at.k, "write": at.k}
    found = {name: np.zeros(x.shape) for name, x in names.items()}
    first = np.zeros(at.sizes.state)
    for part in at.parts:
        states: dict[int, tuple[Array, Array]] = {}
        at.steps(part, lambda t, old, new, states=states: states.update({t: (old, new)}))
        d = dstate[part[0]]
        for t in reversed(part[1]):
            old, new = states[t]
            factor = np.exp(at.decay[:, :, t, :, None])
            decayed = factor * old
            found["q"][:, :, t] = at.scale * _times(new, dout[:, :, t])
            d = d + at.scale * outer(at.q[:, :, t], dout[:, :, t])
            found["k"][:, :, t] = _times(d, at.v[:, :, t])
            found["v"][:, :, t] = apply(d, at.k[:, :, t])
            of_decayed, of_old = d, np.zeros(d.shape)
            if at.erase is not None and at.write is not None:
                read = old if at.before else decayed
                de = apply(d, at.write[:, :, t])
                found["write"][:, :, t] = _times(d, apply(read, at.erase[:, :, t]))
                found["erase"][:, :, t] = _times(read, de)
                of_read = outer(at.erase[:, :, t], de)
                of_decayed, of_old = (d, of_read) if at.before else (d + of_read, of_old)
            of_row = (of_decayed * decayed).sum(-1)
            is_of_head = at.decay.shape[-1] == 1
            found["decay"][:, :, t] = of_row.sum(-1, keepdims=True) if is_of_head else of_row
            d = factor * of_decayed + of_old
        first[part[0]] = d
    return found, first


def _times(state: Array, x: Array) -> Array:
    """S x of each head."""
    found: Array = np.einsum("bhkv,bhv->bhk", state, x)
    return found


def _as_given(at: _linear.Terms, name: str, x: Array) -> Array:
    """A gradient (N, heads, T, ·) in the shape of the array of the call."""
    x = x[0].swapaxes(0, 1) if at.is_packed else x
    return x.reshape(at.given[name].shape)
