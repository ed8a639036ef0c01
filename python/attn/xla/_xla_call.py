"""What functions of `attn.jax` are given, as a call of the custom call of XLA, and what they return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attn.call import _checks, _scores
from attn.kernel import _tensor
from attn.trace import _capture, _trace
from attn.words import _signatures
from attn.words._types import MaskMod, ScoreMod
from attn.xla import _xla, _xla_operator
from attn.xla._xla import Call


def made(
    function: Any,
    given: dict[str, Any],
    words: Mapping[str, Any],
    integers: dict[str, Any],
    *,
    causal: Any = None,
    align: Any = None,
    scale: Any = None,
    **options: Any,
) -> tuple[dict[str, Any], Call]:
    """The tensors of a call of a function here, in the order of its kernel, and all else, but for functions."""
    _signatures.words(f"attn.jax.{function.__name__}", function, words)
    _xla.register()
    alignments = {"causal": causal, "align": align}
    offsets = next((x for x in alignments.values() if x is not None and not isinstance(x, str)), None)
    tensors = {name: jnp.asarray(x) for name, x in given.items() if x is not None}
    if "sink" in tensors:
        tensors["sink"] = tensors["sink"].astype(score_type(tensors["q"].dtype))
    named = {name: integers.get(name) for name in ("q_lengths", "kv_lengths")} | {"offsets": offsets} | integers
    tensors |= {name: jnp.asarray(x).astype(jnp.int32) for name, x in named.items() if x is not None}
    if isinstance(scale, jax.Array | np.ndarray):
        tensors["scale"], scale = scale.astype(score_type(tensors["q"].dtype)), None
    options |= {name: x if x is None or isinstance(x, str) else "offsets" for name, x in alignments.items()}
    options |= {"scale": scale, **_checks.words(words)}
    return tensors, Call(tuple(tensors), tuple((name, x) for name, x in options.items() if x is not None))


def composed(
    score_mod: ScoreMod | None,
    words: Mapping[str, Any],
    slopes: Any,
    scores: tuple[int, ...],
    is_first: bool,
    q_lengths: Any,
    kv_lengths: Any,
) -> tuple[ScoreMod | None, Any]:
    """The function of scores of a call and its words, of which ALiBi and a softcap in front are parts of the function.

    Args:
      score_mod, words: of the call.
      slopes: alibi_slopes.
      scores: (B, Hq, Sq, Sk).
      is_first: softcap_first.
      q_lengths, kv_lengths: (B,), None for Sq and Sk.
    """
    _checks.flag("softcap_first", is_first)
    offsets = None
    if slopes is not None:
        slopes = jnp.asarray(slopes)
        _scores.check_slopes(slopes, scores[1], scores[0])
        rows, keys = (
            x if y is None else jnp.asarray(y) for x, y in zip(scores[2:], (q_lengths, kv_lengths), strict=True)
        )
        offsets = jnp.broadcast_to(jnp.asarray(keys - rows, jnp.int32), scores[:1])
    softcap = words.get("softcap")
    score_mod, left = _scores.composed(score_mod, softcap, slopes, offsets, is_first=is_first)
    return score_mod, words if left is softcap else {**words, "softcap": left}


def apply(
    tensors: dict[str, Any],
    call: Call,
    score_mod: ScoreMod | None,
    mask_mod: MaskMod | None,
    scores: tuple[int, ...],
    return_lse: bool,
    return_max: bool,
) -> Any:
    """What a call returns; `scores` are below what the indices of its functions run."""
    traced = _trace.Traced()
    if score_mod is not None or mask_mod is not None:
        element = "f64" if tensors["q"].dtype == np.float64 else "f32"
        traced = _traced(score_mod, mask_mod, scores, element, is_form="cu_seqlens_q" not in tensors)
    call = call._replace(regions=traced.regions)
    # Inside of shard_map all vary over the axes that one varies over; the gradient of one that did not is a sum.
    arrays = _xla.varying((*tensors.values(), *traced.arrays))
    # A shard_map outside of jit has no rule for a custom_vjp such as this one, but one for a jit around it.
    function = _xla_operator.jitted if _xla.varies_over(arrays[0]) else _xla_operator.differentiable
    out, lse, row_max, _ = function(call, arrays)
    rows = [lse] if _checks.flag("return_lse", return_lse) else []
    rows += [jax.lax.stop_gradient(row_max)] if _checks.flag("return_max", return_max) else []
    return (out, *rows) if rows else out


def score_type(dtype: Any) -> Any:
    return np.float64 if dtype == np.float64 else np.float32


def _traced(score_mod: Any, mask_mod: Any, scores: tuple[int, ...], element: str, *, is_form: bool) -> _trace.Traced:
    """The regions of functions, and the arrays that they read as a kernel reads them.

    Arrays that JAX traces have no values: they are operands of the custom call, others are its constants.
    """
    made: dict[int, Any] = {}

    def stand_in(array: Any) -> Any:
        if not _tensor.is_tracer(array):
            return None
        if id(array) not in made:  # read twice, it is one operand
            made[id(array)] = (np.broadcast_to(np.zeros((), array.dtype), array.shape), array)
        return made[id(array)][0]

    token = _capture.STAND_INS.set(stand_in)
    try:
        traced = _trace.trace(score_mod, mask_mod, scores, element, is_on_device=None, is_form=is_form)
    finally:
        _capture.STAND_INS.reset(token)
    arrays = tuple(_operand(x, element) if _tensor.is_tracer(x) else _constant(x) for x in traced.arrays)
    return traced._replace(arrays=arrays)


def _operand(array: Any, element: str) -> Any:
    """A traced array in the type that a kernel reads it in; its gradient comes back in its own."""
    if array.dtype == np.bool_:
        return array
    is_integer = jnp.issubdtype(array.dtype, jnp.integer)
    return array.astype(_trace.DTYPES[_capture.integer_type(array.dtype) if is_integer else element])


def _constant(array: Any) -> jax.Array:
    """A captured array; of integers of 64 bits JAX has none unless it is told so."""
    made = jnp.asarray(array)
    if made.dtype != array.dtype:
        raise TypeError(f"expected captured arrays of a type that JAX has, found {array.dtype}; write int32 ones")
    return made
