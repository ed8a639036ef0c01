"""The context that calls are inside of: what `attn.torch.sdpa` asks, and no more."""

from __future__ import annotations

from typing import Any

# Settings of the contexts that are open, the innermost last: of the process, as PyTorch's own context is.
stack: list[Any] = []


def settings() -> Any:
    """Those of the innermost context; None outside."""
    return stack[-1] if stack else None


def ranks() -> int:
    """How many ranks share the sequence of the innermost context."""
    from attn.torch.parallel._group import Group

    return Group(stack[-1].given).size


def call(query: Any, key: Any, value: Any, options: dict[str, Any]) -> Any:
    """`attn.torch.sdpa` inside of a context."""
    from attn.torch.parallel import _call

    return _call.run(settings(), query, key, value, options, bool(options.get("return_lse")))


def packed_call(*arguments: Any) -> Any:
    """`attn.torch.varlen_sdpa` inside of a context."""
    from attn.torch.parallel import _context_parallel

    return _context_parallel.varlen_sdpa(*arguments)
