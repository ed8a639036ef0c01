"""GPU kernels from Python: tensors of a device through DLPack, here in the memory of the emulated driver."""

import subprocess
import sys

import numpy as np
import pytest

import attn
from attn import reference
from fake_cuda import EMULATOR, Driver, FakeArray

pytestmark = pytest.mark.skipif(not EMULATOR.is_file(), reason="the emulated driver is not built")
TARGET = "sm_80"


@pytest.fixture(scope="module")
def driver():
    return Driver()


def qkv(dtype=np.float16, sq=40, sk=72, d=64):
    rng = np.random.default_rng(7)
    shapes = (1, 2, sq, d), (1, 1, sk, d), (1, 1, sk, d)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def on(driver, *arrays):
    return [FakeArray.of(driver, array) for array in arrays]


def expected(q, k, v, **options):
    return reference.sdpa(*(x.astype(np.float64) for x in (q, k, v)), **options)


def test_output_is_an_array_of_the_same_library(driver):
    arrays = qkv()
    out = attn.sdpa(*on(driver, *arrays), causal="bottom_right", target=TARGET)
    assert isinstance(out, FakeArray)
    assert out.dtype == np.float16
    np.testing.assert_allclose(out.numpy(), expected(*arrays, causal="bottom_right"), atol=4e-3)


def test_lse_and_dynamic_sizes(driver):
    arrays = qkv(sq=17, sk=33)
    out, lse = attn.sdpa(*on(driver, *arrays), return_lse=True, dynamic=True, target=TARGET)
    want, want_lse = expected(*arrays, return_lse=True)
    np.testing.assert_allclose(out.numpy(), want, atol=4e-3)
    np.testing.assert_allclose(lse.numpy(), want_lse, rtol=1e-5)


def test_lengths_on_the_device(driver):
    arrays = qkv()
    lengths = np.array([50], np.int32)
    out = attn.sdpa(*on(driver, *arrays), kv_lengths=on(driver, lengths)[0], target=TARGET)
    np.testing.assert_allclose(out.numpy(), expected(*arrays, kv_lengths=lengths), atol=4e-3)


def test_bias_on_the_device(driver):
    arrays = qkv()
    bias = np.linspace(-1, 1, 40 * 72, dtype=np.float16).reshape(1, 1, 40, 72)
    out = attn.sdpa(*on(driver, *arrays), bias=on(driver, bias)[0], target=TARGET)
    np.testing.assert_allclose(out.numpy(), expected(*arrays, bias=bias.astype(np.float64)), atol=4e-3)


def test_given_output_is_returned(driver):
    arrays = qkv()
    kernel = attn.compile("b1 hq2 hkv1 sq40 sk72 d64 dv64 f16", target=TARGET)
    out = FakeArray(driver, (1, 2, 40, 64), np.float16)
    assert kernel(*on(driver, *arrays), out=out) is out
    np.testing.assert_allclose(out.numpy(), expected(*arrays), atol=4e-3)


def test_host_tensors_are_refused(driver):
    q, k, v = on(driver, *qkv())
    host = FakeArray(driver, k.shape, k.dtype, device_type=1)
    with pytest.raises(TypeError, match="expected k in the memory of a CUDA device, found DLPack device type 1"):
        attn.sdpa(q, host, v, target=TARGET)
    with pytest.raises(TypeError, match="expected q in the memory of a CUDA device, found DLPack device type 1"):
        attn.sdpa(*qkv(), target=TARGET)


def test_unaligned_pointers_are_refused(driver):
    arrays = qkv()
    q, k, v = on(driver, *arrays)
    k = FakeArray.of(driver, arrays[1], shift=8)
    with pytest.raises(ValueError, match="argument 1 'k': expected data aligned to 16 bytes, found 8 more"):
        attn.sdpa(q, k, v, target=TARGET)


def test_captured_arrays_are_refused(driver):
    table = np.zeros(72, np.float32)
    with pytest.raises(TypeError, match="expected functions without captured arrays for target sm_80, found 1"):
        attn.sdpa(*on(driver, *qkv()), score_mod=lambda s, b, h, i, j: s + table[j], target=TARGET)


def test_device_tensors_are_refused_by_processors(driver):
    with pytest.raises(TypeError, match="expected q in CPU memory, found DLPack device type 2"):
        attn.sdpa(*on(driver, *qkv()))


def test_no_driver_is_an_error_with_its_name():
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import attn
from attn import _library
import ctypes
message = ctypes.create_string_buffer(256)
assert _library.load().attn_use_cuda_driver(b"/nowhere/libcuda.so", message, 256) == 30
print(message.value.decode())
"""
    folder = str(EMULATOR.parents[3] / "python")
    found = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("no CUDA driver: cannot load /nowhere/libcuda.so")
