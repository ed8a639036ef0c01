"""The operator `attn::kv_append`, and `attn.torch.kv_append` over it. It has no gradient."""

from __future__ import annotations

from typing import Any

import torch

import attn
from attn.torch import _append_steps, _context, _graph, _ops, _out, _place, _record, _serving

Tensor = torch.Tensor

APPEND = "Tensor(a!) cache, Tensor new, Tensor? positions=None, Tensor? block_table=None, Tensor? slots=None, "
APPEND += "str? page_layout=None, Tensor? scale=None, Tensor(b!)? scale_cache=None, "
APPEND += "Tensor? rope_cos=None, Tensor? rope_sin=None, Tensor? rope_positions=None, bool rope_interleaved=False"


def _run_append(
    cache: Tensor,
    new: Tensor,
    positions: Tensor | None = None,
    block_table: Tensor | None = None,
    slots: Tensor | None = None,
    page_layout: str | None = None,
    scale: Tensor | None = None,
    scale_cache: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
    rope_positions: Tensor | None = None,
    rope_interleaved: bool = False,
) -> None:
    _out.check_writable("kv_append", "cache", cache)
    given = {"positions": positions, "block_table": block_table, "slots": slots}
    given |= {"scale": scale, "scale_cache": scale_cache, "rope_cos": rope_cos, "rope_sin": rope_sin}
    given["rope_positions"] = rope_positions
    tensors = {"q": cache, "new": new} | {name: x for name, x in given.items() if x is not None}
    options = _place.options(tensors, {} if page_layout is None else {"page_layout": page_layout})
    attn.kv_append(cache, new, **given, rope_interleaved=rope_interleaved, **options)


_append = torch.library.custom_op(
    "attn::kv_append",
    _run_append,
    mutates_args=("cache", "scale_cache"),
    device_types=_ops.DEVICES,
    schema=f"({APPEND}) -> ()",
)


@_append.register_fake
def _append_shapes(cache: Tensor, *arguments: Any) -> None:
    names = ("new", "positions", "block_table", "slots", "page_layout", "scale", "scale_cache")
    names += ("rope_cos", "rope_sin", "rope_positions")
    named = {name: x for name, x in zip(names, arguments, strict=False) if isinstance(x, Tensor)}
    _place.check({"q": cache, **named})


def _append_by_plan(
    cache: Tensor,
    new: Tensor,
    positions: Tensor | None = None,
    block_table: Tensor | None = None,
    slots: Tensor | None = None,
    page_layout: str | None = None,
    *how: Any,
) -> tuple[()] | None:
    """Nothing, where a plan has appended the rows; otherwise None."""
    if slots is None or not (positions is block_table is None):
        return None
    how = _append_steps.Conversion(*how) if how else _append_steps.AS_IT_IS
    return () if _append_steps.append(cache, new, slots, page_layout or "nhd", how) else None


def _refuse_recorded(cache: Tensor, new: Tensor, *others: Any) -> None:
    """Autograd sees no write: rows would keep the gradients of what they were, and new rows get none.

    Raises:
      TypeError: the cache or new rows require a gradient that is recorded.
      RuntimeError: one has a tangent.
    """
    _serving._refuse_tangents(cache, new)
    if torch.compiler.is_exporting():  # models have parameters; who runs the program says whether gradients are wanted
        return
    for name, x in (("cache", cache), ("new", new)):
        if x.requires_grad and torch.is_grad_enabled():
            raise TypeError(
                f"expected {name} of attn::kv_append to require no gradient, found one that does: rows are written in "
                f"place without one; write {name}.detach(), or for inference call it under torch.no_grad()"
            )


_ops.run_by_plans(_append, _refuse_recorded, _append_by_plan, _run_append)


@_graph.whole
def kv_append(
    cache: Tensor,
    new: Tensor,
    positions: Tensor | None = None,
    *,
    block_table: Tensor | None = None,
    slots: Tensor | None = None,
    page_layout: str | None = None,
    scale: float | Tensor | None = None,
    scale_cache: Tensor | None = None,
    rope_cos: Tensor | None = None,
    rope_sin: Tensor | None = None,
    rope_positions: Tensor | None = None,
    rope_interleaved: bool = False,
) -> Tensor:
    """`attn.kv_append` as an operator of PyTorch: new rows of keys or values in a cache, in place, in its type.

    Args:
      cache, new, positions, block_table, slots, page_layout, scale_cache: as in `attn.kv_append`, as tensors.
      scale: as there: a number, or a tensor of one element or (Hkv,), the k_scale or v_scale of attention.
      rope_cos, rope_sin, rope_positions, rope_interleaved: as there: vLLM's cos_sin_cache is both tables, one beside
        the other, of which halves are views.

    Returns:
      The cache itself.

    Raises:
      TypeError, ValueError: as `attn.kv_append`; or the cache or new rows require a gradient that is recorded.
      RuntimeError: one has a tangent, or the cache is a tensor of inference mode outside of it. Nothing is written.
    """
    is_packed = positions is block_table is None and slots is not None
    if scale is not None:
        scale = _of_heads(scale, new)
    how = _append_steps.AS_IT_IS
    if not (scale is scale_cache is rope_cos is rope_sin is rope_positions is None) or rope_interleaved:
        how = _append_steps.Conversion(scale, scale_cache, rope_cos, rope_sin, rope_positions, rope_interleaved)
    if is_packed and _append_steps.append(cache, new, slots, page_layout or "nhd", how):
        return cache
    tensors = {"cache": cache, "new": new, "positions": positions, "block_table": block_table, "slots": slots}
    _context.check(**tensors, **how._asdict())
    integers = [_record.integers(x, cache.device) for x in (positions, block_table, slots, rope_positions)]
    _append(cache, new, *integers[:3], page_layout, *how[:4], integers[3], rope_interleaved)
    return cache


def _of_heads(scale: Any, new: Tensor) -> Tensor:
    """A scale as kernels take it, (Hkv,), where it is one of all heads."""
    if not isinstance(scale, Tensor):
        return new.new_full((new.shape[1],), scale, dtype=torch.float32)
    scale = scale.reshape(1).expand(new.shape[1]) if scale.numel() == 1 else scale
    return scale.to(torch.float32).contiguous()
