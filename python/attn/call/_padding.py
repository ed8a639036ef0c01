"""Steps of a fixed size: rows behind the last prefix sum are padding, which no kernel is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attn.call import _running
from attn.kernel import _cuda, _tensor

OF_ROWS = ("return_lse", "return_max", "return_log_sum")  # results (Hq, total_q)


def run(kind: _running.Kind, given: dict[str, Any], operands: Mapping[str, tuple[str, ...]]) -> Any:
    """What a function returns that was called with these arguments, of all rows.

    Args:
      kind: of the function.
      given: the arguments.
      operands: the names of prefix sums, and of the tensors whose rows they count.
    """
    counts: dict[str, int] = {}
    for sums, names in operands.items():
        count = _count(given[names[0]], sums, given[sums], given["target"])
        counts |= {} if count is None else dict.fromkeys(names, count)
    if not counts:
        return _running.run(kind, given)
    q, out, end = given["q"], given["out"], counts.get("q")
    cut = {name: given[name][:count] for name, count in counts.items()}
    results = _running.run(kind, given | cut | {"out": out if out is None else out[:end]})
    first, *rest = results if isinstance(results, tuple) else (results,)
    if end is not None:
        out = _padded(first, 0, q.shape[0], 0.0, q) if out is None else out
        for n in range(sum(given[x] for x in OF_ROWS)):
            rest[n] = _padded(rest[n], 1, q.shape[0], -np.inf, q)
    if "k" in counts and given["return_key_sums"]:
        rest[-1] = _padded(rest[-1], 1, given["k"].shape[0], 0.0, q)
    return (out, *rest) if rest else out


def _count(rows: Any, name: str, sums: Any, target: str) -> int | None:
    """How many rows sequences have, where others are behind them; None of what is whole, wrong, or on a device."""
    if sums is None or _cuda.is_target(target):
        return None
    array = _tensor.as_numbers(name, sums)
    is_known = array.ndim == 1 and array.size > 1 and array.dtype.kind in "iu" and len(getattr(rows, "shape", ())) == 3
    return int(array[-1]) if is_known and 0 <= array[-1] < rows.shape[0] else None


def _padded(part: Any, dim: int, size: int, value: float, model: Any) -> Any:
    """A result with more rows behind it."""
    array = _tensor.as_array("a result", part)
    shape = (*array.shape[:dim], size, *array.shape[dim + 1 :])
    whole = np.full(shape, value, array.dtype)
    whole[(slice(None),) * dim + (slice(array.shape[dim]),)] = array
    return _tensor.like(whole, model)
