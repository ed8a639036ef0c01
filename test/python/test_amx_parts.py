"""f16 and f32 attention by AMX tiles of parts of bf16, with hard inputs, in the emulator (tile_emulator.c)."""

import sys
from pathlib import Path

import numpy as np
import pytest

import processor
from helpers import compile_library

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import parts_errors

FEW = 40
INPUTS, F16_INPUTS = parts_errors.make_inputs(), parts_errors.make_f16_inputs()


@pytest.fixture(scope="session")
def emulator(tmp_path_factory):
    """tile_emulator.c, compiled."""
    return compile_library("tile_emulator.c", tmp_path_factory.mktemp("tiles"))


@pytest.fixture(autouse=True)
def needs_processor():
    processor.skip_unless("avx2", "fma", "f16c")


@pytest.mark.parametrize("name", INPUTS)
def test_f32_of_three_parts_is_as_exact_as_multiply_adds(name, emulator):
    q, k, v = INPUTS[name]
    inputs = [q[:, :, :FEW], k, v]
    expected = parts_errors.get_reference(*inputs)
    found = [parts_errors.run(inputs, parts_errors.WAYS[way], emulator) for way in ("f32 FMA", "bf16x6")]
    fma, parts = (parts_errors.get_errors(x, expected) for x in found)
    assert parts[0] <= 2 * fma[0] + 2e-7
    assert parts[1] <= 1.2 * fma[1] + 2e-8


@pytest.mark.parametrize("name", F16_INPUTS)
def test_log_sums_of_f16_are_as_exact_as_by_multiply_adds(name, emulator):
    """As f16 is two parts of bf16 and all four of their products are exact, nothing is left out."""
    q, k, v = F16_INPUTS[name]
    inputs = [q[:, :, :FEW], k, v]
    expected = parts_errors.get_log_sums(*inputs[:2])
    found = [parts_errors.run(inputs, way, emulator, lse=True) for way in parts_errors.F16_WAYS.values()]
    fma, parts = (parts_errors.get_errors(x.reshape(expected.shape), expected, np.ones(())) for x in found)
    assert parts[0] <= 2 * fma[0] + 2e-7
    assert parts[1] <= 1.2 * fma[1] + 2e-8


def check_alike(inputs, emulator, tolerance):
    """Infinities and NaN where f64 has them, and nearly the same numbers."""
    expected = parts_errors.get_reference(*inputs)
    found = parts_errors.run(inputs, "", emulator).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return expected


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float16", 2e-3)])
def test_infinities_and_nan(dtype, tolerance, emulator):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 1, n, 64)).astype(dtype) for n in (FEW, 70, 70))
    # A product with infinity is infinite, whatever bits the other factor leaves to its parts, and NaN with 0: rows of Q
    # for which key 5 has a score of -inf, then one of inf, then NaN.
    q[..., 3] = np.where(np.arange(FEW) < FEW // 2, 1, -1)
    q[0, 0, 1::4, 3] *= 1.375
    q[0, 0, FEW - 1, 3] = 0
    k[0, 0, 5, 3] = -np.inf
    q[0, 0, 7, 8] = np.nan
    v[0, 0, 9, 2], v[0, 0, 10, 3], v[0, 0, 11, 4] = np.inf, -np.inf, np.nan
    expected = check_alike([q, k, v], emulator, tolerance)
    for is_there in (np.isfinite, np.isposinf, np.isneginf):
        assert is_there(expected).any()
    assert np.isnan(expected[0, 0, [7, *range(FEW // 2, FEW)]]).all()


def test_weights_of_zero_times_the_largest_numbers(emulator):
    q, k, v = parts_errors.draw(FEW, 70, 64, 0)
    k[..., 0], q[..., 0] = -400, 30
    k[0, 0, :3, 0] = 0
    v[..., 1] = np.finfo(np.float32).max
    v[0, 0, :3, 1] = 3e38
    check_alike([q, k, v / np.float32(4)], emulator, 1e-5)
