"""Kernels that no problem line describes, as the text of IR files: one function around a few ops of the dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attn.call import _checks

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


def empties(types: Types) -> list[str]:
    """Lines that define %NAME_init, the destination of each result."""
    return [f"%{name}_init = tensor.empty() : {kind}" for name, kind in types.items()]


def merge(out: Sequence[int], element: str, state: str, *, has_terms: bool) -> str:
    """The kernel of `attn.merge`: two outs and lses of one shape into one, computed in the type `state`.

    With M the larger maximum and w = l·exp(m − M) of each, 0 where m is −inf, out = Σ (w / W)·out with W = Σ w: what
    there is of each row first, and then one loop over both outs. lse is (m, ln l), or m alone with l = 1.
    """
    rows = ("max", "log_sum") if has_terms else ("lse",)
    result, row = tensor(out, element), tensor(out[:-1], state)
    given = {f"{name}{n}": kind for n in (1, 2) for name, kind in (("out", result), *((x, row) for x in rows))}
    results = {"out": result} | dict.fromkeys(rows, row)
    dims = [f"d{i}" for i in range(len(out))]
    whole = f"affine_map<({', '.join(dims)}) -> ({', '.join(dims)})>"
    per_row = f"affine_map<({', '.join(dims)}) -> ({', '.join(dims[:-1])})>"
    of_rows = f"affine_map<({', '.join(dims[:-1])}) -> ({', '.join(dims[:-1])})>"
    m1, m2 = (f"{rows[0]}{n}" for n in (1, 2))
    inputs = [m1, m2] + ([f"{rows[1]}{n}" for n in (1, 2)] if has_terms else [])

    def generic(name: str, maps: Sequence[str], read: Types, kind: str, body: Sequence[str]) -> list[str]:
        iterators = ", ".join('"parallel"' for _ in dims[: len(dims) - (kind == row)])
        elements = [x.rsplit("x", 1)[-1].removeprefix("tensor<").rstrip(">") for x in (*read.values(), kind)]
        arguments = ", ".join(
            f"%{x} : {y}" for x, y in zip([*(f"x{i}" for i in range(len(read))), "old"], elements, strict=True)
        )
        return [
            f"%{name} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}}",
            f"    ins({operands(read)}) outs(%{name}_init : {kind}) {{",
            f"^bb0({arguments}):",
            *(f"  {line}" for line in body),
            f"  linalg.yield %result : {elements[-1]}",
            f"}} -> {kind}",
        ]

    # %w0 and %w1, their sum %all, and %m, the larger maximum, of a row.
    weights = [f"%none = arith.constant 0xFF800000 : {state}", f"%zero = arith.constant 0.0 : {state}"]
    if state == "f64":
        weights[0] = "%none = arith.constant 0xFFF0000000000000 : f64"
    weights.append(f"%m = arith.maximumf %x0, %x1 : {state}")
    for n in (0, 1):
        weights += [
            f"%d{n} = arith.subf %x{n}, %m : {state}",
            f"%e{n} = arith.addf %d{n}, %x{n + 2} : {state}"
            if has_terms
            else f"%e{n} = arith.addf %d{n}, %zero : {state}",
            f"%p{n} = math.exp %e{n} : {state}",
            f"%is{n} = arith.cmpf oeq, %x{n}, %none : {state}",
            f"%w{n} = arith.select %is{n}, %zero, %p{n} : {state}",
        ]
    weights += [f"%all = arith.addf %w0, %w1 : {state}", f"%empty = arith.cmpf oeq, %all, %zero : {state}"]
    read = dict.fromkeys(inputs, row)
    row_maps = [of_rows] * (len(inputs) + 1)
    body = [f"%{name}_init = tensor.empty() : {kind}" for name, kind in (("f1", row), ("f2", row), *results.items())]
    for n in (0, 1):
        ratio = [f"%ratio = arith.divf %w{n}, %all : {state}"]
        body += generic(
            f"f{n + 1}",
            row_maps,
            read,
            row,
            [*weights, *ratio, f"%result = arith.select %empty, %zero, %ratio : {state}"],
        )
    log = [f"%log = math.log %all : {state}"]
    if has_terms:
        body += generic("max", [of_rows] * 3, {m1: row, m2: row}, row, [f"%result = arith.maximumf %x0, %x1 : {state}"])
    else:
        log.append(f"%term = arith.addf %m, %log : {state}")
    last = "log" if has_terms else "term"
    body += generic(
        rows[-1], row_maps, read, row, [*weights, *log, f"%result = arith.select %empty, %none, %{last} : {state}"]
    )
    widened = [f"%y{n} = arith.extf %x{n} : {element} to {state}" for n in (0, 1)] if element != state else []
    names = ("%y0", "%y1") if widened else ("%x0", "%x1")
    lines = [*widened, f"%zero = arith.constant 0.0 : {state}"]
    for n in (0, 1):  # what stands beside a factor of 0 may be NaN
        lines += [
            f"%is{n} = arith.cmpf oeq, %x{n + 2}, %zero : {state}",
            f"%p{n} = arith.mulf {names[n]}, %x{n + 2} : {state}",
            f"%s{n} = arith.select %is{n}, %zero, %p{n} : {state}",
        ]
    lines.append(f"%{'sum' if widened else 'result'} = arith.addf %s0, %s1 : {state}")
    lines += [f"%result = arith.truncf %sum : {state} to {element}"] if widened else []
    outs = {"out1": result, "out2": result, "f1": row, "f2": row}
    body += generic("out", [whole, whole, per_row, per_row, whole], outs, result, lines)
    return function("merge", given, results, body)


def kv_append(
    cache: Sequence[int],
    new: Sequence[int],
    element: str,
    table: Sequence[int] | None,
    page_layout: str | None,
    strided: Collection[str],
) -> str:
    """The kernel of `attn.kv_append`: its last argument, the cache, is written in place; those `strided` are views."""
    types = {"new": tensor(new, element), "positions": tensor(new[:1], "i32")}
    clauses = f"positions(%positions : {types['positions']})"
    if table is not None:
        types["block_table"] = tensor(table, "i32")
        clauses += f" block_table(%block_table : {types['block_table']})"
    kind = types["cache"] = tensor(cache, element)
    layout = "" if table is None else f" {{page_layout = #attn.page_layout<{page_layout}>}}"
    body = [
        f"%updated = attn.kv_append ins(%new : {types['new']}) {clauses}",
        f"    outs(%cache : {kind}){layout} -> {kind}",
    ]
    return function("kv_append", types, {"updated": kind}, body, strided)


def multi_head(
    arrays: Mapping[str, Sequence[int]], out: Sequence[int], element: str, attributes: Mapping[str, Any]
) -> str:
    """The kernel of `attn.multi_head` on x and the four projections; `attributes` as `structure` spells them."""
    types = {name: tensor(shape, element) for name, shape in arrays.items()}
    kind = tensor(out, element)
    spelled = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    body = [
        *empties({"out": kind}),
        f"%out = attn.multi_head ins({operands(types)})",
        f"    outs(%out_init : {kind}) {{{spelled}}} -> {kind}",
    ]
    return function("multi_head", types, {"out": kind}, body)


def structure(scale: Any, causal: Any, window: Any, align: Any, softcap: Any) -> dict[str, str]:
    """The attributes of attn.sdpa and attn.multi_head, each only where it is given and checked before."""
    left, right = (None, None) if window is None else _checks.window("window", window)
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
