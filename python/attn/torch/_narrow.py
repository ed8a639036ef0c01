"""Queries and results of 8 bits in `attn.torch`, by `attn.call._float8`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from attn.call import _float8
from attn.torch._scales import FP8


def is_needed(q: Any, q_scale: Any, out_dtype: Any, out_scale: Any) -> bool:
    """Whether `around` has to do with a call."""
    return not (q_scale is out_dtype is out_scale is None) or q.dtype in FP8


def around(function: Callable[..., Any], q: torch.Tensor, axis: int, given: dict[str, Any]) -> Any:
    """What a function of `attn.torch` returns that was called with these arguments.

    Args:
      function: it.
      q: the queries.
      axis: their dimension that is heads.
      given: all of its arguments by name.

    Raises:
      TypeError: out_dtype is neither of 8 bits nor the type of q; or as `_float8.around`.
    """
    words, out_dtype = given.pop("words"), given["out_dtype"]
    if out_dtype is not None and out_dtype not in FP8 and q.dtype not in FP8:
        if out_dtype != q.dtype:
            raise TypeError(f"expected out_dtype to be {q.dtype}, the type of q, or of 8 bits, found {out_dtype}")
        out_dtype = None
    others = {name: x for name, x in given.items() if name not in ("q", "query", "out_dtype")}
    return _float8.around(function, q, axis, {**others, **words, "out_dtype": out_dtype})
