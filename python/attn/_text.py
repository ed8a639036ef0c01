"""Kernels that no problem line describes, as the text of IR files: one function around a few ops of the dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attn import _checks

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


def merge_states(out: Sequence[int], element: str, state: str) -> str:
    """The kernel of `attn.merge`: two outs and lses of one shape into one, computed in the type `state`."""
    result, acc, row = tensor(out, element), tensor(out, state), tensor(out[:-1], state)
    both = {"out1": result, "lse1": row, "out2": result, "lse2": row}
    merged = f"{acc}, {row}, {row}"
    results = {"out": result, "lse": row}
    names, wide = ("out1", "out2"), []
    if element != state:
        names, wide = ("acc1", "acc2"), [f"%acc{n} = arith.extf %out{n} : {result} to {acc}" for n in (1, 2)]
    body = [
        *wide,
        # A finished call is a state whose row sum is 1: out = acc / 1, lse = m + ln 1.
        f"%one = arith.constant dense<1.0> : {row}",
        f"%acc, %max, %sum = attn.merge_states ins(%{names[1]}, %lse2, %one : {merged})",
        f"    outs(%{names[0]}, %lse1, %one : {merged}) -> {merged}",
        *empties(results),
        f"%out, %lse = attn.finalize ins(%acc, %max, %sum : {merged})",
        f"    outs(%out_init, %lse_init : {result}, {row}) -> {result}, {row}",
    ]
    return function("merge", both, results, body)


def merge_terms(out: Sequence[int], element: str, state: str) -> str:
    """The kernel of `attn.merge` where lse is two terms: the states are (out l, max, l) with l = exp(log_sum)."""
    result, acc, row = tensor(out, element), tensor(out, state), tensor(out[:-1], state)
    given = {f"{name}{n}": kind for n in (1, 2) for name, kind in (("out", result), ("max", row), ("log_sum", row))}
    merged = f"{acc}, {row}, {row}"
    results = {"out": result, "max": row, "log_sum": row}
    dims = [f"d{i}" for i in range(len(out))]
    whole, rows = (f"affine_map<({', '.join(dims)}) -> ({', '.join(x)})>" for x in (dims, dims[:-1]))
    iterators = ", ".join('"parallel"' for _ in dims)
    body = [f"%acc_init = tensor.empty() : {acc}"]
    for n in (1, 2):
        widen = [] if element == state else [f"  %wide = arith.extf %x : {element} to {state}"]
        body += [
            f"%l{n} = math.exp %log_sum{n} : {row}",
            f"%acc{n} = linalg.generic {{indexing_maps = [{whole}, {rows}, {whole}], iterator_types = [{iterators}]}}",
            f"    ins(%out{n}, %l{n} : {result}, {row}) outs(%acc_init : {acc}) {{",
            f"^bb0(%x : {element}, %y : {state}, %z : {state}):",
            *widen,
            f"  %product = arith.mulf {'%wide' if widen else '%x'}, %y : {state}",
            f"  linalg.yield %product : {state}",
            f"}} -> {acc}",
        ]
    body += [
        f"%acc, %m, %l = attn.merge_states ins(%acc2, %max2, %l2 : {merged})",
        f"    outs(%acc1, %max1, %l1 : {merged}) -> {merged}",
        *empties(results),
        f"%out, %max, %log_sum = attn.finalize ins(%acc, %m, %l : {merged})",
        f"    outs(%out_init : {result}) max(%max_init : {row}) log_sum(%log_sum_init : {row})",
        f"    -> {result}, {row}, {row}",
    ]
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
