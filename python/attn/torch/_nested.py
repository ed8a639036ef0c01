"""`attn.torch.sdpa` of jagged nested tensors: their values are packed sequences."""

from __future__ import annotations

from typing import Any

import torch

from attn.torch import _broadcast, _varlen

Tensor = torch.Tensor
# What packed sequences are not given, beside None, 0 and False.
REFUSED = ("attn_mask", "dropout_p", "bias", "q_lengths", "kv_lengths", "score_mod", "mask_mod")


def sdpa(query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]) -> Any:
    """The call of `attn.torch.sdpa` on nested tensors (B, H, j, D) of layout jagged.

    Args:
      query, key, value: nested; queries may have other lengths than keys and values, which have the same.
      options: the other arguments of `attn.torch.sdpa`. Unless dynamic says otherwise, one kernel serves all lengths.

    Returns:
      Nested tensors in the form of query: out (B, Hq, j, Dv), lse and max (B, Hq, j).

    Raises:
      TypeError, ValueError: a tensor is not jagged, or is of other form; an option that packed sequences do not have.
    """
    given = {"query": query, "key": key, "value": value}
    for name, x in given.items():
        if not x.is_nested or x.layout != torch.jagged:
            raise TypeError(
                "expected query, key and value nested with layout=torch.jagged where one is nested, found "
                f"{name} {'with layout ' + str(x.layout) if x.is_nested else 'that is not nested'}"
            )
        if x.dim() != 4 or x._ragged_idx != 2:
            raise ValueError(
                f"expected a nested {name} (batch, heads, ragged length, head size), found shape {tuple(x.shape)}; "
                f"write {name}.transpose(1, 2) for one that is (batch, ragged length, heads, head size)"
            )
    for name in REFUSED:
        found = options.pop(name)
        if found is not None and not (name == "dropout_p" and found == 0):
            raise ValueError(
                f"expected no {name} with nested tensors, found it; pad them, as by x.to_padded_tensor(0.0)"
            )
    _broadcast.check_heads(query.shape[1], key.shape[1], options.pop("enable_gqa"))
    if options.pop("is_causal"):
        options["causal"] = "top_left"
    q, k, v = (_packed(x) for x in given.values())
    rows, keys = q.offsets(), k.offsets()
    if v.offsets() is not keys and not torch.equal(v.offsets(), keys):
        raise ValueError("expected value to have the lengths of key, found others")
    if options["dynamic"] is None:
        options["dynamic"] = not any(isinstance(options[name], Tensor) for name in ("causal", "align"))
    found = _varlen.varlen_sdpa(q.values(), k.values(), v.values(), rows, keys, **options)
    if isinstance(found, Tensor):
        return _nested(found, q)
    return (_nested(found[0], q), *(_nested(x.transpose(0, 1), q) for x in found[1:]))


def _packed(x: Tensor) -> Tensor:
    """(B, j, H, D) whose values lie one after the other, without holes.

    Of one with holes, as `torch.nested.narrow` makes it, the rows are selected: PyTorch's own `contiguous` has no
    gradient there.
    """
    x = x.transpose(1, 2)
    lengths = x.lengths()
    if lengths is None:
        return x
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    holes = (x.offsets()[:-1] - offsets[:-1]).repeat_interleave(lengths)  # before each row
    rows = torch.arange(len(holes), device=lengths.device) + holes
    return torch.nested.nested_tensor_from_jagged(x.values().index_select(0, rows), offsets)


def _nested(values: Tensor, model: Tensor) -> Tensor:
    """Values (total, H, …) as (B, H, j, …), with the lengths of the model."""
    return torch.nested.nested_tensor_from_jagged(
        values, model.offsets(), min_seqlen=model._maybe_min_seqlen, max_seqlen=model._maybe_max_seqlen
    ).transpose(1, 2)
