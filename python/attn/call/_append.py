"""Appending to caches of keys and values, dense and paged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _append_rope as _rope
from attn.call import _append_scales as _scales
from attn.call import _append_text, _call, _pages, _problem, _running
from attn.kernel import _cuda, _device, _kernel, _tensor
from attn.kernel._cache import plans
from attn.words import _signatures
from attn.words._types import Integers, Tensor, TensorT

Array = npt.NDArray[Any]


@_signatures.explains_arguments
def kv_append(
    cache: TensorT,
    new: Tensor,
    positions: Integers | None = None,
    *,
    block_table: Tensor | None = None,
    slots: Integers | None = None,
    page_layout: str | None = None,
    scale: float | Tensor | None = None,
    scale_cache: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
    rope_positions: Integers | None = None,
    rope_interleaved: bool = False,
    target: str = "host",
) -> TensorT:
    """Writes new rows of keys or values into a cache, in place, converted to its type.

    Args:
      cache: (B, Hkv, S, D), or with a block table [pages, page, Hkv, D] or [pages, Hkv, page, D]: writable, with
        contiguous rows of D; also a view, as one half of [pages, 2, page, Hkv, D].
      new: (B, Hkv, N, D), in the type of the cache; or float32, bfloat16 or float16 (also float64 beside a cache of
        these): then the kernel rounds to the nearest, ties to even, while it writes. With slots (total, Hkv, D), the
        tokens of all sequences one after the other.
      positions: [B] integers: sequence b gets its rows at positions[b] … positions[b] + N − 1.
      slots: [total] integers in place of positions and block_table: token t is row slots[t] mod page of page
        slots[t] div page, each slot once. Tokens of slot -1, and those behind the last slot, are padding: not written.
      block_table: [B, max_pages] integers for a paged cache; only the entries of pages that are written are read.
      page_layout: "nhd" (the default) or "hnd", of a paged cache.
      scale: of rows that are converted to int8, float8_e4m3fn or float8_e5m2: the cache holds new / scale, limited to
        the largest finite numbers of its type, infinities too; a NaN stays one, in int8 it is 0. A number, or floats of
        one element or [Hkv], the k_scale or v_scale of attention; for a GPU [Hkv] on the device. None for 1, but not
        beside int8.
      scale_cache: in its place a float32 table of the cache's shape without D, [B, Hkv, S], [pages, page, Hkv] or
        [pages, Hkv, page], which is k_scale or v_scale of attention: each row and head has the scale max|new| / (the
        largest number of the type), 1 where that is 0, and it is written there. Not for a GPU.
      rope_cos, rope_sin: tables [positions, R / 2] of float32, bfloat16 or float16, R ≤ D: the first R elements of each
        row are rotated by its position before all else, in float32: x1·cos − x2·sin and x2·cos + x1·sin. For keys; q
        is given rotated.
      rope_positions: the position of each row in these tables, [B, N], or with slots [total]; None for that in the
        cache, positions[b] + n.
      rope_interleaved: x1, x2 are elements 2c and 2c + 1 (GPT-J), rather than c and c + R / 2 (GPT-NeoX, Llama).
      target: as in `sdpa`. On a GPU positions and block table are not tested; rows whose place is not in the cache are
        not written.

    Returns:
      The cache itself.

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`; nothing is written.
    """
    scales = {"scale": scale, "scale_cache": scale_cache}
    rope = {"rope_positions": rope_positions, "rope_cos": rope_cos, "rope_sin": rope_sin}
    turn = rope | {"rope_interleaved": rope_interleaved}
    if slots is not None:
        if positions is not None or block_table is not None:
            raise ValueError("expected slots without positions and block_table, found both; leave one out")
        layout = page_layout or "nhd"
        if _cuda.is_target(target):  # tokens of their own sequences, whose tables have one page
            page = _page_of(cache, new, layout)
            as_i32 = lambda x: x.int() if _tensor.is_torch(x) else x.astype("int32")  # noqa: E731
            where = {"positions": as_i32(slots % page), "block_table": as_i32(slots // page)[:, None]}
            rows = new[: slots.shape[0], :, None]  # the page of slot -1 is -1, which no cache has
            turn |= {} if rope_positions is None else {"rope_positions": rope_positions[: slots.shape[0], None]}
            return kv_append(cache, rows, **where, page_layout=layout, target=target, **scales, **turn)
        old, rows = _tensor.as_array("cache", cache), _tensor.as_array("new", new)
        kernel, inputs, _ = by_slots(old, rows, slots, layout, target, scale, scale_cache, turn)
        return _written(kernel, inputs, cache, scale_cache)
    if positions is None:
        raise TypeError("expected positions, or slots for packed tokens, found neither")
    named = {"new": new, "positions": positions, "block_table": block_table}
    named |= {name: x if _cuda.is_target(target) else None for name, x in ({"scale": scale} | rope).items()}
    named["cache"] = cache
    named, tensors = _cuda.split(target, named)
    positions, block_table = named["positions"], named["block_table"]
    old, rows = _tensor.as_array("cache", named["cache"]), _tensor.as_array("new", named["new"])
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
    if tensors:
        scales["scale"], turn = named["scale"], turn | {name: named[name] for name in rope}
    kind, factors = _scales.of(old, rows, target, **scales)
    rotation, tables = _rope.of(rows, where, target, turn)
    is_view = _device.is_view if tensors else _tensor.is_view
    views = {"new": new, "cache": cache} if tensors else {"new": rows, "cache": old}
    views |= _others(scale_cache, rope if tensors else dict(zip(rope, tables, strict=False)))
    strided = [name for name, x in views.items() if is_view(x)]
    elements, pages = _scales.elements(old.dtype, rows.dtype), None if table is None else table.shape
    text = _append_text.kv_append(old.shape, rows.shape, elements, pages, page_layout, strided, kind, rotation)
    inputs = [new, _call.as_i32(where)] if table is None else [new, _call.as_i32(where), _call.as_i32(table)]
    inputs = tensors[:-1] if tensors else [*inputs, *factors, *tables]
    return _written(_running.compiled(text, target), inputs, cache, scale_cache)


def _written(kernel: _kernel.Kernel, inputs: list[Any], cache: Any, scale_cache: Any) -> Any:
    """The cache, after the kernel has written it and the scales of its rows."""
    kernel(*inputs, out=cache if scale_cache is None else (cache, scale_cache[..., None]))
    return cache


def _others(scale_cache: Any, rope: dict[str, Any]) -> dict[str, Any]:
    """What else may be a view: the scales that are written, and the tables that rows are rotated by."""
    found = {name: x for name, x in rope.items() if name != "rope_positions" and x is not None}
    return found if scale_cache is None else found | {"scale_cache": _tensor.as_array("", scale_cache)[..., None]}


def _page_of(cache: Any, new: Any, page_layout: str) -> int:
    """How many rows a page has of a cache that tokens go to."""
    if len(cache.shape) != 4 or len(new.shape) != 3:
        raise ValueError(
            f"expected a paged cache of rank 4 and new of rank 3 (tokens, heads, head size) beside slots, found shapes "
            f"{tuple(cache.shape)} and {tuple(new.shape)}"
        )
    return int(cache.shape[1 if _pages.page_layout(page_layout) == "nhd" else 2])


def by_slots(
    old: Array,
    rows: Array,
    slots: Any,
    page_layout: str,
    target: str,
    scale: Any = None,
    scale_cache: Any = None,
    rope: dict[str, Any] | None = None,
) -> tuple[_kernel.Kernel, list[Any], int]:
    """The kernel that appends these tokens, each as a sequence of one row, what it takes, and the rows of a page.

    Raises:
      TypeError, ValueError: slots or scales are wrong, or tokens and cache do not fit.
    """
    page = _page_of(old, rows, page_layout)
    total, slots = rows.shape[0], _pages.slots(slots, rows.shape[0], old.shape[0] * page)
    is_kept = slots != _pages.NO_SLOT
    if slots.size < total or not is_kept.all():
        kept = slice(int(is_kept.sum())) if is_kept[: is_kept.sum()].all() else np.flatnonzero(is_kept)
        rows, slots = rows[kept], slots[kept]  # views where padding stands at the end
        places = None if rope is None else rope["rope_positions"]
        if places is not None and np.shape(places) == (total,):
            rope = rope | {"rope_positions": _tensor.as_array("rope_positions", places)[kept]}
    heads, columns = rows.shape[1:]
    wanted = (old.shape[0], *((page, heads) if page_layout == "nhd" else (heads, page)), columns)
    if old.shape != wanted:
        raise ValueError(f"expected a cache of shape {wanted} for new rows of shape {rows.shape}, found {old.shape}")
    kind, factors = _scales.of(old, rows[:, :, None], target, scale, scale_cache)
    rotation, tables = (None, []) if rope is None else _rope.of(rows[:, :, None], None, target, rope)
    given = {"cache": old, "new": rows} | _others(scale_cache, dict(zip(_rope.ARRAYS, tables, strict=False)))
    views = tuple([name for name, x in given.items() if _tensor.is_view(x)])
    key = (target, _scales.elements(old.dtype, rows.dtype), old.shape[1:], heads, page_layout, views, kind, rotation)
    kernel = plans.get(key) or plans.keep(key, _append_kernel(*key))
    table = (slots // page).astype(np.int32)[:, None]
    return kernel, [rows[:, :, None], (slots % page).astype(np.int32), table, *factors, *tables], page


def _append_kernel(
    target: str,
    elements: tuple[str, str],
    page: tuple[int, ...],
    heads: int,
    page_layout: str,
    strided: tuple[str, ...],
    scales: str | None,
    rope: _append_text.Rope | None,
) -> _kernel.Kernel:
    """The kernel that appends any number of tokens to a cache of any number of pages of this shape."""
    new, table = (_problem.DYNAMIC, heads, 1, page[-1]), (_problem.DYNAMIC, 1)
    text = _append_text.kv_append((_problem.DYNAMIC, *page), new, elements, table, page_layout, strided, scales, rope)
    return _running.compiled(text, target)
