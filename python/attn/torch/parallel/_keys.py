"""How keys and values come to a rank: one shard after the other around the ring, or all at once.

Both hand out (segments, keys, values) and take back what the rank's queries add to the gradients of these.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attn.torch.parallel import _blocks
from attn.torch.parallel._group import Group, Pending
from attn.torch.parallel._layout import Layout, Segment

Tensor = torch.Tensor
Step = tuple[tuple[Segment, ...], Tensor, Tensor]


class Ring:
    """Keys and values travel to the next rank while the kernels run on those that are here; so do their gradients."""

    def __init__(self, group: Group, layout: Layout, k: Tensor, v: Tensor) -> None:
        self._group, self._layout, self._given = group, layout, [k, v]
        self._sums: Pending | None = None

    def __iter__(self) -> Iterator[Step]:
        here = self._given
        for step in range(self._group.size):
            is_last = step + 1 == self._group.size
            coming = None if is_last else self._group.start_shift(here)
            yield (self._layout.segments[(self._group.rank - step) % self._group.size], *here)
            if coming is not None:
                here = coming.wait()

    def add(self, gradients: list[Tensor]) -> None:
        """Adds dk and dv of the last step to the sums, which have come meanwhile, and sends these on."""
        sums = gradients if self._sums is None else [x + y for x, y in zip(self._sums.wait(), gradients, strict=True)]
        self._sums = self._group.start_shift(sums)

    def gradients(self) -> list[Tensor]:
        """dk and dv of this rank's keys: after the last step they come home."""
        assert self._sums is not None
        return self._sums.wait()


class Gathered:
    """All keys and values at once, in the order of the whole; gradients go home in one exchange."""

    def __init__(self, group: Group, layout: Layout, k: Tensor, v: Tensor) -> None:
        self._group, self._layout = group, layout
        self._whole = [layout.to_whole(group.all_gather(x), 2) for x in (k, v)]
        self._sums: list[Tensor] | None = None

    def __iter__(self) -> Iterator[Step]:
        keys, values = self._whole
        yield ((0, self._layout.length),), keys, values

    def add(self, gradients: list[Tensor]) -> None:
        """Keeps dk and dv of the one step."""
        self._sums = gradients

    def gradients(self) -> list[Tensor]:
        """dk and dv of this rank's keys, summed in the order of the ranks."""
        assert self._sums is not None
        found = []
        for x in self._sums:
            sent = [self._layout.shard_of(x, r, 2) for r in range(self._group.size)]
            received = self._group.exchange(sent, [sent[self._group.rank].shape] * self._group.size)
            total = received[0].clone()
            for other in received[1:]:
                total += other
            found.append(total)
        return found


KEYS = {"ring": Ring, "allgather": Gathered}


def forward(keys: Ring | Gathered, kernels: _blocks.Kernels, mine: tuple[Segment, ...], q: Tensor) -> _blocks.State:
    """The state of the rank's rows, continued in the order in which keys come."""
    queries = _blocks.cut(q, mine)
    states: list[_blocks.State | None] = [None] * len(mine)
    for theirs, k, v in keys:
        ks, vs = _blocks.cut(k, theirs), _blocks.cut(v, theirs)
        for i, rows in enumerate(mine):
            for j, columns in enumerate(theirs):
                states[i] = kernels.forward(queries[i], ks[j], vs[j], rows, columns, states[i])
    return _joined(states)


def backward(
    keys: Ring | Gathered, kernels: _blocks.Kernels, mine: tuple[Segment, ...], given: _blocks.Rows
) -> list[Tensor]:
    """dq, dk, dv of the rank's rows and keys, and dsink, by its rows, where there is a sink."""
    sizes = [n for _, n in mine]
    rows = [given.map(lambda x, i=i: x.split(sizes, dim=2)[i].contiguous()) for i in range(len(mine))]
    kind = _blocks.accumulation_type(given.q)
    dq = [torch.zeros(x.q.shape, dtype=kind, device=x.q.device) for x in rows]
    dsink: list[Tensor] | None = None
    for theirs, k, v in keys:
        ks, vs = _blocks.cut(k, theirs), _blocks.cut(v, theirs)
        sums = [[torch.zeros(x.shape, dtype=kind, device=x.device) for x in parts] for parts in (ks, vs)]
        for i, segment in enumerate(mine):
            for j, columns in enumerate(theirs):
                into = [dq[i], sums[0][j], sums[1][j]]
                found = kernels.backward(rows[i], ks[j], vs[j], segment, columns, into)
                dsink = _blocks.add(dsink, None if found is None else found[3:] or None)
        keys.add([x[0] if len(x) == 1 else torch.cat(x, 2) for x in sums])
    return [torch.cat(dq, 2), *keys.gradients(), *(dsink or [])]


def _joined(states: list[_blocks.State | None]) -> _blocks.State:
    found = [x for x in states if x is not None]
    assert len(found) == len(states)  # every row keeps its own key
    return _blocks.State(*[torch.cat(x, 2) for x in zip(*found, strict=True)])
