"""attn.kv_append of rows of another type than the cache: every number of 8 bits, scales that are given and computed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import attn

E4M3, E5M2, BF16 = (np.dtype(getattr(ml_dtypes, x)) for x in ("float8_e4m3fn", "float8_e5m2", "bfloat16"))
LARGEST = {E4M3: 448.0, E5M2: 57344.0, np.dtype("i1"): 127.0}
NEW = [np.dtype("f4"), BF16, np.dtype("f2")]


def numbers_of(dtype: np.dtype[Any]) -> np.ndarray:
    """The finite numbers ≥ 0 of a type of 8 bits by its format: exponent, mantissa, bias."""
    mantissa, bias, codes = (3, 7, 0x7F) if dtype == E4M3 else (2, 15, 0x7C)
    code = np.arange(codes)
    exponent, fraction = code >> mantissa, (code & (1 << mantissa) - 1) / (1 << mantissa)
    return np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))


def quantised(x: Any, scale: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """saturate(round-to-nearest-even(x / scale)) as float64; the quotient is of float32, as kernels have it."""
    x = np.asarray(x).astype("f4") / np.asarray(scale, "f4")
    if dtype == np.dtype("i1"):
        return np.clip(np.rint(np.nan_to_num(x.astype("f8"), nan=0, posinf=1e9, neginf=-1e9)), -128, 127)
    table = numbers_of(dtype)
    size = np.minimum(np.abs(x.astype("f8")), table[-1])
    above = np.searchsorted(table, np.where(np.isnan(size), 0, size)).clip(1)
    low, high = table[above - 1], table[above]
    is_up = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    return np.where(np.isnan(x), np.nan, np.copysign(np.where(is_up, high, low), x))


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal numbers, with their signs; NaN where NaN is."""
    found = found.astype("f8")
    np.testing.assert_array_equal(found, wanted)
    if not (wanted == np.rint(wanted)).all():
        is_number = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(wanted[is_number]))


def appended(layout: str, dtype: np.dtype[Any], new: np.ndarray, **options: Any) -> np.ndarray:
    """The rows (B, Hkv, N, D) of a cache behind an append of these, all else of which is as it was."""
    batch, heads, count, size = new.shape
    places = np.array([3, 9, 0])[:batch]
    if layout == "dense":
        cache = np.ones((batch, heads, 16, size), dtype)
        attn.kv_append(cache, new, places, **options)
        found = np.stack([cache[b, :, p : p + count].copy() for b, p in enumerate(places)])
        for b, p in enumerate(places):
            cache[b, :, p : p + count] = 1
        assert (cache == 1).all()
        return found
    shape = (7, 8, heads, size) if layout == "nhd" else (7, heads, 8, size)
    whole = np.ones((shape[0], 2, *shape[1:]), dtype)
    cache = whole[:, 1]
    table = np.array([[4, 2], [0, 6], [5, 1]], "i4")[:batch]
    rows = places[:, None] + np.arange(count)
    pages, inside = np.take_along_axis(table, rows // 8, 1), rows % 8
    if options.pop("by_slots", False):
        slots = (pages * 8 + inside).reshape(-1)
        attn.kv_append(cache, new.swapaxes(1, 2).reshape(-1, heads, size), slots=slots, page_layout=layout, **options)
    else:
        attn.kv_append(cache, new, places, block_table=table, page_layout=layout, **options)
    of_rows = cache if layout == "nhd" else cache.swapaxes(1, 2)
    found = of_rows[pages, inside].swapaxes(1, 2).copy()
    of_rows[pages, inside] = 1
    assert (whole == 1).all()
    return found


def special(dtype: np.dtype[Any], cache: np.dtype[Any]) -> np.ndarray:
    """Numbers of a cache, what is between two of them, and what is beyond all."""
    table = np.arange(0, 128) if cache == np.dtype("i1") else numbers_of(cache)
    middle = (table[1:] + table[:-1]) / 2
    near = [table, middle, np.nextafter(middle.astype("f4"), np.float32(0)), np.nextafter(middle.astype("f4"), np.inf)]
    beyond = [table[-1] * x for x in (1.01, 1.1, 2, 1000)]
    x = np.concatenate([*near, beyond, [np.inf, np.nan, 1e-30, 0, 6e-8]])
    x = np.concatenate([x, -x]).astype("f4")
    with np.errstate(over="ignore"):
        return x.astype(dtype)


@pytest.mark.parametrize("new", NEW, ids=str)
@pytest.mark.parametrize("cache", LARGEST, ids=str)
def test_every_number(cache: np.dtype[Any], new: np.dtype[Any]) -> None:
    """Ties, subnormal numbers, infinities and NaN, each at each place of a vector."""
    x = special(new, cache)
    for size in (1, 59, 64):
        rows = np.resize(x, (-(-x.size // size), size))[None, None]
        place = np.ones((1, 1, rows.shape[2], size), cache)
        attn.kv_append(place, rows, [0], scale=1.0)
        same(place, quantised(rows, 1.0, cache))


@pytest.mark.parametrize("scale", [None, 0.037, "one", "head"])
@pytest.mark.parametrize("layout", ["dense", "nhd", "hnd", "slots"])
@pytest.mark.parametrize("new", NEW, ids=str)
@pytest.mark.parametrize("cache", LARGEST, ids=str)
def test_scales(cache: np.dtype[Any], new: np.dtype[Any], layout: str, scale: Any) -> None:
    """A scale of all heads, and one a head, in each kind of cache."""
    if scale is None and cache == np.dtype("i1"):
        pytest.skip("int8 has no scale of its own")
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(3, 2, 4, 59)) * 3).astype(new)
    rows[1, 0, 2, 5] = np.nan
    given = {"one": np.array([0.01], "f4"), "head": np.array([0.01, 2.0])}.get(str(scale), scale)
    options = {} if given is None else {"scale": given}
    if layout == "slots":
        layout, options["by_slots"] = "nhd", True
    found = appended(layout, cache, rows, **options)
    factor = np.broadcast_to(np.asarray(1.0 if given is None else given), 2)[:, None, None]
    same(found, quantised(rows, factor, cache))


@pytest.mark.parametrize("layout", ["dense", "nhd", "hnd", "slots"])
@pytest.mark.parametrize("new", NEW, ids=str)
@pytest.mark.parametrize("cache", LARGEST, ids=str)
def test_computed_scales(cache: np.dtype[Any], new: np.dtype[Any], layout: str) -> None:
    """Each row and head has its own; zeros, infinities and NaN among them, and the table keeps all else."""
    rng = np.random.default_rng(2)
    rows = (rng.normal(size=(3, 2, 4, 59)) * rng.uniform(0.01, 100, (3, 2, 4, 1))).astype(new)
    rows[0, 0, 1], rows[1, 1, 0, 3], rows[2, 0, 0, 7] = 0, np.nan, -np.inf
    places = np.array([3, 9, 0])
    shape = {"dense": (3, 2, 16), "hnd": (7, 2, 8)}.get(layout, (7, 8, 2))
    table = np.full(shape, 5.0, "f4")
    options: dict[str, Any] = {"scale_cache": table}
    if layout == "slots":
        layout, options["by_slots"] = "nhd", True
    found = appended(layout, cache, rows, **options)
    wide = np.abs(rows.astype("f4"))
    largest = np.minimum(np.where(np.isnan(wide), 0, wide).max(3), np.finfo("f4").max)
    scales = np.where(largest > 0, largest / np.float32(LARGEST[cache]), np.float32(1))
    of_rows = {"hnd": lambda: table.swapaxes(1, 2), "nhd": lambda: table}.get(layout)
    if of_rows is None:
        written = np.stack([table[b, :, p : p + 4].copy() for b, p in enumerate(places)])
        for b, p in enumerate(places):
            table[b, :, p : p + 4] = 5
    else:
        at = places[:, None] + np.arange(4)
        pages = np.take_along_axis(np.array([[4, 2], [0, 6], [5, 1]]), at // 8, 1)
        written = of_rows()[pages, at % 8].swapaxes(1, 2).copy()
        of_rows()[pages, at % 8] = 5
    assert (table == 5).all()
    np.testing.assert_allclose(written, scales, rtol=1e-6)
    same(found, quantised(rows, written[..., None], cache))


@pytest.mark.parametrize("cache", LARGEST, ids=str)
def test_attention_reads_what_was_appended(cache: np.dtype[Any]) -> None:
    """Tables of scales that appends have written are k_scale and v_scale of a step."""
    rng = np.random.default_rng(3)
    k, v = (rng.normal(size=(21, 2, 64)).astype("f4") for _ in "kv")
    caches, scales = np.zeros((2, 5, 8, 2, 64), cache), np.ones((2, 5, 8, 2), "f4")
    slots = np.random.default_rng(4).permutation(3)[np.arange(21) // 8] * 8 + np.arange(21) % 8
    for x, place, table in zip((k, v), caches, scales, strict=True):
        attn.kv_append(place, x, slots=slots, scale_cache=table)
    q = rng.normal(size=(2, 4, 64)).astype("f4")
    pages = (slots[[0, 8, 16]] // 8)[None].astype("i4")
    how = {"k_scale": scales[0], "v_scale": scales[1], "cu_seqlens_q": np.array([0, 2], "i4")}
    out = attn.paged_sdpa(q, *caches, pages, np.array([21], "i4"), causal="bottom_right", **how)
    s = np.einsum("ihd,jhd->hij", q.astype("f8"), np.repeat(k, 2, 1)) / 8
    s = np.where(np.arange(21) <= np.arange(2)[:, None] + 19, s, -np.inf)
    w = np.exp(s - s.max(2, keepdims=True))
    wanted = np.einsum("hij,jhd->ihd", w / w.sum(2, keepdims=True), np.repeat(v, 2, 1))
    bound = {E4M3: 0.08, E5M2: 0.16}.get(cache, 0.02)
    assert np.abs(out - wanted).max() < bound


FLOATS = [np.dtype("f4"), np.dtype("f8"), BF16, np.dtype("f2")]


@pytest.mark.parametrize("layout", ["dense", "nhd", "slots"])
@pytest.mark.parametrize("new", FLOATS, ids=str)
@pytest.mark.parametrize("cache", FLOATS, ids=str)
def test_floats(cache: np.dtype[Any], new: np.dtype[Any], layout: str) -> None:
    """Floats of 16 bits and more are rounded to the nearest, ties to even."""
    rng = np.random.default_rng(5)
    rows = (rng.normal(size=(2, 3, 4, 40)) * 100).astype(new)
    rows[0, 0, 0, :4] = [np.inf, -np.inf, np.nan, 1 + 2.0**-9]
    options = {"by_slots": True} if layout == "slots" else {}
    found = appended("nhd" if layout == "slots" else layout, cache, rows, **options)
    wide = rows.astype("f4") if cache == BF16 else rows  # as ml_dtypes rounds f64 as well
    np.testing.assert_array_equal(found.astype("f8"), wide.astype(cache).astype("f8"))


@pytest.mark.parametrize(
    ("cache", "new", "options", "message"),
    [
        ("f4", "f4", {"scale": 1.0}, "expected scale only where new is converted to int8"),
        (E4M3, E4M3, {"scale": 1.0}, "expected scale only where"),
        ("f4", BF16, {"scale_cache": np.ones((2, 2, 8), "f4")}, "expected scale_cache only where"),
        (E4M3, "f8", {}, "expected new to have the type of cache, float8_e4m3fn, or to be one of float32, bfloat16"),
        (E4M3, E5M2, {}, "expected new to have the type of cache"),
        ("f4", E5M2, {}, "expected new to have the type of cache"),
        ("f4", "i4", {}, "expected new to be one of"),
        ("i1", "f4", {}, "expected scale or scale_cache beside a cache of int8"),
        ("i1", "f4", {"scale": [1.0, 1.0, 1.0]}, "scale of one element or of shape"),
        ("i1", "f4", {"scale": 1.0, "scale_cache": np.ones((2, 2, 8), "f4")}, "one of scale and scale_cache"),
        ("i1", "f4", {"scale_cache": np.ones((2, 2, 9), "f4")}, r"scale_cache of float32 of shape \(2, 2, 8\)"),
        ("i1", "f4", {"scale_cache": np.ones((2, 2, 8), "f8")}, "scale_cache of float32"),
    ],
)
def test_refused(cache: Any, new: Any, options: dict[str, Any], message: str) -> None:
    """Types and scales that do not go together; nothing is written."""
    place = np.ones((2, 2, 8, 16), cache)
    with pytest.raises((TypeError, ValueError), match=message):
        attn.kv_append(place, np.zeros((2, 2, 1, 16), new), [0, 0], **options)
    assert (place == 1).all()
