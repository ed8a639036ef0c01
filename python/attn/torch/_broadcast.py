"""The shapes of F.scaled_dot_product_attention, which broadcasts batches and heads, as those of `attn::sdpa`."""

from __future__ import annotations

import torch

Tensor = torch.Tensor


def operands(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> tuple[Tensor, Tensor, Tensor, torch.Size]:
    """Views (B, H, S, D) of what a call is given, and the batch dimensions of its results.

    Several batch dimensions become one. Heads of keys and values that are one for all stay one.

    Raises:
      ValueError: they have less than two dimensions, or do not broadcast.
    """
    shape, keys = query.shape, key.shape
    if len(shape) == len(keys) == 4 and shape[:2] == keys[:2] == value.shape[:2]:  # as nearly all calls are
        return query, key, value, shape[:1]
    given = {"query": query, "key": key, "value": value}
    for name, x in given.items():
        if x.dim() < 2:
            raise ValueError(f"expected {name} of rank 2 or more (…, length, head size), found shape {tuple(x.shape)}")
    batches = [x.shape[:-3] for x in given.values()]
    lead = batches[0]
    if any(x != lead for x in batches):
        try:
            lead = torch.broadcast_shapes(*batches)
        except RuntimeError:
            found = ", ".join(str(tuple(x)) for x in batches)
            raise ValueError(f"expected batches of query, key and value that broadcast, found {found}") from None
    q, k, v = (_rank_4(x, lead) for x in given.values())
    if k.shape[1] != v.shape[1] and 1 in (k.shape[1], v.shape[1]):
        heads = max(k.shape[1], v.shape[1])
        k, v = (x.expand(-1, heads, -1, -1) for x in (k, v))
    if q.shape[1] == 1 < k.shape[1]:
        q = q.expand(-1, k.shape[1], -1, -1)
    check_heads(q.shape[1], k.shape[1], enable_gqa or k.shape[1] == 1)
    return q, k, v, lead


def check_heads(queries: int, keys: int, may_share: bool) -> None:
    """Refuses other numbers of heads of queries and keys, unless several may share one."""
    if queries != keys and not may_share:
        raise ValueError(
            f"expected as many heads of query and key, found {queries} and {keys}; write enable_gqa=True for heads of "
            "queries that share one of keys"
        )


def mask(given: Tensor, lead: torch.Size) -> Tensor:
    """A mask that broadcasts to (…, H, Sq, Sk) as one of rank 4."""
    if given.dim() <= 4 and len(lead) <= 1:
        return given[(None,) * (4 - given.dim())]
    given = given[(None,) * (3 + len(lead) - given.dim())]
    return given.expand(*lead, *given.shape[len(lead) :]).flatten(0, -4)


def _rank_4(x: Tensor, lead: torch.Size) -> Tensor:
    """A view (B, H, S, D): the batch dimensions are one, missing ones 1; a copy where no view has several as one."""
    x = x if x.dim() > 2 else x[None]
    if x.shape[:-3] != lead:
        x = x.expand(*lead, *x.shape[-3:])
    if x.dim() == 4:
        return x
    return x[None] if x.dim() == 3 else x.flatten(0, -4)
