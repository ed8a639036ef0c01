"""Gradients by the formulas of docs/Training.md, with the scores in memory, by PyTorch's operators.

For those of a bias, a sink and captured tensors on a GPU, which have no kernels there.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch

from attn import _checks, _words, reference
from attn.torch._tape import Region, tanh_slope

if TYPE_CHECKING:
    from attn.torch._ops import Call

Tensor = torch.Tensor
WITH_KERNELS = frozenset("qkv")
# What the predicate of a call takes beside the words that mask.
PREDICATE = frozenset(("causal", "align", "q_lengths", "kv_lengths"))


def needs_formulas(wanted: tuple[str, ...]) -> bool:
    """Whether a GPU has no kernel for these gradients; then a warning says so."""
    others = [name for name in wanted if name not in WITH_KERNELS]
    if others:
        warnings.warn(
            f"attn.torch: gradients of {', '.join(others)} have no kernel for GPUs; all gradients of this call are "
            "computed by formulas, with the scores in memory",
            RuntimeWarning,
            stacklevel=2,
        )
    return bool(others)


def gradients(
    call: Call,
    dout: Tensor,
    out: Tensor,
    row_max: Tensor,
    log_sum: Tensor,
    dlse: Tensor | None,
    wanted: tuple[str, ...],
) -> list[Tensor]:
    """The gradients of inputs of a call, `call.input(name)` of each, in float32 or float64."""
    element = row_max.dtype
    group = call.q.shape[1] // call.k.shape[1]
    q, dout, out = (x.to(element) for x in (call.q, dout, out))
    k, v = (x.to(element).repeat_interleave(group, 1) for x in (call.k, call.v))
    scores = (*q.shape[:3], k.shape[2])
    ranges = [torch.arange(n, device=q.device) for n in scores]
    indices = tuple(x.view([-1 if n == dim else 1 for n in range(4)]) for dim, x in enumerate(ranges))
    captures = dict(zip(call.functions().names, call.captures, strict=True))
    of_scores, of_masks = _bodies(call.regions)
    kept = _kept(call, scores)
    if of_masks:
        kept = kept & Region(of_masks, captures, indices, q.new_zeros(())).value
    if call.bias is not None:
        kept = kept & (call.bias != -torch.inf)
    kept = kept.expand(scores)
    # What nobody keeps is not read: it may be NaN.
    rows, keys = kept.any(3, keepdim=True), kept.any(2)[..., None]
    q, dout, out = (torch.where(rows, x, 0) for x in (q, dout, out))
    k, v = (torch.where(keys, x, 0) for x in (k, v))

    scale = call.q.shape[3] ** -0.5 if call.scale is None else call.scale
    s = scaled = scale * (q @ k.mT)
    region = Region(of_scores, captures, indices, scaled) if of_scores else None
    if region is not None:
        s = region.value.expand(scores)
    softcap = dict(zip(_words.FORMS, call.words, strict=True)).get("softcap")
    ratio = None if softcap is None else s / softcap
    s = s if ratio is None else softcap * torch.tanh(ratio)
    s = s if call.bias is None else s + call.bias.to(element)
    # P = kept ? exp((s − m) − ln l) : 0;  W = z P;  dP = z dO Vᵀ;  Δ = Σ dO O − dlse;  dS = P (dP − Δ)
    is_empty = row_max == -torch.inf
    p = torch.exp((s - row_max[..., None]) - log_sum[..., None])
    p = torch.where(kept & ~is_empty[..., None], p, 0)
    z = _dropout(call, scores, q)
    dp = z * (dout @ v.mT)
    delta = (dout * out).sum(-1)
    delta = delta if dlse is None else delta - torch.where(is_empty, 0, dlse)
    ds = torch.where(kept, p * (dp - delta[..., None]), 0)
    found: dict[str, Tensor] = {"v": _grouped((z * p).mT @ dout, group)}
    if call.sink is not None:  # dsink = −Σ exp((sink − m) − ln l) Δ
        weight = torch.exp((call.sink.to(element)[:, None] - row_max) - log_sum)
        found["sink"] = torch.where(is_empty, 0, -weight * delta).sum((0, 2))
    if call.bias is not None:
        dims = [dim for dim in range(4) if call.bias.shape[dim] == 1 and scores[dim] != 1]
        found["bias"] = ds.sum(dims, keepdim=True) if dims else ds
    if ratio is not None:
        ds = torch.where(ds == 0, 0, ds * tanh_slope(ratio))
    if region is not None:
        ds, of_captures = region.backward(ds)
        found |= {f"captures.{n}": of_captures[name] for n, name in enumerate(captures)}
    found["q"], found["k"] = scale * (ds @ k), _grouped(scale * (ds.mT @ q), group)
    return [found[name] for name in wanted]


def _bodies(text: str) -> tuple[str, str]:
    """Those of score_mod and of mask_mod, empty where there is none."""
    _, _, of_scores = text.partition("score_mod {\n")
    _, _, of_masks = text.partition("mask_mod {\n")
    return of_scores.partition("\n}")[0], of_masks.partition("\n}")[0]


def _kept(call: Call, scores: tuple[int, ...]) -> Tensor:
    """Which keys each query keeps, without functions: the predicate of attn.reference, and the mask."""
    sizes = _checks.qkv(call.q.shape, call.k.shape, call.v.shape)
    options = {name: x for name, x in call.options().items() if name in PREDICATE or name in _words.MASKS}
    on_host = {name: x.cpu().numpy() if isinstance(x, Tensor) else x for name, x in options.items()}
    kept = torch.from_numpy(np.broadcast_to(reference.predicate(sizes, **on_host), scores).copy()).to(call.q.device)
    return kept if call.mask is None else kept & call.mask


def _dropout(call: Call, scores: tuple[int, ...], model: Tensor) -> Tensor | float:
    """What dropout multiplies each weight by; drawn on the host, as the kernels draw it."""
    if call.dropout is None or call.seeds is None:
        return 1.0
    seed, offset = call.seeds.tolist()
    factors = reference.dropout(np.ones(scores), call.dropout, seed, offset)
    return torch.from_numpy(factors).to(model)


def _grouped(x: Tensor, group: int) -> Tensor:
    """The sum over the query heads that share a key head."""
    return x if group == 1 else x.unflatten(1, (-1, group)).sum(2)
