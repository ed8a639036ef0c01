"""bf16 where the target multiplies pairs of it: every feature, and sizes that leave half a pair."""

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from helpers import Shape, draw
from test_paged import Pages

BF16 = ml_dtypes.bfloat16
# Weights and the result are rounded to 8 bits, and 2^x is a polynomial: all relative to the sum of |weight * value|.
ROUNDING = 2 * 2.0**-8 + 2e-4
LENGTHS = [(113, 203), (64, 1), (70, 64), (65, 127), (1023, 1024), (40, 0), (17, 2), (129, 65)]
HEADS = [(64, 59), (32, 1), (2, 40), (80, 96), (128, 111), (40, 128), (256, 160), (66, 33), (59, 64)]
DOCUMENTS = np.random.default_rng(3).integers(0, 3, (2, 203))
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625])
SHAPE = Shape(113, 203, 64, 80, b=2, hq=4, hkv=2)


def check(function, q, k, v, *others, **options):
    """attn.`function` against the reference's, element by element."""
    out, lse = getattr(attn, function)(q, k, v, *others, return_lse=True, **options)
    options.pop("dynamic", None)
    expected, expected_lse = getattr(reference, function)(q, k, v, *others, return_lse=True, **options)
    bound = getattr(reference, function)(q, k, np.abs(v), *others, **options)
    assert out.dtype == BF16
    error = np.abs(out.astype(np.float64) - expected)
    limit = ROUNDING * np.asarray(bound, np.float64)
    assert (error <= limit).all(), f"expected an error of at most {limit.min():.3e}, found {error.max():.3e}"
    finite = np.isfinite(expected_lse)
    np.testing.assert_array_equal(lse[~finite], expected_lse[~finite])
    np.testing.assert_allclose(lse[finite], expected_lse[finite], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("causal", [None, "bottom_right"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda x: f"{x[0]}x{x[1]}")
def test_lengths(lengths, causal):
    check("sdpa", *draw(Shape(*lengths, 64, 48, hq=2, hkv=1), BF16), causal=causal)


@pytest.mark.parametrize(("d", "dv"), HEADS)
def test_head_sizes(d, dv):
    check("sdpa", *draw(Shape(113, 75, d, dv, hq=2, hkv=2), BF16))


def mask(rng):
    kept = rng.random((2, 1, 113, 203)) < 0.7
    kept[0, 0, 5] = False
    return kept


OPTIONS = {
    "top_left": lambda rng: dict(causal="top_left"),
    "window": lambda rng: dict(causal="bottom_right", window=(20, 0)),
    "offsets": lambda rng: dict(causal=[60, -5]),
    "softcap and scale": lambda rng: dict(softcap=1.5, scale=-0.3),
    "dynamic": lambda rng: dict(dynamic=True, causal="bottom_right"),
    "no scale": lambda rng: dict(scale=0.0),
    "bias": lambda rng: dict(bias=rng.standard_normal((1, 4, 113, 203)).astype(BF16)),
    "bias of keys": lambda rng: dict(bias=rng.standard_normal((2, 1, 1, 203)).astype(BF16)),
    "mask": lambda rng: dict(mask=mask(rng)),
    "score_mod": lambda rng: dict(score_mod=lambda s, b, h, i, j: s - attn.abs(i - j) * SLOPES[h]),
    "mask_mod": lambda rng: dict(mask_mod=lambda b, h, i, j: DOCUMENTS[b, j] == DOCUMENTS[b, i]),
    "lengths": lambda rng: dict(q_lengths=[113, 40], kv_lengths=[77, 202], causal="bottom_right"),
    "no keys of one batch": lambda rng: dict(kv_lengths=[0, 1]),
    "dropout": lambda rng: dict(dropout=(0.3, 42, 1)),
    "sink": lambda rng: dict(sink=np.array([1.0, -1.0, 0.0, 5.0])),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_features(name, rng):
    check("sdpa", *draw(SHAPE, BF16), **OPTIONS[name](rng))


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_layouts(layout):
    order = (0, 2, 1, 3) if layout == "bshd" else (0, 1, 2, 3)
    check("sdpa", *(x.transpose(order).copy() for x in draw(SHAPE, BF16)), layout=layout)


def test_packed_sequences():
    rows, keys = [0, 40, 40, 41, 113], [0, 25, 60, 125, 203]
    rng = np.random.default_rng(2)
    tensors = [rng.standard_normal(shape).astype(BF16) for shape in ((113, 4, 32), (203, 2, 32), (203, 2, 24))]
    check("varlen_sdpa", *tensors, rows, keys, causal="bottom_right")


@pytest.mark.parametrize("page", [3, 64])
def test_pages(page):
    # Rows of the caches that no sequence uses hold NaN.
    pages = Pages(page, "nhd", dtype=BF16, sq=30)
    check("paged_sdpa", *pages.arguments, page_layout="nhd", causal="bottom_right")


def test_large_scores():
    q, k, v = draw(Shape(70, 131, 64, 64), BF16)
    check("sdpa", (q.astype(np.float32) * 100).astype(BF16), (k.astype(np.float32) * 100).astype(BF16), v)
