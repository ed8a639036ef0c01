"""GPU kernels from Python: tensors of a device through DLPack, here in the memory of the emulated driver."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import attn
from attn import reference
from attn.kernel import _device
from fake_cuda import EMULATOR, Driver, FakeArray
from test_append_types import BF16, E4M3, E5M2, LARGEST, special

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


def test_a_thread_without_a_context_of_cuda(driver):
    """As those of PyTorch's backward passes: it gets the primary one of the arrays' device."""
    arrays, found = on(driver, *qkv()), []

    def run():
        found.append(attn.sdpa(*arrays, target=TARGET).numpy())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found, [attn.sdpa(*arrays, target=TARGET).numpy()])


def test_given_output_is_returned(driver):
    arrays = qkv()
    kernel = attn.compile("b1 hq2 hkv1 sq40 sk72 d64 dv64 f16", target=TARGET)
    out = FakeArray(driver, (1, 2, 40, 64), np.float16)
    assert kernel(*on(driver, *arrays), out=out) is out
    np.testing.assert_allclose(out.numpy(), expected(*arrays), atol=4e-3)


def check_gradients(found, expected):
    assert list(found) == list(expected)
    for name, x in found.items():
        assert isinstance(x, FakeArray)
        np.testing.assert_allclose(x.numpy(), expected[name], atol=1e-2 * max(1, np.abs(expected[name]).max()))


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients(driver, dynamic):
    """Of lse too; by vjp, which calls sdpa_backward."""
    arrays, options = qkv(sq=17, sk=33), {"causal": "bottom_right"}
    (out, lse), pullback = attn.vjp(
        *on(driver, *arrays), grad=("v", "q"), return_lse=True, dynamic=dynamic, target=TARGET, **options
    )
    rng = np.random.default_rng(5)
    dout, dlse = rng.standard_normal(out.shape).astype(np.float16), rng.standard_normal(lse.shape).astype(np.float32)
    saved = [x.astype(np.float64) for x in (*arrays, out.numpy(), lse.numpy(), dout)]
    expected = reference.sdpa_backward(*saved, dlse=dlse, grad=("v", "q"), **options)
    check_gradients(pullback(*on(driver, dout, dlse)), expected)


def test_into(driver):
    """Keys added to a state that others left, and gradients added to others."""
    q, k, v = qkv(np.float32)
    state = on(driver, *attn.sdpa(q, k[:, :, :30], v[:, :, :30], return_lse=True))
    found = attn.sdpa(*on(driver, q, k[:, :, 30:], v[:, :, 30:]), into=tuple(state), target=TARGET)
    assert found[0] is state[0]
    out, lse = expected(q, k, v, return_lse=True)
    np.testing.assert_allclose(found[0].numpy(), out, atol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), lse, rtol=1e-5)
    dout = np.random.default_rng(5).standard_normal(out.shape).astype(np.float32)
    into = {"k": on(driver, np.ones_like(k))[0]}
    saved = on(driver, q, k, v, out.astype(np.float32), lse.astype(np.float32), np.zeros_like(lse, np.float32), dout)
    gradients = attn.sdpa_backward(*saved[:4], tuple(saved[4:6]), saved[6], grad=("q", "k"), into=into, target=TARGET)
    assert gradients["k"] is into["k"]
    exact = reference.sdpa_backward(*(x.astype(np.float64) for x in (q, k, v, out, lse, dout)), grad=("q", "k"))
    np.testing.assert_allclose(gradients["k"].numpy(), exact["k"] + 1, atol=1e-4)
    np.testing.assert_allclose(gradients["q"].numpy(), exact["q"], atol=1e-4)
    with pytest.raises(TypeError, match="expected out of into in the memory of a CUDA device"):
        attn.sdpa(*on(driver, q, k, v), into=(out, lse), target=TARGET)


def test_sums_of_weights_a_key(driver):
    arrays = qkv()
    found = attn.sdpa(*on(driver, *arrays), causal="bottom_right", return_key_sums=True, target=TARGET)[1].numpy()
    weights = expected(*arrays, causal="bottom_right", return_weights=True)[1]
    np.testing.assert_allclose(found, weights.sum((1, 2))[:, None], rtol=1e-3)


def test_gradients_of_packed_sequences(driver):
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal((rows, heads, 32)).astype(np.float16) for rows, heads in ((20, 2), (33, 1), (33, 1))]
    starts = [np.array([0, 7, 7, 20], np.int32), np.array([0, 13, 16, 33], np.int32)]
    on_device, options = on(driver, *arrays, *starts), {"causal": "bottom_right", "target": TARGET}
    out, *lse = attn.varlen_sdpa(*on_device, return_max=True, return_log_sum=True, **options)
    dout = rng.standard_normal(out.shape).astype(np.float16)
    found = attn.varlen_sdpa_backward(*on_device[:3], out, tuple(lse), *on(driver, dout), *on_device[3:], **options)
    q, k, v, out, row_max, log_sum, dout = (
        x.astype(np.float64) for x in (*arrays, out.numpy(), *(x.numpy() for x in lse), dout)
    )
    saved = (q, k, v, out, (row_max, log_sum), dout)
    check_gradients(found, reference.varlen_sdpa_backward(*saved, *starts, causal="bottom_right"))


def test_lengths_that_are_not_known_have_no_one_alignment(driver):
    """With q_lengths and kv_lengths a window alone would be at the top left, if they were taken for equal."""
    arrays, (lengths,) = on(driver, *qkv(sq=40, sk=40)), on(driver, np.array([9], np.int32))
    with pytest.raises(ValueError, match="expected align for a window where Sq and Sk differ"):
        attn.sdpa(*arrays, q_lengths=lengths, kv_lengths=lengths, window=(3, 3), target=TARGET)


def test_views_of_captured_tensors_are_refused(driver):
    """Of a square one, the transpose would be read as the tensor itself."""
    (table,) = on(driver, np.zeros((2, 2), np.float32))
    with pytest.raises(TypeError, match="expected table to be read by position, as it requires a gradient or is on a"):
        attn.sdpa(*on(driver, *qkv()), score_mod=lambda x, b, h, i, j: x + table.T[h, h], target=TARGET)


def test_host_tensors_are_refused(driver):
    q, k, v = on(driver, *qkv())
    host = FakeArray(driver, k.shape, k.dtype, device_type=1)
    with pytest.raises(
        TypeError, match="expected k in the memory of a CUDA device, found it in CPU memory; copy it there"
    ):
        attn.sdpa(q, host, v, target=TARGET)
    with pytest.raises(
        TypeError, match="expected q in the memory of a CUDA device, found it in CPU memory; copy it there"
    ):
        attn.sdpa(*qkv(), target=TARGET)


def test_arrays_of_two_devices_are_refused(driver):
    q, k, v = on(driver, *qkv())
    k.number = 1
    with pytest.raises(TypeError, match="expected k on cuda:0, as q is, found it on cuda:1; copy it there"):
        attn.sdpa(q, k, v, target=TARGET)
    q.number = v.number = 1
    out = FakeArray(driver, q.shape, q.dtype)
    with pytest.raises(TypeError, match="expected out on cuda:1, as q is, found it on cuda:0; copy it there"):
        attn.compile("b1 hq2 hkv1 sq40 sk72 d64 dv64 f16", target=TARGET)(q, k, v, out=out)


def test_cupy_has_streams_and_devices_of_its_own(driver, monkeypatch):
    """A call enters its device; a stream that is not the current one, too."""
    entered = []

    class Entered:
        def __init__(self, kind, number):
            self.what, self.ptr = (kind, number), number

        def __enter__(self):
            entered.append(self.what)

        def __exit__(self, *_):
            pass

    cuda = SimpleNamespace(
        get_current_stream=lambda: Entered("stream", 5),
        Device=lambda number: Entered("device", number),
        ExternalStream=lambda handle: Entered("stream", handle),
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, empty=lambda *x, dtype: (*x, dtype)))
    (model,) = on(driver, np.zeros(3, np.float32))
    model.__class__ = type("ndarray", (FakeArray,), {"__module__": "cupy"})
    device = _device.of(model)
    assert device.stream() == 5
    assert device.empty([2, 3], "float16") == ((2, 3), "float16")
    for stream in (5, 7, _device.LEGACY_STREAM):
        with device.guard(stream):
            pass
    assert entered == [("device", 0), ("device", 0), ("stream", 7), ("device", 0), ("stream", 0)]


def test_unaligned_pointers_are_refused(driver):
    arrays = qkv()
    q, k, v = on(driver, *arrays)
    k = FakeArray.of(driver, arrays[1], shift=8)
    with pytest.raises(ValueError, match="argument 1 'k': expected data aligned to 16 bytes, found 8 more"):
        attn.sdpa(q, k, v, target=TARGET)


def test_device_tensors_are_refused_by_processors(driver):
    with pytest.raises(
        TypeError, match='expected q in CPU memory, found DLPack device type 2; write target="sm_80" or'
    ):
        attn.sdpa(*on(driver, *qkv()))
    with pytest.raises(ValueError, match=r"a name in attn.targets\(\), as .sm_80., found 'cuda'"):
        attn.sdpa(*on(driver, *qkv()), target="cuda")


def test_no_driver_is_an_error_with_its_name():
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import attn
from attn.kernel import _library
import ctypes
message = ctypes.create_string_buffer(256)
assert _library.load().attn_use_cuda_driver(b"/nowhere/libcuda.so", message, 256) == 30
print(message.value.decode())
"""
    folder = str(EMULATOR.parents[3] / "python")
    found = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("no CUDA driver: cannot load /nowhere/libcuda.so")


def test_packed_sequences(driver):
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((rows, heads, 64)).astype(np.float16) for rows, heads in ((50, 2), (77, 1), (77, 1)))
    rows, keys = np.array([0, 17, 17, 50], np.int32), np.array([0, 33, 40, 77], np.int32)
    options = {"causal": "bottom_right", "return_lse": True, "window": (40, None)}
    out, lse = attn.varlen_sdpa(*on(driver, q, k, v, rows, keys), **options, target=TARGET)
    want, want_lse = reference.varlen_sdpa(*(x.astype(np.float64) for x in (q, k, v)), rows, keys, **options)
    np.testing.assert_allclose(out.numpy(), want, atol=4e-3)
    np.testing.assert_allclose(lse.numpy(), want_lse, rtol=1e-4, atol=1e-5)


def test_packed_sequences_of_one_array_have_equal_lengths(driver):
    """A window without an alignment: the lengths are not known here, but they are the same."""
    rng = np.random.default_rng(4)
    q = rng.standard_normal((40, 1, 64)).astype(np.float16)
    starts = np.array([0, 11, 40], np.int32)
    on_device, (cu,) = on(driver, q, q, q), on(driver, starts)
    out = attn.varlen_sdpa(*on_device, cu, cu, window=(8, 8), target=TARGET)
    want = reference.varlen_sdpa(*[q.astype(np.float64)] * 3, starts, starts, window=(8, 8))
    np.testing.assert_allclose(out.numpy(), want, atol=4e-3)
    with pytest.raises(ValueError, match="expected align for a window where Sq and Sk differ"):
        attn.varlen_sdpa(*on_device, cu, *on(driver, starts), window=(8, 8), target=TARGET)


@pytest.mark.parametrize("page_layout", ["nhd", "hnd"])
def test_pages(driver, page_layout):
    rng = np.random.default_rng(5)
    lengths, table = np.array([37, 5], np.int32), np.array([[3, 0, 4], [1, -1, -1]], np.int32)
    q = rng.standard_normal((2, 2, 3, 64)).astype(np.float16)
    cache = rng.standard_normal((5, 16, 1, 64) if page_layout == "nhd" else (5, 1, 16, 64)).astype(np.float16)
    sink = np.array([0.5, -1], np.float32)
    out = attn.paged_sdpa(
        *on(driver, q, cache, cache, table, lengths), sink=on(driver, sink)[0], causal="bottom_right",
        page_layout=page_layout, target=TARGET,
    )  # fmt: skip
    pages = cache if page_layout == "hnd" else cache.swapaxes(1, 2)
    dense = np.zeros((2, 1, 48, 64))
    for b, m in np.ndindex(2, 3):
        dense[b, :, m * 16 : m * 16 + 16] = pages[table[b, m]] if table[b, m] >= 0 else 0
    want = expected(q, dense, dense, kv_lengths=lengths, causal="bottom_right", sink=sink)
    np.testing.assert_allclose(out.numpy(), want, atol=4e-3)


def test_captured_tensors_on_the_device(driver):
    arrays, slopes = qkv(), np.array([0.25, 0.0625], np.float32)
    table, ids = np.linspace(-1, 1, 80, dtype=np.float32).reshape(2, 40), np.arange(40, dtype=np.int32) // 16
    s, t, docs = on(driver, slopes, table, ids)

    def score_mod(score, b, h, i, j):
        return score - s[h] * (i - j) + t[h, attn.clip(i - j, 0, 39)]

    def mask_mod(b, h, i, j):
        return docs[i] == docs[attn.clip(j, 0, 39)]

    out = attn.sdpa(*on(driver, *arrays), score_mod=score_mod, mask_mod=mask_mod, target=TARGET)
    want = expected(
        *arrays,
        score_mod=lambda x, b, h, i, j: x - slopes[h] * (i - j) + table[h, np.clip(i - j, 0, 39)],
        mask_mod=lambda b, h, i, j: ids[i] == ids[np.clip(j, 0, 39)],
    )
    np.testing.assert_allclose(out.numpy(), want, atol=4e-3)


def test_captured_tensors_are_where_the_kernel_runs(driver):
    arrays, slopes = qkv(), np.array([0.25, 0.0625], np.float32)
    with pytest.raises(TypeError, match="expected slopes in the memory of a CUDA device, as q is, found an array in"):
        attn.sdpa(*on(driver, *arrays), score_mod=lambda x, b, h, i, j: x - slopes[h], target=TARGET)
    (table,) = on(driver, slopes)
    with pytest.raises(TypeError, match="expected table in CPU memory, found a tensor on a CUDA device"):
        attn.sdpa(*arrays, score_mod=lambda x, b, h, i, j: x - table[h])
    (ids,) = on(driver, np.zeros(40, np.int32))  # on the device, so they may be anything
    with pytest.raises(ValueError, match="expected positions from 0 to 1 in dimension 0 of the captured array table"):
        attn.sdpa(*on(driver, *arrays), score_mod=lambda x, b, h, i, j: x - table[ids[i]], target=TARGET)


def test_merge(driver):
    q, k, v = qkv()
    parts = [attn.sdpa(*on(driver, q, x, y), return_lse=True, target=TARGET) for x, y in
             ((k[:, :, :30], v[:, :, :30]), (k[:, :, 30:], v[:, :, 30:]))]  # fmt: skip
    out, lse = attn.merge(*parts[0], *parts[1], target=TARGET)
    assert isinstance(out, FakeArray)
    want, want_lse = expected(q, k, v, return_lse=True)
    np.testing.assert_allclose(out.numpy(), want, atol=4e-3)
    np.testing.assert_allclose(lse.numpy(), want_lse, rtol=1e-4)


def test_merge_of_rows_without_keys(driver):
    out = np.zeros((1, 2, 3, 8), np.float32)
    none, some = np.full((1, 2, 3), -np.inf, np.float32), np.zeros((1, 2, 3), np.float32)
    merged, lse = attn.merge(*on(driver, out, none, out + 2, some), target=TARGET)
    np.testing.assert_array_equal(merged.numpy(), out + 2)
    merged, lse = attn.merge(*on(driver, out, none, out, none), target=TARGET)
    np.testing.assert_array_equal(merged.numpy(), out)
    np.testing.assert_array_equal(lse.numpy(), none)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.float32])
def test_append(driver, dtype):
    rng = np.random.default_rng(1)
    cache, new = rng.integers(-99, 99, (2, 3, 17, 8)).astype(dtype), rng.integers(-99, 99, (2, 3, 2, 8)).astype(dtype)
    positions = np.array([15, 3], np.int32)
    on_device = FakeArray.of(driver, cache)
    assert attn.kv_append(on_device, *on(driver, new, positions), target=TARGET) is on_device
    for b, at in enumerate(positions):
        cache[b, :, at : at + 2] = new[b]
    np.testing.assert_array_equal(on_device.numpy(), cache)


@pytest.mark.parametrize("scale", [None, np.array([0.5, 2, 0.1], np.float32)], ids=["none", "head"])
@pytest.mark.parametrize("new", [np.float32, BF16], ids=["f32", "bf16"])
@pytest.mark.parametrize("to", [E4M3, E5M2, np.dtype("i1"), BF16], ids=str)
def test_append_converts(driver, to, new, scale):
    """Each number of the type, and those between two, as processors convert them; a table of scales is refused."""
    x = np.resize(special(np.dtype(new), to) if to in LARGEST else np.arange(999), (2, 3, 199, 8)).astype(new)
    if to == np.dtype("i1") and scale is None:
        scale = np.ones(3, np.float32)
    cache, positions = np.zeros((2, 3, 200, 8), to), np.array([0, 1], np.int32)
    on_device = FakeArray.of(driver, cache)
    given = {} if to not in LARGEST or scale is None else {"scale": scale}
    attn.kv_append(cache, x, positions, **given)
    placed = {name: on(driver, y)[0] for name, y in given.items()}
    attn.kv_append(on_device, *on(driver, x, positions), **placed, target=TARGET)
    np.testing.assert_array_equal(on_device.numpy().astype("f4"), cache.astype("f4"))
    table, inputs = on(driver, np.ones((2, 3, 200), np.float32))[0], on(driver, x, positions)
    with pytest.raises(TypeError, match="expected scale"):
        attn.kv_append(on_device, *inputs, scale_cache=table, target=TARGET)


@pytest.mark.parametrize("page_layout", ["nhd", "hnd"])
def test_append_to_pages(driver, page_layout):
    """The rows of the third sequence have no place, as its table names a page that is none: nothing is written."""
    rng = np.random.default_rng(2)
    cache = rng.standard_normal((5, 4, 3, 8) if page_layout == "nhd" else (5, 3, 4, 8)).astype(np.float16)
    new, positions = rng.standard_normal((3, 3, 2, 8)).astype(np.float16), np.array([3, 0, 1], np.int32)
    table = np.array([[4, 1], [2, -1], [7, -1]], np.int32)
    on_device = FakeArray.of(driver, cache)
    rows, places, pages = on(driver, new, positions, table)
    attn.kv_append(on_device, rows, places, block_table=pages, page_layout=page_layout, target=TARGET)
    by_row = cache if page_layout == "nhd" else cache.swapaxes(1, 2)
    for b, n in np.ndindex(2, 2):
        page, row = divmod(positions[b] + n, 4)
        by_row[table[b, page], row] = new[b, :, n]
    np.testing.assert_array_equal(on_device.numpy(), cache)
