"""Functions of scores under torch.compile: the tensors that they read are taken out of them, and stay in the graph.

torch.compile calls the tracer with constants alone, and a function that a module makes or has reads tensors that are
none. So `take` walks through closures, arguments of partials and the attributes of modules that a function names, and
keeps tensors apart; `put` makes of the rest the same function, which reads stand-ins of their shapes.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from attn.kernel import _tensor
from attn.trace import _capture

MAX_DEPTH = 8  # of functions and modules in each other; a function that calls itself ends here
# A node is a kind and what it is of: numbers of leaves and tensors, names, other nodes. It is a constant.
Node = tuple[Any, ...]
# Attributes of modules that are taken; any other is read from the module itself.
TAKEN = (torch.Tensor, np.ndarray, torch.nn.Module, bool, int, float, list, tuple, dict, functools.partial)
TAKEN += (types.MethodType, types.FunctionType)
PLAIN = (torch.Tensor, torch.nn.Parameter)  # tensors of torch.export have no values
# Stand for sizes that a graph leaves open, one for each of b, h, i and j: an index runs below the size of its own.
OPEN_SIZES = (2**30 + 1, 2**30 + 2, 2**30 + 3, 2**30 + 4)


def found(
    score_mod: Any, mask_mod: Any, scores: tuple[int, ...], element: str, *, is_open: bool = True
) -> tuple[tuple[Any, ...], list[torch.Tensor]]:
    """What the tracer of functions is called with, constants alone, and the tensors of the graph that functions read.

    Args:
      score_mod, mask_mod, scores, element: as in `_regions.traced`.
      is_open: sizes that the graph leaves open are any; otherwise they become those of this trace.
    """
    tensors: list[torch.Tensor] = []
    leaves: list[Any] = [()]
    if is_open:
        sizes = tuple([_size(x, (), (OPEN_SIZES[n],)) for n, x in enumerate(scores)])
    else:
        sizes = scores = tuple([operator.index(x) for x in scores])
    forms = [take(x, tensors, leaves) for x in (score_mod, mask_mod)]
    leaves[0] = tuple(
        [tuple([_size(x, scores, sizes) if is_open else operator.index(x) for x in y.shape]) for y in tensors]
    )
    return ((forms[0], forms[1]), sizes, element, *leaves), tensors


def _size(size: int, scores: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """A size as a constant: one that is open stands for the size of scores that it is, or of none the last one.

    The comparison is a guard of the graph. What is of none is only this size.
    """
    from torch.fx.experimental.symbolic_shapes import has_static_value

    if has_static_value(size):
        return operator.index(size)
    if not scores:
        return sizes[0]
    for other, placed in zip(scores, sizes, strict=True):
        if not has_static_value(other) and size == other:
            return placed
    return operator.index(size)


class Slot:
    """What stands for a tensor of the graph in what is traced."""

    def __init__(self, number: int, requires_grad: bool) -> None:
        """The place in the list of tensors; whether a gradient is recorded."""
        self.number, self.requires_grad = number, requires_grad


def take(
    value: Any, tensors: list[torch.Tensor], leaves: list[Any], names: tuple[str, ...] = (), depth: int = 0
) -> Node:
    """The structure of a function; what it holds goes to the lists. torch.compile traces this.

    Args:
      value: the function, or what one holds.
      tensors: gets the tensors.
      leaves: gets all else, which is constant.
      names: the attributes of modules that are read.
      depth: how deep this is.
    """
    if isinstance(value, np.ndarray):
        value = torch.as_tensor(value)
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        is_known = not value.is_floating_point()  # positions are tested by the values
        if is_known:
            leaves.append(value)
        form = (str(value.dtype).replace("torch.", ""), value.requires_grad)
        return ("tensor", len(tensors) - 1, len(leaves) - 1 if is_known else -1, *form)
    if depth > MAX_DEPTH:
        leaves.append(value)
        return ("leaf", len(leaves) - 1)
    deeper = depth + 1
    if isinstance(value, types.MethodType):
        function = value.__func__
        names = function.__code__.co_names
        return (
            "method",
            take(function, tensors, leaves, names, deeper),
            take(value.__self__, tensors, leaves, names, deeper),
        )
    if isinstance(value, functools.partial):
        inner = take(value.func, tensors, leaves, names, deeper)
        arguments = tuple([take(x, tensors, leaves, names, deeper) for x in value.args])
        keywords = tuple([(name, take(x, tensors, leaves, names, deeper)) for name, x in value.keywords.items()])
        return ("partial", inner, arguments, keywords)
    if isinstance(value, types.FunctionType) and value.__closure__:
        code = value.__code__
        cells = [x.cell_contents for x in value.__closure__]
        leaves.extend((code, value.__module__, value.__name__, value.__defaults__, value.__kwdefaults__))
        first = len(leaves) - 5
        return ("function", first, tuple([take(x, tensors, leaves, code.co_names, deeper) for x in cells]))
    if isinstance(value, torch.nn.Module):
        leaves.append(value)
        number = len(leaves) - 1
        held = []
        for name in names:
            if hasattr(value, name):
                attribute = getattr(value, name)
                if isinstance(attribute, TAKEN):
                    held.append((name, take(attribute, tensors, leaves, names, deeper)))
        return ("module", number, tuple(held))
    if isinstance(value, list | tuple):
        return ("list", isinstance(value, tuple), tuple([take(x, tensors, leaves, names, deeper) for x in value]))
    if isinstance(value, dict):
        return ("dict", tuple([(key, take(x, tensors, leaves, names, deeper)) for key, x in value.items()]))
    leaves.append(value)
    return ("leaf", len(leaves) - 1)


def put(node: Node, leaves: tuple[Any, ...], slots: dict[Any, Slot], name: str = "captured") -> Any:
    """The value of a structure, with stand-ins for tensors.

    Args:
      node: what `take` returned.
      leaves: its leaves, behind the shapes of the tensors.
      slots: gets what stands for which tensor, by `_capture.place` of the stand-ins.
      name: of a tensor in the kernel.
    """
    kind, *rest = node
    if kind == "tensor":
        return _stand_in(rest, leaves, slots, name)
    if kind == "leaf":
        return leaves[rest[0]]
    if kind == "method":
        return types.MethodType(put(rest[0], leaves, slots), put(rest[1], leaves, slots))
    if kind == "partial":
        arguments = [put(x, leaves, slots) for x in rest[1]]
        return functools.partial(
            put(rest[0], leaves, slots), *arguments, **{x: put(y, leaves, slots, x) for x, y in rest[2]}
        )
    if kind == "function":
        code, module, called, defaults, keywords = leaves[rest[0] : rest[0] + 5]
        cells = tuple(types.CellType(put(x, leaves, slots, y)) for x, y in zip(rest[1], code.co_freevars, strict=True))
        function = types.FunctionType(code, _scope(module, code), called, defaults, cells)
        function.__kwdefaults__, function.__module__ = keywords, module
        return function
    if kind == "module":
        return Module(leaves[rest[0]], {x: put(y, leaves, slots, x) for x, y in rest[1]})
    if kind == "list":
        values = [put(x, leaves, slots, name) for x in rest[1]]
        return tuple(values) if rest[0] else values
    return {key: put(x, leaves, slots, str(key)) for key, x in rest[0]}


class Module:
    """A module some of whose attributes are others."""

    def __init__(self, module: torch.nn.Module, held: dict[str, Any]) -> None:
        """The module, and the attributes by name."""
        self.__dict__.update(held)
        self.__dict__["_attn_module"] = module

    def __getattr__(self, name: str) -> Any:
        """Any other attribute; methods are of this object."""
        value = getattr(self.__dict__["_attn_module"], name)
        return types.MethodType(value.__func__, self) if isinstance(value, types.MethodType) else value

    def __getitem__(self, key: Any) -> Any:
        """An entry of a list of modules or parameters."""
        return self.__dict__["_attn_module"][key]


def _stand_in(form: list[Any], leaves: tuple[Any, ...], slots: dict[Any, Slot], name: str) -> _capture.Captured:
    number, leaf, element, requires_grad = form
    shape, values = leaves[0][number], None
    if leaf >= 0 and type(leaves[leaf]) in PLAIN:
        with _disable_current_modes():
            values = _tensor.as_array(name, leaves[leaf].detach().cpu())
    if values is not None and values.shape == shape:
        array = np.array(values, copy=True, order="C").view(_capture.Captured)
    else:
        array = np.broadcast_to(np.zeros((), _tensor.dtype(element)), shape).view(_capture.Captured)
        array.tensor = Slot(number, requires_grad)
        if values is not None and values.dtype.kind in "iu" and values.size:  # of an open number
            array.bounds = (int(values.min()), int(values.max()))
    array.name = name
    slots[_capture.place(array)] = Slot(number, requires_grad)
    return array


def _scope(module: str, code: types.CodeType) -> dict[str, Any]:
    """The globals of a function: those of its module, or of another that was loaded from its file."""
    if module in sys.modules:
        return vars(sys.modules[module])
    return next((vars(x) for x in [*sys.modules.values()] if getattr(x, "__file__", None) == code.co_filename), {})
