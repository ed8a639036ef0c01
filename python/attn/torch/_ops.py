"""The operators `attn::sdpa` and `attn::sdpa_backward` of PyTorch: what they run, and all that PyTorch asks of one.

Their arguments are tensors and constants alone, so that graphs of torch.compile and torch.export hold them as they are:
functions are there as the text of their regions, and the names and tensors of what these read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch._library.autograd import make_autograd_impl
from torch.utils import _pytree as pytree

import attn
from attn import _trace, _words
from attn.torch import _context, _place

KINDS = {"Bounds": "int[]?", "Integer": "int?", "Positive": "float?"}
# Of the tensors, those that have a gradient; the names are those of `attn.sdpa_backward`.
DIFFERENTIABLE = ("q", "k", "v", "bias", "sink")
SECOND_ORDER = (
    "expected a gradient of first order of attn::sdpa, found one of second order: attn::sdpa_backward has no gradient "
    "of its own; write the attention by torch's operators where such gradients are needed (create_graph=True)"
)
DEVICES = ("cpu", "cuda")  # whose kernels there are
ORIGINS = ("q_origin", "k_origin", "b_origin", "h_origin")
NO_BOUND = -1  # of a window: None
CAPTURE = "captures."  # and a number: one of the tensors that functions of scores read


def words_of(cls: type[Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The words of a call of this kind, which stand last, one by one; PyTorch drops trailing defaults."""
    given = tuple(arguments[len(cls._fields) - 1 :])
    return given + (None,) * (len(_words.FORMS) - len(given))


def flat_words(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of words as operators take them; None of those that are not there."""
    words = {name: given.get(name) for name in _words.FORMS}
    for name, form in _words.FORMS.items():
        if form == "Bounds" and words[name] is not None:
            words[name] = [NO_BOUND if bound is None else bound for bound in words[name]]
    return tuple(words.values())


def keywords(call: Any, names: Iterable[str]) -> dict[str, Any]:
    """The keywords of attn's functions of a call: these of its fields, its words, and offsets in their place."""
    words = dict(zip(_words.FORMS, call.words, strict=True))
    for name, form in _words.FORMS.items():
        if form == "Bounds" and words[name] is not None:
            words[name] = tuple(None if bound == NO_BOUND else bound for bound in words[name])
    named = {name: getattr(call, name) for name in (*names, "scale", "causal", "align")} | words
    if call.offsets is not None:  # causal or align is a word for where they go
        named["causal" if call.causal is not None else "align"] = call.offsets
    return {name: x for name, x in named.items() if x is not None} | {"dynamic": call.dynamic}


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

    @classmethod
    def of(cls, arguments: tuple[Any, ...]) -> Call:
        """From what an operator is called with."""
        if arguments[3] is None:  # of an empty list AOTInductor hands over none
            arguments = (*arguments[:3], [], *arguments[4:])
        return cls(*arguments[: len(cls._fields) - 1], words=words_of(cls, arguments))

    def flat(self) -> tuple[Any, ...]:
        """The arguments, the words one by one."""
        return (*self[:-1], *(self.words or (None,) * len(_words.FORMS)))

    def input(self, name: str) -> torch.Tensor:
        """What has the gradient `name`: an argument, or a captured tensor by its number."""
        if name.startswith(CAPTURE):
            return self.captures[int(name.removeprefix(CAPTURE))]
        tensor: torch.Tensor = getattr(self, name)
        return tensor

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors by name; those that functions read by that of the function's argument."""
        found = {name: x for name, x in zip(self._fields, self, strict=True) if isinstance(x, torch.Tensor)}
        return found | dict(zip(self.functions().names, self.captures, strict=True))

    def functions(self) -> _trace.Regions:
        """The functions of the call."""
        return _trace.Regions(self.regions, tuple(self.captured.split(",")) if self.captured else ())

    def options(self) -> dict[str, Any]:
        """The keywords of `attn.sdpa` beside q, k and v."""
        given = keywords(self, ("bias", "mask", "sink", "q_lengths", "kv_lengths", *ORIGINS))
        if self.whole is not None:
            given["whole"] = tuple(self.whole)
        if self.dropout is not None:
            seed, offset = self.seeds.tolist()
            given["dropout"] = (self.dropout, seed, offset)
        if self.regions:
            given["score_mod"] = _trace.Traced(self.functions(), tuple(x.detach() for x in self.captures))
        return given


RESULTS = "Tensor dout, Tensor out, Tensor max, Tensor log_sum"
TENSORS = "Tensor q, Tensor k, Tensor v, Tensor[] captures"
INPUTS = "Tensor? bias=None, Tensor? mask=None, Tensor? sink=None, Tensor? q_lengths=None, Tensor? kv_lengths=None, "
INPUTS += "Tensor? offsets=None, Tensor? seeds=None, float? scale=None, str? causal=None, "
INPUTS += 'str? align=None, float? dropout=None, str regions="", str captured="", bool? dynamic=None'
INPUTS += ", Tensor? q_origin=None, Tensor? k_origin=None, int? b_origin=None, int? h_origin=None, int[]? whole=None"
INPUTS += "".join(f", {KINDS[form]} {name}=None" for name, form in _words.FORMS.items())


def _lse_type(q: torch.Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


class Results(NamedTuple):
    """What `attn::sdpa` returns: the last two, the terms of lse, are what the backward takes."""

    out: torch.Tensor
    lse: torch.Tensor
    max: torch.Tensor
    log_sum: torch.Tensor


def _run(*arguments: Any) -> Results:
    call = Call.of(arguments)
    options = _place.options(call.tensors(), call.options())
    flags = dict.fromkeys(("return_lse", "return_max", "return_log_sum"), True)
    return Results(*attn.sdpa(call.q, call.k, call.v, **options, **flags))


def _run_backward(
    dout: torch.Tensor,
    out: torch.Tensor,
    row_max: torch.Tensor,
    log_sum: torch.Tensor,
    dlse: torch.Tensor | None,
    grad: str,
    *arguments: Any,
) -> list[torch.Tensor]:
    call, wanted = Call.of(arguments), grad.split(",")
    options = _place.options(call.tensors(), call.options())
    names = argument_names(call, wanted)
    found = attn.sdpa_backward(call.q, call.k, call.v, out, (row_max, log_sum), dout, dlse=dlse, grad=names, **options)
    # of a sink attn has float32
    return [found[name].to(call.input(x).dtype) for name, x in zip(names, wanted, strict=True)]


def argument_names(call: Call, wanted: list[str]) -> tuple[str, ...]:
    """What `attn.sdpa_backward` calls the inputs of these names."""
    captured = call.functions().names
    return tuple(captured[int(x.removeprefix(CAPTURE))] if x.startswith(CAPTURE) else x for x in wanted)


sdpa = torch.library.custom_op(
    "attn::sdpa",
    _run,
    mutates_args=(),
    device_types=DEVICES,
    schema=f"({TENSORS}, {INPUTS}) -> (Tensor out, Tensor lse, Tensor max, Tensor log_sum)",
)
sdpa_backward = torch.library.custom_op(
    "attn::sdpa_backward",
    _run_backward,
    mutates_args=(),
    device_types=DEVICES,
    schema=f"({RESULTS}, Tensor? dlse, str grad, {TENSORS}, {INPUTS}) -> Tensor[]",
)


@sdpa.register_fake
def _shapes(*arguments: Any) -> Results:
    q, _, v = arguments[:3]
    _place.check(Call.of(arguments).tensors())
    rows = [q.new_empty(q.shape[:3], dtype=_lse_type(q)) for _ in Results._fields[1:]]
    return Results(q.new_empty((*q.shape[:3], v.shape[3])), *rows)


@sdpa_backward.register_fake
def _shapes_backward(
    dout: torch.Tensor,
    out: torch.Tensor,
    row_max: torch.Tensor,
    log_sum: torch.Tensor,
    dlse: torch.Tensor | None,
    grad: str,
    *arguments: Any,
) -> list[torch.Tensor]:
    call = Call.of(arguments)
    return [torch.empty_like(call.input(name), memory_format=torch.contiguous_format) for name in grad.split(",")]


def remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    """Keeps what the backward needs: the arguments, out, max and log_sum."""
    call = Call.of(inputs)
    tensors = {name: x for name, x in zip(Call._fields, call, strict=True) if isinstance(x, torch.Tensor)}
    out, _, row_max, log_sum = output
    ctx.save_for_backward(out, row_max, log_sum, *call.captures, *tensors.values())
    ctx.names, ctx.constants = list(tensors), call._replace(captures=[], **dict.fromkeys(tensors))
    ctx.captures = len(call.captures)
    ctx.mark_non_differentiable(row_max, log_sum)
    ctx.set_materialize_grads(False)


def differentiate(
    ctx: Any,
    dout: torch.Tensor | None,
    dlse: torch.Tensor | None,
    _dmax: None,
    _dlog_sum: None,
    backward: Any = None,
    needs: tuple[Any, ...] | None = None,
) -> tuple[Any, ...]:
    """The gradients of all arguments, or of those that need one, by `attn::sdpa_backward` or what calls it."""
    needs = ctx.needs_input_grad if needs is None else needs
    out, row_max, log_sum, *saved = ctx.saved_tensors
    captures, tensors = saved[: ctx.captures], saved[ctx.captures :]
    call = ctx.constants._replace(captures=captures, **dict(zip(ctx.names, tensors, strict=True)))
    needed = dict(zip(Call._fields, needs, strict=False))
    wanted = [name for name in DIFFERENTIABLE if needed.get(name)]
    of_captures = needed["captures"] if isinstance(needed["captures"], list | tuple) else []
    wanted += [f"{CAPTURE}{n}" for n, is_needed in enumerate(of_captures) if is_needed]
    if dout is None:
        dout = torch.zeros_like(out)
    run = backward or sdpa_backward
    found = run(dout, out, row_max, log_sum, dlse, ",".join(wanted), *call.flat()) if wanted else []
    grads = dict(zip(wanted, found, strict=True))
    result = [grads.get(name) for name in Call._fields[:-1]]
    result[Call._fields.index("captures")] = [grads.get(f"{CAPTURE}{n}") for n in range(ctx.captures)]
    # Arguments at their defaults are not passed on, and before PyTorch 2.12 had to have no gradient here.
    return (*result, *[None] * len(_words.FORMS))[: len(needs)]


def refuse_second_order(ctx: Any, *grads: Any) -> None:
    """The gradient of the backward: there is none."""
    raise RuntimeError(SECOND_ORDER)


sdpa.register_autograd(differentiate, setup_context=remember)
sdpa_backward.register_autograd(refuse_second_order)


def _check_recorded(operator: Any, check: Callable[..., None] = _context.refuse_forward_mode) -> None:
    """Has what records calls of an operator, in graphs of torch.compile too, check the leaves of its arguments first.

    Without it PyTorch would take the results for constants of forward mode.
    """
    record = make_autograd_impl(operator._opoverload, operator)

    def checked(keyset: Any, *arguments: Any, **keywords: Any) -> Any:
        check(*pytree.tree_leaves(arguments))
        return record(keyset, *arguments, **keywords)

    operator._lib.impl(operator._name, checked, "Autograd", with_keyset=True, allow_override=True)


_check_recorded(sdpa)
_check_recorded(sdpa_backward)
