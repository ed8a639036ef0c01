"""Kernels that no problem line describes, as the text of IR files: one function around a few ops of the dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

Types = Mapping[str, str]


def tensor(shape: Sequence[int], element: str) -> str:
    """The type of an array, as "tensor<2x3xf32>"; a size of -1 is that of the call."""
    return f"tensor<{''.join('?x' if size < 0 else f'{size}x' for size in shape)}{element}>"


def function(name: str, arguments: Types, results: Types, body: Sequence[str], strided: Collection[str] = ()) -> str:
    """A kernel: its arguments and results by name, and the lines between, which define each result as %name."""
    words = {x: f'attn.name = "{x}"' + (", attn.strided" if x in strided else "") for x in arguments}
    signature = ", ".join(f"%{x}: {kind} {{{words[x]}}}" for x, kind in arguments.items())
    returned = ", ".join(f'{kind} {{attn.name = "{x}"}}' for x, kind in results.items())
    lines = "\n  ".join([*body, f"return {operands(results)}"])
    return f"func.func @{name}({signature}) -> ({returned}) {{\n  {lines}\n}}\n"


def operands(types: Types) -> str:
    """Values and their types, as "%a, %b : f32, f64"."""
    return f"{', '.join(f'%{name}' for name in types)} : {', '.join(types.values())}"


# What there is of each row first: factors of both outs and the terms of lse; then one loop over both outs, where what
# stands beside a factor of 0 may be NaN.
MERGE = """%zero = arith.constant 0.0 : {state}
%none = arith.constant {none} : {state}
{sizes}%rows = tensor.empty({size}) : {row}
%outs = tensor.empty({size}) : {out}
%f1, %f2, {names} = linalg.generic {{indexing_maps = [{of_rows}], iterator_types = [{parallel_rows}]}}
    ins({read}) outs({made}) {{
^bb0({scalars}):
  %m = arith.maximumf %m1, %m2 : {state}
  %d1 = arith.subf %m1, %m : {state}
  %d2 = arith.subf %m2, %m : {state}
  %e1 = arith.addf %d1, {l1} : {state}
  %e2 = arith.addf %d2, {l2} : {state}
  %p1 = math.exp %e1 : {state}
  %p2 = math.exp %e2 : {state}
  %is_none1 = arith.cmpf oeq, %m1, %none : {state}
  %is_none2 = arith.cmpf oeq, %m2, %none : {state}
  %w1 = arith.select %is_none1, %zero, %p1 : {state}
  %w2 = arith.select %is_none2, %zero, %p2 : {state}
  %all = arith.addf %w1, %w2 : {state}
  %is_empty = arith.cmpf oeq, %all, %zero : {state}
  %r1 = arith.divf %w1, %all : {state}
  %r2 = arith.divf %w2, %all : {state}
  %s1 = arith.select %is_empty, %zero, %r1 : {state}
  %s2 = arith.select %is_empty, %zero, %r2 : {state}
  %log = math.log %all : {state}
  %sum = arith.addf %m, %log : {state}
  %last = arith.select %is_empty, %none, {last} : {state}
  linalg.yield {yielded}
}} -> ({types})
%out = linalg.generic {{indexing_maps = [{of_outs}], iterator_types = [{parallel}]}}
    ins(%out1, %out2, %f1, %f2 : {out}, {out}, {row}, {row}) outs(%outs : {out}) {{
^bb0(%x1: {element}, %x2: {element}, %s1: {state}, %s2: {state}, %old: {element}):
{widen}  %is1 = arith.cmpf oeq, %s1, %zero : {state}
  %is2 = arith.cmpf oeq, %s2, %zero : {state}
  %p1 = arith.mulf {x1}, %s1 : {state}
  %p2 = arith.mulf {x2}, %s2 : {state}
  %y1 = arith.select %is1, %zero, %p1 : {state}
  %y2 = arith.select %is2, %zero, %p2 : {state}
  %y = arith.addf %y1, %y2 : {state}
  {narrow}
}} -> {out}"""
NARROW = "%narrow = arith.truncf %y : {state} to {element}\n  linalg.yield %narrow : {element}"


SIZES = "%at = arith.constant {at} : index\n%size = tensor.dim %out1, %at : {out}\n"


def merge(out: Sequence[int], element: str, state: str, *, has_terms: bool, are_heads_first: bool = False) -> str:
    """The kernel of `attn.merge`: two outs and lses of one shape into one, computed in the type `state`.

    One size of out may be -1. With `are_heads_first` out is (total, Hq, Dv) and lse (Hq, total).
    With M the larger maximum and w = l·exp(m − M) of each, 0 where m is −inf, out = Σ (w / W)·out with W = Σ w. lse is
    (m, ln l), or m alone with l = 1.
    """
    rows = ("max", "log_sum") if has_terms else ("lse",)
    of_row = [1, 0] if are_heads_first else list(range(len(out) - 1))
    result, row = tensor(out, element), tensor([out[n] for n in of_row], state)
    given = {f"{name}{n}": kind for n in (1, 2) for name, kind in (("out", result), *((x, row) for x in rows))}
    count, dims = 2 + len(rows), [f"d{n}" for n in range(len(out))]
    whole, per_row, of_rows = (
        f"affine_map<({', '.join(x)}) -> ({', '.join(y)})>"
        for x, y in ((dims, dims), (dims, [dims[n] for n in of_row]), (dims[:-1], dims[:-1]))
    )
    scalars = [*("%m1", "%m2", "%l1", "%l2")[: 2 * len(rows)], *(f"%old{n}" for n in range(count))]
    is_wide = element == state
    body = MERGE.format(
        **{"state": state, "element": element, "row": row, "out": result},
        sizes=SIZES.format(at=list(out).index(-1), out=result) if -1 in out else "",
        size="%size" if -1 in out else "",
        none="0xFFF0000000000000" if state == "f64" else "0xFF800000",
        names=", ".join(f"%{x}" for x in rows),
        of_rows=", ".join([of_rows] * (2 * len(rows) + count)),
        of_outs=", ".join([whole, whole, per_row, per_row, whole]),
        parallel=", ".join(['"parallel"'] * len(dims)),
        parallel_rows=", ".join(['"parallel"'] * (len(dims) - 1)),
        read=operands({f"{x}{n}": row for x in rows for n in (1, 2)}),
        made=f"{', '.join(['%rows'] * count)} : {', '.join([row] * count)}",
        types=", ".join([row] * count),
        scalars=", ".join(f"{x}: {state}" for x in scalars),
        **dict(
            zip(("l1", "l2", "last"), ("%l1", "%l2", "%log") if has_terms else ("%zero", "%zero", "%sum"), strict=True)
        ),
        yielded=f"%s1, %s2, {'%m, ' if has_terms else ''}%last : {', '.join([state] * count)}",
        widen="" if is_wide else "".join(f"  %z{n} = arith.extf %x{n} : {element} to {state}\n" for n in (1, 2)),
        **{"x1": "%x1" if is_wide else "%z1", "x2": "%x2" if is_wide else "%z2"},
        narrow="linalg.yield %y : " + state if is_wide else NARROW.format(state=state, element=element),
    )
    return function("merge", given, {"out": result} | dict.fromkeys(rows, row), body.splitlines())


def multi_head(
    arrays: Mapping[str, Sequence[int]], out: Sequence[int], element: str, attributes: Mapping[str, Any]
) -> str:
    """The kernel of `attn.multi_head` on x and the four projections; `attributes` as `structure` spells them."""
    types = {name: tensor(shape, element) for name, shape in arrays.items()}
    kind = tensor(out, element)
    spelled = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    body = [
        f"%out_init = tensor.empty() : {kind}",
        f"%out = attn.multi_head ins({operands(types)})",
        f"    outs(%out_init : {kind}) {{{spelled}}} -> {kind}",
    ]
    return function("multi_head", types, {"out": kind}, body)


def structure(scale: Any, causal: Any, window: Any, align: Any, softcap: Any) -> dict[str, str]:
    """The attributes of attn.sdpa and attn.multi_head, each only where it is given and checked before."""
    left, right = window or (None, None)
    sides = [f"{name} = {x}" for name, x in (("left", left), ("right", right)) if x is not None]
    attributes = {
        "scale": None if scale is None else f"{real(scale)} : f64",
        "causal": None if causal is None else f"#attn.causal<{causal}>",
        "window": f"#attn.window<{', '.join(sides)}>" if sides else None,
        "align": None if align is None or not sides else f"#attn.causal<{align}>",
        "softcap": None if softcap is None else f"{real(softcap)} : f64",
    }
    return {name: value for name, value in attributes.items() if value is not None}


def real(value: float) -> str:
    """A number in MLIR's syntax, which wants a decimal point in front of the exponent."""
    text = repr(float(value))
    return text if "." in text else text.replace("e", ".0e")
