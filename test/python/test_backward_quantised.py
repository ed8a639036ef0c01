"""Gradients beside quantised K and V, and those of the scales, against the specification."""

import ml_dtypes
import numpy as np
import pytest

import attn
from features import quantise
from helpers import TYPES, Shape, assert_close, assert_within, draw

KINDS = {"int8": np.int8, "fp8": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
ODD = Shape(37, 75, 19, 24, b=2, hq=4, hkv=2)
GRAD = ("q", "k_scale", "v_scale")


def problem(shape, kind, scales, dtype=np.float32, **options):
    """q, k, v, out, lse, dout, and the options with the scales."""
    q, k, v = draw(shape, dtype)
    (k, k_scale), (v, v_scale) = quantise(k, KINDS[kind], scales), quantise(v, KINDS[kind], scales)
    return saved(q, k, v, dict(k_scale=k_scale, v_scale=v_scale, **options))


def saved(q, k, v, options):
    out, lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    dout = np.random.default_rng(1).standard_normal(out.shape).astype(q.dtype)
    return [
        q,
        k,
        v,
        out.astype(q.dtype),
        lse.astype(np.float64 if q.dtype == np.float64 else np.float32),
        dout,
    ], options


def check(arrays, options, grad=GRAD, **other):
    found = attn.sdpa_backward(*arrays, grad=grad, **options, **other)
    compare(found, attn.reference.sdpa_backward(*arrays, grad=grad, **options), arrays[0].dtype)
    return found


def compare(found, expected, dtype):
    assert list(found) == list(expected)
    for name, array in found.items():
        if name.endswith("scale"):
            error = 2e-7 if dtype == np.float64 else 2e-5  # scales, and their gradients, are f32
            assert_within(error * np.abs(expected[name]).max(initial=0), array, expected[name], f"d{name}")
            continue
        low = expected[name].astype(dtype).astype(np.float64) if np.dtype(dtype).itemsize == 2 else None
        assert_close(array, expected[name], dtype, f"d{name}", low)


@pytest.mark.parametrize("grad", [("q",), GRAD], ids=["q", "scales"])
@pytest.mark.parametrize("scales", ["head", "token"])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, scales, grad):
    check(*problem(ODD, kind, scales, causal="bottom_right"), grad=grad)


@pytest.mark.parametrize("grad", [("q",), GRAD], ids=["q", "scales"])
@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16"])
def test_types(dtype, grad):
    check(*problem(ODD, "int8", "head", TYPES[dtype]), grad=grad)


@pytest.mark.parametrize(
    "line", ["grad=q", "kvscale=token causal=top_left grad=k_scale", "layout=varlen grad=q,v_scale"]
)
def test_there_is_a_kernel(line):
    attn.compile(f"b2 hq4 hkv2 sq9 d8 kv=fp8 {line}", name="sdpa_backward", fail_on_fallback=True, cache=False)


@pytest.mark.parametrize("scales", ["head", "token"])
def test_scales_of_zero(scales):
    """Nothing is divided by a scale."""
    arrays, options = problem(ODD, "int8", scales)
    options["k_scale"][0], options["v_scale"][1] = 0, 0
    found = check(*saved(*arrays[:3], options))
    assert np.abs(found["k_scale"][0]).max() > 0
    assert np.abs(found["v_scale"][1]).max() > 0


def test_what_no_row_keeps():
    """Keys beyond lengths, their scales, and rows without keys may hold NaN."""
    arrays, options = problem(ODD, "fp8", "token", kv_lengths=[50, 0], softcap=2.0)
    expected = attn.reference.sdpa_backward(*arrays, grad=GRAD, **options)
    for b, length in enumerate(options["kv_lengths"]):
        for x in (*arrays[1:3], options["k_scale"], options["v_scale"]):
            x[b, :, length:] = np.nan
    for x in (arrays[0], arrays[3], arrays[5]):
        x[1] = np.nan
    for grad in (("q",), GRAD):
        found = attn.sdpa_backward(*arrays, grad=grad, **options)
        compare(found, {name: expected[name] for name in grad}, np.float32)


@pytest.mark.parametrize("sizes", [(0, 7), (5, 0)])
def test_no_rows_and_no_keys(sizes):
    found = check(*problem(Shape(*sizes, 8, 8, b=1, hq=2, hkv=1), "int8", "head"))
    assert not any(x.any() for x in found.values())


def test_sizes_at_run_time():
    for b, sq, sk in [(2, 37, 75), (1, 1, 130)]:
        check(*problem(Shape(sq, sk, 8, 8, b=b, hq=4, hkv=2), "int8", "head", causal="bottom_right"), dynamic=True)


def test_functions_see_scaled_scores():
    slopes = np.array([0.5, 0.1, 0.2, 0.05], np.float32)
    arrays, options = problem(ODD, "int8", "token", score_mod=lambda s, b, h, i, j: s * s * 0.1 - slopes[h] * (i - j))
    check(arrays, options, grad=(*GRAD, "slopes"))


@pytest.mark.parametrize("grad", [("q",), GRAD], ids=["q", "scales"])
def test_packed_sequences(grad):
    rows, keys = [0, 20, 20, 37], [0, 30, 41, 75]
    arrays, options = problem(Shape(37, 75, 8, 12, hq=4, hkv=2), "int8", "head")
    q, k, v = (np.ascontiguousarray(x[0].swapaxes(0, 1)) for x in arrays[:3])
    out, lse = attn.reference.varlen_sdpa(q, k, v, rows, keys, return_lse=True, **options)
    out, lse = out.astype(np.float32), lse.astype(np.float32)
    given = (q, k, v, out, lse, out[::-1].copy(), rows, keys)
    found = attn.varlen_sdpa_backward(*given, grad=grad, **options)
    compare(found, attn.reference.varlen_sdpa_backward(*given, grad=grad, **options), np.float32)


def test_threads_give_the_same_bits():
    arrays, options = problem(ODD, "int8", "head")
    before, results = attn.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            results.append([x.tobytes() for x in attn.sdpa_backward(*arrays, grad=GRAD, **options).values()])
    finally:
        attn.set_num_threads(before)
    assert all(x == results[0] for x in results)


def test_quantised_keys_have_none():
    arrays, options = problem(ODD, "int8", "head")
    with pytest.raises((ValueError, attn.CompileError), match="expected one of q, k_scale, v_scale, found k"):
        attn.sdpa_backward(*arrays, grad=("k",), **options)
