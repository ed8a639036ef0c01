"""A problem: shapes and structure of one `attn.sdpa` call, checked, hashable, printed as a problem line."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _elements, _origins
from attn.kernel import _tensor
from attn.words import _words

Array = npt.NDArray[Any]
Alignment = str | Array | None

DYNAMIC = -1  # a size that is known at run time only


PLACES = ("q_origin", "k_origin", "b_origin", "h_origin", "whole")  # of a part in its whole
# What a kernel returns beside its output, in the order of its results.
OUTPUTS = ("lse", "weights", "max", "log_sum", "key_sums")


@dataclasses.dataclass(slots=True)
class Given(_words.Given):
    """What a call has beside q, k and v: rows of the table, and keywords that are none.

    Attributes:
      paged: as in `Problem`.
      into: "state" where results are added to others.
    """

    layout: str = "bhsd"
    heads: Any = None
    paged: tuple[int, str, int] | None = None
    out_dtype: Any = None
    into: tuple[str, ...] = ()
    return_lse: bool = False
    return_weights: bool = False
    return_max: bool = False
    return_log_sum: bool = False
    return_key_sums: bool = False

    def words(self) -> dict[str, Any]:
        """The words that are keywords by the table alone."""
        return {name: getattr(self, name) for name in _words.FORMS}

    def places(self) -> dict[str, Any]:
        """Where a part begins in its whole, and the dropout that counts by it."""
        return {name: getattr(self, name) for name in (*PLACES, "dropout")}


@dataclasses.dataclass(frozen=True)
class Problem:
    """One case: what a kernel is compiled for, and the key it is cached by. `None` leaves a feature out."""

    sizes: _checks.Sizes
    dtype: str
    kv: str | None = None
    kv_scale: str | None = None
    wide_result: bool = False
    scale: float | None = None
    causal: str | None = None
    align: str | None = None
    words: tuple[tuple[str, Any], ...] = ()
    bias: _checks.Shape | None = None
    mask: _checks.Shape | None = None
    sink: bool = False
    q_lengths: bool = False
    kv_lengths: bool = False
    q_origin: bool = False
    k_origin: bool = False
    dropout: float | None = None
    b_origin: bool = False
    h_origin: bool = False
    whole: bool = False
    has_scale: bool = False
    layout: str = "bhsd"
    paged: tuple[int, str, int] | None = None
    strided: bool = False
    lse: bool = False
    weights: bool = False
    max: bool = False
    log_sum: bool = False
    key_sums: bool = False
    grad: tuple[str, ...] = ()
    into: tuple[str, ...] = ()

    @property
    def score_dtype(self) -> str:
        """The type of scores, sinks and lse."""
        return "f64" if self.dtype == "f64" else "f32"

    def line(self) -> str:
        """The problem line, as "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 causal=bottom_right out=lse"."""
        words = {name: _value(x) for name, x in self.words}
        page, page_layout, pages = self.paged or (0, "nhd", DYNAMIC)
        is_full = self.mask == self.sizes.scores and DYNAMIC not in self.mask
        values: list[tuple[str, Any]] = [
            ("kv", self.kv),
            ("kvscale", self.kv_scale),
            ("result", "f32" if self.wide_result else None),
            ("scale", None if self.scale is None else repr(self.scale)),
            ("causal", self.causal),
            ("window", words.pop("window", None)),
            ("align", self.align),
            *words.items(),
            ("bias", _commas(self.bias)),
            ("mask", "bool" if is_full else _commas(self.mask)),
            *((name, getattr(self, name)) for name in _words.PRESENT),
            ("dropout", None if self.dropout is None else repr(self.dropout)),
            ("scale", "?" if self.has_scale else None),
            ("layout", None if self.layout == "bhsd" else self.layout),
            ("paged", f"{page}{'' if page_layout == 'nhd' else f',{page_layout}'}" if self.paged else None),
            ("pages", None if pages == DYNAMIC else pages),
            ("strided", self.strided),
            ("out", ",".join(name for name in OUTPUTS if getattr(self, name)) or None),
            ("grad", ",".join(self.grad) or None),
            ("into", ",".join(self.into) or None),
        ]
        sizes = [f"{name}{_size(size)}" for name, size in zip(self.sizes._fields, self.sizes, strict=True)]
        given = [name if x is True else f"{name}={x}" for name, x in values if x is not None and x is not False]
        return " ".join([*sizes, self.dtype, *given])

    @property
    def numbers(self) -> int:
        """How many numbers its kernel takes, behind all tensors but captured ones: of dropout, origins, the scale."""
        return 2 * (self.dropout is not None) + self.b_origin + self.h_origin + 3 * self.whole + self.has_scale

    def text(self, regions: str = "") -> str:
        """The whole source of the kernel: the line, and below it the captures and regions of traced functions."""
        return f"{self.line()}\n{regions}" if regions else self.line()

    def open_indices(self) -> str | None:
        """Which of b, h, i, j run below sizes that tensors of a call have; None if all are static."""
        if DYNAMIC not in self.sizes:
            return None
        if self.layout == "varlen":
            return "b" if self.paged else ""  # they run below the lengths of a sequence
        heads = "h" if self.sizes.hq == DYNAMIC else ""
        return f"b{heads}i" if self.paged else f"b{heads}ij"

    def open_sizes(self) -> str:
        """Which of b, i, j run below open sizes, of dense tensors."""
        runs = {"b": self.sizes.b, "i": self.sizes.sq, "j": self.sizes.sk}
        return "".join(label for label, size in runs.items() if size == DYNAMIC)

    def with_dynamic_sizes(self) -> Problem:
        """The problem with batch, lengths and, where Hq = Hkv, heads left open, so that one kernel serves them all."""
        # Layout bsd has no dimension for heads; pages do not say how many query heads share one of theirs.
        has_heads = self.sizes.hq == self.sizes.hkv and self.layout != "bsd" and self.paged is None
        opened = self.with_open(("b", "sq", "sk", "hq", "hkv") if has_heads else ("b", "sq", "sk"))
        return opened if self.paged is None else dataclasses.replace(opened, paged=(*self.paged[:2], DYNAMIC))

    def with_open(self, names: Iterable[str]) -> Problem:
        """The problem with the sizes of these names left open."""
        sizes = self.sizes._replace(**dict.fromkeys(names, DYNAMIC))

        def opened(shape: _checks.Shape | None) -> _checks.Shape | None:
            full = sizes.scores
            return None if shape is None else tuple(1 if x == 1 else y for x, y in zip(shape, full, strict=True))

        return dataclasses.replace(self, sizes=sizes, bias=opened(self.bias), mask=opened(self.mask))


def scale_shapes(sizes: _checks.Sizes, given: Given) -> dict[str, _checks.Shape]:
    """The shapes of k_scale and v_scale, by what has a scale."""
    shapes: dict[str, _checks.Shape] = {"head": (sizes.hkv,)}
    if given.layout != "varlen":
        shapes["token"] = (sizes.b, sizes.hkv, sizes.sk)
    if given.paged is not None:
        page, page_layout, pages = given.paged
        of_page = (page, sizes.hkv) if page_layout == "nhd" else (sizes.hkv, page)
        shapes |= {"page": (pages, sizes.hkv), "slot": (pages, *of_page)}
    return shapes


def key_scales(
    kv: str | None, k_scale: Any, v_scale: Any, shapes: Mapping[str, _checks.Shape]
) -> tuple[tuple[Array, ...], str | None]:
    """Scales in f32, of quantised keys and values, and what has one, as problem lines call it; none of others.

    Raises:
      TypeError: scales of int8 are missing, or there are some, other than the number 1, and keys and values need none.
      ValueError: they have none of the shapes.
    """
    k_scale, v_scale = (_elements.scale_of(x, kv) for x in (k_scale, v_scale))
    given = [name for name, x in (("k_scale", k_scale), ("v_scale", v_scale)) if x is not None]
    if kv in _elements.QUANTISED and len(given) < 2:
        raise TypeError(
            f"expected k_scale and v_scale beside k and v of {kv}, found {given[0] if given else 'neither'}"
        )
    if kv not in _elements.QUANTISED and given:
        raise TypeError(f"expected {given[0]} only beside k and v of int8, float8_e4m3fn or float8_e5m2; leave it out")
    if not given:
        return (), None
    scales, kind = _checks.kv_scales(k_scale, v_scale, shapes)
    return tuple(np.ascontiguousarray(x, np.float32) for x in scales), kind


def of(
    q: Array,
    k: Array,
    v: Array,
    given: Given | None = None,
    sizes: _checks.Sizes | None = None,
    are_lengths_equal: bool | None = None,
) -> Problem:
    """The problem of a call, without its regions.

    Args:
      q, k, v: of the call, for their types and, where `sizes` are not there, shapes.
      given: all else of the call.
      sizes, are_lengths_equal: of packed sequences.

    Raises:
      TypeError: the element types are not one float type for all of q, k, v, bias, nor one that k and v may have
        beside it, or mask is not bool.
      ValueError: a shape, a length or another value is not as docs/Semantics.md says.
    """
    given = Given() if given is None else given
    dtype, kv = _elements.element_type(q, bias=given.bias), _elements.key_type(q, k, v)
    if given.mask is not None and given.mask.dtype != np.bool_:
        raise TypeError(
            f"expected mask to be bool, true = attend, found {given.mask.dtype}; an additive mask is a bias"
        )
    words = given.words()
    if sizes is None:
        heads, key_heads = _checks.heads(given.heads, _checks.layout(given.layout))
        named = (("q", q, heads), ("k", k, key_heads), ("v", v, key_heads))
        views = [_checks.head_major(name, x, given.layout, count) for name, x, count in named]
        sizes = _checks.qkv(*[x.shape for x in views], layout=given.layout)
    rows = _checks.lengths("q_lengths", given.q_lengths, sizes.b, sizes.sq)
    keys = _checks.lengths("kv_lengths", given.kv_lengths, sizes.b, sizes.sk)
    if are_lengths_equal is None:
        # Only a word that says no alignment asks, whether all alignments are one. Lengths on a device may be any.
        is_known = not any(isinstance(x, _tensor.StandIn) for x in (given.q_lengths, given.kv_lengths))
        are_lengths_equal = _checks.placed(words) is None or (
            is_known and bool(np.all((sizes.sq if rows is None else rows) == (sizes.sk if keys is None else keys)))
        )
    _origins.of(sizes, given.causal if given.align is None else given.align, words, **given.places())
    returned = {name: _checks.flag(f"return_{name}", getattr(given, f"return_{name}")) for name in OUTPUTS}
    return Problem(
        sizes,
        dtype,
        kv=kv,
        kv_scale=key_scales(kv, given.k_scale, given.v_scale, scale_shapes(sizes, given))[1],
        wide_result=_elements.has_wide_result(given.out_dtype, q) or _elements.is_widened_into(given.into, dtype),
        into=given.into,
        scale=own_scale(given.scale, sizes.d),
        bias=None if given.bias is None else _checks.broadcast("bias", given.bias.shape, sizes.scores),
        mask=None if given.mask is None else _checks.broadcast("mask", given.mask.shape, sizes.scores),
        dropout=None if given.dropout is None else _checks.dropout(given.dropout)[0],
        has_scale=_tensor.as_scalar("scale", given.scale) is not None,
        layout=given.layout,
        paged=given.paged,
        **returned,
        **{name: getattr(given, name) is not None for name in _words.PRESENT},
        **structure(given.causal, given.align, words, sizes.b, are_lengths_equal=are_lengths_equal),
    )


def structure(
    causal: Any, align: Any, words: Mapping[str, Any], batch: int, *, are_lengths_equal: bool
) -> dict[str, Any]:
    """The alignments and words of a problem, as its fields, checked as docs/Semantics.md says."""
    checked = _checks.words(words)
    _checks.placement(causal, align, words, are_lengths_equal=are_lengths_equal)
    if align is not None and not _checks.placed(words):  # of a window without a bound
        checked = {"window": (None, None)} | checked
    if causal is None and _checks.placed(words):
        # With equal lengths all alignments are one; a kernel that serves other lengths must be told which.
        align = "top_left" if align is None else align

    def word(name: str, value: Any) -> str | None:
        chosen = _checks.alignment(name, value, batch)
        return chosen if chosen is None or isinstance(chosen, str) else "offset"

    return {"causal": word("causal", causal), "align": word("align", align), "words": tuple(checked.items())}


def own_scale(scale: Any, d: int) -> float | None:
    """The scale of a call; None where it is the one that kernels have without a word, or an argument of the kernel."""
    value = None if scale is None or _tensor.as_scalar("scale", scale) is not None else _checks.scale(scale, d)
    return None if d > 0 and value == 1.0 / math.sqrt(d) else value


def _size(size: int) -> str:
    return "?" if size == DYNAMIC else str(size)


def _value(value: Any) -> str:
    """The value of a word, as a problem line has it."""
    return ",".join("" if x is None else str(x) for x in value) if isinstance(value, tuple) else repr(value)


def _commas(shape: _checks.Shape | None) -> str | None:
    return None if shape is None else ",".join(map(_size, shape))
