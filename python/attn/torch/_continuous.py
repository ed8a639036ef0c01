"""transformers' continuous batching by attn: its paged cache read in place, where it would copy all keys each step.

transformers has a list of the implementations that its `ContinuousBatchingManager` takes, and gives a block table to
FlashAttention alone. So four of its functions are wrapped, for models whose implementation is attn's. What a layer's
attention needs beside q, k and v is a `Step`, which the cache's update hands it among its keywords.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, NamedTuple

import torch

from attn.torch._serving import paged_sdpa
from attn.torch._varlen import varlen_sdpa

Tensor = torch.Tensor
KEYWORD = "attn_step"  # of a layer's attention


class Step(NamedTuple):
    """A layer's part of a step.

    Attributes:
      sums: prefix sums of the queries.
      key_sums: of the keys, new ones and those of the cache.
      window: how many keys a query sees; None for all before it.
      pages: caches of keys and values, block table and lengths; None where keys and values are packed.
    """

    sums: Tensor
    key_sums: Tensor
    window: int | None
    pages: tuple[Tensor, Tensor, Tensor, Tensor] | None


def guard(names: set[str]) -> None:
    """From now on continuous batching takes these implementations, a set that may grow."""
    try:
        from transformers.generation.continuous_batching import cache, continuous_api, initialization
    except ImportError:  # a version without it, or of another form, which refuses them by name
        return

    around = [
        (getattr(continuous_api, "ContinuousBatchingManager", None), "switch_to_cb_friendly_attn", _choose),
        (initialization, "ensure_decode_fast_path_is_available", _allow_tables),
        (getattr(cache, "PagedAttentionMemoryHandler", None), "__init__", _without_masks),
        (getattr(cache, "PagedAttentionCache", None), "update", torch.compiler.disable(_update)),
    ]
    if not all(hasattr(owner, name) for owner, name, _ in around):
        return
    if "kwargs" not in inspect.signature(around[-1][0].update).parameters:  # which a `Step` is put in
        return
    for owner, name, wrapper in around:
        run = functools.partial(wrapper, getattr(owner, name), lambda config: config._attn_implementation in names)
        # Not of `wraps`: what PyTorch's compiler keeps at a function is the method's own.
        setattr(owner, name, lambda *given, run=run, **named: run(*given, **named))


def attend(query: Tensor, key: Tensor, value: Tensor, step: Step, **options: Any) -> Tensor:
    """The attention of a step: q (1, Hq, rows, D); returns (1, rows, Hq, Dv).

    Args:
      query, key, value: of all sequences; key and value are not read where there are pages.
      step: of the layer.
      options: scale, sink and words.
    """
    rows = query.shape[2]
    used = int(step.sums[-1])  # rows beyond are padding of transformers
    q = query[0, :, :used].transpose(0, 1)
    options = {name: x for name, x in options.items() if x is not None} | {"causal": "bottom_right", "dynamic": True}
    if step.window is not None:
        options["window"] = (step.window - 1, None)
    if step.pages is not None:
        out = paged_sdpa(q, *step.pages, cu_seqlens_q=step.sums, **options)
    else:
        total = int(step.key_sums[-1])
        k, v = (x[0, :, :total].transpose(0, 1) for x in (key, value))
        out = varlen_sdpa(q, k, v, step.sums, step.key_sums, **options)
    assert isinstance(out, Tensor)
    return torch.nn.functional.pad(out, (0, 0, 0, 0, 0, rows - used))[None] if rows > used else out[None]


def _choose(method: Any, is_ours: Any, manager: Any, model: Any, *given: Any, **named: Any) -> None:
    """Keeps attn where it is chosen, also where FlashAttention is installed."""
    if not is_ours(model.config):
        method(manager, model, *given, **named)


def _allow_tables(method: Any, is_ours: Any, config: Any, *given: Any, **named: Any) -> None:
    """Steps of single tokens alone get block tables, and no index of each key, if all layers see all keys."""
    from transformers.generation.continuous_batching.cache import ATTN_TYPE_TO_ALLOCATOR, group_layers_by_attn_type

    kinds = [ATTN_TYPE_TO_ALLOCATOR[kind] for kind in group_layers_by_attn_type(config)] if is_ours(config) else []
    if not kinds or not all(kind.supports_block_table for kind in kinds):
        method(config, *given, **named)


def _without_masks(method: Any, is_ours: Any, handler: Any, *given: Any, **named: Any) -> None:
    """No memory is kept for masks and repeated heads."""
    method(handler, *given, **named)
    if is_ours(handler.config):
        handler.num_attention_masks = 0
        handler.kv_heads_at_peak = 2 * handler.num_key_value_heads


def _update(
    method: Any, is_ours: Any, cache: Any, key_states: Tensor, value_states: Tensor, layer_idx: int, kwargs: Any
) -> tuple[Tensor, Tensor]:
    """Writes the new keys and values of a layer, and says in kwargs how its attention reads them.

    Windows are in rings of pages: what lies in them is copied, as transformers does, no more than a window a sequence.
    """
    if not is_ours(cache.config):
        return method(cache, key_states, value_states, layer_idx, kwargs)  # type: ignore[no-any-return]
    allocator = cache.layer_to_allocator[layer_idx]
    window = getattr(allocator, "sliding_window", None)
    key_sums, sums = kwargs["cu_seq_lens_k"][allocator.layer_type].to(torch.int32), kwargs["cu_seq_lens_q"]
    read, table = kwargs["read_index"][allocator.index], kwargs.get("block_table")
    if not allocator.supports_block_table or (table is None and not read.numel()):
        kwargs[KEYWORD] = Step(sums, key_sums, window, None)
        return method(cache, key_states, value_states, layer_idx, kwargs)  # type: ignore[no-any-return]
    caches = allocator.get_cache_for_block_table(layer_idx)
    page, lengths = caches[0].shape[1], key_sums.diff()
    if table is None:
        # Which page each first row of a page is in: rows count through all of them.
        starts = torch.arange(-(-int(lengths.max()) // page), device=read.device) * page
        table = (read[(key_sums[:-1, None] + starts).clamp(max=read.numel() - 1)] // page).to(torch.int32)
        slots = kwargs["write_index"][allocator.index]
    else:
        # Sequences that are padding are the last ones, and have no keys.
        table = table[allocator.index, : int((lengths > 0).sum())].contiguous()
        lengths, sums = lengths[: len(table)], sums[: len(table) + 1]
        last = lengths[:, None].long() - 1
        slots = (table.gather(1, last // page) * page + last % page)[:, 0].long()
    for pages, new in zip(caches, (key_states, value_states), strict=True):
        pages.flatten(0, 1).index_copy_(0, slots, new[0, :, : len(slots)].transpose(0, 1))
    kwargs[KEYWORD] = Step(sums, key_sums, window, (*caches, table, lengths))
    return key_states, value_states
