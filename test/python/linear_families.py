"""Ten families of linear attention, each by the recurrence of its paper, in f64, one head and one token at a time.

Each function is the paper's own update of a state S (Dk, Dv): it takes the state, a token's q, k, v and gates by name,
and returns the new state. Beside it stands how the arguments of `linear_attention` say the same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Sizes(NamedTuple):
    """The sizes of a problem: batch, key heads, value heads, tokens, head sizes of K and V."""

    b: int
    hk: int
    hv: int
    t: int
    dk: int
    dv: int


class Family(NamedTuple):
    """A family.

    Attributes:
      step: (S, q, k, v, **gates) → S.
      gates: of each gate what a token has: "head", "key" or "value" numbers; and what is drawn.
      words: the arguments of `linear_attention`, of arrays (B, Hv, T, ·), those of "head" with a last size of 1.
    """

    step: Callable[..., Any]
    gates: dict[str, tuple[str, str]]
    words: Callable[..., dict[str, Any]]


class Case(NamedTuple):
    """The arguments of `linear_attention`, and what the family's own recurrence makes of them."""

    options: dict[str, Any]
    out: Any
    state: Any


def one(x: Any) -> Any:
    """(B, Hv, T) of (B, Hv, T, 1)."""
    return x[..., 0]


def delta(s, k, v, beta):
    """Moves what the state has for k towards v (Schlag et al., 2021)."""
    return s + beta * np.outer(k, v - k @ s)


RATE = 1.7  # −A of Mamba-2
KEEP = 0.3  # −ln γ of RetNet

FAMILIES: dict[str, Family] = {
    # Katharopoulos et al., 2020, without the normaliser
    "linear": Family(lambda s, q, k, v: s + np.outer(k, v), {}, lambda **_: {}),
    # Sun et al., 2023: a constant γ a head; lightning attention of MiniMax is the same
    "RetNet, lightning": Family(
        lambda s, q, k, v: np.exp(-KEEP) * s + np.outer(k, v),
        {},
        lambda v, **_: {"decay": np.full(v.shape[:3], -KEEP)},
    ),
    # Yang et al., 2023: a gate a channel of k, α = e^g
    "GLA": Family(
        lambda s, q, k, v, g: np.exp(g)[:, None] * s + np.outer(k, v),
        {"g": ("key", "decay")},
        lambda g, **_: {"decay": g},
    ),
    # Dao and Gu, 2024: h = e^(Δ A) h + Δ B xᵀ, y = hᵀ C; x is v, B is k, C is q
    "Mamba-2": Family(
        lambda s, q, k, v, dt: np.exp(-RATE * dt) * s + np.outer(k, dt * v),
        {"dt": ("head", "positive")},
        lambda v, dt, **_: {"decay": -RATE * one(dt), "v": dt * v},
    ),
    "DeltaNet": Family(
        lambda s, q, k, v, beta: delta(s, k, v, beta),
        {"beta": ("head", "unit")},
        lambda beta, **_: {"beta": one(beta)},
    ),
    # Yang et al., 2024: the gate first, then the delta rule
    "GDN": Family(
        lambda s, q, k, v, g, beta: delta(np.exp(g) * s, k, v, beta),
        {"g": ("head", "decay"), "beta": ("head", "unit")},
        lambda g, beta, **_: {"decay": one(g), "beta": one(beta)},
    ),
    # Kimi Team, 2025: the same with a gate a channel
    "KDA": Family(
        lambda s, q, k, v, g, beta: delta(np.exp(g)[:, None] * s, k, v, beta),
        {"g": ("key", "decay"), "beta": ("head", "unit")},
        lambda g, beta, **_: {"decay": g, "beta": one(beta)},
    ),
    # S = (I − k (u ∘ k)ᵀ) D S + k (w ∘ v)ᵀ: gates a channel for what is erased and for what is written
    "GDN-2": Family(
        lambda s, q, k, v, g, u, w: (
            (np.eye(k.size) - np.outer(k, u * k)) @ (np.exp(g)[:, None] * s) + np.outer(k, w * v)
        ),
        {"g": ("key", "decay"), "u": ("key", "unit"), "w": ("value", "unit")},
        lambda k, v, g, u, w, **_: {"decay": g, "erase": -u * k, "v": w * v},
    ),
    # Hu et al., 2025: what is erased is read by a key p of its own, in front of the gate
    "Comba": Family(
        lambda s, q, k, v, g, beta, p: np.exp(g) * s - beta * np.outer(k, p @ s) + beta * np.outer(k, v),
        {"g": ("head", "decay"), "beta": ("head", "unit"), "p": ("key", "direction")},
        lambda v, g, beta, p, **_: {"decay": one(g), "erase": -beta * p, "v": beta * v, "before": True},
    ),
    # Peng et al., 2025: S (D + a bᵀ) with S of values × keys, here transposed: D S + b (aᵀ S)
    "RWKV-7, DPLR": Family(
        lambda s, q, k, v, g, a, b: (np.diag(np.exp(g)) + np.outer(b, a)) @ s + np.outer(k, v),
        {"g": ("key", "decay"), "a": ("key", "direction"), "b": ("key", "direction")},
        lambda g, a, b, **_: {"decay": g, "erase": a, "write": b, "before": True},
    ),
}


def _drawn(rng: np.random.Generator, what: str, shape: tuple[int, ...]) -> Any:
    x = rng.standard_normal(shape)
    length = np.sqrt((x * x).sum(-1, keepdims=True))
    return {"decay": -np.abs(x), "positive": np.abs(x), "unit": 1 / (1 + np.exp(-x)), "direction": x / length}[what]


def draw_family(name: str, sizes: Sizes, dtype: Any = np.float64, seed: int = 0) -> Case:
    """Random arguments of a family, rounded to a type, and its own recurrence of them."""
    family, rng = FAMILIES[name], np.random.default_rng(seed)
    b, hk, hv, t, dk, dv = sizes
    width = {"head": 1, "key": dk, "value": dv}
    rounded = lambda x: x.astype(dtype).astype(np.float64)  # noqa: E731
    q, k = (rng.standard_normal((b, hk, t, dk)) for _ in range(2))
    k /= np.sqrt((k * k).sum(-1, keepdims=True))
    v, state = rng.standard_normal((b, hv, t, dv)), rng.standard_normal((b, hv, dk, dv))
    gates = {x: _drawn(rng, what, (b, hv, t, width[of])) for x, (of, what) in family.gates.items()}
    q, k, v, state = map(rounded, (q, k, v, state))
    gates = {x: rounded(y) for x, y in gates.items()}
    wide = {"q": np.repeat(q, hv // hk, 1), "k": np.repeat(k, hv // hk, 1), "v": v}
    scale, out, last = dk**-0.5, np.zeros(v.shape), np.zeros(state.shape)
    for n, h in np.ndindex(b, hv):
        s = state[n, h]
        for i in range(t):
            mine = {x: y[n, h, i] for x, y in (wide | gates).items()}
            mine |= {x: mine[x][0] for x, (of, _) in family.gates.items() if of == "head"}
            s = family.step(s, **mine)
            out[n, h, i] = scale * mine["q"] @ s
        last[n, h] = s
    options = {"q": q, "k": k, "v": v, "state": state} | family.words(k=wide["k"], v=v, **gates)
    return Case(options, out, last)
