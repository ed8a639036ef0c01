"""`attn.torch.context_parallel`: PyTorch's context of the same name, by attn's kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from attn.torch.parallel import _active, _call, _layout
from attn.torch.parallel._group import Group

Tensor = torch.Tensor


@contextlib.contextmanager
def context_parallel(
    mesh: Any = None,
    *,
    buffers: Sequence[Tensor] | None = None,
    buffer_seq_dims: Sequence[int] | None = None,
    no_restore_buffers: set[Tensor] | None = None,
    method: str = "allgather",
    layout: str | Tensor = "zigzag",
    ordered: bool | int = False,
    cu_seqlens: Any = None,
) -> Iterator[None]:
    """A context in which a sequence is on several ranks, and attention is that of the whole.

    Inside, `attn.torch.sdpa`, `attn.torch.varlen_sdpa`, F.scaled_dot_product_attention and models of transformers with
    attn_implementation="attn" or "sdpa" are `sharded_sdpa`: what masks say counts from the start of the whole. Every
    call of attention inside is one of the sequence; FlexAttention of PyTorch is not seen. It is of the process, as
    PyTorch's own. A backward pass belongs inside where it reads buffers, as that of an embedding reads tokens.

    Args:
      mesh, method, layout, ordered, cu_seqlens: as in `sharded_sdpa`.
      buffers: tensors with the sequence: tokens, labels, positions. Inside, each has the rows of its rank, in place.
      buffer_seq_dims: the dimension of the sequence of each.
      no_restore_buffers: those that need not be restored afterwards.

    Raises:
      TypeError, ValueError, RuntimeError: as `sharded_sdpa`; buffers of several lengths; positions of packed documents
        without cu_seqlens; or PyTorch's own context is around.
    """
    buffers, dims = list(buffers or ()), list(buffer_seq_dims or ())
    if len(buffers) != len(dims):
        raise ValueError(f"expected as many buffer_seq_dims as buffers, found {len(dims)} and {len(buffers)}")
    kept = list(no_restore_buffers or ())
    if any(all(x is not y for y in buffers) for x in kept):
        raise ValueError("expected no_restore_buffers to be some of buffers, found another tensor")
    chosen = _call.settings(mesh, method, layout, ordered, cu_seqlens)
    from attn.torch import _context
    from attn.torch._sdpa import sdpa

    _context.check()
    group = Group(mesh)
    shards = _shards(group, chosen, buffers, dims)
    originals = [None if any(x is y for y in kept) else x.clone() for x in buffers]
    with torch.no_grad():
        for x, shard in zip(buffers, shards, strict=True):
            x.resize_(shard.shape)
            x.copy_(shard)
    native = torch.nn.functional.scaled_dot_product_attention
    _active.stack.append(chosen)
    torch.nn.functional.scaled_dot_product_attention = sdpa  # whose first arguments are those of PyTorch's
    try:
        yield
    finally:
        torch.nn.functional.scaled_dot_product_attention = native
        _active.stack.pop()
        with torch.no_grad():
            for x, original in zip(buffers, originals, strict=True):
                if original is not None:
                    x.resize_(original.shape)
                    x.copy_(original)


def _shards(group: Group, chosen: _call.Settings, buffers: list[Tensor], dims: list[int]) -> list[Tensor]:
    lengths = {x.shape[dim] for x, dim in zip(buffers, dims, strict=True)}
    if not lengths:
        return []
    if len(lengths) > 1:
        raise ValueError(f"expected buffers of one length, found {sorted(lengths)}")
    length = lengths.pop()
    layout = _layout.layout_of(chosen.layout, length, group.size)
    for x in buffers:
        if isinstance(x, torch.nn.Parameter):
            raise TypeError("expected buffers to be tensors with the sequence, found a Parameter")
        if chosen.cu_seqlens is None and _are_packed_positions(x):
            raise ValueError(
                "expected cu_seqlens beside positions of packed documents, found a buffer whose positions start again "
                "at 0: a shard does not say where its documents start; write context_parallel(…, cu_seqlens=[0, …])"
            )
    if chosen.cu_seqlens is not None and chosen.cu_seqlens[-1] != length:
        raise ValueError(f"expected cu_seqlens to end at {length} rows, found {chosen.cu_seqlens[-1]}")
    return [layout.shard_of(x.detach(), group.rank, dim).clone() for x, dim in zip(buffers, dims, strict=True)]


def _are_packed_positions(x: Tensor) -> bool:
    """Whether these integers rise by one, or start again at 0: positions of several documents."""
    if x.is_floating_point() or x.dtype == torch.bool or x.dim() not in (1, 2) or not x.numel():
        return False
    rows = x.reshape(-1, x.shape[-1])
    starts = rows[:, 1:] == 0
    rises = rows.diff(dim=1) == 1
    return bool((starts | rises).all() and (rows[:, 0] == 0).all() and starts.any() and rises.any())


def unshard(x: Tensor, dim: int, mesh: Any = None, *, layout: str | Tensor = "zigzag") -> Tensor:
    """The whole of what has the rank's rows along a dimension, without gradient: as PyTorch's context_parallel_unshard.

    Args:
      x: with S/n rows along `dim`.
      dim: the dimension of the sequence.
      mesh, layout: as in `sharded_sdpa`.

    Raises:
      ValueError: as `sharded_sdpa`.
    """
    group = Group(mesh)
    whole = _layout.layout_of(layout, x.shape[dim] * group.size, group.size)
    return whole.to_whole(group.all_gather(x.detach()), dim % x.dim())
