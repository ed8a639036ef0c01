"""Linear attention as a custom call of XLA, as JAX differentiates and batches it: `attn.jax.linear_attention`.

The kernel updates the states in its argument: XLA gives the operand's memory to the result, or copies it where the
operand is still needed.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attn.call import _checks, _linear, _linear_checks
from attn.xla import _xla
from attn.xla._xla_operator import _each

INTEGERS = ("cu_seqlens", "slots")
SECOND_ORDER = (
    "expected a gradient of first order of attn.jax.linear_attention, found one of second order: its backward has no "
    "gradient of its own; write the recurrence by jax.numpy where such gradients are needed"
)


class Call(NamedTuple):
    """All of a call but its arrays, which are those of `names`; `words` are before, scale, normalize and layout."""

    names: tuple[str, ...]
    words: tuple[Any, ...]
    grad: tuple[str, ...] = ()


def linear_attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    decay: jax.Array | None = None,
    beta: jax.Array | None = None,
    erase: jax.Array | None = None,
    write: jax.Array | None = None,
    before: bool = False,
    scale: float | None = None,
    normalize: float | bool | None = None,
    state: jax.Array | None = None,
    cu_seqlens: jax.Array | None = None,
    slots: jax.Array | None = None,
    layout: str = "bhsd",
    return_state: bool = False,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """`attn.linear_attention` on arrays of JAX on the CPU, with gradients; inside of jax.jit, jax.grad and jax.vmap.

    Args:
      q, k, v, decay, beta, erase, write, before, scale, normalize, layout: as in `attn.linear_attention`; arrays have
        gradients.
      state: as in `attn.linear_attention`, with a gradient; it stays as it is. Where nothing else needs it, as behind
        `donate_argnums`, its memory is that of the new one.
      cu_seqlens, slots: integers, as in `attn.linear_attention`; the kernel refuses others when it runs.
      return_state: return the state too, also where none is given.

    Returns:
      out (B, Hv, T, Dv), packed (T, Hv, Dv); or (out, state) where a state is given or asked for.

    Raises:
      TypeError, ValueError, CompileError: as `attn.linear_attention`.
      NotImplementedError: a gradient of second order; or the program is compiled for a GPU or a TPU, or for jax.export.
    """
    _xla.register()
    given = {"q": q, "k": k, "v": v, "decay": decay, "beta": beta, "erase": erase, "write": write, "state": state}
    arrays = {name: jnp.asarray(x) for name, x in given.items() if x is not None}
    integers = {"cu_seqlens": cu_seqlens, "slots": slots}
    arrays |= {name: jnp.asarray(x).astype(jnp.int32) for name, x in integers.items() if x is not None}
    scale = None if scale is None else _checks.scale(scale, 1)
    call = Call(tuple(arrays), (before, scale, _linear_checks.normalize(normalize), layout))
    made, _ = _compile(call, _types(tuple(arrays.values())))
    for name in ("decay", "beta"):
        if name in arrays:
            arrays[name] = arrays[name].astype(made.accumulation)
    if state is None:
        arrays["state"] = jnp.zeros(made.sizes.state, made.accumulation)
    elif arrays["state"].dtype != made.accumulation:
        raise TypeError(f"expected state in {made.accumulation}, found {arrays['state'].dtype}")
    operands = _xla.varying(tuple(arrays.values()))
    function = jitted if _xla.varies_over(operands[0]) else differentiable
    out, last = function(call._replace(names=tuple(arrays)), operands)
    return (out, last) if state is not None or _checks.flag("return_state", return_state) else out


def _types(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((x.shape, np.dtype(x.dtype)) for x in arrays)


@functools.cache
def _compile(call: Call, types: tuple[Any, ...]) -> tuple[_linear._Made, str]:
    """The kernel of a call, which is kept for ever, and the name that the handler has it by."""
    named = dict(zip(call.names, types, strict=False))
    sums, slots = (named.pop(name, None) for name in INTEGERS)
    arrays = {
        name: np.broadcast_to(np.zeros((), named[name][1]), named[name][0])
        for name in _linear_checks.NAMES
        if name in named
    }
    before, scale, normalize, layout = call.words
    sequences = None if sums is None else _length("cu_seqlens", sums) - 1
    is_pool = slots is not None
    made = _linear._Made.of(arrays, "host", before, scale, normalize, sequences, is_pool, layout, call.grad)
    if is_pool and _length("slots", slots) != made.sizes.b:
        raise ValueError(f"expected slots of shape ({made.sizes.b},), found {slots[0]}")
    return made, _xla.registered(made.kernel, repr((call, types)))


def _length(name: str, of: Any) -> int:
    if len(of[0]) != 1 or of[0][0] < 1:
        raise ValueError(f"expected {name} of one dimension, not empty, found shape {of[0]}")
    return int(of[0][0])


def _run(call: Call, *arrays: Any) -> Any:
    """out and the last state; or the gradients, where cotangents of both stand behind the arrays."""
    made, name = _compile(call, _types(arrays))
    named = dict(zip((*call.names, "dout", "dstate"), arrays, strict=False))
    state, dstate = named["state"], named.get("dstate")
    if 0 in made.out or 0 in named["k"].shape:
        zeros = {x: jnp.zeros_like(y) for x, y in named.items()} | {"state": dstate}
        return tuple(zeros[x] for x in call.grad) if call.grad else (jnp.zeros(made.out, named["q"].dtype), state)
    sums, places = (named.get(x) for x in INTEGERS)
    if sums is not None:  # as many sequences as the kernel has
        more = (0, _linear._rounded(made.sizes.b) - made.sizes.b)
        places = jnp.arange(made.sizes.b, dtype=jnp.int32) if places is None else places
        sums, places = jnp.pad(sums, more, "edge"), jnp.pad(places, more, constant_values=_linear_checks.NO_SLOT)
    rows = [named[x] for x in _linear_checks.NAMES if x in named and x != "state"]
    inputs = (*rows, *[x for x in (sums, places) if x is not None])
    if not call.grad:
        return _xla.bind(made.kernel, name, (*inputs, state), "state")
    found = _xla.bind(made.kernel, name, (*inputs, state, named["dout"], dstate), "dstate")
    results = dict(zip([x["name"] for x in made.kernel.outputs], found, strict=True))
    return tuple(results[f"d{x}"] for x in call.grad)


# The gradient: one custom_vjp, whose backward is a custom call as the forward is.


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def differentiable(call: Call, arrays: tuple[Any, ...]) -> Any:
    """out and the last state, with gradients of first order."""
    return _operator(call)(*arrays)


def _forward(call: Call, arrays: tuple[Any, ...]) -> Any:
    values = tuple(x.value for x in arrays)
    wanted = {
        name: () for name, x in zip(call.names, arrays, strict=True) if name in _linear_checks.NAMES and x.perturbed
    }
    results = differentiable(call, values)  # another order of gradient comes to its own error
    return results, (values, results[0], wanted)


def _backward(call: Call, saved: Any, cotangents: Any) -> Any:
    values, out, wanted = saved
    state = values[call.names.index("state")]
    dout, dstate = (
        jnp.zeros_like(like) if isinstance(x, jax.custom_derivatives.SymbolicZero) else x
        for x, like in zip(cotangents, (out, state), strict=True)
    )
    names = tuple(name for name in call.names if name in wanted)
    found = first_order(call._replace(grad=names), (*values, dout, dstate)) if names else ()
    grads = dict(zip(names, found, strict=True))
    return (tuple(grads.get(name) for name in call.names),)


differentiable.defvjp(_forward, _backward, symbolic_zeros=True)


jitted = jax.jit(differentiable, static_argnums=0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def first_order(call: Call, arrays: tuple[Any, ...]) -> Any:
    """The gradients of a call, which have none."""
    return _operator(call)(*arrays)


def _refuse(call: Call, *_: Any) -> Any:
    raise NotImplementedError(SECOND_ORDER)


first_order.defvjp(lambda call, arrays: (first_order(call, arrays), None), _refuse)


@functools.cache
def _operator(call: Call) -> Any:
    """The function of arrays that a call is: a custom call, of which vmap puts its dimension into the batch."""
    operator = jax.custom_batching.custom_vmap(jax.jit(functools.partial(_run, call)))

    def rule(size: int, is_batched: list[bool], *arrays: Any) -> Any:
        if any(x in call.names for x in INTEGERS):
            results = _each(operator, is_batched, arrays)
        else:
            whole = [
                x if has_dim else jnp.broadcast_to(x, (size, *x.shape))
                for x, has_dim in zip(arrays, is_batched, strict=True)
            ]
            folded = operator(*[x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]) for x in whole])
            results = tuple(x.reshape(size, x.shape[0] // size, *x.shape[1:]) for x in folded)
        return results, tuple(True for _ in results)

    operator.def_vmap(rule)
    return operator
