"""attn as an attention implementation of Hugging Face transformers."""

from __future__ import annotations

from typing import Any

import torch

from attn.torch import _interface
from attn.torch._sdpa import sdpa


def register_transformers(name: str = "attn") -> str:
    """Registers attn with transformers, for every model whose attention is chosen by `attn_implementation`.

    After it, `AutoModel.from_pretrained(…, attn_implementation="attn")` and `model.set_attn_implementation("attn")` use
    the kernels of attn, forward and backward. Masks are those that transformers makes for "sdpa". A model whose
    attention does not ask the interface of transformers refuses the implementation by a ValueError.

    Args:
      name: what the implementation is called.

    Returns:
      The name.

    Raises:
      ImportError: transformers is not installed.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, _attention)
    AttentionMaskInterface.register(name, _mask)
    _interface.guard(name)
    return name


def _mask(*arguments: Any, **keywords: Any) -> torch.Tensor | None:
    """The mask that transformers makes for "sdpa"."""
    from transformers.masking_utils import sdpa_mask

    if not torch.compiler.is_compiling():
        _interface.check_caller()
    mask: torch.Tensor | None = sdpa_mask(*arguments, **keywords)
    return mask


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """An attention function of transformers: q, k, v (B, H, S, D); returns out (B, S, H, Dv) and no weights.

    Args:
      module: the layer; its `is_causal` holds where the call says nothing.
      query, key, value, attention_mask, dropout, scaling: as in `sdpa`.
      is_causal: whether the layer is causal; a mask has it already, and one query sees every key.
      softcap: of Gemma.
      s_aux: sinks of gpt-oss, one a head.
      position_bias: floats that are added to the scores.
    """
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    # Without a mask and with a cache, the queries are the first of as many keys: that is what "sdpa" computes.
    is_first = causal and attention_mask is None and query.shape[2] > 1
    if position_bias is not None and attention_mask is not None and attention_mask.is_floating_point():
        attention_mask, position_bias = attention_mask + position_bias, None
    out = sdpa(
        query,
        key,
        value,
        attn_mask=attention_mask,
        dropout_p=dropout,
        causal="top_left" if is_first else None,
        scale=scaling,
        enable_gqa=True,
        bias=position_bias,
        sink=s_aux,
        softcap=softcap,
    )
    return out.transpose(1, 2).contiguous(), None
