"""A block of keys for all blocks of a rank's rows in one call, and partial results that are joined in place.

A block of rows is an entry of the batch: the mask's offset is one of each entry, and dk and dv come for each. Partial
results are parts (first, last, tensors) of the rank's blocks of rows; tensors are (last − first, B, H, rows, …).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from attn.torch.parallel import _blocks
from attn.torch.parallel._layout import Piece, Segment

Tensor = torch.Tensor
Values = list[Tensor]
Part = tuple[int, int, Values]


class Calls:
    """The calls of a rank's rows, whose segments are blocks of one size.

    Args:
      segments: of these rows.
      q: of these rows.
      rows: the same with all that a backward pass reads.
    """

    def __init__(
        self, kernels: _blocks.Kernels, segments: Sequence[Segment], q: Tensor, rows: _blocks.Rows | None = None
    ) -> None:
        self._kernels, self._segments = kernels, segments
        self._q = self._by_block(q)
        if rows is not None:
            kind = _blocks.accumulation_type(q)
            state = _blocks.State(*(x.to(kind) for x in rows.state))
            self._rows = rows._replace(state=state, dout=rows.dout.to(kind)).map(self._by_block)

    def forward(self, k: Tensor, v: Tensor, columns: Segment) -> list[Part]:
        """The states of the rows on this block of keys, without those that the mask leaves out."""
        parts: list[Part] = []
        for first, last, piece in self._runs(columns):
            if piece is None:
                found = self._kernels.forward(self._q[first], k, v, self._segments[first], columns)
                parts += [] if found is None else [(first, last, [x[None] for x in found])]
                continue
            call = (self._q[first:last].flatten(0, 1), *(_repeated(x, last - first) for x in (k, v)))
            state = self._kernels._run(piece, *call, self._sink(first, columns))
            parts.append((first, last, [x.unflatten(0, (last - first, -1)) for x in state]))
        return parts

    def backward(self, k: Tensor, v: Tensor, columns: Segment) -> tuple[list[Part], list[Values | None], Tensor | None]:
        """What these keys add to dq; dk and dv by the block of rows, None where the mask leaves all out; and dsink."""
        parts: list[Part] = []
        of_keys: list[Values | None] = [None] * len(self._segments)
        dsink = None
        for first, last, piece in self._runs(columns):
            sink, count = self._sink(first, columns), last - first
            if piece is None:
                rows = self._rows.map(lambda x, n=first: x[n])
                one = self._kernels.backward(rows, k, v, self._segments[first], columns)
                found = None if one is None else [*(x[None] for x in one[:3]), *one[3:]]
            else:
                rows = self._rows.map(lambda x, a=first, b=last: x[a:b].flatten(0, 1))
                found = self._kernels._run_backward(piece, rows, *(_repeated(x, count) for x in (k, v)), sink)
                found = [*(x.unflatten(0, (count, -1)) for x in found[:3]), *found[3:]]
            if found is None:
                continue
            parts.append((first, last, found[:1]))
            of_keys[first:last] = [[found[1][n], found[2][n]] for n in range(count)]
            dsink = found[3] if sink is not None else dsink
        return parts, of_keys, dsink

    def _by_block(self, x: Tensor) -> Tensor:
        """(B, H, rows, …) → (blocks, B, H, rows of a block, …)."""
        return x.unflatten(2, (len(self._segments), -1)).movedim(2, 0).contiguous()

    def _sink(self, first: int, columns: Segment) -> Tensor | None:
        """The block with a row's own key takes it, and no other."""
        return self._kernels.sink if self._segments[first] == columns else None

    def _runs(self, columns: Segment) -> list[tuple[int, int, Piece | None]]:
        """Blocks of rows that are one call, and the call.

        None in its place for a pair of blocks: documents make several calls of it, and what counts batch indices or
        positions of the whole would count entries of this batch.
        """
        mask = self._kernels.mask
        if mask.starts is not None or self._kernels.positions is not None:
            return [(n, n + 1, None) for n in range(len(self._segments))]
        pieces = [mask.pieces(rows, columns) for rows in self._segments]
        alone = [n for n in range(len(pieces)) if self._sink(n, columns) is not None]
        runs: list[tuple[int, int, Piece | None]] = []
        for (is_seen, _), group in itertools.groupby(
            range(len(pieces)), lambda n: (bool(pieces[n]), n if n in alone else None)
        ):
            if is_seen:
                run = list(group)
                # Which kernel it is depends on the mask alone: other ranks have other runs.
                offsets = tuple(pieces[n][0].offset for n in run for _ in range(self._q.shape[1]))
                whole = slice(0, columns[1])
                runs.append(
                    (run[0], run[-1] + 1, Piece(whole, whole, offsets, not mask.is_full, pieces[run[0]][0].first))
                )
        return runs


def rows_of(parts: list[Part]) -> Values:
    """The rows (B, H, rows, …) of all blocks, which are there."""
    values = zip(*(x for _, _, x in parts), strict=True)
    return [torch.cat(x).movedim(0, 2).flatten(2, 3) for x in values]


def joined(join: Callable[..., Any], a: list[Part], b: list[Part]) -> list[Part]:
    """The parts of both; where both have a block, they are joined, in the place of the first."""
    edges = sorted({edge for part in (*a, *b) for edge in part[:2]})
    found: list[Part] = []
    for first, last in itertools.pairwise(edges):
        one, two = (_between(x, first, last) for x in (a, b))
        value = join(one, two) if one and two else one or two
        if value:
            found.append((first, last, value))
    return found


def _between(parts: list[Part], first: int, last: int) -> Values:
    """The tensors of these blocks; none where they are not there."""
    for start, end, values in parts:
        if start <= first and last <= end:
            return [x[first - start : last - start] for x in values]
    return []


def _repeated(x: Tensor, count: int) -> Tensor:
    return x.expand(count, *x.shape).flatten(0, 1)
