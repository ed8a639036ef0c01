"""`attn.torch.sdpa` of tensors that are distributed over batch and heads: each rank calls it on its part.

Attention of one head of one entry of the batch needs nothing of another, so no rank sends anything. A tensor that all
ranks have whole and that parts share has as its gradient the sum of theirs (Partial).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor
BATCH, HEADS = 0, 1
# The dimension from the left that is the batch, and the one that is the heads, of arguments beside q, k and v.
OF_BATCH = ("q_lengths", "kv_lengths", "causal", "align")
ADVICE = (
    "write x.redistribute(placements=…) to Shard(0) or Shard(1), the batch or the heads, or x.full_tensor(); rows and "
    "keys on several ranks are what attn.torch.context_parallel is for"
)
FUNCTIONS = ("score_mod", "mask_mod")


def is_among(*values: Any) -> bool:
    """Whether a tensor is distributed."""
    return any(type(x).__name__ == "DTensor" for x in values)


def sdpa(function: Callable[..., Any], query: Any, key: Any, value: Any, options: dict[str, Any]) -> Any:
    """The call of `attn.torch.sdpa` on tensors (B, H, S, D) that are distributed.

    Args:
      function: `attn.torch.sdpa`.
      query, key, value: of one mesh, and on each of its dimensions all Shard(0), all Shard(1), or all Replicate. Where
        there is one head of keys, they may be Replicate beside queries of Shard(1).
      options: the other arguments. attn_mask, bias and sink are distributed as what they belong to, and Replicate along
        what they broadcast; as are lengths and offsets.

    Returns:
      What `attn.torch.sdpa` does, distributed as query.

    Raises:
      TypeError, ValueError: another placement; or an argument that is of one rank, or counts across ranks.
    """
    from torch.distributed.tensor import DTensor, Partial, Replicate

    given = {"query": query, "key": key, "value": value}
    tensors = {name: x for name, x in (given | options).items() if isinstance(x, Tensor)}
    for name, x in tensors.items():
        if not isinstance(x, DTensor):
            raise TypeError(
                f"expected {name} to be a DTensor beside others that are, found a tensor of one rank; write "
                f"distribute_tensor({name}, mesh, placements)"
            )
        if x.device_mesh != query.device_mesh:
            raise TypeError(f"expected {name} on the mesh of query, found one of {x.device_mesh}")
    for name, x in given.items():
        if x.dim() != 4:
            raise ValueError(f"expected a distributed {name} of rank 4 (B, H, S, D), found shape {tuple(x.shape)}")
    mesh = query.device_mesh
    dims = [_dim(name, place) for name, place in zip(["query"] * mesh.ndim, query.placements, strict=True)]
    is_one_head = key.shape[1] == value.shape[1] == 1
    _check_counts(mesh, dims, key, is_one_head)
    _check_options(dims, options)
    local, local_options = {}, dict(options)
    for name, x in tensors.items():
        wanted, grads = [], []
        for dim in dims:
            at = None if dim is None else _place(name, x, dim)
            wanted.append(Replicate() if at is None else _shard(at))
            grads.append(Partial() if at is None and dim is not None else wanted[-1])
        if tuple(x.placements) != tuple(wanted):
            raise ValueError(
                f"expected {name} with placements {_text(wanted)} beside a query of {_text(query.placements)}, found "
                f"{_text(x.placements)}; {ADVICE}"
            )
        part = x.to_local(grad_placements=grads)
        (local if name in given else local_options)[name] = part
    found = function(*local.values(), **local_options)
    results = [found] if isinstance(found, Tensor) else list(found)
    shapes = [(*query.shape[:3], value.shape[3]), *[tuple(query.shape[:3])] * (len(results) - 1)]
    made = tuple(_distributed(x, mesh, query.placements, shape) for x, shape in zip(results, shapes, strict=True))
    return made[0] if isinstance(found, Tensor) else made


def _dim(name: str, place: Any) -> int | None:
    """The dimension that a placement of the query shards, or None."""
    if place.is_replicate():
        return None
    if place.is_shard() and type(place).__name__ == "Shard" and place.dim in (BATCH, HEADS):
        return int(place.dim)
    raise ValueError(f"expected {name} with placements of Shard(0), Shard(1) and Replicate, found {place}; {ADVICE}")


def _check_counts(mesh: Any, dims: list[int | None], key: Tensor, is_one_head: bool) -> None:
    """Ranks have whole groups of heads: those of queries are where their key heads are."""
    ranks = 1
    for n, dim in enumerate(dims):
        ranks *= mesh.size(n) if dim == HEADS else 1
    if ranks > 1 and not is_one_head and key.shape[1] % ranks:
        raise ValueError(
            f"expected heads of key of which {ranks} ranks have equally many, found {key.shape[1]}; repeat them, as by "
            "key.repeat_interleave(n, 1), or shard the batch"
        )


def _check_options(dims: list[int | None], options: dict[str, Any]) -> None:
    if not any(dim is not None for dim in dims):
        return
    if options.get("dropout_p"):
        raise ValueError(
            "expected dropout_p=0.0 with distributed tensors, found another: the parts would drop other weights than "
            "the whole; write dropout around the attention"
        )
    for name in FUNCTIONS:
        if options.get(name) is not None:
            raise ValueError(
                f"expected no {name} with distributed tensors, found one: its b and h would count from the first of "
                "the rank; write torch.distributed.tensor.experimental.local_map around the call where it reads neither"
            )


def _place(name: str, x: Tensor, dim: int) -> int | None:
    """Which dimension of an argument the batch or the heads are; None where all parts share it."""
    if name in ("query", "key", "value"):
        return None if dim == HEADS and name != "query" and x.shape[1] == 1 else dim
    if name == "sink":
        return 0 if dim == HEADS else None
    if name in OF_BATCH:
        return 0 if dim == BATCH else None
    at = dim + x.dim() - 4  # it broadcasts
    return at if at >= 0 and x.shape[at] > 1 else None


def _shard(dim: int) -> Any:
    from torch.distributed.tensor import Shard

    return Shard(dim)


def _text(placements: Any) -> str:
    return "(" + ", ".join(map(str, placements)) + ")"


def _distributed(x: Tensor, mesh: Any, placements: Any, shape: tuple[int, ...]) -> Tensor:
    from torch.distributed.tensor import DTensor

    strides = [1] * len(shape)
    for n in range(len(shape) - 1, 0, -1):
        strides[n - 1] = strides[n] * shape[n]
    made: Tensor = DTensor.from_local(
        x, mesh, placements, run_check=False, shape=torch.Size(shape), stride=tuple(strides)
    )
    return made
