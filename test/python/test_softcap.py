"""Softcaps: far from the scores, near them, and both in one tile; tanh has a short form for small scores."""

import pytest

from helpers import DTYPES, Shape, check, draw

SHAPE = Shape(70, 131, 32, 24, b=1, hq=2, hkv=2)


@pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "f64"])
@pytest.mark.parametrize("cap", [1e-6, 0.5, 3.0, 8.0, 30.0, 1000.0, 1e6])
def test_caps(cap, dtype):
    check(*draw(SHAPE, dtype), softcap=cap, causal="bottom_right")


def test_a_block_with_one_large_score():
    # Half of the cap is where the short form ends: one key's scores lie above it, one beside it, the others below.
    q, k, v = draw(SHAPE)
    k[:, :, 5] *= 40
    k[:, :, 77] *= 6
    check(q, k, v, softcap=10.0)
