"""Dynamic sizes in attn.sdpa: with every feature, one kernel that serves every batch, length and number of heads."""

import numpy as np
import pytest

import attn
from attn.call import _running
from helpers import DTYPES, Shape, check, draw

SHAPES = [
    Shape(113, 203, 32, 24, b=2, hq=4, hkv=4),
    Shape(1, 203, 32, 24, b=3, hq=2, hkv=2),
    Shape(64, 64, 32, 24),
    Shape(130, 1, 32, 24, hq=3, hkv=3),
    Shape(5, 0, 32, 24, b=2, hq=2, hkv=2),
    Shape(203, 113, 32, 24, hq=2, hkv=2),
]


def slopes(shape):
    return 2.0 ** -np.arange(1.0, shape.hq + 1)


def documents(shape):
    return np.random.default_rng(1).integers(0, 3, (shape.b, max(shape.sq, shape.sk)))


def alibi(shape):
    table = slopes(shape)
    return lambda s, b, h, i, j: s - table[h] * (i - j)


def same_document(shape):
    table = documents(shape)
    return lambda b, h, i, j: table[b, i] == table[b, j]


OPTIONS = {
    "plain": lambda shape, rng: {},
    "bottom_right": lambda shape, rng: dict(causal="bottom_right"),
    "window": lambda shape, rng: dict(window=(20, 3), align="bottom_right"),
    "softcap": lambda shape, rng: dict(softcap=2.0),
    "bias": lambda shape, rng: dict(bias=rng.standard_normal((1, 1, shape.sq, shape.sk)).astype("f4")),
    "mask": lambda shape, rng: dict(mask=rng.random(shape.scores) < 0.7),
    "sink": lambda shape, rng: dict(sink=rng.standard_normal(shape.hq)),
    "lengths": lambda shape, rng: dict(
        q_lengths=rng.integers(0, shape.sq + 1, shape.b), kv_lengths=rng.integers(0, shape.sk + 1, shape.b)
    ),
    "offsets": lambda shape, rng: dict(causal=rng.integers(-5, 90, shape.b)),
    "dropout": lambda shape, rng: dict(dropout=(0.3, 5, 6)),
    "affine mask_mod": lambda shape, rng: dict(mask_mod=lambda b, h, i, j: (i >= j) | (j < 10)),
    "score_mod": lambda shape, rng: dict(score_mod=alibi(shape)),
    "documents": lambda shape, rng: dict(mask_mod=same_document(shape)),
    "weights": lambda shape, rng: dict(return_weights=True),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_one_kernel_serves_all_sizes(name, rng):
    check(*draw(SHAPES[0]), dynamic=True, **OPTIONS[name](SHAPES[0], rng))
    before = len(_running.kernels)
    for shape in SHAPES[1:]:
        check(*draw(shape), dynamic=True, **OPTIONS[name](shape, rng))
    # A size of 1 in a mask is a broadcast, another problem; so is a table that is larger than one of its indices.
    assert name in ("bias", "mask", "documents") or len(_running.kernels) == before


@pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "f64"])
def test_shared_heads_stay_static(dtype):
    for b, sq, sk in ((2, 113, 203), (1, 1, 64), (3, 40, 7)):
        check(*draw(Shape(sq, sk, 16, 40, b=b, hq=8, hkv=2), dtype), dynamic=True, causal="bottom_right")


@pytest.mark.parametrize("layout", ["bshd", "bsd"])
def test_layouts(layout):
    for shape in (SHAPES[0], Shape(40, 70, 32, 24, b=3, hq=4, hkv=4)):
        q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in draw(shape))
        options = dict(layout=layout)
        if layout == "bsd":
            q, k, v = (x.reshape(*x.shape[:2], -1) for x in (q, k, v))
            options["heads"] = 4
        check(q, k, v, dynamic=True, causal="bottom_right", **options)


def test_a_window_without_alignment_is_that_of_equal_lengths():
    for size in (40, 113):
        check(*draw(Shape(size, size, 16, 16, hq=2, hkv=2)), dynamic=True, window=(5, 2))


def test_compiled_kernels_allocate_their_outputs():
    kernel = attn.compile("b? hq? hkv? sq? sk? d32 dv24 f32 causal=bottom_right out=lse")
    for shape in SHAPES:
        q, k, v = draw(shape)
        out, lse = kernel(q, k, v)
        expected = attn.reference.sdpa(q, k, v, causal="bottom_right", return_lse=True)
        np.testing.assert_allclose(out, expected[0], atol=1e-5)
        np.testing.assert_allclose(lse, expected[1], atol=1e-5)


def test_sizes_that_disagree_are_refused():
    kernel = attn.compile("b? hq? hkv? sq? sk? d32 dv24 f32")
    q, k, v = draw(SHAPES[0])
    with pytest.raises(ValueError, match="v"):
        kernel(q, k, v[:, :, :100].copy())
