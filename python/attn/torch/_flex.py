"""`attn.torch.flex_attention`: the signature of PyTorch's FlexAttention over `attn.torch.sdpa`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from attn.torch import _block_masks, _regions
from attn.torch._sdpa import sdpa
from attn.words import _signatures

if TYPE_CHECKING:  # it imports sympy; functions below import it when they are called
    from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, BlockMask

# What it hands on, beside its own keywords.
OPTIONS = frozenset(_signatures.known(sdpa)) - {"query", "key", "value"}

_ignored: set[str] = set()  # what a warning has named


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Any = None,
    mask_mod: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
    block_mask: BlockMask | None = None,
    **options: Any,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor | AuxOutput]:
    """Attention with functions of the score and of the position, as FlexAttention has it.

    A mask is its function: no block mask is made beforehand, the compiler solves the function for the tiles that it
    visits. The functions use operators, and functions of torch or of `attn.functions`: torch.where, score.tanh().

    Args:
      query, key, value: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv).
      score_mod: score_mod(score, b, h, i, j) → score.
      mask_mod: mask_mod(b, h, i, j) → bool, true = attend; or a block mask, as FlexAttention has it in this place.
      scale, enable_gqa: as in `sdpa`.
      return_lse: return the log-sum-exp (B, Hq, Sq) too.
      kernel_options: of PyTorch's kernels, ignored with a warning once.
      return_aux: torch's AuxRequest: the log-sum-exp (B, Hq, Sq), the largest score of each row (B, Hq, Sq), which has
        no gradient, or both.
      block_mask: what torch's create_block_mask or BlockMask.from_kv_blocks returns. Its function counts, and its
        tables where they say more, as those made by hand: keys of listed blocks are kept where the function holds, of
        full blocks always. In a graph tables with full blocks are taken to say what the function does.
      options: the keywords of `sdpa`.

    Returns:
      out (B, Hq, Sq, Dv); or (out, lse); with return_aux out and torch's AuxOutput.

    Raises:
      TypeError, ValueError: as `sdpa`; or a block mask is of other sizes, or a part of another, or beside a mask_mod;
        or return_aux is beside return_lse.
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
        mask_mod = _block_masks.function_of(given, query, key)
    if kernel_options:
        _warn_ignored(*sorted(kernel_options))
    if return_aux is not None and return_lse:
        raise ValueError("expected one of return_lse and return_aux, found both; write return_aux=AuxRequest(lse=True)")
    has_max = return_aux is not None and return_aux.max_scores
    options |= {"return_max": True} if has_max else {}
    made = sdpa(
        query,
        key,
        value,
        scale=scale,
        enable_gqa=enable_gqa,
        score_mod=score_mod,
        mask_mod=mask_mod,
        return_lse=return_lse or (return_aux is not None and return_aux.lse),
        **options,
    )
    if return_aux is None:
        return made  # type: ignore[return-value]
    from torch.nn.attention.flex_attention import AuxOutput

    out, *rows = made if isinstance(made, tuple) else (made,)
    return out, AuxOutput(lse=rows[0] if return_aux.lse else None, max_scores=rows[-1] if has_max else None)


@_regions._assume_constant_result  # it runs when a graph is made
def _warn_ignored(*names: str) -> None:
    """Names what is ignored, once each."""
    new = set(names) - _ignored
    if new:
        _ignored.update(new)
        warnings.warn(
            f"attn.torch.flex_attention: kernel_options {', '.join(sorted(new))} are of PyTorch's kernels and ignored; "
            "attn chooses its own schedule",
            RuntimeWarning,
            stacklevel=3,
        )
