"""The operator `attn::step`: out of `attn.torch.paged_sdpa` in graphs of torch.compile on the CPU, of engines' steps.

Most of a compiled step is PyTorch handing over arguments and results. So the constants are one text here, by which the
plan of eager calls is found, and there is one result. What plans do not take, the function of `attn::paged_sdpa` runs.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from attn.torch import _ops, _place, _record, _steps

Tensor = torch.Tensor

SCHEMA = "step(str constants, Tensor q, Tensor k_cache, Tensor v_cache, Tensor block_table, Tensor kv_lengths, "
SCHEMA += "Tensor cu_seqlens_q, Tensor[] others) -> Tensor"
OTHERS = ("sink", "k_scale", "v_scale")  # in this order where they are there
CONSTANTS = ("scale", "causal", "align", "page_layout", "words")


class _Constants:
    """Those of calls: as fields of a call, which others there are, and what plans are found by beside tensors.

    `last` is the form of the last call without others that had a plan, which less has to be asked for than for any form
    that has one, and the plan.
    """

    def __init__(self, fields: dict[str, Any], names: list[str], key: tuple[Any, ...]) -> None:
        self.fields, self.names, self.key = fields, names, key
        self.last: tuple[Any, Any] = (None, None)


_library = torch.library.Library("attn", "FRAGMENT")


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
    def read(text: str) -> _Constants:
        fields = {name: tuple(x) if name == "words" else x for name, x in json.loads(text).items()}
        names = fields.pop("others")
        return _Constants(fields, names, plan(cls(*[None] * cls.operands, captures=[], dynamic=True, **fields)))

    # One frame, and no function of PyTorch that is written in Python: its compiler sees each.
    def step(
        text: str,
        q: Tensor,
        keys: Tensor,
        values: Tensor,
        table: Tensor,
        lengths: Tensor,
        sums: Tensor,
        others: list[Tensor],
    ) -> Tensor:
        constants = read(text)
        try:
            (tokens, heads, size), (batch, width) = q.shape, table.shape
            (counts,), (ends,) = lengths.shape, sums.shape
            form = (
                (heads, size, q.dtype, keys.dtype, values.dtype, table.dtype, lengths.dtype, sums.dtype),
                (table.is_contiguous(), lengths.is_contiguous(), sums.is_contiguous()),
                (keys.shape, values.shape, q.is_contiguous() or q.stride()),
                (keys.is_contiguous() or keys.stride(), values.is_contiguous() or values.stride()),
            )
            last, found = constants.last
            if others or form != last:
                return other(constants, form, q, keys, values, table, lengths, sums, others)
            run, ((dtype, fixed, shape_of, is_like_q),), _ = found
            shape = shape_of((tokens, batch, width, *fixed))
            out = torch.empty_like(q) if is_like_q else q.new_empty(*shape, dtype=dtype)
            addresses = (q.data_ptr(), keys.data_ptr(), values.data_ptr(), lengths.data_ptr())
            addresses += (sums.data_ptr(), table.data_ptr(), out.data_ptr())
            run(addresses, sizes=(tokens, heads, size, counts, ends, batch, width, *shape))
        except (TypeError, ValueError):  # which the operator finds again, or another rank
            return other(constants, None, q, keys, values, table, lengths, sums, others)
        return out

    def other(constants: _Constants, form: Any, *tensors: Any) -> Tensor:
        *operands, sums, others = tensors
        rest = dict(zip(constants.names, others, strict=True))
        given = (*operands, sums, tuple([rest.get(x) for x in OTHERS]), constants.key)
        made = _steps.paged(*given)
        if made is None:
            call = cls(*operands, captures=[], cu_seqlens_q=sums, dynamic=True, **constants.fields, **rest)
            made = run_operator(*_record.flat(call))
        elif form is not None and not others:
            found, _ = _steps.found_paged(*given)
            if isinstance(found, _steps.Paged) and operands[1].shape[0] == operands[2].shape[0]:
                constants.last = form, found
        return made[0]

    def shape(text: str, *tensors: Any) -> Tensor:
        *operands, others = tensors
        _place.check({"q": tensors[0]} | {str(n): x for n, x in enumerate([*operands, *others])})
        return _ops.new_results(tensors[0], tensors[2])[0]

    _library.define(SCHEMA)
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
