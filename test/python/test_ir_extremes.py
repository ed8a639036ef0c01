"""Kernels of IR files at the ends of what their operands may be, against NumPy in float64."""

import numpy as np
import pytest

import attn
from helpers import BF16, in_child

LARGEST = 2**63 - 1
KEYS = 37
ROWS = [1, 33]  # of a decode and of a prefill kernel


def source(rows: int, *, kind="f32", arguments="", lines="", clauses="", attributes="", region=""):
    """An IR file of one attn.sdpa of two heads."""
    q, k = f"tensor<2x{rows}x16x{kind}>", f"tensor<2x{KEYS}x16x{kind}>"
    return f"""func.func @f(%q: {q}, %k: {k}, %v: {k}{arguments}) -> {q} {{
  {lines}
  %e = tensor.empty() : {q}
  %r = attn.sdpa ins(%q, %k, %v : {q}, {k}, {k}) {clauses} outs(%e : {q}) {{{attributes}}} {region} -> {q}
  return %r : {q}
}}
"""


def draw(rows: int, dtype=np.float32):
    rng = np.random.default_rng(3)
    return [rng.standard_normal((2, n, 16)).astype(dtype) for n in (rows, KEYS, KEYS)]


def expected(q, k, v, kept=True, score=lambda s: s):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = np.where(kept, score(q @ k.swapaxes(1, 2) / 4), -np.inf)
    largest = s.max(axis=-1, keepdims=True)
    p = np.exp(s - np.where(largest == -np.inf, 0, largest))
    total = p.sum(axis=-1, keepdims=True)
    return p / np.where(total == 0, 1, total) @ v


MASKS = {
    "causal = #attn.causal<offset>": lambda i, j: j <= i,
    "window = #attn.window<left = 3>, align = #attn.causal<offset>": lambda i, j: i - 3 <= j,
    "window = #attn.window<right = 3>, align = #attn.causal<offset>": lambda i, j: j <= i + 3,
    "chunk = 5 : i64, align = #attn.causal<offset>": lambda i, j: i // 5 == j // 5,
    "window = #attn.window<left = 1099511627776>, align = #attn.causal<offset>": lambda i, j: i - 2**40 <= j,
    "window = #attn.window<left = 2147483648, right = 2147483649>, align = #attn.causal<offset>": (
        lambda i, j: (i - 2**31 <= j) & (j <= i + 2**31 + 1)
    ),
    "chunk = 1099511627776 : i64, align = #attn.causal<offset>": lambda i, j: i // 2**40 == j // 2**40,
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("attributes", MASKS)
@pytest.mark.parametrize("kind", ["i64", "i32"])
@pytest.mark.parametrize("reference", [False, True])
def test_any_offset_places_the_diagonal(rows, attributes, reference, kind):
    """The largest number of i64 is no bound: positions and windows that are added to it do not wrap."""
    clauses = f"causal_offset(%o : tensor<2x{kind}>)"
    text = source(rows, arguments=f", %o: tensor<2x{kind}>", clauses=clauses, attributes=attributes)
    kernel, (q, k, v) = attn.compile(text, reference=reference), draw(rows)
    wide = [[LARGEST, -LARGEST - 1], [LARGEST - 1, -(2**62)], [2**62, 5], [-LARGEST, -LARGEST + 3]]
    for offsets in wide if kind == "i64" else [[2**31 - 1, -(2**31)], [5, -3]]:
        places = np.array(offsets, dtype=object).reshape(2, 1, 1)
        i, j = np.arange(rows).reshape(1, -1, 1).astype(object), np.arange(KEYS).astype(object)
        kept = MASKS[attributes](i + places, j).astype(bool)
        found = kernel(q, k, v, np.array(offsets, np.int64 if kind == "i64" else np.int32))
        np.testing.assert_allclose(found, expected(q, k, v, kept), rtol=0, atol=1e-5)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("cap", [1.2e-38, 1e-30])
def test_small_caps(rows, cap):
    """From the smallest normal number on, whose inverse is finite; C6 refuses smaller ones."""
    q, k, v = draw(rows)
    q[0, 0] = 0  # 0 times infinity would be no number
    text = source(rows, attributes=f"softcap = {cap:.1e} : f64")
    found = attn.compile(text)(q, k, v)
    np.testing.assert_allclose(found, expected(q, k, v, score=lambda s: cap * np.tanh(s / cap)), rtol=0, atol=1e-5)


DIVIDES = """mask_mod {{
  %i = attn.index {position} : index
  %divisor = arith.subi %n, %i : index
  %one = arith.constant 1 : index
  %x = arith.{op} %dividend, %divisor : index
  %odd = arith.andi %x, %one : index
  %kept = arith.cmpi eq, %odd, %one : index
  attn.yield %kept : i1
}}"""
NUMBERS = """%c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n64 = tensor.extract %numbers[%c0] : tensor<2xi64>
  %dividend64 = tensor.extract %numbers[%c1] : tensor<2xi64>
  %n = arith.index_cast %n64 : i64 to index
  %dividend = arith.index_cast %dividend64 : i64 to index"""


def check_division(op: str, position: str) -> None:
    rows = ROWS[position == "query"]
    region = DIVIDES.format(op=op, position=position)
    kernel = attn.compile(source(rows, arguments=", %numbers: tensor<2xi64>", region=region, lines=NUMBERS))
    q, k, v = draw(rows)
    size, place = (rows, np.arange(rows).reshape(-1, 1)) if position == "query" else (KEYS, np.arange(KEYS))
    x = 77 // (size - place) if op == "floordivsi" else 77 % (size - place)
    found = kernel(q, k, v, np.array([size, 77]))
    np.testing.assert_allclose(found, expected(q, k, v, x % 2 == 1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("position", ["query", "key"])
@pytest.mark.parametrize("op", ["floordivsi", "remsi"])
def test_no_division_by_what_no_position_has(op, position):
    """`77 // (n - i)` has lanes of i beyond the last row, of which the first one would end the process."""
    in_child(f"import test_ir_extremes\ntest_ir_extremes.check_division({op!r}, {position!r})")


@pytest.mark.parametrize("rows", ROWS)
def test_f64_is_narrowed_to_bf16(rows):
    region = """score_mod {
^bb0(%s: f64):
  %narrow = arith.truncf %s : f64 to bf16
  %wide = arith.extf %narrow : bf16 to f64
  attn.yield %wide : f64
}"""
    q, k, v = draw(rows, np.float64)
    found = attn.compile(source(rows, kind="f64", region=region))(q, k, v)
    wanted = expected(q, k, v, score=lambda s: s.astype(BF16).astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
