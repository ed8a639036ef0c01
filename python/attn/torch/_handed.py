"""Calls of `attn.sdpa` with tensors of PyTorch alone, by the plans of `attn.torch.sdpa`: one kernel for all lengths."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from attn import api
from attn.torch import _eager, _ops, _record
from attn.words import _words

ARRAYS = ("q", "k", "v", "bias", "mask", "sink", "q_lengths", "kv_lengths")
RETURNED = {"lse": "return_lse", "max": "return_max", "log_sum": "return_log_sum"}
TAKEN = (*ARRAYS, *RETURNED.values(), "scale", "causal", "align", "dynamic")
# Of all other keywords what they are where they are not given.
DEFAULTS = [
    (name, x.default)
    for name, x in inspect.signature(api.sdpa).parameters.items()
    if name not in (*TAKEN, *_words.FORMS)
]


def sdpa(given: dict[str, Any]) -> torch.Tensor | tuple[torch.Tensor, ...] | None:
    """The results of a call with these arguments; None where there is no plan, and of what `attn.sdpa` refuses."""
    if _eager.is_seen():
        return None
    for name, default in DEFAULTS:
        if given[name] is not default:
            return None
    words, flags = given["words"], [given[flag] for flag in RETURNED.values()]
    named = {name: x for name in ARRAYS if (x := given[name]) is not None}
    if not all(type(x) is torch.Tensor and x.is_cpu and not x.requires_grad for x in named.values()):
        return None
    if not all(type(x) is bool for x in flags) or not all(type(given[x]) in KINDS[x] for x in KINDS):
        return None
    q, k, v = named["q"], named["k"], named["v"]
    if not q.dim() == k.dim() == v.dim() == 4 or not q.dtype == k.dtype == v.dtype or not _fit(q, k, v):
        return None
    try:
        flat = _record.flat_words(words) if words else _record.NO_WORDS
    except TypeError:
        return None
    call = _ops.Call(
        **named,
        captures=[],
        scale=given["scale"],
        causal=given["causal"],
        align=given["align"],
        dynamic=given["dynamic"] or None,
        words=flat,
    )
    returned = ("out", *[name for name, flag in zip(RETURNED, flags, strict=True) if flag])
    try:
        made = _eager.run(call, returned)
    except (TypeError, ValueError):  # found again
        return None
    return made if made is None or len(made) > 1 else made[0]


# Constants that a plan is remembered by.
KINDS: dict[str, tuple[type, ...]] = {"scale": (float, int, type(None)), "dynamic": (bool, type(None))}
KINDS |= dict.fromkeys(("causal", "align"), (str, type(None)))


def _fit(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> bool:
    """Whether batches and heads need no broadcasting, which `attn.sdpa` refuses."""
    return q.shape[0] == k.shape[0] == v.shape[0] and k.shape[1] == v.shape[1]
