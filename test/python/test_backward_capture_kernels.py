"""Kernels that add up gradients of captured tensors, against the specification: by what their positions depend on."""

import re

import ml_dtypes
import numpy as np
import pytest

import attn
import processor
from attn.trace import _trace
from helpers import assert_close

B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 113, 203, 59, 80
LINE = f"b{B} hq{HQ} hkv{HKV} sq{SQ} sk{SK} d{D} dv{DV}"
TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def rows(rng, dtype):
    """All keys of a row share an element: of a head, a head of K, a batch index, all of them, a query; a function."""
    shapes = ((HQ,), (HKV,), (B, 3), (1,), (HQ, SQ))
    slopes, group, batch, one, query = (rng.standard_normal(x).astype(dtype) for x in shapes)

    def mod(s, b, h, i, j):
        s = s * group[h // 2] * query[h, i] - slopes[h] * (i - j) / 64
        return attn.tanh(s) * batch[b, 1] + s * batch[b, 0] * slopes[3 - h] + s * attn.exp(one[h // 4])

    return mod, ("slopes", "group", "batch", "one", "query")


def keys(rng, dtype):
    """Keys of a row lie one after the other, and head or batch index say whose they are, or nothing does."""
    shapes = ((B, SK), (HQ, SK + 5), (HQ, SQ, SK), (SQ, SK), (B, HQ, SQ, SK), (HKV, SK))
    padding, shifted, pairs, shared, own, group = (rng.standard_normal(x).astype(dtype) for x in shapes)

    def mod(s, b, h, i, j):
        s = s * shifted[h, j + 3] + padding[b, j] + shifted[h, j]
        return s + pairs[h, i, j] * shared[i, j] - own[b, h, i, j] * group[h // 2, j]

    return mod, ("padding", "shifted", "pairs", "shared", "own", "group")


def scattered(rng, dtype):
    """Keys in another order, and several to an element: what T5 does to distances, and columns."""
    shapes = ((SK + 5, HQ), (SK // 2 + 1,), (SK, SQ), (HQ, SQ + SK), (17, HQ), (HQ, SK))
    column, halves, turned, distance, buckets, twice = (rng.standard_normal(x).astype(dtype) for x in shapes)

    def mod(s, b, h, i, j):
        s = s * column[j + 2, h] + halves[j // 2] + turned[j, i] * distance[h, j - i + SQ]
        return s + buckets[attn.clip(i - j, -8, 8) + 8, h] + twice[h, j] * twice[h, 2] * twice[3 - h, j]

    return mod, ("column", "halves", "turned", "distance", "buckets", "twice")


GROUPS = {"rows": rows, "keys": keys, "scattered": scattered}
MASKS = {
    "full": ("", {}),
    "bottom_right": ("causal=bottom_right softcap=1.5", {"causal": "bottom_right", "softcap": 1.5}),
    "window": ("causal=top_left window=3,", {"causal": "top_left", "window": (3, None)}),
}


def problem(group, dtype="f32", line="", grad="q,k,v", target="host", **options):
    """A kernel, its arguments, the names of its gradients, and what the reference takes."""
    rng, element = np.random.default_rng(5), "f64" if dtype == "f64" else "f32"
    mod, tables = GROUPS[group](rng, np.dtype(TYPES[element]))
    traced = _trace.trace(mod, None, (B, HQ, SQ, SK), element)
    names = (*grad.split(","), *tables)
    text = f"{LINE} {dtype} {line} grad={','.join(names)}\n{traced.regions.text}"
    kernel = attn.compile(text, target, name="sdpa_backward", fail_on_fallback=True, cache=False)
    shapes = ((B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV), (B, HQ, SQ, DV))
    q, k, v, dout = (rng.standard_normal(shape).astype(TYPES[dtype]) for shape in shapes)
    options = {**options, "score_mod": mod}
    out, lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    saved = (out.astype(q.dtype), lse.astype(TYPES[element]), dout)
    return kernel, (q, k, v), traced.arrays, saved, names, options


def agree(found, expected, dtype):
    """Each gradient within the bound of its type."""
    for array, (name, reference) in zip(found, expected.items(), strict=True):
        low = reference.astype(array.dtype).astype(np.float64) if array.dtype.itemsize == 2 else None
        assert_close(array, reference, array.dtype if low is not None else TYPES[dtype], f"d{name}", low)


def check(group, dtype="f32", line="", more=(), target="host", **options):
    """Compiles, runs, and compares all gradients; returns what runs the kernel again."""
    kernel, inputs, tables, saved, names, options = problem(group, dtype, line, target=target, **options)
    element = "f64" if dtype == "f64" else "f32"
    out, lse, dout = saved
    arguments = (*inputs, *more, *tables, out, lse, np.zeros_like(lse), dout)
    agree(kernel(*arguments), attn.reference.sdpa_backward(*inputs, *saved, grad=names, **options), element)
    return lambda: kernel(*arguments)


CASES = [("rows", "full"), ("keys", "full"), ("scattered", "full")]
CASES += [("rows", "bottom_right"), ("keys", "bottom_right"), ("scattered", "bottom_right"), ("rows", "window")]


@pytest.mark.parametrize(("group", "mask"), CASES)
def test_masks(group, mask):
    """And every number of threads gives the same bits."""
    line, options = MASKS[mask]
    run = check(group, "f32", line, **options)
    before = attn.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            results.append([x.tobytes() for x in run()])
    finally:
        attn.set_num_threads(before)
    assert all(x == results[0] for x in results)


TYPED = [("rows", "f64"), ("keys", "f64"), ("scattered", "f64"), ("rows", "f16"), ("scattered", "bf16")]


@pytest.mark.parametrize(("group", "dtype"), TYPED)
def test_types(group, dtype):
    check(group, dtype, "causal=top_left", causal="top_left")


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_targets(target):
    processor.skip_unless_it_runs(target)
    check("scattered", target=target)


@pytest.mark.parametrize("group", ["keys", "scattered"])
def test_what_lies_beyond_lengths_adds_nothing(group):
    """NaN included, of K, V, Q and dout, and of rows without keys."""
    lengths = {"q_lengths": [100, 113], "kv_lengths": [150, 0]}
    line = "q_lengths kv_lengths"
    kernel, inputs, tables, saved, names, options = problem(group, "f32", line, **lengths)
    more = [np.array(lengths[name], np.int32) for name in line.split()]
    expected = attn.reference.sdpa_backward(*inputs, *saved, grad=names, **options)
    (q, k, v), (out, lse, dout) = inputs, saved
    for x, name in ((q, "q_lengths"), (out, "q_lengths"), (dout, "q_lengths"), (k, "kv_lengths"), (v, "kv_lengths")):
        for b, length in enumerate(lengths[name]):
            x[b, :, length:] = np.nan
    dout[1] = np.nan
    found = kernel(*inputs, *more, *tables, out, lse, np.zeros_like(lse), dout)
    agree(found, expected, "f32")
    if group == "keys":
        padding = found[names.index("padding")]
        assert padding[0, :150].any()
        assert not padding[0, 150:].any()
        assert not padding[1].any()


def test_dropout():
    keys = (0.25, 7, 3)
    kernel, inputs, tables, (_, lse, dout), names, options = problem("rows", "f32", "dropout=0.25")
    out = attn.reference.sdpa(*inputs, dropout=keys, **options).astype(np.float32)
    found = kernel(*inputs, 7, 3, *tables, out, lse, np.zeros_like(lse), dout)
    agree(found, attn.reference.sdpa_backward(*inputs, out, lse, dout, grad=names, dropout=keys, **options), "f32")


def test_tables_without_room_for_parts_fall_back():
    """A part of 2^24 elements for each of 8 tasks."""
    text = """b8 hq1 hkv1 sq4096 sk4096 d16 f32 grad=t
captures(%t : tensor<4096x4096xf32>)
score_mod {
^bb0(%score: f32):
  %i = attn.index query : index
  %j = attn.index key : index
  %x = tensor.extract %t[%i, %j] : tensor<4096x4096xf32>
  %y = arith.addf %score, %x : f32
  attn.yield %y : f32
}"""
    with pytest.raises(attn.CompileError) as error:
        attn.compile(text, fail_on_fallback=True, cache=False)
    assert "falls back to the materialised path" in error.value.diagnostics
    assert "at most 2^26 elements" in error.value.diagnostics


def open_problem(mod, sizes, names):
    """A kernel for all batches, heads and lengths, and the text that it is compiled from."""
    traced = _trace.trace(mod, None, sizes, "f32", open_indices="bhij").regions.text
    traced = re.sub(r"(%buckets(?:\[%\w+\])? : tensor<)\?", r"\g<1>17", traced)
    text = f"b? hq? hkv? sq? sk? d16 f32 grad=q,{','.join(names)}\n{traced}"
    return attn.compile(text, name="sdpa_backward", fail_on_fallback=True, cache=False), traced


def test_open_sizes():
    """Of a head, of keys and of queries, and a table of a known size: one kernel for all sizes."""

    def arrays(b, h, sq, sk):
        rng = np.random.default_rng(b)
        shapes = ((h,), (b, sk), (h, sq), (17,))
        return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    def mod_of(slopes, padding, rows, buckets):
        def mod(s, b, h, i, j):
            s = s * rows[h, i] - slopes[h] * (i - j) / 64 + padding[b, j]
            return s + buckets[attn.clip(i - j, -8, 8) + 8]

        return mod

    names, kernel, source = ("slopes", "padding", "rows", "buckets"), None, ""
    for b, h, sq, sk in [(2, 3, 37, 75), (1, 2, 1, 130), (3, 1, 64, 5)]:
        captured, rng = arrays(b, h, sq, sk), np.random.default_rng(1)
        mod = mod_of(*captured)
        if kernel is None:
            kernel, source = open_problem(mod, (b, h, sq, sk), names)
        order = [captured[names.index(x)] for x in _names(source)]
        q, dout = (rng.standard_normal((b, h, sq, 16)).astype(np.float32) for _ in range(2))
        k, v = (rng.standard_normal((b, h, sk, 16)).astype(np.float32) for _ in range(2))
        out, lse = attn.reference.sdpa(q, k, v, return_lse=True, score_mod=mod)
        out, lse = out.astype(np.float32), lse.astype(np.float32)
        found = kernel(q, k, v, *order, out, lse, np.zeros_like(lse), dout)
        expected = attn.reference.sdpa_backward(q, k, v, out, lse, dout, grad=("q", *names), score_mod=mod)
        for name, array in zip(("q", *names), found, strict=True):
            assert_close(array, expected[name], np.float32, f"d{name}")


def _names(text):
    """Of what the regions read, in the order of the kernel's arguments."""
    return [part.split(" :")[0].strip(" %") for part in text.partition("captures(")[2].partition(")")[0].split(",")]


def test_open_sizes_without_a_bound():
    """A table of every pair of positions would have a copy of the scores in each task."""
    table = np.zeros((5, 7), np.float32)
    with pytest.raises(
        attn.CompileError, match=r"with open sizes of at most 2\^15 in one, or of a row of queries or keys"
    ):
        open_problem(lambda s, b, h, i, j: s + table[i, j], (1, 1, 5, 7), ("table",))
