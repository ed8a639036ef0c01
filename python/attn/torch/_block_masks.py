"""Block masks of FlexAttention as functions of positions.

A block mask is a function and tables: keys of blocks that a table lists are kept where the function holds, those of
full blocks always, all others never. create_block_mask makes tables that say no more than its function, which the
compiler solves for the tiles that it visits. Tables made by hand may say more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch

if TYPE_CHECKING:  # it imports sympy; functions below import it when they are called
    from torch.nn.attention.flex_attention import BlockMask

Tensor = torch.Tensor
LARGEST_PART = 1 << 24  # positions that are looked at together
# Of block masks that have been looked at: their function and the versions of their tables then, and what was found.
_looked_at: WeakKeyDictionary[Any, tuple[Any, bool]] = WeakKeyDictionary()


def function_of(block_mask: BlockMask, query: Tensor, key: Tensor) -> Any:
    """The mask_mod that means what a block mask does.

    Raises:
      ValueError: it is of other sizes.
      TypeError: it is a part of another, without a function.
    """
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
    is_whole = mask_mod is None or mask_mod is flex.noop_mask
    if not is_whole and block_mask.full_kv_num_blocks is not None and _says_no_more(block_mask):
        return mask_mod
    listed, full = _tables(block_mask)
    rows, columns = block_mask.BLOCK_SIZE

    def of(table: Tensor, b: Any, h: Any, i: Any, j: Any) -> Any:
        return table[b if table.shape[0] > 1 else 0, h if table.shape[1] > 1 else 0, i // rows, j // columns]

    if is_whole:
        kept = listed if full is None else listed | full
        return lambda b, h, i, j: of(kept, b, h, i, j)
    if full is None:
        return lambda b, h, i, j: mask_mod(b, h, i, j) & of(listed, b, h, i, j)
    return lambda b, h, i, j: (mask_mod(b, h, i, j) & of(listed, b, h, i, j)) | of(full, b, h, i, j)


def _tables(block_mask: BlockMask) -> tuple[Tensor, Tensor | None]:
    """Which blocks are listed, and which are full: bool (1 or B, 1 or Hq, blocks of queries, blocks of keys)."""
    count = -(-block_mask.seq_lengths[1] // block_mask.BLOCK_SIZE[1])
    listed = _kept(block_mask.kv_num_blocks, block_mask.kv_indices, count)
    if block_mask.full_kv_num_blocks is None or block_mask.full_kv_indices is None:
        return listed, None
    return listed, _kept(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, count)


def _kept(numbers: Tensor, indices: Tensor, count: int) -> Tensor:
    """Which of `count` blocks of keys each block of queries lists: the first `numbers` of its `indices`."""
    numbers, indices = (x.reshape((1,) * (rank - x.dim()) + x.shape) for x, rank in ((numbers, 3), (indices, 4)))
    is_listed = torch.arange(indices.shape[-1], device=indices.device) < numbers[..., None]
    blocks = torch.arange(count, device=indices.device)
    return ((indices[..., None] == blocks) & is_listed[..., None]).any(-2)


def _says_no_more(block_mask: BlockMask) -> bool:
    """Whether the function alone is the mask: nowhere true in blocks that are not listed, nowhere false in full ones.

    It is looked at once, on all positions, as create_block_mask does. In a graph tables have no values: the function
    is taken for all.
    """
    tables: list[Any] = [block_mask.kv_num_blocks, block_mask.kv_indices]
    tables += [block_mask.full_kv_num_blocks, block_mask.full_kv_indices]
    if torch.compiler.is_compiling() or any(type(x) is not Tensor or x.is_meta for x in tables):
        return True
    state = (block_mask.mask_mod, *[0 if x.is_inference() else x._version for x in tables])
    found = _looked_at.get(block_mask)
    if found is None or found[0] != state:
        found = _looked_at[block_mask] = (state, all(_holds_in_parts(block_mask)))
    return found[1]


def _holds_in_parts(block_mask: BlockMask) -> Iterator[bool]:
    """Of parts of the heads and rows that the tables tell apart."""
    from torch.nn.attention.flex_attention import create_mask

    mask_mod, (rows, columns), (queries, keys) = block_mask.mask_mod, block_mask.BLOCK_SIZE, block_mask.seq_lengths
    listed, full = _tables(block_mask)
    assert full is not None
    kinds = (listed + 2 * full.byte()).repeat_interleave(columns, -1)[..., :keys]
    batch, heads, blocks = listed.shape[:3]
    of_blocks = max(1, min(blocks, LARGEST_PART // max(1, rows * keys)))
    of_heads = max(1, min(heads, LARGEST_PART // max(1, of_blocks * rows * keys)))
    for b, h, n in itertools.product(range(batch), range(0, heads, of_heads), range(0, blocks, of_blocks)):
        start = n * rows

        def part(_b: Any, _h: Any, i: Any, j: Any, b: int = b, h: int = h, start: int = start) -> Any:
            return mask_mod(_b + b, _h + h, i + start, j)

        kind = kinds[b, h : h + of_heads, n : n + of_blocks].repeat_interleave(rows, 1)[:, : queries - start]
        kept = create_mask(part, 1, kind.shape[0], kind.shape[1], keys, device=str(kind.device))[0]
        yield bool(torch.where(kind == 0, ~kept, (kind == 1) | kept).all())
