"""Dropout: the known words of Philox, and the same elements dropped on every path."""

import itertools

import numpy as np
import pytest

import attn
from attn import reference
from attn.call import _running
from helpers import NARROW, TYPES, Shape, check, draw

SHAPE = Shape(33, 45, 16, 45, b=2, hq=4, hkv=2)
SEEDS = [(0, 0), (42, 1), (2**63 + 12345, 2**40 + 7), (2**64 - 1, 2**64 - 1)]
KNOWN = "fcdb2127 53ba6cfd 838f5a6e 744e06fb be961592 14909873 80dcbc9a 99b5bdec"

parametrize_seeds = pytest.mark.parametrize(("seed", "offset"), SEEDS)


def inputs(dtype=np.float32):
    """Q, K, and the identity as V: the output is the weights."""
    q, k, _ = draw(SHAPE, dtype)
    return q, k, np.broadcast_to(np.eye(SHAPE.sk, dtype=dtype), (2, 2, 45, 45)).copy()


def test_known_answers():
    words = reference.random_bits(42, 1, np.arange(8))
    assert " ".join(f"{word:08x}" for word in words) == KNOWN


def test_known_answers_in_a_kernel():
    # One row of equal weights; with V = I the output's zeros are the dropped elements.
    q, k = np.zeros((1, 1, 1, 8), np.float32), np.zeros((1, 1, 8, 8), np.float32)
    v = np.eye(8, dtype=np.float32)[None, None]
    words = np.array([int(word, 16) for word in KNOWN.split()])
    for p in (0.3, 0.5, 0.6, 0.9):
        out = attn.sdpa(q, k, v, dropout=(p, 42, 1))
        np.testing.assert_array_equal(out[0, 0, 0] != 0, words > p * (2.0**32 - 1))


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@parametrize_seeds
def test_fused_kernels_drop_what_the_reference_drops(seed, offset, dtype):
    q, k, v = inputs(dtype)
    dropout = (0.4, seed, offset)
    out, _ = check(q, k, v, dropout=dropout)
    weights = reference.sdpa(q, k, v, dropout=dropout, return_weights=True)[1]
    np.testing.assert_array_equal(out != 0, weights != 0)
    assert 0.5 < (out != 0).mean() < 0.7


@parametrize_seeds
def test_returned_weights_have_the_same_zeros(seed, offset):
    q, k, v = inputs()
    dropout = (0.4, seed, offset)
    out, _, weights = check(q, k, v, dropout=dropout, return_weights=True)
    np.testing.assert_array_equal(weights != 0, reference.sdpa(q, k, v, dropout=dropout, return_weights=True)[1] != 0)
    np.testing.assert_array_equal(weights != 0, out != 0)


def test_without_probability_nothing_is_dropped():
    q, k, v = inputs()
    found = check(q, k, v, dropout=(0.0, 5, 6))
    for x, y in zip(found, attn.sdpa(q, k, v, return_lse=True), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_with_probability_one_all_is_dropped():
    out, lse = check(*inputs(), dropout=(1.0, 5, 6))
    assert (out == 0).all()
    assert np.isfinite(lse).all()


@pytest.mark.parametrize("dtype", [np.float32, *NARROW.values()], ids=["f32", *NARROW])
@pytest.mark.parametrize(
    "options",
    [
        dict(causal="bottom_right"),
        dict(window=(9, 4), align="top_left"),
        dict(kv_lengths=[45, 7], q_lengths=[3, 33]),
        dict(sink=np.ones(4)),
        dict(mask_mod=lambda b, h, i, j: (i + j) % 3 != 0),
        dict(score_mod=lambda s, b, h, i, j: s - 0.1 * (i - j) * (h + 1), softcap=3.0),
    ],
    ids=lambda options: "-".join(options),
)
def test_with_other_features(options, dtype):
    # Elements are counted in the whole score matrix, so a mask changes none of the others.
    check(*inputs(dtype), dropout=(0.3, 11, 12), **options)


@pytest.mark.parametrize("shape", [Shape(113, 203, 32, 24, b=2, hq=4, hkv=1), Shape(1, 203, 16, 16, hq=2, hkv=2)])
def test_other_shapes(shape):
    check(*draw(shape), dropout=(0.2, 1, 2))


def test_seed_and_offset_need_no_new_kernel():
    q, k, v = inputs()
    attn.sdpa(q, k, v, dropout=(0.4, 1, 1))
    before = len(_running.kernels)
    results = [attn.sdpa(q, k, v, dropout=(0.4, seed, offset)) for seed, offset in SEEDS]
    assert len(_running.kernels) == before
    assert all((x != y).any() for x, y in itertools.pairwise(results))


def test_layouts_draw_the_same_elements():
    q, k, v = inputs()
    expected = attn.sdpa(q, k, v, dropout=(0.4, 3, 4))
    swapped = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v))
    found = attn.sdpa(*swapped, dropout=(0.4, 3, 4), layout="bshd")
    np.testing.assert_array_equal(found.swapaxes(1, 2) != 0, expected != 0)
