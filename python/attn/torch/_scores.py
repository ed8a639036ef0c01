"""softcap_first and alibi_slopes in `attn.torch`, by `attn.call._scores`: text, and the tensors that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from attn.call import _checks, _scores
from attn.torch import _context, _regions

Tensor = torch.Tensor
Traced = tuple[str, str, list[Tensor]]


def traced(
    score_mod: Any,
    mask_mod: Any,
    scores: tuple[int, ...],
    q: Tensor,
    words: dict[str, Any],
    slopes: Tensor | None,
    *,
    lengths: Sequence[Tensor | None],
    is_first: bool,
) -> tuple[Traced, dict[str, Any]]:
    """The functions of a call as `_regions.traced` has them, and its words, without softcap where that is one of them.

    Args:
      score_mod, mask_mod, scores, q: as there.
      words: of the call.
      slopes: alibi_slopes.
      lengths: how many queries and keys the sequences have, tensors (B,), or their prefix sums (B + 1,); None for as
        many as there are.
      is_first: softcap_first.

    Raises:
      TypeError, ValueError: as `_regions.traced`; or alibi_slopes or softcap_first is wrong.
    """
    _checks.flag("softcap_first", is_first)
    softcap, offsets = words.get("softcap"), None
    if slopes is not None:
        offsets = _offsets(slopes, scores, q, lengths)
    if slopes is None or not (score_mod is None and mask_mod is None):
        score_mod, left = _scores.composed(score_mod, softcap, slopes, offsets, is_first=is_first)
        return _regions.traced(score_mod, mask_mod, scores, q), words if left is softcap else words | {"softcap": None}
    _context.check(query=q, alibi_slopes=slopes)
    element = "f64" if q.dtype == torch.float64 else "f32"
    text = _alibi(element, slopes.dim(), softcap)
    floats = slopes.to(torch.float64 if element == "f64" else torch.float32).contiguous()
    return (text, ",".join(_scores.NAMES), [floats, offsets]), words | {"softcap": None}


@_regions._assume_constant_result
def _alibi(element: str, rank: int, softcap: float | None) -> str:
    """The text of ALiBi alone; an operator has it in the sizes of its tensors."""
    cap = None if softcap is None else _checks.words({"softcap": softcap}).get("softcap")
    return _scores.alibi(element, (1,) * rank, 1, cap).text


def _offsets(slopes: Any, scores: tuple[int, ...], q: Tensor, lengths: Sequence[Tensor | None]) -> Tensor:
    """Where the diagonals at the bottom right lie, (B,), as a kernel reads them; the slopes are checked."""
    if not isinstance(slopes, Tensor):
        raise TypeError(f"expected alibi_slopes to be a tensor, found {type(slopes).__name__}")
    batch = scores[0]
    _scores.check_slopes(slopes, scores[1], batch)
    rows, keys = (
        torch.full((batch,), size, dtype=torch.int32, device=q.device)
        if x is None
        else x[1:] - x[:-1]
        if x.shape[0] == batch + 1
        else x
        for x, size in zip(lengths, scores[2:], strict=True)
    )
    if rows.shape != keys.shape:  # which the operator refuses
        return torch.zeros(batch, dtype=torch.int32, device=q.device)
    return (keys - rows).to(torch.int32)
