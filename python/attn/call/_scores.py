"""Scores that no word of a kernel says: ALiBi, and a softcap in front of score_mod. Both become a part of score_mod.

The order of a call (docs/Semantics.md) is score_mod, softcap, ALiBi; or with softcap_first softcap, score_mod, ALiBi.
What stands at another place than the word `softcap` of a kernel is composed into one function of scores. Without a
function of the user its text is known, and is not traced anew.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from attn import functions as of_scores
from attn.call import _checks, _problem, _text
from attn.kernel import _cuda, _tensor
from attn.trace import _trace
from attn.trace._symbols import FLOAT, Symbol, as_float

NAMES = ("alibi_slopes", "alibi_offsets")  # of what the function reads, in kernels
LENGTHS = ("cu_seqlens_q", "q_lengths", "cu_seqlens_k", "kv_lengths")  # what says those of sequences
FLOATS = ("float32", "float64", "bfloat16", "float16")


def score(
    value: Any,
    b: Any,
    h: Any,
    i: Any,
    j: Any,
    *,
    first_cap: float | None = None,
    score_mod: Any = None,
    last_cap: float | None = None,
    alibi_slopes: Any = None,
    alibi_offsets: Any = None,
) -> Any:
    """The score after all of these; ALiBi is −slope · |i + offset − j|, with the offset of a bottom right diagonal."""
    if first_cap is not None:
        value = _cap(value, first_cap)
    if score_mod is not None:
        value = score_mod(value, b, h, i, j)
    if last_cap is not None:
        value = _cap(value, last_cap)
    if alibi_slopes is not None:
        slope = alibi_slopes[h] if alibi_slopes.ndim == 1 else alibi_slopes[b, h]
        value = value - slope * of_scores.abs(1.0 * (i + alibi_offsets[b] - j))  # of floats in one instruction
    return value


def composed(
    score_mod: Any, softcap: float | None, slopes: Any = None, offsets: Any = None, *, is_first: bool = False
) -> tuple[Any, float | None]:
    """The function of scores of a call, and the softcap that stays behind it as a word.

    Args:
      score_mod, softcap: of the call.
      slopes, offsets: of ALiBi, `score` reads them; None for none.
      is_first: softcap comes before score_mod.
    """
    if slopes is None and (score_mod is None or softcap is None or not is_first):
        return score_mod, softcap
    if softcap is not None:
        softcap = _checks.words({"softcap": softcap}).get("softcap")
    if not isinstance(score_mod, types.FunctionType | types.MethodType | functools.partial | None):
        call = vars(type(score_mod)).get("__call__")  # an object that is called: tracing finds its arrays in a method
        score_mod = types.MethodType(call, score_mod) if isinstance(call, types.FunctionType) else score_mod
    parts = {"first_cap" if is_first else "last_cap": softcap, "score_mod": score_mod}
    parts |= {"alibi_slopes": slopes, "alibi_offsets": offsets}
    return functools.partial(score, **{name: x for name, x in parts.items() if x is not None}), None


def _cap(value: Any, limit: float) -> Any:
    """limit · tanh(value / limit); traced, as the word `softcap` becomes it."""
    if isinstance(value, Symbol):
        return Symbol(
            FLOAT, f"attn.cap {{0}} {{{{limit = {_text.real(limit)} : f64}}}} : {{float}}", (as_float(value),)
        )
    return limit * np.tanh(np.asarray(value) / limit)


@functools.lru_cache(maxsize=256)
def _alibi(element: str, heads: int, softcap: float | None, *, is_of_batch: bool) -> _trace.Regions:
    """The form of ALiBi behind a softcap: for two sequences, whose number is a size of the text."""
    slopes, offsets = np.zeros((2, heads) if is_of_batch else heads, "f4"), np.zeros(2, "i4")
    function, _ = composed(None, softcap, slopes, offsets)
    return _trace.trace(function, None, (2, heads, 1, 1), element, is_form=True).regions


def alibi(element: str, slopes: tuple[int, ...], batch: int, softcap: float | None) -> _trace.Regions:
    """The regions of ALiBi alone, which read NAMES, as a form (`_trace.trace`): nothing is traced but once.

    Args:
      element: the type of scores.
      slopes: the shape of the slopes, (Hq,) or (B, Hq).
      batch: B.
      softcap: as in `composed`.
    """
    regions = _alibi(element, slopes[-1], softcap, is_of_batch=len(slopes) == 2)
    return regions._replace(text=regions.text.replace("$b2x", f"$b{batch}x"))


def check_slopes(slopes: Any, heads: int, batch: int) -> None:
    """Slopes of ALiBi have the shape (Hq,) or (B, Hq) and are floats.

    Raises:
      TypeError, ValueError: they are not.
    """
    shape = tuple(slopes.shape)
    if shape not in ((heads,), (batch, heads)):
        raise ValueError(
            f"expected alibi_slopes of shape ({heads},), one a query head, or ({batch}, {heads}), [B, Hq], found "
            f"{shape}"
        )
    if str(slopes.dtype).removeprefix("torch.") not in FLOATS:
        raise TypeError(f"expected alibi_slopes to hold floats, found {slopes.dtype}")


def taken(
    options: dict[str, Any], score_mod: Any, mask_mod: Any, **sums: Any
) -> Callable[[_problem.Problem, str], Any]:
    """What makes the score_mod of a call of `attn` from its problem and its target.

    Args:
      options: of the call; loses the keywords of this module, and softcap where it is a part of score_mod.
      score_mod, mask_mod: of the call.
      sums: cu_seqlens_q and cu_seqlens_k of packed sequences, where they are not among the options.

    Raises:
      TypeError, ValueError: the keywords are wrong, or stand beside others that they do not go with.
    """
    is_first, slopes = options.pop("softcap_first", False), options.pop("alibi_slopes", None)
    if slopes is None and not _checks.flag("softcap_first", is_first):
        return lambda problem, target: score_mod
    softcap = options.pop("softcap", None)
    if slopes is None:
        made, softcap = composed(score_mod, softcap, is_first=is_first)
        options |= {} if softcap is None else {"softcap": softcap}
        return lambda problem, target: made
    for name in ("q_origin", "k_origin", "b_origin", "h_origin"):
        if options.get(name) is not None:
            raise ValueError(
                f"expected no {name} beside alibi_slopes, whose distances are of the lengths given; write score_mod"
            )
    lengths = {name: x for name, x in (options | sums).items() if name in LENGTHS and x is not None}

    def with_alibi(problem: _problem.Problem, target: str) -> Any:
        is_on_device, sizes, wide = _cuda.is_target(target), problem.sizes, problem.score_dtype == "f64"
        arrays = {"alibi_slopes": slopes, **lengths}
        if not is_on_device:
            arrays = {name: _tensor.as_numbers(name, x) for name, x in arrays.items()}
        given = arrays.pop("alibi_slopes")
        check_slopes(given, sizes.hq, sizes.b)
        offsets = _offsets(arrays, sizes)
        if not is_on_device:
            given = np.ascontiguousarray(given, "f8" if wide else "f4")
            offsets = np.broadcast_to(offsets, sizes.b).astype("i4")
        if score_mod is None and mask_mod is None:
            cap = None if softcap is None else _checks.words({"softcap": softcap}).get("softcap")
            return _trace.Traced(alibi(problem.score_dtype, given.shape, sizes.b, cap), (given, offsets))
        return composed(score_mod, softcap, given, offsets, is_first=is_first)[0]

    return with_alibi


def _offsets(lengths: dict[str, Any], sizes: _checks.Sizes) -> Any:
    """Keys minus queries of each sequence, or of all: where the diagonal at the bottom right is."""
    counts = {name: x[1:] - x[:-1] if name.startswith("cu_seqlens") else x for name, x in lengths.items()}
    rows, keys = (next((counts[x] for x in names if x in counts), None) for names in (LENGTHS[:2], LENGTHS[2:]))
    return (sizes.sk if keys is None else keys) - (sizes.sq if rows is None else rows)
