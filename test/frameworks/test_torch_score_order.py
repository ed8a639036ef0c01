"""alibi_slopes and softcap_first of attn.torch, eager and under torch.compile, beside NumPy in float64."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn.torch
from attn.kernel._cache import plans

_spec = importlib.util.spec_from_file_location(
    "score_order", Path(__file__).parents[1] / "python" / "test_score_order.py"
)
score_order = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(score_order)
attention, bias_of, close, CAP = (getattr(score_order, x) for x in ("attention", "bias_of", "close", "CAP"))

# Slopes, softcap, whether there is a score_mod, and whether softcap comes first.
ORDERS = [
    ("head", None, False, False),
    ("batch", CAP, False, False),
    ("batch", None, True, False),
    ("head", CAP, True, False),
    ("head", CAP, True, True),
    ("none", CAP, True, True),
]


def words_of(rng: Any, form: str, batch: int, cap: float | None, mod: bool, is_first: bool) -> tuple[Any, Any]:
    """The keywords of a call, and the slopes of each sequence."""
    given, of_each = score_order.slopes_of(rng, form, 4, batch)
    slopes = None if given is None else torch.from_numpy(given)
    words = {"alibi_slopes": slopes, "softcap_first": is_first, "score_mod": bias_of if mod else None}
    return words | ({} if cap is None else {"softcap": cap}), of_each


def made(function: Any, mode: str, *inputs: Any, **options: Any) -> Any:
    """The results, eager or of a graph without breaks."""
    if mode == "eager":
        return function(*inputs, **options)
    torch._dynamo.reset()
    return torch.compile(lambda *x: function(*x, **options), fullgraph=True, backend="aot_eager")(*inputs)


@pytest.mark.parametrize("mode", ["eager", "compile"])
@pytest.mark.parametrize(("sq", "sk"), [(1, 37), (9, 23)])
@pytest.mark.parametrize(("form", "cap", "mod", "is_first"), ORDERS)
def test_dense(mode: str, sq: int, sk: int, form: str, cap: float | None, mod: bool, is_first: bool) -> None:
    """Decode and prefill; the second call goes by the plan of the first."""
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(2, h, s, 59)).astype("f4") for h, s in ((4, sq), (2, sk), (2, sk)))
    words, of_each = words_of(rng, form, 2, cap, mod, is_first)
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    how = {"causal": "bottom_right", "enable_gqa": True, "return_lse": True, **words}
    for _ in range(2):
        out, lse = made(attn.torch.sdpa, mode, *tensors, **how)
        for b in range(2):
            wanted = attention(q[b], k[b], v[b], of_each[b], cap=cap, mod=mod, is_first=is_first)
            close(out[b], wanted[0])
            close(lse[b], wanted[1])


@pytest.mark.parametrize("mode", ["eager", "compile"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("form", "cap", "mod", "is_first"), ORDERS)
def test_packed_and_paged(mode: str, dynamic: bool, form: str, cap: float | None, mod: bool, is_first: bool) -> None:
    """Packed sequences and steps of an engine, empty sequences among them; a second step has other sizes."""
    rng = np.random.default_rng(3)
    page, d = 8, 64
    for rows, keys in (([5, 1, 0, 3], [9, 37, 4, 3]), ([1, 2], [3, 11])):
        batch = len(rows)
        words, of_each = words_of(rng, form, batch, cap, mod, is_first)
        sums, key_sums = (np.cumsum([0, *x]).astype("i4") for x in (rows, keys))
        shapes = [(sums[-1], 4, d), (key_sums[-1], 2, d), (key_sums[-1], 2, d)]
        q, k, v = (rng.normal(size=x).astype("f4") for x in shapes)
        cache = np.full((2, 24, page, 2, d), np.nan, "f4")
        table = rng.permutation(20)[: 5 * batch].reshape(batch, 5).astype("i4")
        for b, first in enumerate(key_sums[:-1]):
            for j in range(keys[b]):
                cache[:, table[b, j // page], j % page] = k[first + j], v[first + j]
        how = {"causal": "bottom_right", "dynamic": dynamic, "return_lse": True, **words}
        arrays = (q, k, v, sums, key_sums)
        packed = made(attn.torch.varlen_sdpa, mode, *map(torch.from_numpy, arrays), **how)
        arrays = (q, *cache, table, np.array(keys, "i4"))
        how["cu_seqlens_q"] = torch.from_numpy(sums)
        paged = made(attn.torch.paged_sdpa, mode, *map(torch.from_numpy, arrays), **how)
        for b in range(batch):
            at, of = slice(*sums[b : b + 2]), slice(*key_sums[b : b + 2])
            sides = [x[y].swapaxes(0, 1) for x, y in ((q, at), (k, of), (v, of))]
            wanted = attention(*sides, of_each[b], cap=cap, mod=mod, is_first=is_first)
            for out, lse in (packed, paged):
                close(out[at].swapaxes(0, 1), wanted[0])
                close(lse[:, at], wanted[1])


@pytest.mark.parametrize("dynamic", [None, True])
def test_gradients(dynamic: bool | None) -> None:
    """Gradients of dense and packed calls agree with PyTorch's own, those of slopes among them."""
    rng = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, h, s, 16, generator=rng).requires_grad_() for h, s in ((4, 7), (2, 12), (2, 12)))
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], requires_grad=True)
    inputs = (q, k, v, slopes)
    i, j = torch.arange(7)[:, None], torch.arange(12)
    s = CAP * torch.tanh((q @ k.repeat_interleave(2, 1).mT / 4) / CAP) - slopes[:, None, None] * (i + 5 - j).abs()
    s = s.masked_fill(j > i + 5, -torch.inf)
    wanted = torch.autograd.grad((s.softmax(-1) @ v.repeat_interleave(2, 1)).square().sum(), inputs)
    words = {"causal": "bottom_right", "softcap": CAP, "alibi_slopes": slopes}
    out = attn.torch.sdpa(q, k, v, enable_gqa=True, dynamic=dynamic, **words)
    sums = [torch.tensor([0, n], dtype=torch.int32) for n in (7, 12)]
    packed = [x[0].transpose(0, 1) for x in (q, k, v)]
    of_packed = attn.torch.varlen_sdpa(*packed, *sums, dynamic=bool(dynamic), **words)
    for result in (out, of_packed):
        found = torch.autograd.grad(result.square().sum(), inputs)
        for x, y in zip(found, wanted, strict=True):
            torch.testing.assert_close(x, y, atol=1e-4, rtol=1e-4)


def test_steps_are_planned() -> None:
    """A step with alibi_slopes goes by a plan, which a step of other sizes and lengths shares."""
    cache = torch.randn(2, 8, 4, 2, 16)
    slopes = torch.tensor([0.5, 0.25])

    def step(rows: int) -> None:
        table = torch.arange(2 * rows, dtype=torch.int32).reshape(rows, 2)
        lengths, sums = torch.full((rows,), 5 + rows, dtype=torch.int32), torch.arange(rows + 1, dtype=torch.int32)
        attn.torch.paged_sdpa(torch.randn(rows, 2, 16), *cache, table, lengths, cu_seqlens_q=sums, alibi_slopes=slopes)

    step(2)
    count = len(plans)
    step(3)
    assert len(plans) == count


def test_refused() -> None:
    """Slopes of another shape or kind."""
    q = torch.ones(1, 2, 4, 8)
    with pytest.raises(ValueError, match=r"alibi_slopes of shape \(2,\), one a query head, or \(1, 2\)"):
        attn.torch.sdpa(q, q, q, alibi_slopes=torch.ones(3))
    with pytest.raises(TypeError, match="alibi_slopes to be a tensor"):
        attn.torch.sdpa(q, q, q, alibi_slopes=[0.5, 0.5])
    with pytest.raises(TypeError, match="alibi_slopes to hold floats"):
        attn.torch.varlen_sdpa(
            *[torch.ones(4, 2, 8)] * 3, *[torch.tensor([0, 4])] * 2, alibi_slopes=torch.ones(2).int()
        )
