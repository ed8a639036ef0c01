"""What stands around attention, as ops in an IR file: projections, scoring functions, caches, merged states."""

import re

import numpy as np
import pytest

import attn
from helpers import DTYPES, Shape, assert_close, draw

ELEMENTS = {"float32": "f32", "float64": "f64", "int32": "i32"}
RNG = np.random.default_rng(0)


def tensor(array) -> str:
    """The MLIR type of an array."""
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{ELEMENTS[array.dtype.name]}>"


def fill(text: str, **arrays) -> str:
    """IR in which the words that name `arrays` stand for their types."""
    return re.sub(rf"\b({'|'.join(arrays)})\b(?!:)", lambda match: tensor(arrays[match[1]]), text)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


# ---- attn.multi_head -------------------------------------------------------------------------------------------------

MULTI_HEAD = """func.func @layer(%x: X, %wq: WQ, %wk: WK, %wv: WV, %wo: WO) -> Y {
  %init = tensor.empty() : Y
  %y = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : X, WQ, WK, WV, WO) outs(%init : Y) {ATTRIBUTES} -> Y
  return %y : Y
}
"""


def multi_head(x, w_q, w_k, w_v, w_o, attributes: str, **options):
    y = np.empty((*x.shape[:2], w_o.shape[1]), x.dtype)
    text = fill(MULTI_HEAD, X=x, WQ=w_q, WK=w_k, WV=w_v, WO=w_o, Y=y).replace("ATTRIBUTES", attributes)
    kernel = attn.compile(text, fail_on_fallback=True, **options)
    return kernel(x, w_q, w_k, w_v, w_o)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_worked_example(dtype):
    i, j = np.arange(1, 9)[:, None], np.arange(1, 9)
    x = (0.01 * i[:5] + 0.02 * j)[None].astype(dtype)
    weights = [(base + 0.001 * i + 0.0001 * j).astype(dtype) for base in (0.05, 0.04, 0.03, 0.02)]
    y = multi_head(x, *weights, "heads = 2")
    expected = [0.006773, 0.006800, 0.006828, 0.006855, 0.006883, 0.006910, 0.006938, 0.006965]
    np.testing.assert_allclose(y[0, 0], expected, atol=5e-7)
    assert_close(y, attn.reference.multi_head(x, *weights, heads=2), dtype)


LAYERS = {
    "causal": ("heads = 4, causal", {"causal": "top_left"}),
    "grouped": ("heads = 4, kv_heads = 2", {}),
    "one kv head": ("heads = 4, kv_heads = 1, causal = #attn.causal<bottom_right>", {"causal": "bottom_right"}),
    "window": ("heads = 4, window = #attn.window<left = 3, right = 1>", {"window": (3, 1), "align": "top_left"}),
    "scale and softcap": ("heads = 4, scale = 0.5 : f64, softcap = 2.0 : f64", {"scale": 0.5, "softcap": 2}),
}


@pytest.mark.parametrize("case", LAYERS)
def test_attributes_of_the_layer(case):
    attributes, options = LAYERS[case]
    kv_heads = int(re.search(r"kv_heads = (\d)", attributes + ", kv_heads = 4")[1])
    # Odd sizes; heads of 20 for Q and K, of 12 for V, an output narrower than x.
    x = normal(2, 37, 50)
    w_q, w_k, w_v, w_o = normal(50, 80), normal(50, 20 * kv_heads), normal(50, 12 * kv_heads), normal(48, 33)
    q, k, v = (
        (x.astype(np.float64) @ w).reshape(2, 37, heads, -1)
        for w, heads in ((w_q, 4), (w_k, kv_heads), (w_v, kv_heads))
    )
    expected = attn.reference.sdpa(q, k, v, layout="bshd", **options).reshape(2, 37, 48) @ w_o
    # Scores of projections of 50 features: a rounding of theirs is one of the exponent. Hence the small weights.
    assert_close(multi_head(x, w_q, w_k, w_v, w_o, attributes), expected, np.float32)


def test_one_row():
    x, weights = normal(1, 1, 32), [normal(32, 32) for _ in range(4)]
    assert_close(multi_head(x, *weights, "heads = 2"), attn.reference.multi_head(x, *weights, heads=2), np.float32)


def test_the_reference_pipeline_agrees():
    x, weights = normal(2, 9, 16, dtype=np.float64), [normal(16, 16, dtype=np.float64) for _ in range(4)]
    found = multi_head(x, *weights, "heads = 2, causal", reference=True)
    assert_close(found, attn.reference.multi_head(x, *weights, heads=2, causal="top_left"), np.float64)


DYNAMIC = """func.func @layer(%x: tensor<?x?x24xf32>, %wq: WQ, %wk: WK, %wv: WV, %wo: WO) -> tensor<?x?x10xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x24xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x24xf32>
  %init = tensor.empty(%b, %s) : tensor<?x?x10xf32>
  %y = attn.multi_head ins(%x, %wq, %wk, %wv, %wo : tensor<?x?x24xf32>, WQ, WK, WV, WO)
      outs(%init : tensor<?x?x10xf32>) {heads = 4, kv_heads = 2, causal} -> tensor<?x?x10xf32>
  return %y : tensor<?x?x10xf32>
}
"""


def test_one_layer_for_batches_and_lengths():
    w_q, w_k, w_v, w_o = (normal(*shape) / 4 for shape in ((24, 32), (24, 16), (24, 12), (24, 10)))
    kernel = attn.compile(fill(DYNAMIC, WQ=w_q, WK=w_k, WV=w_v, WO=w_o), fail_on_fallback=True)
    for batch, length in ((2, 37), (1, 1), (3, 100), (1, 0)):
        x = normal(batch, length, 24)
        q, k, v = (
            (x.astype(np.float64) @ w).reshape(batch, length, heads, w.shape[1] // heads)
            for w, heads in ((w_q, 4), (w_k, 2), (w_v, 2))
        )
        out = attn.reference.sdpa(q, k, v, layout="bshd", causal="top_left")
        assert_close(kernel(x, w_q, w_k, w_v, w_o), out.reshape(batch, length, 24) @ w_o, np.float32)


# ---- scoring functions -----------------------------------------------------------------------------------------------

SCORED = """func.func @scored(%q: Q, %k: K, %v: V, ARGUMENTS) -> O {
  %s = tensor.empty() : S
  %o = tensor.empty() : O
  %s0 = attn.scores ins(%q, %k : Q, K) weights(WEIGHTS) outs(%s : S) {kind = #attn.score_kind<KIND>} -> S
  %s1 = attn.scale ins(%s0 : S) outs(%s : S) {scale = 0.5 : f64} -> S
  %p = attn.softmax ins(%s1 : S) outs(%s : S) -> S
  %out = attn.apply ins(%p, %v : S, V) outs(%o : O) -> O
  return %out : O
}
"""


def scored(q, k, v, kind: str, weights):
    s, o = np.empty((*q.shape[:3], k.shape[2]), q.dtype), np.empty((*q.shape[:3], v.shape[3]), q.dtype)
    names = [f"%w{i}" for i in range(len(weights))]
    types = [tensor(w) for w in weights]
    text = fill(SCORED, Q=q, K=k, V=v, S=s, O=o).replace("KIND", kind)
    text = text.replace("ARGUMENTS", ", ".join(f"{x}: {t}" for x, t in zip(names, types, strict=True)))
    text = text.replace("WEIGHTS", f"{', '.join(names)} : {', '.join(types)}")
    kernel = attn.compile(text, fail_on_fallback=True)
    return kernel(q, k, v, *weights)


def softmax_of(s, v):
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ np.repeat(v, s.shape[1] // v.shape[1], axis=1)


def as_heads(x, heads):
    return np.repeat(x.astype(np.float64), heads // x.shape[1], axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_general_scores(dtype):
    q, k, v = draw(Shape(13, 37, 20, 24, b=2, hq=4, hkv=2), dtype)
    w = normal(20, 20, dtype=dtype) / 4
    s = as_heads(q, 4) @ w @ as_heads(k, 4).swapaxes(2, 3)
    assert_close(scored(q, k, v, "general", [w]), softmax_of(0.5 * s, v), dtype)


@pytest.mark.parametrize("projected", [False, True])
def test_additive_scores(projected):
    dtype = np.float32
    q, k, v = draw(Shape(13, 37, 20, 24, b=2, hq=4, hkv=2), dtype)
    weights = [normal(20, 30) / 4, normal(20, 30) / 4, normal(30)] if projected else [normal(20)]
    q_rows, k_rows = as_heads(q, 4), as_heads(k, 4)
    if projected:
        q_rows, k_rows = q_rows @ weights[0], k_rows @ weights[1]
    s = np.tanh(q_rows[:, :, :, None] + k_rows[:, :, None]) @ weights[-1]
    assert_close(scored(q, k, v, "additive", weights), softmax_of(0.5 * s, v), dtype)


# ---- attn.kv_append --------------------------------------------------------------------------------------------------

APPEND = """func.func @append(%new: NEW, %p: POS, %cache: CACHE) -> CACHE {
  %r = attn.kv_append ins(%new : NEW) positions(%p : POS) outs(%cache : CACHE) -> CACHE
  return %r : CACHE
}
"""
APPEND_PAGES = """func.func @append(%new: NEW, %p: POS, %t: TABLE, %cache: CACHE) -> CACHE {
  %r = attn.kv_append ins(%new : NEW) positions(%p : POS) block_table(%t : TABLE) outs(%cache : CACHE)
      {page_layout = #attn.page_layout<LAYOUT>} -> CACHE
  return %r : CACHE
}
"""


@pytest.mark.parametrize("rows", [1, 5, 0])
@pytest.mark.parametrize("dtype", [*DTYPES, np.int32])
def test_new_rows_in_a_dense_cache(rows, dtype):
    cache, new = (normal(3, 2, size, 9).astype(dtype) for size in (17, rows))
    positions = np.array([0, 7, 17 - rows], np.int32)
    expected = cache.copy()
    for b, position in enumerate(positions):
        expected[b, :, position : position + rows] = new[b]
    found = cache.copy()
    attn.compile(fill(APPEND, NEW=new, POS=positions, CACHE=cache))(new, positions, out=found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("layout", ["nhd", "hnd"])
@pytest.mark.parametrize("page", [1, 4, 16])
def test_new_rows_in_pages(page, layout):
    count = 24 // page + 2
    table = RNG.permutation(2 * count).reshape(2, count).astype(np.int32)
    cache = normal(2 * count, *((page, 3) if layout == "nhd" else (3, page)), 8)
    new, positions = normal(2, 3, 6, 8), np.array([3, 18], np.int32)
    expected = cache.copy()
    rows = expected if layout == "nhd" else expected.swapaxes(1, 2)
    for b in range(2):
        for n in range(6):
            row = positions[b] + n
            rows[table[b, row // page], row % page] = new[b, :, n]
    found = cache.copy()
    text = fill(APPEND_PAGES, NEW=new, POS=positions, TABLE=table, CACHE=cache).replace("LAYOUT", layout)
    attn.compile(text)(new, positions, table, out=found)
    np.testing.assert_array_equal(found, expected)


DYNAMIC_APPEND = """func.func @append(%new: C, %p: tensor<?xi32>, %cache: C) -> C {
  %r = attn.kv_append ins(%new : C) positions(%p : tensor<?xi32>) outs(%cache : C) -> C
  return %r : C
}
""".replace(": C", ": tensor<?x2x?x8xf32>").replace("-> C", "-> tensor<?x2x?x8xf32>")


def test_one_append_for_all_sizes():
    kernel = attn.compile(DYNAMIC_APPEND)
    for batch, capacity, rows in ((1, 5, 5), (3, 40, 1), (2, 7, 0)):
        cache, new = normal(batch, 2, capacity, 8), normal(batch, 2, rows, 8)
        positions = np.arange(batch, dtype=np.int32) % (capacity - rows + 1)
        expected = cache.copy()
        for b, position in enumerate(positions):
            expected[b, :, position : position + rows] = new[b]
        found = cache.copy()
        kernel(new, positions, out=found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("position", [-1, 16])
def test_rows_that_do_not_fit_are_refused(position):
    cache, new = np.full((2, 2, 17, 8), 7, np.float32), normal(2, 2, 2, 8)
    positions = np.array([0, position], np.int32)
    with pytest.raises(ValueError, match="positions"):
        attn.compile(fill(APPEND, NEW=new, POS=positions, CACHE=cache))(new, positions, out=cache)
    assert (cache == 7).all()


# ---- states ----------------------------------------------------------------------------------------------------------

# (out, lse, 1) is a state of the keys that sdpa has seen.
MERGED = """func.func @merged(%q: Q, %k0: K0, %v0: V0, %k1: K1, %v1: V1) -> (A, R) {
  %one = arith.constant 1.0 : ELEMENT
  %wide = tensor.empty() : A
  %narrow = tensor.empty() : R
  %sum = linalg.fill ins(%one : ELEMENT) outs(%narrow : R) -> R
  %a0, %m0 = attn.sdpa ins(%q, %k0, %v0 : Q, K0, V0) outs(%wide, %narrow : A, R) -> A, R
  %a1, %m1 = attn.sdpa ins(%q, %k1, %v1 : Q, K1, V1) outs(%wide, %narrow : A, R) -> A, R
  %a, %m, %l = attn.merge_states ins(%a0, %m0, %sum : A, R, R) outs(%a1, %m1, %sum : A, R, R) -> A, R, R
  %out, %lse = attn.finalize ins(%a, %m, %l : A, R, R) outs(%wide, %narrow : A, R) -> A, R
  return %out, %lse : A, R
}
"""
STEPS = """func.func @steps(%q: Q, %k0: K0, %v0: V0, %k1: K1, %v1: V1) -> (A, R) {
  %wide = tensor.empty() : A
  %narrow = tensor.empty() : R
  %a, %m, %l = attn.init_state outs(%wide, %narrow, %narrow : A, R, R) -> A, R, R
  %a0, %m0, %l0 = attn.online_step ins(%q, %k0, %v0 : Q, K0, V0) outs(%a, %m, %l : A, R, R)
      {scale = 0.25 : f64} -> A, R, R
  %a1, %m1, %l1 = attn.online_step ins(%q, %k1, %v1 : Q, K1, V1) outs(%a, %m, %l : A, R, R)
      {scale = 0.25 : f64} -> A, R, R
  %a2, %m2, %l2 = attn.merge_states ins(%a0, %m0, %l0 : A, R, R) outs(%a1, %m1, %l1 : A, R, R) -> A, R, R
  %out, %lse = attn.finalize ins(%a2, %m2, %l2 : A, R, R) outs(%wide, %narrow : A, R) -> A, R
  return %out, %lse : A, R
}
"""


def check_halves(text: str, q, k, v, split: int, **options):
    halves = [x[:, :, part].copy() for part in (slice(split), slice(split, None)) for x in (k, v)]
    a, r = np.empty((*q.shape[:3], v.shape[3]), q.dtype), np.empty(q.shape[:3], q.dtype)
    arrays = dict(zip(("K0", "V0", "K1", "V1"), halves, strict=True))
    text = fill(text, Q=q, A=a, R=r, **arrays).replace("ELEMENT", ELEMENTS[q.dtype.name])
    out, lse = attn.compile(text, **options)(q, *halves)
    expected_out, expected_lse = attn.reference.sdpa(q, k, v, return_lse=True)
    assert_close(out, expected_out, q.dtype, "out")
    assert_close(lse, expected_lse, q.dtype, "lse")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("split", [100, 1, 0, 203])
def test_merging_two_halves_of_the_keys_is_the_whole(split, dtype):
    # Two flash kernels; what joins them is no fallback.
    q, k, v = draw(Shape(13, 203, 32, 40, b=2, hq=4, hkv=2), dtype)
    check_halves(MERGED, q, k, v, split, fail_on_fallback=True)


def test_merging_nothing_with_nothing():
    check_halves(MERGED, *draw(Shape(3, 0, 16, 8)), split=0)


@pytest.mark.parametrize("split", [20, 0])
def test_states_of_online_steps(split):
    check_halves(STEPS, *draw(Shape(7, 50, 16, 24, hq=2, hkv=2)), split=split)
