"""attn.torch.kv_append of rows of another type than the cache, eager, by the operator and in graphs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import attn.torch as at
from attn.kernel._cache import plans

LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0, torch.int8: 127.0}
SLOTS = torch.tensor([3, 21, 40, 8])


def narrowed(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The nearest number of the type, as PyTorch rounds, limited."""
    low = -128.0 if dtype == torch.int8 else -LARGEST[dtype]
    x = x.clamp(low, LARGEST[dtype])
    return x.round().to(dtype) if dtype == torch.int8 else x.to(dtype)


def bits(x: torch.Tensor) -> torch.Tensor:
    """Its bytes, which compare without arithmetic."""
    return x.view(torch.uint8)


def call(mode: str, cache: Any, new: Any, **options: Any) -> None:
    """An append, eager or in a graph."""
    if mode == "eager":
        at.kv_append(cache, new, slots=SLOTS, **options)
        return
    torch._dynamo.reset()
    tensors = {name: x for name, x in options.items() if isinstance(x, torch.Tensor)}
    others = {name: x for name, x in options.items() if name not in tensors}
    graph = torch.compile(
        lambda cache, new, slots, tensors: at.kv_append(cache, new, slots=slots, **tensors, **others),
        fullgraph=True,
        backend=mode,
    )
    graph(cache, new, SLOTS, tensors)


@pytest.mark.parametrize("mode", ["eager", "aot_eager"])
@pytest.mark.parametrize("scale", [0.25, torch.tensor([0.25]), torch.tensor(0.25), torch.tensor([0.25, 3.0])], ids=str)
@pytest.mark.parametrize("new", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("cache", LARGEST, ids=str)
def test_scales(mode: str, scale: Any, new: torch.dtype, cache: torch.dtype) -> None:
    """Numbers, tensors of one element and one a head; twice, as the second call goes by the plan of the first."""
    generator = torch.Generator().manual_seed(0)
    place = torch.zeros(6, 8, 2, 64, dtype=torch.int8).view(cache)
    factor = torch.as_tensor(scale).expand(2)[:, None]
    for _ in range(2):
        x = (torch.randn(4, 2, 128, generator=generator) * 9).to(new)[..., :64]
        before = place._version
        call(mode, place, x, scale=scale)
        assert place._version > before
        wanted = narrowed(x.float() / factor, cache)
        assert torch.equal(bits(place).reshape(48, 2, 64)[SLOTS], bits(wanted))
    untouched = torch.ones(48, dtype=torch.bool)
    untouched[SLOTS] = False
    assert not bits(place).reshape(48, 2, 64)[untouched].any()


@pytest.mark.parametrize("mode", ["eager", "aot_eager"])
@pytest.mark.parametrize("cache", LARGEST, ids=str)
def test_computed_scales(mode: str, cache: torch.dtype) -> None:
    """Into the table of the cache, which counts the write."""
    place, table = torch.zeros(6, 8, 2, 64, dtype=torch.int8).view(cache), torch.ones(6, 8, 2)
    for seed in range(2):
        x = torch.randn(4, 2, 64, generator=torch.Generator().manual_seed(seed))
        before = table._version
        call(mode, place, x, scale_cache=table)
        assert table._version > before
        scales = x.abs().amax(2) / LARGEST[cache]
        torch.testing.assert_close(table.reshape(48, 2)[SLOTS], scales)
        wanted = narrowed(x / table.reshape(48, 2)[SLOTS][..., None], cache)
        assert torch.equal(bits(place).reshape(48, 2, 64)[SLOTS], bits(wanted))


def test_plans_tell_types_and_scales_apart() -> None:
    """A form of tensors has a plan; another scale of the form has the same one."""
    place, table = torch.zeros(6, 8, 2, 64, dtype=torch.float8_e5m2), torch.ones(6, 8, 2)
    x = torch.full((4, 2, 64), 3.0)
    at.kv_append(place, x, slots=SLOTS)
    at.kv_append(place, x, slots=SLOTS, scale=0.5)
    count = len(plans)
    at.kv_append(place, x, slots=SLOTS, scale=1.5)
    assert len(plans) == count
    assert (place.float().reshape(48, 2, 64)[SLOTS] == 2).all()
    at.kv_append(place, x.bfloat16(), slots=SLOTS, scale_cache=table)
    at.kv_append(place, x, slots=SLOTS)
    assert (place.float().reshape(48, 2, 64)[SLOTS] == 3).all()


def test_floats_and_errors() -> None:
    """bf16 tokens into caches of f32 and bf16; a scale beside floats is refused and nothing written."""
    x = torch.randn(4, 2, 64).bfloat16()
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        place = torch.zeros(6, 8, 2, 64, dtype=dtype)
        at.kv_append(place, x, slots=SLOTS)
        assert torch.equal(place.reshape(48, 2, 64)[SLOTS], x.to(dtype))
    place = torch.zeros(6, 8, 2, 64)
    with pytest.raises(TypeError, match="expected scale only where new is converted"):
        at.kv_append(place, x, slots=SLOTS, scale=2.0)
    with pytest.raises(TypeError, match="expected scale or scale_cache beside a cache of int8"):
        at.kv_append(place.to(torch.int8), x, slots=SLOTS)
    assert not place.any()


@pytest.mark.parametrize("mode", ["eager", "aot_eager"])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("cache", [torch.float32, torch.bfloat16, torch.float8_e4m3fn], ids=str)
def test_rotated(mode: str, interleaved: bool, cache: torch.dtype) -> None:
    """Rows are rotated in float32 by halves of one table; a second call has other positions."""
    angles = torch.arange(50)[:, None] * 100.0 ** (-torch.arange(16) / 16)
    cos, sin = torch.cat([angles.cos(), angles.sin()], 1).chunk(2, 1)
    place = torch.zeros(6, 8, 2, 64, dtype=cache)
    for seed in range(2):
        generator = torch.Generator().manual_seed(seed)
        x, places = torch.randn(4, 2, 64, generator=generator).bfloat16(), torch.randint(50, (4,), generator=generator)
        words = {"rope_cos": cos, "rope_sin": sin, "rope_positions": places, "rope_interleaved": interleaved}
        call(mode, place, x, **words)
        wanted = x.float()
        first, second = (slice(0, 32, 2), slice(1, 32, 2)) if interleaved else (slice(16), slice(16, 32))
        a, b, c, s = wanted[..., first].clone(), wanted[..., second].clone(), cos[places][:, None], sin[places][:, None]
        wanted[..., first], wanted[..., second] = a * c - b * s, b * c + a * s
        found = place.reshape(48, 2, 64)[SLOTS].float()
        bound = {torch.float32: 1e-6, torch.bfloat16: 2.0**-7}.get(cache, 2.0**-3)
        torch.testing.assert_close(found, wanted, rtol=bound, atol=bound / 50)
    with pytest.raises((ValueError, RuntimeError), match="rope_positions in 0 to 49, found"):
        at.kv_append(place, x, slots=SLOTS, rope_cos=cos, rope_sin=sin, rope_positions=places + 50)
