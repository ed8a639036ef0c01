"""Products around attention: contractions of matmul form in an IR file, against NumPy in f64."""

import numpy as np
import pytest

import attn
from helpers import DTYPES, TOLERANCE

ELEMENTS = {np.float32: "f32", np.float64: "f64"}

# Rows, depth, columns: odd ones, one row, one column, several panels and blocks of each, no depth at all.
SIZES = [
    (113, 59, 37),
    (1, 64, 64),
    (1, 100, 300),
    (5, 7, 1),
    (17, 1, 5),
    (3, 300, 70),
    (200, 1030, 97),
    (129, 64, 128),
    (3, 0, 4),
]

MAPS = {
    "rows": ("{m}x{k}", "{k}x{n}", "(m, k)", "(k, n)", "mk,kn->mn"),
    "transposed": ("{m}x{k}", "{n}x{k}", "(m, k)", "(n, k)", "mk,nk->mn"),
    "columns": ("{k}x{m}", "{k}x{n}", "(k, m)", "(k, n)", "km,kn->mn"),
    "swapped": ("{k}x{n}", "{m}x{k}", "(k, n)", "(m, k)", "kn,mk->mn"),
}


def product(left: str, right: str, out: str, element: str, operation: str) -> str:
    """A kernel `product` on %a and %b: `operation`, in which INS and OUT stand for its operands and its type."""
    a, b, c = (f"tensor<{shape}x{element}>" for shape in (left, right, out))
    return f"""func.func @product(%a: {a} {{attn.name = "a"}}, %b: {b} {{attn.name = "b"}}) -> {c} {{
  %cst = arith.constant 0.0 : {element}
  %empty = tensor.empty() : {c}
  %zero = linalg.fill ins(%cst : {element}) outs(%empty : {c}) -> {c}
  %out = {operation.replace("INS", f"ins(%a, %b : {a}, {b}) outs(%zero : {c})").replace("OUT", c)}
  return %out : {c}
}}
"""


def check(text: str, subscripts: str, a, b, *, limit: float | None = None, **options):
    expected = np.einsum(subscripts, a.astype(np.float64), b.astype(np.float64))
    found = attn.compile(text, **options)(a, b)
    limit = TOLERANCE[a.dtype] if limit is None else limit
    assert np.abs(found - expected).max() <= limit * np.abs(expected).max(initial=0)


def draw(*shapes, dtype):
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def affine(left_map: str, right_map: str) -> str:
    return ", ".join(f"affine_map<(m, n, k) -> {x}>" for x in (left_map, right_map, "(m, n)"))


def shape(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("maps", MAPS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_size_and_order_of_the_operands(size, maps, dtype):
    m, k, n = size
    left, right, left_map, right_map, subscripts = (x.format(m=m, k=k, n=n) for x in MAPS[maps])
    element = ELEMENTS[dtype]
    operation = f"""linalg.generic {{
      indexing_maps = [{affine(left_map, right_map)}], iterator_types = ["parallel", "parallel", "reduction"]}} INS {{
      ^bb0(%x: {element}, %y: {element}, %z: {element}):
        %p = arith.mulf %x, %y : {element}
        %s = arith.addf %z, %p : {element}
        linalg.yield %s : {element}
    }} -> OUT"""
    text = product(left, right, f"{m}x{n}", element, operation)
    check(text, subscripts, *draw(shape(left), shape(right), dtype=dtype))


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "host"])
def test_every_width_of_vectors(target):
    text = product("113x59", "59x37", "113x37", "f32", "linalg.matmul INS -> OUT")
    check(text, "mk,kn->mn", *draw((113, 59), (59, 37), dtype=np.float32), target=target)


@pytest.mark.parametrize("parallel", ["openmp", "none"])
def test_a_batch_that_threads_share(parallel):
    text = product("3x150x64", "3x64x80", "3x150x80", "f32", "linalg.batch_matmul INS -> OUT")
    check(text, "bmk,bkn->bmn", *draw((3, 150, 64), (3, 64, 80), dtype=np.float32), parallel=parallel)


@pytest.mark.parametrize("maps", ["rows", "transposed"])
def test_factors_narrower_than_the_sum(maps):
    left, right, left_map, right_map, subscripts = (x.format(m=50, k=59, n=37) for x in MAPS[maps])
    operation = f"linalg.matmul indexing_maps = [{affine(left_map, right_map)}] INS -> OUT"
    text = product(left, right, "50x37", "f64", operation)
    a, b = draw(shape(left), shape(right), dtype=np.float32)
    narrow = text.replace(f"{left}xf64", f"{left}xf32").replace(f"{right}xf64", f"{right}xf32")
    check(narrow, subscripts, a, b, limit=1e-12)


DYNAMIC = """func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %out = linalg.matmul indexing_maps = [MAPS]
      ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %out : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("maps", ["rows", "transposed"])
def test_sizes_that_only_the_call_knows(maps):
    kernel = attn.compile(DYNAMIC.replace("MAPS", affine(*MAPS[maps][2:4])))
    for m, k, n in SIZES:
        left, right, _, _, subscripts = (x.format(m=m, k=k, n=n) for x in MAPS[maps])
        a, b, start = draw(shape(left), shape(right), (m, n), dtype=np.float32)
        expected = start + np.einsum(subscripts, a.astype(np.float64), b.astype(np.float64))
        found = start.copy()
        kernel(a, b, out=found)
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
