"""Gradients under masks that no range of positions solves: a block map tells which tiles of them are visited."""

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from helpers import Shape, draw
from test_backward import agree, check, cotangents

# Tiles of gradients have up to 96 or 128 queries and 128 keys; the last shape has chunks of queries and keys.
SHAPES = [
    Shape(113, 203, 59, 59, b=2, hq=4, hkv=2),
    Shape(300, 517, 24, 16, b=1, hq=2, hkv=1),
    Shape(1100, 1030, 16, 16, b=1, hq=1, hkv=1),
]
WHOLE = Shape(300, 517, 16, 24, b=2, hq=4, hkv=2)
NAN = float("nan")


def zigzag(n, blocks=4):
    """The positions of a shard that has the first and the last piece of all, and so on inwards."""
    pieces = np.array_split(np.arange(n, dtype=np.int32), 2 * blocks)
    return np.concatenate([pieces[i] for rank in range(blocks) for i in (rank, 2 * blocks - 1 - rank)])


def forms(shape):
    """mask_mod by name: what it captures differs, the kernel's code does not know what that holds."""
    rng = np.random.default_rng(1)
    rows, keys = np.arange(shape.sq, dtype=np.int32), np.arange(shape.sk, dtype=np.int32)
    zig_rows, zig_keys = zigzag(shape.sq), zigzag(shape.sk)
    mixed_rows, mixed_keys = rng.permutation(rows), rng.permutation(keys).astype(np.int64)
    stripes, other_stripes = ((x % 4 * 1000 + x // 4).astype(np.float32) for x in (rows, keys))
    documents, others = (np.sort(rng.integers(0, 4, n)).astype(np.int32) for n in (shape.sq, shape.sk))
    # A document whose queries have no keys, one whose keys have no queries; each is longer than a tile where it can be.
    apart, apart_keys = (np.where(x < len(x) // 2, 0, y).astype(np.int32) for x, y in ((rows, 1), (keys, 2)))
    allowed = np.arange(shape.sk) // 140 % 2 == 0
    kept = np.tril(np.ones((shape.sq, shape.sk), bool), k=-130) | (rng.random((shape.sq, shape.sk)) < 1e-3)
    by_head, by_batch = rng.integers(0, shape.sk, shape.hq), rng.integers(0, shape.sk, shape.b)
    return {
        "positions": lambda b, h, i, j: keys[j] <= rows[i],
        "zigzag": lambda b, h, i, j: zig_keys[j] <= zig_rows[i],
        "striped": lambda b, h, i, j: other_stripes[j] <= stripes[i],
        "any order": lambda b, h, i, j: mixed_keys[j] <= mixed_rows[i],
        "documents": lambda b, h, i, j: others[j] == documents[i],
        "empty rows and columns": lambda b, h, i, j: apart_keys[j] == apart[i],
        "nothing": lambda b, h, i, j: keys[j] < -rows[i],
        "everything": lambda b, h, i, j: keys[j] >= -rows[i],
        "allowed keys": lambda b, h, i, j: allowed[j],
        "a matrix of booleans": lambda b, h, i, j: kept[i, j],
        "a position a head": lambda b, h, i, j: keys[j] <= by_head[h],
        "a position a batch index": lambda b, h, i, j: keys[j] <= by_batch[b] + 0 * rows[i],
        "beside a window": lambda b, h, i, j: (keys[j] <= rows[i]) & (i - j <= 150) & (j - i <= 40),
    }


CASES = [(name, SHAPES[0]) for name in forms(SHAPES[0])]
CASES += [
    (name, SHAPES[1]) for name in ("zigzag", "documents", "everything", "a matrix of booleans", "a position a head")
]
CASES += [(name, SHAPES[2]) for name in ("zigzag", "empty rows and columns", "beside a window")]


@pytest.mark.parametrize(("name", "shape"), CASES, ids=str)
def test_each_form(rng, name, shape):
    check(rng, draw(shape), mask_mod=forms(shape)[name])


def beside(rng, shape):
    """What else a call may have, by name."""
    own = rng.standard_normal(shape.scores).astype(np.float32)
    slopes = rng.standard_normal(shape.hq).astype(np.float32)
    return {
        "bias": {"bias": own, "grad": ("q", "k", "v", "bias")},
        "a bias that heads share": {"bias": own[:1, :1], "grad": ("bias", "k")},
        "mask": {"mask": rng.random(shape.scores) < 0.7},
        "mask of tiles": {"mask": (np.arange(shape.sk) // 150 % 2 == 0)[None, None, None]},
        "dropout": {"dropout": (0.3, 42, 1)},
        "lengths": {"q_lengths": [shape.sq - 9, 5], "kv_lengths": [shape.sk - 200, shape.sk]},
        "causal": {"causal": "bottom_right"},
        "window": {"window": (170, 60), "align": "top_left"},
        "sink": {"sink": slopes, "grad": ("q", "k", "v", "sink")},
        "captures": {
            "score_mod": lambda s, b, h, i, j: s - slopes[h] * abs(i - j) / 100,
            "grad": ("q", "k", "v", "slopes"),
        },
        "dynamic": {"dynamic": True},
        "query alone": {"grad": ("q",)},
        "value alone": {"grad": ("v",)},
    }


EXTRAS = [("zigzag", extra) for extra in beside(np.random.default_rng(0), WHOLE)]
EXTRAS += [("empty rows and columns", extra) for extra in ("bias", "dropout", "sink", "dynamic")]


@pytest.mark.parametrize(("name", "extra"), EXTRAS)
def test_beside(rng, name, extra):
    options = beside(rng, WHOLE)[extra]
    if options.pop("dynamic", False):  # the forward call of `check` has sizes of its own
        arrays = draw(WHOLE)
        out, lse = attn.sdpa(*arrays, return_lse=True, mask_mod=forms(WHOLE)[name])
        dout, _ = cotangents(rng, arrays[0], out, lse)
        found = attn.sdpa_backward(*arrays, out, lse, dout, mask_mod=forms(WHOLE)[name], dynamic=True)
        expected = reference.sdpa_backward(*arrays, out, lse, dout, mask_mod=forms(WHOLE)[name])
        agree(found, expected, np.float32)
        return
    check(rng, draw(WHOLE), mask_mod=forms(WHOLE)[name], **options)


@pytest.mark.parametrize("dtype", [np.float64, ml_dtypes.bfloat16])
def test_types(rng, dtype):
    check(rng, draw(SHAPES[1], dtype), mask_mod=forms(SHAPES[1])["zigzag"], with_dlse=False)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_processors(rng, target):
    check(rng, draw(SHAPES[0]), mask_mod=forms(SHAPES[0])["zigzag"], target=target)


@pytest.mark.parametrize("name", ["zigzag", "a position a batch index"])
def test_packed(rng, name):
    """Sequences of less than a tile, of several, and of none; the map has a page for each."""
    starts, other = np.array([0, 40, 40, 341, 345], np.int32), np.array([0, 25, 60, 577, 577], np.int32)
    shape = Shape(345, 577, 24, 16, b=4, hq=4, hkv=2)
    q, k, v = (x[0].swapaxes(0, 1) for x in draw(shape))
    options = {"mask_mod": forms(shape)[name]}
    out, lse = attn.varlen_sdpa(q, k, v, starts, other, return_lse=True, **options)
    expected = reference.varlen_sdpa(q, k, v, starts, other, **options)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    dout = rng.standard_normal(out.shape).astype(np.float32)
    found = attn.varlen_sdpa_backward(q, k, v, out, lse, dout, starts, other, **options)
    agree(found, reference.varlen_sdpa_backward(q, k, v, out, lse, dout, starts, other, **options), np.float32)


def test_what_is_not_kept_is_nan(rng):
    """V of a removed key reaches no gradient, nor does K of whole tiles that are skipped, nor dout of an empty row."""
    shape = Shape(300, 517, 59, 40, b=1, hq=4, hkv=2)
    rows, keys = np.arange(shape.sq) // 100, np.zeros(shape.sk, np.int32)
    keys[40:70], keys[128:384] = 7, 8  # a part of a tile of keys, and whole ones
    rows = np.where(rows == 2, 5, 0).astype(np.int32)
    options = {"mask_mod": lambda b, h, i, j: keys[j] == rows[i]}
    q, k, v = draw(shape)
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    dout, _ = cotangents(rng, q, out, lse)
    clean = attn.sdpa_backward(q, k, v, out, lse, dout, **options)
    agree(clean, reference.sdpa_backward(q, k, v, out, lse, dout, **options), np.float32)
    k[:, :, keys == 8] = NAN
    v[:, :, keys > 0] = NAN
    dout[:, :, rows == 5] = NAN
    found = attn.sdpa_backward(q, k, v, out, lse, dout, **options)
    for name in found:
        np.testing.assert_array_equal(found[name], clean[name], err_msg=name)
    assert not found["q"][:, :, rows == 5].any()
    assert not found["k"][:, :, keys > 0].any()
    assert not found["v"][:, :, keys > 0].any()


def test_threads_change_no_bit(rng):
    shape = Shape(1100, 1030, 32, 32, b=1, hq=2, hkv=1)
    arrays, options = draw(shape), {"mask_mod": forms(shape)["zigzag"]}
    out, lse = attn.sdpa(*arrays, return_lse=True, **options)
    dout, _ = cotangents(rng, arrays[0], out, lse)
    results = []
    try:
        for threads in (1, 2, 3):
            attn.set_num_threads(threads)
            results.append(attn.sdpa_backward(*arrays, out, lse, dout, **options))
    finally:
        attn.set_num_threads(0)
    for name, gradient in results[0].items():
        for other in results[1:]:
            np.testing.assert_array_equal(gradient, other[name], err_msg=name)


def test_nothing_behind_a_captured_array_is_read(rng):
    """1024 rows are no whole number of query tiles: the rows that the last tile lacks are not looked up."""
    shape = Shape(1024, 1024, 16, 16)
    kept = np.tril(np.ones((shape.sq, shape.sk), bool))
    options = {"mask_mod": lambda b, h, i, j: kept[i, j]}
    arrays = draw(shape)
    out, lse = attn.sdpa(*arrays, return_lse=True, **options)
    dout, _ = cotangents(rng, arrays[0], out, lse)
    found = attn.sdpa_backward(*arrays, out, lse, dout, **options)
    agree(found, reference.sdpa_backward(*arrays, out, lse, dout, causal="top_left"), np.float32)
