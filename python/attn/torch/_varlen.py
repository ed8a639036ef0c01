"""The operators `attn::varlen_sdpa` and `attn::varlen_sdpa_backward`, and `attn.torch.varlen_sdpa` over them.

As `attn::sdpa`: their arguments are tensors and constants alone, and the terms of lse are what the backward takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import torch

from attn.call import _packed
from attn.torch import _batches, _context, _eager, _narrow, _ops, _out, _record, _scores
from attn.torch.parallel import _active
from attn.words import _signatures
from attn.words._types import MaskMod, ScoreMod
from attn.words._words import Words

Tensor = torch.Tensor


class Call(NamedTuple):
    """The arguments of a call, in the order of the schema."""

    q: Tensor
    k: Tensor
    v: Tensor
    cu_seqlens_q: Tensor
    cu_seqlens_k: Tensor
    captures: list[Tensor]
    sink: Tensor | None = None
    offsets: Tensor | None = None
    scale: float | None = None
    causal: str | None = None
    align: str | None = None
    dynamic: bool = False
    regions: str = ""
    captured: str = ""
    words: tuple[Any, ...] = ()

    of, flat, tensors = classmethod(_record.of), _record.flat, _record.tensors
    options, input, make = _record.options, _record.input_of, staticmethod(_packed.packed)
    operands = 5


_operator, _operator_backward = _ops.define(Call, "varlen_sdpa")
for _each in (_operator, _operator_backward):
    # Entries of vmap may have other lengths: each is a call of its own.
    _each.register_vmap(
        lambda info, in_dims, *arguments, operator=_each: _batches._each(operator, info.batch_size, in_dims, arguments)
    )
_batches.register_autocast(Call, _operator)
_operator_out = _out.define(
    Call,
    "varlen_sdpa",
    {"lse": "return_lse", "max": "return_max"},
    lambda call: _ops.new_results(call.q, call.v, rows=2),
)


def varlen_sdpa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    *,
    scale: float | None = None,
    causal: str | Tensor | None = None,
    align: str | Tensor | None = None,
    sink: Tensor | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    alibi_slopes: Tensor | None = None,
    softcap_first: bool = False,
    q_scale: float | Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    out_scale: float | Tensor | None = None,
    out: Tensor | None = None,
    return_lse: bool = False,
    return_max: bool = False,
    dynamic: bool = False,
    **words: Unpack[Words],
) -> Tensor | tuple[Tensor, ...]:
    """`attn.varlen_sdpa` with gradients: attention over sequences packed one after the other, each to itself only.

    It runs in eager mode, under torch.compile without graph breaks, torch.export, autocast and inference mode. out and
    lse have gradients of first order, but not under torch.func, which refuses the operator. Tensors are on the CPU, or
    all on one CUDA device.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv), of one float type.
      cu_seqlens_q, cu_seqlens_k: (B + 1,) integers, exclusive prefix sums of the lengths.
      scale: factor on Q·Kᵀ; None for 1/√D.
      causal, align: as in `attn.varlen_sdpa`, from the lengths of each sequence; offsets are (B,).
      sink: (Hq,) floats, a score a head that takes part in the sum of the softmax only; has a gradient.
      score_mod, mask_mod: as in `attn.varlen_sdpa`. Tensors that score_mod reads have a gradient where they require
        one; those that mask_mod alone reads may require none. Under torch.compile and on a GPU i and j may be any
        number below total_q and total_k where arrays are read at them.
      alibi_slopes: (Hq,) or (B, Hq) floats, as in `sdpa`: distances are from the lengths of each sequence.
      softcap_first: softcap comes before score_mod, as FlashAttention has it, not behind it.
      q_scale, out_dtype, out_scale: as in `attn.sdpa`: a q of 8 bits is widened in a pass of its own, and out made one
        of 8 bits in another; out_dtype is one of 8 bits, or beside such a q also what it is widened to.
      out: where out goes, as in `paged_sdpa`; beside it rows behind the last sums are padding.
      return_lse: return lse (Hq, total_q) too.
      return_max: return the largest score of each row (Hq, total_q) too, a sink among them, without gradient.
      dynamic: one kernel for any number of sequences and rows; not with offsets.
      {words}

    Returns:
      out (total_q, Hq, Dv), or a tuple of out and further results, in the order lse, max.

    Raises:
      TypeError, ValueError, RuntimeError: as `sdpa`.
    """
    if words:
        _signatures.words("attn.torch.varlen_sdpa", varlen_sdpa, words)
    if _narrow.is_needed(q, q_scale, out_dtype, out_scale):
        return _narrow.around(varlen_sdpa, q, 1, {**locals()})
    sums = {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    _context.check(q=q, k=k, v=v, sink=sink, causal=causal, align=align, out=out, **sums)
    has_functions = not (score_mod is mask_mod is alibi_slopes is None)
    if _active.stack:
        if out is not None:
            raise ValueError("expected no out= inside of attn.torch.context_parallel, found one; leave it out")
        if has_functions:
            raise ValueError("expected no score_mod, mask_mod or alibi_slopes of packed sequences on several ranks")
        options = {"scale": scale, "causal": causal, "align": align, "sink": sink, "return_lse": return_lse}
        options |= {"return_max": return_max, **words}
        return _active.packed_call(q, k, v, cu_seqlens_q, cu_seqlens_k, options)
    offsets, causal, align = _record.offsets(causal, align)
    integers = [_record.integers(x, q.device) for x in (cu_seqlens_q, cu_seqlens_k, offsets)]
    shape = _shape(q, k, *integers[:2]) if has_functions else ()
    how = {"lengths": integers[:2], "is_first": softcap_first}
    (regions, captured, captures), words = _scores.traced(score_mod, mask_mod, shape, q, words, alibi_slopes, **how)
    call = Call(
        *(q, k, v, *integers[:2], captures, sink, integers[2], scale, causal, align, dynamic, regions, captured),
        words=_record.flat_words(words),
    )
    if out is None:
        made = _by_plan(call, ("out", *["lse"] * bool(return_lse), *["max"] * bool(return_max)))
        if made is not None:
            return made if len(made) > 1 else made[0]
        out, lse, row_max, _ = _operator(*call.flat())
    else:
        lse, row_max = _operator_out(out, *call.flat())
    rows = ([lse] if return_lse else []) + ([row_max] if return_max else [])
    return (out, *rows) if rows else out


def _by_plan(call: Call, returned: tuple[str, ...]) -> tuple[Tensor, ...] | None:
    """The results of these names by a plan, if there is one."""
    rows, keys = call.cu_seqlens_q, call.cu_seqlens_k
    if _eager.is_seen() or not _eager.are_readable((rows, keys)):
        return None
    are_same = rows is keys  # which is all that is known on a device
    if not are_same and rows.is_cpu and keys.is_cpu:
        are_same = torch.equal(rows, keys)
    return _eager.run(call, returned, values=(are_same,))


def _shape(q: Tensor, k: Tensor, rows: Tensor, keys: Tensor) -> tuple[int, int, int, int]:
    """Below what the indices of functions run, (B, Hq, Sq, Sk): the longest sequences, where sums have values here."""
    if q.dim() != 3 or rows.dim() != 1 or rows.numel() < 2:
        return (1, 1, 1, 1)  # which the operator refuses
    longest = [q.shape[0], k.shape[0]]
    if not _eager.has_no_values() and rows.is_cpu:
        longest = [max(1, int(x.diff().max())) if x.numel() > 1 else 1 for x in (rows, keys)]
    return (rows.numel() - 1, q.shape[1], longest[0], longest[1])


varlen_sdpa.__doc__ = _signatures.with_words(varlen_sdpa.__doc__)
