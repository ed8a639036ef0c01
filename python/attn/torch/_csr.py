"""Page tables as FlashInfer has them, compressed by rows, as block tables."""

from __future__ import annotations

import torch

from attn.torch import _eager

Tensor = torch.Tensor


@torch.library.custom_op("attn::block_table_of_pages", mutates_args=())
def _block_table(kv_indptr: Tensor, kv_indices: Tensor) -> Tensor:
    """The pages of each sequence in a row (B, pages of the longest one); behind them is anything."""
    first, counts = kv_indptr[:-1, None].long(), kv_indptr.diff()
    width = max(1, int(counts.max()))
    if not kv_indices.numel():
        return kv_indices.new_zeros((counts.shape[0], width), dtype=torch.int32)
    places = first + torch.arange(width, device=first.device)
    return kv_indices[places.clamp_(0, kv_indices.shape[0] - 1)].to(torch.int32)


@_block_table.register_fake
def _shape(kv_indptr: Tensor, kv_indices: Tensor) -> Tensor:
    width = torch.library.get_ctx().new_dynamic_size(min=1)
    return kv_indices.new_empty((kv_indptr.shape[0] - 1, width), dtype=torch.int32)


def table(
    kv_indptr: Tensor, kv_indices: Tensor, last_page_len: Tensor | None, page: int, kv_lengths: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The block table and the lengths of keys, which are given by the last pages or as they are; none without pages.

    Raises:
      TypeError: one of them is missing, or holds no integers.
      ValueError: their shapes do not fit, or the prefix sums fall or are beyond the indices (on a GPU not tested).
    """
    last = "last_page_len" if kv_lengths is None else "kv_lengths"
    of_each = last_page_len if kv_lengths is None else kv_lengths
    named = {"kv_indptr": kv_indptr, "kv_indices": kv_indices, last: of_each}
    for name, x in named.items():
        if not isinstance(x, Tensor) or x.is_floating_point():
            found = f"a tensor of {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
            raise TypeError(f"expected {', '.join(named)} as tensors of integers, found {name} as {found}")
        if x.dim() != 1:
            raise ValueError(f"expected {name} of rank 1, found shape {tuple(x.shape)}")
    if kv_indptr.shape[0] < 2 or of_each.shape[0] != kv_indptr.shape[0] - 1:
        raise ValueError(
            f"expected kv_indptr of shape (batch + 1,) and {last} of (batch,), found {tuple(kv_indptr.shape)} and "
            f"{tuple(of_each.shape)}"
        )
    counts = kv_indptr.diff()
    if kv_indptr.is_cpu and not _eager.has_no_values():
        sums = kv_indptr.tolist()
        if sums[0] < 0 or sums[-1] > kv_indices.shape[0] or sums != sorted(sums):
            raise ValueError(
                f"expected kv_indptr never to decrease, from 0 to at most the {kv_indices.shape[0]} entries of "
                f"kv_indices, found {sums}"
            )
        if kv_lengths is not None and bool((is_beyond := kv_lengths > counts * page).any()):
            b = int(is_beyond.nonzero()[0, 0])
            raise ValueError(
                f"expected kv_lengths of at most the rows of the pages of kv_indptr, found {int(kv_lengths[b])} of "
                f"sequence {b}, which has {int(counts[b])} pages of {page} rows"
            )
    if kv_lengths is None:
        kv_lengths = torch.where(counts > 0, (counts - 1) * page + last_page_len, 0).to(torch.int32)
    return _block_table(kv_indptr, kv_indices), kv_lengths
