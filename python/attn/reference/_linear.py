"""Linear attention as docs/Semantics.md says it, in NumPy and float64, token by token: `linear_attention`.

`attn.reference` re-exports it, and `linear_attention_backward` of _linear_backward. `terms` is what both share: the
arguments as those of the one recurrence that all families have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _linear_checks, _pages

Array = npt.NDArray[Any]


class Terms(NamedTuple):
    """A call as the recurrence has it, a key head repeated for each of its value heads.

    Attributes:
      given: the arguments of the call that are arrays, by name, in float64.
      q, k, v, decay, erase, write: (N, Hv, T, ·), N = B, or 1 of packed sequences; decay has one number a row or Dk.
        q and k are normalised, v is multiplied by beta. erase and write are None where nothing is erased.
      states: those that the sequences start from, (B, Hv, Dk, Dv).
      places: of the sequences that have a slot their numbers, and the slots; None where the state is no pool.
      is_packed: the arrays of the call are (T, heads, ·).
      parts: of each part that one loop goes through which states it has, and its tokens.
    """

    given: dict[str, Array]
    sizes: _linear_checks.Sizes
    q: Array
    k: Array
    v: Array
    decay: Array
    erase: Array | None
    write: Array | None
    before: bool
    scale: float
    normalize: float | None
    states: Array
    places: tuple[Array, Array] | None
    is_packed: bool
    parts: list[tuple[slice, range]]

    def rows(self, name: str) -> Array:
        """(N, heads, T, ·) of an array of the call."""
        return rows(self.given[name], is_packed=self.is_packed)

    def repeated(self, x: Array) -> Array:
        """Rows of key heads, once for each value head."""
        return np.repeat(x, self.sizes.hv // self.sizes.hk, axis=1)

    def steps(self, part: tuple[slice, range], visit: Callable[[int, Array, Array], None]) -> Array:
        """The last states of a part; `visit` gets each token with the states in front of it and behind it."""
        of, tokens = part
        state = self.states[of]
        for t in tokens:
            decayed = np.exp(self.decay[:, :, t, :, None]) * state  # D S
            new = decayed + outer(self.k[:, :, t], self.v[:, :, t])  # S = D S + b eᵀ + k vᵀ
            if self.erase is not None and self.write is not None:
                read = apply(state if self.before else decayed, self.erase[:, :, t])  # e = (D S)ᵀ a, or Sᵀ a
                new = new + outer(self.write[:, :, t], read)
            visit(t, state, new)
            state = new
        return state

    def in_pool(self, states: Array) -> Array:
        """What the call returns for these last states: themselves, or the pool with them in its slots."""
        if self.places is None:
            return states
        pool = self.given["state"].copy()
        numbers, slots = self.places
        pool[slots] = states[numbers]
        return pool


def linear_attention(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    decay: npt.ArrayLike | None = None,
    beta: npt.ArrayLike | None = None,
    erase: npt.ArrayLike | None = None,
    write: npt.ArrayLike | None = None,
    before: bool = False,
    scale: float | None = None,
    normalize: float | bool | None = None,
    state: npt.ArrayLike | None = None,
    cu_seqlens: npt.ArrayLike | None = None,
    slots: npt.ArrayLike | None = None,
    every: int | None = None,
    return_state: bool = False,
) -> Array | tuple[Array, ...]:
    """Linear attention with a state S (Dk, Dv) a sequence and value head, every step in float64, token by token.

    For each token t, with D = diag(exp(decay)) and S the state behind the token in front of it:

        e = (D S)ᵀ a, or Sᵀ a with before;  S' = D S + b eᵀ + k vᵀ;  out = scale · S'ᵀ q

    a is erase and b is write. With beta they are −beta · k and k, and v is beta · v: the gated delta rule.

    Args:
      q, k: (B, Hk, T, Dk). Value head h reads key head h div (Hv / Hk).
      v: (B, Hv, T, Dv), Hv a multiple of Hk.
      decay: natural logarithms, (B, Hv, T), or (B, Hv, T, Dk) for one a channel of the key; −inf forgets the state.
        None for none: D = I.
      beta: (B, Hv, T), not beside erase.
      erase, write: (B, Hv, T, Dk); write is k where it is None.
      before: erase reads S, not D S.
      scale: factor on out; None for 1/√Dk.
      normalize: ε; rows x of q and k become x / √(Σ x² + ε) first. True for 1e-6, None for none.
      state: S in front of the first token, (B, Hv, Dk, Dv); with slots a pool of them. None for 0.
      cu_seqlens: [B + 1], exclusive prefix sums of the lengths of packed sequences; then all arrays with tokens are
        (T, heads, ·), T the sum of the lengths.
      slots: [B], which state of the pool is that of each sequence; −1 for none: it starts from 0, and leaves none.
      every: n ≥ 1, to return the states behind the tokens n, 2n, … of each sequence.
      return_state: return the state behind the last token, as is done where one is given.

    Returns:
      out (B, Hv, T, Dv), packed (T, Hv, Dv); or a tuple of out, then the state, of the shape of the one given, then
      with every the snapshots (B, T // every, Hv, Dk, Dv), 0 where a packed sequence has none.
    """
    named: dict[str, Any] = {"decay": decay, "beta": beta, "erase": erase, "write": write, "state": state}
    words: dict[str, Any] = {
        "before": before,
        "scale": scale,
        "normalize": normalize,
        "cu_seqlens": cu_seqlens,
        "slots": slots,
    }
    at = terms(q, k, v, **named, **words)
    every = _linear_checks.every(every)
    out = np.zeros(at.v.shape)
    last = np.zeros(at.sizes.state)
    b, hv, dk, dv = at.sizes.state
    snapshots = np.zeros((b, 0 if every is None else at.sizes.t // every, hv, dk, dv))
    for part in at.parts:
        of, tokens = part

        def visit(t: int, _: Array, new: Array, of: slice = of, first: int = tokens.start) -> None:
            out[:, :, t] = at.scale * apply(new, at.q[:, :, t])  # o = scale Sᵀ q
            if every is not None and (t - first + 1) % every == 0:
                snapshots[of, (t - first + 1) // every - 1] = new

        last[of] = at.steps(part, visit)
    results = [out[0].swapaxes(0, 1) if at.is_packed else out]
    if state is not None or return_state:
        results.append(at.in_pool(last))
    if every is not None:
        results.append(snapshots)
    return results[0] if len(results) == 1 else tuple(results)


def terms(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    before: bool = False,
    scale: float | None = None,
    normalize: float | bool | None = None,
    cu_seqlens: npt.ArrayLike | None = None,
    slots: npt.ArrayLike | None = None,
    **arrays: npt.ArrayLike | None,
) -> Terms:
    """The arguments of `linear_attention`, checked, as the recurrence has them; `arrays` are decay … state."""
    named = {"q": q, "k": k, "v": v, **arrays}
    given = {name: np.asarray(named[name], np.float64) for name in _linear_checks.NAMES if named.get(name) is not None}
    before = _checks.flag("before", before)
    sums = None if cu_seqlens is None else _pages.cu_seqlens("cu_seqlens", cu_seqlens, given["k"].shape[0])
    count = None if sums is None else sums.size - 1
    shapes = {name: x.shape for name, x in given.items()}
    sizes = _linear_checks.sizes(shapes, count, is_pool=slots is not None, before=before)
    states, places = _start(given, sizes, slots)
    epsilon = _linear_checks.normalize(normalize)

    found = {name: rows(x, is_packed=sums is not None) for name, x in given.items() if name != "state"}
    if epsilon is not None:
        found |= {name: found[name] / norm(found[name], epsilon) for name in ("q", "k")}
    query, key = (np.repeat(found[name], sizes.hv // sizes.hk, axis=1) for name in ("q", "k"))
    value, erased = found["v"], found.get("erase")
    if "beta" in found:
        value, erased = found["beta"] * value, -found["beta"] * key
    written = None if erased is None else found.get("write", key)
    parts = [(slice(None), range(sizes.t))]
    if sums is not None:
        parts = [(slice(b, b + 1), range(sums[b], sums[b + 1])) for b in range(sizes.b)]
    return Terms(
        given, sizes, query, key, value, found.get("decay", np.zeros((*key.shape[:3], 1))), erased, written, before,
        _checks.scale(scale, sizes.dk), epsilon, states, places, sums is not None, parts,
    )  # fmt: skip


def _start(given: dict[str, Array], sizes: _linear_checks.Sizes, slots: Any) -> tuple[Array, Any]:
    """The states that sequences start from, and where they lie in a pool."""
    if slots is None:
        return given.get("state", np.zeros(sizes.state)), None
    if "state" not in given:
        raise ValueError("expected state, a pool, beside slots, found none")
    where = _linear_checks.slots(slots, sizes.b, given["state"].shape[0])
    numbers = np.flatnonzero(where != _linear_checks.NO_SLOT)
    states = np.zeros(sizes.state)
    states[numbers] = given["state"][where[numbers]]
    return states, (numbers, where[numbers])


def rows(x: Array, *, is_packed: bool) -> Array:
    """(N, heads, T, ·) of an array (B, heads, T), or with a size of its own behind; packed ones have T in front."""
    x = x.swapaxes(0, 1)[None] if is_packed else x
    return x if x.ndim == 4 else x[..., None]


def norm(x: Array, epsilon: float) -> Array:
    """√(Σ x² + ε) of each row."""
    found: Array = np.sqrt((x * x).sum(-1, keepdims=True) + epsilon)
    return found


def outer(x: Array, y: Array) -> Array:
    """x yᵀ of each head."""
    return x[..., :, None] * y[..., None, :]


def apply(state: Array, x: Array) -> Array:
    """Sᵀ x of each head."""
    found: Array = np.einsum("bhkv,bhk->bhv", state, x)
    return found
