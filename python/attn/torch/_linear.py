"""The operators `attn::linear_attention` and its backward, and `attn.torch.linear_attention` over them.

Their arguments are tensors and constants alone. `attn::linear_attention` returns the states behind the last tokens and
has a gradient; `attn::linear_attention_` writes them where they lie, as serving has it, and has none.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch

import attn
from attn.call import _linear_checks
from attn.torch import _batches, _context, _eager, _ops, _out, _place, _record

Tensor = torch.Tensor

OPTIONAL = "Tensor? decay=None, Tensor? beta=None, Tensor? erase=None, Tensor? write=None, "
BEHIND = "Tensor? cu_seqlens=None, Tensor? slots=None, bool before=False, float? scale=None, float? normalize=None, "
BEHIND += 'str layout="bhsd"'
INPUTS = f"Tensor q, Tensor k, Tensor v, {OPTIONAL}Tensor? state=None, {BEHIND}"
IN_PLACE = f"Tensor q, Tensor k, Tensor v, Tensor(a!) state, {OPTIONAL}{BEHIND}"
HOW: dict[str, Any] = {"device_types": _ops.DEVICES}


class Call(NamedTuple):
    """The arguments of a call of `attn::linear_attention`, in the order of the schema."""

    q: Tensor
    k: Tensor
    v: Tensor
    decay: Tensor | None = None
    beta: Tensor | None = None
    erase: Tensor | None = None
    write: Tensor | None = None
    state: Tensor | None = None
    cu_seqlens: Tensor | None = None
    slots: Tensor | None = None
    before: bool = False
    scale: float | None = None
    normalize: float | None = None
    layout: str = "bhsd"

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return {name: x for name, x in self._asdict().items() if isinstance(x, Tensor)}

    def options(self) -> dict[str, Any]:
        """The keywords of a call where its tensors are."""
        given = {name: x for name, x in self._asdict().items() if x is not None}
        return _place.options(self.tensors(), {x: y for x, y in given.items() if x not in ("q", "k", "v")})

    def run(self) -> tuple[Tensor, Tensor]:
        """The results by attn's kernel, which writes the state in place."""
        out, state = attn.linear_attention(self.q, self.k, self.v, **self.options(), return_state=True)
        return out, state

    def differentiate(self, dout: Tensor | None, dstate: Tensor | None, names: list[str]) -> list[Tensor]:
        """The gradients by attn's kernel."""
        found = attn.linear_attention_backward(
            self.q, self.k, self.v, dout, dstate=dstate, grad=names, **self.options()
        )
        return [found[name].to(getattr(self, name).dtype) for name in names]

    def new_results(self) -> tuple[Tensor, Tensor]:
        """Empty results."""
        _place.check(self.tensors())
        out = self.q.new_empty(self.v.shape)
        if self.state is not None:
            return out, torch.empty_like(self.state, memory_format=torch.contiguous_format)
        kind = torch.float64 if self.q.dtype == torch.float64 else torch.float32
        is_packed = self.cu_seqlens is not None
        count = self.q.shape[0] if self.cu_seqlens is None else self.cu_seqlens.shape[0] - 1
        heads = self.v.shape[2 if self.layout == "bshd" and not is_packed else 1]
        return out, out.new_empty((count, heads, self.k.shape[-1], self.v.shape[-1]), dtype=kind)


def _run(*arguments: Any) -> tuple[Tensor, Tensor]:
    call = Call(*arguments)
    if call.state is not None:
        call = call._replace(state=call.state.clone(memory_format=torch.contiguous_format))
    return call.run()


def _run_backward(dout: Tensor | None, dstate: Tensor | None, grad: str, *arguments: Any) -> list[Tensor]:
    call = Call(*arguments)
    if dout is None and dstate is None:
        dout = torch.zeros_like(call.new_results()[0])
    return call.differentiate(dout, dstate, grad.split(","))


def _shapes_backward(dout: Any, dstate: Any, grad: str, *arguments: Any) -> list[Tensor]:
    call = Call(*arguments)
    tensors = [getattr(call, name) for name in grad.split(",")]
    return [torch.empty_like(x, memory_format=torch.contiguous_format) for x in tensors]


def _run_in_place(q: Tensor, k: Tensor, v: Tensor, state: Tensor, *others: Any) -> Tensor:
    _out.check_writable("linear_attention_", "state", state)
    names = [name for name in Call._fields[3:] if name != "state"]  # of which PyTorch drops trailing defaults
    return Call(q, k, v, state=state, **dict(zip(names, others, strict=False))).run()[0]


_operator = torch.library.custom_op(
    "attn::linear_attention", _run, mutates_args=(), **HOW, schema=f"({INPUTS}) -> (Tensor out, Tensor state)"
)
_operator_backward = torch.library.custom_op(
    "attn::linear_attention_backward",
    _run_backward,
    mutates_args=(),
    **HOW,
    schema=f"(Tensor? dout, Tensor? dstate, str grad, {INPUTS}) -> Tensor[]",
)
_operator_in_place = torch.library.custom_op(
    "attn::linear_attention_", _run_in_place, mutates_args=("state",), **HOW, schema=f"({IN_PLACE}) -> Tensor"
)
_operator.register_fake(lambda *arguments: Call(*arguments).new_results())
_operator_backward.register_fake(_shapes_backward)
_operator_in_place.register_fake(lambda q, k, v, *others: q.new_empty(v.shape))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    call = Call(*inputs)
    tensors = call.tensors()
    ctx.save_for_backward(*tensors.values())
    ctx.names, ctx.constants = list(tensors), call._replace(**dict.fromkeys(tensors))
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, dout: Tensor | None, dstate: Tensor | None) -> tuple[Tensor | None, ...]:
    call = ctx.constants._replace(**dict(zip(ctx.names, ctx.saved_tensors, strict=True)))
    needed = dict(zip(call._fields, ctx.needs_input_grad, strict=False))
    wanted = [name for name in _linear_checks.NAMES if needed.get(name)]
    found = _operator_backward(dout, dstate, ",".join(wanted), *call) if wanted else []
    grads = dict(zip(wanted, found, strict=True))
    return tuple([grads.get(name) for name in call._fields][: len(ctx.needs_input_grad)])


def _refuse_recorded(*tensors: Any) -> None:
    """What is written in place has no gradient.

    Raises:
      TypeError: a tensor requires a gradient that is recorded.
      RuntimeError: one has a tangent.
    """
    _refuse_tangents(*tensors)
    if torch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in tensors):
        raise TypeError(
            "expected no gradient beside in_place=True of attn.torch.linear_attention, found a tensor that requires "
            "one: the state is written without one; leave in_place out, or for inference write with torch.no_grad(): "
            "around the call"
        )


_refuse_tangents = functools.partial(_context.refuse_forward_mode, message=_context.forward_mode("linear_attention"))
_operator.register_autograd(_differentiate, setup_context=_remember)
_operator_backward.register_autograd(functools.partial(_ops.refuse_second_order, "linear_attention"))
for _each in (_operator, _operator_backward):
    _ops._check_recorded(_each, _refuse_tangents)
    _each.register_vmap(
        lambda info, in_dims, *arguments, operator=_each: _batches._each(operator, info.batch_size, in_dims, arguments)
    )
_ops._check_recorded(_operator_in_place, _refuse_recorded)


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    erase: Tensor | None = None,
    write: Tensor | None = None,
    before: bool = False,
    scale: float | None = None,
    normalize: float | bool | None = None,
    state: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    slots: Tensor | None = None,
    layout: str = "bhsd",
    in_place: bool = False,
    return_state: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """`attn.linear_attention` with gradients: the gated delta rule and its family.

    It runs in eager mode, under torch.compile without graph breaks, and torch.export. out and the returned state have
    gradients of first order for q, k, v, decay, beta, erase, write and state, by the kernel of
    `attn.linear_attention_backward`. Tensors are on the CPU.

    Args:
      q, k, v: (B, Hk, T, Dk), (B, Hk, T, Dk), (B, Hv, T, Dv), of one float type; value head h reads key head
        h div (Hv / Hk).
      decay: natural logarithms ≤ 0, (B, Hv, T), or (B, Hv, T, Dk) for one a channel; −inf forgets the state.
      beta: (B, Hv, T), for the delta rule; not beside erase.
      erase, write, before, scale, normalize, cu_seqlens, layout: as in `attn.linear_attention`.
      state: (B, Hv, Dk, Dv), float32, or float64 beside float64; None for 0. It stays as it is, unless in_place.
      slots: (B,) integers, as in `attn.linear_attention`: state is a pool, of which all is copied, unless in_place.
      in_place: write the states behind the last tokens into `state`, which is returned; without a gradient.
      return_state: return the state too, also where none is given.

    Returns:
      out (B, Hv, T, Dv), packed (T, Hv, Dv); or (out, state) where a state is given or asked for.

    Raises:
      TypeError, ValueError, RuntimeError: as `sdpa` and `attn.linear_attention`.
    """
    tensors = {"q": q, "k": k, "v": v, "decay": decay, "beta": beta, "erase": erase, "write": write, "state": state}
    _context.check(**tensors, cu_seqlens=cu_seqlens, slots=slots)
    integers = [_record.integers(x, q.device) for x in (cu_seqlens, slots)]
    words = (before, scale, _linear_checks.normalize(normalize), layout)
    if in_place and state is None:
        raise ValueError("expected state beside in_place=True, found none")
    call = Call(q, k, v, decay, beta, erase, write, state, *integers, *words)
    # A step of decoding takes less time than PyTorch takes to find an operator.
    is_recorded = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors.values())
    operators = (_operator, _operator_in_place) if _eager.is_seen() or is_recorded else (_run, _run_in_place)
    if in_place:
        return operators[1](q, k, v, state, decay, beta, erase, write, *integers, *words), state
    out, new = operators[0](*call)
    return (out, new) if state is not None or return_state else out
