"""The operator `attn::step`: out of `attn.torch.paged_sdpa` in graphs of torch.compile on the CPU, of engines' steps.

Most of a compiled step is PyTorch handing over arguments and results. So the constants are one text here, by which the
plan of eager calls is found, and there is one result. What plans do not take, the function of `attn::paged_sdpa` runs.
"""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from attn.kernel import _library as _libattn
from attn.torch import _ops, _place, _record, _steps

Tensor = torch.Tensor

ARGUMENTS = "str constants, Tensor q, Tensor k_cache, Tensor v_cache, Tensor block_table, Tensor kv_lengths, "
ARGUMENTS += "Tensor cu_seqlens_q, Tensor[] others"
OTHERS = ("sink", "k_scale", "v_scale")  # in this order where they are there
PLACES = "0124536"  # among the operator's tensors, behind which out stands, of those of a plan
CONSTANTS = ("scale", "causal", "align", "page_layout", "words")


_library = torch.library.Library("attn", "FRAGMENT")
_held: dict[int, _steps.Paged] = {}  # by their modules, which C++ calls: as many as there are kernels


@functools.cache
def in_cpp() -> ctypes.CDLL | None:
    """The operators in C++: libattn_torch.so; None where it does not lie beside libattn.so, or suit this PyTorch."""
    try:
        library = ctypes.CDLL(str(_libattn.path().with_name("libattn_torch.so")))
        library.attn_torch_set_planned.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        library.attn_torch_set_refused.argtypes = [ctypes.c_char_p, ctypes.py_object, ctypes.c_void_p]
    except (OSError, AttributeError):  # none, or one of an earlier build
        return None
    return library


def define(
    cls: type[Any], plan: Callable[..., Any], run_operator: Callable[..., Any]
) -> Callable[[Any], Tensor | None]:
    """The operator, as a function of a call of `attn::paged_sdpa`: its out; None of a call that it is not for.

    Args:
      cls: of calls.
      plan: of a call, what plans are found by beside tensors.
      run_operator: the function of `attn::paged_sdpa`.
    """

    @functools.lru_cache(maxsize=256)
    def read(text: str) -> tuple[dict[str, Any], list[str], Any]:
        fields = {name: tuple(x) if name == "words" else x for name, x in json.loads(text).items()}
        names = fields.pop("others")
        return fields, names, plan(cls(*[None] * cls.operands, captures=[], dynamic=True, **fields))

    def step(text: str, *tensors: Any) -> Tensor:
        fields, names, key = read(text)
        *operands, sums, others = tensors
        rest = dict(zip(names, others, strict=True))
        made = _steps.paged(*operands, sums, tuple([rest.get(x) for x in OTHERS]), key)
        if made is None:
            call = cls(*operands, captures=[], cu_seqlens_q=sums, dynamic=True, **fields, **rest)
            made = run_operator(*_record.flat(call))
        return made[0]

    def plan_step(text: str, *tensors: Any) -> Tensor:
        """For C++, to which it says a module and the order of its entry, or the error that it raises."""
        library = in_cpp()
        assert library is not None
        try:
            out = step(text, *tensors)
        except Exception as error:  # PyTorch has one type for all that comes through C++
            set_error = ctypes.cast(ctypes.pythonapi.PyErr_SetString, ctypes.c_void_p)
            library.attn_torch_set_refused(str(error).encode(), type(error), set_error)
            return tensors[0].new_empty(0)
        *operands, others = tensors
        found, _ = (None, None) if others else _steps.found_paged(*operands, (None,) * len(OTHERS), read(text)[2])
        if isinstance(found, _steps.Paged) and out.dtype == operands[0].dtype:
            module, order = found.plan.entry
            _held[module] = found
            library.attn_torch_set_planned(module, "".join([PLACES[n] for n in order]).encode())
        return out

    def shape(text: str, *tensors: Any) -> Tensor:
        *operands, others = tensors
        _place.check({"q": tensors[0]} | {str(n): x for n, x in enumerate([*operands, *others])})
        return _ops.new_results(tensors[0], tensors[2])[0]

    _library.define(f"step({ARGUMENTS}) -> Tensor")
    if in_cpp():
        _library.define(f"plan_step({ARGUMENTS}) -> Tensor")
        _library.impl("plan_step", plan_step, "CPU")
    else:
        _library.impl("step", step, "CPU")
    torch.library.register_fake("attn::step", shape, lib=_library)

    def of(call: Any) -> Tensor | None:
        named = call.tensors()
        if (
            not torch.compiler.is_compiling()
            or torch.compiler.is_exporting()
            or torch._C._are_functorch_transforms_active()
            or forward_ad._current_level >= 0
            or call.dynamic is not True
            or call.cu_seqlens_q is None
            or call.regions
            or call.with_sums
            or call.offsets is not None
            or any(x.device.type != "cpu" or (torch.is_grad_enabled() and x.requires_grad) for x in named.values())
        ):
            return None
        names = [x for x in OTHERS if x in named]
        try:
            text = json.dumps({name: getattr(call, name) for name in CONSTANTS} | {"others": names})
        except TypeError:  # a size that the graph leaves open
            return None
        others = [named[x] for x in names]
        made: Tensor = torch.ops.attn.step.default(text, *call[: call.operands], call.cu_seqlens_q, others)
        return made

    return of
