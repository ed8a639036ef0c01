"""Attention on paged caches."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

import numpy as np

from attn.call import _call, _checks, _elements, _padding, _pages, _problem, _running
from attn.call._problem import Given
from attn.kernel import _cuda, _tensor
from attn.words import _signatures, _words
from attn.words._types import Alignment, Integers, MaskMod, ScoreMod, State, Tensor, TensorT
from attn.words._words import Words


@_signatures.explains_arguments
def paged_sdpa(
    q: TensorT,
    k_cache: Tensor,
    v_cache: Tensor,
    block_table: Tensor,
    kv_lengths: Integers,
    *,
    cu_seqlens_q: Integers | None = None,
    page_layout: str = "nhd",
    scale: float | Tensor | None = None,
    causal: Alignment | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    sink: Tensor | None = None,
    align: Alignment | None = None,
    q_lengths: Integers | None = None,
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
    dynamic: bool = False,
    target: str = "host",
    **words: Unpack[Words],
) -> TensorT | tuple[TensorT, ...]:
    """Attention on keys and values that lie in pages; nothing is gathered in memory.

    Args:
      q: (B, Hq, Sq, D); with cu_seqlens_q (total_q, Hq, D), the queries of all sequences one after the other: prompts
        and single tokens, as a step of a serving engine has them.
      k_cache, v_cache: [pages, page, Hkv, D or Dv] for page_layout "nhd", [pages, Hkv, page, D or Dv] for "hnd"; any
        page size ≥ 1. One may have more pages than the other, as shifted views of one memory have.
      block_table: [B, max_pages] integers, where each page of each sequence lies, in both caches; Sk is
        max_pages·page. Entries past the length, and those of pages in front of the window of the first row, may be
        anything.
      kv_lengths: [B] integers, how many keys each sequence has.
      cu_seqlens_q: [B + 1] integers, exclusive prefix sums of the numbers of queries; then without bias, mask and
        q_lengths. What a sequence's rows are does not depend on the other sequences, to the bit. Rows behind the last
        sum are padding: out is 0 there and lse −inf, and `out` and a GPU's results keep what they hold.
      page_layout: "nhd" or "hnd".
      scale, causal, bias, mask, sink, align, q_lengths, score_mod, mask_mod, alibi_slopes, softcap_first, return_lse,
        return_max, return_log_sum, q_scale, out_scale, out_dtype, into, dynamic, words: as in `sdpa`.
      return_key_sums: return key_sums (B, Hkv, max_pages, page) too, as `sdpa`: [b, h, n, r] is of row r of the page
        block_table[b, n]. It is in the order of the sequence's keys, whatever page holds them, and 0 beyond the length.
      target: as in `sdpa`. On a GPU lengths and block table are not tested.
      k_scale, v_scale: of quantised caches, [Hkv], one a head; [pages, Hkv], one a page; the shape of the caches
        without D, one a slot; or [B, Hkv, Sk] in the order of the sequence's keys, whatever page holds them; these not
        with dynamic, nor a bias or mask over the keys. On a processor one number, or an array of one, is that of all,
        None is 1 of fp8, and int8 has to have one.
      out: an array for out, which is returned: its shape and type, writable, over no input. It is written in place
        where it is C-contiguous, otherwise copied to. Not beside into.

    Returns:
      out (B, Hq, Sq, Dv) in out_dtype, or a tuple of out and further results, in the order lse, max, log_sum,
      key_sums. With cu_seqlens_q out (total_q, Hq, Dv), and lse, max, log_sum (Hq, total_q).

    Raises:
      ValueError: also where a length is beyond the block table, an entry within a length is no page, or prefix sums are
        none.
      TypeError, CompileError: as `sdpa`.
    """
    given = locals()
    return _running.run(PAGED, given) if into is not None else _padding.run(PAGED, given, {"cu_seqlens_q": ("q",)})


def _forms(
    target: str, dynamic: Any, block_table: Any, kv_lengths: Any, cu_seqlens_q: Any, page_layout: str, **operands: Any
) -> Any:
    """Those of i32 lengths, sums and table: the checked entry tests what they hold."""
    if _cuda.is_target(target):
        return None
    (operands["k_cache"], operands["v_cache"]), _ = _pages.common(operands["k_cache"], operands["v_cache"])
    inputs, types = _running.forms(target, **operands)
    integers = [_tensor.as_array("an integer", x) for x in (kv_lengths, cu_seqlens_q, block_table) if x is not None]
    if any(x.dtype != np.int32 for x in integers):
        return None
    has_sums = cu_seqlens_q is not None
    counts = (integers[0].shape, integers[1].shape if has_sums else None, integers[-1].shape)
    if dynamic:
        # One kernel for any number of sequences, rows and pages.
        (q, *of_q), *caches = types
        rows = (1, *q[1:]) if has_sums else (1, q[1], 1, q[3])
        types = ((rows, *of_q), *(((1, *shape[1:]), *rest) for shape, *rest in caches))
        counts = ((1,), (2,) if has_sums else None, (1, 1))
    return [*inputs, *integers], (types, counts, page_layout)


def paged(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    block_table: Any,
    kv_lengths: Any,
    target: str,
    page_layout: str = "nhd",
    cu_seqlens_q: Any = None,
    **options: Any,
) -> _call.Call:
    """A call of `paged_sdpa`, which has these options, but for functions."""
    scales = [options.get(name) for name in ("k_scale", "v_scale")]
    (k_cache, v_cache), (options["k_scale"], options["v_scale"]) = _pages.common(k_cache, v_cache, *scales)
    integers = {"kv_lengths": kv_lengths, "cu_seqlens_q": cu_seqlens_q, "block_table": block_table}
    operands, options, tensors = _call.split(
        target, {"q": q, "k_cache": k_cache, "v_cache": v_cache}, options, **integers
    )
    arrays = dict(zip(("q", "k_cache", "v_cache"), operands, strict=True))
    _elements.key_type(*operands)
    sums, table = options.pop("cu_seqlens_q"), options.pop("block_table")
    for name, array in arrays.items():
        rank = 3 if name == "q" and sums is not None else 4
        if array.ndim != rank:
            raise ValueError(f"expected {name} of rank {rank}, found shape {array.shape}")
    of_rows = 1 if _pages.page_layout(page_layout) == "nhd" else 2
    pages, page = arrays["k_cache"].shape[0], arrays["k_cache"].shape[of_rows]
    if arrays["v_cache"].shape[1:3] != arrays["k_cache"].shape[1:3]:
        raise ValueError(
            f"expected v_cache to have the page and heads of k_cache, {arrays['k_cache'].shape[1:3]}, found "
            f"{arrays['v_cache'].shape[1:3]}"
        )
    if page == 0:
        raise ValueError("expected pages of at least 1 row, found 0")
    rows = None
    if sums is not None:
        rows = _pages.cu_seqlens("cu_seqlens_q", sums, arrays["q"].shape[0], is_known=tensors is None)
    batch = arrays["q"].shape[0] if rows is None else rows.size - 1
    table = _pages.block_table_form(table, batch)
    lengths = _checks.lengths("kv_lengths", options.pop("kv_lengths"), batch, table.shape[1] * page)
    if lengths is None:
        raise ValueError("expected kv_lengths of a paged cache, found None; write how many keys each sequence has")
    queries = options.get("q_lengths") if rows is None else np.diff(rows)
    queries = arrays["q"].shape[2] if queries is None else queries
    alignment = options["causal"] if options.get("align") is None else options["align"]
    words = {name: options.get(name) for name in _words.FORMS}
    first = _pages.first_keys(lengths, queries, alignment, words) if tensors is None else 0
    table = _pages.block_table(table, lengths, page, pages, first)
    if tensors is not None and _checks.placed(words) and hasattr(tensors[-1], "clip"):
        tensors[-1] = tensors[-1].clip(0, pages - 1)  # of freed pages, which kernels read some of
    # Stand-ins for the dense keys and values, for their shapes and type alone: they have no memory.
    k, v = (
        np.broadcast_to(np.zeros((), x.dtype), (batch, x.shape[3 - of_rows], table.shape[1] * page, x.shape[3]))
        for x in (arrays["k_cache"], arrays["v_cache"])
    )
    given = Given(**options, kv_lengths=lengths, paged=(page, page_layout, pages))
    if rows is None:
        problem, others = _call.prepare(arrays["q"], k, v, given)
        longest = problem.sizes.sq
    else:
        problem, others = _prepare_step(arrays["q"], k, v, rows, given, is_known=tensors is None)
        longest = int(np.diff(rows).max()) if tensors is None else problem.sizes.sq
    numbers = _call.numbers_of(problem, others)
    inputs = tensors or [*operands, *others[: len(others) - len(numbers)], _call.as_i32(table)]
    scores = problem.sizes._replace(sq=longest).scores
    return _call.Call(problem, scores, [*inputs, *numbers], target)


OPERANDS = ("q", "k_cache", "v_cache", "block_table", "kv_lengths", "cu_seqlens_q", "page_layout")
PAGED = _running.Kind(paged_sdpa, OPERANDS, paged, _forms)


def _prepare_step(
    q: Any, k: Any, v: Any, rows: Any, given: Given, *, is_known: bool
) -> tuple[_problem.Problem, list[Any]]:
    """The problem of packed queries on k and v (B, Hkv, Sk, …), and what its kernel takes after q, k, v."""
    for name in ("bias", "mask", "q_lengths"):
        if getattr(given, name) is not None:
            raise ValueError(
                f"expected no {name} beside cu_seqlens_q, whose sequences have scores of different sizes; leave it out"
                + ("" if name == "q_lengths" else ", or write mask_mod or score_mod")
            )
    # As if each sequence had room for all rows: a stand-in for the shape alone.
    dense = np.broadcast_to(np.zeros((), q.dtype), (rows.size - 1, q.shape[1], q.shape[0], q.shape[2]))
    given.q_lengths = np.diff(rows) if is_known else None  # for alignments, which are one where all lengths are
    problem, others = _call.prepare(dense, k, v, given, (rows,))
    if is_known:
        del others[int(problem.sink)]
    return dataclasses.replace(problem, layout="varlen", q_lengths=False), others
