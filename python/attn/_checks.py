"""Argument checks shared by `attn.sdpa` and `attn.reference`: shapes and the conventions of SPEC §3.

Every function raises ValueError or TypeError with what was expected and what was found, and returns the checked value.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
ALIGNMENTS = ("top_left", "bottom_right")
LAYOUTS = ("bhsd", "bshd")


class Sizes(NamedTuple):
    """The sizes of one problem: batch, query and key heads, query and key lengths, head sizes of Q/K and of V."""

    b: int
    hq: int
    hkv: int
    sq: int
    sk: int
    d: int
    dv: int

    @property
    def scores(self) -> Shape:
        """The shape of the score matrix, (B, Hq, Sq, Sk)."""
        return (self.b, self.hq, self.sq, self.sk)


def qkv(q: Shape, k: Shape, v: Shape) -> Sizes:
    """Checks the shapes of q (B, Hq, Sq, D), k (B, Hkv, Sk, D) and v (B, Hkv, Sk, Dv)."""
    for name, shape in (("q", q), ("k", k), ("v", v)):
        if len(shape) != 4:
            raise ValueError(f"expected {name} of rank 4 (batch, heads, length, head size), found shape {shape}")
    sizes = Sizes(q[0], q[1], k[1], q[2], k[2], q[3], v[3])
    if k[0] != sizes.b or v[0] != sizes.b:
        raise ValueError(f"expected one batch size, found {q[0]} in q, {k[0]} in k, {v[0]} in v")
    if k[3] != sizes.d:
        raise ValueError(f"expected k to have the head size of q, {sizes.d}, found {k[3]}")
    if v[1:3] != k[1:3]:
        raise ValueError(f"expected v to have the heads and length of k, {k[1:3]}, found {v[1:3]}")
    if sizes.d == 0:
        raise ValueError("expected a head size of q and k of at least 1, found 0")
    if sizes.hkv == 0 or sizes.hq % sizes.hkv:
        raise ValueError(f"expected query heads in a multiple of the {sizes.hkv} key heads, found {sizes.hq}")
    return sizes


def broadcast(name: str, shape: Shape, full: Shape) -> Shape:
    """Checks that a bias or mask of this shape broadcasts to the scores: rank 4, each size 1 or the full size."""
    if len(shape) != 4:
        hint = f"; write {name}[None, None]" if len(shape) == 2 else ""
        raise ValueError(f"expected {name} of rank 4 that broadcasts to {full}, found shape {shape}{hint}")
    for dim, (size, want) in enumerate(zip(shape, full, strict=True)):
        if size not in (1, want):
            raise ValueError(f"expected dimension {dim} of {name} to be 1 or {want}, found {size} in shape {shape}")
    return shape


def scale(value: Any, d: int) -> float:
    """The scale as a float: 1/√D where it is None. Zero and negative values are legal."""
    if value is None:
        return 1.0 / math.sqrt(d)
    return _finite("scale", value)


def softcap(value: Any) -> float | None:
    """The cap c > 0 of c·tanh(s/c), or None."""
    if value is None:
        return None
    if _finite("softcap", value) <= 0:
        raise ValueError(f"expected softcap > 0, found {value}; leave it out for no cap")
    return float(value)


def alignment(name: str, value: Any, b: int) -> str | npt.NDArray[np.int64] | None:
    """A causal alignment: None, "top_left", "bottom_right", or an integer array [B] of offsets."""
    if value is None:
        return None
    if isinstance(value, str):
        if value not in ALIGNMENTS:
            raise ValueError(f'expected {name} to be "top_left", "bottom_right" or offsets, found "{value}"')
        return value
    if isinstance(value, bool):
        raise TypeError(f'expected {name} to say its alignment, found {value}; write "top_left" or "bottom_right"')
    return _integers(name, value, b)


def window(value: Any) -> tuple[int | None, int | None] | None:
    """A window (L, R), both inclusive and ≥ 0; None in it for unbounded."""
    if value is None:
        return None
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"expected window to be a pair (left, right), found {value!r}")
    for bound in value:
        if bound is not None and (not isinstance(bound, numbers.Integral) or bound < 0):
            raise ValueError(f"expected window bounds to be integers >= 0 or None, found {value!r}")
    return (value[0], value[1])


def lengths(name: str, value: Any, b: int, limit: int) -> npt.NDArray[np.int64] | None:
    """Effective lengths [B], each in 0 … limit."""
    if value is None:
        return None
    array = _integers(name, value, b)
    if ((array < 0) | (array > limit)).any():
        raise ValueError(f"expected {name} in 0 to {limit}, found {array.tolist()}")
    return array


def dropout(value: Any) -> tuple[float, int, int]:
    """Dropout as (p, seed, offset): p in [0, 1], seed and offset unsigned 64-bit."""
    if not isinstance(value, tuple | list) or len(value) != 3:
        raise ValueError(f"expected dropout to be (p, seed, offset), found {value!r}")
    p, seed, offset = value
    if not 0.0 <= _finite("dropout p", p) <= 1.0:
        raise ValueError(f"expected dropout p in [0, 1], found {p}")
    for name, number in (("seed", seed), ("offset", offset)):
        if not isinstance(number, numbers.Integral) or not 0 <= int(number) < 2**64:
            raise ValueError(f"expected the dropout {name} to be an unsigned 64-bit integer, found {number!r}")
    return (float(p), int(seed), int(offset))


def layout(value: Any) -> str:
    """A layout of q, k, v and out: "bhsd" or "bshd"."""
    if value not in LAYOUTS:
        raise ValueError(f'expected layout to be "bhsd" or "bshd", found {value!r}')
    return str(value)


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"expected {name} to be a number, found {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"expected a finite {name}, found {value}")
    return float(value)


def _integers(name: str, value: Any, b: int) -> npt.NDArray[np.int64]:
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"expected {name} to hold integers, found {array.dtype}")
    if array.shape != (b,):
        raise ValueError(f"expected {name} of shape ({b},), one a batch, found {array.shape}")
    return array.astype(np.int64)
