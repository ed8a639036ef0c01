"""Attention nodes beyond ONNX's conformance data, against the operator's function body."""

import numpy as np
import pytest

import attn
from node_models import (
    BATCH,
    HEADS,
    KEY_HEADS,
    KEYS,
    NAMES,
    NEW,
    OUTPUTS,
    PACKED,
    PAST,
    QUERIES,
    SIZE,
    VALUE_SIZE,
    draw,
    evaluate,
    keep,
    make_model,
    make_symbolic,
)


def run(model, arrays, **options):
    """The kernel's outputs and the reference evaluator's."""
    found = attn.from_onnx(model, **options)(*(arrays.get(name) for name in NAMES))
    expected = evaluate(model, arrays)
    return found if isinstance(found, tuple) else (found,), expected


def check(model, arrays):
    found, expected = run(model, arrays)
    tolerance = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}[str(arrays["Q"].dtype)]
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


parametrize_packed = pytest.mark.parametrize("packed", [False, True], ids=["4d", "3d"])


@parametrize_packed
@pytest.mark.parametrize("past", [False, True], ids=["new", "past"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_causal_softcap_and_scale(rng, packed, past, dtype):
    arrays = draw(rng, packed=packed, past=past, dtype=dtype)
    check(make_model(arrays, is_causal=1, softcap=1.5, scale=0.25, **(PACKED if packed else {})), arrays)


@parametrize_packed
@pytest.mark.parametrize(
    "shape", [(KEYS,), (QUERIES, KEYS), (1, KEYS), (HEADS, 1, KEYS), (1, 1, KEYS), (BATCH, 1, QUERIES, KEYS)], ids=str
)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_broadcast(rng, packed, shape, kind):
    arrays = draw(rng, packed=packed, past=True)
    arrays["attn_mask"] = keep(rng, *shape) if kind == "bool" else rng.standard_normal(shape).astype(np.float32)
    check(make_model(arrays, is_causal=1, **(PACKED if packed else {})), arrays)


@parametrize_packed
@pytest.mark.parametrize("keys", [1, 6])
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_a_short_mask_removes_the_keys_behind_it(rng, packed, keys, kind, outputs):
    arrays = draw(rng, packed=packed)
    shape = (QUERIES, keys)
    arrays["attn_mask"] = keep(rng, *shape) if kind == "bool" else rng.standard_normal(shape).astype(np.float32)
    model = make_model(arrays, outputs, qk_matmul_output_mode=2, **(PACKED if packed else {}))
    check(model, arrays)


@parametrize_packed
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize(
    "attributes", [{"is_causal": 1}, {"left_window_size": 2}, {"right_window_size": 0}], ids=lambda x: next(iter(x))
)
def test_a_short_mask_leaves_the_diagonal_of_lengths(rng, packed, kind, attributes):
    arrays = draw(rng, packed=packed)
    arrays["nonpad_kv_seqlen"] = np.array([NEW - 1, NEW], np.int64)
    arrays["attn_mask"] = np.ones((QUERIES, 4), bool) if kind == "bool" else np.zeros((QUERIES, 4), np.float32)
    check(make_model(arrays, opset=25, **attributes, **(PACKED if packed else {})), arrays)


@parametrize_packed
def test_a_short_mask_leaves_the_window_behind_a_cache(rng, packed):
    arrays = draw(rng, packed=packed, past=True)
    arrays["Q"] = arrays["Q"].take(np.arange(NEW) % QUERIES, 1 if packed else 2)  # as many as new keys
    arrays["attn_mask"] = np.ones((NEW, KEYS - 1), bool)
    check(make_model(arrays, opset=25, left_window_size=PAST - 1, **(PACKED if packed else {})), arrays)


def check_wide(arrays, outputs=("Y",), **options):
    """Against the body in f64, on the same values, a mask rounded to the type of Q as the body's Cast does."""
    found = attn.from_onnx(make_model(arrays, outputs, **options))(*(arrays.get(name) for name in NAMES))
    wide = {name: x if x.dtype == bool else x.astype(np.float64) for name, x in arrays.items()}
    if arrays["attn_mask"].dtype != bool:
        with np.errstate(over="ignore"):
            wide["attn_mask"] = arrays["attn_mask"].astype(arrays["Q"].dtype).astype(np.float64)
    tolerance = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}[str(arrays["Q"].dtype)]
    expected = evaluate(make_model(wide, outputs, **options), wide)
    for x, y, name in zip(found if isinstance(found, tuple) else (found,), expected, outputs, strict=True):
        assert x.dtype == arrays["V" if name == "present_value" else "Q"].dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("query", "value", "mask", "keys", "packed"),
    [
        ("float32", "float32", "float16", NEW, False),
        ("float32", "float32", "float64", 4, True),
        ("float16", "float16", "float32", NEW, True),
        ("float16", "float16", "float64", 4, False),
        ("float32", "float32", "int8", 4, False),
        ("float16", "float16", "int32", NEW, True),
        ("float32", "float16", "int64", NEW, False),
        ("float32", "float16", "bool", 4, True),
        ("float16", "float32", "float32", NEW, False),
    ],
)
def test_types_that_differ(rng, query, value, mask, keys, packed):
    """V, and a mask, may have types of their own; integers are numbers that are added, as floats are."""
    arrays = draw(rng, packed=packed, dtype=query)
    arrays["V"] = arrays["V"].astype(value)
    arrays["attn_mask"] = (3 * rng.standard_normal((QUERIES, keys))).astype(mask)
    arrays["attn_mask"][:, 0] = 1
    check_wide(arrays, is_causal=1, **(PACKED if packed else {}))


@pytest.mark.parametrize(("query", "value"), [("float64", "float16"), ("float16", "float64"), ("float32", "float64")])
def test_types_that_differ_of_all_outputs(rng, query, value):
    arrays = draw(rng, dtype=query, past=True)
    arrays |= {name: arrays[name].astype(value) for name in ("V", "past_value")}
    arrays["attn_mask"] = rng.standard_normal((QUERIES, KEYS)).astype(np.float32)
    check_wide(arrays, OUTPUTS, qk_matmul_output_mode=2, scale=0.25)  # the body rounds its default to f32


def test_a_wide_mask_overflows_to_removed_keys(rng):
    arrays = draw(rng, dtype=np.float16)
    arrays["attn_mask"] = np.zeros((QUERIES, NEW), np.float32)
    arrays["attn_mask"][:, 3:] = arrays["attn_mask"][2] = np.finfo(np.float32).min
    check_wide(arrays)


def test_a_mask_of_another_type_and_symbolic_sizes(rng):
    arrays = draw(rng, dtype=np.float16)
    arrays["attn_mask"] = rng.standard_normal((BATCH, 1, QUERIES, NEW)).astype(np.float32)
    symbols = {
        "Q": {0: "b", 2: "i"},
        "K": {0: "b", 2: "j"},
        "V": {0: "b", 2: "j"},
        "attn_mask": {0: "b", 2: "i", 3: "j"},
    }
    found = attn.from_onnx(make_symbolic(make_model(arrays), symbols))(*(arrays.get(name) for name in NAMES))
    wide = {name: x.astype(np.float32) for name, x in arrays.items()}
    np.testing.assert_allclose(found, evaluate(make_model(wide), wide)[0], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("mask", ["uint8", "int16", "uint64"])
def test_types_of_masks_that_no_kernel_reads(rng, mask):
    arrays = draw(rng)
    arrays["attn_mask"] = np.ones((QUERIES, NEW), mask)
    with pytest.raises(attn.CompileError, match=f"INT32 or INT64 of attn_mask, found {mask.upper()}; write a Cast"):
        attn.from_onnx(make_model(arrays))


def test_a_mask_of_one_key_broadcasts_in_opset_23(rng):
    arrays = draw(rng)
    arrays["attn_mask"] = rng.standard_normal((QUERIES, 1)).astype(np.float32)
    full = {**arrays, "attn_mask": np.repeat(arrays["attn_mask"], NEW, axis=1)}
    found = attn.from_onnx(make_model(arrays, opset=23))(*(arrays.get(x) for x in NAMES[:4]))
    expected = evaluate(make_model(full, opset=23), full)[0]
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


@parametrize_packed
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("softcap", [0.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_scores_are_returned(rng, packed, mode, softcap, dtype):
    arrays = draw(rng, packed=packed, past=True, dtype=dtype)
    arrays["attn_mask"] = keep(rng, QUERIES, KEYS)
    options = dict(qk_matmul_output_mode=mode, softcap=softcap, **(PACKED if packed else {}))
    if dtype == np.float32:
        return check(make_model(arrays, OUTPUTS, **options), arrays)
    # NumPy's half-precision steps round where ours do not: the rounded inputs in float32 are the reference.
    found = attn.from_onnx(make_model(arrays, OUTPUTS, **options))(*(arrays.get(name) for name in NAMES))
    wide = {name: x.astype(np.float32) if x.dtype == dtype else x for name, x in arrays.items()}
    for x, y in zip(found, evaluate(make_model(wide, OUTPUTS, **options), wide), strict=True):
        assert x.dtype == dtype
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-3)
    return None


@parametrize_packed
def test_present_without_past_is_the_new_rows(rng, packed):
    arrays = draw(rng, packed=packed)
    check(make_model(arrays, OUTPUTS[:3], is_causal=1, **(PACKED if packed else {})), arrays)


@parametrize_packed
@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_lengths(rng, packed, outputs):
    arrays = draw(rng, packed=packed)
    arrays["nonpad_kv_seqlen"] = np.array([3, 7], np.int64)
    check(make_model(arrays, outputs, qk_matmul_output_mode=3, is_causal=1, **(PACKED if packed else {})), arrays)


def test_lengths_out_of_range_keep_all_keys_or_none(rng):
    arrays = draw(rng)
    arrays["nonpad_kv_seqlen"] = np.array([-5, 2**40], np.int64)
    out = attn.from_onnx(make_model(arrays))(*(arrays.get(name) for name in NAMES))
    assert (out[0] == 0).all()
    arrays["nonpad_kv_seqlen"] = np.array([NEW, NEW], np.int64)
    np.testing.assert_allclose(out[1], run(make_model(arrays), arrays)[1][0][1], rtol=2e-6, atol=2e-6)


def test_a_row_without_keys_is_zero(rng):
    arrays = draw(rng)
    arrays["attn_mask"] = np.ones((QUERIES, NEW), bool)
    arrays["attn_mask"][2] = False
    out = attn.from_onnx(make_model(arrays))(*(arrays.get(name) for name in NAMES))
    assert (out[:, :, 2] == 0).all()
    assert np.isfinite(out).all()


# Sizes that are symbols


@parametrize_packed
@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_one_kernel_serves_all_sizes(rng, packed, outputs):
    options = dict(is_causal=1, softcap=3.0, qk_matmul_output_mode=2, **(PACKED if packed else {}))
    rows = 1 if packed else 2
    arrays = draw(rng, packed=packed)
    arrays["attn_mask"] = keep(rng, QUERIES, NEW)
    model = make_model(arrays, outputs, **options)
    symbols = {
        "Q": {0: "b", rows: "s"},
        "K": {0: "b", rows: "t"},
        "V": {0: "b", rows: "t"},
        "attn_mask": {0: "s", 1: "t"},
    }
    kernel = attn.from_onnx(make_symbolic(make_model(arrays, outputs, **options), symbols))
    for _ in range(2):
        found = kernel(*(arrays.get(name) for name in NAMES))
        found = found if isinstance(found, tuple) else (found,)
        for x, y in zip(found, evaluate(model, arrays), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-6, atol=2e-6)
        # Fewer of everything.
        axes = ("Q", 4), ("K", 3), ("V", 3)
        arrays = {name: np.ascontiguousarray(arrays[name][:1].take(range(n), rows)) for name, n in axes}
        arrays["attn_mask"] = keep(rng, 4, 3)
        model = make_model(arrays, outputs, **options)


@parametrize_packed
def test_a_symbolic_batch_with_a_cache(rng, packed):
    arrays = draw(rng, packed=packed, past=True)
    model = make_model(arrays, OUTPUTS[:3], is_causal=1, **(PACKED if packed else {}))
    expected = evaluate(model, arrays)
    kernel = attn.from_onnx(make_symbolic(model, {name: {0: "b"} for name in arrays}))
    for x, y in zip(kernel(*(arrays.get(name) for name in NAMES)), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6, atol=2e-6)
    arrays["past_value"] = arrays["past_value"][:1].copy()
    with pytest.raises(ValueError, match="past_value"):
        kernel(*(arrays.get(name) for name in NAMES))


def test_a_symbolic_length_with_a_cache_is_refused(rng):
    model = make_symbolic(make_model(draw(rng, past=True)), {"past_key": {2: "p"}, "past_value": {2: "p"}})
    with pytest.raises(attn.CompileError, match="expected fixed lengths of K and past_key, found symbolic 'p'"):
        attn.from_onnx(model)


def test_a_symbolic_batch_with_a_short_mask(rng):
    arrays = draw(rng)
    arrays["attn_mask"] = keep(rng, QUERIES, 4)
    model = make_model(arrays)
    expected = evaluate(model, arrays)[0]
    kernel = attn.from_onnx(make_symbolic(model, {name: {0: "b"} for name in "QKV"}))
    np.testing.assert_allclose(kernel(*arrays.values()), expected, rtol=2e-6, atol=2e-6)
    with pytest.raises(ValueError, match="K"):
        kernel(arrays["Q"], arrays["K"][:1].copy(), arrays["V"][:1].copy(), arrays["attn_mask"])


@pytest.mark.parametrize("outputs", [("Y",), ("Y", "qk_matmul_output")], ids=["sdpa", "chain"])
def test_symbolic_sizes_of_a_short_mask_that_is_padded(rng, outputs):
    arrays = draw(rng)
    arrays["nonpad_kv_seqlen"] = np.array([NEW - 1, NEW], np.int64)
    arrays["attn_mask"] = keep(rng, BATCH, 1, QUERIES, 4)
    model = make_model(arrays, outputs, is_causal=1)
    expected = evaluate(model, arrays)
    symbols = {name: {0: "b"} for name in ("K", "V", "nonpad_kv_seqlen")}
    symbols |= {name: {0: "b", 2: "s"} for name in ("Q", "attn_mask")}
    kernel = attn.from_onnx(make_symbolic(model, symbols))
    found = kernel(*(arrays.get(name) for name in NAMES))
    for x, y in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6, atol=2e-6)
    arrays["attn_mask"] = arrays["attn_mask"][:1].copy()
    with pytest.raises(ValueError, match="attn_mask"):
        kernel(*(arrays.get(name) for name in NAMES))


# Sizes of 0


@parametrize_packed
@pytest.mark.parametrize("past", [False, True], ids=["new", "past"])
@pytest.mark.parametrize("outputs", [("Y",), OUTPUTS[:3], ("Y", "qk_matmul_output")], ids=["sdpa", "cache", "chain"])
@pytest.mark.parametrize("dim", ["batch", "queries"])
def test_outputs_without_elements(rng, packed, past, outputs, dim):
    arrays = draw(rng, packed=packed, past=past)
    arrays["attn_mask"] = np.ones((BATCH, 1, QUERIES, 4), bool)
    rows = 1 if packed else 2
    if dim == "batch":
        arrays = {name: x[:0] for name, x in arrays.items()}
    else:
        arrays |= {"Q": arrays["Q"].take(range(0), rows), "attn_mask": arrays["attn_mask"][:, :, :0]}
    kernel = attn.from_onnx(make_model(arrays, outputs, **(PACKED if packed else {})))
    found = kernel(*(arrays.get(name) for name in NAMES))
    found = found if isinstance(found, tuple) else (found,)
    assert found[0].shape == (*arrays["Q"].shape[:-1], VALUE_SIZE * (HEADS if packed else 1))
    if outputs == OUTPUTS[:3] and dim == "queries":
        new = arrays["K"].reshape(BATCH, NEW, KEY_HEADS, SIZE).swapaxes(1, 2) if packed else arrays["K"]
        old = [arrays["past_key"]] if past else []
        np.testing.assert_array_equal(found[1], np.concatenate([*old, new], axis=2))
