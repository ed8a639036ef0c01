"""`attn.torch.flex_attention`: the signature of PyTorch's FlexAttention over `attn.torch.sdpa`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attn.torch._sdpa import sdpa
from attn.words import _signatures

if TYPE_CHECKING:  # it imports sympy; functions below import it when they are called
    from torch.nn.attention.flex_attention import BlockMask

# What it hands on, beside its own keywords.
OPTIONS = frozenset(_signatures.known(sdpa)) - {"query", "key", "value"}


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Any = None,
    mask_mod: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    *,
    block_mask: BlockMask | None = None,
    **options: Any,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Attention with functions of the score and of the position, as FlexAttention has it.

    A mask is its function: no block mask is made beforehand, the compiler solves the function for the tiles that it
    visits. The functions use operators, and functions of torch or of `attn.functions`: torch.where, score.tanh().

    Args:
      query, key, value: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv).
      score_mod: score_mod(score, b, h, i, j) → score.
      mask_mod: mask_mod(b, h, i, j) → bool, true = attend; or a block mask, as FlexAttention has it in this place.
      scale, enable_gqa: as in `sdpa`.
      return_lse: return the log-sum-exp (B, Hq, Sq) too.
      block_mask: what torch's create_block_mask returns; its function counts, and of one without a function its blocks.
      options: the keywords of `sdpa`.

    Returns:
      out (B, Hq, Sq, Dv), or (out, lse).

    Raises:
      TypeError, ValueError: as `sdpa`; or a block mask is of other sizes, or a part of another, or beside a mask_mod.
    """
    if not options.keys() <= OPTIONS:
        _signatures.keywords("attn.torch.flex_attention", options, [*_signatures.known(flex_attention), *OPTIONS])
    from torch.nn.attention.flex_attention import BlockMask

    if isinstance(mask_mod, BlockMask):
        mask_mod, given = None, mask_mod
    else:
        given = None
    if block_mask is not None:
        if given is not None or mask_mod is not None:
            raise ValueError(
                "expected one of block_mask and mask_mod, found both; write create_block_mask of and_masks, or "
                "block_mask.mask_mod among the conditions of mask_mod"
            )
        given = block_mask
    if given is not None:
        mask_mod = _function_of(given, query, key)
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


def _function_of(block_mask: BlockMask, query: torch.Tensor, key: torch.Tensor) -> Any:
    """The mask_mod that means what a block mask does."""
    from torch.nn.attention import flex_attention as flex

    sizes = (query.shape[-2], key.shape[-2])
    if tuple(block_mask.seq_lengths) != sizes:
        raise ValueError(
            f"expected block_mask of {sizes[0]} queries and {sizes[1]} keys, found one of {block_mask.seq_lengths[0]} "
            f"and {block_mask.seq_lengths[1]}; make it anew by create_block_mask"
        )
    mask_mod = block_mask.mask_mod
    if mask_mod is getattr(flex, "_sliced_mask_mod_error", None):  # the function of a part
        raise TypeError(
            "expected a block_mask with its function, found a part of another, which has none; write "
            "part.mask_mod = …, a function of positions in the part"
        )
    if mask_mod is not None and mask_mod is not flex.noop_mask:
        return mask_mod
    # The blocks alone say what is kept: (1 or B, 1 or Hq, blocks of queries, blocks of keys).
    rows, columns = block_mask.BLOCK_SIZE
    kept = _kept(block_mask.kv_num_blocks, block_mask.kv_indices)
    if block_mask.full_kv_num_blocks is not None:
        kept = kept | _kept(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)
    every_b, every_h = kept.shape[0] > 1, kept.shape[1] > 1

    def of_blocks(b: Any, h: Any, i: Any, j: Any) -> Any:
        return kept[b if every_b else 0, h if every_h else 0, i // rows, j // columns]

    return of_blocks


def _kept(numbers: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Which blocks of keys each block of queries lists: the first `numbers` of its `indices`."""
    columns = torch.arange(indices.shape[-1], device=indices.device)
    is_listed = columns < numbers[..., None]
    return ((indices[..., None] == columns) & is_listed[..., None]).any(-2)
