"""Steps of a serving engine that nothing but their caller sees: without PyTorch's dispatcher, by plans, as `_eager`.

A plan is made for the types, strides and fixed sizes of tensors and the constants of a call, and its kernel is dynamic:
sequences, tokens and the width of the block table are written by each call, as addresses are. Values are in no key: the
kernel's entry tests them, and of a call that it refuses the operator finds the error again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import increment_version

from attn.call import _checks, _pages, _running, _serving
from attn.errors import CompileError
from attn.kernel import _device, _kernel, _plan, _subclasses, _tensor
from attn.kernel._cache import plans
from attn.torch import _eager, _planned
from attn.trace import _trace

Tensor = torch.Tensor

# As manifests call the sizes that each step has its own of; results have some of the first ones.
RESULT_SIZES = ("sq", "b", "max_pages")
PAGED_SIZES = frozenset({*RESULT_SIZES, "b_plus_1"})


class _Result(NamedTuple):
    """How a result is allocated: as the manifest has it.

    Attributes:
      dtype: of its elements.
      fixed: the sizes that all calls share.
      shape: takes those of a call, in the order of RESULT_SIZES, and the fixed ones.
      is_like_q: it has the form of q, of which PyTorch allocates another in less time.
    """

    dtype: torch.dtype
    fixed: tuple[int, ...]
    shape: Callable[[tuple[int, ...]], tuple[int, ...]]
    is_like_q: bool

    @classmethod
    def of(cls, described: dict[str, Any], of_q: dict[str, Any], q: Tensor) -> _Result:
        """Of a result and q in the manifest.

        Raises:
          ValueError: a size is none that a call says.
        """
        fixed = tuple([x for x in described["shape"] if isinstance(x, int)])
        left = iter(range(len(RESULT_SIZES), len(RESULT_SIZES) + len(fixed)))
        places = [next(left) if isinstance(x, int) else RESULT_SIZES.index(x) for x in described["shape"]]
        is_like_q = q.is_contiguous() and all(described[x] == of_q[x] for x in ("dtype", "shape"))
        return cls(getattr(torch, described["dtype"]), fixed, operator.itemgetter(*places), is_like_q)


class Paged(NamedTuple):
    """Attention of packed queries.

    Attributes:
      plan: calls the kernel.
      results: all of the kernel, in its order.
      shaped: which tensors that functions read have sizes that each call has of its own.
    """

    plan: _plan.Plan
    results: list[_Result]
    shaped: list[int]


class _OnDevice(NamedTuple):
    """The same on a GPU, where each size that calls have of their own has a step.

    Attributes:
      kernel: of all sizes.
      device: where it runs.
      pages: of the caches, where a window may have freed some, of which the table may have anything; otherwise 0.
      table: where that stands among the tensors.
    """

    kernel: _kernel.Kernel
    device: _device.TorchDevice
    pages: int
    table: int

    def run(self, tensors: list[Tensor], addresses: list[int], sizes: Hashable) -> tuple[Tensor, ...] | None:
        """The results; None where the operator has to copy or convert first."""
        if self.pages:
            clipped = tensors[self.table].clip(0, self.pages - 1)
            tensors = [*tensors[: self.table], clipped, *tensors[self.table + 1 :]]
            addresses = [x.data_ptr() for x in tensors]
        key = (self, sizes)
        if key not in plans:
            plans.keep(key, _planned.made(self.kernel, tensors, tensors, [x["name"] for x in self.kernel.outputs]))
        step = plans[key]
        return tuple(step.run(tensors, addresses)) if step is not None and step.runs_here(addresses) else None


def paged(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    table: Tensor,
    lengths: Tensor,
    sums: Tensor,
    others: tuple[Tensor | None, ...],
    constants: tuple[Any, ...],
    out: Tensor | None = None,
) -> tuple[Tensor, ...] | None:
    """The results of `attn.torch.paged_sdpa`, dynamic, by a plan; None where there is none. Nobody else sees the call.

    Args:
      q, keys, values, table, lengths, sums: as there, in its order.
      others: sink, k_scale and v_scale, and behind them the tensors that functions of scores read.
      constants: page_layout, scale, causal, align, return_lse, return_key_sums, the text of functions of any sizes, the
        names of what they read, and words with the types of their values, and these.
      out: where the first result goes.
    """
    given = (keys, values, table, lengths, sums, others, constants)
    made = _paged(q, *given, out)
    return _padded(q, *given, out) if made is None else made


def _padded(q: Tensor, keys: Tensor, values: Tensor, *given: Any) -> tuple[Tensor, ...] | None:
    """The same of a step with rows of q behind the last sum, by the plan of its other rows; None of others."""
    *given, out = given
    _, _, sums, _, (_, _, _, _, return_lse, *_) = given
    try:
        tokens, heads, _ = q.shape
        if not sums.is_cpu or not 0 <= int(sums[-1]) < tokens:
            return None
        count = int(sums[-1])
        whole = q.new_zeros((tokens, heads, values.shape[-1])) if out is None else out
        made = _paged(q[:count], keys, values, *given, whole[:count])
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):  # which the operator refuses
        return None
    if made is None:
        return None
    _, *rest = made
    if return_lse:
        rest[0] = torch.nn.functional.pad(rest[0], (0, tokens - count), value=-torch.inf)
    return (whole, *rest)


def _paged(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    table: Tensor,
    lengths: Tensor,
    sums: Tensor,
    others: tuple[Tensor | None, ...],
    constants: tuple[Any, ...],
    out: Tensor | None,
) -> tuple[Tensor, ...] | None:
    """As `paged`, of all rows of q."""
    try:
        (tokens, heads, size), (batch, width) = q.shape, table.shape
        found, tensors = found_paged(q, keys, values, table, lengths, sums, others, constants, out)
        addresses = [x.data_ptr() for x in tensors]
    except (AttributeError, RuntimeError, TypeError, ValueError):  # no tensors, of another rank, or without memory
        return None
    captures = others[3:]
    if found is None:
        return None
    if isinstance(found, _OnDevice):
        if out is not None:
            return None
        of_captures = [x.shape for x in captures]
        return found.run(tensors, addresses, (tokens, batch, width, lengths.numel(), sums.numel(), *of_captures))
    plan, described, shaped = found
    sizes = [tokens, heads, size, lengths.numel(), sums.numel(), batch, width]
    for n in shaped:
        sizes += captures[n].shape
    results = []
    for dtype, fixed, shape_of, is_like_q in described:
        shape = shape_of((tokens, batch, width, *fixed))
        if out is not None and not results:
            if not _takes(out, shape, dtype):
                return None
            result = out
        else:
            result = torch.empty_like(q) if is_like_q else q.new_empty(*shape, dtype=dtype)
        results.append(result)
        addresses.append(result.data_ptr())
        sizes += shape
    if not runs(plan, addresses, sizes):
        return None
    if out is not None and not out.is_inference():
        increment_version(out)
    return tuple(results)


def _takes(out: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    """Whether a kernel may write a result there; of inference tensors outside of inference mode PyTorch decides."""
    is_writable = torch.is_inference_mode_enabled() or not out.is_inference()
    return out.shape == shape and out.dtype == dtype and out.is_contiguous() and is_writable


def found_paged(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    table: Tensor,
    lengths: Tensor,
    sums: Tensor,
    others: tuple[Tensor | None, ...],
    constants: tuple[Any, ...],
    out: Tensor | None = None,
) -> tuple[Paged | _OnDevice | None, list[Tensor]]:
    """The plan of a call, None where it converts or copies before the kernel has it; and its tensors in kernels' order.

    Raises:
      AttributeError, RuntimeError, TypeError, ValueError: these are no tensors, of another rank, or without memory.
    """
    sink, k_scale, v_scale, *captures = others
    key_shape, value_shape = keys.shape, values.shape
    if key_shape[0] != value_shape[0]:
        (keys, values), (k_scale, v_scale) = _pages.common(keys, values, k_scale, v_scale)
        others = (sink, k_scale, v_scale, *captures)
    form: tuple[Any, ...] = (
        (*q.shape[1:], q.dtype, q.is_contiguous() or q.stride()),
        (keys.shape, keys.dtype, keys.is_contiguous() or keys.stride()),
        (values.shape, values.dtype, values.is_contiguous() or values.stride()),
        (table.dtype, table.is_contiguous(), lengths.dtype, lengths.is_contiguous(), lengths.dim()),
        (sums.dtype, sums.is_contiguous(), sums.dim()),
        q.get_device(),
        constants,
    )
    tensors = [q, keys, values, lengths, sums, table]  # in the order of kernels
    if captures or not (sink is k_scale is v_scale is None):
        given = (q, keys, values, sink, lengths, k_scale, v_scale, sums, table, *captures)
        tensors = [x for x in given if x is not None]
        form += tuple([None if x is None else (x.shape, x.dtype, x.is_contiguous()) for x in others[:3]])
        form += tuple([(x.dim(), x.dtype, x.is_contiguous()) for x in captures])
    if not are_plain(tensors if out is None else [*tensors, out]):
        return None, tensors
    try:
        return plans[form], tensors
    except KeyError:
        named = {"sink": sink, "k_scale": k_scale, "v_scale": v_scale, "cu_seqlens_q": sums}
        given = (q, keys, values, table, lengths)
        return keep_made(form, lambda: _made_paged(tensors, given, named, captures, constants)), tensors


def _made_paged(
    tensors: list[Tensor],
    given: tuple[Tensor, ...],
    named: dict[str, Any],
    captures: list[Tensor],
    constants: tuple[Any, ...],
) -> Paged | _OnDevice | None:
    """The plan; the call is tested as each other one.

    Raises:
      TypeError, ValueError, CompileError: the call is refused.
    """
    page_layout, scale, causal, align, return_lse, return_key_sums, text, names, *pairs = constants
    words = {name: value for name, _, value in pairs}
    if not all(x is None or isinstance(x, str) for x in (causal, align)) or isinstance(scale, Tensor):
        raise TypeError("expected no tensor among the constants")
    if causal is align is None and _checks.placed(words):
        raise ValueError("expected no words that take the lengths for equal, which are values")
    options = {"scale": scale, "causal": causal, "align": align, "return_lse": return_lse, **words}
    options["return_key_sums"] = return_key_sums
    device = _device.of(tensors[0])
    target = device.target if isinstance(device, _device.TorchDevice) else "host"
    options |= {"target": target, "page_layout": page_layout, "dynamic": True}
    if text:
        regions = _trace.Regions(text, tuple(names.split(",")) if names else ())
        arrays = captures if target != "host" else [_tensor.as_array("a captured tensor", x) for x in captures]
        options["score_mod"] = _trace.Traced(regions, tuple(arrays))
    kernel, _ = _running.prepared(_serving.paged, *given, **named, **options)
    if [x["dtype"] for x in kernel.inputs] != [_subclasses.element_of(x.dtype) for x in tensors]:
        return None
    if isinstance(device, _device.TorchDevice):
        pages = tensors[1].shape[0] if _checks.placed(words) else 0
        return _OnDevice(kernel, device, pages, [x["name"] for x in kernel.inputs].index("block_table"))
    arrays = [_tensor.as_array("input", x) for x in tensors]
    first = len(tensors) - len(captures)
    opened = [{y for y in x["shape"] if isinstance(y, str)} for x in kernel.inputs[first:]]
    plan, copied = kernel.plan(arrays, [x["name"] for x in kernel.outputs], PAGED_SIZES.union(*opened))
    if copied:
        return None
    results = [_Result.of(x, kernel.inputs[0], tensors[0]) for x in kernel.outputs]
    return Paged(plan, results, [n for n, x in enumerate(opened) if x])


def are_plain(tensors: Sequence[Any]) -> bool:
    """Whether these are tensors of PyTorch's own in one place, the CPU or a GPU, of which nobody wants a gradient."""
    is_recorded = torch.is_grad_enabled()  # PyTorch says then that there is none
    is_on_cpu = True
    for x in tensors:
        if type(x) not in _eager.PLAIN or x.is_neg() or (is_recorded and x.requires_grad):
            return False
        is_on_cpu = is_on_cpu and x.is_cpu
    return is_on_cpu or (tensors[0].is_cuda and all(x.device == tensors[0].device for x in tensors))


def keep_made(key: Hashable, make: Callable[[], Any]) -> Any:
    try:
        made = make()
    except (TypeError, ValueError, CompileError):  # which the operator finds again
        return None
    return plans.keep(key, made)


def runs(plan: _plan.Plan, addresses: list[int], sizes: list[int]) -> bool:
    """Runs the kernel, unless its entry refuses the values or sizes."""
    try:
        plan(addresses, sizes=sizes)
    except (TypeError, ValueError):
        return False
    return True
