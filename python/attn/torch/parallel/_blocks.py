"""One query segment on one key segment by attn's kernels, forward and backward, and how results are joined.

A state is (out, max, log_sum) of rows, in float32 or float64, as kernels sum it: results of narrow types are rounded
once, behind all blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import torch

import attn
from attn.torch import _place
from attn.torch.parallel._layout import Mask, Piece, Segment
from attn.torch.parallel._positions import Positions

Tensor = torch.Tensor


class State(NamedTuple):
    """out (B, H, rows, Dv), max and log_sum (B, H, rows)."""

    out: Tensor
    max: Tensor
    log_sum: Tensor

    @property
    def lse(self) -> Tensor:
        """The log-sum-exp."""
        return self.max + self.log_sum


States = TypeVar("States", State, list[Tensor])


class Rows(NamedTuple):
    """What a backward reads of rows: q, the state of the whole row, and the cotangents of out and lse."""

    q: Tensor
    state: State
    dout: Tensor
    dlse: Tensor | None

    def map(self, of: Callable[[Tensor], Tensor]) -> Rows:
        """A function of each tensor."""
        return Rows(
            of(self.q), State(*map(of, self.state)), of(self.dout), None if self.dlse is None else of(self.dlse)
        )


class Kernels(NamedTuple):
    """What all calls have in common.

    Attributes:
      sink: (Hq,) floats; the block with a row's own key takes it, and no other.
      dynamic: as in `attn.torch.sdpa`; documents have any lengths.
      positions: what counts positions of the whole beside the mask.
    """

    mask: Mask
    scale: float | None
    softcap: float | None
    sink: Tensor | None
    dynamic: bool | None
    positions: Positions | None = None

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, qs: Segment, ks: Segment, state: State | None = None
    ) -> State | None:
        """The state of the rows of qs with the keys of ks, in place of what `state` was.

        None where there is no state, and the mask removes all keys.
        """
        pieces = self.mask.pieces(qs, ks)
        if not pieces:
            return state
        sink = self.sink if _holds(ks, qs) else None
        is_whole = len(pieces) == 1 and pieces[0].rows == slice(0, qs[1]) and pieces[0].sums is None
        if state is not None and is_whole and sink is None and q.device.type == "cpu":
            return self._run(pieces[0], q, k, v, None, state)
        found = self._forward(pieces, q, k, v, sink, qs)
        return found if state is None else merge(state, found)

    def _forward(self, pieces: list[Piece], q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None, qs: Segment) -> State:
        if len(pieces) == 1 and pieces[0].rows == slice(0, qs[1]):
            return self._run(pieces[0], q, k, v, sink)
        kind = accumulation_type(q)
        rows = [torch.full(q.shape[:3], -torch.inf, dtype=kind, device=q.device) for _ in "ml"]
        state = State(torch.zeros((*q.shape[:3], v.shape[3]), dtype=kind, device=q.device), *rows)
        for piece in pieces:
            found = self._run(piece, q[:, :, piece.rows], k, v, sink)
            for to, x in zip(state, found, strict=True):
                to[:, :, piece.rows] = x
        return state

    def backward(
        self, rows: Rows, k: Tensor, v: Tensor, qs: Segment, ks: Segment, into: list[Tensor] | None = None
    ) -> list[Tensor] | None:
        """dq, dk, dv and, where this block has it, dsink.

        The first three are those of `into`, contiguous, with what is added to them. None where the mask removes all.
        """
        pieces = self.mask.pieces(qs, ks)
        if not pieces:
            return None
        sink = self.sink if _holds(ks, qs) else None
        q, kind = rows.q, accumulation_type(rows.q)
        results = into or [torch.zeros(x.shape, dtype=kind, device=q.device) for x in (q, k, v)]
        results = results[:3]
        if sink is not None:
            results.append(torch.zeros_like(sink, dtype=kind))
        for piece in pieces:
            part = rows.map(lambda x, at=piece.rows: x[:, :, at])
            is_whole = piece.rows == slice(0, qs[1]) and piece.keys == slice(0, ks[1]) and piece.sums is None
            is_added = into is not None and is_whole and q.device.type == "cpu"
            found = self._run_backward(piece, part, k, v, sink, into if is_added else None)
            for n, (to, x) in enumerate(zip(results, found, strict=True)):
                if n > 2 or not is_added:
                    (to if n > 2 else to[:, :, piece.rows if n == 0 else piece.keys]).add_(x)
        return results

    def _call(self, piece: Piece, *tensors: Tensor, sink: Tensor | None) -> tuple[list[Tensor], dict[str, Any]]:
        """What attn's function takes of q, k and v, dense or packed, and keywords that run it where these are."""
        q, k, v = tensors[0], *(x[:, :, piece.keys] for x in tensors[1:])
        mask, is_packed = self.mask, piece.sums is not None
        window = None if mask.left is mask.right is None else (mask.left, mask.right)
        given: dict[str, Any] = {"sink": sink, "scale": self.scale, "softcap": self.softcap}
        if piece.sums is not None:
            given["causal"] = "bottom_right" if mask.is_causal else None
            operands = [
                *map(_packed, (q, k, v)),
                *(torch.tensor(x, dtype=torch.int32, device=q.device) for x in piece.sums),
            ]
        else:
            operands = [x.contiguous() for x in (q, k, v)]
        if piece.is_masked and self.positions is None:
            given["window"] = window
            if not is_packed:
                offset = torch.as_tensor(piece.offset, dtype=torch.int32, device=q.device)
                given["causal" if mask.is_causal else "align"] = offset.expand(q.shape[0]).contiguous()
        named = dict(zip(("q", "k", "v", "cu_seqlens_q", "cu_seqlens_k"), operands, strict=False))
        named |= {} if sink is None else {"sink": sink}
        options = _place.options(named, {name: x for name, x in given.items() if x is not None})
        options["dynamic"] = True if is_packed else self.dynamic
        if self.positions is not None:
            options |= self.positions.options(piece, q, "top_left" if mask.is_causal else None, window)
        return operands, options

    def _run(
        self, piece: Piece, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None, into: State | None = None
    ) -> State:
        operands, options = self._call(piece, q, k, v, sink=sink)
        if into is not None:
            attn.sdpa(*operands, **options, into=(into.out, (into.max, into.log_sum)))
            return into
        options |= {"return_max": True, "return_log_sum": True, "out_dtype": accumulation_type(q)}
        if piece.sums is None:
            return State(*attn.sdpa(*operands, **options))
        out, row_max, log_sum = attn.varlen_sdpa(*operands, **options)
        return State(_unpacked(out), row_max[None], log_sum[None])

    def _run_backward(
        self, piece: Piece, rows: Rows, k: Tensor, v: Tensor, sink: Tensor | None, into: list[Tensor] | None = None
    ) -> list[Tensor]:
        operands, options = self._call(piece, rows.q, k, v, sink=sink)
        kind, is_packed = accumulation_type(rows.q), piece.sums is not None
        names = ("q", "k", "v") if sink is None else ("q", "k", "v", "sink")
        dout, out, *terms = (x.to(kind) for x in (rows.dout, *rows.state))
        terms = [x if x is None else (x[0] if is_packed else x).contiguous() for x in (*terms, rows.dlse)]
        dout, out = (_packed(x) if is_packed else x.contiguous() for x in (dout, out))
        options |= {"dlse": terms.pop(), "grad": names, "out_dtype": kind}
        options["into"] = None if into is None else dict(zip("qkv", into, strict=True))
        function = attn.varlen_sdpa_backward if is_packed else attn.sdpa_backward
        found = function(*operands[:3], out, tuple(terms), dout, *operands[3:], **options)
        return [_unpacked(found[x]) if is_packed and x in "qkv" else found[x] for x in names]


def accumulation_type(q: Tensor) -> torch.dtype:
    """The type of sums beside tensors of this type."""
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def merge(a: States, b: States) -> States:
    """The state of the keys of both, (out, max, log_sum), in the place of the first; the second is scratch.

    With M the larger maximum and w = exp(max − M + log_sum) of each: out = Σ w·out / Σ w, log_sum = ln Σ w.
    """
    (out, row_max, log_sum), (other, *terms) = a, b
    largest = torch.maximum(row_max, terms[0])
    base = torch.where(largest == -torch.inf, 0.0, largest)
    first, second = (torch.exp(x - base + y) for x, y in ((row_max, log_sum), terms))
    total = first + second
    inverse = torch.where(total == 0, 0.0, 1 / total)
    # Each product is rounded, then the sum: fused ones would depend on where a row lies.
    out.mul_((first * inverse)[..., None]).add_(other.mul_((second * inverse)[..., None]))
    row_max.copy_(largest)
    torch.log(total, out=log_sum)
    return a


def add(a: list[Tensor] | None, b: list[Tensor] | None) -> list[Tensor] | None:
    """The sums of gradients, in the place of the first."""
    if a is None or b is None:
        return b if a is None else a
    return [x.add_(y) for x, y in zip(a, b, strict=True)]


def cut(x: Tensor, segments: Any) -> list[Tensor]:
    """The rows (B, H, rows, …) of segments, each contiguous."""
    return [y.contiguous() for y in x.split([n for _, n in segments], dim=2)]


def _holds(outer: Segment, inner: Segment) -> bool:
    return outer[0] <= inner[0] and sum(inner) <= sum(outer)


def _packed(x: Tensor) -> Tensor:
    return x[0].transpose(0, 1).contiguous()


def _unpacked(x: Tensor) -> Tensor:
    return x.transpose(0, 1)[None].contiguous()
