"""The operators `attn::varlen_sdpa` and `attn::varlen_sdpa_backward`, and `attn.torch.varlen_sdpa` over them.

As `attn::sdpa`: their arguments are tensors and constants alone, and the terms of lse are what the backward takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import torch

import attn
from attn import _signatures, _words
from attn._words import Words
from attn.torch import _batches, _context, _ops, _place
from attn.torch._ops import KINDS, Results
from attn.torch.parallel import _active

Tensor = torch.Tensor
DIFFERENTIABLE = ("q", "k", "v", "sink")
LEADING = 6  # arguments of the backward before those of the forward
SECOND_ORDER = (
    "expected a gradient of first order of attn::varlen_sdpa, found one of second order: its backward has no gradient "
    "of its own; write the attention by torch's operators where such gradients are needed (create_graph=True)"
)


class Call(NamedTuple):
    """The arguments of a call, in the order of the schema."""

    q: Tensor
    k: Tensor
    v: Tensor
    cu_seqlens_q: Tensor
    cu_seqlens_k: Tensor
    sink: Tensor | None = None
    offsets: Tensor | None = None
    scale: float | None = None
    causal: str | None = None
    align: str | None = None
    dynamic: bool = False
    words: tuple[Any, ...] = ()

    @classmethod
    def of(cls, arguments: tuple[Any, ...]) -> Call:
        """From what an operator is called with."""
        return cls(*arguments[: len(cls._fields) - 1], words=_ops.words_of(cls, arguments))

    def flat(self) -> tuple[Any, ...]:
        """The arguments, the words one by one."""
        return (*self[:-1], *(self.words or (None,) * len(_words.FORMS)))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return {name: x for name, x in zip(self._fields, self, strict=True) if isinstance(x, Tensor)}

    def options(self) -> dict[str, Any]:
        """The keywords of `attn.varlen_sdpa`, with those that say where it runs."""
        return _place.options(self.tensors(), _ops.keywords(self, ("sink",)))


INPUTS = "Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, Tensor? sink=None, "
INPUTS += "Tensor? offsets=None, float? scale=None, str? causal=None, str? align=None, bool dynamic=False"
INPUTS += "".join(f", {KINDS[form]} {name}=None" for name, form in _words.FORMS.items())


def _run(*arguments: Any) -> Results:
    call = Call.of(arguments)
    flags = dict.fromkeys(("return_lse", "return_max", "return_log_sum"), True)
    return Results(*attn.varlen_sdpa(*call[:5], **call.options(), **flags))


def _run_backward(
    dout: Tensor,
    out: Tensor,
    row_max: Tensor,
    log_sum: Tensor,
    dlse: Tensor | None,
    grad: str,
    *arguments: Any,
) -> list[Tensor]:
    call, names = Call.of(arguments), tuple(grad.split(","))
    saved = (out, (row_max, log_sum), dout)
    sums, options = (call.cu_seqlens_q, call.cu_seqlens_k), call.options()
    found = attn.varlen_sdpa_backward(*call[:3], *saved, *sums, dlse=dlse, grad=names, **options)
    return [found[name].to(getattr(call, name).dtype) for name in names]  # of a sink attn has float32


_operator = torch.library.custom_op(
    "attn::varlen_sdpa",
    _run,
    mutates_args=(),
    device_types=_ops.DEVICES,
    schema=f"({INPUTS}) -> (Tensor out, Tensor lse, Tensor max, Tensor log_sum)",
)
_operator_backward = torch.library.custom_op(
    "attn::varlen_sdpa_backward",
    _run_backward,
    mutates_args=(),
    device_types=_ops.DEVICES,
    schema=f"({_ops.RESULTS}, Tensor? dlse, str grad, {INPUTS}) -> Tensor[]",
)


@_operator.register_fake
def _shapes(*arguments: Any) -> Results:
    call = Call.of(arguments)
    _place.check(call.tensors())
    rows = [call.q.new_empty(call.q.shape[1::-1], dtype=_ops._lse_type(call.q)) for _ in Results._fields[1:]]
    return Results(call.q.new_empty((*call.q.shape[:2], call.v.shape[2])), *rows)


@_operator_backward.register_fake
def _shapes_backward(*arguments: Any) -> list[Tensor]:
    call = Call.of(arguments[LEADING:])
    names = arguments[LEADING - 1].split(",")
    return [torch.empty_like(getattr(call, name), memory_format=torch.contiguous_format) for name in names]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    call = Call.of(inputs)
    tensors = call.tensors()
    out, _, row_max, log_sum = output
    ctx.save_for_backward(out, row_max, log_sum, *tensors.values())
    ctx.names, ctx.constants = list(tensors), call._replace(**dict.fromkeys(tensors))
    ctx.mark_non_differentiable(row_max, log_sum)
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, dout: Tensor | None, dlse: Tensor | None, _dmax: None, _dlog_sum: None) -> tuple[Any, ...]:
    out, row_max, log_sum, *tensors = ctx.saved_tensors
    call = ctx.constants._replace(**dict(zip(ctx.names, tensors, strict=True)))
    needed = dict(zip(Call._fields, ctx.needs_input_grad, strict=False))
    wanted = [name for name in DIFFERENTIABLE if needed.get(name)]
    if dout is None:
        dout = torch.zeros_like(out)
    saved = (dout, out, row_max, log_sum, dlse)
    found = _operator_backward(*saved, ",".join(wanted), *call.flat()) if wanted else []
    grads = dict(zip(wanted, found, strict=True))
    result = (*[grads.get(name) for name in Call._fields[:-1]], *[None] * len(_words.FORMS))
    return result[: len(ctx.needs_input_grad)]


def _refuse_second_order(ctx: Any, *grads: Any) -> None:
    raise RuntimeError(SECOND_ORDER)


_operator.register_autograd(_differentiate, setup_context=_remember)
_operator_backward.register_autograd(_refuse_second_order)
for _each in (_operator, _operator_backward):
    _ops._check_recorded(_each)
    # Entries of vmap may have other lengths: each is a call of its own.
    _each.register_vmap(
        lambda info, in_dims, *arguments, operator=_each: _batches._each(operator, info.batch_size, in_dims, arguments)
    )


def _autocast(device: str, *arguments: Any) -> Any:
    """The call in the type of autocast; float64 stays, as in PyTorch's own operators."""
    call, dtype = Call.of(arguments), torch.get_autocast_dtype(device)
    new = {name: x.to(dtype) for name, x in zip("qkv", call[:3], strict=True) if x.dtype != torch.float64}
    with torch.autocast(device, enabled=False):
        return _operator(*call._replace(**new).flat())


_library = torch.library.Library("attn", "FRAGMENT")
for _device in _batches.AUTOCAST:
    _library.impl(
        "varlen_sdpa", lambda *arguments, device=_device: _autocast(device, *arguments), f"Autocast{_device.upper()}"
    )


def varlen_sdpa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    *,
    scale: float | None = None,
    causal: str | Tensor | None = None,
    align: str | Tensor | None = None,
    sink: Tensor | None = None,
    return_lse: bool = False,
    return_max: bool = False,
    dynamic: bool = False,
    **words: Unpack[Words],
) -> Tensor | tuple[Tensor, ...]:
    """`attn.varlen_sdpa` with gradients: attention over sequences packed one after the other, each to itself only.

    It runs in eager mode, under torch.compile without graph breaks, torch.export, autocast and inference mode. out and
    lse have gradients of first order, but not under torch.func, which refuses the operator. Tensors are on the CPU, or
    all on one CUDA device.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv), of one float type.
      cu_seqlens_q, cu_seqlens_k: (B + 1,) integers, exclusive prefix sums of the lengths.
      scale: factor on Q·Kᵀ; None for 1/√D.
      causal, align: as in `attn.varlen_sdpa`, from the lengths of each sequence; offsets are (B,).
      sink: (Hq,) floats, a score a head that takes part in the sum of the softmax only; has a gradient.
      return_lse: return lse (Hq, total_q) too.
      return_max: return the largest score of each row (Hq, total_q) too, a sink among them, without gradient.
      dynamic: one kernel for any number of sequences and rows; not with offsets.
      {words}

    Returns:
      out (total_q, Hq, Dv), or a tuple of out and further results, in the order lse, max.

    Raises:
      TypeError, ValueError, RuntimeError: as `sdpa`.
    """
    if words:
        _signatures.words("attn.torch.varlen_sdpa", varlen_sdpa, words)
    sums = {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    _context.check(q=q, k=k, v=v, sink=sink, causal=causal, align=align, **sums)
    if _active.stack:
        options = {"scale": scale, "causal": causal, "align": align, "sink": sink, "return_lse": return_lse}
        options |= {"return_max": return_max, **words}
        return _active.packed_call(q, k, v, cu_seqlens_q, cu_seqlens_k, options)
    offsets = next((x for x in (causal, align) if x is not None and not isinstance(x, str)), None)
    alignments = [x if x is None or isinstance(x, str) else "top_left" for x in (causal, align)]
    call = Call(
        *(q, k, v, _integers(cu_seqlens_q, q), _integers(cu_seqlens_k, q)),
        sink=sink,
        offsets=None if offsets is None else _integers(offsets, q),
        scale=scale,
        causal=alignments[0],
        align=alignments[1],
        dynamic=dynamic,
        words=_ops.flat_words(words),
    )
    made = Results(*_operator(*call.flat()))
    rows = ([made.lse] if return_lse else []) + ([made.max] if return_max else [])
    return (made.out, *rows) if rows else made.out


varlen_sdpa.__doc__ = _signatures.with_words(varlen_sdpa.__doc__)


def _integers(value: Any, q: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else torch.as_tensor(value, device=q.device)
