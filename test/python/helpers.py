"""What the Python tests share: drawing inputs, running a case both ways, the tolerances of SPEC §4."""

from typing import Any, NamedTuple

import numpy as np

import attn

TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
DTYPES = [np.float32, np.float64]


class Shape(NamedTuple):
    """One problem's sizes; those that are left out make it a single head."""

    sq: int
    sk: int
    d: int
    dv: int
    b: int = 1
    hq: int = 1
    hkv: int = 1

    @property
    def scores(self):
        """The shape of the score matrix."""
        return (self.b, self.hq, self.sq, self.sk)

    def __str__(self) -> str:
        """The problem line's words, which name the test."""
        return f"b{self.b}-hq{self.hq}-hkv{self.hkv}-sq{self.sq}-sk{self.sk}-d{self.d}-dv{self.dv}"


def draw(shape: Shape, dtype: Any = np.float32, seed: int = 0):
    """Normal q, k, v of this shape."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((shape.b, shape.hq, shape.sq, shape.d))
    k = rng.standard_normal((shape.b, shape.hkv, shape.sk, shape.d))
    v = rng.standard_normal((shape.b, shape.hkv, shape.sk, shape.dv))
    return tuple(x.astype(dtype) for x in (q, k, v))


def assert_close(actual, expected, dtype, what="out"):
    """The rule of SPEC §4: largest error relative to the largest finite |expected|; NaN and inf in the same places."""
    actual = np.asarray(actual, dtype=np.float64)
    assert actual.shape == expected.shape, f"{what}: expected shape {expected.shape}, found {actual.shape}"
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], err_msg=what)
    if finite.any():
        largest = np.abs(expected[finite]).max()
        error = np.abs(actual[finite] - expected[finite]).max()
        limit = TOLERANCE[np.dtype(dtype)] * largest
        assert error <= limit, f"{what}: expected an error of at most {limit:.3e}, found {error:.3e}"


def check(q, k, v, **options):
    """Runs attn.sdpa and the reference on the same inputs, with lse; compares, and returns what attn.sdpa gave."""
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    expected_out, expected_lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    assert out.dtype == q.dtype
    assert_close(out, expected_out, q.dtype, "out")
    # The lse is a sum of numbers near it: its error is absolute where it passes through zero.
    lse_dtype = np.float32 if lse.dtype == np.float32 else q.dtype
    scale = np.append(np.abs(expected_lse[np.isfinite(expected_lse)]), 1.0).max()
    assert_close(lse / scale, expected_lse / scale, lse_dtype, "lse")
    return out, lse


class Exporter:
    """An object that only speaks DLPack, over a NumPy array; counts its exports."""

    def __init__(self, array, device=(1, 0)):
        """Exports `array`, claiming to lie on `device`."""
        self.array, self.device, self.exports = array, device, 0

    def __dlpack__(self, **kwargs):
        self.exports += 1
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.device
