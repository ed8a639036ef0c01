"""`attn::sdpa` and `attn::sdpa_backward` under vmap and autocast.

vmap adds a dimension to tensors. Folded into the batch it costs nothing; where an argument has no batch, as sinks, or
numbers it, as regions do, each entry is a call of its own.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils import _pytree as pytree

from attn.torch._ops import LEADING, Call, sdpa, sdpa_backward

AUTOCAST = ("cpu", "cuda")
# The tensors that autocast rounds: those that F.scaled_dot_product_attention has.
ROUNDED = ("q", "k", "v", "bias")
_library = torch.library.Library("attn", "FRAGMENT")


def _each(operator: Any, size: int, in_dims: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
    """One call for each entry, their results stacked."""
    flat, spec = pytree.tree_flatten(list(arguments))
    dims = pytree.tree_flatten(list(in_dims), is_leaf=lambda x: x is None)[0]
    if len(dims) != len(flat):  # a list without any dimension has None for all of it
        dims = [d for x, dim in zip(arguments, in_dims, strict=True) for d in _dims(x, dim)]
    calls = []
    for n in range(size):
        chosen = [x if dim is None else x.select(dim, n) for x, dim in zip(flat, dims, strict=True)]
        calls.append(operator(*pytree.tree_unflatten(chosen, spec)))
    stacked = [torch.stack(x) for x in zip(*calls, strict=True)]
    kind = type(calls[0])
    return kind(stacked), kind([0] * len(stacked))


def _dims(argument: Any, dim: Any) -> list[Any]:
    leaves = len(pytree.tree_leaves(argument))
    return list(dim) if isinstance(dim, list | tuple) else [dim] * leaves


def _has_dim(dim: Any) -> bool:
    return any(x is not None for x in dim) if isinstance(dim, list | tuple) else dim is not None


def _folded(x: torch.Tensor, dim: int | None, size: int, batch: int) -> torch.Tensor:
    """A tensor whose first dimension is the batch, or 1 in its place, with the new dimension folded into it."""
    entries = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    entries = entries.expand(size, batch, *entries.shape[2:])
    return entries.reshape(size * batch, *entries.shape[2:])


def _fold(call: Call, dims: Call, size: int, wanted: tuple[str, ...] = ()) -> tuple[Call, int] | None:
    """The call with the new dimension in its batch, and its own batch; None where that is not the same call."""
    alone = ("sink", "seeds", "captures")
    if (
        call.regions
        or call.b_origin is not None
        or "sink" in wanted
        or any(_has_dim(getattr(dims, name)) for name in alone)
    ):
        return None
    batch = call.q.shape[0] if dims.q is None else call.q.movedim(dims.q, 0).shape[1]
    new = {}
    for name in ("q", "k", "v", "bias", "mask", "q_lengths", "kv_lengths", "offsets", "q_origin", "k_origin"):
        x, dim = getattr(call, name), getattr(dims, name)
        is_shared = name in ("bias", "mask") and x is not None and dim is None and x.shape[0] == 1
        if x is not None and not (is_shared and name not in wanted):
            new[name] = _folded(x, dim, size, batch)
    return call._replace(**new), batch


def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any, operator: Any = sdpa) -> Any:
    """The rule of `attn::sdpa`."""
    size = info.batch_size
    folded = _fold(Call.of(arguments), Call.of(in_dims), size)
    if folded is None:
        return _each(operator, size, in_dims, arguments)
    call, batch = folded
    results = tuple(x.unflatten(0, (size, batch)) for x in operator(*call.flat()))
    return results, (0,) * len(results)


def vmap_backward(info: Any, in_dims: tuple[Any, ...], *arguments: Any, operator: Any = sdpa_backward) -> Any:
    """The rule of `attn::sdpa_backward`."""
    size, call = info.batch_size, Call.of(arguments[LEADING:])
    wanted = tuple(arguments[LEADING - 1].split(","))
    folded = _fold(call, Call.of(in_dims[LEADING:]), size, wanted)
    if folded is None:
        return _each(operator, size, in_dims, arguments)
    new, batch = folded
    given = zip(arguments[: LEADING - 1], in_dims, strict=False)
    results = [None if x is None else _folded(x, dim, size, batch) for x, dim in given]
    grads = [x.unflatten(0, (size, batch)) for x in operator(*results, arguments[LEADING - 1], *new.flat())]
    for n, name in enumerate(wanted):
        dim, own = in_dims[LEADING + Call._fields.index(name)], call.input(name)
        own_batch = own.shape[0] if dim is None else own.movedim(dim, 0).shape[1]
        if name == "bias" and own_batch == 1 and batch > 1:  # it was expanded to the batch
            grads[n] = grads[n].sum(1, keepdim=True)
    return grads, [0] * len(grads)


def register_autocast(cls: type[Any], operator: Any) -> None:
    """Has autocast round the tensors of an operator's calls; float64 stays, as in PyTorch's own operators."""

    def rounded(device: str, *arguments: Any) -> Any:
        call, dtype = cls.of(arguments), torch.get_autocast_dtype(device)
        given = {name: getattr(call, name, None) for name in ROUNDED}
        new = {name: x.to(dtype) for name, x in given.items() if x is not None and _is_rounded(x)}
        with torch.autocast(device, enabled=False):
            return operator(*call._replace(**new).flat())

    for device in AUTOCAST:
        _library.impl(operator._name, functools.partial(rounded, device), f"Autocast{device.upper()}")


def _is_rounded(x: torch.Tensor) -> bool:
    return x.is_floating_point() and x.dtype != torch.float64


sdpa.register_vmap(vmap)
sdpa_backward.register_vmap(vmap_backward)
register_autocast(Call, sdpa)
