"""Keys and values of another type than q: int8, e4m3 and e5m2 with scales, 16-bit floats beside f32."""

import ml_dtypes
import numpy as np
import pytest

import attn
import processor
from attn import reference
from features import quantise
from helpers import NARROW, Shape, assert_close, before_a_wall, check, compare, draw

FP8, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
KINDS = {"int8": np.int8, "fp8": FP8, "e5m2": E5M2}
TARGETS = ["x86-64", "x86-64-v3", "host"]

parametrize_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
parametrize_scales = pytest.mark.parametrize("scales", ["head", "token"])


def quantised(shape, kind, scales, dtype=np.float32, seed=0):
    """Q, k, v and the options with the scales."""
    q, k, v = draw(shape, np.float64, seed)
    (k, k_scale), (v, v_scale) = quantise(k, kind, scales), quantise(v, kind, scales)
    return (q.astype(dtype), k, v), dict(k_scale=k_scale, v_scale=v_scale)


@parametrize_kind
@pytest.mark.parametrize(
    ("shape", "scales"),
    [
        (Shape(1, 203, 64, 64, b=2, hq=8, hkv=2), "head"),
        (Shape(1, 131, 40, 111, b=2, hq=3, hkv=3), "token"),
        (Shape(1, 1, 1, 1), "token"),
        (Shape(4, 257, 128, 128, hq=4, hkv=1), "head"),
        (Shape(113, 203, 59, 80, b=2, hq=6, hkv=3), "token"),
        (Shape(65, 0, 32, 32, hq=2, hkv=2), "token"),
        (Shape(130, 127, 17, 111, hq=2, hkv=1), "head"),
    ],
    ids=str,
)
def test_shapes(shape, scales, kind):
    tensors, options = quantised(shape, kind, scales)
    check(*tensors, **options, causal="bottom_right")


@parametrize_kind
@parametrize_scales
def test_decoding_with_lengths_and_a_window(kind, scales):
    tensors, options = quantised(Shape(1, 203, 64, 64, b=3, hq=8, hkv=2), kind, scales)
    check(*tensors, **options, kv_lengths=[203, 57, 0], causal="bottom_right", window=(40, 0))


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize("shape", [Shape(1, 203, 64, 64, hq=4, hkv=2), Shape(113, 203, 59, 80, hq=2, hkv=1)], ids=str)
def test_narrow_keys_beside_f32(shape, kind):
    q, k, v = draw(shape)
    check(q, k.astype(kind), v.astype(kind), causal="bottom_right")


@parametrize_kind
@pytest.mark.parametrize("sq", [1, 33])
@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_beside_narrow_queries(dtype, sq, kind):
    tensors, options = quantised(Shape(sq, 65, 32, 40, hq=4, hkv=2), kind, "head", dtype)
    check(*tensors, **options)


@parametrize_scales
@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize("target", ["host", "host-bytes-of-256-bits"])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (Shape(1, 203, 128, 128, b=2, hq=8, hkv=2), dict(kv_lengths=[203, 58])),
        (Shape(1, 5, 16, 48, hq=1, hkv=1), {}),
        (Shape(2, 4099, 80, 64, hq=3, hkv=1), dict(causal="bottom_right")),
        (Shape(1, 66, 256, 16, b=2, hq=8, hkv=1), dict(kv_lengths=[0, 65])),
        (Shape(3, 1025, 48, 112, hq=2, hkv=2), dict(causal="bottom_right", window=(700, 0))),
        (Shape(1, 130, 512, 512, hq=2, hkv=1), dict(softcap=5.0)),
    ],
    ids=str,
)
def test_bytes_beside_narrow_queries(shape, options, target, dtype, scales):
    """Sizes whose products are of bytes, where the target has that: tails of 16 columns, and any number of keys."""
    tensors, of_scales = quantised(shape, np.int8, scales, dtype)
    options = dict(return_lse=True) | of_scales | options
    if target != "host":
        processor.skip_unless("avxvnni")
        target = "alderlake"
    found = attn.sdpa(*tensors, **options, target=target)
    compare(found, reference.sdpa, *tensors, **options)


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
def test_bytes_of_large_scores(dtype):
    """Q's larger numbers are exact: scores of ±1e4 are as near as the tolerance of lse asks. Rows of 0 and of 1e-35."""
    (q, k, v), options = quantised(Shape(1, 300, 64, 64, hq=4, hkv=1), np.int8, "head", dtype)
    largest = 400 if dtype == np.float16 else 4000  # the rounded reference overflows f16 sooner
    q *= np.array([largest, 1, 0, 1e-35])[:, None, None].astype(dtype)
    _, lse = check(q, k, v, **options)
    assert lse.max() > 2 * largest


def test_bytes_of_an_early_peak_and_a_long_tail():
    """Weights become integers tile by tile: those of 2^-17 behind a peak of 1 whose value is 0 are not lost."""
    k, v = np.zeros((1, 1, 2048, 64), np.int8), np.ones((1, 1, 2048, 64), np.int8)
    k[..., 0, 0], v[..., 0, :] = 127, 0
    q = np.zeros((1, 1, 1, 64), np.float16)
    q[..., 0] = 17 * np.log(2)
    options = dict(k_scale=np.array([8 / 127], np.float32), v_scale=np.ones(1, np.float32), return_lse=True)
    out, _ = found = attn.sdpa(q, k, v, **options)
    compare(found, reference.sdpa, q, k, v, **options)
    np.testing.assert_allclose(out, 2047 / 2**17, rtol=0.03)


def test_bytes_keep_nan_in_its_row():
    (q, k, v), options = quantised(Shape(1, 203, 64, 64, hq=4, hkv=2), np.int8, "token", ml_dtypes.bfloat16)
    q[0, 1, 0, 5] = np.nan
    found = attn.sdpa(q, k, v, **options).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found[0, :, 0]).all(axis=1), [False, True, False, False])
    options["v_scale"][0, 1, 7] = np.nan
    found = attn.sdpa(q, k, v, **options).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found[0, :, 0]).all(axis=1), [False, True, True, True])


def codes(kind):
    return np.arange(256, dtype=np.uint8).view(kind)


@parametrize_kind
@pytest.mark.parametrize("target", TARGETS)
def test_every_number_is_exact_as_a_value(kind, target):
    """One key: out is its value. 256 columns go through vectors, 19 through single elements as well."""
    ones = np.ones((14, 1, 1, 1), np.float32)
    scale = np.array([0.5], np.float32)
    for v in (codes(kind).reshape(1, 1, 1, 256), np.resize(codes(kind), (14, 1, 1, 19))):
        batch = ones[: v.shape[0]]
        out = attn.sdpa(batch, batch.astype(kind), v, k_scale=scale, v_scale=scale, target=target)
        np.testing.assert_array_equal(out, v.astype(np.float32) / 2)


@parametrize_kind
@pytest.mark.parametrize("target", TARGETS)
def test_every_number_is_exact_as_a_key(kind, target):
    """One key of one column: lse is the score, but for the error of exp(0)."""
    k = codes(kind).reshape(256, 1, 1, 1)
    ones, scale = np.ones((256, 1, 1, 1), np.float32), np.array([4], np.float32)
    options = dict(k_scale=scale, v_scale=scale, target=target, return_lse=True)
    _, lse = attn.sdpa(ones, k, ones.astype(kind), **options)
    expected = k.ravel().astype(np.float32) * 4
    expected[np.isposinf(expected)] = np.nan  # ∞ − ∞, as of any keys
    np.testing.assert_allclose(lse.ravel(), expected, rtol=1e-7, atol=3e-7)


@parametrize_kind
@parametrize_scales
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (Shape(113, 203, 64, 80, b=2, hq=4, hkv=2), dict(kv_lengths=[203, 58], causal="bottom_right")),
        (Shape(70, 67, 40, 41, hq=3, hkv=1), dict(window=(20, 3), align="top_left")),
        (Shape(33, 0, 64, 64, hq=2, hkv=2), {}),
        (Shape(130, 129, 128, 96, b=2, hq=2, hkv=1), dict(softcap=20.0, layout="bshd")),
    ],
    ids=str,
)
def test_many_queries_of_bf16(shape, options, scales, kind):
    """Where the target multiplies pairs of bf16 faster than f32, tiles hold K and V as those."""
    (q, k, v), of_scales = quantised(shape, kind, scales, ml_dtypes.bfloat16)
    if "layout" in options:
        q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v))
    check(q, k, v, **of_scales, **options)


@parametrize_kind
@pytest.mark.parametrize("target", TARGETS)
def test_every_number_is_exact_beside_bf16(kind, target):
    """One key for 40 queries: out is its value."""
    q, k = np.ones((1, 1, 40, 2), ml_dtypes.bfloat16), np.ones((1, 1, 1, 2), kind)
    scale = np.array([0.5], np.float32)
    out = attn.sdpa(q, k, codes(kind).reshape(1, 1, 1, 256), k_scale=scale, v_scale=scale, target=target)
    expected = np.broadcast_to(codes(kind).astype(np.float32) / 2, (1, 1, 40, 256))
    np.testing.assert_array_equal(out.astype(np.float32), expected)


@parametrize_kind
@pytest.mark.parametrize("sq", [1, 19])
def test_nothing_beyond_the_length_is_used(sq, kind):
    (q, k, v), options = quantised(Shape(sq, 67, 33, 21, b=2, hq=4, hkv=2), kind, "token")
    lengths = [67, 30]
    plain = q, k.copy(), v.copy()
    plain_options = dict(kv_lengths=lengths, return_lse=True) | {name: x.copy() for name, x in options.items()}
    for x in (k, v):
        x[1, :, 30:] = np.nan if kind is not np.int8 else 127
    for scale in options.values():
        scale[1, :, 30:] = np.nan
    tensors, options = [before_a_wall(x) for x in (q, k, v)], {name: before_a_wall(x) for name, x in options.items()}
    found = attn.sdpa(*tensors, kv_lengths=lengths, return_lse=True, **options)
    compare(found, reference.sdpa, *plain, **plain_options)


@parametrize_kind
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("sq", [1, 4, 113])
def test_scales_of_a_removed_key_are_not_used(sq, dtype, kind):
    """0 times a scale that is no number is not 0: the weight of such a key stays 0 whatever its scale."""
    tensors, options = quantised(Shape(sq, 203, 59, 80, hq=4, hkv=2), kind, "token", dtype)
    keep = np.ones((1, 1, 1, 203), bool)
    keep[..., [5, 202]] = False
    plain = {name: scale.copy() for name, scale in options.items()}
    for scale in options.values():
        scale[..., [5, 202]] = np.nan
    for mask in (dict(mask=keep), dict(mask_mod=lambda b, h, i, j: (j != 5) & (j != 202))):
        found = attn.sdpa(*tensors, **options, **mask, return_lse=True)
        compare(found, reference.sdpa, *tensors, **plain, mask=keep, return_lse=True)


@parametrize_kind
@parametrize_scales
@pytest.mark.parametrize("sq", [1, 19])
def test_extreme_scales(sq, kind, scales):
    """Scores of ±1e4 and of ±1e-30, values of 1e-30 and 1e30, negative scales and 0."""
    (q, k, v), options = quantised(Shape(sq, 101, 64, 64, hq=4, hkv=4), kind, scales)
    heads = np.array([1e4, 1e-30, -1, 0]), np.array([1e-30, 1e30, 1, 0])
    for name, factor in zip(options, heads, strict=True):
        options[name] *= (factor if scales == "head" else factor[:, None]).astype(np.float32)
    found = attn.sdpa(q, k, v, return_lse=True, **options)
    expected = reference.sdpa(q, k, v, return_lse=True, **options)
    for head in range(4):
        assert_close(found[0][:, head], expected[0][:, head], np.float32)
        assert_close(found[1][:, head], expected[1][:, head], np.float32, "lse")


@parametrize_scales
@parametrize_kind
@pytest.mark.parametrize("layout", ["nhd", "hnd"])
def test_paged(layout, kind, scales):
    (q, k, v), options = quantised(Shape(2, 48, 40, 24, b=2, hq=4, hkv=2), kind, scales)
    table = np.array([[3, 1, 5], [4, 0, 10**6]])
    caches = []
    for x in (k, v):
        cache = np.full((6, 16, 2, x.shape[3]), np.nan if kind is not np.int8 else 77, kind)
        for b, m in np.ndindex(2, 3):
            if table[b, m] < 6:
                cache[table[b, m]] = x[b, :, 16 * m : 16 * m + 16].swapaxes(0, 1)
        caches.append(cache if layout == "nhd" else np.ascontiguousarray(cache.swapaxes(1, 2)))
    lengths = [39, 21]
    if scales == "token":
        options["k_scale"][1, :, 21:] = np.nan
    found = attn.paged_sdpa(
        q, *caches, table, lengths, page_layout=layout, causal="bottom_right", return_lse=True, **options
    )
    options["k_scale"] = np.nan_to_num(options["k_scale"])
    compare(found, reference.sdpa, q, k, v, kv_lengths=lengths, causal="bottom_right", return_lse=True, **options)


@pytest.mark.parametrize("page", [8, 24])
def test_pages_that_no_tile_of_bytes_divides(page):
    """They are gathered and widened."""
    (q, k, v), options = quantised(Shape(1, 96, 512, 16, hq=4, hkv=2), np.int8, "head", ml_dtypes.bfloat16)
    caches = [x.swapaxes(1, 2).reshape(96 // page, page, 2, -1) for x in (k, v)]
    table = np.arange(96 // page)[None]
    found = attn.paged_sdpa(q, *map(np.ascontiguousarray, caches), table, [91], return_lse=True, **options)
    compare(found, reference.sdpa, q, k, v, kv_lengths=[91], return_lse=True, **options)


@parametrize_scales
@parametrize_kind
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("page", [16, 48])
@pytest.mark.parametrize("layout", ["nhd", "hnd"])
def test_many_pages(layout, page, dtype, kind, scales):
    """Pages that are folded several at once or one by one, in products of bytes or of floats."""
    (q, k, v), options = quantised(Shape(1, 1200, 80, 48, b=3, hq=8, hkv=2), kind, scales, dtype)
    count, lengths = 1200 // page, [1200, 1035, 7 * page]
    table = np.random.default_rng(1).permutation(3 * count).astype(np.int32).reshape(3, count)
    caches = []
    for x in (k, v):
        cache = np.empty((3 * count, page, 2, x.shape[3]), kind)
        cache[table] = x.swapaxes(1, 2).reshape(3, count, page, 2, -1)
        caches.append(cache if layout == "nhd" else np.ascontiguousarray(cache.swapaxes(1, 2)))
    found = attn.paged_sdpa(q, *caches, table, lengths, page_layout=layout, return_lse=True, **options)
    compare(found, reference.sdpa, q, k, v, kv_lengths=lengths, return_lse=True, **options)


@parametrize_kind
def test_packed_sequences(kind):
    (q, k, v), options = quantised(Shape(113, 203, 32, 24, hq=4, hkv=2), kind, "head")
    tensors = [np.ascontiguousarray(x[0].swapaxes(0, 1)) for x in (q, k, v)]
    rows, keys = [0, 40, 40, 41, 113], [0, 25, 60, 125, 203]
    options |= dict(causal="bottom_right", return_lse=True)
    found = attn.varlen_sdpa(*tensors, rows, keys, **options)
    compare(found, reference.varlen_sdpa, *tensors, rows, keys, **options)


@parametrize_kind
def test_appending_rows_as_they_are(kind):
    cache = codes(kind).reshape(2, 2, 8, 8)[:, :, ::-1].copy()
    new = np.resize(codes(kind)[::3], (2, 2, 3, 8))
    expected = reference.kv_append(cache, new, [5, 0])
    attn.kv_append(cache, new, [5, 0])
    np.testing.assert_array_equal(cache.view(np.uint8), expected.view(np.uint8))


@parametrize_kind
def test_appending_rows_to_slots(kind):
    cache, new = np.zeros((4, 16, 2, 8), kind), np.resize(codes(kind), (32, 2, 8))
    slots = np.random.default_rng(0).permutation(64)[:32]
    expected = cache.copy()
    expected[slots // 16, slots % 16] = new
    attn.kv_append(cache, new, slots=slots)
    np.testing.assert_array_equal(cache.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("dtype", [np.float32, *NARROW.values()], ids=["f32", *NARROW])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sq", [1, 40])
def test_infinities_are_those_of_wide_keys_and_values(sq, target, dtype):
    """A key of −∞ has no weight, as q > 0 here; of V they reach their columns alone, as NaN does."""
    (q, k, v), options = quantised(Shape(sq, 67, 32, 24, hq=4, hkv=2), E5M2, "head", dtype)
    q = np.abs(q)
    k[0, 0, 5, 3] = k[0, 1, 66, 0] = -np.inf
    v[0, :, 7, 2], v[0, :, 8, 4], v[0, :, 65, 23] = np.inf, -np.inf, np.nan
    out, _ = found = attn.sdpa(q, k, v, target=target, return_lse=True, **options)
    compare(found, reference.sdpa, q, k, v, return_lse=True, **options)
    assert np.isposinf(out[..., 2]).all()
    assert np.isneginf(out[..., 4]).all()
    assert np.isfinite(out.astype(np.float32)).all(axis=(0, 1, 2)).sum() == 21


def test_refusals():
    (q, k, v), options = quantised(Shape(3, 5, 8, 8, b=2, hq=4, hkv=2), np.int8, "token")
    head, token = np.ones(2), options["k_scale"]
    cases = [
        ((q, k, v), {}, TypeError, "expected k_scale and v_scale beside k and v of int8, found neither"),
        ((q, k, v), dict(k_scale=head), TypeError, "found k_scale"),
        ((q, k, q[:, :2]), options, TypeError, "expected v to have the type of k, int8"),
        ((q, k.astype("f4"), v.astype("f4")), options, TypeError, "expected k_scale only beside k and v of int8"),
        ((q, k.astype("i2"), v.astype("i2")), options, TypeError, "v_scale int8, float8_e4m3fn or float8_e5m2"),
        ((q.astype("f8"), k.astype("f2"), v.astype("f2")), {}, TypeError, "the type of q, float64, found float16"),
        ((q, k, v), dict(k_scale=token[..., :4], v_scale=token), ValueError, r"\(2,\), one a key head, or \(2, 2, 5\)"),
        ((q, k, v), dict(k_scale=head, v_scale=token), ValueError, "both one a head or both one a token"),
        ((q, k, v), dict(k_scale=k, v_scale=token), TypeError, "expected k_scale to hold floats, found int8"),
    ]
    for tensors, scales, kind, message in cases:
        with pytest.raises(kind, match=message):
            attn.sdpa(*tensors, **scales)
    with pytest.raises(ValueError, match=r"expected k_scale of shape \(2,\), one a key head, found \(2, 2, 5\)"):
        attn.varlen_sdpa(q[0].swapaxes(0, 1), *(x[0].swapaxes(0, 1) for x in (k, v)), [0, 3], [0, 5], **options)


def test_a_problem_line_takes_scales_after_lengths():
    kernel = attn.compile("b2 hq4 hkv2 sq3 sk5 d8 f32 kv=fp8 kvscale=token kv_lengths causal=offset", parallel="none")
    assert [(x["name"], x["dtype"], x["shape"]) for x in kernel.inputs[1:-1]] == [
        ("k", "float8_e4m3fn", [2, 2, 5, 8]),
        ("v", "float8_e4m3fn", [2, 2, 5, 8]),
        ("kv_lengths", "int32", [2]),
        ("k_scale", "float32", [2, 2, 5]),
        ("v_scale", "float32", [2, 2, 5]),
    ]


def test_one_dynamic_kernel_tests_the_sizes_of_scales():
    kernel = attn.compile("b? hq? hkv? sq? sk? d8 f32 kv=int8 kvscale=token out=lse", parallel="none")
    (q, k, v), options = quantised(Shape(3, 5, 8, 8, b=2, hq=4, hkv=4), np.int8, "token")
    compare(kernel(q, k, v, *options.values()), reference.sdpa, q, k, v, return_lse=True, **options)
    for wrong in (options["k_scale"][:1], options["k_scale"][:, :3], options["k_scale"][..., :4]):
        with pytest.raises(ValueError, match="'k_scale': expected size"):
            kernel(q, k, v, np.ascontiguousarray(wrong), options["v_scale"])
