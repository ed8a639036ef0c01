"""The context that calls are inside of: what `attn.torch.sdpa` asks, and no more."""

from __future__ import annotations

from typing import Any

import torch

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


def packed_call(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, options: dict[str, Any]) -> Any:
    """`attn.torch.varlen_sdpa` inside of a context: prefix sums are of the whole, the same for queries and keys.

    Args:
      q, k, v: (rows of the rank, H, D).
      options: its other arguments.

    Raises:
      ValueError: the prefix sums differ.
    """
    from attn.torch.parallel import _call

    if cu_seqlens_q is not cu_seqlens_k and not torch.equal(
        torch.as_tensor(cu_seqlens_q), torch.as_tensor(cu_seqlens_k)
    ):
        raise ValueError(
            "expected cu_seqlens_k to be cu_seqlens_q in a sequence on several ranks, found others; attention to other "
            "sequences has no shards"
        )
    chosen = _call.settings(*settings()[:3], settings().ordered, cu_seqlens_q)
    batch = [x.transpose(0, 1)[None] for x in (q, k, v)]
    with_lse = bool(options.get("return_lse"))
    found = _call.run(chosen, *batch, {**options, "enable_gqa": True}, with_lse)
    if not with_lse:
        return found[0].transpose(0, 1)
    return found[0][0].transpose(0, 1), found[1][0]
