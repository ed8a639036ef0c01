"""What ranks send each other: the one place that calls torch.distributed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

Tensor = torch.Tensor

# Calls that all ranks of a group have agreed on.
_agreed: WeakKeyDictionary[Any, set[Hashable]] = WeakKeyDictionary()


class Pending(NamedTuple):
    """Tensors that are on their way: `wait` has them. What is sent must not change before."""

    sent: list[Tensor]
    received: list[Tensor]
    works: list[Any]

    def wait(self) -> list[Tensor]:
        """The tensors of the rank before."""
        for work in self.works:
            work.wait()
        return self.received


class Group:
    """The ranks of a process group, or of a mesh of one dimension."""

    def __init__(self, given: Any) -> None:
        if hasattr(given, "get_group"):
            if given.ndim != 1:
                raise ValueError(
                    f"expected a mesh of one dimension, found one of {given.ndim}; write that of the sequence, as "
                    'mesh["cp"]'
                )
            given = given.get_group()
        if given is None:
            given = dist.group.WORLD
        if not isinstance(given, dist.ProcessGroup):
            raise TypeError(f"expected a DeviceMesh or a process group, found {type(given).__name__}")
        self.group = given
        self.rank, self.size = dist.get_rank(given), dist.get_world_size(given)

    def agree(self, what: Hashable, error: Exception | None) -> None:
        """The ranks call with the same arguments, before the first of them sends anything; asked once for each call.

        Raises:
          The error, where this rank has one. RuntimeError: another rank has, or calls otherwise.
        """
        known = _agreed.setdefault(self.group, set())
        if error is None and what in known:
            return
        mine = f"{type(error).__name__}: {error}" if error is not None else repr(what)
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, (error is None, mine), group=self.group)
        if error is not None:
            raise error
        for rank, (is_right, text) in enumerate(found):
            if not is_right:
                raise RuntimeError(f"expected the ranks of a group to make the same call, found on rank {rank} {text}")
        for rank, (_, text) in enumerate(found):
            if text != mine:
                raise RuntimeError(
                    f"expected the ranks of a group to make the same call, found {_shorter(mine, text)} on rank "
                    f"{self.rank} and {_shorter(text, mine)} on rank {rank}; shards are of equal sizes and types"
                )
        known.add(what)

    def start_shift(self, tensors: Sequence[Tensor]) -> Pending:
        """Sends to the next rank what comes from the one before, beside what is computed meanwhile."""
        sent = [x.contiguous() for x in tensors]
        if self.size == 1:
            return Pending(sent, sent, [])
        received = [torch.empty_like(x) for x in sent]
        ops = [self._op(dist.isend, x, self.rank + 1) for x in sent]
        ops += [self._op(dist.irecv, x, self.rank - 1) for x in received]
        return Pending(sent, received, dist.batch_isend_irecv(ops))

    def all_gather(self, x: Tensor) -> list[Tensor]:
        """The tensors of all ranks, of one shape."""
        found = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(self.size)]
        dist.all_gather(found, x.contiguous(), group=self.group)
        return found

    def of_first(self, x: Tensor, device: torch.device) -> Tensor:
        """The tensor of rank 0, on the CPU; `device` is where the ranks send from."""
        sent = x.to(device)
        if self.size > 1:
            dist.broadcast(sent, dist.get_global_rank(self.group, 0), group=self.group)
        return sent.cpu()

    def exchange(self, sent: Sequence[Tensor], shapes: Sequence[Sequence[int]]) -> list[Tensor]:
        """Sends the r-th tensor to rank r; what rank r sends is of the r-th shape."""
        found = [sent[0].new_empty(tuple(shape)) for shape in shapes]
        sent = [x.contiguous() for x in sent]
        found[self.rank] = sent[self.rank]
        others = [r for r in range(self.size) if r != self.rank]
        ops = [self._op(dist.isend, sent[r], r) for r in others if sent[r].numel()]
        ops += [self._op(dist.irecv, found[r], r) for r in others if found[r].numel()]
        for work in dist.batch_isend_irecv(ops) if ops else ():
            work.wait()
        return found

    def _op(self, kind: Any, x: Tensor, rank: int) -> dist.P2POp:
        return dist.P2POp(kind, x, dist.get_global_rank(self.group, rank % self.size), self.group)


def _shorter(text: str, other: str) -> str:
    """From where two texts differ."""
    first = next((n for n, (x, y) in enumerate(zip(text, other, strict=False)) if x != y), 0)
    return f"…{text[max(0, first - 40) : first + 60]}…"
