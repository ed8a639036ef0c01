"""Gradients of packed sequences by kernels, against the reference, which takes each sequence by itself."""

import numpy as np
import pytest

import attn
from helpers import TYPES, assert_close
from test_varlen import KEYS, OPTIONS, ROWS, draw

# Mask words as problem lines have them, and what the reference takes in their place.
LINES = {
    "full": ("", {}),
    "top_left": ("causal=top_left", {"causal": "top_left"}),
    "bottom_right": ("causal=bottom_right", {"causal": "bottom_right"}),
    "offset": ("causal=offset", {"causal": np.array([3, 0, -5, 10])}),
    "window": ("window=20,5 align=bottom_right", {"window": (20, 5), "align": "bottom_right"}),
    "chunk": ("causal=top_left chunk=16", {"causal": "top_left", "chunk": 16}),
    "prefix": ("causal=bottom_right prefix=9", {"causal": "bottom_right", "prefix": 9}),
    "softcap": ("softcap=1.5", {"softcap": 1.5}),
}
GRAD = ("q", "k", "v")


def saved(tensors, rows, keys, dtype=np.float32, **options):
    """out, lse and dout of the call."""
    out, lse = attn.reference.varlen_sdpa(*tensors, rows, keys, return_lse=True, **options)
    dout = np.random.default_rng(5).standard_normal(out.shape).astype(dtype)
    return out.astype(dtype), lse.astype(np.float64 if dtype == np.float64 else np.float32), dout


def compare(found, expected, dtype):
    """Sums of f32 are rounded once: twice the error of that is what 16 bits may have."""
    assert list(found) == list(expected)
    for name, array in found.items():
        low = expected[name].astype(dtype).astype(np.float64) if np.dtype(dtype).itemsize == 2 else None
        assert_close(array, expected[name], dtype, f"d{name}", low)


def check(tensors, rows, keys, dtype=np.float32, grad=GRAD, given=None, **options):
    arrays = saved(tensors, rows, keys, dtype, **{x: y for x, y in options.items() if x != "dynamic"})
    found = attn.varlen_sdpa_backward(*tensors, *arrays, rows, keys, grad=grad, **(given or {}), **options)
    options.pop("dynamic", None)
    expected = attn.reference.varlen_sdpa_backward(*tensors, *arrays, rows, keys, grad=grad, **(given or {}), **options)
    compare(found, expected, dtype)


def kernel_of(words, sizes):
    line = f"b4 {sizes} layout=varlen {words} grad=q,k,v"
    return attn.compile(line, name="sdpa_backward", fail_on_fallback=True, cache=False)


def as_i32(*integers):
    return [np.array(x, np.int32) for x in integers]


@pytest.mark.parametrize("name", ["scale", "sink", "score_mod", "mask_mod"])
def test_options(name):
    options = OPTIONS[name]
    check(draw(113, 203, sizes=(8, 8)), ROWS, KEYS, grad=GRAD + (("sink",) if "sink" in options else ()), **options)


@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16"])
def test_types(dtype):
    dtype = TYPES[dtype]
    check(draw(113, 203, sizes=(59, 40), dtype=dtype), ROWS, KEYS, dtype, **OPTIONS["bottom_right"])


@pytest.mark.parametrize("name", LINES)
def test_masks(name):
    """Every gradient is written: outputs hold NaN before."""
    words, options = LINES[name]
    tensors = draw(113, 203, sizes=(7, 12))
    out, lse, dout = saved(tensors, ROWS, KEYS, **options)
    integers = as_i32(*(x for x in options.values() if isinstance(x, np.ndarray)), ROWS, KEYS)
    found = [np.full(x.shape, np.nan, x.dtype) for x in tensors]
    kernel_of(words, "hq4 hkv2 sq113 sk203 d7 dv12 f32")(
        *tensors, *integers, out, lse, np.zeros_like(lse), dout, out=found
    )
    expected = attn.reference.varlen_sdpa_backward(*tensors, out, lse, dout, ROWS, KEYS, **options)
    compare(dict(zip(GRAD, found, strict=True)), expected, np.float32)


# Prefix sums that no check has seen: nobody says that they end with all rows.
UNCHECKED = """func.func @backward(%q: tensor<9x2x8xf32>, %k: tensor<9x2x8xf32>, %v: tensor<9x2x8xf32>,
    %out: tensor<9x2x8xf32>, %lse: tensor<2x9xf32>, %dout: tensor<9x2x8xf32>, %sink: tensor<2xf32>,
    %given: tensor<3xi32>)
    -> (tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s0 = tensor.extract %given[%c0] : tensor<3xi32>
  %s1 = tensor.extract %given[%c1] : tensor<3xi32>
  %s2 = tensor.extract %given[%c2] : tensor<3xi32>
  %s = tensor.from_elements %s0, %s1, %s2 : tensor<3xi32>
  %e = tensor.empty() : tensor<9x2x8xf32>
  %e1 = tensor.empty() : tensor<9x2x8xf32>
  %e2 = tensor.empty() : tensor<9x2x8xf32>
  %e3 = tensor.empty() : tensor<2xf32>
  %r:4 = attn.sdpa_backward
      ins(%q, %k, %v, %out, %lse, %dout : tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>,
          tensor<9x2x8xf32>, tensor<2x9xf32>, tensor<9x2x8xf32>)
      sink(%sink : tensor<2xf32>) cu_seqlens(%s, %s : tensor<3xi32>, tensor<3xi32>)
      outs(%e, %e1, %e2 : tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>) dsink(%e3 : tensor<2xf32>)
      {} -> tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<2xf32>
  return %r#0, %r#1, %r#2, %r#3 : tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<2xf32>
}
"""


def test_rows_of_no_sequence():
    """Rows behind the last sequence are not read, and have gradients of 0."""
    tensors, sums, sink = draw(7, 7, heads=(2, 2), sizes=(8, 8)), [0, 3, 7], np.array([0.5, -1], np.float32)
    arrays = saved(tensors, sums, sums, sink=sink)
    q, k, v, out, dout = (
        np.concatenate([x, np.full((2, 2, 8), np.nan, x.dtype)]) for x in (*tensors, arrays[0], arrays[2])
    )
    lse = np.concatenate([arrays[1], np.full((2, 2), np.nan, np.float32)], axis=1)
    given = [q, k, v, out, lse, dout, sink, *as_i32(sums)]
    found = attn.compile(UNCHECKED, fail_on_fallback=True, cache=False)(*given)
    names = (*GRAD, "sink")
    expected = attn.reference.varlen_sdpa_backward(*tensors, *arrays, sums, sums, grad=names, sink=sink)
    compare({x: y[:7] for x, y in zip(names, found, strict=True)}, expected, np.float32)
    assert not any(x[7:].any() for x in found[:3])


OTHERS = [
    ([0, 113], [0, 203]),
    ([0, 1, 2, 3], [0, 64, 128, 203]),
    ([0, 64, 113], [0, 0, 203]),
    ([0, 0, 113, 113], [0, 7, 7, 7]),
    ([0, 64, 128], [0, 64, 128]),
    ([0, 0], [0, 5]),
    ([0, 5], [0, 0]),
    ([0, 300], [0, 300]),
]


@pytest.mark.parametrize("mask", ["full", "bottom_right", "window"])
def test_one_kernel_for_all_batches(mask):
    for rows, keys in OTHERS:
        check(draw(rows[-1], keys[-1], sizes=(8, 8)), rows, keys, **LINES[mask][1], dynamic=True)


def test_one_key_head():
    check(draw(113, 203, heads=(3, 1), sizes=(8, 8)), ROWS, KEYS, causal="top_left")


def test_gradient_of_lse():
    dlse = np.random.default_rng(3).standard_normal((4, 113)).astype(np.float32)
    check(draw(113, 203, sizes=(8, 8)), ROWS, KEYS, given={"dlse": dlse}, causal="bottom_right")


def test_gradient_of_what_a_function_reads():
    slopes = np.array([0.5, 0.1, 0.2, 0.05], np.float32)
    grad = (*GRAD, "slopes")
    check(draw(113, 203), ROWS, KEYS, grad=grad, score_mod=lambda s, b, h, i, j: s - slopes[h] * (i - j) + 0.1 * b)


def test_sequences_do_not_see_each_other():
    """NaN and infinity of one sequence, also those in its lse, reach no gradient of another one."""
    tensors = draw(113, 203, sizes=(8, 8))
    arrays = saved(tensors, ROWS, KEYS)
    expected = attn.varlen_sdpa_backward(*tensors, *arrays, ROWS, KEYS)
    tensors[1][125:], tensors[2][125:] = np.nan, np.inf  # of the last sequence, as are rows 41 on
    for x in (tensors[0], arrays[0], arrays[2]):
        x[41:] = np.nan
    arrays[1][:, 41:] = np.nan
    found = attn.varlen_sdpa_backward(*tensors, *arrays, ROWS, KEYS)
    for name, end in (("q", 41), ("k", 125), ("v", 125)):
        np.testing.assert_array_equal(found[name][:end], expected[name][:end])
        assert np.isnan(found[name][end:]).all()


def test_rows_without_keys():
    """Their lse is −inf: what they hold reaches nothing, NaN included."""
    rows, keys, options = [0, 40, 113], [0, 25, 60], {"causal": "bottom_right"}  # 15 and 38 rows see no key
    tensors = draw(113, 60, sizes=(8, 8))
    arrays = saved(tensors, rows, keys, **options)
    expected = attn.reference.varlen_sdpa_backward(*tensors, *arrays, rows, keys, **options)
    empty = np.isneginf(arrays[1][0])
    assert empty.sum() == 15 + 38
    for x in (tensors[0], arrays[0], arrays[2]):
        x[empty] = np.nan
    found = attn.varlen_sdpa_backward(*tensors, *arrays, rows, keys, **options)
    compare(found, expected, np.float32)
    assert not found["q"][empty].any()


def test_threads_give_the_same_bits():
    tensors = draw(113, 203, sizes=(8, 8))
    out, lse, dout = saved(tensors, ROWS, KEYS)
    given = [*tensors, *as_i32(ROWS, KEYS), out, lse, np.zeros_like(lse), dout]
    kernel, before = kernel_of("", "hq4 hkv2 sq113 sk203 d8 dv8 f32"), attn.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            results.append([x.tobytes() for x in kernel(*given)])
    finally:
        attn.set_num_threads(before)
    assert all(x == results[0] for x in results)


BAD = {
    "start": (dict(cu_seqlens_q=[1, 113]), "cu_seqlens_q to go from 0 to the 113 packed rows"),
    "grad": (dict(grad=("bias",)), "expected grad to name some of q, k, v, found 'bias'"),
    "lse": (dict(lse=np.zeros((113, 4), np.float32)), "lse"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    bad, message = BAD[name]
    tensors = dict(zip("qkv", draw(113, 203), strict=True))
    saves = dict(zip(("out", "lse", "dout"), saved(tensors.values(), [0, 113], [0, 203]), strict=True))
    given = tensors | saves | {"cu_seqlens_q": [0, 113], "cu_seqlens_k": [0, 203]} | bad
    with pytest.raises(ValueError, match=message):
        attn.varlen_sdpa_backward(**given)


def test_arrays_of_the_host_are_refused_for_a_gpu():
    with pytest.raises(TypeError, match="expected q in the memory of a CUDA device, found it in CPU memory"):
        attn.varlen_sdpa_backward(*draw(113, 203), None, None, None, ROWS, KEYS, target="sm_90a")


def test_bad_keyword():
    with pytest.raises(TypeError, match=r"varlen_sdpa_backward\(\) has no keyword 'bias'"):
        attn.varlen_sdpa_backward(*draw(113, 203), None, None, None, ROWS, KEYS, bias=None)


def test_pullbacks():
    tensors = draw(113, 203, sizes=(8, 8))
    options = {"sink": np.array([0.5, -1, 2, 0], np.float32), "causal": "bottom_right"}
    (out, lse), pullback = attn.varlen_vjp(*tensors, ROWS, KEYS, grad=("v", "sink"), return_lse=True, **options)
    dout, dlse = np.cos(out), np.where(np.isinf(lse), 0, np.sin(lse))
    found = pullback(dout, dlse)
    saved = (out, lse, dout, ROWS, KEYS)
    expected = attn.reference.varlen_sdpa_backward(*tensors, *saved, dlse=dlse, grad=("v", "sink"), **options)
    compare(found, expected, np.float32)
    alone, pullback = attn.varlen_vjp(*tensors, ROWS, KEYS, **options)
    np.testing.assert_array_equal(alone, out)
    compare(pullback(dout), attn.reference.varlen_sdpa_backward(*tensors, *saved, **options), np.float32)
    with pytest.raises(TypeError, match=r"varlen_vjp.* has no keyword 'bias'"):
        attn.varlen_vjp(*tensors, ROWS, KEYS, bias=out)
    with pytest.raises(ValueError, match="expected grad to name some of q, k, v, found 'sink'"):
        attn.varlen_vjp(*tensors, ROWS, KEYS, grad=("sink",))
