"""The gradients of linear attention by PyTorch's operators, chunk by chunk.

In a chunk of n tokens behind the state S, with Γ_ti the decay from behind token i to behind token t and γ_t that from
the start, the states that tokens read and write are products of matrices whose rows are tokens:

    (I − L) X = (γ A) S + V,  L = tril(A Kᵀ ∘ Γ, −1)
    out = (γ Q) S + P X,  P = tril(Q Kᵀ ∘ Γ);  S' = γ_n S + (Γ_n K)ᵀ X

X is what is written at k: V and what was read. Where write is another direction b, it is b in the place of k, what is
read alone for X, tril(A Kᵀ ∘ Γ, −1) V for V on the right, and V is written at k beside it. With before Γ and γ of what
is read are those of the token in front. Γ comes from sums over the tokens in between: none is subtracted, so that
nothing cancels and a decay of −∞ is 0. The states in front of all chunks are kept, all else is computed again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import torch

Tensor = torch.Tensor

# Tokens of a chunk; those of decays a channel, whose Γ has as many numbers again as k has channels.
CHUNK, CHUNK_OF_CHANNELS = 32, 16
# Decays below it are 0: products with numbers too small for their exponent take many times as long.
FORGOTTEN = 2.0**-80


class Terms(NamedTuple):
    """Tokens as the recurrence has them, (N, H, T, ·) in the type of the accumulation; write is None where it is k."""

    q: Tensor
    k: Tensor
    v: Tensor
    decay: Tensor
    erase: Tensor | None
    write: Tensor | None
    dout: Tensor  # scale · the cotangent of out

    def part(self, tokens: range) -> Terms:
        """Those of some tokens."""
        return Terms(*[None if x is None else x[:, :, tokens.start : tokens.stop] for x in self])  # type: ignore[arg-type]


class Chunk(NamedTuple):
    """What forward and backward have of a chunk.

    Attributes:
      between, start: Γ (n, n, ·) and γ (n, ·), of a number or of the channels.
      read_between, read_start: those of what is read.
      lower: L.
      written: X, at `at`, which is b or k.
    """

    between: Tensor
    start: Tensor
    read_between: Tensor
    read_start: Tensor
    lower: Tensor | None
    written: Tensor
    at: Tensor


def gradients(
    given: Mapping[str, Tensor],
    dout: Tensor,
    dstate: Tensor,
    *,
    before: bool,
    scale: float | None,
    normalize: float | None,
    sums: list[int] | None,
    slots: Tensor | None,
) -> dict[str, Tensor]:
    """The gradients of all tensors of a call, by name, each of the shape and type of its tensor.

    Args:
      given: q, k, v, decay, beta, erase, write, state; (B, H, T, ·), or packed (T, H, ·).
      dout, dstate: the cotangents of the results.
      before, scale, normalize, slots: of the call.
      sums: the prefix sums of packed sequences.
    """
    wide = torch.promote_types(given["q"].dtype, torch.float32)

    def rows(x: Tensor) -> Tensor:
        """(N, H, T, ·)."""
        x = x.to(wide)
        x = x if sums is None else x.transpose(0, 1)[None]
        return x[..., None] if x.dim() == 3 else x

    own = {name: rows(x) for name, x in given.items() if name != "state"}
    group = own["v"].shape[1] // own["k"].shape[1]
    sizes = {x: 1.0 if normalize is None else (own[x].square().sum(-1, True) + normalize).sqrt() for x in "qk"}
    units = {name: own[name] / sizes[name] for name in "qk"}
    q, k = (units[name].repeat_interleave(group, 1) for name in "qk")
    v, beta, erase = own["v"], own.get("beta"), own.get("erase")
    if beta is not None:
        v, erase = beta * v, -beta * k
    decay = own.get("decay", k.new_zeros(*k.shape[:3], 1))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    terms = Terms(q, k, v, decay, erase, own.get("write"), factor * rows(dout))
    count = q.shape[0] if sums is None else len(sums) - 1
    start = q.new_zeros(count, q.shape[1], q.shape[3], v.shape[3])
    last = start.clone()
    places = torch.arange(count, device=q.device) if slots is None else slots.long()
    has_place = places >= 0
    places = places[has_place]
    last[has_place] = dstate[places].to(wide)
    if "state" in given:
        start[has_place] = given["state"][places].to(wide)
    result, dstart = _sequences(terms, start, last, sums, before)
    if beta is not None:  # a = −β k, v is β v: dβ = v·dv − k·da, dk gets −β da
        result["beta"] = (own["v"] * result["v"]).sum(-1, True) - (k * result["erase"]).sum(-1, True)
        result["v"], result["k"] = beta * result["v"], result["k"] - beta * result["erase"]
    for name in "qk":
        d = result[name].unflatten(1, (-1, group)).sum(2)
        if normalize is not None:  # n = x / |x|: dx = (dn − n (n·dn)) / |x|
            d = (d - units[name] * (units[name] * d).sum(-1, True)) / sizes[name]
        result[name] = d
    found = {}
    for name, x in given.items():
        if name == "state":
            d = dstate.clone()
            d[places] = dstart[has_place].to(d.dtype)
        else:
            d = result[name] if sums is None else result[name][0].transpose(0, 1)
            d = d.reshape(x.shape)
        found[name] = d.to(x.dtype).contiguous()
    return found


def _sequences(
    terms: Terms, start: Tensor, last: Tensor, sums: list[int] | None, before: bool
) -> tuple[dict[str, Tensor], Tensor]:
    """The gradients of the terms, and of the states that sequences start from.

    Args:
      terms: of all sequences.
      start: what they start from.
      last: the cotangents of their last states.
      sums: the prefix sums of packed sequences.
      before: as in `attn.torch.linear_attention`.
    """
    named = {name: x for name, x in zip(Terms._fields[:-1], terms, strict=False) if x is not None}
    found = {name: torch.zeros_like(x) for name, x in named.items()}
    dstart = last.clone()
    size = CHUNK if terms.decay.shape[-1] == 1 else CHUNK_OF_CHANNELS
    sequences = [(slice(None), 0, terms.q.shape[2])]
    if sums is not None:
        sequences = [(slice(n, n + 1), *pair) for n, pair in enumerate(itertools.pairwise(sums))]
    for of, first, end in sequences:
        chunks = [range(x, min(x + size, end)) for x in range(first, end, size)]
        states = [start[of]]
        for tokens in chunks[:-1]:
            part = terms.part(tokens)
            states.append(_behind(part, _forward(part, states[-1], before), states[-1]))
        d = last[of]
        for tokens, state in zip(reversed(chunks), reversed(states), strict=False):
            made, d = _backward(terms.part(tokens), state, d, before)
            for name, x in made.items():
                found[name][:, :, tokens.start : tokens.stop] = x
        dstart[of] = d
    return found, dstart


def _forward(x: Terms, state: Tensor, before: bool) -> Chunk:
    """What a chunk writes, and its decays."""
    n = x.q.shape[2]
    # Sums of decays from 1 … n to the tokens behind them, in column 0 from the start
    gaps = x.decay[:, :, :, None].expand(-1, -1, -1, n + 1, -1)
    decays = torch.where(_is_behind(gaps), gaps, 0.0).cumsum(2).exp()
    decays = torch.where(decays < FORGOTTEN, 0.0, decays)
    start, between = decays[:, :, :, 0], decays[:, :, :, 1:]
    shifted = [torch.cat([torch.ones_like(y[:, :, :1]), y[:, :, :-1]], 2) if before else y for y in (between, start)]
    if x.erase is None:
        return Chunk(between, start, *shifted, None, x.v, x.k)
    at = x.k if x.write is None else x.write
    lower = _pairs(x.erase, at, shifted[0], -1)
    right = (x.erase * shifted[1]) @ state
    right = right + (x.v if x.write is None else _pairs(x.erase, x.k, shifted[0], -1) @ x.v)
    written = torch.linalg.solve_triangular(-lower, right, upper=False, unitriangular=True)
    return Chunk(between, start, *shifted, lower, written, at)


def _behind(x: Terms, chunk: Chunk, state: Tensor) -> Tensor:
    """The state behind a chunk."""
    last = chunk.between[:, :, -1]
    new = chunk.start[:, :, -1, :, None] * state + (chunk.at * last).mT @ chunk.written
    return new if x.write is None else new + (x.k * last).mT @ x.v


def _backward(x: Terms, state: Tensor, d: Tensor, before: bool) -> tuple[dict[str, Tensor], Tensor]:
    """The gradients of a chunk's terms, and of the state in front of it; d is the cotangent of that behind it."""
    chunk = _forward(x, state, before)
    last = chunk.between[:, :, -1]
    read = (x.q * chunk.start).mT @ x.dout
    first = chunk.start[:, :, -1, :, None] * d + read
    dwritten = _pairs(x.q, chunk.at, chunk.between, 0).mT @ x.dout + (chunk.at * last) @ d
    found = {name: torch.zeros_like(y) for name, y in (("q", x.q), ("k", x.k))}
    dq = x.dout @ state.mT
    found["q"] = dq * chunk.start
    # The gradients of the logarithms of γ and Γ, and where a row of Γ is that of the token in front
    of_start, of_between = dq * x.q * chunk.start, torch.zeros_like(chunk.between)
    of_start[:, :, -1:] += (chunk.start[:, :, -1, :, None] * d * state).sum(-1)[:, :, None]
    of_read_start, of_read = torch.zeros_like(of_start), torch.zeros_like(of_between)
    at = "k" if x.erase is None or x.write is None else "write"
    found[at] = torch.zeros_like(chunk.at)

    def pairs_backward(dp: Tensor, left: str, right: str, is_read: bool) -> None:
        names = {"q": x.q, "k": x.k, "write": x.write, "erase": x.erase}
        gaps, total = (chunk.read_between, of_read) if is_read else (chunk.between, of_between)
        dx, dy, of_gaps = _pairs_backward(names[left], names[right], gaps, dp.tril(-1 if is_read else 0))
        found[left] = found[left] + dx
        found[right] = found[right] + dy
        total += of_gaps

    def tail(name: str, rows: Tensor, values: Tensor) -> None:
        """S' += (Γ_n rows)ᵀ values."""
        dx = (values @ d.mT) * last
        found[name] = found[name] + dx
        of_between[:, :, -1] += _shared(dx * rows, of_between)

    pairs_backward(x.dout @ chunk.written.mT, "q", at, False)
    tail(at, chunk.at, chunk.written)
    if x.erase is None or chunk.lower is None:
        found["v"] = dwritten
    else:
        dright = torch.linalg.solve_triangular(-chunk.lower.mT, dwritten, upper=True, unitriangular=True)
        from_state = dright @ state.mT * chunk.read_start
        found["erase"] = from_state
        of_read_start += from_state * x.erase
        first = first + (x.erase * chunk.read_start).mT @ dright
        pairs_backward(dright @ chunk.written.mT, "erase", at, True)
        found["v"] = dright
        if x.write is not None:
            found["v"] = _pairs(x.erase, x.k, chunk.read_between, -1).mT @ dright
            found["v"] += _pairs(x.q, x.k, chunk.between, 0).mT @ x.dout + (x.k * last) @ d
            pairs_backward(dright @ x.v.mT, "erase", "k", True)
            pairs_backward(x.dout @ x.v.mT, "q", "k", False)
            tail("k", x.k, x.v)
    found["decay"] = _of_decays(of_start, of_between, of_read_start, of_read, before)
    return found, first


def _pairs(x: Tensor, y: Tensor, gaps: Tensor, diagonal: int) -> Tensor:
    """tril(Σ_c x_tc y_ic Γ_tic): of one decay a head a product."""
    if gaps.shape[-1] == 1:
        return (x @ y.mT * gaps[..., 0]).tril(diagonal)
    return (x[:, :, :, None] * gaps * y[:, :, None]).sum(-1).tril(diagonal)


def _pairs_backward(x: Tensor, y: Tensor, gaps: Tensor, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, y and ln Γ by that of the pairs."""
    if gaps.shape[-1] == 1:
        of_product = d * gaps[..., 0]
        return of_product @ y, of_product.mT @ x, (of_product * (x @ y.mT))[..., None]
    of_products = d[..., None] * gaps
    of_x, of_y = of_products * y[:, :, None], of_products * x[:, :, :, None]
    return of_x.sum(3), of_y.sum(2), of_x * x[:, :, :, None]


def _shared(x: Tensor, like: Tensor) -> Tensor:
    """The sum over channels where they share a decay."""
    return x.sum(-1, True) if like.shape[-1] == 1 else x


def _of_decays(start: Tensor, between: Tensor, read_start: Tensor, read: Tensor, before: bool) -> Tensor:
    """The gradients of the decays by those of ln γ and ln Γ: each γ and Γ has the decays of the tokens it spans."""
    start, read_start = (_shared(x, between) for x in (start, read_start))
    of_read = torch.cat([read_start[:, :, :, None], read], 3)
    if before:  # γ_0 = 1 has none
        of_read = torch.cat([of_read[:, :, 1:], torch.zeros_like(of_read[:, :, :1])], 2)
    # dg_s = Σ_(t ≥ s > i): sums over t from the end, then over the columns in front of s
    total = torch.cat([start[:, :, :, None], between], 3) + of_read
    return torch.where(_is_behind(total), total.flip(2).cumsum(2).flip(2), 0.0).sum(3)


def _is_behind(x: Tensor) -> Tensor:
    """Of (N, H, n, n + 1, ·) where token t, from 1 on, is behind column i, which begins behind token i."""
    n = x.shape[2]
    return torch.ones(n, n + 1, dtype=torch.bool, device=x.device).tril()[..., None]
