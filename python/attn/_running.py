"""Runs a call of the package by the kernel that is remembered for its forms, or by one that is made for all it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from attn import _call, _compile, _cuda, _into, _kernel, _tensor
from attn._cache import KernelCache, plans

kernels = KernelCache()

RETURNED = ("return_lse", "return_weights", "return_max", "return_log_sum", "return_key_sums")
# What is an argument of the kernel or a part of its code, where it is there: nothing is remembered by it.
GIVEN = frozenset({*_call.ARRAYS, *_call.PLACES, "score_mod", "mask_mod", "dropout"}) - {"causal", "align"}


class Kind(NamedTuple):
    """A function of the package.

    Attributes:
      operands: the names of what each call has.
      call: the call of these operands for a target, with these options.
      forms: what the kernel takes of operands for a target, of any sizes or not; shapes and types of those that it
        takes first, and whether they are views; and all else that the problem depends on. None for what is prepared
        each time.
      of_forms: the call of arrays without values, for a target, all else, and with options.
    """

    operands: tuple[str, ...]
    call: Callable[..., _call.Call]
    forms: Callable[..., tuple[list[Any], tuple[Any, ...], tuple[Any, ...]] | None]
    of_forms: Callable[..., _call.Call]


def run(kind: Kind, given: dict[str, Any]) -> Any:
    """What a function of this kind returns that was called with these arguments."""
    given |= given.pop("words")
    operands = {name: given.pop(name) for name in kind.operands}
    into, target, dynamic = given.pop("into"), given.pop("target"), given.pop("dynamic")
    returned = {name: given.pop(name) for name in RETURNED if name in given}
    returned, state = _into.of(into, returned, given["sink"], target)
    given |= returned
    constants = _constants(given)
    if constants is not None:
        try:
            found = kind.forms(target, dynamic, **operands)
            if found is not None:
                inputs, types, others = found
                key = (kind.operands, target, types, others, constants, type(dynamic), dynamic)
                kernel = plans.get(key) or plans.keep(key, _made(kind, *key[1:5], dynamic))
                return _into.result(into, kernel.run(inputs, operands["q"], state))
        except (TypeError, ValueError, IndexError):
            pass  # a constant is a list, which nothing can be remembered by; or an error, found again
    kernel, inputs = prepared(kind.call, target=target, dynamic=dynamic, **operands, **given)
    return _into.result(into, kernel.run(inputs, operands["q"], state))


def prepared(
    make: Callable[..., _call.Call],
    *operands: Any,
    target: str = "host",
    score_mod: Any = None,
    mask_mod: Any = None,
    dynamic: bool | None = False,
    **options: Any,
) -> tuple[_kernel.Kernel, list[Any]]:
    """The kernel of a call that is made of these operands and options, and what it takes."""
    call = make(*operands, target=target, **options)
    source, traced = call.traced(score_mod, mask_mod, dynamic=dynamic)
    return compiled(source, target), [*call.inputs, *traced.arrays]


def _constants(given: dict[str, Any]) -> tuple[tuple[str, type, Any], ...] | None:
    """Options as a key: of one type and value, since True is no number, though it has the hash of 1.

    None where one is an argument of the kernel: a tuple or a tensor of offsets may have a hash, too.
    """
    found = []
    for name, x in given.items():
        if name not in GIVEN:
            found.append((name, type(x), x))
        elif x is not None:
            return None
    if _call.offsets(given["causal"], given["align"]) or hasattr(given["scale"], "__dlpack__"):
        return None
    return tuple(found)


def _made(
    kind: Kind,
    target: str,
    types: tuple[Any, ...],
    others: tuple[Any, ...],
    constants: tuple[tuple[str, type, Any], ...],
    dynamic: bool | None,
) -> _kernel.Kernel:
    """The kernel of calls without functions or arrays but those of these types and shapes."""
    arrays = [_tensor.without_values(shape, dtype) for shape, dtype, _ in types]
    call = kind.of_forms(arrays, target, *others, **{name: value for name, _, value in constants})
    problem = dataclasses.replace(call.problem, strided=any(is_view for _, _, is_view in types))
    call = call._replace(problem=problem, inputs=[])
    return compiled(call.traced(None, None, dynamic=dynamic)[0], target)


def forms(target: str, given: dict[str, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """What a kernel takes of tensors, and their shapes, types, and whether they are views."""
    if _cuda.is_target(target):
        device = _cuda.device_of(given)
        return list(given.values()), tuple([(*device.form(name, x), device.is_view(x)) for name, x in given.items()])
    arrays = [_tensor.as_array(name, x) for name, x in given.items()]
    return arrays, tuple([(x.shape, x.dtype, _tensor.is_view(x)) for x in arrays])


def compiled(source: str, target: str, name: str | None = None) -> _kernel.Kernel:
    """The kernel of a problem or an IR file, that of this name or the first, from the cache."""
    return kernels.get((source, target, name), lambda: _compile.compile(source, target, name=name))
