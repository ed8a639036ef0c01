"""The whole forward of docs/Semantics.md in NumPy and float64: `sdpa`, and `predicate`, which keys a query keeps.

`attn.reference` re-exports both. `steps` is what `sdpa` and its backward (_backward) share: all up to the softmax.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _origins
from attn.kernel import _tensor
from attn.reference import _chain
from attn.reference._chain import apply, scores, softmax_terms
from attn.trace import _capture
from attn.words import _signatures, _words
from attn.words._types import Alignment, Integers, MaskMod, ScoreMod
from attn.words._words import Given

Array = npt.NDArray[Any]

PLACES = ("q_origin", "k_origin", "b_origin", "h_origin")
OF_PREDICATE = (*_words.MASKS, "causal", "align", "mask", "q_lengths", "kv_lengths", *PLACES)


class Steps(NamedTuple):
    """The steps of one call up to the softmax; q, k, v are head-major, k and v those that are multiplied.

    Attributes:
      k_given, v_given: k and v without k_scale and v_scale.
      scale: the factor on the dot products.
      dot, scaled, modified, s: the scores (B, Hq, Sq, Sk): q·k; after the scale; after score_mod; after softcap, bias
        and mask, −inf where a key is removed.
      weights, max, log_sum: p / l without dropout, and the terms m and ln l of lse, −inf in rows beyond q_lengths too.
    """

    sizes: _checks.Sizes
    q: Array
    k: Array
    v: Array
    k_given: Array
    v_given: Array
    scale: float
    dot: Array
    scaled: Array
    modified: Array
    s: Array
    weights: Array
    max: Array
    log_sum: Array

    @property
    def lse(self) -> Array:
        """The log-sum-exp of each row."""
        return self.max + self.log_sum


@_signatures.explains_arguments
def sdpa(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    scale: float | npt.ArrayLike | None = None,
    causal: str | npt.ArrayLike | None = None,
    window: tuple[int | None, int | None] | None = None,
    chunk: int | None = None,
    prefix: int | None = None,
    softcap: float | None = None,
    bias: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    sink: npt.ArrayLike | None = None,
    align: str | npt.ArrayLike | None = None,
    q_lengths: npt.ArrayLike | None = None,
    kv_lengths: npt.ArrayLike | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    alibi_slopes: npt.ArrayLike | None = None,
    softcap_first: bool = False,
    dropout: tuple[float, int, int] | None = None,
    layout: str = "bhsd",
    heads: int | tuple[int, int] | None = None,
    k_scale: npt.ArrayLike | None = None,
    v_scale: npt.ArrayLike | None = None,
    q_origin: npt.ArrayLike | None = None,
    k_origin: npt.ArrayLike | None = None,
    b_origin: int | None = None,
    h_origin: int | None = None,
    whole: tuple[int, int, int] | None = None,
    return_lse: bool = False,
    return_weights: bool = False,
    return_max: bool = False,
    return_log_sum: bool = False,
    return_key_sums: bool = False,
) -> Array | tuple[Array, ...]:
    """Scaled dot-product attention, the formula of docs/Semantics.md in its order, every step in float64.

    Weights are divided by their sum before they multiply V. Kernels divide last: their out is finite where max|V| times
    the number of keys of a row is within the type of the accumulation, which for V of float32 is float32.

    Args:
      q, k, v: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv); for layout "bshd" heads and length are exchanged; for
        "bsd" they are (B, Sq, Hq·D), (B, Sk, Hkv·D), (B, Sk, Hkv·Dv).
      scale: factor on Q·Kᵀ; None for 1/√D.
      causal: "top_left", "bottom_right" or offsets [B]: keeps j ≤ i + off.
      window: (L, R), inclusive, None or -1 for unbounded: keeps i + off − L ≤ j ≤ i + off + R.
      chunk: c ≥ 1: keeps the keys of the query's chunk, (i + off) // c = j // c.
      prefix: n ≥ 1: keeps keys j < n whatever causal, window and chunk say.
      softcap: c > 0 of c·tanh(s / c), before the bias; 0 for none.
      bias: added to the scores, rank 4, each size 1 or full; exactly −inf removes the key.
      mask: bool, true = attend, rank 4, each size 1 or full.
      sink: [Hq], a score a head that only adds to the sum of the softmax.
      align: the alignment of a window or chunk without causal, spelled as causal; not where Sq = Sk without lengths.
      q_lengths, kv_lengths: [B] effective lengths; later rows give out 0, lse −inf, later keys are removed.
      score_mod: score_mod(score, b, h, i, j), called once on arrays that broadcast to the scores, after the scale.
      mask_mod: mask_mod(b, h, i, j) → bool, called once likewise; true = attend.
      alibi_slopes: [Hq] or [B, Hq]: −slope · |i + kv_len − q_len − j| is added behind score_mod and softcap.
      softcap_first: softcap comes before score_mod.
      dropout: (p, seed, offset); the sum of the softmax uses the undropped weights.
      layout: "bhsd", "bshd" or "bsd", of q, k, v and out.
      heads: Hq, or (Hq, Hkv), for layout "bsd" only.
      k_scale, v_scale: k and v stand for k_scale·k and v_scale·v: [Hkv], one a key head, or [B, Hkv, Sk], one a token.
      q_origin, k_origin: an integer or [B]: masks, functions and dropout take row i for i + q_origin and key j for
        j + k_origin, those of a whole that q, k and v are a part of.
      b_origin, h_origin: where batch and heads begin in it, for functions and dropout.
      whole: (Hq, Sq, Sk) of it, by which dropout counts.
      return_lse, return_weights: ask for lse (B, Hq, Sq) and for the weights (B, Hq, Sq, Sk) that multiply V.
      return_max, return_log_sum: ask for the terms m and ln l of lse, both (B, Hq, Sq).
      return_key_sums: ask for the sums of the weights of each key (B, Hkv, Sk), over queries and heads that share one.

    Returns:
      out (B, Hq, Sq, Dv) in `layout`, or a tuple of out and further results, in the order lse, weights, max,
      log_sum, key_sums; all float64.

    Raises:
      ValueError, TypeError: an argument has the wrong shape, kind or range; the message says what was expected.
    """
    given = in_one_function(locals(), q, k, layout)
    at = steps(q, k, v, **{name: given[name] for name in KEYWORDS})
    places = origins(at.sizes, Given(**{name: given[name] for name in Given.__dataclass_fields__ if name in given}))
    weights = at.weights
    if dropout is not None:
        weights = _chain.dropout(weights, *_checks.dropout(dropout), dropout_index(at.sizes, places))
    results = [in_layout(apply(weights, at.v, keep=at.s != -np.inf), layout)]
    results += [at.lse] if return_lse else []
    results += [weights] if return_weights else []
    results += [at.max] if return_max else []
    results += [at.log_sum] if return_log_sum else []
    if return_key_sums:
        sizes = at.sizes
        by_group = weights.reshape(sizes.b, sizes.hkv, sizes.hq // sizes.hkv, sizes.sq, sizes.sk)
        results.append(by_group.sum((2, 3)))
    return results[0] if len(results) == 1 else tuple(results)


# The keywords of `steps`: without dropout, which follows, and what says how much is returned.
_OTHERS = ("q", "k", "v", "dropout", "whole", "alibi_slopes", "softcap_first")
KEYWORDS = [x for x in inspect.signature(sdpa).parameters if x not in _OTHERS and not x.startswith("return_")]


def in_one_function(given: Mapping[str, Any], q: npt.ArrayLike, k: npt.ArrayLike, layout: str) -> dict[str, Any]:
    """The options of a call with its ALiBi, and a softcap in front of score_mod, as a part of score_mod."""
    options = dict(given)
    slopes, is_first = options.pop("alibi_slopes", None), options.pop("softcap_first", False)
    score_mod = options.get("score_mod")
    if slopes is None and not (_checks.flag("softcap_first", is_first) and score_mod is not None):
        return options
    softcap = None if _checks.is_absent("softcap", options.get("softcap")) else options["softcap"]
    options["softcap"] = None
    axis = 2 if layout == "bhsd" else 1
    rows, keys = (
        np.asarray(np.shape(x)[axis] if options.get(name) is None else options[name])
        for name, x in (("q_lengths", q), ("kv_lengths", k))
    )
    offsets = np.broadcast_to(keys - rows, np.shape(q)[0])
    alibi_slopes = None if slopes is None else np.asarray(slopes)
    if alibi_slopes is not None and any(options.get(name) is not None for name in PLACES):
        raise ValueError("expected no origins beside alibi_slopes, whose distances are of the lengths given")

    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        s = softcap * np.tanh(s / softcap) if softcap is not None and is_first else s
        s = s if score_mod is None else score_mod(s, b, h, i, j)
        s = softcap * np.tanh(s / softcap) if softcap is not None and not is_first else s
        if alibi_slopes is None:
            return s
        slope = alibi_slopes[h] if alibi_slopes.ndim == 1 else alibi_slopes[b, h]
        return s - slope * np.abs(i + offsets[b] - j)

    options["score_mod"] = score
    return options


def steps(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    layout: str = "bhsd",
    heads: int | tuple[int, int] | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    **options: Any,
) -> Steps:
    """Steps 1 to 5 of the formula; the arguments are those of `sdpa`."""
    given = Given(**options)
    query_heads, key_heads = _checks.heads(heads, _checks.layout(layout))
    q, k_given, v_given = (
        _checks.head_major(name, np.asarray(x, dtype=np.float64), layout, count)
        for name, x, count in (("q", q, query_heads), ("k", k, key_heads), ("v", v, key_heads))
    )
    sizes = _checks.qkv(q.shape, k_given.shape, v_given.shape)
    k, v = k_given, v_given
    if given.k_scale is not None or given.v_scale is not None:
        shapes = {"head": (sizes.hkv,), "token": (sizes.b, sizes.hkv, sizes.sk)}
        scales, _ = _checks.kv_scales(given.k_scale, given.v_scale, shapes)
        k, v = (x * by_row(y) for x, y in zip((k, v), scales, strict=True))
    if given.bias is not None:
        _checks.broadcast("bias", np.shape(given.bias), sizes.scores)
    sink = None if given.sink is None else _checks.sink(np.asarray(given.sink, dtype=np.float64), sizes.hq)
    masks = {name: x for name in OF_PREDICATE if (x := getattr(given, name)) is not None}
    kept = predicate(sizes, mask_mod=mask_mod, **masks)
    scale = _tensor.as_scalar("scale", given.scale)
    factor = _checks.scale(given.scale if scale is None else float(scale), sizes.d)
    with np.errstate(invalid="ignore", over="ignore"):  # scores of keys that are removed may be anything
        dot = scores(q, k)
        scaled = s = _chain.scale(dot, factor)
        if score_mod is not None:
            at = positions(sizes, origins(sizes, given))
            s = _capture.evaluate(score_mod, s, *at).astype(np.float64)
            s = np.broadcast_to(s, sizes.scores)
        modified = s
        if not _checks.is_absent("softcap", given.softcap):
            s = _chain.softcap(s, given.softcap)
    s = _chain.mask(s, given.bias, kept)
    weights, row_max, log_sum = softmax_terms(s, sink)
    if given.q_lengths is not None:  # with a sink such a row is empty all the same
        inside = np.arange(sizes.sq) < np.asarray(given.q_lengths)[:, None, None]
        row_max, log_sum = (np.where(inside, x, -np.inf) for x in (row_max, log_sum))
    return Steps(sizes, q, k, v, k_given, v_given, factor, dot, scaled, modified, s, weights, row_max, log_sum)


def predicate(
    sizes: _checks.Sizes,
    causal: Alignment | None = None,
    window: tuple[int | None, int | None] | None = None,
    align: Alignment | None = None,
    mask: npt.ArrayLike | None = None,
    q_lengths: Integers | None = None,
    kv_lengths: Integers | None = None,
    mask_mod: MaskMod | None = None,
    *,
    chunk: int | None = None,
    prefix: int | None = None,
    q_origin: npt.ArrayLike | None = None,
    k_origin: npt.ArrayLike | None = None,
    b_origin: int | None = None,
    h_origin: int | None = None,
) -> npt.NDArray[np.bool_]:
    """P of the formula of docs/Semantics.md, step 4: which keys each query keeps, bool, broadcasts to (B, Hq, Sq, Sk).

    Lengths ∧ (causal ∧ window ∧ chunk ∨ j < prefix) ∧ boolean mask ∧ mask_mod; the arguments are those of `sdpa`.
    """
    b, _, i, j = indices(sizes)
    q_len = _checks.lengths("q_lengths", q_lengths, sizes.b, sizes.sq)
    kv_len = _checks.lengths("kv_lengths", kv_lengths, sizes.b, sizes.sk)
    rows = np.full(sizes.b, sizes.sq) if q_len is None else q_len
    keys = np.full(sizes.b, sizes.sk) if kv_len is None else kv_len
    given = {"window": window, "chunk": chunk, "prefix": prefix}
    words = _checks.words(given)
    kept = np.True_
    chosen = causal if align is None else align
    places = {"q_origin": q_origin, "k_origin": k_origin, "b_origin": b_origin, "h_origin": h_origin}
    of_whole = positions(sizes, _origins.of(sizes, chosen, words, **places))
    local_i, local_j, (_, _, i, j) = i, j, of_whole
    diagonal = i + _offset(sizes, causal, given, align, rows, keys)[b]
    if causal is not None:
        kept = kept & (j <= diagonal)
    left, right = words.get("window", (None, None))
    if left is not None:
        kept = kept & (diagonal - left <= j)
    if right is not None:
        kept = kept & (j <= diagonal + right)
    if chunk is not None:
        kept = kept & (diagonal // chunk == j // chunk)
    if prefix is not None:
        if causal is None and _checks.placed(words) is None:
            raise ValueError("expected prefix beside causal, window or chunk, found it alone; leave it out")
        kept = kept | (j < prefix)
    kept = kept & (local_i < rows[b]) & (local_j < keys[b])
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype != np.bool_:
            raise TypeError(f"expected mask to be bool, true = attend, found {mask.dtype}")
        _checks.broadcast("mask", mask.shape, sizes.scores)
        kept = kept & mask
    if mask_mod is not None:
        kept = kept & _capture.evaluate(mask_mod, *of_whole).astype(bool)
    return kept


def by_row(scale: npt.ArrayLike) -> Array:
    """Scales of keys as factors of rows (B, Hkv, Sk, D)."""
    scale = np.asarray(scale, dtype=np.float64)
    return scale[:, None, None] if scale.ndim == 1 else scale[..., None]


def in_layout(x: Array, layout: str) -> Array:
    """An array (B, H, S, D) as the layout has it."""
    x = x if layout == "bhsd" else x.swapaxes(1, 2)
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3]) if layout == "bsd" else x


def _offset(sizes: _checks.Sizes, causal: Any, words: Any, align: Any, rows: Array, keys: Array) -> Array:
    """The offset [B] of the diagonal j = i + off for causal, windows and chunks."""
    _checks.placement(causal, align, words, are_lengths_equal=bool((rows == keys).all()))
    if causal is None and align is None:
        return np.zeros_like(rows)
    chosen = _checks.alignment("causal" if align is None else "align", causal if align is None else align, sizes.b)
    if isinstance(chosen, str):
        return np.zeros_like(rows) if chosen == "top_left" else keys - rows
    return np.asarray(chosen)


def indices(sizes: _checks.Sizes) -> tuple[Array, Array, Array, Array]:
    """Batch, query head, query row and key column, each broadcasting to the scores."""
    b, h, i, j = np.ogrid[: sizes.b, : sizes.hq, : sizes.sq, : sizes.sk]
    return b, h, i, j


def positions(sizes: _checks.Sizes, origins: _origins.Origins) -> tuple[Array, Array, Array, Array]:
    """The indices in the whole that the operands are a part of."""
    b, h, i, j = (x + first for x, first in zip(indices(sizes), origins.firsts(), strict=True))
    return b, h, i, j


def origins(sizes: _checks.Sizes, given: Given) -> _origins.Origins:
    """The origins of a call, checked; those of dropout are of the whole."""
    places = {name: getattr(given, name) for name in (*PLACES, "whole", "dropout")}
    return _origins.of(sizes, given.causal if given.align is None else given.align, {}, **places)


def dropout_index(sizes: _checks.Sizes, origins: _origins.Origins) -> Array:
    """idx = ((b·Hq + h)·Sq + i)·Sk + j of each weight, of positions and sizes of the whole."""
    heads, rows, keys = (np.uint64(x) for x in origins.whole or sizes.scores[1:])
    b, h, i, j = (np.asarray(x).astype(np.uint64) for x in positions(sizes, origins))
    return np.broadcast_to(((b * heads + h) * rows + i) * keys + j, sizes.scores)
