"""Checks of where rows lie: prefix sums of packed sequences, pages, slots and positions of caches.

As those of `attn.call._checks`, for `attn.reference` too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks
from attn.kernel import _tensor

PAGE_LAYOUTS = ("nhd", "hnd")
NO_SLOT = -1  # of a token that is padding: it has no place


def cu_seqlens(
    name: str, value: Any, total: int, *, is_known: bool = True, has_padding: bool = False
) -> npt.NDArray[np.int64]:
    """Exclusive prefix sums [B + 1] of lengths: from 0 to the total, never decreasing, where their values are known.

    With `has_padding` they may end before the total.
    """
    array = _checks.integer_array(name, value)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"expected {name} of shape (batch + 1,) with a batch of at least 1, found {array.shape}")
    array = array.astype(np.int64)
    if not is_known:
        return array
    if (np.diff(array) < 0).any():
        raise ValueError(f"expected {name} never to decrease, found {array.tolist()}")
    if array[0] != 0 or array[-1] > total or (array[-1] < total and not has_padding):
        raise ValueError(f"expected {name} to go from 0 to the {total} packed rows, found {array[0]} to {array[-1]}")
    return array


def slots(value: Any, count: int, limit: int) -> npt.NDArray[np.int64]:
    """Places [total] of the first rows of `count` in a paged cache, each below the limit and there once, or -1."""
    is_empty = isinstance(value, list | tuple) and not value  # of which NumPy makes floats
    array = np.zeros(0, np.int64) if is_empty else _checks.integer_array("slots", value).astype(np.int64)
    if array.ndim != 1 or array.size > count:
        raise ValueError(f"expected slots of shape ({count},), one a token of new, or fewer, found {array.shape}")
    outside = np.flatnonzero((array < NO_SLOT) | (array >= limit))
    if outside.size:
        raise ValueError(f"expected slots in 0 to {limit - 1}, found {array[outside[0]]} of token {outside[0]}")
    order = np.argsort(array, kind="stable")
    same = np.flatnonzero((np.diff(array[order]) == 0) & (array[order][1:] != NO_SLOT))
    if same.size:
        first, second = order[same[0]], order[same[0] + 1]
        raise ValueError(f"expected each slot once, found {array[first]} of tokens {first} and {second}")
    return array


def are_slots(values: list[int], limit: int) -> bool:
    """Whether `slots` takes these integers, and none is -1; of a few in less time."""
    return len(values) == len(set(values)) and (not values or (min(values) >= 0 and max(values) < limit))


def page_layout(value: Any) -> str:
    """A layout of a paged cache: "nhd" for [pages, page, Hkv, D], "hnd" for [pages, Hkv, page, D]."""
    if value not in PAGE_LAYOUTS:
        raise ValueError(f'expected page_layout to be "nhd" or "hnd", found {value!r}')
    return str(value)


def common(
    k_cache: Any, v_cache: Any, k_scale: Any = None, v_scale: Any = None
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Caches, and their scales, of the pages that both have: K and V may be shifted views of one memory.

    Scales of a page and of a slot are as long as their cache; others stay.
    """
    caches = (k_cache, v_cache)
    counts = [x.shape[0] if len(getattr(x, "shape", ())) == 4 else None for x in caches]
    if counts[0] == counts[1] or None in counts:
        return caches, (k_scale, v_scale)
    least = min(counts)

    def of_pages(cache: Any, scale: Any) -> Any:
        pages, *slot = tuple(cache.shape[:3])
        shape = tuple(getattr(scale, "shape", ()))
        is_of_page = len(shape) == 2 and shape[0] == pages and shape[1] in slot
        return scale[:least] if is_of_page or shape == (pages, *slot) else scale

    scales = (of_pages(k_cache, k_scale), of_pages(v_cache, v_scale))
    return (k_cache[:least], v_cache[:least]), scales


def block_table_form(value: Any, batch: int) -> npt.NDArray[Any]:
    """Integers [B, max_pages], whatever they are."""
    table = _checks.integer_array("block_table", value)
    if table.ndim != 2 or table.shape[0] != batch:
        hint = ""
        if table.ndim == 1:
            rows = "block_table[None]" if batch == 1 else f"block_table.reshape({batch}, -1)"
            is_whole = batch > 0 and table.size % batch == 0
            hint = f"; write {rows}" if is_whole else "; write a row of pages for each sequence, padded at its end"
        raise ValueError(f"expected block_table of shape ({batch}, max pages), [B, pages], found {table.shape}{hint}")
    return table


def block_table(
    value: Any, lengths: npt.NDArray[np.int64], page: int, pages: int, first: Any = 0
) -> npt.NDArray[np.int64]:
    """A block table [B, max_pages]: where each page of each sequence lies.

    Entries for rows `first` … `lengths` must be in range; others may be anything: here they are the last one that is
    read, or 0, since kernels test all up to the lengths, and read some in front of the first one.
    """
    table = block_table_form(value, lengths.size)
    limit = table.shape[1] * page
    if (lengths > limit).any():
        raise ValueError(
            f"expected lengths of at most {limit}, {table.shape[1]} pages of {page}, found {lengths.tolist()}; "
            "write a block_table with more columns"
        )
    starts = np.arange(table.shape[1]) * page
    first = np.broadcast_to(first, lengths.shape)
    is_used = (starts < lengths[:, None]) & (starts + page > first[:, None]) & (first < lengths)[:, None]
    bad = np.argwhere(is_used & ((table < 0) | (table >= pages)))
    if bad.size:
        b, m = map(int, bad[0])
        raise ValueError(f"expected block_table in 0 to {pages - 1}, found {int(table[b, m])} at [{b}, {m}]")
    if isinstance(value, _tensor.StandIn) or is_used.all():
        return table.astype(np.int64)
    last = np.where(is_used, starts, 0).max(1, keepdims=True) // page
    last = np.where(is_used.any(1, keepdims=True), np.take_along_axis(table, last, 1), 0)
    return np.where(is_used, table, last).astype(np.int64)


def first_keys(
    lengths: npt.NDArray[np.int64], queries: Any, alignment: Any, given: Mapping[str, Any]
) -> npt.NDArray[np.int64]:
    """The first key [B] that a row of each sequence may read: behind it start the window and chunk of its first row.

    Args:
      lengths, queries: of keys and of queries, [B].
      alignment: of causal or align.
      given: words by name.
    """
    words = _checks.words(given)
    offsets = np.zeros_like(lengths) if alignment is None or isinstance(alignment, str) else np.asarray(alignment)
    if isinstance(alignment, str) and alignment == "bottom_right":
        offsets = lengths - queries
    left, chunk = words.get("window", (None, None))[0], words.get("chunk")
    first = np.zeros_like(lengths)
    if "prefix" not in words:
        first = first if left is None else np.maximum(first, offsets - left)
        first = first if chunk is None else np.maximum(first, offsets // chunk * chunk)
    return np.where(np.asarray(queries) == 0, lengths, first)


def positions(value: Any, b: int, count: int, length: int) -> npt.NDArray[np.int64]:
    """Where rows are appended, [B]: `count` rows fit from each position on in `length`."""
    array = _checks.integers("positions", value, b)
    if ((array < 0) | (array > length - count)).any():
        raise ValueError(
            f"expected positions in 0 to {length - count}, as {count} rows go in {length}, found {array.tolist()}"
        )
    return array
