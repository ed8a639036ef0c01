"""New rows of a cache by plans, as `_steps` has attention of a step."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.graph import increment_version

from attn.call import _append, _append_rope, _pages
from attn.kernel import _plan, _tensor
from attn.kernel._cache import plans
from attn.torch import _eager, _steps

Tensor = torch.Tensor

FEW_TOKENS = 16  # whose slots are looked at faster as a list than as an array
SIZES = frozenset({"b"})  # that each call has of its own, as manifests call it


class _Append(NamedTuple):
    """Appending packed tokens to a cache.

    Attributes:
      plan: calls the kernel.
      page: rows of a page.
      limit: rows of the cache.
    """

    plan: _plan.Plan
    page: int
    limit: int


class Conversion(NamedTuple):
    """What an append does to rows before they are written: words of `attn.torch.kv_append`, a scale (Hkv,) of f32."""

    scale: Tensor | None = None
    scale_cache: Tensor | None = None
    rope_cos: Tensor | None = None
    rope_sin: Tensor | None = None
    rope_positions: Tensor | None = None
    rope_interleaved: bool = False

    @property
    def tensors(self) -> tuple[Tensor | None, ...]:
        """Those whose forms a plan is for."""
        return self[:4]


AS_IT_IS = Conversion()


def append(cache: Tensor, new: Tensor, slots: Tensor, page_layout: str, how: Conversion) -> bool:
    """Whether a plan has done what `attn.torch.kv_append` does with slots."""
    if _eager.is_seen():
        return False
    try:
        if not cache.is_cpu:  # on a GPU PyTorch computes pages and rows of slots
            return False
        tokens, heads, size = new.shape
        form = (
            (heads, size, new.dtype, new.is_contiguous() or new.stride()),
            (cache.shape, cache.dtype, cache.is_contiguous() or cache.stride()),
            (slots.dtype, slots.dim(), page_layout),
        )
        tensors = (new, slots, cache)
        if how is not AS_IT_IS:
            form += tuple([x is not None and (x.shape, x.dtype, x.stride()) for x in how.tensors])
            form += (how.rope_positions is not None and how.rope_positions.shape, how.rope_interleaved)
            tensors += tuple([x for x in how[:5] if x is not None])
        # Of inference tensors outside of inference mode PyTorch decides.
        if not _steps.are_plain(tensors) or (cache.is_inference() and not torch.is_inference_mode_enabled()):
            return False
        found = plans[form]  # None where a call converts or copies before the kernel has it
    except KeyError:
        found = _steps.keep_made(form, lambda: _made_append(cache, new, slots, page_layout, how))
    except (AttributeError, RuntimeError, TypeError, ValueError):  # no tensors, or of another rank
        return False
    if found is None:
        return False
    plan, page, limit = found
    places = _places(slots, tokens, page, limit)
    if places is None:
        return False
    rows, pages, count, _memory = places
    sizes = [count, heads, 1, size, count, count, 1]
    read, written, positions = [], [cache], None
    if how is not AS_IT_IS:
        read = [] if how.scale is None else [how.scale.data_ptr()]
        written += [] if how.scale_cache is None else [how.scale_cache]
        if how.rope_cos is not None and how.rope_sin is not None:
            places = how.rope_positions
            if places is not None and places.shape == (tokens,):  # of padding too
                places = places[:count]
            positions = _positions(places, count, how.rope_cos.shape[0])
            if positions is None:
                return False
            read += [positions.ctypes.data, how.rope_cos.data_ptr(), how.rope_sin.data_ptr()]
            sizes += [count, 1]
    if count and not _steps.runs(plan, [new.data_ptr(), rows, pages, *read, *[x.data_ptr() for x in written]], sizes):
        return False
    for x in written:
        if not x.is_inference():
            increment_version(x)
    return True


def _positions(given: Tensor | None, tokens: int, count: int) -> Any:
    """The positions of tokens in tables, i32 (tokens, 1); None where they are wrong."""
    try:
        return _append_rope.positions(given, None, (tokens, 1, 1, 1), count)
    except (TypeError, ValueError):
        return None


def _made_append(cache: Tensor, new: Tensor, slots: Tensor, page_layout: str, how: Conversion) -> _Append | None:
    """The plan.

    Raises:
      TypeError, ValueError, CompileError: the call is refused.
    """
    old, rows = (_tensor.as_array(name, x) for name, x in (("cache", cache), ("new", new)))
    scale, table, *_ = how
    rope = {name: x for name, x in how._asdict().items() if name in _append_rope.KEYWORDS}
    kernel, inputs, page = _append.by_slots(old, rows, slots, page_layout, "host", scale, table, rope)
    written = [old] if table is None else [old, _tensor.as_array("scale_cache", table)[..., None]]
    plan, copied = kernel.plan(inputs, [x["name"] for x in kernel.outputs], SIZES, written)
    return None if copied else _Append(plan, page, old.shape[0] * page)


def _places(slots: Tensor, count: int, page: int, limit: int) -> tuple[int, int, int, Any] | None:
    """Addresses of the row in its page, and of the page, of each slot, their number without padding at the end, and
    their owners; None where slots are wrong, or padding stands before others.
    """
    if count > FEW_TOKENS:
        try:
            found = _pages.slots(slots, count, limit)
        except (TypeError, ValueError):
            return None
        if found.size and found.min() < 0:
            found = found[: 1 + int((found >= 0).nonzero()[0].max(initial=-1))]
            if found.size and found.min() < 0:
                return None
        arrays = [(found % page).astype(np.int32), (found // page).astype(np.int32)]
        return arrays[0].ctypes.data, arrays[1].ctypes.data, found.size, arrays
    numbers = slots.tolist()
    if len(numbers) > count:
        return None
    while numbers and numbers[-1] == _pages.NO_SLOT:
        numbers.pop()
    if not _pages.are_slots(numbers, limit):
        return None
    rows, pages = array("i", [x % page for x in numbers]), array("i", [x // page for x in numbers])
    return rows.buffer_info()[0], pages.buffer_info()[0], len(numbers), (rows, pages)
