"""Calls that torch.fx.symbolic_trace records: a node of its graph, as PyTorch's own functions are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Proxy

FUNCTIONS = ("score_mod", "mask_mod")


def are_among(*values: Any) -> bool:
    """Whether a call is recorded: a value is the proxy of a tensor."""
    for x in values:  # noqa: SIM110 - `any` takes twice as long
        if isinstance(x, Proxy):
            return True
    return False


def record(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The proxy of a call.

    Args:
      function: what the node calls.
      arguments: its arguments by name; those of `words` are keywords.

    Raises:
      TypeError: there is a function among them, which a graph of torch.fx cannot hold.
    """
    named = {name: x for name, x in arguments.items() if name != "words"} | arguments["words"]
    for name in FUNCTIONS:
        if named.get(name) is not None:
            raise TypeError(
                f"expected a call without {name} in torch.fx.symbolic_trace, whose graphs hold none, found one; write "
                "torch.export.export, or torch.fx.wrap on a function of your module that makes the call"
            )
    leading = ("query", "key", "value")
    tensors = tuple(named.pop(name) for name in leading)
    defaults = (None, False, 0.0)
    keywords = {name: x for name, x in named.items() if isinstance(x, Proxy | torch.Tensor) or x not in defaults}
    return Proxy.__torch_function__(function, (Proxy,), tensors, keywords)
