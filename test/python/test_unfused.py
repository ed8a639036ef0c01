"""Chains that are not fused: what users write between the steps, against the same formula in NumPy in f64."""

import math
import time

import ml_dtypes
import numpy as np
import pytest

import attn

ROWS, KEYS, HEAD_SIZE = 384, 256, 16
Q, K, V, A, B = "384x16", "256x16", "256x40", "384x256", "384x384"


def tensor(shape: str, element: str = "f32") -> str:
    return f"tensor<{shape}x{element}>"


def function(body: str, results: dict[str, str], element: str = "f32", keys: str = K) -> str:
    """A kernel of q, k, v and a, with one destination %e for all matrices of scores."""
    arguments = {"q": Q, "k": keys, "v": V, "a": A}
    scores = B if keys == Q else A
    signature = ", ".join(
        f'%{name}: {tensor(shape, element)} {{attn.name = "{name}"}}' for name, shape in arguments.items()
    )
    types = ", ".join(tensor(shape, element) for shape in results.values())
    s = tensor(scores, element)
    return f"""func.func @f({signature}) -> ({types}) {{
  %e = tensor.empty() : {s}
  %s = attn.scores ins(%q, %k : {tensor(Q, element)}, {tensor(keys, element)}) outs(%e : {s}) -> {s}
{body.replace("SCORES", s)}
  return {", ".join(f"%{name}" for name in results)} : {types}
}}
"""


def draw(keys: int = KEYS, dtype=np.float32):
    rng = np.random.default_rng(3)
    shapes = (ROWS, HEAD_SIZE), (keys, HEAD_SIZE), (KEYS, 40), (ROWS, KEYS)
    return [(rng.standard_normal(shape) / 2).astype(dtype) for shape in shapes]


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


SOFTMAX = "%{out} = attn.softmax ins(%{x} : SCORES) outs(%{e} : SCORES) -> SCORES\n"
WEIGHTS = SOFTMAX.format(out="p", x="s", e="e")
MODIFY = """  %r = attn.modify ins(%p : SCORES) outs(%e : SCORES) score_mod {
  ^bb0(%x: f32):
    %i = attn.index query : index
    %j = attn.index key : index
    %w = tensor.extract %s[%i, %j] : SCORES
    %y = arith.mulf %x, %w : f32
    attn.yield %y : f32
  } -> SCORES"""
TRANSPOSED = """  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p, %p : SCORES, SCORES) outs(%e : SCORES) {
  ^bb0(%a0: f32, %b0: f32, %o: f32):
    %y = arith.addf %a0, %b0 : f32
    linalg.yield %y : f32
  } -> SCORES
  %r = attn.scale ins(%t : SCORES) outs(%e : SCORES) {scale = 0.5 : f64} -> SCORES"""
DIFFERENTIAL = f"""  %s2 = attn.scale ins(%s : SCORES) outs(%s : SCORES) {{scale = 0.25 : f64}} -> SCORES
  {SOFTMAX.format(out="p1", x="s", e="e")}  {SOFTMAX.format(out="p2", x="s2", e="s2")}
  %d = arith.subf %p1, %p2 : SCORES
  %eo = tensor.empty() : tensor<384x40xf32>
  %r = attn.apply ins(%d, %v : SCORES, tensor<256x40xf32>) outs(%eo : tensor<384x40xf32>) -> tensor<384x40xf32>"""

# Each: the steps after %s, the shape of what is returned, and the formula of scores, v and a.
CASES = {
    "a sum in tensors": (
        "%t = arith.addf %s, %a : SCORES\n" + SOFTMAX.format(out="r", x="t", e="e"),
        A,
        lambda s, v, a: softmax(s + a),
    ),
    "each step in the place of the last": (
        "%t = attn.scale ins(%s : SCORES) outs(%s : SCORES) {scale = 0.5 : f64} -> SCORES\n"
        + SOFTMAX.format(out="r", x="t", e="t"),
        A,
        lambda s, v, a: softmax(s / 2),
    ),
    "scores captured by a region": (WEIGHTS + MODIFY, A, lambda s, v, a: softmax(s) * s),
    "the difference of two softmaxes": (
        DIFFERENTIAL,
        "384x40",
        lambda s, v, a: (softmax(s) - softmax(s / 4)) @ v,
    ),
    "a function of two uses": (
        "%t = math.tanh %s : SCORES\n%u = arith.mulf %t, %s : SCORES\n" + SOFTMAX.format(out="r", x="u", e="e"),
        A,
        lambda s, v, a: softmax(np.tanh(s) * s),
    ),
    "functions of the C library": (
        "%t = math.erfc %s : SCORES\n%u = math.asinh %t : SCORES\n%c = math.cbrt %u : SCORES\n"
        + SOFTMAX.format(out="r", x="c", e="e"),
        A,
        lambda s, v, a: softmax(np.cbrt(np.arcsinh(np.vectorize(math.erfc)(s)))),
    ),
    "a whole power": (
        "%n = arith.constant dense<3> : tensor<384x256xi32>\n%t = math.fpowi %s, %n : SCORES, tensor<384x256xi32>\n"
        + SOFTMAX.format(out="r", x="t", e="e"),
        A,
        lambda s, v, a: softmax(s**3),
    ),
    "upstream's softmax": (
        "%r = linalg.softmax dimension(1) ins(%s : SCORES) outs(%e : SCORES) -> SCORES",
        A,
        lambda s, v, a: softmax(s),
    ),
}


@pytest.mark.parametrize("reference", [False, True], ids=["compiled", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_steps_of_users(name, reference):
    body, shape, formula = CASES[name]
    q, k, v, a = draw()
    found = attn.compile(function(body, {"r": shape}), reference=reference)(q, k, v, a)
    q, k, v, a = (x.astype(np.float64) for x in (q, k, v, a))
    np.testing.assert_allclose(found, formula(q @ k.T, v, a), atol=2e-5)


def test_weights_and_their_transpose():
    q, k, v, a = draw(ROWS)
    found = attn.compile(function(WEIGHTS + TRANSPOSED, {"r": B}, keys=Q))(q, k, v, a)
    weights = softmax(q.astype(np.float64) @ k.T.astype(np.float64))
    np.testing.assert_allclose(found, (weights + weights.T) / 2, atol=1e-5)


@pytest.mark.parametrize("reference", [False, True], ids=["compiled", "reference"])
@pytest.mark.parametrize("destination", ["e", "s", "t"])
def test_returned_steps_have_places_of_their_own(destination, reference):
    """Whatever their destinations say: one empty tensor for all, or a step that is returned as well."""
    body = "%t = attn.scale ins(%s : SCORES) outs(%e : SCORES) {scale = 0.5 : f64} -> SCORES\n"
    body += SOFTMAX.format(out="p", x="t", e=destination)
    q, k, v, a = draw()
    p, s, t = attn.compile(function(body, {"p": A, "s": A, "t": A}), reference=reference)(q, k, v, a)
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    for found, expected in ((p, softmax(scores / 2)), (s, scores), (t, scores / 2)):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_steps_that_are_used_twice_are_computed_once():
    body = "".join(f"%x{i + 1} = arith.addf %x{i}, %x{i} : SCORES\n" for i in range(20)).replace("%x0", "%s")
    body += "%t = attn.scale ins(%x20 : SCORES) outs(%e : SCORES) {scale = 9.5367431640625e-07 : f64} -> SCORES\n"
    text = function(body + SOFTMAX.format(out="r", x="t", e="e"), {"r": A})
    start = time.process_time()
    kernel = attn.compile(text)
    assert time.process_time() - start < 20, "else there are a million of them"
    q, k, v, a = draw()
    expected = softmax(q.astype(np.float64) @ k.T.astype(np.float64))
    np.testing.assert_allclose(kernel(q, k, v, a), expected, atol=1e-5)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "host"])
def test_arithmetic_in_bf16_needs_no_library(target):
    """Each step rounds, as the type says; conversions are calls on targets without them, which no kernel may need."""
    text = function("%t = arith.addf %s, %a : SCORES\n%r = math.exp %t : SCORES", {"r": A}, element="bf16")
    q, k, v, a = draw(dtype=ml_dtypes.bfloat16)
    found = attn.compile(text, target=target)(q, k, v, a).astype(np.float64)
    expected = np.exp(q.astype(np.float64) @ k.T.astype(np.float64) + a.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=5e-2)


PAGED = """func.func @f(%q: tensor<2x4x113x16xf32>, %c: tensor<26x16x2x16xf32>, %cv: tensor<26x16x2x40xf32>,
    %t: tensor<2x13xi32>, %n: tensor<2xi32>) -> (tensor<2x4x113x40xf32>, tensor<2x4x113x203xf32>) {
  %es = tensor.empty() : tensor<2x4x113x203xf32>
  %eo = tensor.empty() : tensor<2x4x113x40xf32>
  %ek = tensor.empty() : tensor<2x2x203x16xf32>
  %ev = tensor.empty() : tensor<2x2x203x40xf32>
  %k = attn.gather_pages ins(%c, %t : tensor<26x16x2x16xf32>, tensor<2x13xi32>) lengths(%n : tensor<2xi32>)
      outs(%ek : tensor<2x2x203x16xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x203x16xf32>
  %v = attn.gather_pages ins(%cv, %t : tensor<26x16x2x40xf32>, tensor<2x13xi32>) lengths(%n : tensor<2xi32>)
      outs(%ev : tensor<2x2x203x40xf32>) {page_layout = #attn.page_layout<nhd>} -> tensor<2x2x203x40xf32>
  %s = attn.scores ins(%q, %k : tensor<2x4x113x16xf32>, tensor<2x2x203x16xf32>)
      outs(%es : tensor<2x4x113x203xf32>) -> tensor<2x4x113x203xf32>
  %m = attn.mask ins(%s : tensor<2x4x113x203xf32>) kv_lengths(%n : tensor<2xi32>)
      outs(%es : tensor<2x4x113x203xf32>) -> tensor<2x4x113x203xf32>
  %p = attn.softmax ins(%m : tensor<2x4x113x203xf32>) outs(%es : tensor<2x4x113x203xf32>) -> tensor<2x4x113x203xf32>
  %o = attn.apply ins(%p, %v : tensor<2x4x113x203xf32>, tensor<2x2x203x40xf32>)
      outs(%eo : tensor<2x4x113x40xf32>) -> tensor<2x4x113x40xf32>
  SDPA
}
"""
FUSED = """%o2 = attn.sdpa ins(%q, %k, %v : tensor<2x4x113x16xf32>, tensor<2x2x203x16xf32>, tensor<2x2x203x40xf32>)
      kv_lengths(%n : tensor<2xi32>) outs(%eo : tensor<2x4x113x40xf32>) {scale = 1.0 : f64} -> tensor<2x4x113x40xf32>
  """


@pytest.mark.parametrize("fused", [False, True], ids=["chain", "chain and sdpa"])
def test_pages(fused):
    results = "tensor<2x4x113x40xf32>, tensor<2x4x113x203xf32>"
    text = PAGED.replace("SDPA", f"return %o, %p : {results}")
    if fused:
        text = PAGED.replace("SDPA", f"{FUSED}return %o, %p, %o2 : {results}, tensor<2x4x113x40xf32>")
        text = text.replace(f"({results})", f"({results}, tensor<2x4x113x40xf32>)")
    rng = np.random.default_rng(0)
    q, keys, values = (
        rng.standard_normal(x, dtype=np.float32) for x in ((2, 4, 113, 16), (26, 16, 2, 16), (26, 16, 2, 40))
    )
    table, lengths = rng.permutation(26).reshape(2, 13).astype(np.int32), np.array([203, 70], np.int32)
    found = attn.compile(text)(q, keys, values, table, lengths)
    for b, length in enumerate(lengths):
        k, v = (np.repeat(x[table[b]].reshape(208, 2, -1)[:length].swapaxes(0, 1), 2, axis=0) for x in (keys, values))
        weights = softmax(q[b].astype(np.float64) @ k.swapaxes(1, 2))
        np.testing.assert_allclose(found[1][b, :, :, :length], weights, atol=1e-5)
        assert not np.asarray(found[1])[b, :, :, length:].any()
        for out in (found[0], *found[2:]):
            np.testing.assert_allclose(out[b], weights @ v, atol=1e-5)


def test_one_head_of_keys_for_any_number_of_queries():
    s, o = tensor("2x?x113x203"), tensor("2x?x113x40")
    text = f"""func.func @f(%q: tensor<2x?x113x16xf32>, %k: tensor<2x1x203x16xf32>, %v: tensor<2x1x203x40xf32>)
    -> ({o}, {s}, {o}) {{
  %c1 = arith.constant 1 : index
  %h = tensor.dim %q, %c1 : tensor<2x?x113x16xf32>
  %es = tensor.empty(%h) : {s}
  %eo = tensor.empty(%h) : {o}
  %s = attn.scores ins(%q, %k : tensor<2x?x113x16xf32>, tensor<2x1x203x16xf32>) outs(%es : {s}) -> {s}
  %p = attn.softmax ins(%s : {s}) outs(%es : {s}) -> {s}
  %o = attn.apply ins(%p, %v : {s}, tensor<2x1x203x40xf32>) outs(%eo : {o}) -> {o}
  %o2 = attn.sdpa ins(%q, %k, %v : tensor<2x?x113x16xf32>, tensor<2x1x203x16xf32>, tensor<2x1x203x40xf32>)
      outs(%eo : {o}) {{scale = 1.0 : f64}} -> {o}
  return %o, %p, %o2 : {o}, {s}, {o}
}}
"""
    kernel = attn.compile(text)
    rng = np.random.default_rng(0)
    for heads in (1, 3, 8):
        shapes = (2, heads, 113, 16), (2, 1, 203, 16), (2, 1, 203, 40)
        q, k, v = (rng.standard_normal(x, dtype=np.float32) for x in shapes)
        out, weights, fused = kernel(q, k, v)
        expected = softmax(q.astype(np.float64) @ k.swapaxes(2, 3))
        np.testing.assert_allclose(weights, expected, atol=1e-5)
        for each in (out, fused):
            np.testing.assert_allclose(each, expected @ v, atol=1e-5)


def test_values_without_columns():
    s, o = tensor("2x4x113x203"), tensor("2x4x113x0")
    text = f"""func.func @f(%q: tensor<2x4x113x59xf32>, %k: tensor<2x2x203x59xf32>, %v: tensor<2x2x203x0xf32>)
    -> ({o}, {s}) {{
  %es = tensor.empty() : {s}
  %eo = tensor.empty() : {o}
  %s = attn.scores ins(%q, %k : tensor<2x4x113x59xf32>, tensor<2x2x203x59xf32>) outs(%es : {s}) -> {s}
  %p = attn.softmax ins(%s : {s}) outs(%es : {s}) -> {s}
  %o = attn.apply ins(%p, %v : {s}, tensor<2x2x203x0xf32>) outs(%eo : {o}) -> {o}
  return %o, %p : {o}, {s}
}}
"""
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal(x, dtype=np.float32) for x in ((2, 4, 113, 59), (2, 2, 203, 59)))
    out, weights = attn.compile(text)(q, k, np.zeros((2, 2, 203, 0), np.float32))
    assert out.shape == (2, 4, 113, 0)
    np.testing.assert_allclose(weights, softmax(q @ np.repeat(k, 2, axis=1).swapaxes(2, 3)), atol=1e-5)
