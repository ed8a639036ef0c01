"""Argument checks shared by `attn.sdpa` and `attn.reference`: shapes and the conventions of docs/Semantics.md.

Every function raises ValueError or TypeError with what was expected and what was found, and returns the checked value.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.kernel import _tensor
from attn.words import _words

Shape = tuple[int, ...]
ALIGNMENTS = ("top_left", "bottom_right")
LAYOUTS = ("bhsd", "bshd", "bsd")
MIN_I32, MAX_I32 = -(2**31), 2**31 - 1
UNBOUNDED = -1  # a bound of a window, or a window, in other systems: None
NO_BOUND = 2**33  # of a window: positions and offsets, of 32 bits each, are never so far apart


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


def qkv(q: Shape, k: Shape, v: Shape, layout: str = "bhsd") -> Sizes:
    """Checks the shapes of q (B, Hq, Sq, D), k (B, Hkv, Sk, D) and v (B, Hkv, Sk, Dv), views of arrays in `layout`."""
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
        # Fewer than there are keys, and in a ratio: heads are where lengths ought to be.
        looks_swapped = layout == "bhsd" and 0 < k[2] < k[1] and q[2] < q[1] and q[2] % k[2] == 0
        hint = '; write layout="bshd" for (batch, length, heads, head size)' if looks_swapped else ""
        raise ValueError(f"expected query heads in a multiple of the {sizes.hkv} key heads, found {sizes.hq}{hint}")
    return sizes


def gradients(value: Any) -> tuple[str, ...]:
    """The names in `grad`; one alone may stand without a tuple."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Collection) or isinstance(names, bytes) or not all(isinstance(x, str) for x in names):
        raise TypeError(f'expected grad to be names, as ("q", "k", "v"), found {value!r}')
    return tuple(names)


def flag(name: str, value: Any) -> bool:
    """True or False; a string is a mistake, and would be true."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"expected {name} to be True or False, found {value!r}")
    return bool(value)


def broadcast(name: str, shape: Shape, full: Shape) -> Shape:
    """Checks that a bias or mask of this shape broadcasts to the scores: rank 4, each size 1 or the full size."""
    if len(shape) != 4:
        hint = f"; write {name}[None, None]" if len(shape) == 2 and _fits(shape, full[2:]) else ""
        if not hint and len(shape) == 2 and _fits(shape[::-1], full[2:]):
            hint = f"; write {name}.T[None, None]"
        if len(shape) == 3 and _fits(shape, (full[0], *full[2:])):
            hint = f"; write {name}[:, None]"
        raise ValueError(f"expected {name} of rank 4 that broadcasts to {full}, found shape {shape}{hint}")
    for dim, (size, want) in enumerate(zip(shape, full, strict=True)):
        if size not in (1, want):
            raise ValueError(f"expected dimension {dim} of {name} to be 1 or {want}, found {size} in shape {shape}")
    return shape


def _fits(shape: Shape, full: Shape) -> bool:
    return all(size in (1, want) for size, want in zip(shape, full, strict=True))


def scale(value: Any, d: int) -> float:
    """The scale as a float: 1/√D where it is None. Zero and negative values are legal."""
    if value is None:
        return 1.0 / math.sqrt(d)
    return _finite("scale", value)


def words(given: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a call that are there, checked by their form (attn.words._words)."""
    checks: dict[str, Callable[[str, Any], Any]] = {"Bounds": window, "Integer": integer, "Positive": positive}
    present = {name: value for name, value in given.items() if not is_absent(name, value)}
    return {name: checks[_words.FORMS[name]](name, value) for name, value in present.items()}


def is_absent(name: str, value: Any) -> bool:
    """Whether a word has no value, or one that means none: a softcap of 0, a window without a bound."""
    form = _words.FORMS[name]
    if form == "Positive" and isinstance(value, numbers.Real) and not isinstance(value, bool):
        return bool(value == 0)
    if form == "Bounds":
        value = (value, value) if is_integer(value) and value == UNBOUNDED else value
        if isinstance(value, tuple | list) and len(value) == 2:
            return all(x is None or (is_integer(x) and x == UNBOUNDED) for x in value)
    return value is None


def placed(given: Mapping[str, Any]) -> str | None:
    """The first word of a call that an alignment places."""
    return next((name for name in _words.PLACED if not is_absent(name, given.get(name))), None)


def placement(causal: Any, align: Any, given: Mapping[str, Any], *, are_lengths_equal: bool) -> None:
    """Checks that words which an alignment places have just one, unless with equal lengths all alignments are one."""
    name = placed(given)
    is_named = any(given.get(x) is not None for x in _words.PLACED)  # a window without a bound may have an alignment
    if align is not None and (causal is not None or not is_named):
        raise ValueError(
            f"expected align only for a {' or '.join(_words.PLACED)} without causal; causal says the alignment itself"
        )
    if name is not None and causal is None and align is None and not are_lengths_equal:
        raise ValueError(f'expected align for a {name} where Sq and Sk differ; write align="bottom_right"')


def positive(name: str, value: Any) -> float:
    """A number > 0."""
    if _finite(name, value) <= 0:
        raise ValueError(f"expected {name} > 0, found {value}; leave it out for none")
    return float(value)


def is_integer(value: Any) -> bool:
    """Whether it is an integer; True is none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def are_counts(values: Any, count: int) -> bool:
    """Whether these are so many integers, each 1 or greater."""
    return isinstance(values, tuple | list) and len(values) == count and all(is_integer(x) and x >= 1 for x in values)


def integer(name: str, value: Any) -> int:
    """An integer, not below the least that the word takes, that fits in 32 bits."""
    least = _words.MINIMA[name]
    if not is_integer(value):
        raise TypeError(f"expected {name} to be an integer, found {value!r}")
    if not least <= value <= MAX_I32:
        raise ValueError(f"expected {name} in {least} to {MAX_I32}, found {value}; leave it out for none")
    return int(value)


def alignment(name: str, value: Any, b: int) -> str | npt.NDArray[np.int64] | None:
    """A causal alignment: None, "top_left", "bottom_right", or an integer array [B] of offsets."""
    if value is None:
        return None
    if isinstance(value, str):
        if value not in ALIGNMENTS:
            raise ValueError(f'expected {name} to be "top_left", "bottom_right" or offsets, found "{value}"')
        return value
    if isinstance(value, bool | np.bool_):
        raise TypeError(f'expected {name} to say its alignment, found {value}; write "top_left" or "bottom_right"')
    return integers(name, value, b)


def window(name: str, value: Any) -> tuple[int | None, int | None]:
    """A window (L, R), both inclusive and ≥ 0; None or -1 in it for unbounded."""
    if is_integer(value) and value == UNBOUNDED:
        return (None, None)
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"expected {name} to be a pair (left, right), found {value!r}")
    for bound in value:
        if bound is not None and not (is_integer(bound) and bound >= UNBOUNDED):
            advice = "None or -1 for a side without a bound"
            raise ValueError(f"expected {name} bounds to be integers >= 0 or None, found {value!r}; write {advice}")
    left, right = (None if bound is None or not 0 <= bound < NO_BOUND else int(bound) for bound in value)
    return (left, right)


def lengths(name: str, value: Any, b: int, limit: int) -> npt.NDArray[np.int64] | None:
    """Effective lengths [B], each in 0 … limit."""
    if value is None:
        return None
    array = integers(name, value, b)
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
    """A layout of q, k, v and out: "bhsd", "bshd" or "bsd"."""
    if value not in LAYOUTS:
        raise ValueError(f'expected layout to be "bhsd", "bshd" or "bsd", found {value!r}')
    return str(value)


def heads(value: Any, layout: str) -> tuple[int, int]:
    """The numbers of query and of key heads, which layout "bsd" alone does not tell; (1, 1) for the others."""
    if layout != "bsd":
        if value is not None:
            raise ValueError(f'expected heads only with layout="bsd", found layout {layout!r}; leave heads out')
        return (1, 1)
    pair = (value, value) if isinstance(value, numbers.Integral) else value
    if not are_counts(pair, 2):
        raise ValueError(
            f'expected heads with layout="bsd", a number >= 1 or (query heads, key heads), found {value!r}'
        )
    return (int(pair[0]), int(pair[1]))


def head_major(name: str, x: npt.NDArray[Any], layout: str, heads: int) -> npt.NDArray[Any]:
    """A view (B, H, S, D) of an array in this layout; one of another rank as it is, for `qkv` to refuse."""
    if layout == "bsd":
        if x.ndim != 3:
            raise ValueError(f"expected {name} of rank 3 (batch, length, heads x head size), found shape {x.shape}")
        if x.shape[2] % heads:
            raise ValueError(f"expected the {x.shape[2]} columns of {name} to be a multiple of its {heads} heads")
        x = x.reshape(*x.shape[:2], heads, x.shape[2] // heads)
    return x if layout == "bhsd" or x.ndim != 4 else x.swapaxes(1, 2)


def sink(value: npt.NDArray[Any], heads: int) -> npt.NDArray[Any]:
    """Sinks [Hq], one score a query head."""
    if value.shape != (heads,):
        raise ValueError(f"expected sink of shape ({heads},), one a query head, found {value.shape}")
    if value.dtype.kind not in "fV":
        raise TypeError(f"expected sink to hold floats, found {value.dtype}")
    return value


def kv_scales(
    k_scale: Any, v_scale: Any, shapes: Mapping[str, Shape]
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], str]:
    """Scales of quantised keys and values, and what both have one for.

    Args:
      k_scale, v_scale: arrays of floats; or a number, or an array of one element, for what the other one has, and of
        two such for each key head.
      shapes: what may have a scale, "head", "token", "page" or "slot", and the shape of the array of them.
    """
    arrays = [_scale_array(name, x) for name, x in (("k_scale", k_scale), ("v_scale", v_scale))]
    wanted = next((x.shape for x in arrays if x.ndim), shapes["head"])
    arrays = [x if x.ndim else np.broadcast_to(x, wanted) for x in arrays]
    kinds = []
    for name, array in zip(("k_scale", "v_scale"), arrays, strict=True):
        fitting = [kind for kind, shape in shapes.items() if array.shape == shape]
        if not fitting:
            known = ", or ".join(f"{x}, one a {'key head' if kind == 'head' else kind}" for kind, x in shapes.items())
            raise ValueError(f"expected {name} of shape {known}, found {array.shape}")
        if len(fitting) > 1:
            raise ValueError(
                f"expected {name} of a shape that one kind of scale has, found {array.shape}, which is one a "
                f"{fitting[0]} as well as one a {fitting[1]}; allocate one more page"
            )
        kinds += fitting
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"expected k_scale and v_scale both one a {kinds[0]} or both one a {kinds[1]}, found shapes "
            f"{arrays[0].shape} and {arrays[1].shape}"
        )
    return (arrays[0], arrays[1]), kinds[0]


def _scale_array(name: str, value: Any) -> npt.NDArray[Any]:
    """Floats; one that is alone has no dimension."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    array = np.asarray(_finite(name, value)) if is_number else _tensor.as_numbers(name, value)
    if array.dtype.kind not in "fV":
        raise TypeError(f"expected {name} to hold floats, found {array.dtype}")
    return array.reshape(()) if array.shape == (1,) else array


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"expected {name} to be a number, found {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"expected {name} to fit in a float of 64 bits, found a larger number") from None
    if not math.isfinite(number):
        raise ValueError(f"expected a finite {name}, found {value}")
    return number


def integers(name: str, value: Any, b: int) -> npt.NDArray[np.int64]:
    """Integers [B] of 32 bits."""
    # A list of none is one of integers; NumPy has it hold floats.
    is_empty = isinstance(value, list | tuple) and not value
    array = np.zeros(0, np.int64) if is_empty else integer_array(name, value)
    if array.shape != (b,):
        raise ValueError(f"expected {name} of shape ({b},), one a batch, found {array.shape}")
    if ((array < MIN_I32) | (array > MAX_I32)).any():
        raise ValueError(f"expected {name} to fit in 32 bits, found {array.tolist()}")
    return array.astype(np.int64)


def integer_array(name: str, value: Any) -> npt.NDArray[Any]:
    """Integers of any shape."""
    array = _tensor.as_numbers(name, value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"expected {name} to hold integers, found {array.dtype}")
    return array
