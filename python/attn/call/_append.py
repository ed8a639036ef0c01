"""Appending to caches of keys and values, dense and paged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _call, _elements, _pages, _problem, _running, _text
from attn.kernel import _cuda, _device, _kernel, _tensor
from attn.kernel._cache import plans
from attn.words import _signatures
from attn.words._types import Integers, Tensor, TensorT

Array = npt.NDArray[Any]

# What a cache may hold, as IR spells it: what is calculated in, and numbers that scales go with.
CACHE_TYPES = _elements.TYPE_NAMES | {"int8": "i8", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2"}


@_signatures.explains_arguments
def kv_append(
    cache: TensorT,
    new: Tensor,
    positions: Integers | None = None,
    *,
    block_table: Tensor | None = None,
    slots: Integers | None = None,
    page_layout: str | None = None,
    target: str = "host",
) -> TensorT:
    """Writes new rows of keys or values into a cache, in place.

    Args:
      cache: (B, Hkv, S, D), or with a block table [pages, page, Hkv, D] or [pages, Hkv, page, D]: writable, with
        contiguous rows of D; also a view, as one half of [pages, 2, page, Hkv, D].
      new: (B, Hkv, N, D), in the type of the cache; quantised rows as they are, their scales are the caller's.
        With slots (total, Hkv, D), the tokens of all sequences one after the other.
      positions: [B] integers: sequence b gets its rows at positions[b] … positions[b] + N − 1.
      slots: [total] integers in place of positions and block_table: token t is row slots[t] mod page of page
        slots[t] div page, each slot once. Tokens of slot -1, and those behind the last slot, are padding: not written.
      block_table: [B, max_pages] integers for a paged cache; only the entries of pages that are written are read.
      page_layout: "nhd" (the default) or "hnd", of a paged cache.
      target: as in `sdpa`. On a GPU positions and block table are not tested; rows whose place is not in the cache are
        not written.

    Returns:
      The cache itself.

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`; nothing is written.
    """
    if slots is not None:
        if positions is not None or block_table is not None:
            raise ValueError("expected slots without positions and block_table, found both; leave one out")
        layout = page_layout or "nhd"
        if _cuda.is_target(target):  # tokens of their own sequences, whose tables have one page
            page = _page_of(cache, new, layout)
            as_i32 = lambda x: x.int() if _tensor.is_torch(x) else x.astype("int32")  # noqa: E731
            where = {"positions": as_i32(slots % page), "block_table": as_i32(slots // page)[:, None]}
            rows = new[: slots.shape[0], :, None]  # the page of slot -1 is -1, which no cache has
            return kv_append(cache, rows, **where, page_layout=layout, target=target)
        old, rows = _tensor.as_array("cache", cache), _tensor.as_array("new", new)
        kernel, inputs, _ = by_slots(old, rows, slots, layout, target)
        return kernel(*inputs, out=cache)
    if positions is None:
        raise TypeError("expected positions, or slots for packed tokens, found neither")
    named = {"new": new, "positions": positions, "block_table": block_table, "cache": cache}
    named, tensors = _cuda.split(target, named)
    positions, block_table = named["positions"], named["block_table"]
    old, rows = _tensor.as_array("cache", named["cache"]), _tensor.as_array("new", named["new"])
    if rows.dtype.name not in CACHE_TYPES:
        raise TypeError(f"expected new to be one of {', '.join(CACHE_TYPES)}, found {rows.dtype}")
    if old.dtype != rows.dtype:
        raise TypeError(f"expected cache to have the type of new, {rows.dtype}, found {old.dtype}")
    if old.ndim != 4 or rows.ndim != 4:
        raise ValueError(f"expected cache and new of rank 4, found shapes {old.shape} and {rows.shape}")
    batch, heads, count, columns = rows.shape
    if block_table is None:
        if page_layout is not None:
            raise ValueError(f"expected page_layout only with a block_table, found {page_layout!r}; leave it out")
        wanted, length = (batch, heads, old.shape[2], columns), old.shape[2]
        table = None
        where = _pages.positions(positions, batch, count, length)
    else:
        page_layout = _pages.page_layout(page_layout or "nhd")
        page = old.shape[1 if page_layout == "nhd" else 2]
        wanted = (old.shape[0], page, heads, columns) if page_layout == "nhd" else (old.shape[0], heads, page, columns)
        table = _pages.block_table_form(block_table, batch)
        where = _pages.positions(positions, batch, count, table.shape[1] * page)
        table = _pages.block_table(table, where + count, page, old.shape[0], first=where)
    if old.shape != wanted:
        raise ValueError(f"expected a cache of shape {wanted} for new rows of shape {rows.shape}, found {old.shape}")
    is_view = _device.is_view if tensors else _tensor.is_view
    views = {"new": new, "cache": cache} if tensors else {"new": rows, "cache": old}
    strided = [name for name, x in views.items() if is_view(x)]
    element, pages = CACHE_TYPES[rows.dtype.name], None if table is None else table.shape
    text = _text.kv_append(old.shape, rows.shape, element, pages, page_layout, strided)
    inputs = [new, _call.as_i32(where)] if table is None else [new, _call.as_i32(where), _call.as_i32(table)]
    return _running.compiled(text, target)(*(tensors[:-1] if tensors else inputs), out=cache)


def _page_of(cache: Any, new: Any, page_layout: str) -> int:
    """How many rows a page has of a cache that tokens go to."""
    if len(cache.shape) != 4 or len(new.shape) != 3:
        raise ValueError(
            f"expected a paged cache of rank 4 and new of rank 3 (tokens, heads, head size) beside slots, found shapes "
            f"{tuple(cache.shape)} and {tuple(new.shape)}"
        )
    return int(cache.shape[1 if _pages.page_layout(page_layout) == "nhd" else 2])


def by_slots(
    old: Array, rows: Array, slots: Any, page_layout: str, target: str
) -> tuple[_kernel.Kernel, list[Any], int]:
    """The kernel that appends these tokens, each as a sequence of one row, what it takes, and the rows of a page.

    Raises:
      TypeError, ValueError: slots are wrong, or tokens and cache do not fit; otherwise as `_append_kernel`.
    """
    page = _page_of(old, rows, page_layout)
    slots = _pages.slots(slots, rows.shape[0], old.shape[0] * page)
    rows, is_kept = rows[: slots.size], slots != _pages.NO_SLOT
    if not is_kept.all():  # a view where padding stands at the end
        count = int(is_kept.sum())
        rows, slots = (x[:count] if is_kept[:count].all() else x[is_kept] for x in (rows, slots))
    heads, columns = rows.shape[1:]
    wanted = (old.shape[0], *((page, heads) if page_layout == "nhd" else (heads, page)), columns)
    if old.shape != wanted or old.dtype != rows.dtype:
        raise ValueError(
            f"expected a cache of shape {wanted} and type {rows.dtype} for new rows of shape {rows.shape}, found "
            f"{old.shape} of {old.dtype}"
        )
    views = (_tensor.is_view(old), _tensor.is_view(rows))
    key = (target, old.dtype.name, old.shape[1:], heads, page_layout, views)
    kernel = plans.get(key) or plans.keep(key, _append_kernel(*key))
    table = (slots // page).astype(np.int32)[:, None]
    return kernel, [rows[:, :, None], (slots % page).astype(np.int32), table], page


def _append_kernel(
    target: str, dtype: str, page: tuple[int, ...], heads: int, page_layout: str, views: tuple[bool, bool]
) -> _kernel.Kernel:
    """The kernel that appends any number of tokens to a cache of any number of pages of this shape.

    Raises:
      TypeError: the cache holds numbers of no type of `CACHE_TYPES`.
    """
    if dtype not in CACHE_TYPES:
        raise TypeError(f"expected new to be one of {', '.join(CACHE_TYPES)}, found {dtype}")
    strided = [name for name, is_view in zip(("cache", "new"), views, strict=True) if is_view]
    new, table = (_problem.DYNAMIC, heads, 1, page[-1]), (_problem.DYNAMIC, 1)
    text = _text.kv_append((_problem.DYNAMIC, *page), new, CACHE_TYPES[dtype], table, page_layout, strided)
    return _running.compiled(text, target)
