"""`attn::sdpa` under torch.func.grad and its kin, whose transforms take no operator with a gradient of its own.

PyTorch lets them take an autograd.Function with the same rules; `call` chooses between the two. Of a function's
arguments only those that are tensors have gradients, not those in lists: captures stand in front, after their number.
"""

from __future__ import annotations

from typing import Any

import torch

from attn.torch import _batches, _context, _ops
from attn.torch._ops import Call

OF_CALL = Call._fields.index("captures")
OF_BACKWARD = _batches.LEADING + OF_CALL


def _spread(arguments: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    """What a function takes for the arguments of an operator, whose captures stand at this place."""
    captures = arguments[place]
    return (len(captures), *captures, *arguments[:place], *arguments[place + 1 :])


def _gathered(count: int, spread: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    """The arguments of an operator, or what belongs to each, from those of a function of so many captures."""
    captures, others = list(spread[1 : count + 1]), spread[count + 1 :]
    return (*others[:place], captures, *others[place:])


def call(arguments: tuple[Any, ...]) -> _ops.Results:
    """`attn::sdpa` of these arguments."""
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        return _ops.Results(*_forward(*arguments))
    return _ops.Results(*_ops.sdpa(*arguments))


def _forward(*arguments: Any) -> Any:
    return _Forward.apply(*_spread(arguments, OF_CALL))


def _backward(*arguments: Any) -> Any:
    return _Backward.apply(*_spread(arguments, OF_BACKWARD))


class _Forward(torch.autograd.Function):
    @staticmethod
    def forward(*spread: Any) -> Any:
        return _ops.sdpa(*_gathered(spread[0], spread, OF_CALL))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _ops.remember(Call, ctx, _gathered(inputs[0], inputs, OF_CALL), output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        needs = _gathered(ctx.captures, ctx.needs_input_grad, OF_CALL)
        found = _spread(_ops.differentiate(_backward, ctx, *grads, needs=needs), OF_CALL)
        return (None, *found[1:])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        raise RuntimeError(_context.FORWARD_MODE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *spread: Any) -> Any:
        dims, arguments = (_gathered(spread[0], x, OF_CALL) for x in (in_dims, spread))
        return _batches.vmap(info, dims, *arguments, operator=_forward)


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(*spread: Any) -> Any:
        return tuple(_ops.sdpa_backward(*_gathered(spread[0], spread, OF_BACKWARD)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> None:
        _ops.refuse_second_order("sdpa", ctx, *grads)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        raise RuntimeError(_context.FORWARD_MODE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *spread: Any) -> Any:
        dims, arguments = (_gathered(spread[0], x, OF_BACKWARD) for x in (in_dims, spread))
        grads, out_dims = _batches.vmap_backward(info, dims, *arguments, operator=_backward)
        return tuple(grads), tuple(out_dims)
