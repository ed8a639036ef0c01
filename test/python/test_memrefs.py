"""Attention on memrefs, as bufferised programs have it, against NumPy."""

import numpy as np
import pytest

import attn

ALIASES = """!d = memref<2x32x64xf32>
!s = memref<2x32x32xf32>
!b = memref<2x32x128xf32>
!half = memref<2x32x64xf32, strided<[4096, 128, 1], offset: 64>>
!even = memref<2x32x64xf32, strided<[4096, 128, 2]>>
!one = memref<1x32x64xf32, strided<[2048, 64, 1], offset: ?>>
"""


def attend(q, k, v, scale=1 / 8):
    """The formula in f64; the weights too."""
    s = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) * scale
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return p @ v, p


def run(arguments: str, body: str, *arrays, **out):
    """Compiles a function of one block and calls it through its checked entry; the arrays are written in place."""
    kernel = attn.compile(f"{ALIASES}func.func @f({arguments}) {{\n{body}\n  return\n}}")
    return kernel(*arrays, **out)


@pytest.fixture
def qkv():
    return np.random.default_rng(12).standard_normal((3, 2, 32, 64), np.float32)


def check(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-6)


def test_arguments_stay_where_they_are(qkv):
    out = np.full((2, 32, 64), np.nan, np.float32)
    body = "attn.sdpa ins(%q, %k, %v : !d, !d, !d) outs(%o : !d)"
    assert run("%q: !d, %k: !d, %v: !d, %o: !d", body, *qkv, out=out) is out
    check(out, attend(*qkv)[0])


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_an_input_that_is_overwritten(qkv, name):
    """What an op reads is what the memref held before; K of one tile is not yet that of another."""
    q, k, v = (x.copy() for x in qkv)
    given = {"q": q, "k": k, "v": v}
    out = given.pop(name)
    run(
        "%q: !d, %k: !d, %v: !d", f"attn.sdpa ins(%q, %k, %v : !d, !d, !d) outs(%{name} : !d)", *given.values(), out=out
    )
    check(out, attend(*qkv)[0])


CHAIN = """
  attn.scores ins(%q, %k : !d, !d) outs(%s : !s)
  attn.scale ins(%s : !s) outs(%s : !s) {scale = 0.125 : f64}
  BETWEEN
  attn.softmax ins(%s : !s) outs(%s : !s)
  attn.apply ins(%s, %v : !s, !d) outs(%o : !d)"""
ALLOCATED = "%s = memref.alloc() : !s" + CHAIN + "\n  memref.dealloc %s : !s"


def test_a_chain_in_place_is_fused(qkv):
    body = ALLOCATED.replace("BETWEEN", "")
    check(run("%q: !d, %k: !d, %v: !d, %o: !d", body, *qkv), attend(*qkv)[0])
    attn.compile(
        f"{ALIASES}func.func @f(%q: !d, %k: !d, %v: !d, %o: !d) {{\n{body}\n  return\n}}", fail_on_fallback=True
    )


def test_a_chain_in_an_argument(qkv):
    out, weights = run("%q: !d, %k: !d, %v: !d, %o: !d, %s: !s", CHAIN.replace("BETWEEN", ""), *qkv)
    for found, wanted in zip((out, weights), attend(*qkv), strict=True):
        check(found, wanted)


@pytest.mark.parametrize("name", ["q", "k", "s"])
def test_a_write_between_the_steps(qkv, name):
    """The scores are those of Q and K as they were; a step of the chain does not move over the write."""
    q, k, v = qkv
    if name == "s":
        write = "linalg.fill ins(%c : f32) outs(%s : !s)"
        body = ALLOCATED.replace("BETWEEN", write)
        out = run("%q: !d, %k: !d, %v: !d, %c: f32, %o: !d", body, q, k, v, 2.5)
        return check(out, np.broadcast_to(v.mean(axis=1, keepdims=True), v.shape))
    write = f"attn.sdpa ins(%v, %v, %v : !d, !d, !d) outs(%{name} : !d)"
    outs = (np.array(k if name == "k" else q), np.empty_like(v))
    given = (q, v) if name == "k" else (k, v)
    run("%q: !d, %k: !d, %v: !d, %o: !d", ALLOCATED.replace("BETWEEN", write), *given, out=outs)
    check(outs[0], attend(v, v, v)[0])
    check(outs[1], attend(q, k, v)[0])


@pytest.mark.parametrize(("type_", "offset", "step"), [("!half", 64, 1), ("!even", 0, 2)])
def test_views(type_, offset, step):
    """Columns that lie together and columns that do not; what of the destination is no part of the view stays."""
    q, k, v = np.random.default_rng(13).standard_normal((3, 2, 32, 128), np.float32)
    out = np.full((2, 32, 128), 7, np.float32)
    views = "\n".join(
        f"  %{x}s = memref.subview %{x}[0, 0, {offset}] [2, 32, 64] [1, 1, {step}] : !b to {type_}" for x in "qkvo"
    )
    t = type_
    body = f"{views}\n  attn.sdpa ins(%qs, %ks, %vs : {t}, {t}, {t}) outs(%os : {t})"
    run("%q: !b, %k: !b, %v: !b, %o: !b", body, q, k, v, out=out)
    part = np.s_[:, :, offset : offset + 64 * step : step]
    check(out[part], attend(q[part], k[part], v[part])[0])
    out[part] = 7
    assert (out == 7).all()


def test_a_loop_over_views(qkv):
    views = "\n".join(f"    %{x}s = memref.subview %{x}[%i, 0, 0] [1, 32, 64] [1, 1, 1] : !d to !one" for x in "qkvo")
    body = f"""  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {{
{views}
    attn.sdpa ins(%qs, %ks, %vs : !one, !one, !one) outs(%os : !one)
  }}"""
    out = np.zeros((2, 32, 64), np.float32)
    run("%q: !d, %k: !d, %v: !d, %o: !d", body, *qkv, out=out)
    check(out, attend(*qkv)[0])


def test_captures_and_dynamic_sizes(qkv):
    q, k, v = qkv
    region = """score_mod {
  ^bb0(%x: f32):
    %h = attn.index head : index
    %y = memref.load %slope[%h] : memref<2xf32>
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }"""
    t = "memref<2x?x64xf32>"
    body = f"attn.sdpa ins(%q, %k, %v : !d, {t}, {t}) outs(%o : !d) {region}"
    slope = np.array([0.5, 3], np.float32)
    found = run(f"%q: !d, %k: {t}, %v: {t}, %slope: memref<2xf32>, %o: !d", body, q, k[:, :21], v[:, :21], slope)
    check(found, attend(q * slope[:, None, None], k[:, :21], v[:, :21])[0])


def test_lengths_are_checked(qkv):
    body = "attn.sdpa ins(%q, %k, %v : !d, !d, !d) kv_lengths(%n : memref<2xi32>) outs(%o : !d)"
    arguments = "%q: !d, %k: !d, %v: !d, %n: memref<2xi32>, %o: !d"
    q, k, v = qkv
    found = run(arguments, body, q, k, v, np.array([32, 5], np.int32))
    check(found[1], attend(q[1], k[1, :5], v[1, :5])[0])
    with pytest.raises(ValueError, match="kv_lengths"):
        run(arguments, body, q, k, v, np.array([33, 5], np.int32))
