"""Checks of the arguments of linear attention, shared by `attn.linear_attention` and `attn.reference`.

Every function raises ValueError or TypeError with what was expected and what was found, and returns the checked value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _pages

Shape = tuple[int, ...]

NORMALIZE = 1e-6  # what models add to the sum of squares
NO_SLOT = _pages.NO_SLOT  # of a sequence without a state: it starts from 0, and leaves none
NAMES = ("q", "k", "v", "decay", "beta", "erase", "write", "state")  # of what has a gradient, in the order of kernels


class Sizes(NamedTuple):
    """The sizes of one problem: sequences, key heads, value heads, tokens (packed: of all), head sizes of K and V."""

    b: int
    hk: int
    hv: int
    t: int
    dk: int
    dv: int

    @property
    def state(self) -> Shape:
        """The shape of a state of each sequence, (B, Hv, Dk, Dv)."""
        return (self.b, self.hv, self.dk, self.dv)


def sizes(shapes: dict[str, Shape], sequences: int | None, *, is_pool: bool, before: bool) -> Sizes:
    """The sizes of a call.

    Args:
      shapes: of the arrays that the call has, by `NAMES`: q, k (B, Hk, T, Dk), v (B, Hv, T, Dv), decay (B, Hv, T) or
        (B, Hv, T, Dk), beta (B, Hv, T), erase and write (B, Hv, T, Dk), state (B, Hv, Dk, Dv); packed ones (T, heads,
        ·) in place of (B, heads, T, ·).
      sequences: how many are packed; None where none are.
      is_pool: the state has slots.
      before: erase reads the state in front of the decay.
    """
    together(shapes, before=before)
    rank, order = (
        (4, "(batch, heads, tokens, ·)") if sequences is None else (3, "(tokens, heads, ·), as they are packed")
    )
    for name in ("q", "k", "v"):
        if len(shapes[name]) != rank:
            raise ValueError(f"expected {name} of rank {rank}, {order}, found shape {shapes[name]}")
    q, k, v = (shapes[x] for x in ("q", "k", "v"))
    if q != k:
        raise ValueError(f"expected q of the shape of k, {k}, found {q}")
    if sequences is None:
        found, is_one = Sizes(k[0], k[1], v[1], k[2], k[3], v[3]), (k[0], k[2]) == (v[0], v[2])
        rows: Shape = (found.b, found.hv, found.t)
    else:
        found, is_one = Sizes(sequences, k[1], v[1], k[0], k[2], v[2]), k[0] == v[0]
        rows = (found.t, found.hv)
    if not is_one:
        raise ValueError(f"expected v to have the batch and tokens of k, {k}, found {v}")
    if found.dk == 0:
        raise ValueError("expected a head size of q and k of at least 1, found 0")
    if found.hk == 0 or found.hv % found.hk:
        raise ValueError(
            f"expected value heads in a multiple of the {found.hk} key heads, found {found.hv}; value head h reads key "
            "head h div (value heads / key heads)"
        )
    wide = (*rows, found.dk)
    for name, allowed in (("decay", (rows, wide)), ("beta", (rows,)), ("erase", (wide,)), ("write", (wide,))):
        if name in shapes and shapes[name] not in allowed:
            raise ValueError(
                f"expected {name} of shape {' or '.join(map(str, allowed))}, {_meaning(name)}, found {shapes[name]}"
                + _advice(name, shapes[name], allowed, sequences is not None)
            )
    if "state" in shapes:
        _check_state(shapes["state"], found, is_pool=is_pool)
    return found


def together(given: Any, *, before: bool) -> None:
    """Checks which of the names may stand beside one another."""
    if "beta" in given and "erase" in given:
        raise ValueError("expected beta or erase, found both; beta is erase=-beta * k, write=k and v=beta * v")
    if "write" in given and "erase" not in given:
        raise ValueError("expected erase beside write, which says where what erase reads goes, found none")
    if before and "erase" not in given:
        raise ValueError("expected erase beside before=True, found none; with beta write erase=-beta[..., None] * k")


def _meaning(name: str) -> str:
    meanings = {
        "decay": "one number a value head and token, or one for each channel of the key",
        "beta": "one number a value head and token",
        "erase": "a vector a value head and token",
        "write": "a vector a value head and token",
    }
    return meanings[name]


def _advice(name: str, shape: Shape, allowed: tuple[Shape, ...], is_packed: bool) -> str:
    """What to write where heads and tokens are exchanged."""
    for want in allowed:
        swapped = (want[1], want[0], *want[2:]) if is_packed else (want[0], want[2], want[1], *want[3:])
        if shape == swapped:
            return f"; write {name}.swapaxes({'0, 1' if is_packed else '1, 2'})"
    return ""


def _check_state(shape: Shape, found: Sizes, *, is_pool: bool) -> None:
    want = found.state
    if len(shape) == 4 and shape[1:] == want[1:] and (is_pool or shape[0] == want[0]):
        return
    swapped = len(shape) == 4 and shape[1:] == (found.hv, found.dv, found.dk)
    advice = "; write state.swapaxes(2, 3), and keep it so" if swapped else ""
    if not advice and len(shape) == 4 and shape[1:] == want[1:]:
        advice = "; write slots= where it is a pool"
    first = "slots" if is_pool else str(want[0])
    raise ValueError(f"expected state of shape ({first}, {', '.join(map(str, want[1:]))}), found {shape}{advice}")


def normalize(value: Any) -> float | None:
    """What is added to the sum of squares of the rows of q and k; None where they are used as they are."""
    if value is None or value is False:
        return None
    return NORMALIZE if value is True else _checks.positive("normalize", value)


def every(value: Any) -> int | None:
    """After how many tokens the state is kept each time; None for never."""
    if value is not None and (not _checks.is_integer(value) or value < 1):
        raise ValueError(
            f"expected every to be an integer >= 1, the tokens from one snapshot to the next, found {value!r}"
        )
    return None if value is None else int(value)


def slots(value: Any, batch: int, pool: int) -> npt.NDArray[np.int64]:
    """Where the state of each sequence lies in a pool, each place once, or -1 for a sequence without one."""
    array = _checks.integers("slots", value, batch)
    outside = np.flatnonzero((array < NO_SLOT) | (array >= pool))
    if outside.size:
        raise ValueError(
            f"expected slots in 0 to {pool - 1}, or -1 for none, found {array[outside[0]]} of sequence {outside[0]}"
        )
    order = np.argsort(array, kind="stable")
    same = np.flatnonzero((np.diff(array[order]) == 0) & (array[order][1:] != NO_SLOT))
    if same.size:
        first, second = order[same[0]], order[same[0] + 1]
        raise ValueError(f"expected each slot once, found {array[first]} of sequences {first} and {second}")
    return array
