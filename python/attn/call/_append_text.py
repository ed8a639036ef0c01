"""The kernels of `attn.kv_append`: rows that are rotated, then quantised by scales, and written where they belong."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from attn.call import _elements, _text


class Rope(NamedTuple):
    """The rotation of rows by their positions (Su et al., "RoFormer", 2021).

    Attributes:
      shape: of the tables of cosines and sines.
      element: of these.
      is_interleaved: elements 2c and 2c + 1 are rotated; otherwise c and c + half the rotated ones.
    """

    shape: tuple[int, int]
    element: str
    is_interleaved: bool


def kv_append(
    cache: Sequence[int],
    new: Sequence[int],
    elements: tuple[str, str],
    table: Sequence[int] | None,
    page_layout: str | None,
    strided: Collection[str],
    scales: str | None = None,
    rope: Rope | None = None,
) -> str:
    """The kernel of `attn.kv_append`: its last arguments, the cache and scales of its rows, are written in place.

    Args:
      cache, new, table: shapes; a table of a paged cache alone.
      elements: the types of the cache and of the new rows.
      page_layout: of a paged cache.
      strided: the arguments that are views.
      rope: of rows that are rotated.
      scales: "given", one a head, as an argument; "computed", one a row, into scale_cache; None without.
    """
    types = {"new": _text.tensor(new, elements[1]), "positions": _text.tensor(new[:1], "i32")}
    clauses, layout, body = f"positions(%positions : {types['positions']})", "", []
    if table is not None:
        types["block_table"] = _text.tensor(table, "i32")
        clauses += f" block_table(%block_table : {types['block_table']})"
        layout = f" {{page_layout = #attn.page_layout<{page_layout}>}}"
    if scales == "given":
        types["scale"] = _text.tensor(new[1:2], "f32")
    rows, row_type, element = "new", types["new"], elements[1]
    if scales == "computed" or rope is not None:
        body = _open_sizes(new, element)
    if rope is not None:
        types["rope_positions"] = _text.tensor((new[0], new[2]), "i32")
        types |= dict.fromkeys(("rope_cos", "rope_sin"), _text.tensor(rope.shape, rope.element))
        body += _rotated(new, element, rope)
        rows, element = "rotated", "f64" if element == "f64" else "f32"
        row_type = _text.tensor(new, element)
    kind = types["cache"] = _text.tensor(cache, elements[0])
    results = {"updated": kind}
    if scales == "computed":
        types["scale_cache"] = results["updated_scales"] = _text.tensor((*cache[:3], 1), "f32")
        body += _row_scales(f"%{rows}", new, (elements[0], element))
    of_scales = {"given": f" scale(%scale : {types.get('scale')})"}
    of_scales["computed"] = f" scale(%scales : {_text.tensor(new[:3], 'f32')})"
    of_cache = clauses + of_scales.get(scales or "", "")
    body += [
        f"%updated = attn.kv_append ins(%{rows} : {row_type}) {of_cache}",
        f"    outs(%cache : {kind}){layout} -> {kind}",
    ]
    if scales == "computed":
        column, written = _text.tensor((*new[:3], 1), "f32"), types["scale_cache"]
        body += [
            f"%updated_scales = attn.kv_append ins(%rows : {column}) {clauses}",
            f"    outs(%scale_cache : {written}){layout} -> {written}",
        ]
    return _text.function("kv_append", types, results, body, strided)


# Of each row the largest magnitude, NaN left out, over the largest number of the cache's type; 1 where that is 0.
ROW_SCALES = """%none = arith.constant 0.0 : f32
%empty = tensor.empty({sizes}) : {rows}
%zeros = linalg.fill ins(%none : f32) outs(%empty : {rows}) -> {rows}
%largest = linalg.generic {{indexing_maps = [affine_map<(b, h, n, d) -> (b, h, n, d)>,
    affine_map<(b, h, n, d) -> (b, h, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}} ins({given} : {new}) outs(%zeros : {rows}) {{
^bb0(%x: {element}, %m: f32):
{widen}  %size = math.absf {x} : f32
  %is_larger = arith.cmpf ogt, %size, %m : f32
  %next = arith.select %is_larger, %size, %m : f32
  linalg.yield %next : f32
}} -> {rows}
%empty_scales = tensor.empty({sizes}) : {rows}
%scales = linalg.generic {{indexing_maps = [affine_map<(b, h, n) -> (b, h, n)>, affine_map<(b, h, n) -> (b, h, n)>],
    iterator_types = ["parallel", "parallel", "parallel"]}} ins(%largest : {rows}) outs(%empty_scales : {rows}) {{
^bb0(%m: f32, %old: f32):
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %finite = arith.constant 3.40282347E+38 : f32
  %limit = arith.constant {largest} : f32
  %is_finite = arith.cmpf olt, %m, %finite : f32
  %bounded = arith.select %is_finite, %m, %finite : f32
  %quotient = arith.divf %bounded, %limit : f32
  %is_some = arith.cmpf ogt, %quotient, %zero : f32
  %scale = arith.select %is_some, %quotient, %one : f32
  linalg.yield %scale : f32
}} -> {rows}
%rows = tensor.expand_shape %scales [[0], [1], [2, 3]] output_shape [{shape}, 1] : {rows} into {columns}"""


def _row_scales(rows: str, new: Sequence[int], elements: tuple[str, str]) -> list[str]:
    """Lines that make %scales of rows (B, Hkv, N) of this name, and %rows with one column."""
    sizes = _sizes(new)
    is_wide = elements[1] == "f32"
    largest = {_elements.BYTE_NAMES[name]: x for name, x in _elements.LARGEST.items()}
    body = ROW_SCALES.format(
        given=rows,
        sizes=", ".join(sizes.values()),
        shape=", ".join(sizes.get(n, str(size)) for n, size in enumerate(new[:3])),
        rows=_text.tensor(new[:3], "f32"),
        columns=_text.tensor((*new[:3], 1), "f32"),
        new=_text.tensor(new, elements[1]),
        element=elements[1],
        widen="" if is_wide else f"  %wide = arith.extf %x : {elements[1]} to f32\n",
        x="%x" if is_wide else "%wide",
        largest=largest[elements[0]],
    )
    return body.splitlines()


# Elements x1 and x2 of a row at position p: x1 · cos[p, c] − x2 · sin[p, c] and x2 · cos[p, c] + x1 · sin[p, c].
ROTATED = """%rope_zero = arith.constant 0 : index
%rope_one = arith.constant 1 : index
%rope_count = tensor.dim %rope_cos, %rope_zero : {table}
%rope_last = arith.subi %rope_count, %rope_one : index
%wide_empty = tensor.empty({sizes}) : {whole}
%wide = linalg.generic {{indexing_maps = [{map}, {map}], iterator_types = [{loops}]}} ins(%new : {new})
    outs(%wide_empty : {whole}) {{
^bb0(%x: {element}, %old: {sums}):
{widen}  linalg.yield {x} : {sums}
}} -> {whole}
%x1 = tensor.extract_slice %wide{first} : {whole} to {half}
%x2 = tensor.extract_slice %wide{second} : {whole} to {half}
%half = tensor.empty({sizes}) : {half}
%y1, %y2 = linalg.generic {{indexing_maps = [{map}, {map}, affine_map<(b, h, n, d) -> (b, n)>, {map}, {map}],
    iterator_types = [{loops}]}} ins(%x1, %x2, %rope_positions : {half}, {half}, {positions})
    outs(%half, %half : {half}, {half}) {{
^bb0(%a: {sums}, %b: {sums}, %p: i32, %old1: {sums}, %old2: {sums}):
  %d = linalg.index 3 : index
  %place = arith.index_cast %p : i32 to index
  %above = arith.maxsi %place, %rope_zero : index
  %row = arith.minsi %above, %rope_last : index
  %c0 = tensor.extract %rope_cos[%row, %d] : {table}
  %s0 = tensor.extract %rope_sin[%row, %d] : {table}
{factors}  %ac = arith.mulf %a, {c} : {sums}
  %bs = arith.mulf %b, {s} : {sums}
  %bc = arith.mulf %b, {c} : {sums}
  %as = arith.mulf %a, {s} : {sums}
  %r1 = arith.subf %ac, %bs : {sums}
  %r2 = arith.addf %bc, %as : {sums}
  linalg.yield %r1, %r2 : {sums}, {sums}
}} -> ({half}, {half})
%turned = tensor.insert_slice %y1 into %wide{first} : {half} into {whole}
%rotated = tensor.insert_slice %y2 into %turned{second} : {half} into {whole}"""


def _rotated(new: Sequence[int], element: str, rope: Rope) -> list[str]:
    """Lines that make %rotated of %new, in float32, or float64 of such rows."""
    sizes, columns = _sizes(new), rope.shape[1]
    sums = "f64" if element == "f64" else "f32"
    counts = ", ".join(sizes.get(n, str(size)) for n, size in enumerate(new[:3]))
    stride, second = (2, 1) if rope.is_interleaved else (1, columns)
    places = [f"[0, 0, 0, {at}] [{counts}, {columns}] [1, 1, 1, {stride}]" for at in (0, second)]
    factors = (
        ""
        if rope.element == sums
        else "".join(f"  %{x} = arith.extf %{x}0 : {rope.element} to {sums}\n" for x in ("c", "s"))
    )
    return ROTATED.format(
        sizes=", ".join(sizes.values()),
        map="affine_map<(b, h, n, d) -> (b, h, n, d)>",
        loops=", ".join(['"parallel"'] * 4),
        new=_text.tensor(new, element),
        whole=_text.tensor(new, sums),
        half=_text.tensor((*new[:3], columns), sums),
        positions=_text.tensor((new[0], new[2]), "i32"),
        table=_text.tensor(rope.shape, rope.element),
        element=element,
        sums=sums,
        widen="" if element == sums else f"  %wider = arith.extf %x : {element} to {sums}\n",
        x="%x" if element == sums else "%wider",
        first=places[0],
        second=places[1],
        factors=factors,
        **{x: f"%{x}" if factors else f"%{x}0" for x in ("c", "s")},
    ).splitlines()


def _sizes(new: Sequence[int]) -> dict[int, str]:
    """The names of open sizes of new rows by dimension."""
    return {n: f"%size{n}" for n, size in enumerate(new[:3]) if size < 0}


def _open_sizes(new: Sequence[int], element: str) -> list[str]:
    """Lines that define them."""
    lines = []
    for n, name in _sizes(new).items():
        lines.append(f"%dim{n} = arith.constant {n} : index")
        lines.append(f"{name} = tensor.dim %new, %dim{n} : {_text.tensor(new, element)}")
    return lines
