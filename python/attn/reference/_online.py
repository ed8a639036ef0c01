"""The online form (docs/Semantics.md) in NumPy and float64: a state over keys seen so far, and its associative merge.

`attn.reference` re-exports it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.reference import _chain
from attn.reference._chain import apply

Array = npt.NDArray[Any]


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
