"""Calls of `attn::sdpa` and `attn::varlen_sdpa` that nothing but autograd sees: without PyTorch's dispatcher, by plans.

A plan is made for the forms of the tensors and the constants of a call; further calls of these write addresses alone.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from attn.call import _checks, _gradients, _running
from attn.kernel._cache import plans
from attn.torch import _ops, _planned, _record
from attn.torch._planned import Step
from attn.torch._record import CAPTURE

Tensor = torch.Tensor
_C = torch._C

NATIVE = _C._nn.scaled_dot_product_attention  # in the place of which context_parallel puts its own
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})  # whose functions nobody replaces
# Of a call, in the order of kernels; captures follow.
INTEGERS = ("q_lengths", "kv_lengths", "cu_seqlens_q", "cu_seqlens_k")  # of 32 bits
TENSORS = ("q", "k", "v", "bias", "mask", "sink", *INTEGERS)
OTHER_INTEGERS = frozenset({torch.int64, torch.int16, torch.int8, torch.uint8})  # integers of other bits
CONSTANTS = ("scale", "causal", "align", "regions", "captured", "dynamic", "words")
READ_BY_HOST = ("offsets", "seeds", *_ops.ORIGINS)
OF_ROWS = ("max", "log_sum")  # what a backward reads beside out
LARGEST_ELEMENT = 8  # bytes


def known(query: Any, key: Any, value: Any, mask: Any, constants: tuple[Any, ...]) -> tuple[Tensor, ...] | None:
    """The results of `attn.torch.sdpa` where a call had these forms and constants before; otherwise None."""
    if is_seen() or torch.nn.functional.scaled_dot_product_attention is not NATIVE:
        return None
    tensors = (query, key, value) if mask is None else (query, key, value, mask)
    if not _are_plain(tensors):
        return None
    try:
        form = plans[_key(tensors, constants)]
    except (KeyError, TypeError, RuntimeError):  # what cannot be hashed, or has no sizes
        return None
    return form.run(tensors)


def run(
    call: Any, returned: tuple[str, ...], given: tuple[Any, ...] | None = None, values: tuple[Any, ...] = ()
) -> tuple[Tensor, ...] | None:
    """The results of these names; None where PyTorch has to see the operator, or a plan says too little.

    Args:
      call: of `attn::sdpa` or `attn::varlen_sdpa`.
      returned: "out", and further results of which the caller reads.
      given: what `known` takes, if that is all that the call depends on.
      values: what the kernel depends on beside forms and constants.
    """
    if is_seen() or any(getattr(call, name, None) is not None for name in READ_BY_HOST):
        return None
    named = {name: x for name in TENSORS if (x := getattr(call, name, None)) is not None}
    has_lengths = "kv_lengths" in named or "q_lengths" in named
    if has_lengths and call.causal is call.align is None and _checks.placed(_record.words(call)):
        return None  # whose alignment is said where lengths differ, which are values
    integers = {name: named[name] for name in INTEGERS if name in named}
    if not _are_plain([*named.values(), *call.captures]) or not are_readable([*integers.values()]):
        return None
    named |= {name: _narrowed(x) for name, x in integers.items()}
    tensors = (*named.values(), *call.captures)
    constants = (returned, *named, *[getattr(call, name) for name in CONSTANTS[:-1]], repr(call.words), *values)
    key = _key(tensors, constants)
    form = plans.get(key) or plans.keep(key, _Form(call, list(named), returned))
    made = form.run(tensors)
    if made is not None and given is not None and _has_no_views(tensors, given):
        *operands, mask, words = given
        plans.keep(_key([*operands, *([] if mask is None else [mask])], words), form)
    return made


def _narrowed(x: Tensor) -> Tensor:
    """Integers as kernels have them, where they fit."""
    if x.dtype not in OTHER_INTEGERS or not x.is_cpu:
        return x
    narrow = x.to(torch.int32)
    return narrow if bool((narrow == x).all()) else x


class _Form:
    """What calls have in common that differ in the memory of their tensors alone; steps are made when they run first.

    Attributes:
      names: of the tensors.
      returned: of the results.
      saved: where out, max and log_sum stand among the results of a call that autograd records.
    """

    def __init__(self, call: Any, named: list[str], returned: tuple[str, ...]) -> None:
        self._kind, self._constants = type(call), {name: getattr(call, name) for name in CONSTANTS}
        self.names = [*named, *[f"{CAPTURE}{n}" for n in range(len(call.captures))]]
        self.returned = returned
        recorded = (*returned, *[name for name in OF_ROWS if name not in returned])
        self.saved = [recorded.index(name) for name in ("out", *OF_ROWS)]
        self._kept = {False: returned, True: recorded}
        self.steps: dict[bool, Step | None] = {}  # None where a call converts or copies before the kernel has it

    def run(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
        """The results, recorded where one of the tensors requires a gradient; None where there is no plan for them."""
        addresses = _addresses(tensors)
        if addresses is None:
            return None
        is_recorded = torch.is_grad_enabled() and True in [x.requires_grad for x in tensors]
        try:
            step = self.steps[is_recorded]
        except KeyError:
            step = self.steps[is_recorded] = self._forward(tensors, is_recorded)
        if step is None or not step.runs_here(addresses):
            return None
        try:
            if is_recorded:
                results: tuple[Tensor, ...] = _Sdpa.apply(self, step, addresses, *tensors)
                return results
            return tuple(step.run(tensors, addresses)[: len(self.returned)])
        except (TypeError, ValueError):  # prefix sums that the operator refuses
            return None

    def call(self, tensors: Sequence[Tensor]) -> Any:
        """The call of these tensors."""
        arrays = dict(zip(self.names, tensors, strict=True))
        captures = [arrays.pop(name) for name in self.names if name.startswith(CAPTURE)]
        return self._kind(**arrays, captures=captures, **self._constants)

    def wanted(self, needs: Sequence[bool]) -> list[str]:
        """The names of the tensors that need a gradient."""
        return [name for name, is_needed in zip(self.names, needs, strict=True) if is_needed]

    def _forward(self, tensors: Sequence[Tensor], is_recorded: bool) -> Step | None:
        call = self.call([x.detach() for x in tensors])
        flags = dict.fromkeys(("return_lse", "return_max", "return_log_sum"), True)
        options = call.options()
        kernel, arrays = _running.prepared(call.make, *call[: call.operands], **options, **flags)
        return _planned.made(kernel, arrays, tensors, self._kept[is_recorded])

    def backward(self, saved: Sequence[Tensor], cotangents: list[Tensor], needs: Sequence[bool]) -> Step | None:
        """The gradients of what was saved, tensors and results, by the cotangents of out and lse."""
        count = len(self.names)
        call, dlse = self.call([x.detach() for x in saved[:count]]), cotangents[1] if len(cotangents) > 1 else None
        names = _ops.argument_names(call, self.wanted(needs))
        terms = (*saved[count:], cotangents[0], dlse)
        options = call.options()
        kernel, arrays = _gradients.prepared(call.make, call[: call.operands], terms, names, **options)
        types = [str(call.input(name).dtype).removeprefix("torch.") for name in self.wanted(needs)]
        if types != [x["dtype"] for x in kernel.outputs]:  # of a sink the kernel has float32
            return None
        return _planned.made(kernel, arrays, [*saved, *cotangents], [x["name"] for x in kernel.outputs])


class _Sdpa(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, form: _Form, step: Step, addresses: list[int], *tensors: Tensor) -> Any:
        results = step.run(tensors, addresses)
        saved = [results[n] for n in form.saved]
        ctx.save_for_backward(*tensors, *saved)
        ctx.form, ctx.addresses = form, [*addresses, *[x.data_ptr() for x in saved]]
        ctx.set_materialize_grads(False)
        returned = form.returned
        if returned[-1] == "max":
            ctx.mark_non_differentiable(saved[1])
        return tuple(results[: len(returned)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        form, saved, needs = ctx.form, ctx.saved_tensors, ctx.needs_input_grad[3:]
        dout = grads[0]
        dlse = grads[1] if "lse" in form.returned else None
        if dout is None:
            dout = torch.zeros_like(saved[len(form.names)])
        cotangents = [dout] if dlse is None else [dout, dlse]
        found = None
        if not torch.is_grad_enabled() and not is_seen() and _are_plain(cotangents):
            found = _run_backward(ctx, saved, cotangents, needs)
        if found is None:
            found = _by_operator(form, saved, dout, dlse, needs)
        gradients = iter(found)
        return None, None, None, *[next(gradients) if is_needed else None for is_needed in needs]


def _run_backward(
    ctx: Any, saved: Sequence[Tensor], cotangents: list[Tensor], needs: Sequence[bool]
) -> list[Tensor] | None:
    """The gradients by a plan, if there is one."""
    form, inputs = ctx.form, [*saved, *cotangents]
    addresses = _addresses(inputs)
    if addresses is None:
        return None
    # In the same memory they are as they were; hooks may have made others.
    is_same = addresses[: len(saved)] == ctx.addresses
    if not is_same and not _are_plain(saved):
        return None
    key = _key(cotangents if is_same else inputs, (form, *needs))
    try:
        step = plans[key]
    except KeyError:
        step = plans.keep(key, form.backward(saved, cotangents, needs))
    return step.run(inputs, addresses) if step is not None and step.runs_here(addresses) else None


def _by_operator(
    form: _Form, saved: Sequence[Tensor], dout: Tensor, dlse: Tensor | None, needs: Sequence[bool]
) -> list[Tensor]:
    """The gradients where PyTorch sees them; one of second order is refused there."""
    count = len(form.names)
    wanted = ",".join(form.wanted(needs))
    call = form.call(saved[:count])
    found: list[Tensor] = type(call).differentiate(dout, *saved[count:], dlse, wanted, *call.flat())
    return found


def is_seen() -> bool:
    """Whether a compiler, a transform, a mode, autocast, a profiler or a tracer sees calls of operators."""
    return bool(
        torch.compiler.is_compiling()
        or _C._are_functorch_transforms_active()
        or _C._len_torch_dispatch_stack()
        or _C._len_torch_function_stack()
        or _C._is_any_autocast_enabled()
        or _C._autograd._profiler_enabled()
        or forward_ad._current_level >= 0
        or _C._get_tracing_state() is not None
    )


def has_no_values() -> bool:
    """Whether a compiler, or a mode of PyTorch's own, may have tensors here whose values nobody knows."""
    return bool(torch.compiler.is_compiling() or _C._len_torch_dispatch_stack())


def _are_plain(tensors: Sequence[Any]) -> bool:
    """Whether these are tensors of PyTorch's own in the memory of the CPU or a GPU; others may have no address."""
    for x in tensors:  # noqa: SIM110 - `all` takes half as long again
        if type(x) not in PLAIN or not (x.is_cpu or x.is_cuda) or x.is_neg():
            return False
    return True


def are_readable(tensors: Sequence[Any]) -> bool:
    """Whether these are such tensors, and have memory: values of others must not be read."""
    return _are_plain(tensors) and True not in [x.is_nested for x in tensors] and _addresses(tensors) is not None


def _key(tensors: Sequence[Tensor], constants: Sequence[Any]) -> Hashable:
    """The forms of tensors, and constants."""
    return (*[(x.shape, x.is_contiguous() or x.stride(), x.dtype, x.get_device()) for x in tensors], *constants)


def _addresses(tensors: Sequence[Tensor]) -> list[int] | None:
    """Where they lie; None where one has no memory, or is not aligned."""
    try:
        found = [x.data_ptr() for x in tensors]
    except RuntimeError:  # sparse, or of transforms that are over
        return None
    if 0 in found:
        return None
    if functools.reduce(operator.or_, found, 0) % LARGEST_ELEMENT:
        for address, x in zip(found, tensors, strict=True):
            if address % x.itemsize:
                return None
    return found


def _has_no_views(tensors: Sequence[Tensor], given: tuple[Any, ...]) -> bool:
    """Whether kernels take what a user gave as it is, and no part of it is looked at."""
    *operands, mask, constants = given
    is_same = all(x is y for x, y in zip(operands, tensors, strict=False))
    if mask is not None:
        last = tensors[-1]
        is_same &= (mask.shape, mask.dtype, mask.data_ptr()) == (last.shape, last.dtype, last.data_ptr())
    return is_same and all(x is None or type(x) in (bool, float, str) for x in constants)
