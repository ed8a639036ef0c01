"""score_mod and mask_mod as operators of PyTorch take them: text, and the tensors that it reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from attn import _trace

Shape = tuple[int, ...]


def traced(score_mod: Any, mask_mod: Any, scores: Shape, dtype: torch.dtype) -> tuple[str, list[torch.Tensor]]:
    """The regions of both functions and the arrays that they capture, in the order of the kernel's arguments.

    torch.compile calls it once, while it traces, and has its result as constants; the functions are then among what it
    guards.

    Args:
      score_mod, mask_mod: as in `attn.sdpa`.
      scores: below what the indices run, (B, Hq, Sq, Sk).
      dtype: the type of the queries.

    Raises:
      TypeError: a captured tensor requires a gradient; or a function cannot be traced.
    """
    element = "f64" if dtype == torch.float64 else "f32"
    if not torch.compiler.is_compiling():
        regions = _traced(score_mod, mask_mod, scores, element)
        return regions.text, [_as_tensor(x) for x in regions.arrays]
    text = _text(score_mod, mask_mod, scores, element)
    count = _count(score_mod, mask_mod, scores, element)
    return text, [_tensor(score_mod, mask_mod, scores, element, n) for n in range(count)]


@torch.compiler.assume_constant_result
def _text(score_mod: Any, mask_mod: Any, scores: Shape, element: str) -> str:
    return _traced(score_mod, mask_mod, scores, element).text


@torch.compiler.assume_constant_result
def _count(score_mod: Any, mask_mod: Any, scores: Shape, element: str) -> int:
    return len(_traced(score_mod, mask_mod, scores, element).arrays)


@torch.compiler.assume_constant_result
def _tensor(score_mod: Any, mask_mod: Any, scores: Shape, element: str, n: int) -> torch.Tensor:
    with _disable_current_modes():
        return _as_tensor(_traced(score_mod, mask_mod, scores, element).arrays[n])


def _as_tensor(array: Any) -> torch.Tensor:
    """A tensor over the memory of an array where torch has such tensors: neither read-only nor of negative strides."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _traced(score_mod: Any, mask_mod: Any, scores: Shape, element: str) -> _trace.Traced:
    with _disable_current_modes():  # of torch.export, whose tensors have no memory: those that are captured have
        return _trace.trace(score_mod, mask_mod, scores, element)
