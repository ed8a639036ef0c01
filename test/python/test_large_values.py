"""V near the largest number: docs/Semantics.md says up to where out is right, as it is divided by the sum last."""

import ml_dtypes
import numpy as np
import pytest

import attn
from helpers import Shape, draw

LARGEST = {"f32": np.finfo(np.float32).max, "f64": np.finfo(np.float64).max, "bf16": ml_dtypes.finfo("bfloat16").max}
TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
BOUNDS = {"f32": 1e-5, "f64": 1e-12, "bf16": 0.012, "f16": 0.0015}
PREFILL, DECODE = Shape(37, 203, 32, 48, b=1, hq=2, hkv=1), Shape(1, 500, 64, 64, b=1, hq=4, hkv=1)


def values(kind: str, shape: Shape, sign: bool):
    """V of 99 % of the bound: the largest number over the number of keys; f16 is added up in f32, without a bound."""
    size = 65504.0 if kind == "f16" else 0.99 * float(LARGEST[kind]) / shape.sk
    rng = np.random.default_rng(1)
    v = np.full((shape.b, shape.hkv, shape.sk, shape.dv), size)
    return (v * np.where(sign, rng.choice([-1, 1], v.shape), 1)).astype(TYPES[kind])


@pytest.mark.parametrize("scores", ["equal", "drawn", "rising"])
@pytest.mark.parametrize("shape", [PREFILL, DECODE], ids=["prefill", "decode"])
@pytest.mark.parametrize("kind", list(TYPES))
def test_up_to_the_bound(kind, shape, scores):
    """Equal scores weigh all keys 1; rising ones have many keys in the sum before the largest score is seen."""
    q, k, _ = draw(shape, np.float32)
    q = np.zeros_like(q) if scores == "equal" else q
    if scores == "rising":
        q, k = np.ones_like(q), np.zeros_like(k)
        k[:, :, -1] = 8.0
    q, k = q.astype(TYPES[kind]), k.astype(TYPES[kind])
    for sign in (False, True):
        v = values(kind, shape, sign)
        out = np.asarray(attn.sdpa(q, k, v)).astype(np.float64)
        # Divided by its size first, for f64 has no wider type.
        size = float(np.abs(v.astype(np.float64)).max())
        exact = attn.reference.sdpa(*(x.astype(np.float64) for x in (q, k)), v.astype(np.float64) / size)
        assert np.abs(out / size - exact).max() <= BOUNDS[kind] * np.abs(exact).max()


@pytest.mark.parametrize("shape", [PREFILL, DECODE], ids=["prefill", "decode"])
def test_beyond_it_is_infinite(shape):
    """What is said to be lost: a sum over all keys that f32 does not hold. The reference divides first."""
    q, k, _ = draw(shape, np.float32)
    v = np.full((shape.b, shape.hkv, shape.sk, shape.dv), 3e38, dtype=np.float32)
    assert np.isinf(attn.sdpa(np.zeros_like(q), k, v)).all()
    assert np.isfinite(attn.reference.sdpa(np.zeros_like(q), k, v)).all()
