"""`attn.sdpa_backward` and `attn.vjp` against the gradients of the reference."""

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from helpers import Shape, draw

NAN = float("nan")
SMALL = Shape(7, 9, 5, 3, b=2, hq=4, hkv=2)
# Largest error over the largest gradient; for 16 bits three roundings of weights, twice, as attnc run --check.
BOUND = {"float32": 2e-5, "float64": 2e-12, "float16": 3 / 2**10, "bfloat16": 3 / 2**7}


def cotangents(rng, q, out, lse):
    """Of out and lse, in their types."""
    return rng.standard_normal(out.shape).astype(q.dtype), rng.standard_normal(lse.shape).astype(lse.dtype)


def agree(found, expected, dtype):
    """Every gradient within the bound of its type, in the shape of the reference's, and finite."""
    assert list(found) == list(expected)
    scale = max((np.abs(x).max(initial=0) for x in expected.values()), default=0) or 1
    for name, gradient in found.items():
        assert gradient.shape == expected[name].shape, name
        error = np.abs(gradient.astype(np.float64) - expected[name]).max(initial=0)
        assert error <= BOUND[np.dtype(dtype).name] * scale, (name, error, scale)


def check(rng, arrays, *, with_dlse=True, dynamic=False, grad=("q", "k", "v"), target="host", **options):
    """The forward kernel, then the backward one on what it returned."""
    out, lse = attn.sdpa(*arrays, return_lse=True, **options)
    dout, dlse = cotangents(rng, arrays[0], out, lse)
    dlse = dlse if with_dlse else None
    found = attn.sdpa_backward(*arrays, out, lse, dout, dlse=dlse, grad=grad, dynamic=dynamic, target=target, **options)
    assert all(x.dtype == arrays["qkv".index(name)].dtype for name, x in found.items() if name in "qkv")
    expected = reference.sdpa_backward(*arrays, out, lse, dout, dlse=dlse, grad=grad, **options)
    agree(found, expected, arrays[0].dtype)
    return found


def words(rng, shape=SMALL):
    """Words alone, and those that work on one another."""
    bias = rng.standard_normal((1, shape.hq, 1, shape.sk))
    holes = rng.standard_normal(shape.scores)
    holes[rng.random(shape.scores) < 0.3] = -np.inf
    slopes = rng.standard_normal(shape.hq)
    lengths = {"q_lengths": [3, 7], "kv_lengths": [9, 4]}
    return {
        "nothing": {},
        "scale": {"scale": -0.7},
        "top_left": {"causal": "top_left"},
        "bottom_right": {"causal": "bottom_right"},
        "empty rows": {"causal": np.array([-2, -9])},
        "window": {"window": (2, 1), "align": "bottom_right"},
        "chunk": {"chunk": 3, "align": "top_left"},
        "prefix": {"causal": "top_left", "prefix": 2, "window": (1, 0)},
        "softcap": {"softcap": 0.9},
        "bias": {"bias": bias, "grad": ("bias", "q")},
        "bias that removes": {"bias": holes, "grad": ("q", "k", "v", "bias")},
        "mask": {"mask": rng.random(shape.scores) < 0.6},
        "mask of keys": {"mask": rng.random((shape.b, 1, 1, shape.sk)) < 0.6},
        "mask_mod": {"mask_mod": lambda b, h, i, j: (h + i + j) % 3 != 0},
        "sink": {"sink": rng.standard_normal(shape.hq), "grad": ("sink", "v")},
        "lengths": lengths,
        "all": {
            **{"sink": rng.standard_normal(shape.hq), "bias": bias, "softcap": 2.0, "causal": np.array([-2, 3])},
            **{**lengths, "grad": ("q", "k", "v", "bias", "sink")},
        },
        "score_mod": {"score_mod": lambda s, b, h, i, j: s * attn.tanh(s) - slopes[h] * abs(i - j)},
        "score_mod and softcap": {"score_mod": lambda s, b, h, i, j: attn.where(s > 0, s, 0.1 * s), "softcap": 1.5},
        "dropout": {"dropout": (0.3, 42, 1)},
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", words(np.random.default_rng(0)))
def test_each_word(rng, name, dtype):
    options = words(rng)[name]
    if "bias" in options:
        options["bias"] = options["bias"].astype(dtype)
    check(rng, draw(SMALL, dtype), **options)


DOCUMENTS = [Shape(300, 517, 24, 16, b=2, hq=4, hkv=2), Shape(700, 600, 16, 16, b=1, hq=1, hkv=1)]


@pytest.mark.parametrize("shape", DOCUMENTS, ids=str)
@pytest.mark.parametrize("extra", ["", "causal", "bias", "lengths", "captures"])
def test_tiles_that_keep_none_some_or_all(rng, shape, extra):
    """Documents of a few key tiles each, of which no range of keys tells."""
    queries, keys = (np.sort(rng.integers(0, 3, n)).astype(np.int32) for n in (shape.sq, shape.sk))
    options = {"mask_mod": lambda b, h, i, j: queries[i] == keys[j]}
    if extra == "causal":
        options |= {"causal": "top_left"}
    if extra == "bias":
        options |= {"bias": rng.standard_normal((1, 1, shape.sq, shape.sk)).astype(np.float32), "grad": ("q", "bias")}
    if extra == "lengths":
        options |= {"q_lengths": [shape.sq - 9, 5][: shape.b], "kv_lengths": [shape.sk - 200, shape.sk][: shape.b]}
    if extra == "captures":
        slopes = rng.standard_normal(shape.hq).astype(np.float32)
        options |= {"score_mod": lambda s, b, h, i, j: s - slopes[h] * abs(i - j) / 100}
    check(rng, draw(shape), **options)


SHAPES = [
    Shape(113, 203, 59, 31, b=1, hq=4, hkv=2),
    Shape(5, 0, 4, 4, b=1, hq=2, hkv=1),
    Shape(0, 6, 4, 4, b=1, hq=2, hkv=2),
    Shape(6, 1, 8, 8, b=2, hq=2, hkv=2),
    Shape(1, 33, 1, 2, b=1, hq=6, hkv=2),
    Shape(3, 4, 8, 8, b=2, hq=8, hkv=1),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("causal", [None, "bottom_right"])
def test_sizes(rng, shape, causal):
    check(rng, draw(shape), causal=causal)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_narrow_types(rng, dtype):
    check(rng, draw(Shape(33, 47, 16, 8, b=1, hq=4, hkv=2), dtype), causal="bottom_right", with_dlse=False)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("with_dlse", [False, True])
@pytest.mark.parametrize("layout", ["bhsd", "bshd", "bsd"])
def test_layouts(rng, layout, with_dlse, dynamic):
    arrays = draw(SMALL)
    options = {"layout": layout, "causal": "top_left", "bias": rng.standard_normal((2, 4, 1, 9)).astype(np.float32)}
    if layout != "bhsd":
        arrays = [x.swapaxes(1, 2) for x in arrays]
    if layout == "bsd":
        arrays = [x.reshape(*x.shape[:2], -1) for x in arrays]
        options["heads"] = (4, 2)
    check(rng, arrays, with_dlse=with_dlse, dynamic=dynamic, grad=("v", "bias", "q", "k"), **options)


def test_dynamic_heads(rng):
    check(rng, draw(Shape(5, 7, 4, 4, b=2, hq=3, hkv=3)), dynamic=True)


def test_nothing_of_what_is_not_kept_reaches_a_gradient(rng):
    q, k, v = draw(SMALL)
    options = {"q_lengths": [3, 7], "kv_lengths": [9, 4]}
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    dout, dlse = cotangents(rng, q, out, lse)
    clean = attn.sdpa_backward(q, k, v, out, lse, dout, dlse=dlse, **options)
    for array, axis in ((q, 0), (out, 0), (dout, 0), (dlse, 0), (k, 1), (v, 1)):
        if axis == 0:
            array[0, :, 3:] = NAN
        else:
            array[1, :, 4:] = NAN
    found = attn.sdpa_backward(q, k, v, out, lse, dout, dlse=dlse, **options)
    for name, gradient in found.items():
        np.testing.assert_array_equal(gradient, clean[name], err_msg=name)
    assert not found["q"][0, :, 3:].any()
    assert not found["k"][1, :, 4:].any()
    assert not found["v"][1, :, 4:].any()


def test_every_element_is_written(rng):
    q, k, v = draw(SMALL)
    kernel = attn.compile("b2 hq4 hkv2 sq7 sk9 d5 dv3 f32 causal=top_left grad=q,k,v", name="sdpa_backward")
    out, lse = attn.sdpa(q, k, v, causal="top_left", return_lse=True)
    dout, _ = cotangents(rng, q, out, lse)
    targets = tuple(np.full_like(x, NAN) for x in (q, k, v))
    kernel(q, k, v, out, lse, np.zeros_like(lse), dout, out=targets)  # an lse as one number
    expected = reference.sdpa_backward(q, k, v, out, lse, dout, causal="top_left")
    agree(dict(zip("qkv", targets, strict=True)), expected, q.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_captured_arrays(rng, dtype):
    slopes = rng.standard_normal(4).astype(dtype)
    table = rng.standard_normal((4, 12)).astype(dtype)

    def modify(s, b, h, i, j):
        return s - slopes[h] * abs(i - j) + table[h, attn.clip(j - i + 2, 0, 11)] * attn.tanh(s)

    options = {"score_mod": modify, "causal": "bottom_right", "softcap": 3.0, "kv_lengths": [9, 0]}
    check(rng, draw(SMALL, dtype), grad=("table", "q", "slopes"), **options)
    with pytest.raises(ValueError, match=r"some of q, k, v, slopes, table, found 'other'"):
        check(rng, draw(SMALL, dtype), grad=("other",), **options)


def test_vjp(rng):
    arrays = draw(SMALL)
    options = {"sink": rng.standard_normal(4), "causal": "bottom_right"}
    (out, lse), pullback = attn.vjp(*arrays, grad=("v", "sink"), return_lse=True, **options)
    dout, dlse = cotangents(rng, arrays[0], out, lse)
    expected = reference.sdpa_backward(*arrays, None, None, dout, dlse=dlse, grad=("v", "sink"), **options)
    agree(pullback(dout, dlse), expected, np.float32)
    alone, pullback = attn.vjp(*arrays, **options)
    np.testing.assert_array_equal(alone, out)
    agree(pullback(dout), reference.sdpa_backward(*arrays, None, None, dout, **options), np.float32)


Q, K, V = draw(SMALL)
OUT, LSE = np.zeros((2, 4, 7, 3), np.float32), np.zeros((2, 4, 7), np.float32)
MISTAKES = {
    "mask": (dict(grad=("q", "mask"), mask=np.ones((1, 1, 7, 9), bool)), "some of q, k, v, found 'mask', which has no"),
    "bias": (dict(grad=("bias",)), "expected grad to name some of q, k, v, found 'bias'"),
    "twice": (dict(grad=("q", "q")), "each once"),
    "none": (dict(grad=()), "one or more of q, k, v"),
    "shape": (dict(dout=OUT[:, :2]), "dout"),
    "lse": (dict(lse=LSE[:, :, :3]), "lse"),
}


def test_arrays_of_the_host_are_refused_for_a_gpu():
    with pytest.raises(TypeError, match="expected q in the memory of a CUDA device, found it in CPU memory"):
        attn.sdpa_backward(q=Q, k=K, v=V, out=OUT, lse=LSE, dout=OUT, target="sm_80")


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    options, message = MISTAKES[name]
    call = {"q": Q, "k": K, "v": V, "out": OUT, "lse": LSE, "dout": OUT} | options
    with pytest.raises(ValueError, match=message):
        attn.sdpa_backward(**call)


TYPES = {
    "no cotangent": (dict(dout=None), "expected dout or dlse, the cotangent of out or of lse, found None for both"),
    "no out": (dict(out=None), "expected out to be an array, found None; write that of the forward call"),
    "no lse": (dict(lse=None), "expected lse to be an array, found None; write that of the forward call"),
    "no names": (dict(grad=None), r'expected grad to be names, as \("q", "k", "v"\), found None'),
    "number": (dict(grad=1), r'expected grad to be names, as \("q", "k", "v"\), found 1'),
    "numbers": (dict(grad=(1,)), r'expected grad to be names, as \("q", "k", "v"\), found \(1,\)'),
    "array": (dict(grad=Q), "expected grad to be names"),
}


@pytest.mark.parametrize("name", TYPES)
def test_arguments_of_another_kind(name):
    options, message = TYPES[name]
    call = {"q": Q, "k": K, "v": V, "out": OUT, "lse": LSE, "dout": OUT} | options
    with pytest.raises(TypeError, match=message):
        attn.sdpa_backward(**call)
    packed = {x: call[x] if call[x] is None else call[x][0].swapaxes(0, 1) for x in ("q", "k", "v", "out", "dout")}
    sums = dict(cu_seqlens_q=[0, 7], cu_seqlens_k=[0, 9], lse=call["lse"] if call["lse"] is None else LSE[0])
    with pytest.raises(TypeError, match=message):
        attn.varlen_sdpa_backward(**packed, **sums, **{x: y for x, y in options.items() if x == "grad"})
    if "grad" in options:
        with pytest.raises(TypeError, match=message):
            attn.vjp(Q, K, V, **options)
        with pytest.raises(TypeError, match=message):
            attn.varlen_vjp(packed["q"], packed["k"], packed["v"], [0, 7], [0, 9], **options)
    if name not in ("no out", "no lse"):  # which the reference computes
        message = "expected dout, dlse or dweights, " if name == "no cotangent" else message
        with pytest.raises(TypeError, match=message):
            attn.reference.sdpa_backward(**call)


def test_no_cotangent_of_out_is_zero():
    dlse = np.ones((2, 4, 7), np.float32)
    (out, lse), pullback = attn.vjp(Q, K, V, return_lse=True)
    expected = attn.reference.sdpa_backward(Q, K, V, None, None, np.zeros_like(out), dlse=dlse)
    for found in (
        attn.sdpa_backward(Q, K, V, out, lse, None, dlse=dlse),
        attn.reference.sdpa_backward(Q, K, V, None, None, None, dlse=dlse),
        pullback(None, dlse),
    ):
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, atol=1e-5)
    with pytest.raises(TypeError, match="expected dout or dlse"):
        pullback(None)


def test_no_cotangent_of_packed_out_is_zero():
    q, k, v = (x[0].swapaxes(0, 1) for x in (Q, K, V))
    sums, dlse = ([0, 3, 7], [0, 4, 9]), np.ones((4, 7), np.float32)
    (out, lse), pullback = attn.varlen_vjp(q, k, v, *sums, return_lse=True)
    expected = attn.reference.varlen_sdpa_backward(q, k, v, None, None, np.zeros_like(out), *sums, dlse=dlse)
    for found in (
        attn.varlen_sdpa_backward(q, k, v, out, lse, None, *sums, dlse=dlse),
        attn.reference.varlen_sdpa_backward(q, k, v, None, None, None, *sums, dlse=dlse),
        pullback(None, dlse),
    ):
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, atol=1e-5)


def test_a_name_alone():
    (out, lse), dout = attn.sdpa(Q, K, V, return_lse=True), np.ones_like(OUT)
    alone = attn.reference.sdpa_backward(Q, K, V, None, None, dout, grad="k")
    assert list(alone) == ["k"]
    np.testing.assert_allclose(attn.sdpa_backward(Q, K, V, out, lse, dout, grad="k")["k"], alone["k"], atol=1e-5)


def test_unknown_keywords():
    with pytest.raises(TypeError, match="no keyword 'return_lse'"):
        attn.sdpa_backward(Q, K, V, OUT, LSE, OUT, return_lse=True)
    with pytest.raises(TypeError, match="is_causal"):
        attn.sdpa_backward(Q, K, V, OUT, LSE, OUT, is_causal=True)
