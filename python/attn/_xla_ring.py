"""Ring attention inside of a shard_map: keys and values travel over an axis of the mesh, and their gradients.

States are (out, max, log_sum) of a rank's rows. The backward pass is by those of whole rows: no step saves anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

LAYOUTS = ("contiguous", "striped")
State = tuple[Any, Any, Any]


class Ring(NamedTuple):
    """All of a call but its arrays.

    Attributes:
      run: out, max, log_sum of q, k, v, a sink or None, and offsets or None.
      run_backward: dq, dk, dv and, with a sink, dsink, of the same, out, max, log_sum, dout and dlse.
      is_masked: causal or a window takes offsets.
    """

    axis: str
    layout: str
    is_masked: bool
    run: Callable[..., Any]
    run_backward: Callable[..., Any]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(jax.lax.axis_size(self.axis))

    def shift(self, *arrays: Any) -> tuple[Any, ...]:
        """Sends to the next rank."""
        ranks = [(r, (r + 1) % self.size) for r in range(self.size)]
        return tuple(jax.lax.ppermute(x, self.axis, ranks) for x in arrays)

    def offsets(self, step: int, q: Any) -> Any:
        """What is between the first row here and the first key after these shifts, for each entry of the batch.

        Striped, row i and key j of ranks Δ apart are n (i − j) + Δ apart: causal keeps j ≤ i + floor(Δ / n).
        """
        if not self.is_masked:
            return None
        rank = jax.lax.axis_index(self.axis)
        apart = rank - (rank - step) % self.size
        offset = apart * q.shape[2] if self.layout == "contiguous" else jnp.floor_divide(apart, self.size)
        return jnp.full(q.shape[0], offset, jnp.int32)


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
    keys, values = k, v
    state: State | None = None
    for step in range(ring.size):
        # What comes for the next step does not wait for this one.
        coming = ring.shift(keys, values) if step + 1 < ring.size else ()
        out, row_max, log_sum = ring.run(q, keys, values, None if step else sink, ring.offsets(step, q))
        block = (out.astype(row_max.dtype), row_max, log_sum)
        state = block if state is None else merge(state, block)
        keys, values = coming or (keys, values)
    assert state is not None
    out, row_max, log_sum = state
    out = out.astype(q.dtype)
    return (out, row_max + log_sum), (q, k, v, sink, out, row_max, log_sum)


def _backward(ring: Ring, saved: Any, cotangents: Any) -> Any:
    q, k, v, sink, out, row_max, log_sum = saved
    dout, dlse = cotangents
    sums: list[Any] = []
    dq = dsink = None
    keys, values = k, v
    for step in range(ring.size):
        coming = ring.shift(keys, values) if step + 1 < ring.size else ()
        given = (q, keys, values, None if step else sink, ring.offsets(step, q))
        found = [x.astype(row_max.dtype) for x in ring.run_backward(*given, out, row_max, log_sum, dout, dlse)]
        dq = found[0] if dq is None else dq + found[0]
        dsink = found[3] if len(found) > 3 else dsink
        sums = found[1:3] if not sums else [x + y for x, y in zip(sums, found[1:3], strict=True)]
        sums = list(ring.shift(*sums))  # after the last step they are at home
        keys, values = coming or (keys, values)
    assert dq is not None
    dsink = None if sink is None else dsink.astype(sink.dtype)
    return dq.astype(q.dtype), sums[0].astype(k.dtype), sums[1].astype(v.dtype), dsink


attention.defvjp(_forward, _backward)
