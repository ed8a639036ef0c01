"""Ring attention inside of a shard_map: keys and values travel over an axis of the mesh, and their gradients.

States are (out, max, log_sum) of a rank's rows, in the type of sums: what is narrow is rounded once. The backward pass
is by those of whole rows: no step saves anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

LAYOUTS = ("contiguous", "zigzag", "striped")
State = tuple[Any, Any, Any]
Window = tuple[int | None, int | None]


class Calls(NamedTuple):
    """What a step computes: pairs of a block of rows and one of keys, the entries of a kernel's batch.

    Attributes:
      groups: of pairs, each one call.
      window: None where there is none.
      shift: what is added to the offsets.
    """

    groups: list[list[tuple[int, int]]]
    window: Window | None
    shift: int = 0


class Ring(NamedTuple):
    """All of a call but its arrays.

    Attributes:
      run: out, max, log_sum of a window, q, k, v, a sink or None, and offsets or None; out in the type of max.
      run_backward: dq, dk, dv and, with a sink, dsink of the same, out, max, log_sum, dout and dlse; of that type too.
    """

    axis: str
    layout: str
    is_causal: bool
    window: Window | None
    run: Callable[..., Any]
    run_backward: Callable[..., Any]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(jax.lax.axis_size(self.axis))

    @property
    def is_masked(self) -> bool:
        """Whether calls have offsets."""
        return self.is_causal or self.window is not None

    @property
    def blocks(self) -> int:
        """The blocks of a rank's rows, each of consecutive ones or of every n-th; without a mask no order matters."""
        return 2 if self.layout == "zigzag" and self.is_masked else 1

    def shift(self, *arrays: Any) -> tuple[Any, ...]:
        """Sends to the next rank."""
        ranks = [(r, (r + 1) % self.size) for r in range(self.size)]
        return tuple(jax.lax.ppermute(x, self.axis, ranks) for x in arrays)

    def calls(self, step: int, *, has_sink: bool) -> Calls:
        """The calls on the keys that are here after so many shifts; none where the window leaves all of them out.

        Striped, row i and key j of ranks Δ apart are n (i − j) + Δ apart, and Δ is the step or the step − n. So a
        window (L, R) is (floor((L − step) / n), floor((R + step) / n)) on both sides of an offset of floor(Δ / n).
        """
        pairs = [(a, b) for a in range(self.blocks) for b in range(self.blocks)]
        groups = [pairs]
        if has_sink and not step:  # it counts once a row: beside the row's own key
            groups = [x for x in ([(a, b) for a, b in pairs if a == b], [(a, b) for a, b in pairs if a != b]) if x]
        if self.layout != "striped" or self.window is None:
            return Calls(groups, self.window)
        left, right = self.window
        left = None if left is None else (left - step) // self.size
        right = None if right is None else (right + step) // self.size
        if left is None or left >= 0:
            return Calls(groups, (left, right))
        right = None if right is None else right - 1
        is_empty = self.is_causal or (right is not None and right < 0)
        return Calls([], None) if is_empty else Calls(groups, (0, right), 1)

    def offsets(self, step: int, pairs: list[tuple[int, int]], shift: int, q: Any) -> Any:
        """What is between the first row and the first key of each pair, for each entry of the batch."""
        if not self.is_masked:
            return None
        rank = jax.lax.axis_index(self.axis)
        other = (rank - step) % self.size
        if self.layout == "striped":
            return jnp.full(q.shape[0], jnp.floor_divide(rank - other, self.size) + shift, jnp.int32)
        rows = q.shape[2] // self.blocks
        start = lambda r, block: (2 * self.size - 1 - r if block else r) * rows  # noqa: E731
        found = [jnp.full(q.shape[0], start(rank, a) - start(other, b), jnp.int32) for a, b in pairs]
        return jnp.concatenate(found)


def _entries(x: Any, blocks: int, which: list[int]) -> Any:
    """(B, H, rows, …) → these blocks of the rows, one after the other in the batch."""
    parts = jnp.split(x, blocks, axis=2)
    return jnp.concatenate([parts[n] for n in which])


def merge(a: State, b: State) -> State:
    """The state of the keys of both, of disjoint keys: Σ w·out / Σ w with w = exp(max − M + log_sum)."""
    largest = jnp.maximum(a[1], b[1])
    base = jnp.where(jnp.isneginf(largest), 0.0, largest)
    first, second = (jnp.exp(x[1] - base + x[2]) for x in (a, b))
    total = first + second
    inverse = jnp.where(total == 0, 0.0, 1 / total)
    out = (first * inverse)[..., None] * a[0] + (second * inverse)[..., None] * b[0]
    return out, largest, jnp.log(total)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def attention(ring: Ring, q: Any, k: Any, v: Any, sink: Any) -> tuple[Any, Any]:
    """out and lse of the rank's rows; a sink or None counts once, beside the rank's own keys."""
    return _forward(ring, q, k, v, sink)[0]


def _forward(ring: Ring, q: Any, k: Any, v: Any, sink: Any) -> tuple[Any, Any]:
    keys = (k, v)
    states: list[State | None] = [None] * ring.blocks
    for step in range(ring.size):
        # What comes for the next step does not wait for this one.
        coming = ring.shift(*keys) if step + 1 < ring.size else keys
        for given, pairs in _given(ring, step, q, keys, sink):
            found = [jnp.split(x, len(pairs)) for x in ring.run(*given)]
            for (a, _), *block in zip(pairs, *found, strict=True):
                known = states[a]
                states[a] = tuple(block) if known is None else merge(known, tuple(block))
        keys = coming
    out, row_max, log_sum = (jnp.concatenate(x, 2) for x in zip(*(x for x in states if x), strict=True))
    out = out.astype(q.dtype)
    return (out, row_max + log_sum), (q, k, v, sink, out, row_max, log_sum)


def _given(ring: Ring, step: int, q: Any, keys: Any, sink: Any) -> Any:
    """What each call of a step has: the window, q, k, v, the sink and offsets; and its pairs."""
    calls = ring.calls(step, has_sink=sink is not None)
    for pairs in calls.groups:
        queries = _entries(q, ring.blocks, [a for a, _ in pairs])
        here = [_entries(x, ring.blocks, [b for _, b in pairs]) for x in keys]
        own = sink if not step and pairs[0][0] == pairs[0][1] else None
        yield (calls.window, queries, *here, own, ring.offsets(step, pairs, calls.shift, q)), pairs


def _backward(ring: Ring, saved: Any, cotangents: Any) -> Any:
    q, k, v, sink, out, row_max, log_sum = saved
    rows = [x.astype(row_max.dtype) for x in (out, row_max, log_sum, *cotangents)]
    zeros = lambda x: [jnp.zeros_like(y, row_max.dtype) for y in jnp.split(x, ring.blocks, axis=2)]  # noqa: E731
    dq, dsink, sums, keys = zeros(q), None, [zeros(k), zeros(v)], (k, v)
    for step in range(ring.size):
        coming = ring.shift(*keys) if step + 1 < ring.size else keys
        for given, pairs in _given(ring, step, q, keys, sink):
            entries = [_entries(x, ring.blocks, [a for a, _ in pairs]) for x in rows]
            found = ring.run_backward(*given, *entries)
            dsink = found[3] if len(found) > 3 else dsink
            for (a, b), *parts in zip(pairs, *(jnp.split(x, len(pairs)) for x in found[:3]), strict=True):
                dq[a] = dq[a] + parts[0]
                sums[0][b], sums[1][b] = sums[0][b] + parts[1], sums[1][b] + parts[2]
        sums = [list(ring.shift(*x)) for x in sums]  # after the last step they are at home
        keys = coming
    found = [jnp.concatenate(x, 2).astype(of.dtype) for x, of in zip((dq, *sums), (q, k, v), strict=True)]
    return *found, None if sink is None or dsink is None else dsink.astype(sink.dtype)


attention.defvjp(_forward, _backward)
