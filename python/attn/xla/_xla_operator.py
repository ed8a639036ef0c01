"""The call of `attn.jax` as JAX differentiates and batches it, around the custom call of XLA."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from attn.xla import _xla_sharding
from attn.xla._xla import Call

# The tensors of a call that have a gradient.
DIFFERENTIABLE = ("q", "k", "v", "bias", "sink", "scale")
UNBATCHED = ("sink", "scale")  # of a vmapped one each entry is a call of its own
SHARED = ("bias", "mask")  # of size 1 in the place of the batch, for all of it
SECOND_ORDER = (
    "expected a gradient of first order of attn.jax.sdpa, found one of second order: its backward has no gradient of "
    "its own; write the attention by jax.numpy where such gradients are needed"
)

# The gradient: one custom_vjp for out, lse and its terms, whose backward is a custom call as the forward is.


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def differentiable(call: Call, arrays: tuple[Any, ...]) -> Any:
    """out, lse and its terms, with gradients of first order."""
    return _operator(call)(*arrays)


def _forward(call: Call, arrays: tuple[Any, ...]) -> Any:
    values = tuple(x.value for x in arrays)
    names = (*call.names, *call.regions.names)
    known = (*DIFFERENTIABLE, *call.regions.differentiable)
    wanted = {name: () for name, x in zip(names, arrays, strict=True) if name in known and x.perturbed}
    results = differentiable(call, values)  # another order of gradient comes to its own error
    return results, (values, results, wanted)


def _backward(call: Call, saved: Any, cotangents: Any) -> Any:
    values, (out, _, row_max, log_sum), wanted = saved
    dout, dlse, *_ = cotangents  # the terms of lse come behind stop_gradient
    has_dlse = not isinstance(dlse, jax.custom_derivatives.SymbolicZero)
    if isinstance(dout, jax.custom_derivatives.SymbolicZero):
        dout = jnp.zeros_like(out)
    # In the order of the arguments, whatever order a dictionary has.
    order = (*call.names, *call.regions.names)
    names = tuple(name for name in order if name in wanted)
    grads: dict[str, Any] = {}
    if names:
        back = call._replace(grad=names, has_dlse=has_dlse)
        found = first_order(back, (*values, out, row_max, log_sum, dout, *([dlse] if has_dlse else [])))
        grads = dict(zip(names, found, strict=True))
    return (tuple(grads.get(name) for name in order),)


differentiable.defvjp(_forward, _backward, symbolic_zeros=True)


jitted = jax.jit(differentiable, static_argnums=0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def first_order(call: Call, arrays: tuple[Any, ...]) -> Any:
    """The results of a call that has no gradient."""
    return _operator(call)(*arrays)


def _refuse(call: Call, *_: Any) -> Any:
    raise NotImplementedError(SECOND_ORDER)


first_order.defvjp(lambda call, arrays: (first_order(call, arrays), None), _refuse)


# The custom call, and vmap: a new dimension goes into the batch, or each of its entries is a call of its own.


@functools.cache
def _operator(call: Call) -> Any:
    """The function of arrays that a call is: a custom call, with a rule for vmap."""
    operator = jax.custom_batching.custom_vmap(jax.jit(functools.partial(_xla_sharding.run, call)))

    def rule(size: int, is_batched: list[bool], *arrays: Any) -> Any:
        folded = _fold(call, size, is_batched, arrays)
        if folded is None:
            results = _each(operator, is_batched, arrays)
        else:
            results = [x.reshape(size, x.shape[0] // size, *x.shape[1:]) for x in operator(*folded)]
            own = dict(zip(call.grad, results, strict=False))
            if "bias" in own:  # it was expanded to the batch
                batch, at = arrays[call.names.index("bias")].shape[is_batched[call.names.index("bias")]], "bias"
                if batch < own[at].shape[1]:
                    results[call.grad.index(at)] = own[at].sum(1, keepdims=True)
        results = tuple(results)
        return results, tuple(True for _ in results)

    operator.def_vmap(rule)
    return operator


def _fold(call: Call, size: int, is_batched: list[bool], arrays: tuple[Any, ...]) -> list[Any] | None:
    """The arrays with the new dimension, which is their first, in their batch; None where that is not the same call."""
    named, batched = call.named(arrays), call.named(tuple(is_batched))
    is_packed = "cu_seqlens_q" in named
    if is_packed or "b" in call.regions.indices or any(batched.get(name) or name in call.grad for name in UNBATCHED):
        return None
    captures = len(call.regions.names)
    is_captured_batched = any(is_batched[len(call.names) : len(call.names) + captures])
    if is_captured_batched or any(name in call.grad for name in call.regions.names):
        return None
    batch = named["q"].shape[1 if batched["q"] else 0]
    result = []
    for n, (x, has_dim) in enumerate(zip(arrays, is_batched, strict=True)):
        name = call.names[n] if n < len(call.names) else None
        is_captured = len(call.names) <= n < len(call.names) + captures
        is_shared = name in SHARED and name not in call.grad and not has_dim and x.shape[0] == 1
        if is_captured or is_shared or name in UNBATCHED:
            result.append(x)
            continue
        entries = x if has_dim else jnp.broadcast_to(x, (size, *x.shape))
        entries = jnp.broadcast_to(entries, (size, batch, *entries.shape[2:]))
        result.append(entries.reshape(size * batch, *entries.shape[2:]))
    return result


def _each(operator: Any, is_batched: list[bool], arrays: tuple[Any, ...]) -> Any:
    def one(entry: list[Any]) -> Any:
        entries = iter(entry)
        return operator(*[next(entries) if has_dim else x for x, has_dim in zip(arrays, is_batched, strict=True)])

    return jax.lax.map(one, [x for x, has_dim in zip(arrays, is_batched, strict=True) if has_dim])
