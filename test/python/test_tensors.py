"""Tensors at the border: NumPy, DLPack and torch in and out, what is copied and what is refused."""

import contextlib
import ctypes
import sys
import tracemalloc
import types

import ml_dtypes
import numpy as np
import pytest

import attn
from attn.kernel import _dlpack, _library, _tensor
from helpers import Exporter, Shape, draw

SMALL = Shape(5, 7, 16, 8, b=2, hq=4, hkv=2)
Q, K, V = draw(SMALL)


def test_contiguous_inputs_are_not_copied():
    q, k, v = draw(Shape(1, 1 << 16, 64, 64))
    attn.sdpa(q, k, v)
    tracemalloc.start()
    attn.sdpa(q, k, v)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < k.nbytes / 16


def test_other_inputs_are_copied_and_right():
    strided = np.asfortranarray(Q)
    every_second = np.repeat(K, 2, axis=2)[:, :, ::2]
    misaligned = np.frombuffer(b"x" + V.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(V.shape)
    expected = attn.sdpa(Q, K, V)
    np.testing.assert_array_equal(attn.sdpa(strided, every_second, misaligned), expected)


def test_dlpack_objects_are_taken_without_copies():
    exporters = [Exporter(x) for x in (Q, K, V)]
    assert np.shares_memory(_tensor.as_array("q", exporters[0]), Q)
    result = attn.sdpa(*exporters)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, attn.sdpa(Q, K, V))
    assert all(x.exports for x in exporters)


def test_dlpack_objects_may_be_read_only():
    """NumPy asks such an exporter for a newer tensor, which says so; of the older kind it has none."""
    array = Q.copy()
    array.flags.writeable = False
    assert np.shares_memory(_tensor.as_array("q", Exporter(array)), array)


class NarrowExporter(Exporter):
    """Exports elements of bfloat16 or of 8-bit floats as such, as JAX does; NumPy takes neither."""

    def __dlpack__(self, **kwargs):
        capsule = self.array.view(_tensor.CARRIERS[self.array.dtype.name]).__dlpack__()
        tensor = _library.DLTensor.from_address(_library.capsule_pointer(capsule, b"dltensor"))
        tensor.dtype.code = _tensor.NARROW_CODES[self.array.dtype.name]
        return capsule


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_dlpack_objects_of_narrow_floats_are_taken_without_copies(dtype):
    array = np.swapaxes(K.astype(dtype), 1, 2)
    taken = _tensor.as_array("k", NarrowExporter(array))
    assert taken.dtype == dtype
    assert taken.strides == array.strides
    assert np.shares_memory(taken, array)
    np.testing.assert_array_equal(taken.astype(np.float32), array.astype(np.float32))


def test_narrow_dlpack_objects_compute_what_arrays_do():
    arrays = [x.astype(ml_dtypes.bfloat16) for x in (Q, K, V)]
    expected = attn.sdpa(*arrays).astype(np.float32)
    np.testing.assert_array_equal(attn.sdpa(*map(NarrowExporter, arrays)).astype(np.float32), expected)


class Tensor(Exporter):
    """Stands in for torch.Tensor, so that the tests need no torch; as there, narrow floats have no way out as such."""

    def __init__(self, array):
        """Over a NumPy array."""
        super().__init__(array)
        is_narrow = array.dtype.name in _tensor.CARRIERS
        self.dtype = array.dtype.name if is_narrow else array.dtype
        self.requires_grad = self.negative = False
        self.is_detached = False
        self.is_cpu, self.device = True, "cpu"

    def is_neg(self):
        """Whether the elements are those of the memory, negated."""
        return self.negative

    def detach(self):
        """The same memory without a gradient."""
        result = Tensor(self.array)
        result.is_detached = True
        return result

    def data_ptr(self):
        """The address."""
        return self.array.ctypes.data

    def to_dlpack(self):
        """A capsule of types that DLPack has."""
        if isinstance(self.dtype, str):
            raise RuntimeError("Unsupported dtype in DLTensor.")
        return self.array.__dlpack__(max_version=(1, 0))

    def view(self, dtype):
        """The same memory as another type."""
        return Tensor(self.array.view(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype))


@pytest.fixture
def torch(monkeypatch):
    names = {"bfloat16": "bfloat16", "float32": np.float32, "int16": np.int16, "int8": np.int8}
    module = types.SimpleNamespace(Tensor=Tensor, from_numpy=Tensor, **names)
    module.empty = lambda shape, dtype, device: Tensor(np.empty(shape, dtype))
    module._C = types.SimpleNamespace(_to_dlpack_versioned=Tensor.to_dlpack, _DisableFuncTorch=contextlib.nullcontext)
    module.is_grad_enabled = lambda: True
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.mark.usefixtures("torch")
def test_torch_tensors_come_back_as_torch_tensors():
    out, lse = attn.sdpa(*map(Tensor, (Q, K, V)), return_lse=True)
    assert type(out) is type(lse) is Tensor
    np.testing.assert_array_equal(out.array, attn.sdpa(Q, K, V))


@pytest.mark.usefixtures("torch")
def test_torch_bfloat16_goes_in_and_out_as_its_bits():
    narrow = Q.astype(ml_dtypes.bfloat16)
    array = _tensor.as_array("q", Tensor(narrow))
    assert array.dtype == ml_dtypes.bfloat16
    assert np.shares_memory(array, narrow)
    back = _tensor.like(narrow, Tensor(narrow))
    assert back.dtype == "bfloat16"
    assert np.shares_memory(back.array, narrow)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(("dtype", "code"), [(ml_dtypes.float8_e4m3fn, 10), (ml_dtypes.float8_e5m2, 12)])
def test_torch_float8_goes_in_as_its_bits(dtype, code):
    narrow = np.arange(6, dtype=np.uint8).view(dtype)
    array = _tensor.as_array("k", Tensor(narrow))
    assert array.dtype == dtype
    assert np.shares_memory(array, narrow)
    assert _dlpack.describe("k", array).dtype.code == code


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_torch_tensors_that_are_not_their_memory_are_refused(dtype):
    q, k, v = (Tensor(x.astype(dtype)) for x in (Q, K, V))
    k.negative = True
    with pytest.raises(TypeError, match=r"expected k to be a tensor .*; write tensor.resolve_neg\(\)"):
        attn.sdpa(q, k, v)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_a_torch_gradient_is_refused_where_it_is_recorded(torch, dtype):
    """Under no_grad and inference_mode it is not, and nothing is lost."""
    q, k, v = (Tensor(x.astype(dtype)) for x in (Q, K, V))
    expected = attn.sdpa(q, k, v).array
    k.requires_grad = True
    with pytest.raises(TypeError, match=r"k .* requires no gradient, .*attn\.torch\.sdpa.*torch\.no_grad") as error:
        attn.sdpa(q, k, v)
    assert "detach" not in str(error.value)
    torch.is_grad_enabled = lambda: False
    found = attn.sdpa(q, k, v)
    assert not found.is_detached
    np.testing.assert_array_equal(found.array, expected)


def test_torch_leaves_are_captured_where_no_gradient_is_recorded(torch):
    slopes = Tensor(np.array([0.5, 1, 2, 4], np.float32))
    expected = attn.sdpa(Q, K, V, score_mod=lambda s, b, h, i, j: s - slopes[h] * (i - j))
    slopes.requires_grad = True
    torch.is_grad_enabled = lambda: False
    found = attn.sdpa(Q, K, V, score_mod=lambda s, b, h, i, j: s - slopes[h] * (i - j))
    np.testing.assert_array_equal(found, expected)


class Tracer:
    """Stands in for what jax.jit, grad and vmap call functions with: it has attributes of an array, but no values."""

    shape, dtype = (2,), np.float32

    def __dlpack__(self, **_):
        """There only for `hasattr`, as in JAX."""
        raise NotImplementedError

    def __array__(self, *_, **__):
        """As in JAX."""
        raise RuntimeError("TracerArrayConversionError")


@pytest.fixture
def jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(core=types.SimpleNamespace(Tracer=Tracer)))


TRACED = {
    "q": lambda x: attn.sdpa(x, K, V),
    "v": lambda x: attn.sdpa(Q, K, v=x),
    "bias": lambda x: attn.sdpa(Q, K, V, bias=x),
    "scale": lambda x: attn.sdpa(Q, K, V, scale=x),
    "window": lambda x: attn.sdpa(Q, K, V, window=(x, 0)),
    "causal": lambda x: attn.sdpa(Q, K, V, causal=x),
    "kv_lengths": lambda x: attn.sdpa(Q, K, V, kv_lengths=x),
    "dropout": lambda x: attn.sdpa(Q, K, V, dropout=(0.5, x, 0)),
    "table": lambda table: attn.sdpa(Q, K, V, score_mod=lambda s, b, h, i, j: s + table[b]),
    "k": lambda x: attn.compile("b2 hq4 hkv2 sq5 sk7 d16 dv8 f32")(Q, x, V),
    "out": lambda x: attn.compile("b2 hq4 hkv2 sq5 sk7 d16 dv8 f32")(Q, K, V, out=x),
    "q on a GPU": lambda x: attn.sdpa(x, x, x, target="sm_80"),
    "seed": lambda x: attn.compile("b2 hq4 hkv2 sq5 sk7 d16 dv8 f32 dropout=0.5")(Q, K, V, x, 0),
    "block_table": lambda x: attn.paged_sdpa(Q[:, :, :1], K, V, x, [1, 1]),
}


@pytest.mark.usefixtures("jax")
@pytest.mark.parametrize("name", TRACED)
def test_a_tracer_of_jax_is_refused_with_what_to_write(name):
    match = f"expected {name.partition(' ')[0]} to have its values, found a Tracer of JAX.*call attn outside"
    with pytest.raises(TypeError, match=match) as error:
        TRACED[name](Tracer())
    assert "attn.jax.sdpa" in str(error.value)


@pytest.mark.usefixtures("torch")
def test_torch_tensors_elsewhere_are_refused():
    k = Tensor(K)
    k.is_cpu, k.device = False, "cuda:0"
    with pytest.raises(TypeError, match=r'found a tensor on cuda:0; write target="sm_80" or .*, or k.cpu\(\)'):
        attn.sdpa(Tensor(Q), k, Tensor(V))
    k.device = "xpu:0"
    with pytest.raises(TypeError, match=r"expected k in CPU memory, found a tensor on xpu:0; write k.cpu\(\)"):
        attn.sdpa(Tensor(Q), k, Tensor(V))


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype="f4").reshape(2, 3),
        read_only(np.arange(6, dtype="f4")),
        np.arange(6, dtype="f4").astype(ml_dtypes.bfloat16),
        np.zeros((2, 0, 3), "f4"),
        np.full((), 3.0),
        np.zeros((4, 1, 3), bool)[::1, :, :],
        np.arange(24, dtype="i4").reshape(2, 3, 4)[1:2],
    ],
)
def test_a_borrowed_tensor_is_the_array_and_is_given_back(array):
    references = sys.getrefcount(array)
    address, owner = _dlpack.borrow("x", array)
    tensor, described = _library.DLTensor.from_address(address), _dlpack.describe("x", array)
    assert tensor.shape[: tensor.ndim] == list(array.shape)
    assert array.size == 0 or tensor.data + tensor.byte_offset == array.ctypes.data
    kinds = [(x.dtype.code, x.dtype.bits, x.dtype.lanes, x.device.device_type) for x in (tensor, described)]
    assert kinds[0] == kinds[1]
    del owner
    assert sys.getrefcount(array) == references


def test_describe_gives_canonical_strides():
    tensor = _dlpack.describe("x", np.zeros((3, 1, 4), np.float64)[:, :, :])
    assert (tensor.ndim, tensor.shape[:3], tensor.strides[:3]) == (3, [3, 1, 4], [4, 4, 1])
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (2, 64, 1)
    assert _dlpack.describe("x", np.zeros(2, bool)).dtype.code == 6
    assert ctypes.sizeof(_library.DLTensor) == 48
    with pytest.raises(TypeError, match="native numbers"):
        _dlpack.describe("x", np.zeros(2, ">f4"))
