"""Layers of transformers with linear attention: attn in the place of the functions that they call.

Such a layer calls a function of its own module, as torch_chunk_gated_delta_rule, and has no interface to ask. So these
functions are wrapped, once in each module: called with a flag they are attn's, otherwise what they were. A hook of each
layer adds the flag where the configuration of its part has attn as implementation. Layers hand their keywords on, so
that it arrives, also in graphs of torch.compile. FalconH1's steps do not: there the caller is looked at, but in a graph
they stay what they were.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from attn.torch._linear import linear_attention

Tensor = torch.Tensor

FLAG = "attn_linear"  # the keyword of a layer and of the functions
HOOKED = "_attn_linear_hook"
EPSILON = 1e-6  # of the normalisation of all these models
NO_LIMIT = (-float("inf"), float("inf"))


def install(model: torch.nn.Module, names: set[str], calls: Callable[[type], frozenset[str]]) -> None:
    """Has the layers of a model that call one of the functions use attn where their configuration says so.

    Args:
      model: of transformers.
      names: of the implementations that are attn's.
      calls: what the methods of a class name.
    """
    for module, config in _parts(model, None):
        wanted = calls(type(module)) & FUNCTIONS.keys()
        if not wanted or config is None or config._attn_implementation not in names or hasattr(module, HOOKED):
            continue
        scope = inspect.unwrap(type(module).forward).__globals__
        for name in wanted & scope.keys():
            if not hasattr(scope[name], FLAG):
                scope[name] = _wrapped(scope[name], FUNCTIONS[name])
        setattr(module, HOOKED, (config, names))
        module.register_forward_pre_hook(_flag, with_kwargs=True)


def _parts(module: torch.nn.Module, config: Any) -> Iterator[tuple[torch.nn.Module, Any]]:
    """The modules, each with the nearest configuration that has an implementation."""
    own = getattr(module, "config", None)
    config = own if hasattr(own, "_attn_implementation") else config
    yield module, config
    for child in module.children():
        yield from _parts(child, config)


def _flag(module: torch.nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The hook of a layer."""
    return given, named | {FLAG: _is_chosen(module)}


def _is_chosen(module: Any) -> bool:
    """Whether this is a layer with the hook, and its configuration has attn."""
    config, names = getattr(module, HOOKED, (None, ()))
    return config is not None and config._attn_implementation in names


def _wrapped(original: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """A function of transformers, or with the flag attn's, which may hand a call back."""

    @functools.wraps(original)
    def call(*given: Any, **named: Any) -> Any:
        is_chosen = named.pop(FLAG, None)
        if is_chosen is None and not torch.compiler.is_compiling():
            is_chosen = _is_chosen(sys._getframe(1).f_locals.get("self"))
        if is_chosen and len(given) <= own.__code__.co_argcount:
            result = own(*given, **named)
            if result is not None:
                return result
        return original(*given, **named)

    setattr(call, FLAG, True)
    return call


def _delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    g: Tensor,
    beta: Tensor,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor | None] | None:
    """The gated delta rule, g (B, T, Hv), and KDA, g (B, T, Hv, Dk), of arrays (B, T, heads, ·)."""
    if not query.is_cpu:
        return None
    arrays: dict[str, Any] = {"q": query, "k": key, "v": value, "decay": g, "beta": beta}
    words: dict[str, Any] = {"layout": "bshd"}
    if cu_seqlens is not None:
        arrays, words = {name: x[0] for name, x in arrays.items()}, {"cu_seqlens": cu_seqlens}
    words["state"] = None if initial_state is None else _wide(initial_state, query)
    words["normalize"] = EPSILON if use_qk_l2norm_in_kernel else None
    # Layers that ask for the state have it from their cache, and copy the new one there: it is written there at once.
    is_of_cache = initial_state is not None and output_final_state and words["state"].is_contiguous()
    words["in_place"] = is_of_cache and not torch.is_grad_enabled() and not torch.compiler.is_compiling()
    out, state = linear_attention(**arrays, **words, return_state=True)
    return out if cu_seqlens is None else out[None], state if output_final_state else None


def _wide(state: Tensor, query: Tensor) -> Tensor:
    """A state in the type of the accumulation."""
    return state.to(torch.float64 if query.dtype == torch.float64 else torch.float32)


def _scan(
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,  # noqa: N803 - transformers' names
    B: Tensor,  # noqa: N803
    C: Tensor,  # noqa: N803
    D: Tensor | None = None,  # noqa: N803
    dt_bias: Tensor | None = None,
    initial_states: Tensor | None = None,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = (0.0, float("inf")),
    return_final_states: bool = False,
    **others: Any,
) -> Tensor | tuple[Tensor, Tensor] | None:
    """Mamba-2: S = e^(Δ A) S + B (Δ x)ᵀ, y = Sᵀ C + D x, of x (B, T, H, P), B, C (B, T, groups, N), S (B, H, P, N)."""
    if not hidden_states.is_cpu or any(others.get(x) is not None for x in ("z", "seq_idx", "cu_seqlens")):
        return None
    dt = dt if dt_bias is None else dt + dt_bias.to(dt.dtype)
    dt = torch.nn.functional.softplus(dt) if dt_softplus else dt
    dt, x = torch.clamp(dt, min=dt_limit[0], max=dt_limit[1]).float(), hidden_states.float()
    state = None if initial_states is None else initial_states.float().transpose(2, 3).contiguous()
    arrays: dict[str, Any] = {"q": C.float(), "k": B.float(), "v": x * dt[..., None], "decay": A.float() * dt}
    out, state = linear_attention(**arrays, state=state, scale=1.0, layout="bshd", return_state=True)
    out = out if D is None else out + D[..., None] * x
    return (out, state.transpose(2, 3)) if return_final_states else out


def _state_update(
    state: Tensor,
    hidden_states: Tensor,
    dt: Tensor,
    A: Tensor,  # noqa: N803 - transformers' names
    B: Tensor,  # noqa: N803
    C: Tensor,  # noqa: N803
    D: Tensor | None = None,  # noqa: N803
    dt_bias: Tensor | None = None,
    dt_softplus: bool = False,
    z: Tensor | None = None,
    **others: Any,
) -> Tensor | None:
    """One token of it, which writes the state: x (B, H, P), with dt, A, D and dt_bias expanded over P, A over N too."""
    of_head = ((dt, -1), (A, 1), (A, 2), (D, -1), (dt_bias, -1))  # and the dimension that is expanded
    if any(x is not None and x.stride(dim) != 0 and x.shape[dim] != 1 for x, dim in of_head):
        return None
    words: dict[str, Any] = {
        "dt_softplus": dt_softplus,
        "initial_states": state,
        "return_final_states": True,
        "dt_limit": NO_LIMIT,
    }
    words |= {name: None if x is None else x[:, 0] for name, x in (("D", D), ("dt_bias", dt_bias))}
    made = _scan(hidden_states[:, None], dt[:, None, :, 0], A[:, 0, 0], B[:, None], C[:, None], **words, **others)
    if made is None:
        return None
    out, new = made
    state.copy_(new)
    out = out[:, 0] if z is None else out[:, 0] * torch.nn.functional.silu(z)
    return out.to(hidden_states.dtype)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch_chunk_gated_delta_rule": _delta_rule,
    "torch_recurrent_gated_delta_rule": _delta_rule,
    "chunk_kimi_delta_attention": _delta_rule,
    "recurrent_kimi_delta_attention": _delta_rule,
    "mamba2_chunk_scan": _scan,
    "mamba2_selective_state_update": _state_update,
}
