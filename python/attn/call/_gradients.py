"""The gradients of `attn.sdpa` and of packed sequences by compiled kernels."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from attn import api
from attn.call import _call, _checks, _elements, _float8, _into, _lse, _packed, _running, _scores
from attn.kernel import _cuda, _kernel, _tensor
from attn.words import _signatures
from attn.words._types import Integers, Tensor, TensorT

# What has a gradient: always, and where the call has it.
ALWAYS = ("q", "k", "v")
GIVEN = ("bias", "sink", "k_scale", "v_scale", "scale")
# The keywords of attn.sdpa, but for what says how much it returns.
RETURNED = {"return_lse", "return_weights", "return_max", "return_log_sum", "return_key_sums", *_float8.SCALES}
OPTIONS = frozenset(inspect.signature(api.sdpa).parameters) - {*ALWAYS, *RETURNED, "into"}
PACKED_OPTIONS = frozenset(inspect.signature(_packed.varlen_sdpa).parameters) - {*ALWAYS, *RETURNED, "into"}


class Pullback(Protocol[TensorT]):
    """What takes the cotangents of out and lse to the gradients by name."""

    def __call__(self, dout: Tensor | None, dlse: Tensor | None = None) -> dict[str, TensorT]: ...


@_signatures.explains_options(OPTIONS)
def sdpa_backward(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor | tuple[Tensor, Tensor],
    dout: Tensor | None,
    *,
    dlse: Tensor | None = None,
    grad: Sequence[str] = ALWAYS,
    into: Mapping[str, Tensor] | None = None,
    score_mod: Any = None,
    mask_mod: Any = None,
    dynamic: bool | None = False,
    target: str = "host",
    **options: Any,
) -> dict[str, TensorT]:
    """The gradients of Σ dout·out + Σ dlse·lse, where out and lse are what `attn.sdpa` returns, by a compiled kernel.

    No score matrix is saved by the forward pass: scores are computed again, and weights from them and lse.

    Args:
      q, k, v: as for `attn.sdpa`, in its `layout`.
      out, lse: what `attn.sdpa(q, k, v, …, return_lse=True)` returned; for lse rather its terms (max, log_sum), a pair
        (return_max=True, return_log_sum=True). As one number lse has lost the sum of a row where it is large: there
        the forward pass of this call runs again, with a RuntimeWarning, and its terms are taken where their sum is
        that lse but for rounding. On a GPU that is not tested.
      dout: the cotangent of out, of its shape and type; None for 0, beside a dlse. Rows that keep no key are not read.
      dlse: the cotangent of lse, of its shape and type; None for 0. Rows whose lse is −inf are not read.
      grad: whose gradients: of "q", "k", "v", "bias" and "sink", of a "scale" that is an array, of "k_scale" and
        "v_scale" in the place of quantised k and v, and of arrays of floats that score_mod reads, by the names that it
        has for them.
      into: arrays by name, as {"k": dk, "v": dv}, that the gradients of q, k and v are added to in place, and that are
        returned: C-contiguous float32, or float64 beside float64, of the shapes of gradients.
      score_mod, mask_mod, dynamic, target: as for `attn.sdpa`.
      options: the other keywords of `attn.sdpa`, as in the forward call, but for return_lse and return_weights.

    Returns:
      The gradients by name, in the order of `grad`, each of the shape and type of its input; those of a sink, of a
      scale and of what score_mod reads are float32, or float64 beside float64, those of k_scale and v_scale float32.
      Torch tensors or JAX arrays if q is one, otherwise NumPy arrays. Rows that keep no key have gradient 0, as have
      keys that no row keeps.

    Raises:
      TypeError, ValueError: as `attn.sdpa`; a name in `grad` that has no gradient, or that the call does not have.
      CompileError: the compiler refused the problem.
    """
    scored = _scores.taken(options, score_mod, mask_mod)
    call = _call.dense(q, k, v, target, **options)
    traced = {"score_mod": scored(call.problem, target), "mask_mod": mask_mod, "dynamic": dynamic}
    return _run(call, (out, lse, dout, dlse), grad, options, q, into, **traced)


@_signatures.explains_options(PACKED_OPTIONS)
def varlen_sdpa_backward(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor | tuple[Tensor, Tensor],
    dout: Tensor | None,
    cu_seqlens_q: Integers,
    cu_seqlens_k: Integers,
    *,
    dlse: Tensor | None = None,
    grad: Sequence[str] = ALWAYS,
    into: Mapping[str, Tensor] | None = None,
    score_mod: Any = None,
    mask_mod: Any = None,
    dynamic: bool = False,
    target: str = "host",
    **options: Any,
) -> dict[str, TensorT]:
    """The gradients of `attn.varlen_sdpa`: those of each sequence, and the sums of what sequences share.

    Args:
      q, k, v, cu_seqlens_q, cu_seqlens_k: as for `attn.varlen_sdpa`.
      out, lse: what `attn.varlen_sdpa(q, k, v, …, return_lse=True)` returned: (total_q, Hq, Dv) and (Hq, total_q), or
        for lse the pair (max, log_sum), as for `attn.sdpa_backward`.
      dout, dlse: the cotangents of out and lse, of their shapes and types; one of them may be None for 0.
      grad, into: as for `attn.sdpa_backward`; there is no bias.
      score_mod, mask_mod, dynamic, target: as for `attn.varlen_sdpa`.
      options: the other keywords of `attn.varlen_sdpa`, as in the forward call, but for return_lse.

    Returns:
      The gradients by name, in the order of `grad`, as from `attn.sdpa_backward`.

    Raises:
      TypeError, ValueError, CompileError: as `attn.sdpa_backward`.
    """
    scored = _scores.taken(options, score_mod, mask_mod, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    call = _packed.packed(q, k, v, cu_seqlens_q, cu_seqlens_k, target, **options)
    traced = {"score_mod": scored(call.problem, target), "mask_mod": mask_mod, "dynamic": dynamic}
    return _run(call, (out, lse, dout, dlse), grad, options, q, into, **traced)


class _Saved(NamedTuple):
    """What the forward pass returned, and the cotangents of that, in the order of kernels."""

    out: Any
    max: Any
    log_sum: Any
    dout: Any
    dlse: Any = None

    def checked(self, *, is_on_device: bool) -> dict[str, Any]:
        """What is there of it by name; where one of the cotangents is None, it is 0."""
        if self.dout is None and self.dlse is None:
            raise TypeError("expected dout or dlse, the cotangent of out or of lse, found None for both")
        named = {name: x for name, x in self._asdict().items() if x is not None or name != "dlse"}
        for name, x in named.items():
            if x is None and (name != "dout" or is_on_device):
                write = "zeros like out" if name == "dout" else "that of the forward call with return_lse=True"
                raise TypeError(f"expected {name} to be an array, found None; write {write}")
        if is_on_device:
            return named
        named["dout"] = np.zeros_like(_tensor.as_array("out", self.out)) if self.dout is None else self.dout
        return {name: _tensor.as_array(name, x) for name, x in named.items()}


def _run(
    call: _call.Call,
    saved: tuple[Any, ...],
    grad: Sequence[str],
    options: dict[str, Any],
    model: Any,
    into: Mapping[str, Any] | None = None,
    **traced: Any,
) -> dict[str, Any]:
    """The gradients of a call with these out, lse, dout and dlse; `traced` as for `_call.Call.traced`."""
    names = _checks.gradients(grad)
    sums = _into.gradients(into, names, call.target)
    out, lse, *cotangents = saved
    is_on_device = _cuda.is_target(call.target)
    results = _Saved(out, *_lse.terms(lse, _rows(call)), *cotangents).checked(is_on_device=is_on_device)
    if not is_on_device and not isinstance(lse, tuple):
        results = with_sums(call, results, **traced)
    added = tuple([name for name in names if name in sums])
    kernel, inputs = _kernel_of(call, results, names, options, added, **traced)
    gradients = kernel.run(inputs, model, [sums.get(name) for name in names] if sums else None)
    return dict(zip(names, gradients if len(names) > 1 else (gradients,), strict=True))


def prepared(
    make: Callable[..., _call.Call],
    operands: Sequence[Any],
    saved: tuple[Any, ...],
    names: tuple[str, ...],
    *,
    dynamic: bool | None,
    **options: Any,
) -> tuple[_kernel.Kernel, list[Any]]:
    """The kernel of the backward of a call, and what it takes; `saved` are out, both terms of lse, dout and dlse."""
    score_mod = options.pop("score_mod", None)
    call = make(*operands, **{"target": "host"} | options)
    named = _Saved(*saved).checked(is_on_device=_cuda.is_target(call.target))
    return _kernel_of(call, named, names, options, score_mod=score_mod, mask_mod=None, dynamic=dynamic)


def _kernel_of(
    call: _call.Call,
    results: dict[str, Any],
    names: tuple[str, ...],
    options: dict[str, Any],
    into: tuple[str, ...] = (),
    **traced: Any,
) -> tuple[_kernel.Kernel, list[Any]]:
    is_wide = call.problem.wide_result or _elements.is_widened_into(into, call.problem.dtype)
    problem = dataclasses.replace(call.problem, lse="dlse" in results, grad=names, into=into, wide_result=is_wide)
    source, functions = call._replace(problem=problem, inputs=[*call.inputs, *results.values()]).traced(**traced)
    _check_names(names, options, functions.regions.names)
    return _running.compiled(source, call.target, "sdpa_backward"), [*call.inputs, *functions.arrays, *results.values()]


def _rows(call: _call.Call) -> tuple[int, ...]:
    """The shape of what there is of each row."""
    b, hq, sq = call.problem.sizes.scores[:3]
    return (hq, sq) if call.problem.layout == "varlen" else (b, hq, sq)


def with_sums(call: _call.Call, saved: dict[str, Any], **traced: Any) -> dict[str, Any]:
    """What was saved with an lse of one number, with the terms of it where it is large."""

    def forward() -> tuple[Any, Any]:
        problem = dataclasses.replace(call.problem, lse=False, weights=False, max=True, log_sum=True)
        source, functions = call._replace(problem=problem).traced(**traced)
        row_max, log_sum = _running.compiled(source, call.target).run([*call.inputs, *functions.arrays], None)[1:]
        return row_max, log_sum

    row_max, log_sum = _lse.with_sums(saved["max"], forward)
    return saved | {"max": row_max, "log_sum": log_sum}


@_signatures.explains_options(OPTIONS)
def vjp(
    q: TensorT, k: Tensor, v: Tensor, *, grad: Sequence[str] = ALWAYS, return_lse: bool = False, **options: Any
) -> tuple[Any, Callable[..., dict[str, TensorT]]]:
    """`attn.sdpa`, and what takes a cotangent of its output to the gradients.

    Args:
      q, k, v: as for `attn.sdpa`; they must not change before the gradients are computed.
      grad: as for `attn.sdpa_backward`.
      return_lse: return (out, lse) in place of out.
      options: the other keywords of `attn.sdpa`, but for return_weights.

    Returns:
      out, or (out, lse), and pullback(dout, dlse=None) → gradients by name, as `attn.sdpa_backward`.

    Raises:
      TypeError, ValueError, CompileError: as `attn.sdpa` and, from pullback, `attn.sdpa_backward`.
    """
    return _vjp(api.sdpa, sdpa_backward, (q, k, v), (), grad, return_lse, options)


@_signatures.explains_options(PACKED_OPTIONS)
def varlen_vjp(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Integers,
    cu_seqlens_k: Integers,
    *,
    grad: Sequence[str] = ALWAYS,
    return_lse: bool = False,
    **options: Any,
) -> tuple[Any, Callable[..., dict[str, TensorT]]]:
    """`attn.varlen_sdpa`, and what takes a cotangent of its output to the gradients.

    Args:
      q, k, v, cu_seqlens_q, cu_seqlens_k: as for `attn.varlen_sdpa`; they must not change before the gradients are
        computed.
      grad: as for `attn.varlen_sdpa_backward`.
      return_lse: return (out, lse) in place of out.
      options: the other keywords of `attn.varlen_sdpa`.

    Returns:
      out, or (out, lse), and pullback(dout, dlse=None) → gradients by name, as `attn.varlen_sdpa_backward`.

    Raises:
      TypeError, ValueError, CompileError: as `attn.varlen_sdpa` and, from pullback, `attn.varlen_sdpa_backward`.
    """
    sums = (cu_seqlens_q, cu_seqlens_k)
    return _vjp(_packed.varlen_sdpa, varlen_sdpa_backward, (q, k, v), sums, grad, return_lse, options)


def _vjp(
    forward: Callable[..., Any],
    backward: Callable[..., dict[str, Any]],
    arrays: tuple[Any, ...],
    sums: tuple[Any, ...],
    grad: Sequence[str],
    return_lse: bool,
    options: dict[str, Any],
) -> tuple[Any, Callable[..., dict[str, Any]]]:
    """The results of a forward pass, and its backward pass as a function of cotangents."""
    names = _checks.gradients(grad)
    if options.get("score_mod") is None is options.get("alibi_slopes"):
        _check_names(names, options)
    with_lse = _checks.flag("return_lse", return_lse)
    out, *rest = forward(*arrays, *sums, return_lse=with_lse, return_max=True, return_log_sum=True, **options)
    terms = tuple(rest[-2:])

    def pullback(dout: Tensor | None, dlse: Tensor | None = None) -> dict[str, Any]:
        return backward(*arrays, out, terms, dout, *sums, dlse=dlse, grad=grad, **options)

    return ((out, rest[0]) if with_lse else out), pullback


def _check_names(names: tuple[str, ...], options: dict[str, Any], captured: tuple[str, ...] = ()) -> None:
    """Each name once, of what this call has."""
    arrays = options | {"scale": _tensor.as_scalar("scale", options.get("scale"))}
    known = (*ALWAYS, *(name for name in GIVEN if arrays.get(name) is not None), *captured)
    for name in names:
        if name not in known:
            advice = "; write scale=numpy.asarray(…) for one that has" if name == "scale" else ""
            raise ValueError(
                f"expected grad to name some of {', '.join(known)}, found {name!r}, which has no gradient{advice}"
            )
    if not names or len(set(names)) < len(names):
        raise ValueError(f"expected grad to name one or more of {', '.join(known)}, each once, found {list(names)}")
