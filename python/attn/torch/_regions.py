"""score_mod and mask_mod as operators of PyTorch take them: text, and the tensors that it reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from attn.torch import _context, _eager, _pieces
from attn.trace import _capture, _trace
from attn.trace._symbols import Symbol

Shape = tuple[int, ...]


class Functions(NamedTuple):
    """Both functions, traced, and what they read in the order of the kernel's arguments.

    Attributes:
      numbers: of those that are in the graph of torch.compile, which they are in its list; −1 for others.
    """

    regions: _trace.Regions
    tensors: list[Any]
    numbers: list[int]


class _Reads(TorchFunctionMode):
    """While functions are traced: a tensor that is read at a traced position, however it was reached, is captured."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        if function is torch.Tensor.__getitem__:
            array, key = arguments
            if any(isinstance(x, Symbol) for x in (key if isinstance(key, tuple) else (key,))):
                return _capture.capture(array)[key]
        return function(*arguments, **(keywords or {}))


def _assume_constant_result(function: Any) -> Any:
    """`torch.compiler.assume_constant_result`, which would import the compiler, 1.5 s, before anything is compiled."""
    function._dynamo_marked_constant = True
    return function


def traced(score_mod: Any, mask_mod: Any, scores: Shape, q: torch.Tensor) -> tuple[str, str, list[torch.Tensor]]:
    """The text of both functions, the names of what they capture, with "," between, and these tensors, in this order.

    Tensors are themselves in the graph, arrays as views of their memory. torch.compile traces the functions once, while
    it traces, and has the result as constants; the functions are then among what it guards.

    Args:
      score_mod, mask_mod: as in `attn.sdpa`.
      scores: below what the indices run, (B, Hq, Sq, Sk).
      q: the queries.

    Raises:
      TypeError: a captured tensor is of a class that no call takes, or requires a gradient and has none; or a function
        cannot be traced.
    """
    if score_mod is None and mask_mod is None:
        return "", "", []
    element = "f64" if q.dtype == torch.float64 else "f32"
    if torch.compiler.is_compiling():
        found, given = _pieces.found(score_mod, mask_mod, scores, element)
        if not _is_traceable(*found):  # in any sizes: then it is one of these
            found, given = _pieces.found(score_mod, mask_mod, scores, element, is_open=False)
        text, names, numbers = _text(*found), _names(*found), _numbers(*found)
        tensors = [given[n] if n >= 0 else _tensor(place, *found) for place, n in enumerate(numbers)]
    else:
        regions, tensors, _ = _traced(score_mod, mask_mod, scores, element)
        text, names = regions.text, ",".join(regions.names)
    sums = torch.float64 if element == "f64" else torch.float32
    tensors = [_as_read(x, sums) for x in tensors]
    _context.check(**{"query": q, **dict(zip(names.split(","), tensors, strict=False))})
    return text, names, tensors


def _as_read(x: torch.Tensor, sums: torch.dtype) -> torch.Tensor:
    """A captured tensor as a kernel reads it."""
    if x.is_floating_point():
        return x.to(sums).contiguous()
    is_wide = x.dtype in (torch.int64, torch.uint32, torch.uint64)
    return x.contiguous() if x.dtype == torch.bool else x.to(torch.int64 if is_wide else torch.int32).contiguous()


@_assume_constant_result
def _is_traceable(*pieces: Any) -> bool:
    try:
        _of_pieces(*pieces)
    except ValueError:
        return False
    return True


@_assume_constant_result
def _text(*pieces: Any) -> str:
    return _of_pieces(*pieces).regions.text


@_assume_constant_result
def _names(*pieces: Any) -> str:
    return ",".join(_of_pieces(*pieces).regions.names)


@_assume_constant_result
def _numbers(*pieces: Any) -> list[int]:
    return _of_pieces(*pieces).numbers


@_assume_constant_result
def _tensor(place: int, *pieces: Any) -> torch.Tensor:
    return _of_pieces(*pieces).tensors[place]


def _of_pieces(forms: tuple[_pieces.Node, _pieces.Node], scores: Shape, element: str, *leaves: Any) -> Functions:
    slots: dict[Any, _pieces.Slot] = {}
    score_mod, mask_mod = (_pieces.put(x, leaves, slots) for x in forms)
    return _traced(score_mod, mask_mod, scores, element, slots)


def _as_tensor(array: Any) -> torch.Tensor:
    """A tensor over the memory of an array where torch has such tensors: neither read-only nor of negative strides."""
    if isinstance(array, torch.Tensor):  # on a device
        return array
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _traced(
    score_mod: Any, mask_mod: Any, scores: Shape, element: str, slots: dict[Any, _pieces.Slot] | None = None
) -> Functions:
    slots = {} if slots is None else slots
    tensors: dict[Any, Any] = {}
    token = _capture.TENSORS.set(tensors)
    try:
        result = None if _eager.has_no_values() else _trace.recall(score_mod, mask_mod, scores, element)
        if result is None:
            # Modes of torch.export, whose tensors have no memory: those captured have.
            with _disable_current_modes(), _Reads():
                result = _trace.trace(score_mod, mask_mod, scores, element, is_form=True, is_on_device=None)
    finally:
        _capture.TENSORS.reset(token)
    found: list[Any] = []
    numbers = []
    for name, array, place in zip(result.regions.names, result.arrays, result.places, strict=True):
        slot, given = slots.get(place), tensors.get(place)
        if given is _capture.MIXED:
            raise TypeError(
                f"expected functions to read {name} with or without a gradient, found both, as by x and x.detach(); "
                "write x.detach().clone() for the latter"
            )
        requires_gradient = torch.is_grad_enabled() and _capture.requires_gradient(slot or given)
        if requires_gradient and name not in result.regions.differentiable:
            raise TypeError(
                f"expected mask_mod to read tensors that require no gradient, found {name}, which does and has none; "
                f"write {name}.detach()"
            )
        found.append(None if slot is not None else _as_tensor(array) if given is None else given)
        numbers.append(-1 if slot is None else slot.number)
    return Functions(result.regions, found, numbers)
