"""attn.load_library of kernels for GPUs: on arrays of the emulated driver, against the reference."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from attn.kernel import _device
from fake_cuda import EMULATOR, Driver, FakeArray
from paths import attnc

pytestmark = pytest.mark.skipif(not EMULATOR.is_file(), reason="the emulated driver is not built")
BYTES = {"int8": np.int8, "fp8": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
ROWS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
LINES = """
b1 hq2 hkv1 sq17 sk33 d64 f16 causal=bottom_right grad=q,k,v
b? hq2 hkv1 sq? sk? d64 f16 out=lse
b1 hq2 hkv1 sq17 sk33 d64 f16 kv_lengths dropout=0.25
b1 hq2 hkv1 sq1 sk700 d64 f16
b3 hq2 hkv1 sq50 sk77 d64 f16 causal=bottom_right layout=varlen out=lse
b? hq2 hkv1 sq3 sk? d64 f16 causal=bottom_right kv_lengths paged=16
""" + "".join(f"b1 hq1 sq1 sk1 d256 {rows} kv={kind} kvscale=head\n" for rows in ROWS for kind in BYTES)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "lines.txt").write_text(LINES)
    to = ["--emit=shared", "-o", folder / "libgpu.so", f"--manifest={folder / 'gpu.json'}"]
    attnc(f"--problems={folder / 'lines.txt'}", "--target=sm_80,sm_90a", *to)
    runtime = ctypes.CDLL(str(EMULATOR.with_name("libattn_runtime.so")))  # whose launcher the library has
    assert runtime.attn_cuda_load_driver(str(EMULATOR).encode()) == 0
    return attn.load_library(folder / "gpu.json")


@pytest.fixture
def driver():
    return Driver()


def draw(*shapes):
    rng = np.random.default_rng(7)
    return [rng.standard_normal(shape).astype(np.float16) for shape in shapes]


def qkv(sq=17, sk=33):
    return draw((1, 2, sq, 64), (1, 1, sk, 64), (1, 1, sk, 64))


def on(driver, *arrays):
    return [FakeArray.of(driver, array) for array in arrays]


def same(found, expected, tolerance=4e-3):
    assert isinstance(found, FakeArray)
    np.testing.assert_allclose(found.numpy(), expected, atol=tolerance)


def wide(*arrays):
    return [x.astype(np.float64) for x in arrays]


def test_what_it_says_of_itself(library):
    assert library.is_for_gpus
    assert repr(library) == "<attn.Library gpu: 13 kernels for sm_80, sm_90a>"
    with pytest.raises(ValueError, match="found one for sm_80, sm_90a; each call takes the best target"):
        library.use_target("sm_80")


@pytest.mark.parametrize("capability", [80, 90])
def test_sdpa_by_the_code_of_the_device(library, driver, capability):
    arrays = qkv()
    driver.library.attn_emulator_set_capability(capability)
    try:
        out, lse = library.sdpa(*on(driver, *arrays), return_lse=True)
    finally:
        driver.library.attn_emulator_set_capability(90)
    expected = reference.sdpa(*wide(*arrays), return_lse=True)
    same(out, expected[0])
    np.testing.assert_allclose(lse.numpy(), expected[1], rtol=1e-5)


def test_gradients(library, driver):
    arrays, options = qkv(), {"causal": "bottom_right"}
    on_device = on(driver, *arrays)
    out, *terms = library.sdpa(*on_device, return_max=True, return_log_sum=True, **options)
    (dout,) = draw(out.shape)
    found = library.sdpa_backward(*on_device, out, tuple(terms), *on(driver, dout), grad=("v", "q", "k"), **options)
    out, row_max, log_sum, dout = wide(out.numpy(), *(x.numpy() for x in terms), dout)
    saved = (out, (row_max, log_sum), dout)
    expected = reference.sdpa_backward(*wide(*arrays), *saved, grad=("v", "q", "k"), **options)
    assert list(found) == ["v", "q", "k"]
    for name, x in found.items():
        same(x, expected[name], 1e-2)


def test_lengths_and_dropout(library, driver):
    arrays, lengths = qkv(), np.array([20], np.int32)
    options = {"dropout": (0.25, 3, 5)}
    out = library.sdpa(*on(driver, *arrays), kv_lengths=on(driver, lengths)[0], **options)
    same(out, reference.sdpa(*wide(*arrays), kv_lengths=lengths, **options), 8e-3)


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", BYTES)
def test_all_bytes_are_widened_exactly(library, driver, kind, rows, capability):
    """Of one key, the output is its row of V, which has each byte once."""
    v = np.arange(256, dtype=np.uint8).view(BYTES[kind]).reshape(1, 1, 1, 256)
    q, k, scale = np.ones(v.shape, ROWS[rows]), np.ones(v.shape, BYTES[kind]), np.ones(1, np.float32)
    driver.library.attn_emulator_set_capability(capability)
    try:
        q, k, v_on_device, scale = on(driver, q, k, v, scale)
        out = library.sdpa(q, k, v_on_device, k_scale=scale, v_scale=scale).numpy()
    finally:
        driver.library.attn_emulator_set_capability(90)
    np.testing.assert_array_equal(out.astype("f4"), v.astype("f4"))


def test_packed_sequences(library, driver):
    q, k, v = draw((50, 2, 64), (77, 1, 64), (77, 1, 64))
    rows, keys = np.array([0, 17, 17, 50], np.int32), np.array([0, 33, 40, 77], np.int32)
    options = {"causal": "bottom_right", "return_lse": True}
    out, lse = library.varlen_sdpa(*on(driver, q, k, v, rows, keys), **options)
    expected = reference.varlen_sdpa(*wide(q, k, v), rows, keys, **options)
    same(out, expected[0])
    np.testing.assert_allclose(lse.numpy(), expected[1], rtol=1e-4, atol=1e-5)


def test_pages(library, driver):
    q, cache = draw((2, 2, 3, 64), (5, 16, 1, 64))
    lengths, table = np.array([37, 5], np.int32), np.array([[3, 0, 4], [1, -1, -1]], np.int32)
    out = library.paged_sdpa(*on(driver, q, cache, cache, table, lengths), causal="bottom_right")
    dense = np.zeros((2, 1, 48, 64))
    for b, m in np.ndindex(2, 3):
        dense[b, 0, m * 16 : m * 16 + 16] = cache[table[b, m], :, 0] if table[b, m] >= 0 else 0
    same(out, reference.sdpa(*wide(q), dense, dense, kv_lengths=lengths, causal="bottom_right"))


class Stream:
    """As PyTorch has them."""

    cuda_stream = 9


@pytest.mark.parametrize("stream", [9, Stream()], ids=["handle", "stream"])
def test_a_stream_is_where_arrays_are_asked_for(library, driver, stream):
    """Of split keys: the workspace as well."""
    arrays = qkv(sq=1, sk=700)
    driver.stream = 9
    same(library.sdpa(*on(driver, *arrays), stream=stream), reference.sdpa(*wide(*arrays)))
    with pytest.raises(AssertionError):  # of the array, which is asked on the legacy default stream
        library.sdpa(*on(driver, *arrays))


def test_arrays_with_a_cuda_array_interface(library, driver):
    """Inputs are read; outputs their library must make."""
    arrays = qkv()
    q, k, v = on(driver, *arrays)
    out, _ = library.sdpa(q, k.interface(), v.interface(stream=1), return_lse=True)
    same(out, reference.sdpa(*wide(*arrays)))
    with pytest.raises(TypeError, match="to be ready on the stream 1, found an array of the stream 7"):
        library.sdpa(q, k.interface(stream=7), v, return_lse=True)
    with pytest.raises(TypeError, match="to hold numbers or bool without a mask, found <f2"):
        library.sdpa(q, k.interface(mask=q), v, return_lse=True)
    with pytest.raises(TypeError, match="expected out= for inputs of Interface, whose library makes no arrays"):
        library.sdpa(*(x.interface() for x in (q, k, v)), return_lse=True)


def test_handles_of_streams():
    assert _device.handle_of(0) == _device.LEGACY_STREAM
    assert _device.handle_of(Stream()) == 9
    assert _device.handle_of(type("OfCuPy", (), {"ptr": 5})()) == 5
    assert _device.handle_of(type("OfNumba", (), {"handle": ctypes.c_void_p(6)})()) == 6
    assert _device.handle_of(type("OfCuda", (), {"__cuda_stream__": lambda self: (0, 7)})()) == 7
    with pytest.raises(TypeError, match="expected stream to be the handle of a CUDA stream or a stream of PyTorch"):
        _device.handle_of("main")


def test_arrays_that_are_not_there(library, driver):
    q, k, v = qkv()
    with pytest.raises(TypeError, match="expected q in the memory of a CUDA device, found it in CPU memory"):
        library.sdpa(q, k, v)
    with pytest.raises(TypeError, match="expected v in the memory of a CUDA device, found it in CPU memory"):
        library.sdpa(*on(driver, q, k), v)
    with pytest.raises(ValueError, match="add the problem line 'b1 hq2 hkv1 sq17 sk33 d32 dv32 f16 out=lse'"):
        library.sdpa(*on(driver, *draw((1, 2, 17, 32), (1, 1, 33, 32), (1, 1, 33, 32))), return_lse=True)
