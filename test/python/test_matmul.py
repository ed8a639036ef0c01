"""Products around attention: contractions of matmul form in an IR file, against NumPy in f64."""

import ml_dtypes
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


def product(left: str, right: str, out: str, element: str, operation: str, *, factor: str | None = None) -> str:
    """A kernel `product` on %a and %b: `operation`, in which INS and OUT stand for its operands and its type.

    The operands are of type `factor` where that is another than the result's, `element`.
    """
    a, b = (f"tensor<{shape}x{factor or element}>" for shape in (left, right))
    c = f"tensor<{out}x{element}>"
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
    text = product(left, right, "50x37", "f64", operation, factor="f32")
    check(text, subscripts, *draw(shape(left), shape(right), dtype=np.float32), limit=1e-12)


@pytest.mark.parametrize("maps", ["rows", "transposed", "columns"])
@pytest.mark.parametrize("size", [*SIZES, (113, 58, 37), (40, 2, 3), (16, 2050, 64), (70, 513, 48)], ids=str)
def test_bf16_is_multiplied_exactly(size, maps):
    m, k, n = size
    left, right, left_map, right_map, subscripts = (x.format(m=m, k=k, n=n) for x in MAPS[maps])
    operation = f"linalg.matmul indexing_maps = [{affine(left_map, right_map)}] INS -> OUT"
    text = product(left, right, f"{m}x{n}", "f32", operation, factor="bf16")
    check(text, subscripts, *draw(shape(left), shape(right), dtype=ml_dtypes.bfloat16), limit=1e-5)


APPLY = """func.func @apply(%p: tensor<1x2x50xKxT>, %v: tensor<1x2xKx40xT>) -> tensor<1x2x50x40xT> {
  %empty = tensor.empty() : tensor<1x2x50x40xT>
  %out = attn.apply ins(%p, %v : tensor<1x2x50xKxT>, tensor<1x2xKx40xT>) outs(%empty : tensor<1x2x50x40xT>)
      -> tensor<1x2x50x40xT>
  return %out : tensor<1x2x50x40xT>
}
"""


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "host"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("keys", [64, 203, 2047])
def test_weights_of_zero_take_nothing_of_values(keys, dtype, target):
    p, v = draw((1, 2, 50, keys), (1, 2, keys, 40), dtype=dtype)
    # Keys that are not finite: beside one another as a pair, alone, the last one.
    for key, value in ((6, np.nan), (7, np.inf), (20, -np.inf), (keys - 1, np.nan)):
        v[:, 1, key] = value
        p[:, 1, :, key] = 0
    v[0, 1, 33, 5] = np.nan  # one column of a key that row 8 alone has a weight for
    p[0, 1, :, 33] = 0
    p[0, 1, 8, 33] = 1
    name = "f32" if dtype == np.float32 else "bf16"
    found = attn.compile(APPLY.replace("T", name).replace("K", str(keys)), target=target)(p, v)
    finite = np.where(np.isfinite(v.astype(np.float64)), v.astype(np.float64), 0)
    expected = p.astype(np.float64) @ finite
    bound = np.abs(p.astype(np.float64)) @ np.abs(finite)
    assert np.isnan(found[0, 1, 8, 5])
    expected[0, 1, 8, 5] = found[0, 1, 8, 5] = 0
    assert (np.abs(found - expected) <= (1e-5 if name == "f32" else 2.0**-8) * bound + 1e-30).all()


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
