"""`attn::sdpa` under torch.func.grad and its kin, whose transforms take no operator with a gradient of its own.

PyTorch lets them take an autograd.Function with the same rules; `call` chooses between the two.
"""

from __future__ import annotations

from typing import Any

import torch

from attn.torch import _batches, _context, _ops
from attn.torch._ops import Call


def call(arguments: tuple[Any, ...]) -> _ops.Results:
    """`attn::sdpa` of these arguments."""
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        return _ops.Results(*_Forward.apply(*arguments))
    return _ops.Results(*_ops.sdpa(*arguments))


class _Forward(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> Any:
        return _ops.sdpa(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _ops.remember(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        gradients = list(_ops.differentiate(ctx, *grads, backward=_Backward.apply))
        gradients[Call._fields.index("captures")] = None  # of a list a function has one, an operator a list
        return tuple(gradients)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        raise RuntimeError(_context.FORWARD_MODE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        return _batches.vmap(info, in_dims, *arguments, operator=_Forward.apply)


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> Any:
        return tuple(_ops.sdpa_backward(*arguments))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> None:
        _ops.refuse_second_order(ctx, *grads)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        raise RuntimeError(_context.FORWARD_MODE)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        grads, dims = _batches.vmap_backward(info, in_dims, *arguments, operator=_Backward.apply)
        return tuple(grads), tuple(dims)
