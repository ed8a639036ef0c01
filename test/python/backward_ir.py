"""attn.sdpa_backward as IR: a function of arrays that test and benchmark compile."""

from __future__ import annotations

from typing import NamedTuple


class Sizes(NamedTuple):
    """Of a problem with gradients."""

    b: int
    hq: int
    hkv: int
    sq: int
    sk: int
    d: int
    dv: int


def tensor(shape: tuple[int | str, ...], dtype: str) -> str:
    """The type of a tensor."""
    return f"tensor<{''.join(f'{x}x' for x in shape)}{dtype}>"


def backward(
    sizes: Sizes,
    dtype: str = "f32",
    clauses: tuple[tuple[str, tuple[int, ...], str], ...] = (),
    attributes: str = "",
    regions: str = "",
    dbias: tuple[int, ...] | None = None,
    sums: str = "",
    captures: tuple[tuple[str, tuple[int, ...], str], ...] = (),
    text: str = "",
) -> str:
    """A function of q, k, v, out, lse, dout and the operands of `clauses` that returns dq, dk, dv, and dbias if given.

    Args:
      sizes: of the problem.
      dtype: of q, k, v, out and dout.
      clauses: name, shape and element type of further operands, in the order of the op's assembly.
      attributes: inside the braces.
      regions: behind them.
      dbias: the shape of the bias, if its gradient is asked for.
      sums: the type of lse; that of the accumulation if it is empty.
      captures: further arguments of the function, for regions and `text`.
      text: further clauses of the op, behind `clauses`.
    """
    b, hq, hkv, sq, sk, d, dv = sizes
    wide = sums or ("f64" if dtype == "f64" else "f32")
    q, k, v, o = ((b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, dv), (b, hq, sq, dv))
    names = ["q", "k", "v", "out", "lse", "dout"]
    types = [
        tensor(q, dtype),
        tensor(k, dtype),
        tensor(v, dtype),
        tensor(o, dtype),
        tensor(o[:3], wide),
        tensor(o, dtype),
    ]
    lines, outs = [], []
    for name, shape, element in clauses:
        names.append(name)
        types.append(tensor(shape, element) if shape else element)
        lines.append(f"      {name}(%{name} : {types[-1]})")
    for name, shape, element in captures:
        names.append(name)
        types.append(tensor(shape, element) if shape else element)
    lines += [f"      {text}"] if text else []
    results = [tensor(q, dtype), tensor(k, dtype), tensor(v, dtype)]
    outs = [f"      outs(%e0, %e1, %e2 : {', '.join(results)})"]
    if dbias:
        results.append(tensor(dbias, dtype))
        outs.append(f"      dbias(%e3 : {results[-1]})")
    arguments = ", ".join(f"%{name}: {text}" for name, text in zip(names, types, strict=True))
    empty = "\n".join(f"  %e{i} = tensor.empty() : {text}" for i, text in enumerate(results))
    count = len(results)
    body = "\n".join(lines + outs)
    return f"""func.func @backward({arguments}) -> ({", ".join(results)}) {{
{empty}
  %r:{count} = attn.sdpa_backward
      ins(%q, %k, %v, %out, %lse, %dout : {", ".join(types[:6])})
{body} {{{attributes}}} {regions} -> {", ".join(results)}
  return {", ".join(f"%r#{i}" for i in range(count))} : {", ".join(results)}
}}
"""
