"""Tiles whose last block of query rows is smaller than the others: lengths that no larger block divides.

Those of vision transformers among them (197 = 14·14 patches and one more), and rows that are no query beside them.
"""

import numpy as np
import pytest

import attn
from helpers import DTYPES, NARROW, Shape, compare, draw

LENGTHS = [112, 197]
OPTIONS = {
    "plain": lambda shape, rng: {},
    "causal": lambda shape, rng: dict(causal="bottom_right", window=(90, 0)),
    "dense": lambda shape, rng: dict(
        bias=rng.standard_normal((1, shape.hq, shape.sq, shape.sk)),
        mask=rng.random((shape.b, 1, shape.sq, shape.sk)) < 0.7,
        softcap=3.0,
        sink=rng.standard_normal(shape.hq),
    ),
    "functions": lambda shape, rng: dict(
        score_mod=lambda s, b, h, i, j: s - 0.1 * attn.abs(i - j),
        mask_mod=lambda b, h, i, j: (i // 50 == j // 50) | (j < 7),
        q_lengths=rng.integers(0, shape.sq + 1, shape.b),
    ),
}


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("dtype", [*DTYPES, *NARROW.values()])
@pytest.mark.parametrize("sq", LENGTHS)
@pytest.mark.parametrize("name", OPTIONS)
def test_the_last_block_is_smaller(name, sq, dtype, target, rng):
    shape = Shape(sq, 130, 64, 40, b=2, hq=2, hkv=1)
    options = OPTIONS[name](shape, rng)
    if "bias" in options:
        options["bias"] = options["bias"].astype(dtype)
    q, k, v = draw(shape, dtype)
    k[:, :, 128:] = np.nan  # beyond the lengths
    v[:, :, 128:] = np.nan
    lengths = np.array([128, 77])
    found = attn.sdpa(q, k, v, kv_lengths=lengths, return_lse=True, target=target, **options)
    compare(found, attn.reference.sdpa, q, k, v, kv_lengths=lengths, return_lse=True, **options)
