"""The operators `attn::sdpa` and `attn::sdpa_backward` of PyTorch: what they run, and all that PyTorch asks of one.

Their arguments are tensors and constants alone, so that graphs of torch.compile and torch.export hold them as they are:
functions are there as the text of their regions, and the names and tensors of what these read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch._library.autograd import make_autograd_impl
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

import attn
from attn.call import _call
from attn.torch import _context, _place, _record
from attn.words import _words

# Of the tensors, those that have a gradient; the names are those of `attn.sdpa_backward`.
DIFFERENTIABLE = ("q", "k", "v", "bias", "sink")
LEADING = 6  # arguments of the backward before those of the forward
SECOND_ORDER = {
    name: f"expected a gradient of first order of attn::{name}, found one of second order: {backward} has no gradient "
    "of its own; write the attention by torch's operators where such gradients are needed (create_graph=True)"
    for name, backward in (
        ("sdpa", "attn::sdpa_backward"),
        ("varlen_sdpa", "its backward"),
        ("linear_attention", "its backward"),
    )
}
DEVICES = ("cpu", "cuda")  # whose kernels there are
ORIGINS = ("q_origin", "k_origin", "b_origin", "h_origin")


class Call(NamedTuple):
    """The arguments of a call, in the order of the schema.

    Attributes:
      captured: the names of the captures, with "," between.
    """

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    captures: list[torch.Tensor]
    bias: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    sink: torch.Tensor | None = None
    q_lengths: torch.Tensor | None = None
    kv_lengths: torch.Tensor | None = None
    offsets: torch.Tensor | None = None
    seeds: torch.Tensor | None = None
    scale: float | None = None
    causal: str | None = None
    align: str | None = None
    dropout: float | None = None
    regions: str = ""
    captured: str = ""
    dynamic: bool | None = None
    q_origin: torch.Tensor | None = None
    k_origin: torch.Tensor | None = None
    b_origin: int | None = None
    h_origin: int | None = None
    whole: list[int] | None = None
    words: tuple[Any, ...] = ()

    of, flat, tensors = classmethod(_record.of), _record.flat, _record.tensors
    options, input, make = _record.options, _record.input_of, staticmethod(_call.dense)
    operands = 3


class Results(NamedTuple):
    """What an operator returns: the last two, the terms of lse, are what the backward takes."""

    out: torch.Tensor
    lse: torch.Tensor
    max: torch.Tensor
    log_sum: torch.Tensor


FLAGS = dict.fromkeys(("return_lse", "return_max", "return_log_sum"), True)


def define(cls: type[Any], name: str) -> tuple[Any, Any]:
    """The operator attn::NAME whose calls are of this kind, and its backward: they run attn's functions of these names.

    Of a call the first `cls.operands` are positional there, and those of them behind q, k and v follow the results in
    the backward.
    """

    def run(*arguments: Any) -> Results:
        call = cls.of(arguments)
        return Results(*getattr(attn, name)(*call[: cls.operands], **call.options(), **FLAGS))

    def run_backward(
        dout: Any, out: Any, row_max: Any, log_sum: Any, dlse: Any, grad: str, *arguments: Any
    ) -> list[torch.Tensor]:
        call, wanted = cls.of(arguments), grad.split(",")
        names = argument_names(call, wanted)
        given = (*call[:3], out, (row_max, log_sum), dout, *call[3 : cls.operands])
        found = getattr(attn, f"{name}_backward")(*given, dlse=dlse, grad=names, **call.options())
        # of a sink attn has float32
        return [found[x].to(call.input(y).dtype) for x, y in zip(names, wanted, strict=True)]

    def shapes(*arguments: Any) -> Results:
        call = cls.of(arguments)
        _place.check(call.tensors())
        return Results(*new_results(call.q, call.v, rows=3))

    inputs, how = _record.schema(cls), {"mutates_args": (), "device_types": DEVICES}
    schema = f"({inputs}) -> (Tensor out, Tensor lse, Tensor max, Tensor log_sum)"
    operator = torch.library.custom_op(f"attn::{name}", run, **how, schema=schema)
    schema = f"(Tensor dout, Tensor out, Tensor max, Tensor log_sum, Tensor? dlse, str grad, {inputs}) -> Tensor[]"
    backward = torch.library.custom_op(f"attn::{name}_backward", run_backward, **how, schema=schema)
    operator.register_fake(shapes)
    _add_gradient(cls, operator, backward)
    cls.differentiate = backward  # as `_eager` finds it
    return operator, backward


def new_results(q: torch.Tensor, v: torch.Tensor, rows: int = 1) -> list[torch.Tensor]:
    """Empty out, and lse and so many of its kind, of q (B, Hq, Sq, D), or of packed queries (total_q, Hq, D)."""
    shape = q.shape[:3] if q.dim() == 4 else q.shape[1::-1]
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    return [q.new_empty((*q.shape[:-1], v.shape[-1])), *[q.new_empty(shape, dtype=kind) for _ in range(rows)]]


def argument_names(call: Any, wanted: list[str]) -> tuple[str, ...]:
    """What attn's backward calls the inputs of these names."""
    captured = call.captured.split(",") if getattr(call, "captured", "") else []
    return tuple(captured[int(x.removeprefix(_record.CAPTURE))] if x.startswith(_record.CAPTURE) else x for x in wanted)


def _shapes_backward(cls: type[Any], *arguments: Any) -> list[torch.Tensor]:
    """What the backward of an operator returns whose calls are of this kind."""
    call, names = cls.of(arguments[LEADING:]), arguments[LEADING - 1].split(",")
    return [torch.empty_like(call.input(name), memory_format=torch.contiguous_format) for name in names]


def remember(cls: type[Any], ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    """Keeps what the backward needs: the arguments, out, max and log_sum."""
    call = cls.of(inputs)
    tensors = {name: x for name, x in zip(cls._fields, call, strict=True) if isinstance(x, torch.Tensor)}
    out, _, row_max, log_sum = output
    captures = getattr(call, "captures", ())
    ctx.save_for_backward(out, row_max, log_sum, *captures, *tensors.values())
    ctx.names, ctx.constants = list(tensors), call._replace(**dict.fromkeys(tensors))
    if captures:
        ctx.constants = ctx.constants._replace(captures=[])
    ctx.captures = len(captures)
    ctx.mark_non_differentiable(row_max, log_sum)
    ctx.set_materialize_grads(False)


def differentiate(
    backward: Any,
    ctx: Any,
    dout: torch.Tensor | None,
    dlse: torch.Tensor | None,
    _dmax: None,
    _dlog_sum: None,
    needs: tuple[Any, ...] | None = None,
) -> tuple[Any, ...]:
    """The gradients of all arguments, or of those that need one, by the operator of a backward or what calls it."""
    needs = ctx.needs_input_grad if needs is None else needs
    out, row_max, log_sum, *saved = ctx.saved_tensors
    call = ctx.constants._replace(**dict(zip(ctx.names, saved[ctx.captures :], strict=True)))
    if ctx.captures:
        call = call._replace(captures=saved[: ctx.captures])
    needed = dict(zip(call._fields, needs, strict=False))
    wanted = [name for name in DIFFERENTIABLE if needed.get(name)]
    of_captures = needed.get("captures")
    if isinstance(of_captures, list | tuple):
        wanted += [f"{_record.CAPTURE}{n}" for n, is_needed in enumerate(of_captures) if is_needed]
    if dout is None:
        dout = torch.zeros_like(out)
    found = backward(dout, out, row_max, log_sum, dlse, ",".join(wanted), *call.flat()) if wanted else []
    grads = dict(zip(wanted, found, strict=True))
    result = {name: grads.get(name) for name in call._fields[:-1]}
    if "captures" in result:
        result["captures"] = [grads.get(f"{_record.CAPTURE}{n}") for n in range(ctx.captures)]
    # Arguments at their defaults are not passed on, and before PyTorch 2.12 had to have no gradient here.
    return (*result.values(), *[None] * len(_words.FORMS))[: len(needs)]


def refuse_second_order(name: str, ctx: Any, *grads: Any) -> None:
    """The gradient of the backward of an operator: there is none."""
    raise RuntimeError(SECOND_ORDER[name])


def _no_plan(*arguments: Any) -> None:
    """Of operators whose eager calls by plans are not theirs."""


def _check_recorded(
    operator: Any,
    check: Callable[..., None] = _context.refuse_forward_mode,
    plan: Callable[..., Any] = _no_plan,
) -> None:
    """Has what records calls of an operator, in graphs of torch.compile too, check the leaves of its arguments first.

    Without it PyTorch would take the results for constants of forward mode. A plan comes before all of that: it has the
    results of a call that PyTorch sees nothing else of, and None of others.
    """
    record = make_autograd_impl(operator._opoverload, operator)

    def checked(keyset: Any, *arguments: Any, **keywords: Any) -> Any:
        made = plan(*arguments)
        if made is not None:
            return made or None  # of an operator without results
        if torch.is_grad_enabled() or forward_ad._current_level >= 0:
            check(*pytree.tree_leaves(arguments))
        return record(keyset, *arguments, **keywords)

    operator._lib.impl(operator._name, checked, "Autograd", with_keyset=True, allow_override=True)


def run_by_plans(operator: Any, check: Callable[..., None], plan: Callable[..., Any], run: Callable[..., Any]) -> None:
    """Has an operator without a gradient take the plans of eager calls, and `run` where there is none for a call."""
    _check_recorded(operator, check, plan)

    def planned(*arguments: Any) -> Any:
        made = plan(*arguments)
        return run(*arguments) if made is None else made or None

    for device in DEVICES:
        operator._lib.impl(operator._name, planned, device.upper(), allow_override=True)


def _add_gradient(cls: type[Any], operator: Any, backward: Any) -> None:
    """Registers the gradient of an operator whose calls are of this kind."""
    backward.register_fake(functools.partial(_shapes_backward, cls))
    operator.register_autograd(
        functools.partial(differentiate, backward), setup_context=functools.partial(remember, cls)
    )
    backward.register_autograd(functools.partial(refuse_second_order, operator._name))
    for each in (operator, backward):
        _check_recorded(each)


sdpa, sdpa_backward = define(Call, "sdpa")
