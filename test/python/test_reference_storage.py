"""The reference of other storage and other scores, against plain loops and the reference of dense arrays."""

import numpy as np
import pytest

from attn import reference
from helpers import Shape, draw

SHAPE = Shape(b=3, hq=4, hkv=2, sq=5, sk=7, d=3, dv=2)


def test_packed_sequences_are_a_block_diagonal_mask(rng):
    rows, keys = np.array([0, 2, 2, 9]), np.array([0, 4, 5, 11])
    q, k, v = (rng.standard_normal(shape) for shape in ((9, 4, 3), (11, 2, 3), (11, 2, 2)))
    row_of, key_of = np.repeat(np.arange(3), np.diff(rows)), np.repeat(np.arange(3), np.diff(keys))
    i, j = np.arange(9) - rows[row_of], np.arange(11) - keys[key_of]
    offset = (np.diff(keys) - np.diff(rows))[row_of]
    kept = (row_of[:, None] == key_of) & (j <= (i + offset)[:, None])
    dense = (x[None].swapaxes(1, 2) for x in (q, k, v))
    expected, expected_lse = reference.sdpa(*dense, mask=kept[None, None], return_lse=True)
    out, lse = reference.varlen_sdpa(q, k, v, rows, keys, causal="bottom_right", return_lse=True)
    np.testing.assert_allclose(out, expected[0].swapaxes(0, 1), atol=1e-14)
    np.testing.assert_allclose(lse, expected_lse[0], atol=1e-14)


def test_functions_of_packed_sequences_get_the_sequence_and_its_own_positions(rng):
    q, k, v = (rng.standard_normal(shape) for shape in ((6, 1, 3), (8, 1, 3), (8, 1, 2)))
    seen = []

    def mod(b, h, i, j):
        seen.append((np.unique(b).tolist(), i.max(), j.max()))
        return j >= 0

    reference.varlen_sdpa(q, k, v, [0, 2, 6], [0, 5, 8], mask_mod=mod)
    assert seen == [([0], 1, 4), ([1], 3, 2)]


@pytest.mark.parametrize("layout", ["nhd", "hnd"])
def test_pages_are_the_rows_that_the_table_says(rng, layout):
    pages = rng.standard_normal((4, 3, 2, 5))
    cache = pages if layout == "nhd" else pages.swapaxes(1, 2)
    dense = reference.gather_pages(cache, [[2, 0, 99], [3, -1, -1]], [5, 2], layout)
    assert dense.shape == (2, 2, 9, 5)
    np.testing.assert_array_equal(dense[0, :, :3], pages[2].swapaxes(0, 1))
    np.testing.assert_array_equal(dense[0, :, 3:5], pages[0, :2].swapaxes(0, 1))
    np.testing.assert_array_equal(dense[1, :, :2], pages[3, :2].swapaxes(0, 1))
    assert (dense[0, :, 5:] == 0).all()
    assert (dense[1, :, 2:] == 0).all()


@pytest.mark.parametrize("layout", ["nhd", "hnd"])
def test_what_is_appended_is_gathered(rng, layout):
    cache = rng.standard_normal((8, 3, 2, 5) if layout == "nhd" else (8, 2, 3, 5))
    new, table = rng.standard_normal((2, 2, 4, 5)), np.array([[0, 5, 2], [7, 1, 6]])
    found = reference.kv_append(cache, new, [1, 5], block_table=table, page_layout=layout)
    before, after = (reference.gather_pages(x, table, [9, 9], layout) for x in (cache, found))
    expected = reference.kv_append(before, new, [1, 5])
    np.testing.assert_array_equal(after, expected)
    np.testing.assert_array_equal(expected[1, :, 5:], new[1])


def test_layouts_are_views_of_one_thing():
    q, k, v = draw(SHAPE, np.float64)
    expected = reference.sdpa(q, k, v, causal="bottom_right")
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    found = reference.sdpa(q, k, v, causal="bottom_right", layout="bshd")
    np.testing.assert_array_equal(found.swapaxes(1, 2), expected)
    q, k, v = (x.reshape(*x.shape[:2], -1) for x in (q, k, v))
    packed = reference.sdpa(q, k, v, causal="bottom_right", layout="bsd", heads=(4, 2))
    np.testing.assert_array_equal(packed, found.reshape(3, 5, -1))


def test_scoring_functions_agree_with_loops(rng):
    q, k = rng.standard_normal((3, 4, 5, 6)), rng.standard_normal((3, 2, 7, 8))
    general, w_q, w_k, w = (rng.standard_normal(shape) for shape in ((6, 8), (6, 9), (8, 9), (9,)))
    by_product = reference.scores(q, k, [general], "general")
    by_sum = reference.scores(q, k, [w_q, w_k, w], "additive")
    for b, h, i, j in np.ndindex(3, 4, 5, 7):
        row, key = q[b, h, i], k[b, h // 2, j]
        np.testing.assert_allclose(by_product[b, h, i, j], row @ general @ key, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(by_sum[b, h, i, j], w @ np.tanh(w_q.T @ row + w_k.T @ key), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(reference.scores(q @ w_q, k @ w_k, [w], "additive"), by_sum, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="found 'general' with 0"):
        reference.scores(q, k, kind="general")


def test_merge_of_two_calls_is_one_call():
    q, k, v = draw(SHAPE, np.float64)
    halves = (reference.sdpa(q, k[:, :, x], v[:, :, x], return_lse=True) for x in (slice(0, 3), slice(3, 7)))
    found = reference.merge(*next(halves), *next(halves))
    for x, y in zip(found, reference.sdpa(q, k, v, return_lse=True), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-14)
