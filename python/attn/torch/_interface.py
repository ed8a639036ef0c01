"""Which models of transformers take an attention implementation: those whose modules ask the interface for it.

Others compute attention by formulas of their own, whatever is chosen: with masks that are made for another
implementation they would compute something else, and say nothing. So they are refused by name: when a model is made
or its implementation is set, from the code of its modules. PyTorch's MultiheadAttention, as in pooling heads, takes
masks of its own alone: beside modules that ask the interface it is right, and a warning names it. But where a model
does not take "sdpa", whose masks are attn's, that is not so.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

import torch

from attn.torch import _continuous, _linear_layers
from attn.trace import _capture

# What a module's code names: where it asks for an implementation, or multiplies and normalises by itself.
INTERFACE = frozenset({"get_interface", "ALL_ATTENTION_FUNCTIONS"})
NORMALISATIONS = frozenset({"softmax", "Softmax", "logsumexp"})
PRODUCTS = frozenset({"matmul", "bmm", "baddbmm", "einsum", "mm", "@"})
OPERATORS = frozenset({"scaled_dot_product_attention", "flex_attention", "flash_attn_func", "_flash_attention_forward"})
# A softmax of products is attention in a module of such a name; routers, poolers and losses have one, too.
ATTENTIONS = ("attention", "attn", "mha")
# Packages whose functions are not a model's own: what they name says nothing about it.
FOREIGN = ("torch.", "transformers.modeling_", "transformers.masking_utils", "transformers.integrations")
FOREIGN += ("transformers.utils", "transformers.generation", "transformers.cache_utils", "builtins.")
MAX_NAMES = 3  # of a message
MAX_FRAMES = 8  # from a mask to the model that makes it


_checked: WeakSet[Any] = WeakSet()  # models whose modules have been looked at when they made a mask
_warned: WeakSet[torch.nn.Module] = WeakSet()  # modules that a warning has named


def guard(name: str) -> None:
    """From now on models refuse this attention implementation where their modules do not ask for it."""
    from transformers import PreTrainedModel

    guarded: set[str] | None = vars(PreTrainedModel).get("_attn_guarded")
    if guarded is not None:
        guarded.add(name)
        return
    PreTrainedModel._attn_guarded = {name}
    _continuous.guard(PreTrainedModel._attn_guarded)
    _wrap(PreTrainedModel, "_check_and_adjust_attn_implementation", _choose)
    _wrap(PreTrainedModel, "post_init", _end)
    _wrap(PreTrainedModel, "set_attn_implementation", _set)


def check_caller() -> None:
    """For the model that makes a mask: who sets `config._attn_implementation` asks nobody.

    Raises:
      ValueError: the model does not take the implementation.
    """
    from transformers import PreTrainedModel

    frame = sys._getframe(1)
    for _ in range(MAX_FRAMES):
        if frame.f_back is None:
            return
        frame = frame.f_back
        model = frame.f_locals.get("self")
        if isinstance(model, PreTrainedModel):
            if model not in _checked:
                _check_modules(model)
                _checked.add(model)
            return


def _wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    method = getattr(owner, name)
    setattr(owner, name, functools.wraps(method)(lambda *given, **named: around(method, *given, **named)))


def _choose(method: Any, model: Any, attn_implementation: Any = None, *given: Any, **named: Any) -> Any:
    """Before the modules are made, which fails without a reason where a table of classes has no such entry."""
    if attn_implementation in model._attn_guarded:
        found: dict[type, bool] = {}
        _collect(type(model), False, found)
        own = [kind for kind in found if computes_attention(kind)]
        asks = any(_names(kind) & INTERFACE for kind in found)
        if own and (not asks or any(found[kind] for kind in own)):
            raise _refusal(model, own, attn_implementation)
    return method(model, attn_implementation, *given, **named)


def _end(method: Any, model: Any, *given: Any, **named: Any) -> Any:
    """When the modules are made."""
    result = method(model, *given, **named)
    _check_modules(model)
    return result


def _set(method: Any, model: Any, attn_implementation: Any, *given: Any, **named: Any) -> Any:
    """Sets the implementation of a model or, by a dictionary, of its parts; refused, all are as they were."""
    if isinstance(attn_implementation, str):
        # Where a part cannot have it, transformers would leave it as it is, and log a line.
        _check_modules(model, attn_implementation)
    configs = [x.config for x in model.modules() if hasattr(getattr(x, "config", None), "_attn_implementation")]
    before = [(config, config._attn_implementation) for config in configs]
    result = method(model, attn_implementation, *given, **named)
    try:
        _check_modules(model)
    except ValueError:
        for config, implementation in before:
            config._attn_implementation_internal = implementation
        raise
    return result


def _check_modules(model: Any, chosen: str | None = None) -> None:
    """Each module that computes attention asks for the implementation of its part, or `chosen`, or is of PyTorch."""
    found = [(x, chosen or implementation) for x, implementation in _parts(model, None)]
    found = [(x, implementation) for x, implementation in found if implementation in model._attn_guarded]
    own = {type(x): implementation for x, implementation in found if computes_attention(type(x))}
    is_beside = model._supports_sdpa and any(_names(type(x)) & INTERFACE for x, _ in found)
    if own and not (is_beside and all(issubclass(x, torch.nn.MultiheadAttention) for x in own)):
        raise _refusal(model, list(own), next(iter(own.values())))
    new = {x for x, _ in found if type(x) in own} - set(_warned)
    if new:
        _warned.update(new)
        listed = _listed([name for name, x in model.named_modules() if x in new])
        warnings.warn(
            f"attn.torch: attention of {type(model).__name__} is by attn but in {listed}, which PyTorch's "
            "MultiheadAttention computes",
            RuntimeWarning,
            stacklevel=2,
        )
    _linear_layers.install(model, model._attn_guarded, _names)


def _parts(module: torch.nn.Module, implementation: str | None) -> Iterator[tuple[torch.nn.Module, str | None]]:
    """The modules, each with the implementation of the nearest configuration."""
    config = getattr(module, "config", None)
    own = getattr(config, "_attn_implementation", None)
    chosen = implementation if own is None else own
    yield module, chosen
    for child in module.children():
        yield from _parts(child, chosen)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


def _refusal(model: Any, own: list[type], implementation: str) -> ValueError:
    names = sorted({kind.__name__ for kind in own})
    parts = getattr(model.config, "sub_configs", None)
    advice = 'attn_implementation="eager"'
    if parts:
        each = ", ".join(f'"{part}": …' for part in sorted(parts))
        advice += f", or an implementation of each part, attn_implementation={{{each}}}"
    return ValueError(
        f'expected a model whose attention asks the interface of transformers for attn_implementation="{implementation}'
        f'", found {type(model).__name__}, whose {_listed(names)} would compute it without attn; write {advice}'
    )


@functools.cache
def computes_attention(kind: type) -> bool:
    """Whether modules of this class compute attention by themselves, and never ask the interface."""
    from transformers import PreTrainedModel

    if issubclass(kind, torch.nn.MultiheadAttention):
        return True
    if issubclass(kind, PreTrainedModel):  # losses and what follows a forward pass
        return False
    names = _names(kind)
    if names & INTERFACE:
        return False
    is_named = any(x in kind.__name__.lower() for x in ATTENTIONS)
    return bool(names & OPERATORS) or (is_named and bool(names & NORMALISATIONS) and bool(names & PRODUCTS))


@functools.cache
def _names(kind: type) -> frozenset[str]:
    """What the methods of a class name, and the functions of its package that they call."""
    found: set[str] = set()
    done: set[types.CodeType] = set()
    for function in _methods(kind):
        _read(function.__code__, function.__globals__, found, done)
    return frozenset(found)


def _methods(kind: type) -> Iterator[types.FunctionType]:
    """Those that objects of a class have, and every __init__; not those of PyTorch and of transformers itself."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if _is_foreign(base):
            continue
        for name, value in vars(base).items():
            if name in seen and name != "__init__":
                continue
            seen.add(name)
            function = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else None
            if isinstance(function, types.FunctionType):
                yield function


def _read(code: types.CodeType, scope: dict[str, Any], found: set[str], done: set[types.CodeType]) -> None:
    if code in done:
        return
    done.add(code)
    found.update(code.co_names)
    if any(x.opname == "BINARY_OP" and x.argrepr.startswith("@") for x in dis.get_instructions(code)):
        found.add("@")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _read(constant, scope, found, done)
    for name in code.co_names:
        value = scope.get(name)
        function = inspect.unwrap(value) if isinstance(value, types.FunctionType) else None
        if function is not None and not _is_foreign(function):
            _read(function.__code__, function.__globals__, found, done)


def _collect(kind: type, is_of_table: bool, found: dict[type, bool]) -> None:
    """The module classes that the constructors of a class name, and whether they stand in a table of classes."""
    if kind in found and (found[kind] or not is_of_table):
        return
    found[kind] = is_of_table
    for base in kind.__mro__:
        make = vars(base).get("__init__")
        make = inspect.unwrap(make) if make is not None else None
        if _is_foreign(base) or not isinstance(make, types.FunctionType):
            continue
        for name in _capture.names_of(make.__code__):
            value = make.__globals__.get(name)
            if _is_module(value):
                _collect(value, False, found)
            elif isinstance(value, dict) and any(map(_is_module, value.values())):
                for entry in filter(_is_module, value.values()):
                    _collect(entry, True, found)


def _is_module(value: Any) -> bool:
    is_class = isinstance(value, type) and issubclass(value, torch.nn.Module)
    return is_class and not _is_foreign(value)


def _is_foreign(value: Any) -> bool:
    return f"{value.__module__}.".startswith(FOREIGN)
