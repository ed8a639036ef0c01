"""Several results of which one is the destination of another: each has its own values, in whatever order."""

import numpy as np
import pytest

import attn
from attn import reference
from helpers import Shape, draw

SHAPE = Shape(5, 5, 8, 8, b=1, hq=1, hkv=1)
T = "tensor<1x1x5x8xf32>"
# Each computes %first and then %second, whose destination is %first or a part of it.
PROGRAMS = {
    "sdpa": f"""
      %first = arith.negf %k : {T}
      %second = attn.sdpa ins(%q, %first, %first : {T}, {T}, {T}) outs(%first : {T}) -> {T}""",
    "insert_slice": f"""
      %e = tensor.empty() : {T}
      %first = attn.sdpa ins(%q, %k, %k : {T}, {T}, {T}) outs(%e : {T}) -> {T}
      %row = tensor.extract_slice %k[0, 0, 0, 0] [1, 1, 1, 8] [1, 1, 1, 1] : {T} to tensor<1x1x1x8xf32>
      %second = tensor.insert_slice %row into %first[0, 0, 2, 0] [1, 1, 1, 8] [1, 1, 1, 1]
          : tensor<1x1x1x8xf32> into {T}""",
    "linalg": f"""
      %e = tensor.empty() : {T}
      %first = attn.sdpa ins(%q, %k, %k : {T}, {T}, {T}) outs(%e : {T}) -> {T}
      %second = linalg.add ins(%first, %k : {T}, {T}) outs(%first : {T}) -> {T}""",
}


def expected(name, q, k):
    """The values of %first and %second."""
    if name == "sdpa":
        return -k, reference.sdpa(q, -k, -k)
    first = reference.sdpa(q, k, k)
    second = first + k
    if name == "insert_slice":
        second = first.copy()
        second[:, :, 2] = k[:, :, 0]
    return first, second


@pytest.mark.parametrize("order", ["first second", "second first", "second first second"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_in_each_other(name, order):
    q, k, _ = draw(SHAPE)
    names = order.split()
    types = ", ".join([T] * len(names))
    kernel = attn.compile(f"""func.func @f(%q: {T}, %k: {T}) -> ({types}) {{{PROGRAMS[name]}
      return {", ".join("%" + x for x in names)} : {types}
    }}""")
    values = dict(zip(("first", "second"), expected(name, q, k), strict=True))
    for x, found in zip(names, kernel(q, k), strict=True):
        np.testing.assert_allclose(found, values[x], rtol=0, atol=1e-5 * np.abs(values[x]).max())


M = "tensor<8x8xf32>"
# Two ops write one tensor.empty, or one linalg.fill of it: %first and %second of %q and %k.
SHARED = {
    "sdpa": f"""
      %e = tensor.empty() : {M}
      %first = attn.sdpa ins(%q, %k, %k : {M}, {M}, {M}) outs(%e : {M}) -> {M}
      %second = attn.sdpa ins(%k, %q, %q : {M}, {M}, {M}) outs(%e : {M}) -> {M}""",
    "scores": f"""
      %e = tensor.empty() : {M}
      %first = attn.scores ins(%q, %k : {M}, {M}) outs(%e : {M}) -> {M}
      %second = attn.scores ins(%k, %k : {M}, {M}) outs(%e : {M}) -> {M}""",
    "chain": f"""
      %e = tensor.empty() : {M}
      %first = attn.scores ins(%q, %k : {M}, {M}) outs(%e : {M}) -> {M}
      %p = attn.softmax ins(%first : {M}) outs(%e : {M}) -> {M}
      %second = attn.apply ins(%p, %k : {M}, {M}) outs(%e : {M}) -> {M}""",
    "fill": f"""
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {M}
      %z = linalg.fill ins(%zero : f32) outs(%e : {M}) -> {M}
      %first = linalg.matmul ins(%q, %k : {M}, {M}) outs(%z : {M}) -> {M}
      %second = linalg.matmul ins(%k, %k : {M}, {M}) outs(%z : {M}) -> {M}""",
    "fill that is read": f"""
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {M}
      %first = linalg.fill ins(%zero : f32) outs(%e : {M}) -> {M}
      %second = linalg.matmul ins(%k, %k : {M}, {M}) outs(%first : {M}) -> {M}""",
}


def values_of(name, q, k):
    """%first and %second of a program of SHARED, in float64."""
    sdpa = lambda q, k: reference.sdpa(*(x[None, None] for x in (q, k, k)), scale=1.0)[0, 0]  # noqa: E731
    return {
        "sdpa": lambda: (sdpa(q / 8**0.5, k), sdpa(k / 8**0.5, q)),
        "scores": lambda: (q @ k.T, k @ k.T),
        "chain": lambda: (q @ k.T, sdpa(q, k)),
        "fill": lambda: (q @ k, k @ k),
        "fill that is read": lambda: (0 * q, k @ k),
    }[name]()


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("order", ["first second", "second first"])
@pytest.mark.parametrize("name", SHARED)
def test_results_with_one_destination(name, order, reference):
    q, k = np.random.default_rng(0).standard_normal((2, 8, 8))
    names = order.split()
    # An sdpa, so that there is attention to compile.
    more = f"%x = tensor.empty() : {M} %o = attn.sdpa ins(%q, %k, %k : {M}, {M}, {M}) outs(%x : {M}) -> {M}"
    text = f"""func.func @f(%q: {M}, %k: {M}) -> ({M}, {M}, {M}) {{{SHARED[name]}
      {more}
      return %{names[0]}, %{names[1]}, %o : {M}, {M}, {M}
    }}"""
    found = attn.compile(text, reference=reference)(q.astype("f4"), k.astype("f4"))
    values = dict(zip(("first", "second"), values_of(name, q, k), strict=True))
    for x, result in zip(names, found[:2], strict=True):
        np.testing.assert_allclose(result, values[x], rtol=0, atol=1e-5 * np.abs(values["second"]).max())


def test_a_result_that_folds_to_an_argument_is_refused():
    with pytest.raises(attn.CompileError, match=r"expected a kernel to compute what it returns, found argument 0, 'q'"):
        attn.compile(f"""func.func @f(%q: {T} {{attn.name = "q"}}) -> ({T}, {T}) {{
          %e = tensor.empty() : {T}
          %o = attn.sdpa ins(%q, %q, %q : {T}, {T}, {T}) outs(%e : {T}) -> {T}
          %m = arith.negf %q : {T}
          %n = arith.negf %m : {T}
          return %o, %n : {T}, {T}
        }}""")
