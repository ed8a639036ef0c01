"""The gradients of linear attention by PyTorch's operators: the formulas of attn.reference, a state a token.

States are recomputed: those in front of parts of about √T tokens are kept, and all of one part at a time. In a part the
two recurrences run token by token; the gradients follow from their results by products over all its tokens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import torch

Tensor = torch.Tensor


class Terms(NamedTuple):
    """Tokens as the recurrence has them, (T, N, H, ·) in the type of the accumulation; keep is exp(decay)."""

    q: Tensor
    k: Tensor
    v: Tensor
    keep: Tensor
    erase: Tensor | None
    write: Tensor | None
    dout: Tensor  # scale · the cotangent of out

    def part(self, tokens: range) -> Terms:
        """Those of some tokens."""
        return Terms(*[None if x is None else x[tokens.start : tokens.stop] for x in self])  # type: ignore[arg-type]

    def states(self, state: Tensor, before: bool) -> list[Tensor]:
        """The states in front of each token, and the last one."""
        found = [state]
        for t, (k, v, keep) in enumerate(zip(self.k, self.v, self.keep, strict=True)):
            decayed = keep[..., None] * state
            new = decayed + _outer(k, v)
            if self.erase is not None and self.write is not None:
                new = new + _outer(self.write[t], _read(state if before else decayed, self.erase[t]))
            state = new
            found.append(state)
        return found

    def cotangents(self, d: Tensor, before: bool) -> tuple[Tensor, Tensor]:
        """Those of the states behind each token, and that of the state in front of all; d is that of the last one."""
        found = []
        for t in reversed(range(len(self.q))):
            d = d + _outer(self.q[t], self.dout[t])
            found.append(d)
            decayed = d
            if self.erase is not None and self.write is not None:
                erased = _outer(self.erase[t], _read(d, self.write[t]))
                decayed = d if before else d + erased
            d = self.keep[t][..., None] * decayed
            if before and self.erase is not None:
                d = d + erased
        return torch.stack(found[::-1]), d


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
    write = None if erase is None else own.get("write", k)
    keep = own["decay"].exp() if "decay" in own else torch.ones_like(k[..., :1])
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    tokens = (q, k, v, keep, erase, write, factor * rows(dout))
    terms = Terms(*[None if x is None else x.movedim(2, 0) for x in tokens])  # type: ignore[arg-type]
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
    if write is not None and "write" not in own:
        result["k"] = result["k"] + result["write"]
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
    """The gradients of the terms, (N, H, T, ·), and of the states that sequences start from.

    Args:
      terms: of all sequences.
      start: what they start from.
      last: the cotangents of their last states.
      sums: the prefix sums of packed sequences.
      before: as in `attn.torch.linear_attention`.
    """
    found: dict[str, list[Tensor]] = {}
    dstart = last.clone()
    sequences = [(slice(None), 0, len(terms.q))]
    if sums is not None:
        sequences = [(slice(n, n + 1), *pair) for n, pair in enumerate(itertools.pairwise(sums))]
    for of, first, end in reversed(sequences):
        size = max(1, math.isqrt(end - first))
        parts = [range(x, min(x + size, end)) for x in range(first, end, size)]
        kept = [start[of]]
        for tokens in parts[:-1]:
            kept.append(terms.part(tokens).states(kept[-1], before)[-1])
        d = last[of]
        for state, tokens in zip(reversed(kept), reversed(parts), strict=False):
            made, d = _part(terms.part(tokens), state, d, before)
            for name, x in made.items():
                found.setdefault(name, []).append(x)
        dstart[of] = d
    if not found:  # no tokens
        found = {
            x: [y] for x, y in zip(("q", "k", "v", "decay", "erase", "write"), terms[:6], strict=True) if y is not None
        }
    return {name: torch.cat(x[::-1]).movedim(0, 2) for name, x in found.items()}, dstart


def _part(terms: Terms, state: Tensor, d: Tensor, before: bool) -> tuple[dict[str, Tensor], Tensor]:
    """The gradients of some tokens, and of the state in front of them; d is the cotangent of the last one."""
    states = torch.stack(terms.states(state, before))
    old, new = states[:-1], states[1:]
    of_new, first = terms.cotangents(d, before)
    decayed = terms.keep[..., None] * old
    of_decayed = of_new
    found = {"v": _read(of_new, terms.k), "k": _times(of_new, terms.v)}
    if terms.erase is not None and terms.write is not None:
        source, of_read = old if before else decayed, _read(of_new, terms.write)
        found["erase"] = _times(source, of_read)
        found["write"] = _times(of_new, _read(source, terms.erase))
        of_decayed = of_new if before else of_new + _outer(terms.erase, of_read)
    of_row = (of_decayed * decayed).sum(-1)
    found["decay"] = of_row.sum(-1, True) if terms.keep.shape[-1] == 1 else of_row
    found["q"] = _times(new, terms.dout)
    return found, first


def _outer(x: Tensor, y: Tensor) -> Tensor:
    """x yᵀ of each head."""
    return x[..., :, None] * y[..., None, :]


def _read(state: Tensor, x: Tensor) -> Tensor:
    """Sᵀ x of each head."""
    return (x[..., None, :] @ state)[..., 0, :]


def _times(state: Tensor, x: Tensor) -> Tensor:
    """S x of each head."""
    return (state @ x[..., :, None])[..., 0]
