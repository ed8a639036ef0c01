"""The operator `attn::merge`, and calls whose keys lie in two places: `cascade_sdpa` and `extend_sdpa`.

As those of serving, they have no gradient.
"""

from __future__ import annotations

from typing import Any

import torch

import attn
from attn.call import _elements, _layers, _lse
from attn.kernel import _tensor
from attn.kernel._cache import plans
from attn.torch import _context, _eager, _ops, _place, _serving, _steps, _varlen

Tensor = torch.Tensor
TYPES = {getattr(torch, name): kind for name, kind in _elements.TYPE_NAMES.items()}


def _run(
    out1: Tensor, lse1: Tensor, out2: Tensor, lse2: Tensor, lse_layout: str | None = None
) -> tuple[Tensor, Tensor]:
    options = _place.options({"q": out1, "lse1": lse1, "out2": out2, "lse2": lse2}, {})
    out, lse = attn.merge(out1, lse1, out2, lse2, lse_layout=lse_layout, **options)
    return out, lse


_operator = torch.library.custom_op(
    "attn::merge",
    _run,
    mutates_args=(),
    device_types=_ops.DEVICES,
    schema="(Tensor out1, Tensor lse1, Tensor out2, Tensor lse2, str? lse_layout=None) -> (Tensor out, Tensor lse)",
)


@_operator.register_fake
def _shapes(
    out1: Tensor, lse1: Tensor, out2: Tensor, lse2: Tensor, lse_layout: str | None = None
) -> tuple[Tensor, Tensor]:
    _place.check({"q": out1, "lse1": lse1, "out2": out2, "lse2": lse2})
    return out1.new_empty(out1.shape), lse1.new_empty(lse1.shape)


_ops._check_recorded(_operator, _serving._refuse_tangents)


def _planned(
    out1: Tensor, lse1: Tensor, out2: Tensor, lse2: Tensor, lse_layout: str | None
) -> tuple[Tensor, Tensor] | None:
    """The results of packed parts on a processor by a plan, as `_steps` has them; None where there is none."""
    tensors = (out1, lse1, out2, lse2)
    if _eager.is_seen() or not _steps.are_plain(tensors) or not out1.is_cpu:
        return None
    if out1.dim() != 3 or out2.shape != out1.shape or lse2.shape != lse1.shape or out1.dtype not in TYPES:
        return None
    dtype, state = TYPES[out1.dtype], torch.float64 if out1.dtype == torch.float64 else torch.float32
    if [x.dtype for x in tensors] != [out1.dtype, state] * 2 or not all(x.is_contiguous() for x in tensors):
        return None
    layout = _lse.layout(lse_layout, lse1.shape, out1.shape)
    total, heads, size = out1.shape
    if lse1.shape != ((heads, total) if layout == "hn" else (total, heads)):
        return None
    _lse.check_known_sums(lse1.numpy(), lse2.numpy())
    form = ("merge", heads, size, dtype, layout)
    plan = plans.get(form)
    if plan is None:
        arrays = [_tensor.as_array("input", x) for x in tensors]
        kernel = _layers.merging(tuple(out1.shape), dtype, layout, "host")
        plan = plans.keep(form, kernel.plan(arrays, ["out", "lse"], frozenset({"n0"}))[0])
    out, lse = torch.empty_like(out1), torch.empty_like(lse1)
    sizes = (*out1.shape, *lse1.shape)
    plan([x.data_ptr() for x in (*tensors, out, lse)], sizes=sizes * 3)
    return out, lse


def merge(
    out1: Tensor, lse1: Tensor, out2: Tensor, lse2: Tensor, *, lse_layout: str | None = None
) -> tuple[Tensor, Tensor]:
    """`attn.merge` as an operator of PyTorch: the attention over the keys of two calls, without gradients.

    Args:
      out1, out2: (B, Hq, Sq, Dv), or packed (total, Hq, Dv), from calls on disjoint ranges of keys.
      lse1, lse2: their lse, (B, Hq, Sq); of packed ones (Hq, total), as attn returns it, or (total, Hq). A part without
        keys has −inf, whatever its out holds. They are natural logarithms: those of FlashInfer, to base 2, times ln 2.
      lse_layout: "hn" for (Hq, total), "nh" for (total, Hq); needed where both are one shape.

    Returns:
      (out, lse), as if one call had seen the keys of both.

    Raises:
      TypeError, ValueError, RuntimeError: as `attn.merge`.
    """
    made = _planned(out1, lse1, out2, lse2, lse_layout)
    if made is not None:
        return made
    _context.check(out1=out1, lse1=lse1, out2=out2, lse2=lse2)
    if not torch.compiler.is_compiling():
        _lse.layout(lse_layout, tuple(lse1.shape), tuple(out1.shape))
    out, lse = _operator(out1, lse1, out2, lse2, lse_layout)
    return out, lse


def _merged(first: Any, second: Any, out: Tensor | None, return_lse: bool) -> Any:
    """The results of two calls on packed queries as those of one."""
    made, lse = _planned(*first, *second, "hn") or _operator(*first, *second, "hn")
    if out is not None:
        made = out.copy_(made)
    return (made, lse) if return_lse else made


def cascade_sdpa(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    prefix_table: Tensor,
    prefix_length: Tensor | int,
    block_table: Tensor,
    kv_lengths: Tensor,
    *,
    cu_seqlens_q: Tensor,
    causal: str | None = "bottom_right",
    sink: Tensor | None = None,
    softcap: float | None = None,
    return_lse: bool = False,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of sequences that share a prefix: one call on its keys, one on each sequence's own, and their merge.

    The keys of the prefix are read once for all queries, rather than once a sequence.

    Args:
      q, k_cache, v_cache, cu_seqlens_q, sink, softcap: as in `paged_sdpa`.
      prefix_table: (pages,) integers, where the pages of the prefix lie.
      prefix_length: how many keys it has, a number or a tensor of one.
      block_table, kv_lengths: the pages and lengths of the keys behind the prefix of each sequence, those of the
        queries among them.
      causal: "bottom_right", or None. The prefix lies in front of all queries, which see all of it.
      return_lse: return lse (Hq, total_q) too.
      out: as in `paged_sdpa`, copied to.
      options: page_layout, scale, and k_scale and v_scale a number, a head, a page or a slot, as in `paged_sdpa`.

    Returns:
      out (total_q, Hq, Dv), or (out, lse).

    Raises:
      TypeError, ValueError, RuntimeError: as `paged_sdpa`; a word is there that counts positions over both parts.
    """
    _check_options("cascade_sdpa", options, ("page_layout", "scale", "k_scale", "v_scale"))
    options |= {"softcap": softcap, "return_lse": True}
    if not isinstance(prefix_length, Tensor):
        prefix_length = torch.full((1,), prefix_length, dtype=torch.int32, device=q.device)
    ends = torch.stack((cu_seqlens_q[0], cu_seqlens_q[-1]))
    whole = (prefix_table.reshape(1, -1), prefix_length.reshape(1))
    first = _serving.paged_sdpa(q, k_cache, v_cache, *whole, cu_seqlens_q=ends, **options)
    own = {"cu_seqlens_q": cu_seqlens_q, "causal": causal, "sink": sink}
    second = _serving.paged_sdpa(q, k_cache, v_cache, block_table, kv_lengths, **own, **options)
    return _merged(first, second, out, return_lse)


def extend_sdpa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_table: Tensor,
    kv_lengths: Tensor,
    *,
    cu_seqlens_q: Tensor,
    causal: str | None = "bottom_right",
    window: tuple[int | None, int | None] | int | None = None,
    sink: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    return_lse: bool = False,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of tokens whose keys are not in the cache yet: a call on the cache, one on k and v, and their merge.

    Args:
      q, k, v: (total, Hq, D), (total, Hkv, D), (total, Hkv, Dv), the tokens of this step of all sequences, one after
        the other, in one type.
      k_cache, v_cache, block_table, kv_lengths: the keys in front of them, as in `paged_sdpa`: lengths without these
        tokens, 0 for a sequence that begins.
      cu_seqlens_q: (B + 1,) prefix sums of the tokens.
      causal: "bottom_right": a token sees all keys in front of it; or None: all of its sequence.
      window: as in `paged_sdpa`, in positions of the whole sequence.
      sink, scale, softcap: as in `paged_sdpa`.
      return_lse: return lse (Hq, total) too.
      out: as in `paged_sdpa`, copied to.
      options: page_layout, and k_scale and v_scale of the caches, as in `paged_sdpa`.

    Returns:
      out (total, Hq, Dv), or (out, lse).

    Raises:
      TypeError, ValueError, RuntimeError: as `paged_sdpa` and `varlen_sdpa`; a word is there that counts positions over
      both parts.
    """
    _check_options("extend_sdpa", options, ("page_layout", "k_scale", "v_scale"))
    shared = {"scale": scale, "softcap": softcap, "return_lse": True}
    # Row i stands at kv_lengths + i: of the keys of the cache all are in front of it, by a window some.
    placed = {} if window is None else {"window": window, "align": kv_lengths}
    caches = (k_cache, v_cache, block_table, kv_lengths)
    first = _serving.paged_sdpa(q, *caches, cu_seqlens_q=cu_seqlens_q, **placed, **shared, **options)
    sums, own = (cu_seqlens_q, cu_seqlens_q), {} if window is None else {"window": window}
    if window is not None and causal is None:
        own["align"] = "top_left"
    own |= {"causal": causal, "sink": sink, "dynamic": True, "out": q.new_zeros((*q.shape[:2], v.shape[2]))}
    second = _varlen.varlen_sdpa(q, k, v, *sums, **own, **shared)
    return _merged(first, second, out, return_lse)


def _check_options(name: str, given: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = [x for x in given if x not in known]
    if unknown:
        raise TypeError(
            f"attn.torch.{name}() has no keyword {unknown[0]!r}; write one of {', '.join(known)}, or two calls and "
            "attn.torch.merge"
        )
