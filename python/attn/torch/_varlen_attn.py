"""`attn.torch.varlen_attn`: the signature of torch.nn.attention.varlen over `varlen_sdpa` and `paged_sdpa`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attn.torch._serving import paged_sdpa
from attn.torch._varlen import varlen_sdpa

if TYPE_CHECKING:
    from torch.nn.attention.varlen import AuxRequest

Tensor = torch.Tensor


def varlen_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """PyTorch's torch.nn.attention.varlen.varlen_attn by kernels of attn, on the CPU too and in the types of attn.

    As `varlen_sdpa`, with gradients; with seqused_k as `paged_sdpa`, without. One kernel serves all sizes.

    Args:
      query: (total_q, Hq, D), packed sequences.
      key, value: (total_k, Hkv, D), (total_k, Hkv, Dv); with block_table pages (pages, page, Hkv, D or Dv).
      cu_seq_q, cu_seq_k: (B + 1,) integers, exclusive prefix sums of the lengths; with block_table the latter is not
        read.
      max_q: the longest sequence of queries; not read.
      max_k: the longest sequence of keys; read with seqused_k alone.
      return_aux: torch's AuxRequest: return lse (Hq, total_q) too.
      scale: factor on Q·Kᵀ; None for 1/√D.
      window_size: how many keys on the left and the right of the diagonal a query sees, which ends at the last key of
        its sequence; -1 for all. (-1, 0) is causal.
      enable_gqa: Hq may be a multiple of Hkv.
      seqused_k: (B,) integers, how many keys of each sequence count.
      block_table: (B, max_pages) integers, where each page of each sequence lies; beside seqused_k.
      num_splits: not read: bits never depend on the batch.

    Returns:
      out (total_q, Hq, Dv), or (out, lse).

    Raises:
      TypeError, ValueError, RuntimeError: as `varlen_sdpa` and `paged_sdpa`; or there are more heads than enable_gqa
        says, a block_table without seqused_k, or neither cu_seq_k nor block_table.
    """
    heads, key_heads = query.shape[-2], key.shape[-2]
    if not enable_gqa and heads != key_heads:
        raise ValueError(
            f"expected as many heads of key as of query, {heads}, found {key_heads}; write enable_gqa=True where heads "
            "of query share one of key"
        )
    left, right = (None if x < 0 else x for x in window_size)
    options: dict[str, Any] = {"scale": scale, "return_lse": return_aux is not None and return_aux.lse}
    if (left, right) == (None, 0):
        options["causal"] = "bottom_right"
    elif (left, right) != (None, None):
        options |= {"window": (left, right), "align": "bottom_right"}
    if block_table is None and cu_seq_k is None:
        raise ValueError(
            "expected cu_seq_k or block_table, found neither; write the prefix sums of the numbers of keys"
        )
    if seqused_k is None:
        if block_table is not None:
            raise ValueError("expected seqused_k beside block_table, found None; write how many keys each sequence has")
        return varlen_sdpa(query, key, value, cu_seq_q, cu_seq_k, dynamic=True, **options)  # type: ignore[arg-type,return-value]
    if block_table is None:
        # Packed keys are pages of one row each.
        assert cu_seq_k is not None
        _check_used(seqused_k, cu_seq_k)
        block_table = cu_seq_k[:-1, None] + torch.arange(max_k, dtype=cu_seq_k.dtype, device=cu_seq_k.device)
        key, value = key[:, None], value[:, None]
    return paged_sdpa(query, key, value, block_table, seqused_k, cu_seqlens_q=cu_seq_q, **options)  # type: ignore[return-value]


def _check_used(seqused_k: Tensor, cu_seq_k: Tensor) -> None:
    """Where values can be read.

    Raises:
      ValueError: a sequence would use keys of the next one.
    """
    if torch.compiler.is_compiling() or not (seqused_k.is_cpu and cu_seq_k.is_cpu):
        return
    lengths = cu_seq_k.diff()
    if seqused_k.shape != lengths.shape or bool((seqused_k > lengths).any()):
        raise ValueError(
            f"expected seqused_k of at most {lengths.tolist()}, the lengths of cu_seq_k, found {seqused_k.tolist()}"
        )
