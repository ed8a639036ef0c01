"""The same bits on any number of ranks: fixed blocks of rows and keys, and one binary tree over their numbers.

A block of keys is one call for all blocks of the rank's rows, which are entries of its batch: what a kernel makes of an
entry does not depend on how many others there are. What comes of the pairs is joined with its sibling in the tree as
soon as both are there, in whatever order they come: states over the blocks of keys, dq likewise, dk and dv over the
blocks of rows. What a rank has of dk and dv of another's keys are subtrees; their owner joins these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from attn.torch.parallel import _blocks, _pairs
from attn.torch.parallel._group import Group
from attn.torch.parallel._layout import Layout

Tensor = torch.Tensor
Node = tuple[int, int]  # the first block and the number of blocks


class Tree:
    """Partial results of blocks, joined in one binary tree; None is one that the mask leaves out."""

    def __init__(self, blocks: int, join: Callable[[Any, Any], Any]) -> None:
        self._blocks, self._join = blocks, join
        self.found: dict[Node, Any] = {}

    def add(self, first: int, value: Any, size: int = 1) -> None:
        """The result of the node (first, size), joined as far as siblings are there."""
        while size < self._blocks and (first ^ size, size) in self.found:
            sibling = first ^ size
            other = self.found.pop((sibling, size))
            value = self._join(other, value) if sibling < first else self._join(value, other)
            first, size = min(first, sibling), 2 * size
        self.found[first, size] = value

    def result(self) -> Any:
        """What the root has."""
        return self.found[0, self._blocks]


def layout_of(layout: Layout, blocks: int) -> Layout:
    """The layout in segments of one block.

    Raises:
      ValueError: a segment is not made of whole blocks, or their number is no power of two.
    """
    length = layout.length
    size = length // blocks if blocks else 0
    is_even = blocks > 0 and blocks & (blocks - 1) == 0 and length % blocks == 0
    if not is_even or any(a % size or n % size for shard in layout.segments for a, n in shard):
        raise ValueError(
            f"expected ordered to be a power of two of blocks that divide the {length} rows and the pieces of the "
            f"layout on {len(layout.segments)} ranks, found {blocks}; write ordered=N with the largest number of "
            'pieces that any number of ranks will have: 2 · ranks of layout="zigzag"'
        )
    return Layout(tuple(tuple((a + i, size) for a, n in shard for i in range(0, n, size)) for shard in layout.segments))


def forward(
    group: Group, layout: Layout, stream: Any, kernels: _blocks.Kernels, q: Tensor, blocks: int
) -> _blocks.State:
    """The state of the rank's rows; `layout` has segments of one block, `stream` hands out keys."""
    calls = _pairs.Calls(kernels, layout.segments[group.rank], q)
    tree = Tree(blocks, functools.partial(_pairs.joined, _blocks.merge))
    for theirs, k, v in _by_block(stream, layout):
        for columns, keys, values in zip(theirs, _blocks.cut(k, theirs), _blocks.cut(v, theirs), strict=True):
            tree.add(columns[0] // columns[1], calls.forward(keys, values, columns))
    return _blocks.State(*_pairs.rows_of(tree.result()))


def backward(
    group: Group, layout: Layout, stream: Any, kernels: _blocks.Kernels, rows: _blocks.Rows, blocks: int
) -> list[Tensor]:
    """dq, dk, dv of the rank's rows and keys; with a sink dsink, of all rows on the first rank and 0 on others."""
    mine = layout.segments[group.rank]
    calls = _pairs.Calls(kernels, mine, rows.q, rows)
    dq = Tree(blocks, functools.partial(_pairs.joined, _blocks.add))
    partial: dict[int, Tree] = {}  # by the block of keys: what these rows add, joined as far as the tree goes
    dsinks: dict[int, Tensor] = {}
    shapes: list[torch.Size] = []
    for theirs, k, v in _by_block(stream, layout):
        ks, vs = _blocks.cut(k, theirs), _blocks.cut(v, theirs)
        shapes = [x.shape for x in (ks[0], vs[0])]
        for columns, keys, values in zip(theirs, ks, vs, strict=True):
            column = columns[0] // columns[1]
            of_rows, of_keys, dsink = calls.backward(keys, values, columns)
            dq.add(column, of_rows)
            tree = partial.setdefault(column, Tree(blocks, _blocks.add))
            for segment, found in zip(mine, of_keys, strict=True):
                tree.add(segment[0] // segment[1], found)
            if dsink is not None:
                dsinks[column] = dsink
    home = _sent_home(group, layout, kernels, partial, shapes, rows.q, blocks)
    return [*_pairs.rows_of(dq.result()), *home, *_dsink(group, layout, dsinks, blocks)]


def _dsink(group: Group, layout: Layout, found: dict[int, Tensor], blocks: int) -> list[Tensor]:
    """The sum over ranks is to be of the same bits, so one rank has all of it."""
    if not found:
        return []
    tree = Tree(blocks, _blocks.add)
    shards = group.all_gather(torch.stack([found[a // n] for a, n in layout.segments[group.rank]]))
    for segments, rows in zip(layout.segments, shards, strict=True):
        for (first, size), row in zip(segments, rows, strict=True):
            tree.add(first // size, [row.clone()])
    total: Tensor = tree.result()[0]
    return [total if group.rank == 0 else torch.zeros_like(total)]


def _by_block(stream: Any, layout: Layout) -> Any:
    """The stream's steps in segments of one block."""
    blocks = {a: n for shard in layout.segments for a, n in shard}
    for segments, k, v in stream:
        yield tuple((a, blocks[a]) for first, n in segments for a in sorted(blocks) if first <= a < first + n), k, v


def _sent_home(
    group: Group,
    layout: Layout,
    kernels: _blocks.Kernels,
    partial: dict[int, Tree],
    shapes: list[torch.Size],
    q: Tensor,
    blocks: int,
) -> list[Tensor]:
    """dk and dv of this rank's keys: its own subtrees and those that the others send, joined."""
    numbers = [[a // n for a, n in shard] for shard in layout.segments]
    kind = _blocks.accumulation_type(q)
    each = sum(shape.numel() for shape in shapes)
    sent = []
    for owner in range(group.size):
        found = [x for column in numbers[owner] for _, x in sorted(partial[column].found.items()) if x is not None]
        flat = [y.flatten() for x in found for y in x]
        sent.append(torch.cat(flat) if flat else q.new_empty(0, dtype=kind))
    # Which nodes a rank sends follows from its rows and the mask.
    nodes = [[_nodes(kernels, layout, r, column, blocks) for column in numbers[group.rank]] for r in range(group.size)]
    sizes = [[each * sum(is_there for _, is_there in x) for x in found] for found in nodes]
    received = group.exchange(sent, [(sum(x),) for x in sizes])
    trees = [Tree(blocks, _blocks.add) for _ in numbers[group.rank]]
    for r, flat in enumerate(received):
        counts = [shape.numel() for _ in range(sum(sizes[r]) // each) for shape in shapes]
        parts = iter(flat.split(counts) if counts else ())
        for tree, found in zip(trees, nodes[r], strict=True):
            for (first, size), is_there in found:
                value = [next(parts).view(shape) for shape in shapes] if is_there else None
                tree.add(first, value, size)
    zeros = [torch.zeros(shape, dtype=kind, device=q.device) for shape in shapes]
    results = [tree.result() or zeros for tree in trees]
    return [torch.cat([x[n] for x in results], 2) for n in (0, 1)]


def _nodes(kernels: _blocks.Kernels, layout: Layout, rank: int, column: int, blocks: int) -> list[tuple[Node, bool]]:
    """The nodes that a rank's rows make of a block of keys, and whether the mask leaves something of each."""
    tree = Tree(blocks, lambda x, y: x or y)
    for first, size in layout.segments[rank]:
        tree.add(first // size, bool(kernels.mask.pieces((first, size), (column * size, size))))
    return sorted(tree.found.items())
