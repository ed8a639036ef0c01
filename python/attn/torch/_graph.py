"""Calls under torch.compile that its tracer does not look into: of each line that it sees it would keep guards.

Guards are tested at each call of a compiled model, those of one call of attention take as long as the call itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.compiler import is_dynamo_compiling

from attn.torch import _context, _regions

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
_nodes: dict[str, Callable[..., Any]] = {}


def whole(function: FunctionT) -> FunctionT:
    """The function, which without functions of scores is one node of a graph, until it is traced for its operators."""
    name = function.__name__

    def node(*given: Any, written: torch.Tensor | None = None, **named: Any) -> Any:
        return function(*given, **named) if written is None else function(*given, out=written, **named)

    _nodes[name] = node

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        # The tracer has to see functions, of which a graph has the text, and what sizes are made of.
        seen = ("score_mod", "mask_mod", "kv_indptr")  # a global would be guarded
        if is_dynamo_compiling() and not [x for x in seen if named.get(x) is not None]:
            _context.check_outside()
            _allow(name)
            # Of the name `out` the tracer expects what PyTorch makes of it.
            written = named.pop("out", None)
            return _nodes[name](*given, written=written, **named)
        return function(*given, **named)

    return called  # type: ignore[return-value]


@_regions._assume_constant_result
def _allow(name: str) -> None:
    """The tracer calls this; then it asks what it may do with the node, which it has not seen before."""
    torch.compiler.allow_in_graph(_nodes[name])
