"""What counts positions of the whole on a rank: chunks, prefixes, functions, dropout, by the origins of each block."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from attn.torch import _regions
from attn.torch.parallel._group import Group
from attn.torch.parallel._layout import Layout, Piece

Tensor = torch.Tensor
WORDS = ("chunk", "prefix")
FUNCTIONS = ("score_mod", "mask_mod")


class Positions(NamedTuple):
    """What calls of blocks take beside causal and window.

    Attributes:
      words: chunk and prefix where they are given.
      functions: score_mod and mask_mod where they are given.
      dropout: (p, seed, offset), the same on all ranks.
      length: the rows of the whole.
    """

    words: dict[str, int]
    functions: dict[str, Any]
    dropout: tuple[float, int, int] | None
    length: int

    def options(self, piece: Piece, q: Tensor, causal: str | None, window: Any) -> dict[str, Any]:
        """The keywords of `attn.sdpa` of one block."""
        first = {"q_origin": piece.first[0], "k_origin": piece.first[1]}
        made: dict[str, Any] = {
            name: torch.full((q.shape[0],), x, dtype=torch.int32, device=q.device) for name, x in first.items()
        }
        made |= self.words | self.functions
        if causal is not None:
            made["causal"] = causal
        elif window is not None or "chunk" in self.words:
            made["align"] = "top_left"
        if window is not None:
            made["window"] = window
        if self.dropout is not None:
            made |= {"dropout": self.dropout, "whole": (q.shape[1], self.length, self.length)}
        return made


def check(method: str, q: Tensor, k: Tensor, options: dict[str, Any], starts: Any) -> None:
    """Refuses what blocks cannot have.

    Raises:
      ValueError, TypeError: functions or dropout of rows of some heads, or of packed documents; or functions that read
        tensors which require a gradient.
    """
    given = [name for name in (*WORDS, *FUNCTIONS) if options.get(name) is not None]
    given += ["dropout_p"] if options.get("dropout_p") else []
    if given and starts is not None:
        raise ValueError(
            f"expected no {given[0]} beside cu_seqlens in a sequence on several ranks, where it would count from the "
            "start of each document; leave one out"
        )
    by_heads = [name for name in given if name not in WORDS]
    if by_heads and method == "ulysses":
        raise ValueError(
            f'expected no {by_heads[0]} with method="ulysses", whose ranks have some of the heads; write method="ring" '
            'or "allgather"'
        )
    if any(name in FUNCTIONS for name in given):
        scores = (*q.shape[:3], k.shape[2])
        _, names, tensors = _regions.traced(options.get("score_mod"), options.get("mask_mod"), scores, q)
        for name, x in zip(names.split(","), tensors, strict=False):
            if x.requires_grad:
                raise TypeError(
                    f"expected functions of a sequence on several ranks to read tensors that require no gradient, "
                    f"found {name}, which does; write {name}.detach()"
                )


def positions_of(group: Group, layout: Layout, options: dict[str, Any], device: torch.device) -> Positions | None:
    """The positions of a call, which all ranks make; None where causal and window are all that counts."""
    words = {name: int(options[name]) for name in WORDS if options.get(name) is not None}
    functions = {name: options[name] for name in FUNCTIONS if options.get(name) is not None}
    dropout = None
    if options.get("dropout_p"):
        # Every rank draws, so that their generators stay alike; the first one's are taken.
        seeds = group.of_first(torch.randint(2**62, (2,), device="cpu"), device).tolist()
        dropout = (float(options["dropout_p"]), int(seeds[0]), int(seeds[1]))
    return Positions(words, functions, dropout, layout.length) if words or functions or dropout else None
