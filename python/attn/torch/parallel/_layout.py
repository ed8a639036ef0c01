"""Which rows of the whole sequence each rank has, and which calls of a kernel a mask needs for a part of them.

A shard is a list of segments (first row, number of rows) of the whole. Causal masks and windows take the distance of a
query segment and a key segment as their offset, so contiguous, zigzag and other shards are one code path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

Segment = tuple[int, int]
MAX_SEGMENTS = 64  # of a shard: each pair of them is a call


class Layout(NamedTuple):
    """The segments of each rank, in the order of the shard's rows; ranks have equally many rows."""

    segments: tuple[tuple[Segment, ...], ...]

    @property
    def length(self) -> int:
        """The rows of the whole."""
        return sum(n for shard in self.segments for _, n in shard)

    def indices(self) -> torch.Tensor:
        """The rows of the whole in the order of the shards: rank 0's, rank 1's …"""
        return torch.cat([torch.arange(a, a + n) for shard in self.segments for a, n in shard])

    def to_whole(self, shards: Sequence[torch.Tensor], dim: int) -> torch.Tensor:
        """The whole of all shards, along a dimension."""
        parts: dict[int, torch.Tensor] = {}
        for shard, segments in zip(shards, self.segments, strict=True):
            pieces = shard.split([n for _, n in segments], dim)
            parts |= {a: x for (a, _), x in zip(segments, pieces, strict=True)}
        return torch.cat([parts[a] for a in sorted(parts)], dim)

    def shard_of(self, whole: torch.Tensor, rank: int, dim: int) -> torch.Tensor:
        """The rows of a rank."""
        return torch.cat([whole.narrow(dim, a, n) for a, n in self.segments[rank]], dim)


def layout_of(given: str | torch.Tensor, length: int, ranks: int) -> Layout:
    """The layout of a word, "contiguous" or "zigzag", or of a permutation of the rows.

    Args:
      given: of zigzag, a rank has one block from the front and one from the back, so that causal attention costs every
        rank the same. A permutation (S,) has the rows in the order of the shards, as torch's load balancers make it.
      length: S, the rows of the whole.
      ranks: how many.

    Raises:
      ValueError, TypeError: ranks do not divide the rows; another word; no permutation; or one of many pieces.
    """
    if isinstance(given, torch.Tensor):
        return _of_permutation(given, length, ranks)
    if given not in ("contiguous", "zigzag"):
        raise ValueError(f'expected layout "contiguous", "zigzag" or a permutation of the rows, found {given!r}')
    blocks = ranks if given == "contiguous" else 2 * ranks
    if length % blocks or not length:
        raise ValueError(
            f"expected a length that {blocks} blocks of layout={given!r} divide, found {length} on {ranks} ranks; pad "
            f"the sequence to {-(-max(length, 1) // blocks) * blocks}"
        )
    n = length // blocks
    if given == "contiguous":
        return Layout(tuple(((r * n, n),) for r in range(ranks)))
    return Layout(tuple(((r * n, n), ((2 * ranks - 1 - r) * n, n)) for r in range(ranks)))


def _of_permutation(given: torch.Tensor, length: int, ranks: int) -> Layout:
    rows = given.flatten().tolist()
    if sorted(rows) != list(range(length)) or length % ranks:
        raise ValueError(
            f"expected layout to be a permutation of {length} rows that {ranks} ranks divide, found a tensor of shape "
            f"{tuple(given.shape)}"
        )
    shards = []
    for r in range(ranks):
        segments: list[Segment] = []
        for row in rows[r * length // ranks : (r + 1) * length // ranks]:
            if segments and row == sum(segments[-1]):
                segments[-1] = (segments[-1][0], segments[-1][1] + 1)
            else:
                segments.append((row, 1))
        if len(segments) > MAX_SEGMENTS:
            raise ValueError(
                f"expected layout to give a rank at most {MAX_SEGMENTS} pieces of consecutive rows, found "
                f'{len(segments)}; write layout="zigzag"'
            )
        shards.append(tuple(segments))
    return Layout(tuple(shards))


class Piece(NamedTuple):
    """One call: rows and keys of a pair of segments, counted from the start of these.

    Attributes:
      offset: what is between the positions of the first row and of the first key; or one for each entry of the batch.
      is_masked: causal and window remove some of these keys.
      first: the positions in the whole of the first row and key.
      sums: of packed documents, the prefix sums of queries and keys; (0, 0) of a dense call.
    """

    rows: slice
    keys: slice
    offset: int | tuple[int, ...]
    is_masked: bool
    first: tuple[int, int]
    sums: tuple[tuple[int, ...], tuple[int, ...]] | None = None


class Mask(NamedTuple):
    """Which keys a query keeps, by positions of the whole.

    Attributes:
      left, right: keys j with i − left ≤ j ≤ i + right; None for any.
      prefix: keys below it are kept whatever these say.
      starts: of packed documents, the prefix sums of their lengths.
    """

    is_causal: bool = False
    left: int | None = None
    right: int | None = None
    starts: tuple[int, ...] | None = None
    prefix: int = 0

    @property
    def is_full(self) -> bool:
        """Whether every query keeps every key, functions and chunks aside."""
        return not self.is_causal and self.left is self.right is self.starts is None

    @property
    def last(self) -> int | None:
        """How far behind the query its last key may be."""
        if not self.is_causal:
            return self.right
        return 0 if self.right is None else min(0, self.right)

    def pieces(self, q: Segment, k: Segment) -> list[Piece]:
        """The calls of a query segment on a key segment; none where the mask removes all."""
        if self.starts is None:
            return self._piece(q, k, q, k)
        documents = []
        for a, b in zip(self.starts, self.starts[1:], strict=False):
            rows = _common(q, (a, b - a))
            keys = _common(k, (a, b - a))
            if rows[1] and keys[1] and self.is_causal:  # keys behind the last row are removed
                keys = (keys[0], min(sum(keys), sum(rows)) - keys[0])
            if rows[1] > 0 and keys[1] > 0:
                documents.append((rows, keys))
        has_ends = all(sum(rows) == sum(keys) for rows, keys in documents)
        is_packed = (self.is_causal and has_ends) or (not self.is_causal and self.left is self.right is None)
        if len(documents) < 2 or not is_packed:
            return [x for rows, keys in documents for x in self._piece(q, k, rows, keys)]
        sums = tuple(_prefix_sums(x[n][1] for x in documents) for n in (0, 1))
        (rows, keys), (last_rows, last_keys) = documents[0], documents[-1]
        spans = (slice(rows[0] - q[0], sum(last_rows) - q[0]), slice(keys[0] - k[0], sum(last_keys) - k[0]))
        return [Piece(*spans, 0, True, (rows[0], keys[0]), (sums[0], sums[1]))]

    def _piece(self, q: Segment, k: Segment, rows: Segment, keys: Segment) -> list[Piece]:
        first, last = keys[0], sum(keys) - 1
        is_empty = self.last is not None and first > sum(rows) - 1 + self.last
        is_empty |= self.left is not None and last < rows[0] - self.left
        if is_empty and first >= self.prefix:
            return []
        is_masked = self.last is not None and last > rows[0] + self.last
        is_masked |= self.left is not None and first < sum(rows) - 1 - self.left
        spans = (slice(rows[0] - q[0], sum(rows) - q[0]), slice(first - k[0], last + 1 - k[0]))
        return [Piece(*spans, rows[0] - first, is_masked, (rows[0], first))]


def _common(x: Segment, y: Segment) -> Segment:
    first = max(x[0], y[0])
    return first, max(0, min(sum(x), sum(y)) - first)


def _prefix_sums(lengths: Any) -> tuple[int, ...]:
    found = [0]
    for n in lengths:
        found.append(found[-1] + n)
    return tuple(found)
