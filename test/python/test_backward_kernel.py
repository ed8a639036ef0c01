"""Kernels of attn.sdpa_backward against the specification."""

import numpy as np
import pytest

import attn
import processor
from backward_check import CHUNKS, MASKS, ODD, TYPES, check, check_threads, problem
from backward_ir import Sizes, backward
from helpers import assert_close, assert_within

SIZES = {  # beside those of test_masks
    "multi-query": Sizes(2, 3, 1, 113, 203, 16, 16),
    "one-head": Sizes(1, 1, 1, 203, 113, 32, 64),
    "whole": Sizes(1, 2, 2, 192, 256, 64, 64),
    "one-row": Sizes(2, 2, 1, 1, 70, 16, 16),
    "two-keys": Sizes(1, 2, 1, 50, 2, 8, 8),  # of one key, dq and dk are 0: nothing to be relative to
    "wide": Sizes(1, 1, 1, 100, 140, 256, 192),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    check(ODD, *MASKS[name])


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("mask", ["full", "bottom_right"])
def test_sizes(name, mask):
    check(SIZES[name], *MASKS[mask])


@pytest.mark.parametrize("mask", ["full", "top_left"])
@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16"])
def test_types(mask, dtype):
    check(ODD, *MASKS[mask], dtype=dtype)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_targets(target, dtype):
    processor.skip_unless_it_runs(target)
    check(ODD, *MASKS["window"], dtype=dtype, target=target)


SCHEDULES = [(7, 32, 3, 1), (5, 48, 5, 3), (200, 16, 1, 1), (24, 256, 8, 2)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mask", ["bottom_right", "window"])
def test_schedules(schedule, mask):
    """Tiles that no policy chooses: rows and keys that fill no block, one-row kernels."""
    processor.skip_unless_it_runs("x86-64-v3")
    attributes, options = MASKS[mask]
    fields = ("query_tile", "key_tile", "block_rows", "block_vectors")
    text = ", ".join(f"{name} = {x}" for name, x in zip(fields, schedule, strict=True))
    text = text.replace("block_rows", "lanes = 8, block_rows")
    attributes = f"{attributes}, schedule = #attn.backward<{text}>"
    check(ODD, attributes, options, target="x86-64-v3")


LENGTHS = {"kv_lengths": [150, 0], "q_lengths": [100, 113]}


@pytest.mark.parametrize("name", MASKS)
def test_chunks(name):
    """Pairs of chunks of queries and keys, the last of each smaller: the same bits for every number of threads."""
    processor.skip_unless_it_runs("x86-64-v3")
    attributes, options = MASKS[name]
    attributes = ", ".join(filter(None, [attributes, CHUNKS]))
    check(ODD, attributes, options, target="x86-64-v3")
    text = backward(ODD, attributes=attributes)
    kernel = attn.compile(text, "x86-64-v3", fail_on_fallback=True, cache=False)
    check_threads(kernel, problem(ODD, **options))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_chunks_beside_lengths(dtype):
    """Tiles of a chunk read no key beyond the lengths."""
    processor.skip_unless_it_runs("x86-64-v3")
    q, k, v, out, lse, dout = problem(ODD, TYPES[dtype], **LENGTHS)
    for x, name in ((q, "q_lengths"), (out, "q_lengths"), (dout, "q_lengths"), (k, "kv_lengths"), (v, "kv_lengths")):
        for b, length in enumerate(LENGTHS[name]):
            x[b, :, length:] = np.nan
    dout[1] = np.nan
    clauses = (("q_lengths", (2,), "i32"), ("kv_lengths", (2,), "i32"))
    more = [np.array(LENGTHS[name], np.int32) for name, _, _ in clauses]
    arrays = (q, k, v, out, lse, dout)
    check(ODD, CHUNKS, LENGTHS, dtype, arrays=arrays, more=more, clauses=clauses, target="x86-64-v3")


PAIRS = Sizes(2, 4, 2, 113, 203, 58, 80)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("fields", ["", "query_tile = 7, key_tile = 48, block_rows = 3, block_vectors = 3, chunks = 2"])
def test_pairs(name, fields):
    """Products of pairs of bf16, rows and keys of odd numbers."""
    processor.skip_unless("avx512bf16")
    attributes, options = MASKS[name]
    fields = fields or "query_tile = 96, key_tile = 128, block_rows = 12, block_vectors = 2"
    schedule = f"schedule = #attn.backward<{fields}, lanes = 16, instruction = pairs>"
    check(PAIRS, ", ".join(filter(None, [attributes, schedule])), options, "bf16", rounds_steps=True)


def test_no_keys():
    dq, dk, dv = check(Sizes(2, 2, 1, 5, 0, 8, 8))
    assert not dq.any()
    assert dk.size == dv.size == 0


@pytest.mark.parametrize("fill", [0.5, np.nan])
def test_lengths(fill):
    """What lies beyond lengths reaches nothing, NaN included."""
    q, k, v, out, lse, dout = problem(ODD, **LENGTHS)
    for x, name in ((q, "q_lengths"), (out, "q_lengths"), (dout, "q_lengths"), (k, "kv_lengths"), (v, "kv_lengths")):
        for b, length in enumerate(LENGTHS[name]):
            x[b, :, length:] = fill
    dout[1] = fill  # rows without keys
    clauses = (("q_lengths", (2,), "i32"), ("kv_lengths", (2,), "i32"))
    more = [np.array(LENGTHS[name], np.int32) for name, _, _ in clauses]
    dq, dk, dv = check(ODD, "", LENGTHS, arrays=(q, k, v, out, lse, dout), more=more, clauses=clauses)
    assert not dq[0, :, 100:].any()
    assert not dk[0, :, 150:].any()
    assert not dv[1].any()


def test_mask():
    """A row without keys among others: what it holds reaches nothing, NaN included."""
    mask = np.random.default_rng(2).random((2, 1, 113, 203)) < 0.5
    mask[:, :, 7] = False
    arrays = problem(ODD, mask=mask)
    for x in (arrays[0], arrays[3], arrays[5]):
        x[:, :, 7] = np.nan
    clauses = (("mask", mask.shape, "i1"),)
    dq, _, _ = check(ODD, "", {"mask": mask}, arrays=arrays, more=[mask], clauses=clauses)
    assert not dq[:, :, 7].any()


@pytest.mark.parametrize("mask", ["full", "bottom_right"])
def test_softcap(mask):
    attributes, options = MASKS[mask]
    check(ODD, ", ".join(filter(None, [attributes, "softcap = 1.5 : f64"])), {**options, "softcap": 1.5})


REGIONS = """score_mod {
  ^bb0(%s: f32):
    %h = attn.index head : index
    %i = attn.index query : index
    %j = attn.index key : index
    %a = tensor.extract %slopes[%h] : tensor<4xf32>
    %t = tensor.extract %table[%j] : tensor<203xf32>
    %d = arith.subi %i, %j : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %p = arith.mulf %a, %f : f32
    %w = arith.mulf %t, %s : f32
    %r = arith.subf %w, %p : f32
    attn.yield %r : f32
  } score_grad {
  ^bb0(%s: f32, %ds: f32):
    %j = attn.index key : index
    %t = tensor.extract %table[%j] : tensor<203xf32>
    %g = arith.mulf %t, %ds : f32
    attn.yield %g : f32
  }"""


@pytest.mark.parametrize("mask", ["full", "top_left"])
def test_regions_with_captures(mask):
    attributes, options = MASKS[mask]
    slopes, table = 2.0 ** -np.arange(1.0, 5.0, dtype=np.float32), np.linspace(0.5, 1.5, 203, dtype=np.float32)
    options = {**options, "score_mod": lambda s, b, h, i, j: table[j] * s - slopes[h] * (i - j)}
    captures = (("slopes", (4,), "f32"), ("table", (203,), "f32"))
    check(ODD, attributes, options, more=[slopes, table], captures=captures, regions=REGIONS)


def test_dropout():
    keys = (0.25, 7, 3)
    q, k, v, _, lse, dout = problem(ODD)
    out = attn.reference.sdpa(q, k, v, dropout=keys).astype(np.float32)
    captures = (("seed", (), "i64"), ("offset", (), "i64"))
    check(
        ODD,
        "dropout_p = 0.25 : f64",
        arrays=(q, k, v, out, lse, dout),
        more=[7, 3],
        given={"dropout": keys},
        captures=captures,
        text="dropout(%seed, %offset : i64, i64)",
    )


def test_gradient_of_lse():
    dlse = np.random.default_rng(3).standard_normal((2, 4, 113)).astype(np.float32)
    check(ODD, "", more=[dlse], given={"dlse": dlse}, clauses=(("dlse", dlse.shape, "f32"),))


def test_threads_give_the_same_bits():
    check_threads(attn.compile(backward(ODD, attributes=MASKS["top_left"][0]), cache=False), problem(ODD))


DYNAMIC = """func.func @backward(%q: tensor<?x4x?x59xf32>, %k: tensor<?x2x?x59xf32>, %v: tensor<?x2x?x80xf32>,
    %out: tensor<?x4x?x80xf32>, %lse: tensor<?x4x?xf32>, %dout: tensor<?x4x?x80xf32>)
    -> (tensor<?x4x?x59xf32>, tensor<?x2x?x59xf32>, tensor<?x2x?x80xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x59xf32>
  %i = tensor.dim %q, %c2 : tensor<?x4x?x59xf32>
  %j = tensor.dim %k, %c2 : tensor<?x2x?x59xf32>
  %e0 = tensor.empty(%b, %i) : tensor<?x4x?x59xf32>
  %e1 = tensor.empty(%b, %j) : tensor<?x2x?x59xf32>
  %e2 = tensor.empty(%b, %j) : tensor<?x2x?x80xf32>
  %r:3 = attn.sdpa_backward
      ins(%q, %k, %v, %out, %lse, %dout : tensor<?x4x?x59xf32>, tensor<?x2x?x59xf32>, tensor<?x2x?x80xf32>,
          tensor<?x4x?x80xf32>, tensor<?x4x?xf32>, tensor<?x4x?x80xf32>)
      outs(%e0, %e1, %e2 : tensor<?x4x?x59xf32>, tensor<?x2x?x59xf32>, tensor<?x2x?x80xf32>)
      {causal = #attn.causal<bottom_right>} -> tensor<?x4x?x59xf32>, tensor<?x2x?x59xf32>, tensor<?x2x?x80xf32>
  return %r#0, %r#1, %r#2 : tensor<?x4x?x59xf32>, tensor<?x2x?x59xf32>, tensor<?x2x?x80xf32>
}
"""


def test_sizes_at_run_time():
    kernel = attn.compile(DYNAMIC, fail_on_fallback=True, cache=False)
    for b, sq, sk in [(2, 113, 203), (1, 203, 113), (1, 1, 1), (3, 0, 5), (2, 5, 0), (0, 5, 5)]:
        arrays = problem(Sizes(b, 4, 2, sq, sk, 59, 80), causal="bottom_right")
        expected = attn.reference.sdpa_backward(*arrays, causal="bottom_right")
        scale = max(np.abs(x).max(initial=0) for x in expected.values())
        for name, array in zip("qkv", kernel(*arrays), strict=True):
            assert_within(2e-5 * scale, array, expected[name], f"d{name}")


def test_layout_bshd():
    """Heads beside each other, by maps."""
    heads = "affine_map<(b, h, i, j, d, e) -> (b, {}, h{}, {})>"
    places = [("i", "", "d"), ("j", " floordiv 2", "d"), ("j", " floordiv 2", "e"), ("i", "", "e")]
    q, k, v, o = (heads.format(row, group, column) for row, group, column in places)
    lse = "affine_map<(b, h, i, j, d, e) -> (b, h, i)>"
    text = backward(ODD, attributes=f"maps = [{', '.join([q, k, v, o, lse, o, q, k, v])}]")
    for shape in ("113x59", "203x59", "203x80", "113x80"):
        for count in (2, 4):
            text = text.replace(f"<2x{count}x{shape}xf32>", f"<2x{shape.replace('x', f'x{count}x')}xf32>")
    arrays = problem(ODD)
    expected = attn.reference.sdpa_backward(*arrays)
    given = [np.ascontiguousarray(np.swapaxes(x, 1, 2)) if x.ndim == 4 else x for x in arrays]
    for name, array in zip("qkv", attn.compile(text, fail_on_fallback=True, cache=False)(*given), strict=True):
        assert_close(np.swapaxes(array, 1, 2), expected[name], np.float32, f"d{name}")


def test_nan_of_another_key():
    """Removed keys have P = dS = 0 by selection, also in a row whose lse is NaN by a key that it keeps."""
    rng = np.random.default_rng(0)
    q, k, v, dout = (rng.standard_normal((1, 1, 8, 16)).astype(np.float32) for _ in range(4))
    k[0, 0, 0] = np.nan
    options = {"causal": "top_left", "window": (0, 0)}  # a query keeps its own key alone
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    gradients = attn.sdpa_backward(q, k, v, out, lse, dout, **options)
    for name in "kv":
        assert np.isnan(gradients[name][0, 0, 0]).all()
        assert np.isfinite(gradients[name][0, 0, 1:]).all()


def test_an_empty_row_beside_a_key_that_is_nan():
    """dq of a row without keys is 0, whatever the keys are that other rows keep."""
    mask = np.random.default_rng(2).random((1, 1, 113, 203)) < 0.5
    mask[:, :, [7, 40]] = False
    q, k, v, _, _, dout = problem(Sizes(1, 1, 1, 113, 203, 59, 80))
    k[0, 0, 50] = np.nan
    out, lse = attn.sdpa(q, k, v, return_lse=True, mask=mask)
    dq = attn.sdpa_backward(q, k, v, out, lse, dout, mask=mask)["q"][0, 0]
    assert not dq[[7, 40]].any()
    assert np.isnan(dq[mask[0, 0, :, 50]]).all()


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_gradient_alone_has_the_bits_of_one_beside_others(dtype):
    """What is not asked for is not computed; the rest is summed in the same order."""
    bias = np.random.default_rng(3).standard_normal((1, 1, 37, 75)).astype(TYPES[dtype])
    options = {"causal": "bottom_right", "bias": bias, "dropout": (0.2, 1, 2)}
    arrays = problem(Sizes(2, 4, 2, 37, 75, 16, 24), TYPES[dtype], **options)
    names = ("q", "k", "v", "bias")
    every = attn.sdpa_backward(*arrays, grad=names, **options)
    for some in (("q",), ("v",), ("bias",), ("k", "v")):
        for name, array in attn.sdpa_backward(*arrays, grad=some, **options).items():
            assert array.tobytes() == every[name].tobytes(), (some, name)
