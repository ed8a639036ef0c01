"""`attn.torch.sdpa`: the signature of PyTorch's F.scaled_dot_product_attention over the operator `attn::sdpa`."""

from __future__ import annotations

from typing import Any, Unpack

import torch

from attn.torch import (
    _broadcast,
    _causal_bias,
    _context,
    _dtensor,
    _eager,
    _functions,
    _narrow,
    _nested,
    _proxies,
    _record,
    _scores,
)
from attn.torch._ops import Call
from attn.torch.parallel import _active
from attn.words import _signatures
from attn.words._words import Words

Tensor = torch.Tensor


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    causal: str | Tensor | None = None,
    align: str | Tensor | None = None,
    bias: Tensor | None = None,
    sink: Tensor | None = None,
    q_lengths: Any = None,
    kv_lengths: Any = None,
    score_mod: Any = None,
    mask_mod: Any = None,
    alibi_slopes: Tensor | None = None,
    softcap_first: bool = False,
    q_scale: float | Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    out_scale: float | Tensor | None = None,
    return_lse: bool = False,
    return_max: bool = False,
    q_origin: Any = None,
    k_origin: Any = None,
    b_origin: int | None = None,
    h_origin: int | None = None,
    whole: tuple[int, int, int] | None = None,
    dynamic: bool | None = None,
    **words: Unpack[Words],
) -> Tensor | tuple[Tensor, ...]:
    """PyTorch's F.scaled_dot_product_attention by kernels of attn, forward and backward, and what attn has beyond it.

    It runs in eager mode, under torch.compile without graph breaks, torch.export, autocast, inference mode and
    torch.func.vmap. out and lse have gradients of first order. Tensors are on the CPU, or all on one CUDA device; there
    kernels are compiled for its compute capability and start on PyTorch's current stream. Gradients of other inputs
    than query, key and value have no kernels on GPUs: a backward pass that needs one is an error.

    Args:
      query, key, value: (…, Hq, Sq, D), (…, Hkv, Sk, D), (…, Hkv, Sk, Dv), of one float type. Batches (…) broadcast,
        as do heads: of queries where there is one, and of keys and values where there is one. Or all three nested
        tensors (B, H, j, D) of layout jagged, whose sequences `varlen_sdpa` takes, without masks, biases and dropout.
      attn_mask: bool, true = attend, or floats that are added to the scores; broadcasts to (…, Hq, Sq, Sk). Floats have
        a gradient where they require one. Or what torch.nn.attention.bias's causal_upper_left or causal_lower_right
        makes, which is causal="top_left" or "bottom_right".
      dropout_p: how many weights are dropped, drawn from PyTorch's generator; also outside of training, as there.
      is_causal: a query sees the keys j ≤ i, aligned at the top left; not beside attn_mask.
      scale: factor on Q·Kᵀ; None for 1/√D.
      enable_gqa: Hq may be a multiple of Hkv.
      causal, align: as in `attn.sdpa`, for other alignments; causal may stand beside attn_mask.
      bias: floats that are added to the scores, beside an attn_mask of bool.
      sink: (Hq,) floats, a score a head that takes part in the sum of the softmax only; has a gradient.
      q_lengths, kv_lengths: integers, one an entry of the batch (…).
      score_mod, mask_mod: as in `attn.sdpa`. Tensors that score_mod reads have a gradient where they require one; those
        that mask_mod alone reads may require none.
      alibi_slopes: (Hq,) or (B, Hq) floats: −slope · |i + Sk − Sq − j| is added to each score, behind score_mod and
        softcap, of the lengths where they are there; as in `attn.sdpa`. They have a gradient where they require one.
      softcap_first: softcap comes before score_mod, as FlashAttention has it, not behind it.
      q_scale, out_dtype, out_scale: as in `attn.sdpa`: a q of 8 bits is widened in a pass of its own, and out made one
        of 8 bits in another; out_dtype is one of 8 bits, or beside such a q also what it is widened to.
      return_lse: return lse (…, Hq, Sq) too, the natural logarithm of the sum of exp of the scores.
      return_max: return the largest score of each row (…, Hq, Sq) too, a sink among them, without gradient (QK-clip).
      q_origin, k_origin, b_origin, h_origin, whole: as in `attn.sdpa`, where the tensors begin in a whole that they are
        a part of; q_origin and k_origin are an integer, or integers, one an entry of the batch (…).
      dynamic: True for one kernel of all batches and lengths, False for one of each. None: the first call compiles for
        its sizes, later ones share a kernel that leaves open what has changed.
      {words}

    Returns:
      out (…, Hq, Sq, Dv), or a tuple of out and further results, in the order lse, max.

    Raises:
      TypeError, ValueError: as `attn.sdpa`, and where PyTorch's function refuses; or tensors are on several devices,
        distributed (DTensor) over other dimensions than batch and heads, or of classes whose memory is not their
        elements.
      RuntimeError: the call is inside of PyTorch's context_parallel, or of forward-mode differentiation; the device's
        compute capability is below 8.0; or there is dropout in a CUDA graph that is captured.
    """
    if words:  # before any road is chosen, so that all refuse the same
        _signatures.words("attn.torch.sdpa", sdpa, words)
    if _proxies.are_among(query, key, value):
        return _proxies.record(sdpa, {**locals()})
    if _narrow.is_needed(query, q_scale, out_dtype, out_scale):
        return _narrow.around(sdpa, query, query.dim() - 3, {**locals()})
    given = None
    has_arrays = not (bias is sink is q_lengths is kv_lengths is score_mod is mask_mod is alibi_slopes is None)
    has_origins = not (q_origin is k_origin is b_origin is h_origin is whole is None)
    if not (has_arrays or dropout_p or words or has_origins):
        constants = (is_causal, scale, enable_gqa, causal, align, return_lse, return_max, dynamic)
        given = (query, key, value, attn_mask, constants)
        made = _eager.known(*given)
        if made is not None:
            return made[0] if len(made) == 1 else made
    is_distributed, is_sharded = _dtensor.is_among(query, key, value), bool(_active.stack)
    if attn_mask is not None:
        ranks = _active.ranks() if is_sharded else 1
        word = _causal_bias.alignment(attn_mask, query.shape[-2], key.shape[-2], ranks)
        if word is not None:
            if is_causal or causal is not None:
                raise ValueError(
                    "expected a CausalBias as attn_mask without is_causal and causal, found both; leave one out"
                )
            attn_mask, causal, given = None, word, None
    if is_causal and (attn_mask is not None or causal is not None):
        other = "attn_mask" if causal is None else "causal"
        raise ValueError(f'expected is_causal without {other}, found both; write causal="top_left" beside a mask')
    tensors = {"attn_mask": attn_mask, "bias": bias, "sink": sink, "causal": causal, "align": align}
    tensors |= {"q_lengths": q_lengths, "kv_lengths": kv_lengths, "q_origin": q_origin, "k_origin": k_origin}
    if is_distributed or is_sharded or query.is_nested or key.is_nested or value.is_nested:
        if has_origins:
            raise ValueError(
                "expected no q_origin, k_origin, b_origin, h_origin or whole beside distributed or nested tensors, or "
                "on several ranks, which say themselves where they begin; leave them out"
            )
        if alibi_slopes is not None or softcap_first:
            raise ValueError(
                "expected no alibi_slopes or softcap_first beside distributed or nested tensors, or on several ranks; "
                "write score_mod"
            )
        options = {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal, "enable_gqa": enable_gqa}
        options |= {"scale": scale, "causal": causal, "align": align, "bias": bias, "sink": sink}
        options |= {"q_lengths": q_lengths, "kv_lengths": kv_lengths, "score_mod": score_mod, "mask_mod": mask_mod}
        options |= {"return_lse": return_lse, "return_max": return_max, "dynamic": dynamic, **words}
        _context.check(**{} if is_distributed else tensors)
        if is_sharded:
            return _active.call(query, key, value, options)
        if is_distributed:
            return _dtensor.sdpa(sdpa, query, key, value, options)
        return _nested.sdpa(query, key, value, options)
    _context.check(query=query, key=key, value=value, **tensors)
    q, k, v, lead = _broadcast.operands(query, key, value, enable_gqa)
    mask = None
    if attn_mask is not None:
        broadcast = _broadcast.mask(attn_mask, lead)
        if attn_mask.dtype == torch.bool:
            mask = broadcast
        elif not attn_mask.is_floating_point():
            raise TypeError(
                f"expected attn_mask of bool or floats, found {attn_mask.dtype}; write attn_mask.bool() where numbers "
                "other than 0 mean attend"
            )
        elif bias is None:
            bias = broadcast.to(q.dtype) if attn_mask.dtype == torch.float32 else broadcast
        else:
            raise ValueError("expected one of bias and an attn_mask of floats, found both; add them")
    causal = "top_left" if is_causal else causal
    offsets, causal, align = _record.offsets(causal, align)
    lengths = (_record.integers(q_lengths, q.device), _record.integers(kv_lengths, q.device))
    if alibi_slopes is not None and has_origins:
        raise ValueError("expected no origins beside alibi_slopes, whose distances are of the lengths given")
    scores, how = (*q.shape[:3], k.shape[2]), {"lengths": lengths, "is_first": softcap_first}
    functions, words = _scores.traced(score_mod, mask_mod, scores, q, words, alibi_slopes, **how)
    regions, captured, captures = functions
    call = Call(
        q,
        k,
        v,
        captures,
        bias=bias,
        mask=mask,
        sink=sink,
        q_lengths=lengths[0],
        kv_lengths=lengths[1],
        offsets=_record.integers(offsets, q.device),
        seeds=_seeds(dropout_p),
        scale=scale,
        causal=causal,
        align=align,
        dropout=dropout_p if dropout_p else None,
        regions=regions,
        captured=captured,
        dynamic=dynamic,
        q_origin=_origins(q_origin, q),
        k_origin=_origins(k_origin, q),
        b_origin=b_origin,
        h_origin=h_origin,
        whole=None if whole is None else list(whole),
        words=_record.flat_words(words) if words else _record.NO_WORDS,
    )
    returned = ("out", *["lse"] * bool(return_lse), *["max"] * bool(return_max))
    made = _eager.run(call, returned, given)
    if made is None:
        made = _chosen(_functions.call(call.flat()), returned)
    shape = (*lead, *q.shape[1:3])[1 - max(query.dim(), key.dim(), value.dim()) :]
    if len(lead) != 1:
        made = _in_shape(made, shape, v.shape[3])
    return made if len(made) > 1 else made[0]


sdpa.__doc__ = _signatures.with_words(sdpa.__doc__)


def _chosen(results: Any, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """The results of these names."""
    return tuple([getattr(results, name) for name in names])


def _in_shape(made: tuple[Tensor, ...], shape: tuple[int, ...], columns: int) -> tuple[Tensor, ...]:
    """out and results of rows in this shape of rows."""
    return (made[0].reshape(*shape, columns), *[x.reshape(shape) for x in made[1:]])


def _origins(value: Any, q: Tensor) -> Tensor | None:
    """Origins: a number is that of all entries of the batch."""
    if isinstance(value, int):
        return torch.full((q.shape[0],), value, dtype=torch.int64, device=q.device)
    return _record.integers(value, q.device)


def _seeds(dropout_p: float) -> Tensor | None:
    """Seed and offset of a call with dropout, which the host reads."""
    return torch.randint(2**62, (2,), device="cpu") if dropout_p else None
