"""Views: q, k, v, bias, mask and dout are read where they lie, whatever their strides."""

from __future__ import annotations

import numpy as np
import pytest

import attn
from attn.call import _running
from attn.kernel import _tensor

RNG = np.random.default_rng(7)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.standard_normal(shape).astype(_tensor.dtype(dtype))


def in_gaps(view: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The view, with NaN in all of its base that it does not show."""
    kept = view.copy()
    base[...] = np.nan
    view[...] = kept
    return view


def views(name: str, b: int, h: int, s: int, d: int) -> np.ndarray:
    """A (B, H, S, D) view as frameworks hand it over, beside NaN."""
    if name == "slice of a cache":
        base = draw(b, h, s + 13, d)
        return in_gaps(base[:, :, 5 : 5 + s], base)
    if name == "rows of all heads":
        base = draw(b, s, h, d)
        return base.transpose(0, 2, 1, 3)
    if name == "fused qkv":
        base = draw(b, s, 3, h, d)
        return in_gaps(base[:, :, 1].transpose(0, 2, 1, 3), base)
    if name == "reversed":
        return draw(b, h, s, d)[:, ::-1, ::-1]
    if name == "columns of wider rows":
        base = draw(b, h, s, d + 3)
        return in_gaps(base[..., 2 : 2 + d], base)
    if name == "every other row":
        base = draw(b, h, 2 * s, d)
        return in_gaps(base[:, :, ::2], base)
    assert name == "expanded"
    return np.broadcast_to(draw(1, 1, s, d), (b, h, s, d))


NAMES = (
    "slice of a cache",
    "rows of all heads",
    "fused qkv",
    "reversed",
    "columns of wider rows",
    "every other row",
    "expanded",
)


def close(found: np.ndarray, expected: np.ndarray, bound: float = 1e-5) -> None:
    assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("queries", "keys", "d"), [(1, 203, 64), (13, 40, 59), (113, 67, 16)])
def test_views_are_read_in_place(name: str, queries: int, keys: int, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are those of copies, and nothing is copied."""
    q, k, v = views(name, 2, 4, queries, d), views(name, 2, 2, keys, d), views(name, 2, 2, keys, d)
    expected = attn.reference.sdpa(q, k, v, causal="bottom_right")

    def refuse(array: np.ndarray) -> np.ndarray:
        assert array.flags.c_contiguous, "a view was copied"
        return array

    monkeypatch.setattr(_tensor, "contiguous", refuse)
    close(attn.sdpa(q, k, v, causal="bottom_right"), expected)
    close(attn.sdpa(q, k, v, causal="bottom_right", dynamic=True), expected)


@pytest.mark.parametrize(
    ("hq", "hkv", "queries", "keys", "d", "dynamic"),
    [
        (8, 8, 1, 600, 64, False),
        (6, 2, 1, 2077, 128, False),
        (4, 1, 1, 37, 72, False),
        (32, 8, 3, 530, 128, False),
        (16, 8, 1, 5, 256, True),
    ],
)
def test_decode_takes_either_order_of_keys(hq: int, hkv: int, queries: int, keys: int, d: int, dynamic: bool) -> None:
    """All heads of a key together, or head by head: K and V of each order, NaN behind their lengths."""
    q, dense, lengths = draw(2, hq, queries, d), draw(2, hkv, keys, d), [max(1, keys // 3), keys - 1]

    def fill(rows: np.ndarray) -> np.ndarray:
        for sequence, length in zip(rows, lengths, strict=True):
            sequence[:, length:] = np.nan
        return rows

    def cut(rows: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(rows), 0, rows)

    for name in ("slice of a cache", "rows of all heads", "fused qkv", "every other row", "reversed"):
        k, v = fill(views(name, 2, hkv, keys, d)), fill(views("rows of all heads", 2, hkv, keys, d))
        for x, y in ((k, v), (v, k), (k, fill(dense)), (k, k), (v, v)):
            found = attn.sdpa(q, x, y, kv_lengths=lengths, dynamic=dynamic)
            close(found, attn.reference.sdpa(q, cut(x), cut(y), kv_lengths=lengths))


def test_one_kernel_serves_all_strides() -> None:
    """Strides are no part of what a kernel is compiled for; contiguous arrays keep theirs."""
    shape = (1, 2, 21, 24)
    dense = draw(*shape)
    attn.sdpa(dense, dense, dense)
    before = attn.cache_info().misses
    for name in NAMES:
        attn.sdpa(dense, views(name, *shape), dense)
    assert attn.cache_info().misses == before + 1
    attn.sdpa(dense, dense, dense)
    assert attn.cache_info().misses == before + 1


def test_bias_and_mask_are_views_too() -> None:
    """Those of all heads by one, and a slice of a wider one."""
    q, k, v = (draw(2, 4, 9, 16) for _ in range(3))
    bias = np.broadcast_to(draw(1, 1, 9, 9), (2, 4, 9, 9))
    mask = (RNG.random((2, 4, 9, 20)) < 0.7)[..., 4:13]
    close(attn.sdpa(q, k, v, bias=bias, mask=mask), attn.reference.sdpa(q, k, v, bias=bias, mask=mask))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_views(name: str) -> None:
    """q, k, v and dout are views; gradients are dense."""
    q, k, v, dout = views(name, 2, 4, 12, 16), views(name, 2, 2, 15, 16), views(name, 2, 2, 15, 16), None
    out, row_max, log_sum = attn.sdpa(q, k, v, causal="top_left", return_max=True, return_log_sum=True)
    dout = views(name, 2, 4, 12, 16)
    found = attn.sdpa_backward(q, k, v, out, (row_max, log_sum), dout, causal="top_left")
    expected = attn.reference.sdpa_backward(q, k, v, None, None, dout, causal="top_left")
    for each in "qkv":
        assert found[each].flags.c_contiguous
        close(found[each], expected[each], 2e-5)


def test_pages_of_a_cache_of_both() -> None:
    """[pages, 2, page, head, column] holds keys and values."""
    cache = draw(9, 2, 8, 2, 16)
    table = RNG.permutation(9)[:8].reshape(2, 4)
    lengths = [25, 32]
    q = draw(2, 4, 3, 16)
    k, v = cache[:, 0], cache[:, 1]
    found = attn.paged_sdpa(q, k, v, table, lengths)
    rows = [x[table].reshape(2, 32, 2, 16).transpose(0, 2, 1, 3) for x in (k, v)]
    close(found, attn.reference.sdpa(q, *rows, kv_lengths=lengths))


def test_rows_with_gaps_are_copied() -> None:
    """Whose last dimension is not contiguous; a kernel for dense arrays takes them."""
    q, k, v = (draw(1, 2, 16, 9).transpose(0, 1, 3, 2) for _ in range(3))
    assert not any(map(_tensor.is_view, (q, k, v)))
    close(attn.sdpa(q, k, v), attn.reference.sdpa(q, k, v))


def test_strides_of_a_compiled_kernel() -> None:
    """`strided` in a problem line: the manifest says it, and the entry refuses rows that are not contiguous."""
    kernel = attn.compile("hq2 sq5 sk7 d8 strided")
    assert [x["strided"] for x in kernel.inputs] == [True] * 3
    assert kernel.inputs[1]["strides"] == ["k_stride0", "k_stride1", "k_stride2", 1]
    q, k, v = (views("fused qkv", 1, 2, n, 8) for n in (5, 7, 7))
    close(kernel(q, k, v), attn.reference.sdpa(q, k, v))
    assert _running.compiled("hq2 sq5 sk7 d8", "host").inputs[0]["strided"] is False
