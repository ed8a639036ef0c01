"""score_mod and mask_mod as operators of PyTorch take them: text, and the tensors that it reads."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from attn import _capture, _trace

Shape = tuple[int, ...]


class Regions(NamedTuple):
    """The text of both functions, and what it reads in the order of the kernel's arguments."""

    text: str
    tensors: list[torch.Tensor]


def traced(score_mod: Any, mask_mod: Any, scores: Shape, dtype: torch.dtype) -> tuple[str, list[torch.Tensor]]:
    """The regions of both functions and the tensors that they capture, in the order of the kernel's arguments.

    A tensor that requires a gradient is itself in the graph, others are views of their memory. torch.compile traces the
    functions once, while it traces, and has the result as constants; the functions are then among what it guards.

    Args:
      score_mod, mask_mod: as in `attn.sdpa`.
      scores: below what the indices run, (B, Hq, Sq, Sk).
      dtype: the type of the queries.

    Raises:
      TypeError: a captured tensor that has no gradient requires one; or a function cannot be traced.
    """
    element = "f64" if dtype == torch.float64 else "f32"
    if torch.compiler.is_compiling():
        text = _text(score_mod, mask_mod, scores, element)
        wanted = _wanted(score_mod, mask_mod, scores, element)
        tensors = [_tensor(score_mod, mask_mod, scores, element, n) for n in range(len(wanted))]
    else:
        text, tensors = _traced(score_mod, mask_mod, scores, element)
        wanted = [x.requires_grad for x in tensors]
    sums = torch.float64 if element == "f64" else torch.float32
    # Those without a gradient on the CPU have the kernel's type already.
    is_made = [y or (x.is_cuda and x.is_floating_point()) for x, y in zip(tensors, wanted, strict=True)]
    return text, [x.to(sums).contiguous() if y else x for x, y in zip(tensors, is_made, strict=True)]


@torch.compiler.assume_constant_result
def _text(score_mod: Any, mask_mod: Any, scores: Shape, element: str) -> str:
    return _traced(score_mod, mask_mod, scores, element).text


@torch.compiler.assume_constant_result
def _wanted(score_mod: Any, mask_mod: Any, scores: Shape, element: str) -> list[bool]:
    return [x.requires_grad for x in _traced(score_mod, mask_mod, scores, element).tensors]


@torch.compiler.assume_constant_result
def _tensor(score_mod: Any, mask_mod: Any, scores: Shape, element: str, n: int) -> torch.Tensor:
    return _traced(score_mod, mask_mod, scores, element).tensors[n]


def names(text: str) -> list[str]:
    """The names of what the regions read."""
    head = text.partition("\n")[0]
    return re.findall(r"%(\w+) :", head) if head.startswith("captures(") else []


def _as_tensor(array: Any) -> torch.Tensor:
    """A tensor over the memory of an array where torch has such tensors: neither read-only nor of negative strides."""
    if isinstance(array, torch.Tensor):  # on a device
        return array
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _traced(score_mod: Any, mask_mod: Any, scores: Shape, element: str) -> Regions:
    tensors: dict[Any, Any] = {}
    # Transforms of torch.func take gradients of arguments alone: attn refuses captured tensors that require one.
    is_recorded = torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()
    token = _capture.TENSORS.set(tensors if is_recorded else None)
    try:
        with _disable_current_modes():  # of torch.export, whose tensors have no memory: those that are captured have
            result = _trace.trace(score_mod, mask_mod, scores, element, is_on_device=None)
            found = [_as_tensor(x) for x in result.arrays]
    finally:
        _capture.TENSORS.reset(token)
    of_scores = result.text.partition("\nmask_mod {")[0] if score_mod is not None else ""
    for n, (name, place) in enumerate(zip(names(result.text), result.places, strict=True)):
        if tensors.get(place) is None:
            continue
        if tensors[place] is _capture.MIXED:
            raise TypeError(
                f"expected functions to read {name} with or without a gradient, found both, as by x and x.detach(); "
                "write x.detach().clone() for the latter"
            )
        if f"tensor.extract %{name}[" not in of_scores:
            raise TypeError(
                f"expected mask_mod to read tensors that require no gradient, found {name}, which does and has none; "
                f"write {name}.detach()"
            )
        found[n] = tensors[place]
    for tensor in (x for place, x in tensors.items() if place not in result.places):  # not read as it is
        if not isinstance(tensor, torch.Tensor):
            continue
        first = tensor.data_ptr()
        if any(first <= place[0] < first + tensor.nbytes for place in result.places):
            raise TypeError(
                "expected score_mod to read a captured tensor that requires a gradient by position, found a view of it "
                "(.T, reshape, slices), which has no gradient; make it outside of score_mod"
            )
    return Regions(result.text, found)
