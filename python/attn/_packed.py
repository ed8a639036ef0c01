"""Calls on packed sequences."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from attn import _call, _checks, _cuda, _origins, _problem, _running, _signatures, _tensor
from attn._types import Alignment, Integers, MaskMod, ScoreMod, State, Tensor, TensorT
from attn._words import Words

PACKED_ARRAYS = frozenset({"sink", "k_scale", "v_scale", "causal", "align", "q_origin", "k_origin"})


@_signatures.explains_arguments
def varlen_sdpa(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Integers,
    cu_seqlens_k: Integers,
    *,
    scale: float | Tensor | None = None,
    causal: Alignment | None = None,
    sink: Tensor | None = None,
    align: Alignment | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    k_scale: Tensor | None = None,
    v_scale: Tensor | None = None,
    return_lse: bool = False,
    return_max: bool = False,
    return_log_sum: bool = False,
    return_key_sums: bool = False,
    out_dtype: Any = None,
    into: State | None = None,
    q_origin: int | Integers | None = None,
    k_origin: int | Integers | None = None,
    b_origin: int | None = None,
    h_origin: int | None = None,
    dynamic: bool = False,
    target: str = "host",
    **words: Unpack[Words],
) -> TensorT | tuple[TensorT, ...]:
    """Attention over sequences packed one after the other: each attends to itself only.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv), of the types that `sdpa` takes.
      cu_seqlens_q, cu_seqlens_k: [B + 1] integers, exclusive prefix sums of the lengths: sequence b has the rows
        cu_seqlens[b] … cu_seqlens[b + 1] − 1.
      causal, align: as in `sdpa`, from the lengths of each sequence; offsets are [B].
      score_mod, mask_mod: as in `sdpa`; i and j count from the start of their sequence, b is the sequence.
      scale, sink, words: as in `sdpa`.
      target: as in `sdpa`. On a GPU the prefix sums are not tested; where both are one object, lengths are equal.
      k_scale, v_scale: of quantised k and v, [Hkv], one a key head.
      return_lse, return_max, return_log_sum: return lse, max, log_sum (Hq, total_q) too, as `sdpa`.
      return_key_sums: return key_sums (Hkv, total_k) too, as `sdpa`.
      out_dtype: as in `sdpa`.
      into: as in `sdpa`: out (total_q, Hq, Dv) and lse, or max and log_sum, (Hq, total_q).
      q_origin, k_origin, b_origin, h_origin: as in `sdpa`, where each sequence begins in a whole of its own.
      dynamic: compile for any number of sequences and rows, so that one kernel serves all; not with offsets or origins.

    Returns:
      out (total_q, Hq, Dv) in out_dtype, or a tuple of out and further results, in the order lse, max, log_sum,
      key_sums.

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`.
    """
    return _running.run(PACKED, locals())


def _forms(target: str, dynamic: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, **operands: Any) -> Any:
    """Those of i32 prefix sums: the checked entry tests what they hold."""
    sums = (cu_seqlens_q, cu_seqlens_k)
    if _cuda.is_target(target) or not all(_tensor.is_plain_i32(x) for x in sums):
        return None
    inputs, types = _running.forms(target, operands)
    are_same = cu_seqlens_q is cu_seqlens_k or np.array_equal(cu_seqlens_q, cu_seqlens_k)
    return [*inputs, *sums], types, (cu_seqlens_q.size, cu_seqlens_k.size, are_same)


def _of_forms(arrays: list[Any], target: str, rows: int, keys: int, are_same: bool, **options: Any) -> _call.Call:
    """The call, of prefix sums of these sizes."""
    named: dict[str, Any] = dict(zip("qkv", arrays, strict=True))
    named |= {name: options.pop(name) for name in ("causal", "align")}
    named |= {"cu_seqlens_q": np.zeros(rows, np.int32), "cu_seqlens_k": np.zeros(keys, np.int32)}
    problem, _, longest = prepare_packed(named, is_known=False, are_same=are_same, **options)
    return _call.Call(problem, longest, [], target)


def packed(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, target: str, **options: Any) -> _call.Call:
    """A call of `varlen_sdpa`, which has these options, but for functions."""
    # In the order of the kernel.
    named = {"q": q, "k": k, "v": v} | {x: options.pop(x, None) for x in _call.ARRAYS if x in PACKED_ARRAYS}
    named, tensors = _cuda.split(target, named | {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k})
    are_same = cu_seqlens_q is cu_seqlens_k
    problem, others, longest = prepare_packed(named, is_known=tensors is None, are_same=are_same, **options)
    places = {x: (named | options).get(x) for x in _call.PLACES}
    sizes = problem.sizes._replace(hq=problem.sizes.hq, sq=longest[2], sk=longest[3])
    origins = _origins.of(sizes, None, {}, **places)
    arrays = [_tensor.as_array(name, x) for name, x in (("q", q), ("k", k), ("v", v))] if tensors is None else []
    inputs = [*arrays, *others] if tensors is None else [*tensors, *_call.numbers_of(problem, others)]
    return _call.Call(problem, longest, inputs, target, origins)


PACKED = _running.Kind(("q", "k", "v", "cu_seqlens_q", "cu_seqlens_k"), packed, _forms, _of_forms)


def prepare_packed(
    named: dict[str, Any],
    *,
    scale: Any = None,
    return_lse: bool = False,
    return_max: bool = False,
    return_log_sum: bool = False,
    return_key_sums: bool = False,
    out_dtype: Any = None,
    into: tuple[str, ...] = (),
    b_origin: Any = None,
    h_origin: Any = None,
    is_known: bool = True,
    are_same: bool = False,
    **words: Unpack[Words],
) -> tuple[_problem.Problem, list[Any], tuple[int, ...]]:
    """The problem of packed sequences, what its kernel takes after q, k, v, and below what the indices run.

    Args:
      named: the other arguments of `varlen_sdpa`, by name; those that are missing are None.
      scale, return_lse, return_max, return_log_sum, return_key_sums, out_dtype, b_origin, h_origin, words: as in
        `varlen_sdpa`.
      into: as in `_problem.of`.
      is_known: the prefix sums can be read, as they are not on a device.
      are_same: those of the queries are those of the keys.
    """
    arrays = {name: _tensor.as_array(name, named[name]) for name in "qkv"}
    dtype, kv = _problem.element_type(arrays["q"]), _problem.key_type(*arrays.values())
    for name, array in arrays.items():
        if array.ndim != 3:
            raise ValueError(f"expected {name} of rank 3 (packed rows, heads, head size), found shape {array.shape}")
    rows, keys = (
        _checks.cu_seqlens(name, named[name], arrays[x].shape[0], is_known=is_known)
        for name, x in (("cu_seqlens_q", "q"), ("cu_seqlens_k", "k"))
    )
    if rows.size != keys.size:
        raise ValueError(
            f"expected as many sequences in cu_seqlens_q as in cu_seqlens_k, found {rows.size - 1}, {keys.size - 1}"
        )
    causal, align, sink = named.get("causal"), named.get("align"), named.get("sink")
    sizes = _checks.qkv(*(x.swapaxes(0, 1)[None].shape for x in arrays.values()))._replace(b=rows.size - 1)
    shapes = {"head": (sizes.hkv,)}
    scales, kv_scale = _problem.key_scales(kv, named.get("k_scale"), named.get("v_scale"), shapes)
    places = {"q_origin": named.get("q_origin"), "k_origin": named.get("k_origin")}
    places |= {"b_origin": b_origin, "h_origin": h_origin}
    origins = _origins.of(sizes, causal if align is None else align, words, **places)
    are_equal = are_same or (is_known and np.array_equal(rows, keys))
    problem = _problem.Problem(
        sizes,
        dtype,
        kv=kv,
        kv_scale=kv_scale,
        wide_result=_problem.has_wide_result(out_dtype, arrays["q"]) or _problem.is_widened_into(into, dtype),
        into=into,
        scale=_problem.own_scale(scale, sizes.d),
        has_scale=_tensor.as_scalar("scale", scale) is not None,
        sink=sink is not None,
        layout="varlen",
        lse=_checks.flag("return_lse", return_lse),
        max=_checks.flag("return_max", return_max),
        log_sum=_checks.flag("return_log_sum", return_log_sum),
        key_sums=_checks.flag("return_key_sums", return_key_sums),
        **{name: x is not None for name, x in places.items()},
        **_problem.structure(causal, align, words, sizes.b, are_lengths_equal=are_equal),
    )
    sinks = [] if sink is None else [_call.as_sink(sink, problem)]
    # How long sequences on a device are is not known: as long as all rows.
    lengths = (int(np.diff(rows).max()), int(np.diff(keys).max())) if is_known else (sizes.sq, sizes.sk)
    starts = [*_call.offsets(causal, align), *(x for x in (origins.q, origins.k) if x is not None)]
    integers = [_call.as_i32(x) for x in (*starts, rows, keys)]
    numbers = [np.asarray(x, np.int64) for x in origins.numbers]
    others = [*sinks, *scales, *integers, *numbers, *_call.as_scale(scale, problem)]
    return problem, others, (sizes.b, sizes.hq, *lengths)
