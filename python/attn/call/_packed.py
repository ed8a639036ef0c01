"""Calls on packed sequences."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from attn.call import _call, _checks, _elements, _padding, _pages, _problem, _running
from attn.call._problem import Given
from attn.kernel import _cuda, _tensor
from attn.words import _signatures
from attn.words._types import Alignment, Integers, MaskMod, ScoreMod, State, Tensor, TensorT
from attn.words._words import Words


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
    alibi_slopes: Tensor | None = None,
    softcap_first: bool = False,
    k_scale: float | Tensor | None = None,
    v_scale: float | Tensor | None = None,
    q_scale: float | Tensor | None = None,
    out_scale: float | Tensor | None = None,
    return_lse: bool = False,
    return_max: bool = False,
    return_log_sum: bool = False,
    return_key_sums: bool = False,
    out_dtype: Any = None,
    into: State | None = None,
    out: TensorT | None = None,
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
      alibi_slopes, softcap_first: as in `sdpa`; distances are those of each sequence.
      scale, sink, words: as in `sdpa`.
      target: as in `sdpa`. On a GPU the prefix sums are not tested; where both are one object, lengths are equal.
      k_scale, v_scale: of quantised k and v, [Hkv], one a key head; numbers and None as in `sdpa`.
      return_lse, return_max, return_log_sum: return lse, max, log_sum (Hq, total_q) too, as `sdpa`.
      return_key_sums: return key_sums (Hkv, total_k) too, as `sdpa`.
      q_scale, out_scale, out_dtype: as in `sdpa`.
      out: an array for out, as in `paged_sdpa`; beside it rows behind the last sums are padding.
      into: as in `sdpa`: out (total_q, Hq, Dv) and lse, or max and log_sum, (Hq, total_q).
      q_origin, k_origin, b_origin, h_origin: as in `sdpa`, where each sequence begins in a whole of its own.
      dynamic: compile for any number of sequences and rows, so that one kernel serves all; not with offsets or origins.

    Returns:
      out (total_q, Hq, Dv) in out_dtype, or a tuple of out and further results, in the order lse, max, log_sum,
      key_sums.

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`.
    """
    given = locals()
    if out is None or into is not None:
        return _running.run(PACKED, given)
    return _padding.run(PACKED, given, {"cu_seqlens_q": ("q",), "cu_seqlens_k": ("k", "v")})


def _forms(target: str, dynamic: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, **operands: Any) -> Any:
    """Those of i32 prefix sums: the checked entry tests what they hold."""
    if _cuda.is_target(target):
        return None
    sums = [_tensor.as_array("cu_seqlens", x) for x in (cu_seqlens_q, cu_seqlens_k)]
    if not all(_tensor.is_plain_i32(x) for x in sums):
        return None
    inputs, types = _running.forms(target, **operands)
    are_same = cu_seqlens_q is cu_seqlens_k or np.array_equal(*sums)
    return [*inputs, *sums], (types, *[x.size for x in sums], are_same)


def packed(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, target: str, **options: Any) -> _call.Call:
    """A call of `varlen_sdpa`, which has these options, but for functions."""
    sums = {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    arrays, options, tensors = _call.split(target, {"q": q, "k": k, "v": v}, options, **sums)
    rows, keys = (options.pop(name) for name in sums)
    given, are_same = Given(**options, layout="varlen"), cu_seqlens_q is cu_seqlens_k
    problem, others, longest = prepare(*arrays, rows, keys, given, is_known=tensors is None, are_same=are_same)
    origins = _call.origins_of(problem.sizes._replace(sq=longest[2], sk=longest[3]), given)
    inputs = [*arrays, *others] if tensors is None else [*tensors, *_call.numbers_of(problem, others)]
    return _call.Call(problem, longest, inputs, target, origins)


PACKED = _running.Kind(varlen_sdpa, ("q", "k", "v", "cu_seqlens_q", "cu_seqlens_k"), packed, _forms)


def prepare(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, given: Given, *, is_known: bool, are_same: bool
) -> tuple[_problem.Problem, list[Any], tuple[int, ...]]:
    """The problem of packed sequences, what its kernel takes after q, k, v, and below what the indices run.

    Args:
      q, k, v, cu_seqlens_q, cu_seqlens_k: as in `varlen_sdpa`.
      given: its other arguments.
      is_known: the prefix sums can be read, as they are not on a device.
      are_same: those of the queries are those of the keys.
    """
    _elements.element_type(q)
    _elements.key_type(q, k, v)
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim != 3:
            raise ValueError(f"expected {name} of rank 3 (packed rows, heads, head size), found shape {array.shape}")
    rows = _pages.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0], is_known=is_known)
    keys = _pages.cu_seqlens("cu_seqlens_k", cu_seqlens_k, k.shape[0], is_known=is_known)
    if rows.size != keys.size:
        raise ValueError(
            f"expected as many sequences in cu_seqlens_q as in cu_seqlens_k, found {rows.size - 1}, {keys.size - 1}"
        )
    sizes = _checks.qkv(*(x.swapaxes(0, 1)[None].shape for x in (q, k, v)))._replace(b=rows.size - 1)
    are_equal = are_same or (is_known and np.array_equal(rows, keys))
    problem, others = _call.prepare(q, k, v, given, (rows, keys), sizes=sizes, are_lengths_equal=are_equal)
    # How long sequences on a device are is not known: as long as all rows.
    lengths = (int(np.diff(rows).max()), int(np.diff(keys).max())) if is_known else (sizes.sq, sizes.sk)
    return problem, others, (sizes.b, sizes.hq, *lengths)
