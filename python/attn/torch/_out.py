"""Operators that write the out of a call where the caller says: `attn::paged_sdpa_out`, `attn::varlen_sdpa_out`.

They are the operators of these names without a gradient, whose first argument is written in place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

import attn
from attn.torch import _context, _ops, _place, _record

Tensor = torch.Tensor


def define(
    cls: type[Any],
    name: str,
    others: dict[str, str],
    shapes: Callable[[Any], tuple[Tensor, ...]],
    plan: Callable[..., Any] = _ops._no_plan,
) -> Any:
    """The operator attn::NAME_out whose calls are of this kind.

    Args:
      cls: of a call, behind out.
      name: of attn's function that it runs.
      others: the results behind out, and the keywords of the function that ask for them.
      shapes: of a call all results, empty.
      plan: as in `_ops.run_by_plans`.
    """

    def run(out: Tensor, *arguments: Any) -> tuple[Tensor, ...]:
        call = cls.of(arguments)
        check_writable(name, "out", out)
        asked = {flag: True for result, flag in others.items() if getattr(call, f"with_{result}", True)}
        _, *made = getattr(attn, name)(*call[: cls.operands], **call.options(), **asked, out=out)
        return tuple(made) + tuple(out.new_empty(0, dtype=made[0].dtype) for _ in range(len(others) - len(made)))

    results = ", ".join(f"Tensor {x}" for x in others)
    operator = torch.library.custom_op(
        f"attn::{name}_out",
        run,
        mutates_args=("out",),
        device_types=_ops.DEVICES,
        schema=f"(Tensor(a!) out, {_record.schema(cls)}) -> ({results})",
    )

    @operator.register_fake
    def fake(out: Tensor, *arguments: Any) -> tuple[Tensor, ...]:
        call = cls.of(arguments)
        _place.check(call.tensors() | {"out": out})
        wanted, *made = shapes(call)
        if out.dim() != wanted.dim() or out.dtype != wanted.dtype:
            raise ValueError(
                f"expected out of rank {wanted.dim()} in {wanted.dtype}, found rank {out.dim()} in {out.dtype}"
            )
        return tuple(made)

    _ops.run_by_plans(operator, functools.partial(_refuse_recorded, name), plan, run)
    return operator


def check_writable(name: str, what: str, x: Tensor) -> None:
    """For a tensor that the operator attn::NAME writes.

    Raises:
      RuntimeError: it is one of inference mode, outside of it.
    """
    if x.is_inference() and not torch.is_inference_mode_enabled():
        raise RuntimeError(
            f"expected {'an' if what[0] in 'aeiou' else 'a'} {what} of attn::{name} that may be written here, found a "
            f"tensor of inference mode outside of it; write with torch.inference_mode(): around the call, or "
            f"{what} = {what}.clone()"
        )


def _refuse_recorded(name: str, *tensors: Any) -> None:
    """What is written in place has no gradient.

    Raises:
      TypeError: a tensor requires a gradient that is recorded.
      RuntimeError: one has a tangent.
    """
    _context.refuse_forward_mode(*tensors, message=_context.FORWARD_MODE_OF_SERVING)
    if torch.compiler.is_exporting() or not torch.is_grad_enabled():
        return
    if any(isinstance(x, Tensor) and x.requires_grad for x in tensors):
        raise TypeError(
            f"expected no gradient beside out= of attn.torch.{name}, found a tensor that requires one: out is written "
            "in place without one; leave out= out, or for inference write with torch.no_grad(): around the call"
        )
