"""Attention by heads: (B, H, S/n, D) becomes (B, H/n, S, D) and back, and each rank has whole rows of some heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from attn.torch.parallel import _blocks
from attn.torch.parallel._group import Group
from attn.torch.parallel._layout import Layout

Tensor = torch.Tensor


def heads_of(hq: int, hkv: int, ranks: int) -> tuple[list[slice], list[slice]]:
    """The heads of queries and of keys of each rank; several ranks have the same key head where there are few.

    Raises:
      ValueError: ranks do not divide the heads, or key heads do not divide the ranks.
    """
    if hq % ranks or (hkv % ranks and ranks % hkv):
        raise ValueError(
            f'expected method="ulysses" on ranks that divide the heads, found {ranks} ranks, {hq} heads of query and '
            f'{hkv} of key; write method="ring" or "allgather"'
        )
    n, group = hq // ranks, hq // hkv
    queries = [slice(r * n, (r + 1) * n) for r in range(ranks)]
    return queries, [slice(x.start // group, (x.stop - 1) // group + 1) for x in queries]


def sdpa(plan: Any, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None) -> tuple[Tensor, Tensor]:
    """out and lse of the rank's rows by a plan of `_call`."""
    group, layout = plan.group, plan.layout
    queries, keys = heads_of(q.shape[1], k.shape[1], group.size)
    q, k, v = (
        _Moved.apply(to_heads, to_rows, (group, layout, of), x) for of, x in ((queries, q), (keys, k), (keys, v))
    )
    found = _whole_rows(plan, q, k, v, None if sink is None else sink[queries[group.rank]])
    out, lse = (_Moved.apply(to_rows, to_heads, (group, layout, queries), x) for x in found)
    return out, lse


def _whole_rows(plan: Any, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None) -> tuple[Tensor, Tensor]:
    """out and lse of whole rows of this rank's heads."""
    from attn.torch import _ops, _record, _varlen

    mask = plan.mask
    window = None if mask.left is mask.right is None else (mask.left, mask.right)
    flat = _record.flat_words(
        {"window": window, "softcap": plan.softcap, "chunk": plan.chunk, "prefix": mask.prefix or None}
    )
    causal = "top_left" if mask.is_causal else None
    align = "top_left" if (window is not None or plan.chunk) and not mask.is_causal else None
    if mask.starts is None:
        # As what eager calls run; history would choose the kernel otherwise.
        call = _ops.Call(
            q, k, v, [], sink=sink, scale=plan.scale, causal=causal, align=align, dynamic=False, words=flat
        )
        results = _ops.sdpa(*call.flat())
        return results[0], results[1]
    sums = torch.tensor(mask.starts, dtype=torch.int32, device=q.device)
    q, k, v = (x[0].transpose(0, 1).contiguous() for x in (q, k, v))
    packed = _varlen.Call(q, k, v, sums, sums, [], sink, None, plan.scale, causal, align, True, words=flat)
    results = _varlen._operator(*packed.flat())
    return results[0].transpose(0, 1)[None], results[1][None]


def to_heads(group: Group, layout: Layout, of: list[slice], x: Tensor) -> Tensor:
    """(B, H, S/n, …) → (B, heads of the rank, S, …)."""
    sent = [x[:, heads] for heads in of]
    return layout.to_whole(group.exchange(sent, [sent[group.rank].shape] * group.size), 2)


def to_rows(group: Group, layout: Layout, of: list[slice], x: Tensor) -> Tensor:
    """(B, heads of the rank, S, …) → (B, H, S/n, …): heads that several ranks have are summed, in their order."""
    sent = [layout.shard_of(x, r, 2) for r in range(group.size)]
    rows = sent[group.rank].shape[2]
    shapes = [(x.shape[0], heads.stop - heads.start, rows, *x.shape[3:]) for heads in of]
    found = x.new_zeros((x.shape[0], of[-1].stop, rows, *x.shape[3:]))
    for heads, part in zip(of, group.exchange(sent, shapes), strict=True):
        found[:, heads] += part
    return found


class _Moved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, move: Callable[..., Tensor], back: Callable[..., Tensor], where: Any, x: Tensor) -> Tensor:
        ctx.given = (back, where)
        return move(*where, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        back, where = ctx.given
        kind = _blocks.accumulation_type(grads[0]) if back is to_rows else grads[0].dtype  # what it sums
        return None, None, None, back(*where, grads[0].contiguous().to(kind)).to(grads[0].dtype)
