"""Every pair of features that may go together, on one shape with odd sizes and shared heads."""

import pytest

from features import PAIRS, make
from helpers import Shape, check

SHAPE = Shape(37, 75, 24, 20, b=2, hq=4, hkv=2)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair):
    tensors, options = make(SHAPE, "f4", pair)
    check(*tensors, **options)
