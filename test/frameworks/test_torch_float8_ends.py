"""Queries and results of 8 bits in attn.torch, eager and in graphs: those of the widened call."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import attn.torch as at

FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]
LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


def functions(dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """Each entry point as a function of q (5, 4, 64) and keywords, with keys and values of this type."""
    k, v = torch.randn(2, 5, 2, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
    sums = torch.tensor([0, 5], dtype=torch.int32)
    pages = torch.zeros(1, 1, dtype=torch.int32), torch.tensor([5], dtype=torch.int32)
    dense = (k.transpose(0, 1)[None], v.transpose(0, 1)[None])
    return {
        "sdpa": lambda q, **how: at.sdpa(q.transpose(0, 1)[None], *dense, enable_gqa=True, **how)[0].transpose(0, 1),
        "varlen": lambda q, **how: at.varlen_sdpa(q, k, v, sums, sums, **how),
        "paged": lambda q, **how: at.paged_sdpa(q, k[None], v[None], *pages, cu_seqlens_q=sums, **how),
    }


def made(mode: str, function: Any, q: torch.Tensor, **how: Any) -> torch.Tensor:
    """The result, eager or of a graph."""
    if mode == "eager":
        return function(q, **how)
    torch._dynamo.reset()
    return torch.compile(lambda q: function(q, **how), fullgraph=True, backend="aot_eager")(q)


@pytest.mark.parametrize("mode", ["eager", "compile"])
@pytest.mark.parametrize("scale", [None, 0.5, torch.tensor([0.5]), torch.tensor([0.5, 1, 2, 0.25])], ids=str)
@pytest.mark.parametrize("out_dtype", [None, torch.float32, torch.float16, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("name", ["sdpa", "varlen", "paged"])
def test_queries(mode: str, scale: Any, out_dtype: Any, name: str) -> None:
    """q_scale · q, widened, is the query."""
    wide = torch.float32 if out_dtype in LARGEST else out_dtype or torch.bfloat16
    function = functions(wide)[name]
    q = torch.randn(5, 4, 64, generator=torch.Generator().manual_seed(1)).to(torch.float8_e5m2)
    found = made(mode, function, q, q_scale=scale, out_dtype=out_dtype)
    factor = 1.0 if scale is None else scale if isinstance(scale, float) or scale.numel() == 1 else scale[:, None]
    wanted = function((q.float() * factor).to(wide))
    assert found.dtype == (out_dtype or torch.bfloat16)
    assert torch.equal(found.float(), wanted.to(found.dtype).float())


@pytest.mark.parametrize("mode", ["eager", "compile"])
@pytest.mark.parametrize("out_dtype", FLOAT8, ids=str)
@pytest.mark.parametrize("name", ["sdpa", "varlen", "paged"])
def test_results(mode: str, out_dtype: torch.dtype, name: str) -> None:
    """out / out_scale, limited and rounded as PyTorch rounds."""
    function = functions()[name]
    q = torch.randn(5, 4, 64, generator=torch.Generator().manual_seed(1))
    plain = function(q)
    for scale in (None, 1e-6, torch.tensor(0.01)):
        found = made(mode, function, q, out_dtype=out_dtype, out_scale=scale)
        limit = LARGEST[out_dtype]
        wanted = (plain / (1.0 if scale is None else scale)).clamp(-limit, limit).to(out_dtype)
        assert found.dtype == out_dtype
        assert torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))


def test_refused() -> None:
    """Scales and types beside others."""
    q = torch.ones(1, 2, 4, 8)
    with pytest.raises(TypeError, match="q_scale only beside q of"):
        at.sdpa(q, q, q, q_scale=1.0)
    with pytest.raises(TypeError, match="out_scale only beside out_dtype"):
        at.sdpa(q, q, q, out_scale=1.0)
    with pytest.raises(TypeError, match=r"out_dtype to be torch\.float32, the type of q, or of 8 bits"):
        at.sdpa(q, q, q, out_dtype=torch.float16)
    assert torch.equal(at.sdpa(q, q, q, out_dtype=torch.float32), at.sdpa(q, q, q))
