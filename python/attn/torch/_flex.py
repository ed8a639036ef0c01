"""`attn.torch.flex_attention`: the signature of PyTorch's FlexAttention over `attn.torch.sdpa`."""

from __future__ import annotations

from typing import Any

import torch

from attn.torch._sdpa import sdpa


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Any = None,
    mask_mod: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    **options: Any,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Attention with functions of the score and of the position, as FlexAttention has it.

    A mask is its function: no block mask is made beforehand, the compiler solves the function for the tiles that it
    visits. The functions use operators and `attn.functions` (attn.where for torch.where).

    Args:
      query, key, value: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv).
      score_mod: score_mod(score, b, h, i, j) → score.
      mask_mod: mask_mod(b, h, i, j) → bool, true = attend; what FlexAttention gets in a block mask.
      scale, enable_gqa: as in `sdpa`.
      return_lse: return the log-sum-exp (B, Hq, Sq) too.
      options: the keywords of `sdpa`.

    Returns:
      out (B, Hq, Sq, Dv), or (out, lse).
    """
    return sdpa(
        query,
        key,
        value,
        scale=scale,
        enable_gqa=enable_gqa,
        score_mod=score_mod,
        mask_mod=mask_mod,
        return_lse=return_lse,
        **options,
    )
