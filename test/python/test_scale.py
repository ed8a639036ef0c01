"""A scale that each call gives: an array without dimensions, or scale=? of a problem line, and its gradient."""

import numpy as np
import pytest

import attn
from features import quantise
from helpers import TYPES, Shape, assert_close, assert_within, draw

ODD = Shape(37, 75, 19, 24, b=2, hq=4, hkv=2)
SCALES = (0.3, 0.0, -0.5)


def problem(dtype=np.float32, shape=ODD, **options):
    """q, k, v, out, lse and dout of the specification."""
    q, k, v = draw(shape, dtype)
    out, lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    dout = np.random.default_rng(1).standard_normal(out.shape).astype(dtype)
    return [q, k, v, out.astype(dtype), lse.astype(np.float64 if dtype == np.float64 else np.float32), dout]


def compare(found, expected, dtype, parts=0.0):
    """The gradient of the scale relative to what cancels in it: `parts` is what it is without Δ."""
    assert list(found) == list(expected)
    for name, array in found.items():
        if name == "scale":
            assert array.shape == ()
            bound = 2e-12 if dtype == np.float64 else 2e-5
            assert_within(bound * max(abs(parts), abs(expected[name])), array, expected[name], "dscale")
            continue
        low = expected[name].astype(dtype).astype(np.float64) if np.dtype(dtype).itemsize == 2 else None
        assert_close(array, expected[name], dtype, f"d{name}", low)


def check(arrays, dtype=np.float32, grad=("q", "scale", "v"), dynamic=False, **options):
    found = attn.sdpa_backward(*arrays, grad=grad, dynamic=dynamic, **options)
    expected = attn.reference.sdpa_backward(*arrays, grad=grad, **options)
    q, k, v, out, lse, dout = arrays
    parts = attn.reference.sdpa_backward(q, k, v, 0 * out, lse, dout, grad=("scale",), **options)["scale"]
    compare(found, expected, dtype, parts)
    return found


@pytest.mark.parametrize("dtype", TYPES)
def test_one_kernel_serves_all_scales(dtype):
    line = f"b2 hq4 hkv2 sq37 sk75 d19 dv24 {dtype} softcap=3 scale=? grad=q,scale,v"
    kernel = attn.compile(line, name="sdpa_backward", fail_on_fallback=True, cache=False)
    for scale in SCALES:
        scale = float(np.float32(scale))
        arrays = problem(TYPES[dtype], scale=scale, softcap=3.0)
        grad = ("q", "scale", "v")
        found = dict(
            zip(grad, kernel(*arrays[:3], scale, *arrays[3:5], np.zeros_like(arrays[4]), *arrays[5:]), strict=True)
        )
        expected = attn.reference.sdpa_backward(*arrays, grad=grad, scale=scale, softcap=3.0)
        compare(found, expected, TYPES[dtype])
        assert float(found["scale"]) != 0


def test_a_call_compiles_nothing_for_another_scale():
    q, k, v = draw(ODD, np.float32)
    attn.sdpa(q, k, v, scale=np.array(SCALES[0]))
    before = attn.cache_info().misses
    for scale in SCALES:
        out, lse = attn.sdpa(q, k, v, scale=np.array(scale), return_lse=True)
        expected, expected_lse = attn.reference.sdpa(q, k, v, scale=np.array(scale), return_lse=True)
        assert_close(out, expected, np.float32, "out")
        assert_close(lse, expected_lse, np.float32, "lse")
    assert attn.cache_info().misses <= before + 1  # that of lse


OPTIONS = {
    "dropout": dict(dropout=(0.2, 3, 4), causal="top_left"),
    "lengths and offsets": dict(q_lengths=[37, 11], kv_lengths=[0, 50], causal=[2, -3]),
    "a function of scores": dict(score_mod=lambda s, b, h, i, j: s * s * 0.1 - 0.5 * s),
    "a sink and a bias": dict(sink=np.array([0.5, -1, 2, 0], np.float32), bias=np.ones((1, 1, 37, 1), np.float32)),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_beside_other_words(options):
    options = {**options, "scale": np.array(-0.4, np.float32)}
    arrays = problem(**options)
    assert_close(attn.sdpa(*arrays[:3], **options), attn.reference.sdpa(*arrays[:3], **options), np.float32, "out")
    check(arrays, **options)


def test_what_no_row_keeps_may_be_nan():
    options = dict(scale=np.array(0.3), kv_lengths=[50, 0])
    arrays = problem(**options)
    expected = attn.reference.sdpa_backward(*arrays, grad=("scale", "k"), **options)
    for b, length in enumerate(options["kv_lengths"]):
        for x in arrays[1:3]:
            x[b, :, length:] = np.nan
    for x in (arrays[0], arrays[3], arrays[5]):
        x[1] = np.nan
    compare(attn.sdpa_backward(*arrays, grad=("scale", "k"), **options), expected, np.float32)


@pytest.mark.parametrize("sizes", [(0, 7), (5, 0)])
def test_no_rows_and_no_keys(sizes):
    found = check(problem(shape=Shape(*sizes, 8, 8, b=1, hq=2, hkv=1)), scale=np.array(0.3))
    assert found["scale"] == 0


def test_sizes_at_run_time():
    for b, sq, sk in [(2, 37, 75), (1, 1, 130)]:
        options = dict(scale=np.array(0.2), causal="bottom_right")
        check(problem(shape=Shape(sq, sk, 8, 8, b=b, hq=4, hkv=2), **options), dynamic=True, **options)


def test_scales_of_quantised_keys_beside_it():
    q, k, v = draw(ODD, np.float32)
    (k, k_scale), (v, v_scale) = quantise(k, np.int8, "head"), quantise(v, np.int8, "head")
    options = dict(k_scale=k_scale, v_scale=v_scale, scale=np.array(0.25, np.float32))
    out, lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    arrays = [q, k, v, out.astype(np.float32), lse.astype(np.float32), out[::-1].astype(np.float32)]
    grad = ("scale", "k_scale", "q")
    found = attn.sdpa_backward(*arrays, grad=grad, **options)
    for name, expected in attn.reference.sdpa_backward(*arrays, grad=grad, **options).items():
        assert_within(5e-5 * np.abs(expected).max(), found[name], expected, f"d{name}")


def test_packed_and_paged():
    rows, keys, scale = [0, 20, 20, 37], [0, 30, 41, 75], np.array(0.7)
    q, k, v = (np.ascontiguousarray(x[0].swapaxes(0, 1)) for x in draw(Shape(37, 75, 8, 12, hq=4, hkv=2), np.float32))
    out, lse = attn.varlen_sdpa(q, k, v, rows, keys, scale=scale, return_lse=True)
    assert_close(out, attn.reference.varlen_sdpa(q, k, v, rows, keys, scale=scale), np.float32, "out")
    given, options = (q, k, v, out, lse, out[::-1].copy(), rows, keys), dict(scale=scale, grad=("scale", "k"))
    found = attn.varlen_sdpa_backward(*given, **options)
    compare(found, attn.reference.varlen_sdpa_backward(*given, **options), np.float32)
    cache = np.random.default_rng(2).standard_normal((4, 16, 2, 8)).astype(np.float32)
    paged = (np.ascontiguousarray(q[None, :5].swapaxes(1, 2)), cache, cache, [[2, 0, 3]], [40])
    np.testing.assert_array_equal(attn.paged_sdpa(*paged, scale=scale), attn.paged_sdpa(*paged, scale=0.7))


def test_threads_give_the_same_bits():
    arrays, before, results = problem(), attn.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            found = attn.sdpa_backward(*arrays, scale=np.array(0.2), grad=("scale", "q"))
            results.append([x.tobytes() for x in found.values()])
    finally:
        attn.set_num_threads(before)
    assert all(x == results[0] for x in results)


def test_pullbacks():
    arrays = problem(scale=0.3)
    _, pullback = attn.vjp(*arrays[:3], scale=np.array(0.3), grad=("scale",))
    expected = attn.reference.sdpa_backward(*arrays, scale=0.3, grad=("scale",))
    compare(pullback(arrays[-1]), expected, np.float32)


def test_a_captured_array_of_its_name():
    scale = np.array([1, 2, 3, 4], np.float32)
    arrays = problem(scale=0.3, score_mod=lambda s, b, h, i, j: s * scale[h])
    options = dict(scale=np.array(0.3), score_mod=lambda s, b, h, i, j: s * scale[h])
    found = attn.sdpa_backward(*arrays, grad=("scale", "captured_scale"), **options)
    assert (found["scale"].shape, found["captured_scale"].shape) == ((), (4,))


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (np.array([0.3]), r"expected scale to be a number or an array without dimensions, found shape \(1,\)"),
        (np.array(3), "expected scale to be a float, found int64"),
        ("0.3", "expected scale to be a number, found str"),
    ],
)
def test_what_is_no_scale(scale, message):
    with pytest.raises((TypeError, ValueError), match=message):
        attn.sdpa(*draw(ODD, np.float32), scale=scale)


def test_a_number_has_no_gradient():
    with pytest.raises(ValueError, match=r"found 'scale', which has no gradient; write scale=numpy.asarray\(…\) for"):
        attn.vjp(*draw(ODD, np.float32), scale=0.3, grad=("scale",))
