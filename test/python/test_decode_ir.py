"""Decode kernels of IR files: operands that no problem line has, against NumPy."""

import numpy as np
import pytest

import attn
from helpers import TYPES

# Queries (B, H, 1, D), or (H, 1, D), of 64 columns; K and V of 300 keys under the maps of a case.
DIMS = {"b": 3, "h": 8, "k": 300, "d": 64, "v": 64}


def letters(expr: str) -> list[str]:
    """The dimensions of an operand, "b h/2 k d", each with its group."""
    return [x.partition("/")[0] for x in expr.split()]


def shape(expr: str) -> list[int]:
    """Its sizes."""
    return [DIMS[x] // int(group or 1) for x, _, group in (word.partition("/") for word in expr.split())]


def affine(expr: str, domain: str) -> str:
    """Its map."""
    return f"affine_map<({domain}) -> ({', '.join(x.replace('/', ' floordiv ') for x in expr.split())})>"


def source(batch: str, k: str, v: str, extra: str = "", region: str = "") -> str:
    """An IR file of one attn.sdpa; `n` are the lengths of the sequences."""
    domain, sizes = f"{batch}, q, k, d, v", {name: shape(name) for name in batch.split(", ")}
    q = "x".join(str(x) for size in sizes.values() for x in size) + "x1x64xf32"
    types = f"tensor<{q}>", *(f"tensor<{'x'.join(map(str, shape(x)))}xf32>" for x in (k, v))
    query, out = (affine(f"{batch.replace(',', '')} q {x}", domain) for x in "dv")
    lengths = f"tensor<{DIMS[batch[0]]}xi32>"
    extra = extra.replace("LENGTHS", f"kv_lengths(%n : {lengths})")
    return f"""func.func @f(%q: {types[0]}, %k: {types[1]}, %v: {types[2]}, %n: {lengths}) -> {types[0]} {{
  %o = tensor.empty() : {types[0]}
  %r = attn.sdpa ins(%q, %k, %v : {", ".join(types)}) {extra} outs(%o : {types[0]})
      {{maps = [{query}, {affine(k, domain)}, {affine(v, domain)}, {out}]}} {region} -> {types[0]}
  return %r : {types[0]}
}}"""


def expected(q, k, v, maps, kept):
    """The formula in float64, K and V spread over all of (batch, head)."""
    full = []
    for x, expr in zip((k, v), maps, strict=True):
        for dim, word in enumerate(expr.split()):
            x = np.repeat(x, int(word.partition("/")[2] or 1), axis=dim)
        names = letters(expr)
        order = [names.index(x) for x in "bhkdv" if x in names]
        x = x.transpose(order)
        for dim, name in enumerate("bh"[2 - (q.ndim - 2) :]):
            if name not in names:
                x = np.expand_dims(x, dim)
        full.append(x.astype(np.float64))
    s = np.einsum("...qd,...kd->...qk", q.astype(np.float64), np.broadcast_to(full[0], (*q.shape[:-2], 300, 64))) / 8
    p = np.where(kept, np.exp(s - s.max(axis=-1, keepdims=True)), 0)
    total = p.sum(axis=-1, keepdims=True)
    return np.divide(p, total, where=total > 0, out=np.zeros_like(p)) @ full[1]


MASK_OF_HEAD = """mask_mod {
  %b = attn.index batch : index
  %j = attn.index key : index
  %c = arith.constant 20 : index
  %end = arith.muli %b, %c : index
  %kept = arith.cmpi sle, %j, %end : index
  attn.yield %kept : i1
}"""
CASES = {
    "lengths of heads": ("h", "h/2 k d", "h/2 k v", "LENGTHS", ""),
    "a mask of heads": ("h", "h/2 k d", "h/2 k v", "", MASK_OF_HEAD),
    "one head of keys": ("h", "k d", "k v", "", ""),
    "keys of all batch indices": ("b, h", "h/2 k d", "h/2 k v", "", ""),
    "keys of all batch indices with lengths": ("b, h", "h/2 k d", "h/2 k v", "LENGTHS", ""),
    "only keys of all batch indices": ("b, h", "h/2 k d", "b h/2 k v", "LENGTHS", ""),
    "side by side, of all batch indices": ("b, h", "k h/2 d", "k h/2 v", "LENGTHS", ""),
    "values of fewer heads each": ("b, h", "b h/4 k d", "b h/2 k v", "", ""),
    "values of a head each": ("b, h", "b k h/4 d", "b h k v", "LENGTHS", ""),
    "keys of fewer heads each": ("b, h", "b h/2 k d", "b h/4 k v", "LENGTHS", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_operands(name):
    batch, *maps, extra, region = CASES[name]
    rng = np.random.default_rng(5)
    lead = [DIMS[x] for x in batch.split(", ")]
    q = rng.standard_normal((*lead, 1, 64), np.float32)
    k, v = (rng.standard_normal(shape(x), np.float32) for x in maps)
    lengths = np.array([300, 0, 17, 299, 1, 64, 120, 33], np.int32)[: lead[0]]
    ends = lengths if extra else np.arange(lead[0]) * 20 + 1 if region else np.full(lead[0], 300)
    kept = np.arange(300) < ends.reshape(-1, *[1] * q[..., 0].ndim)
    found = attn.compile(source(batch, *maps, extra, region))(q, k, v, lengths)
    np.testing.assert_allclose(found, expected(q, k, v, maps, kept), rtol=0, atol=3e-6)


@pytest.mark.parametrize("page_lengths", ["lengths of K alone", "fewer rows of V", "lengths of both"])
@pytest.mark.parametrize("layout", ["nhd", "hnd"])
def test_rows_of_pages_beyond_the_length_are_zero(page_lengths, layout):
    """Without kv_lengths, keys beyond the length of a sequence take part, as zeros; the table says nothing of them."""
    cache = "tensor<24x16x2x64xf32>" if layout == "nhd" else "tensor<24x2x16x64xf32>"
    view, rows = "tensor<2x2x192x64xf32>", "tensor<2x8x1x64xf32>"
    lengths = "kv_lengths(%n : tensor<2xi32>)" if page_lengths == "fewer rows of V" else ""
    of_value = "%n" if page_lengths == "lengths of both" else "%fewer"

    def gather(x, n):
        return f"""attn.gather_pages ins({x}, %table : {cache}, tensor<2x12xi32>) lengths({n} : tensor<2xi32>)
      outs(%e : {view}) {{page_layout = #attn.page_layout<{layout}>}} -> {view}"""

    kernel = attn.compile(f"""func.func @f(%q: {rows}, %kc: {cache}, %vc: {cache}, %table: tensor<2x12xi32>,
    %n: tensor<2xi32>, %fewer: tensor<2xi32>) -> {rows} {{
  %e = tensor.empty() : {view}
  %k = {gather("%kc", "%n")}
  %v = {gather("%vc", of_value)}
  %o = tensor.empty() : {rows}
  %r = attn.sdpa ins(%q, %k, %v : {rows}, {view}, {view}) {lengths} outs(%o : {rows}) -> {rows}
  return %r : {rows}
}}""")
    rng = np.random.default_rng(1)
    order, ends, fewer = rng.permutation(24), np.array([70, 33], np.int32), np.array([64, 5], np.int32)
    table = np.full((2, 12), 1 << 30, np.int32)
    k, v = np.zeros((2, 2, 2, 192, 64), np.float32)
    caches = np.full((2, 24, 16, 2, 64), np.nan, np.float32)
    for b, end in enumerate(ends):
        for j in range(end):
            page = table[b, j // 16] = order[b * 12 + j // 16]
            k[b, :, j] = caches[0, page, j % 16] = rng.standard_normal((2, 64))
            if of_value == "%n" or j < fewer[b]:
                v[b, :, j] = caches[1, page, j % 16] = rng.standard_normal((2, 64))
    if layout == "hnd":
        caches = np.ascontiguousarray(caches.swapaxes(2, 3))
    q = rng.standard_normal((2, 8, 1, 64), np.float32)
    kept = np.arange(192) < (ends if lengths else np.full(2, 192)).reshape(2, 1, 1, 1)
    s = np.where(kept, q.astype(np.float64) @ np.repeat(k, 4, axis=1).swapaxes(2, 3) / 8, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    out = p / p.sum(axis=-1, keepdims=True) @ np.repeat(v, 4, axis=1)
    arguments = q, *caches, table, ends, fewer
    found = kernel(*arguments)
    np.testing.assert_allclose(found, out, rtol=0, atol=3e-6)


def side(name: str, page: int | None, kind: str) -> tuple[list[str], str]:
    """The arguments and the lines that make K or V: rows as they are, or a view of pages of a cache."""
    view = f"tensor<2x2x192x64x{kind}>"
    if page is None:
        return [f"%{name}: {view}"], ""
    cache, table = f"tensor<{400 // page}x{page}x2x64x{kind}>", f"tensor<2x{192 // page}xi32>"
    line = f"""  %{name}e = tensor.empty() : {view}
  %{name} = attn.gather_pages ins(%{name}c, %{name}t : {cache}, {table}) lengths(%n : tensor<2xi32>)
      outs(%{name}e : {view}) {{page_layout = #attn.page_layout<nhd>}} -> {view}
"""
    return [f"%{name}c: {cache}", f"%{name}t: {table}"], line


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize("pages", [(None, 64), (64, None), (None, 3), (3, None), (64, 3), (3, 64)])
def test_pages_of_one_of_keys_and_values(pages, kind):
    """One of them lies in rows or in other pages: a page that holds no tile is gathered, whatever the other one is."""
    k_side, v_side = (side(name, page, kind) for name, page in zip("kv", pages, strict=True))
    rows, view = f"tensor<2x8x1x64x{kind}>", f"tensor<2x2x192x64x{kind}>"
    arguments = ", ".join([f"%q: {rows}", "%n: tensor<2xi32>", *k_side[0], *v_side[0]])
    kernel = attn.compile(f"""func.func @f({arguments}) -> {rows} {{
{k_side[1]}{v_side[1]}  %o = tensor.empty() : {rows}
  %r = attn.sdpa ins(%q, %k, %v : {rows}, {view}, {view}) kv_lengths(%n : tensor<2xi32>) outs(%o : {rows}) -> {rows}
  return %r : {rows}
}}""")
    rng, ends, dtype = np.random.default_rng(7), np.array([150, 33], np.int32), TYPES[kind]
    q = rng.standard_normal((2, 8, 1, 64)).astype(dtype)
    k, v = (rng.standard_normal((2, 2, 192, 64)).astype(dtype) for _ in "kv")
    inputs = [q, ends]
    for x, page in zip((k, v), pages, strict=True):
        if page is None:
            inputs.append(x)
            continue
        table = rng.permutation(400 // page)[: 2 * (192 // page)].reshape(2, -1).astype(np.int32)
        cache = np.full((400 // page, page, 2, 64), np.nan, dtype)
        cache[table] = x.swapaxes(1, 2).reshape(2, -1, page, 2, 64)
        inputs += [cache, table]
    kept = np.arange(192) < ends.reshape(2, 1, 1, 1)
    s = np.where(kept, q.astype(np.float64) @ np.repeat(k.astype(np.float64), 4, axis=1).swapaxes(2, 3) / 8, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    out = p / p.sum(axis=-1, keepdims=True) @ np.repeat(v.astype(np.float64), 4, axis=1)
    np.testing.assert_allclose(kernel(*inputs).astype(np.float64), out, rtol=0, atol=3e-6 if kind == "f32" else 4e-3)


@pytest.mark.parametrize("part", [(0, 1, 0, 2, 2, 192), (0, 0, 16, 2, 4, 64)], ids=["heads", "keys"])
def test_a_slice_of_pages(part):
    """Kernels read the whole of a view through its table; a part of it is gathered first."""
    b, h, j, *sizes = part
    cache, view = "tensor<24x16x4x64xf32>", "tensor<2x4x192x64xf32>"
    rows, slice_type = "tensor<2x8x1x64xf32>", f"tensor<{'x'.join(map(str, sizes))}x64xf32>"
    kernel = attn.compile(f"""func.func @f(%q: {rows}, %c: {cache}, %t: tensor<2x12xi32>,
    %n: tensor<2xi32>) -> {rows} {{
  %e = tensor.empty() : {view}
  %all = attn.gather_pages ins(%c, %t : {cache}, tensor<2x12xi32>) lengths(%n : tensor<2xi32>)
      outs(%e : {view}) {{page_layout = #attn.page_layout<nhd>}} -> {view}
  %k = tensor.extract_slice %all[{b}, {h}, {j}, 0] [{", ".join(map(str, sizes))}, 64] [1, 1, 1, 1]
      : {view} to {slice_type}
  %o = tensor.empty() : {rows}
  %r = attn.sdpa ins(%q, %k, %k : {rows}, {slice_type}, {slice_type}) outs(%o : {rows}) -> {rows}
  return %r : {rows}
}}""")
    rng, ends = np.random.default_rng(8), np.array([150, 33], np.int32)
    q, dense = rng.standard_normal((2, 8, 1, 64), np.float32), rng.standard_normal((2, 4, 192, 64), np.float32)
    table = rng.permutation(24).reshape(2, 12).astype(np.int32)
    pages = np.empty((24, 16, 4, 64), np.float32)
    pages[table] = dense.swapaxes(1, 2).reshape(2, 12, 16, 4, 64)
    dense[np.broadcast_to((np.arange(192) >= ends[:, None])[:, None], dense.shape[:3])] = 0
    k = dense[:, h : h + sizes[1], j : j + sizes[2]].astype(np.float64)
    k = np.repeat(k, 8 // sizes[1], axis=1)
    p = np.exp(q @ k.swapaxes(2, 3) / 8)
    out = p / p.sum(axis=-1, keepdims=True) @ k
    np.testing.assert_allclose(kernel(q, pages, table, ends), out, rtol=0, atol=3e-6)


def test_the_only_batch_dimension_is_the_head():
    """`attn.index batch` beside one batch dimension is the head of the row, in a tile of heads that share one of K."""
    region = """score_mod {
^bb0(%s: f32):
  %b = attn.index batch : index
  %c = arith.index_cast %b : index to i32
  %w = arith.sitofp %c : i32 to f32
  %r = arith.mulf %s, %w : f32
  attn.yield %r : f32
}"""
    rng = np.random.default_rng(6)
    q = rng.standard_normal((8, 1, 64), np.float32)
    k, v = (rng.standard_normal((4, 300, 64), np.float32) for _ in "kv")
    found = attn.compile(source("h", "h/2 k d", "h/2 k v", "", region))(q, k, v, np.zeros(8, np.int32))
    scaled = q * np.arange(8, dtype=np.float32).reshape(8, 1, 1)
    wanted = expected(scaled, k, v, ("h/2 k d", "h/2 k v"), np.ones((8, 1, 300), bool))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


STARTS = {  # 31 is where K starts, 7 is V's start
    "of a load": "%s = arith.index_cast %e : i32 to index",
    "of 64 bits": "%w = arith.extsi %e : i32 to i64\n%s = arith.index_cast %w : i64 to index",
    "unsigned": "%s = arith.index_castui %e : i32 to index",
    "a load plus a constant": "%s = arith.addi %t, %c24 : index",
    "a sum": "%i = arith.index_cast %e : i32 to index\n%s = arith.addi %i, %c0 : index",
    "an argument": "%s = arith.index_cast %a : i32 to index",
    "the larger one": "%i = arith.index_cast %e : i32 to index\n%s = arith.maxsi %i, %c3 : index",
    "the lesser one": "%i = arith.index_cast %e : i32 to index\n%s = arith.minsi %i, %c400 : index",
}


@pytest.mark.parametrize("length", ["1000", "%n"])
@pytest.mark.parametrize("start", STARTS)
def test_a_slice_is_no_page(start, length):
    """A step over a slice of a cache, wherever it starts, may have more keys than a tile, as no page has."""
    domain, cache, rows = "h, q, k, d, v", "tensor<1500x64xf32>", "tensor<8x1x64xf32>"
    part = "tensor<1000x64xf32>" if length == "1000" else "tensor<?x64xf32>"
    kernel = attn.compile(f"""func.func @f(%q: {rows}, %kc: {cache}, %vc: {cache}, %p: tensor<2xi32>, %a: i32,
    %count: i32) -> {rows} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c400 = arith.constant 400 : index
  %n = arith.index_cast %count : i32 to index
  %c24 = arith.constant 24 : index
  %e = tensor.extract %p[%c0] : tensor<2xi32>
  %f = tensor.extract %p[%c1] : tensor<2xi32>
  %t = arith.index_cast %f : i32 to index
  {STARTS[start]}
  %k = tensor.extract_slice %kc[%s, 0] [{length}, 64] [1, 1] : {cache} to {part}
  %v = tensor.extract_slice %vc[%t, 0] [{length}, 64] [1, 1] : {cache} to {part}
  %o = tensor.empty() : {rows}
  %r = attn.sdpa ins(%q, %k, %v : {rows}, {part}, {part}) outs(%o : {rows})
      {{maps = [{", ".join(affine(x, domain) for x in ("h q d", "k d", "k v", "h q v"))}]}} -> {rows}
  return %r : {rows}
}}""")
    rng = np.random.default_rng(11)
    q = rng.standard_normal((8, 1, 64), np.float32)
    k, v = rng.standard_normal((2, 1500, 64), np.float32)
    found = kernel(q, k, v, np.array([31, 7], np.int32), 31, 1000)
    p = np.exp(q.astype(np.float64) @ k[31:1031].T / 8)
    np.testing.assert_allclose(found, p / p.sum(axis=-1, keepdims=True) @ v[7:1007], rtol=0, atol=3e-6)
