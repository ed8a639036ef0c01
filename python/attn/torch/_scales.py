"""Scales of quantised caches as operators take them: tensors, also where an engine writes a number or none."""

from __future__ import annotations

import functools
import numbers
from typing import Any

import torch

Tensor = torch.Tensor

# Whose numbers are wide enough to do without a scale.
FP8 = frozenset({torch.float8_e4m3fn, torch.float8_e5m2})
QUANTISED = FP8 | {torch.int8}


def of(k_scale: Any, v_scale: Any, cache: Tensor, heads: int) -> tuple[Any, Any]:
    """Scales of keys and of values, as tensors.

    One number stands for what the other scale has one for, two for each key head. None is 1 of fp8, and the number 1
    none of floats. What is wrong stays as it is, for the operator to refuse.

    Args:
      k_scale, v_scale: as in `attn.torch.paged_sdpa`.
      cache: the keys.
      heads: how many key heads it has.
    """
    given = []
    for x in (k_scale, v_scale):
        if x is None and cache.dtype in FP8:
            x = 1.0
        is_number = isinstance(x, numbers.Real) and not isinstance(x, bool)
        given.append(None if is_number and x == 1 and cache.dtype not in QUANTISED else x)
    shape = next((tuple(x.shape) for x in given if isinstance(x, Tensor) and not _is_one(x)), (heads,))
    k_scale, v_scale = (_spread(x, shape, cache.device) for x in given)
    return k_scale, v_scale


def _is_one(x: Tensor) -> bool:
    """Whether it is one number, also expanded over sequences and heads, as vLLM has it."""
    return tuple(x.shape) in ((), (1,)) or not any(x.stride())


def _spread(x: Any, shape: tuple[int, ...], device: torch.device) -> Any:
    if isinstance(x, Tensor):
        return x[(0,) * x.dim()].expand(shape).contiguous() if _is_one(x) and x.device == device else x
    if not isinstance(x, numbers.Real) or isinstance(x, bool):
        return x
    is_kept = device.type == "cpu" and not torch.compiler.is_compiling()  # memory of graphs of CUDA is their own
    return (_kept if is_kept else _full)(float(x), shape, device)


def _full(x: float, shape: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.full(shape, x, dtype=torch.float32, device=device)


_kept = functools.lru_cache(maxsize=256)(_full)
