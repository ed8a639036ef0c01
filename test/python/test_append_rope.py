"""attn.kv_append of rows that are rotated by their positions, beside NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn
from fake_cuda import EMULATOR, Driver, FakeArray
from test_append_types import BF16, E4M3, LARGEST, quantised


def tables(count: int, rotated: int, dtype: Any = "f4") -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of positions."""
    angles = np.arange(count)[:, None] * 100.0 ** (-np.arange(rotated // 2) / max(1, rotated // 2))
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def rotated(x: Any, places: Any, cos: Any, sin: Any, interleaved: bool) -> np.ndarray:
    """Rows (B, H, N, D) whose first elements are pairs that are turned, in float64."""
    out, half = np.array(x, "f8"), cos.shape[1]
    c, s = (np.asarray(t, "f8")[places][:, None] for t in (cos, sin))
    first, second = (
        (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (slice(half), slice(half, 2 * half))
    )
    a, b = out[..., first].copy(), out[..., second].copy()
    out[..., first], out[..., second] = a * c - b * s, b * c + a * s
    return out


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("size", "turned"), [(64, 64), (59, 24), (16, 2)])
@pytest.mark.parametrize("new", ["f4", BF16, "f2", "f8"], ids=str)
@pytest.mark.parametrize("of_tables", ["f4", BF16], ids=str)
def test_dense(interleaved: bool, size: int, turned: int, new: Any, of_tables: Any) -> None:
    """The position of a row is that in its cache, or one that is given."""
    rng = np.random.default_rng(1)
    cos, sin = tables(40, turned, of_tables)
    rows, where = rng.normal(size=(3, 2, 4, size)).astype(new), np.array([3, 9, 0])
    for given in (None, rng.integers(0, 40, (3, 4))):
        cache = np.ones((3, 2, 16, size), "f8" if new == "f8" else "f4")
        words = {"rope_cos": cos, "rope_sin": sin, "rope_interleaved": interleaved, "rope_positions": given}
        attn.kv_append(cache, rows, where, **words)
        places = where[:, None] + np.arange(4) if given is None else given
        wanted = rotated(rows, places, cos, sin, interleaved)
        for b, at in enumerate(where):
            np.testing.assert_allclose(cache[b, :, at : at + 4], wanted[b], atol=1e-6)
            cache[b, :, at : at + 4] = 1
        assert (cache == 1).all()


@pytest.mark.parametrize("scales", ["none", "given", "computed"])
@pytest.mark.parametrize("layout", ["nhd", "hnd"])
@pytest.mark.parametrize("cache", ["f4", BF16, E4M3, "i1"], ids=str)
def test_slots(cache: Any, layout: str, scales: str) -> None:
    """Tokens of a step, rotated in float32, then rounded or quantised; tables are views of one."""
    if (scales != "none") != (np.dtype(cache) in LARGEST):
        pytest.skip("a scale of floats, or none of int8")
    rng = np.random.default_rng(2)
    both = np.concatenate(tables(50, 32), 1)
    cos, sin = both[:, :16], both[:, 16:]
    new, places, slots = rng.normal(size=(7, 2, 40)).astype(BF16), rng.integers(0, 50, 7), rng.permutation(24)[:7]
    shape = (3, 8, 2) if layout == "nhd" else (3, 2, 8)
    place, table, words = np.zeros((*shape, 40), cache), np.ones(shape, "f4"), {}
    words |= {"scale": 0.02} if scales == "given" else {"scale_cache": table} if scales == "computed" else {}
    words |= {"rope_cos": cos, "rope_sin": sin, "rope_positions": places}
    attn.kv_append(place, new, slots=slots, page_layout=layout, **words)
    by_row, of_rows = (x if layout == "nhd" else x.swapaxes(1, 2) for x in (place, table))
    found, factors = by_row[slots // 8, slots % 8], of_rows[slots // 8, slots % 8]
    wanted = rotated(new[:, :, None], places[:, None], cos, sin, False)[:, :, 0]
    if scales == "none":
        np.testing.assert_allclose(found.astype("f8"), wanted, atol=0.02 if cache == BF16 else 1e-6)
        return
    if scales == "computed":
        np.testing.assert_allclose(factors, np.abs(wanted).max(2) / LARGEST[np.dtype(cache)], rtol=1e-5)
    factors = factors[..., None] if scales == "computed" else 0.02
    exact = quantised(wanted, factors, np.dtype(cache))
    step = np.maximum(np.abs(exact) / 8, 1)  # a sum of two products may round to the other side of a tie
    difference = np.abs(found.astype("f8") - exact)
    assert (difference <= step).all()
    assert (difference > 0).mean() < 0.01


@pytest.mark.skipif(not EMULATOR.is_file(), reason="the emulated driver is not built")
@pytest.mark.parametrize("interleaved", [False, True])
def test_on_a_gpu(interleaved: bool) -> None:
    """The emulator executes the same."""
    driver = Driver()
    rng = np.random.default_rng(3)
    cos, sin = tables(20, 8)
    rows, where, places = (
        rng.normal(size=(2, 2, 3, 12)).astype("f4"),
        np.array([1, 4], "i4"),
        rng.integers(0, 20, (2, 3)),
    )
    cache = FakeArray.of(driver, np.zeros((2, 2, 8, 12), E4M3))
    names = {"scale": np.array([0.5, 2], "f4"), "rope_cos": cos, "rope_sin": sin, "rope_positions": places.astype("i4")}
    given = {name: FakeArray.of(driver, x) for name, x in names.items()}
    inputs = [FakeArray.of(driver, x) for x in (rows, where)]
    attn.kv_append(cache, *inputs, rope_interleaved=interleaved, target="sm_80", **given)
    wanted = np.zeros((2, 2, 8, 12), E4M3)
    attn.kv_append(wanted, rows, where, rope_interleaved=interleaved, **names)
    np.testing.assert_array_equal(cache.numpy().astype("f4"), wanted.astype("f4"))


COS, SIN = tables(8, 8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"rope_cos": COS}, "expected rope_cos and rope_sin, found one"),
        ({"rope_positions": [[0], [0]]}, "expected rope_cos and rope_sin beside other words of rope"),
        ({"rope_cos": COS, "rope_sin": SIN[:4]}, "of shape .positions, rotated / 2."),
        ({"rope_cos": np.ones((8, 9), "f4"), "rope_sin": np.ones((8, 9), "f4")}, "with at most 16 rotated"),
        ({"rope_cos": COS.astype("f8"), "rope_sin": SIN.astype("f8")}, "of one type, float32, bfloat16 or float16"),
        ({"rope_cos": COS, "rope_sin": SIN, "rope_positions": [[8], [0]]}, "rope_positions in 0 to 7, found 0 to 8"),
        ({"rope_cos": COS, "rope_sin": SIN, "rope_positions": [0, 0]}, r"rope_positions of shape \(2, 1\)"),
        ({"rope_cos": COS, "rope_sin": SIN, "rope_interleaved": 1}, "rope_interleaved to be True or False"),
    ],
)
def test_refused(words: dict[str, Any], message: str) -> None:
    """Tables and positions that do not fit; nothing is written."""
    cache = np.ones((2, 2, 8, 16), "f4")
    with pytest.raises((TypeError, ValueError), match=message):
        attn.kv_append(cache, np.zeros((2, 2, 1, 16), "f4"), [0, 0], **words)
    assert (cache == 1).all()
    with pytest.raises(TypeError, match="rope_positions beside slots"):
        attn.kv_append(cache, np.zeros((1, 2, 16), "f4"), slots=[0], page_layout="hnd", rope_cos=COS, rope_sin=SIN)
