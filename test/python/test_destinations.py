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


def test_a_result_that_folds_to_an_argument_is_refused():
    with pytest.raises(attn.CompileError, match=r"expected a kernel to compute what it returns, found argument 0, 'q'"):
        attn.compile(f"""func.func @f(%q: {T} {{attn.name = "q"}}) -> ({T}, {T}) {{
          %e = tensor.empty() : {T}
          %o = attn.sdpa ins(%q, %q, %q : {T}, {T}, {T}) outs(%e : {T}) -> {T}
          %m = arith.negf %q : {T}
          %n = arith.negf %m : {T}
          return %o, %n : {T}, {T}
        }}""")
