"""The operator `attn::paged_sdpa`, and `attn.torch.paged_sdpa` over it.

Serving runs without gradients: it has none. Its arguments are tensors and constants alone: functions of
scores are text and the tensors that they read, as in `attn::sdpa`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, Unpack

import torch

import attn
from attn.torch import (
    _context,
    _csr,
    _eager,
    _graph,
    _graph_step,
    _narrow,
    _ops,
    _out,
    _place,
    _record,
    _scales,
    _scores,
    _steps,
)
from attn.trace import _trace
from attn.words import _signatures
from attn.words._types import MaskMod, ScoreMod
from attn.words._words import Words

Tensor = torch.Tensor


class Call(NamedTuple):
    """The arguments of a call of `attn::paged_sdpa`, in the order of the schema.

    Attributes:
      captured: the names of the captures, with "," between.
      with_sums: key_sums are returned; otherwise an empty tensor in their place.
    """

    q: Tensor
    k_cache: Tensor
    v_cache: Tensor
    block_table: Tensor
    kv_lengths: Tensor
    captures: list[Tensor]
    cu_seqlens_q: Tensor | None = None
    sink: Tensor | None = None
    k_scale: Tensor | None = None
    v_scale: Tensor | None = None
    offsets: Tensor | None = None
    scale: float | None = None
    causal: str | None = None
    align: str | None = None
    page_layout: str = "nhd"
    dynamic: bool = False
    regions: str = ""
    captured: str = ""
    with_sums: bool = False
    words: tuple[Any, ...] = ()

    of, tensors, options = classmethod(_record.of), _record.tensors, _record.options
    operands = 5


INPUTS = _record.schema(Call)
NO_FUNCTIONS = ("", "")  # their text, and the names of what they read


def _run(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    call = Call.of(arguments)
    if call.with_sums:
        return attn.paged_sdpa(*call[:5], **call.options(), return_lse=True, return_key_sums=True)
    out, lse = attn.paged_sdpa(*call[:5], **call.options(), return_lse=True)
    return out, lse, lse.new_empty(0)


_operator = torch.library.custom_op(
    "attn::paged_sdpa",
    _run,
    mutates_args=(),
    device_types=_ops.DEVICES,
    schema=f"({INPUTS}) -> (Tensor out, Tensor lse, Tensor key_sums)",
)


@_operator.register_fake
def _shapes(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    call = Call.of(arguments)
    _place.check(call.tensors())
    return _new_results(call)


def _new_results(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    out, lse = _ops.new_results(call.q, call.v_cache)
    of_keys: tuple[int, ...] = (0,)
    if call.with_sums:
        _, *page = call.k_cache.shape[:3]
        size, heads = page if call.page_layout == "nhd" else page[::-1]
        of_keys = (call.block_table.shape[0], heads, call.block_table.shape[-1], size)
    return out, lse, lse.new_empty(of_keys)


def _planned(call: Call, out: Tensor | None = None, *, return_lse: bool = True) -> tuple[Tensor, ...] | None:
    """The results by a plan; None where there is none."""
    if call.dynamic is not True or call.cu_seqlens_q is None or call.offsets is not None or _eager.is_seen():
        return None
    tensors = (call.q, call.k_cache, call.v_cache, call.block_table, call.kv_lengths, call.cu_seqlens_q)
    others = (call.sink, call.k_scale, call.v_scale, *call.captures)
    return _steps.paged(*tensors, others, _constants(call, return_lse=return_lse), out)


def _constants(call: Call, *, return_lse: bool = False) -> tuple[Any, ...]:
    """As `_steps.paged` takes them."""
    words = {} if call.words == _record.NO_WORDS else _record.words(call)
    functions = (_of_any_sizes(_record.functions(call)), call.captured) if call.regions else NO_FUNCTIONS
    how = (call.page_layout, call.scale, call.causal, call.align)
    return (*how, return_lse, call.with_sums, *functions, *_keys(words))


def _keys(words: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Of one type and value: True is no number, though it has the hash of 1."""
    return [(name, type(x), x) for name, x in words.items()]


@functools.lru_cache(maxsize=256)
def _of_any_sizes(regions: _trace.Regions) -> str:
    """The text of functions in a kernel that leaves all sizes open."""
    return regions.fill("bij")


def _by_plan(*arguments: Any) -> tuple[Tensor, ...] | None:
    """The results of the operator by a plan."""
    call = Call.of(arguments)
    made = _planned(call)
    return made if made is None or call.with_sums else (*made, made[1].new_empty(0))


def _into_by_plan(out: Tensor, *arguments: Any) -> tuple[Tensor, ...] | None:
    """Those of the operator that writes out."""
    call = Call.of(arguments)
    made = _planned(call, out)
    return made if made is None else (made[1], made[2] if call.with_sums else made[1].new_empty(0))


_refuse_tangents = functools.partial(_context.refuse_forward_mode, message=_context.FORWARD_MODE_OF_SERVING)
_ops.run_by_plans(_operator, _refuse_tangents, _by_plan, _run)
_operator_out = _out.define(
    Call, "paged_sdpa", {"lse": "return_lse", "sums": "return_key_sums"}, _new_results, _into_by_plan
)
_step_of_graph = _graph_step.define(Call, _constants, _run)


@_graph.whole
def paged_sdpa(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_table: Tensor | None = None,
    kv_lengths: Tensor | None = None,
    *,
    cu_seqlens_q: Tensor | None = None,
    kv_indptr: Tensor | None = None,
    kv_indices: Tensor | None = None,
    last_page_len: Tensor | None = None,
    page_layout: str = "nhd",
    scale: float | None = None,
    causal: str | Tensor | None = None,
    align: str | Tensor | None = None,
    sink: Tensor | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    alibi_slopes: Tensor | None = None,
    softcap_first: bool = False,
    k_scale: float | Tensor | None = None,
    v_scale: float | Tensor | None = None,
    q_scale: float | Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    out_scale: float | Tensor | None = None,
    out: Tensor | None = None,
    return_lse: bool = False,
    return_key_sums: bool = False,
    dynamic: bool = True,
    **words: Unpack[Words],
) -> Tensor | tuple[Tensor, ...]:
    """`attn.paged_sdpa` as an operator of PyTorch: attention on keys and values that lie in pages, without gradients.

    It runs in eager mode, under torch.compile without graph breaks, torch.export and inference mode. Tensors are on the
    CPU, or all on one CUDA device.

    Args:
      q: (B, Hq, Sq, D); with cu_seqlens_q (total_q, Hq, D), the queries of all sequences one after the other.
      k_cache, v_cache: (pages, page, Hkv, D or Dv) for page_layout "nhd", (pages, Hkv, page, D or Dv) for "hnd"; views
        too, as one half of (2, pages, page, Hkv, D) or (pages, 2, page, Hkv, D). One may have more pages than the
        other, as shifted views of one memory have.
      block_table: (B, max_pages) integers, where each page of each sequence lies, in both caches. Entries behind the
        length, and of pages in front of the window of the first row, may be anything.
      kv_lengths: (B,) integers, how many keys each sequence has.
      cu_seqlens_q: (B + 1,) integers, exclusive prefix sums of the numbers of queries. Rows of q behind the last sum
        are padding: `out` keeps what it holds there, a new one has 0; lse is −inf. On a GPU new ones have anything.
      kv_indptr, kv_indices, last_page_len: in the place of block_table and kv_lengths, as FlashInfer has them: (B + 1,)
        prefix sums of the numbers of pages, the pages of all sequences one after the other, and (B,) rows of the last
        page of each. kv_lengths may stand in the place of the last ones, and the pages in that of block_table. A block
        table is made of them: 30 to 50 µs a call on a processor; on a GPU a few launches, and the host waits for the
        longest sequence, so that graphs of CUDA take a block_table alone. One that layers share is better made once.
      page_layout: "nhd" or "hnd".
      scale: factor on Q·Kᵀ; None for 1/√D.
      causal, align: as in `attn.paged_sdpa`; offsets are (B,).
      sink: (Hq,) floats, a score a head that takes part in the sum of the softmax only.
      score_mod, mask_mod: as in `attn.paged_sdpa`: i and j count from the start of their sequence, b is the sequence.
        Under torch.compile and on a GPU i may be any number below total_q where arrays are read at it.
      alibi_slopes: (Hq,) or (B, Hq) floats, as in `attn.sdpa`: distances are from the lengths of each sequence.
      softcap_first: softcap comes before score_mod, as FlashAttention has it, not behind it.
      q_scale, out_dtype, out_scale: as in `attn.sdpa`: a q of 8 bits is widened in a pass of its own, and out made one
        of 8 bits in another; out_dtype is one of 8 bits, or beside such a q also what it is widened to.
      k_scale, v_scale: of quantised caches, (Hkv,), (pages, Hkv), or the shape of the caches without D; (B, Hkv, Sk)
        not with dynamic. A number, or a tensor of one, is that of all; None is 1 of fp8, and int8 has to have one.
      out: where out goes, which is returned: of its shape and type, over no input, without a gradient. It is written in
        place where it is contiguous, otherwise copied to.
      return_lse: return lse (B, Hq, Sq) too, (Hq, total_q) with cu_seqlens_q.
      return_key_sums: return key_sums (B, Hkv, max_pages, page) too, the sums of the weights of each key, in the order
        of the sequence's keys, as in `attn.paged_sdpa`.
      dynamic: one kernel for any number of sequences, rows and pages.
      {words}

    Returns:
      out (B, Hq, Sq, Dv), (total_q, Hq, Dv) with cu_seqlens_q; or a tuple of out and further results, in the order
      lse, key_sums.

    Raises:
      TypeError, ValueError, RuntimeError: as `attn.paged_sdpa`.
    """
    if words:
        _signatures.words("attn.torch.paged_sdpa", paged_sdpa, words)
    if _narrow.is_needed(q, q_scale, out_dtype, out_scale):
        return _narrow.around(paged_sdpa, q, 1, {**locals()})
    if block_table is None or kv_lengths is None or not (kv_indptr is kv_indices is last_page_len is None):
        csr = (kv_indptr, kv_indices, last_page_len)
        block_table, kv_lengths = _table_of(k_cache, block_table, kv_lengths, csr, page_layout)
    if not (k_scale is v_scale is None) or getattr(k_cache, "dtype", None) in _scales.FP8:
        heads = k_cache.shape[-2 if page_layout == "nhd" else 1]
        k_scale, v_scale = _scales.of(k_scale, v_scale, k_cache, heads)
    has_functions = score_mod is not None or mask_mod is not None
    is_scored = has_functions or alibi_slopes is not None or softcap_first
    if not is_scored and dynamic is True and cu_seqlens_q is not None and not _eager.is_seen():
        constants = (page_layout, scale, causal, align, return_lse, return_key_sums, *NO_FUNCTIONS, *_keys(words))
        tensors = (q, k_cache, v_cache, block_table, kv_lengths, cu_seqlens_q)
        made = _steps.paged(*tensors, (sink, k_scale, v_scale), constants, out)
        if made is not None:
            return made if len(made) > 1 else made[0]
    offsets, causal, align = _record.offsets(causal, align)
    given = (block_table, kv_lengths, cu_seqlens_q, offsets)
    table, lengths, sums, offsets = [x if x is None else _record.integers(x, q.device) for x in given]
    tensors = {"block_table": table, "kv_lengths": lengths, "cu_seqlens_q": sums, "sink": sink, "causal": offsets}
    tensors |= {"k_scale": k_scale, "v_scale": v_scale, "alibi_slopes": alibi_slopes, "out": out}
    _context.check(q=q, k_cache=k_cache, v_cache=v_cache, **tensors)
    functions: _scores.Traced = (*NO_FUNCTIONS, [])
    if is_scored:
        shape = _shape(q, k_cache, table, sums, page_layout)
        how = {"lengths": (sums, lengths), "is_first": softcap_first}
        functions, words = _scores.traced(score_mod, mask_mod, shape, q, words, alibi_slopes, **how)
    regions, captured, captures = functions
    call = Call(
        *(q, k_cache, v_cache, table, lengths, captures),
        cu_seqlens_q=sums,
        sink=sink,
        k_scale=k_scale,
        v_scale=v_scale,
        offsets=offsets,
        scale=scale,
        causal=causal,
        align=align,
        page_layout=page_layout,
        dynamic=dynamic,
        regions=regions,
        captured=captured,
        with_sums=return_key_sums,
        words=_record.flat_words(words) if words else _record.NO_WORDS,
    )
    made = _planned(call, out, return_lse=return_lse) if is_scored else None
    if made is not None:
        return made if len(made) > 1 else made[0]
    if out is None and not return_lse and not torch.compiler.is_dynamo_compiling():  # it has a node
        made = _step_of_graph(call)
        if made is not None:
            return made
    given = _record.flat(call)
    out, lse, sums = _operator(*given) if out is None else (out, *_operator_out(out, *given))
    results = (out, *([lse] if return_lse else []), *([sums] if return_key_sums else []))
    return results if len(results) > 1 else out


def _table_of(
    k_cache: Tensor, block_table: Tensor | None, kv_lengths: Tensor | None, csr: tuple[Any, ...], page_layout: str
) -> tuple[Tensor, Tensor]:
    """The block table and lengths of a call that has pages in rows one after the other.

    Raises:
      TypeError: neither, or both, are whole.
    """
    page = k_cache.shape[1 if page_layout == "nhd" else 2]
    kv_indptr, kv_indices, last_page_len = csr
    if kv_indices is None and block_table is not None and block_table.dim() == 1:
        kv_indices, block_table = block_table, None
    if kv_indptr is None or block_table is not None or (kv_lengths is not None and last_page_len is not None):
        raise TypeError(
            "expected block_table and kv_lengths, or kv_indptr, kv_indices and last_page_len or kv_lengths in their "
            "place, found parts of them, or both; write one of the two whole"
        )
    return _csr.table(kv_indptr, kv_indices, last_page_len, page, kv_lengths)


def _shape(
    q: Tensor, k_cache: Tensor, table: Tensor, sums: Tensor | None, page_layout: str
) -> tuple[int, int, int, int]:
    """Below what the indices of functions run, (B, Hq, Sq, Sk); of packed queries Sq is the longest sequence's.

    In a graph and on a device the sums have no values here: a sequence may have all rows.
    """
    if q.dim() != (4 if sums is None else 3) or k_cache.dim() != 4 or table.dim() != 2:
        return (1, 1, 1, 1)  # which the operator refuses
    keys = table.shape[1] * k_cache.shape[1 if page_layout == "nhd" else 2]
    if sums is None:
        return (table.shape[0], q.shape[1], q.shape[2], keys)
    longest = q.shape[0]
    if not _eager.has_no_values() and sums.is_cpu and sums.dim() == 1 and sums.numel() > 1:
        longest = min(longest, max(1, int(sums.diff().max())))
    return (table.shape[0], q.shape[1], longest, keys)


paged_sdpa.__doc__ = _signatures.with_words(paged_sdpa.__doc__)
