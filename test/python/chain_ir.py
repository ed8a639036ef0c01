"""IR files of the textbook chain, one op a step: what a front end writes and attn-fuse takes."""

import numpy as np

from helpers import Shape

ELEMENTS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64", np.dtype(bool): "i1"}


def tensor(shape, dtype) -> str:
    """The MLIR type of an array, as "tensor<2x3xf32>"."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{ELEMENTS[np.dtype(dtype)]}>"


def chain(shape: Shape, dtype, *, scale=None, causal=None, softcap=None, bias=None, mask=None, weights=False) -> str:
    """The chain as a kernel `chain` on q, k, v and, where their shapes are given, bias and mask.

    The steps are scores, scale, softcap, mask, softmax, apply; each only where it does something. With `weights` the
    kernel returns them after out, which keeps the chain from being fused.
    """
    q = (shape.b, shape.hq, shape.sq, shape.d)
    k, v = ((shape.b, shape.hkv, shape.sk, columns) for columns in (shape.d, shape.dv))
    s, o = tensor(shape.scores, dtype), tensor((shape.b, shape.hq, shape.sq, shape.dv), dtype)
    arguments = {"q": tensor(q, dtype), "k": tensor(k, dtype), "v": tensor(v, dtype)}
    if bias is not None:
        arguments["bias"] = tensor(bias, dtype)
    if mask is not None:
        arguments["mask"] = tensor(mask, bool)
    steps = [f"%s0 = attn.scores ins(%q, %k : {arguments['q']}, {arguments['k']}) outs(%s : {s}) -> {s}"]

    def add(op, operands="", attributes=""):
        last = len(steps) - 1
        steps.append(f"%s{last + 1} = attn.{op} ins(%s{last} : {s}) {operands} outs(%s : {s}) {attributes} -> {s}")

    add("scale", attributes=f"{{scale = {shape.d**-0.5 if scale is None else scale!r} : f64}}")
    if softcap is not None:
        add("softcap", attributes=f"{{softcap = {softcap!r} : f64}}")
    operands = " ".join(f"{name}(%{name} : {arguments[name]})" for name in ("bias", "mask") if name in arguments)
    if operands or causal:
        add("mask", operands, f"{{causal = #attn.causal<{causal}>}}" if causal else "")
    add("softmax")
    signature = ", ".join(f'%{name}: {kind} {{attn.name = "{name}"}}' for name, kind in arguments.items())
    body = "\n  ".join(steps)
    last = len(steps) - 1
    results = f"{o}, {s}" if weights else o
    returned = f"%out, %s{last}" if weights else "%out"
    return f"""func.func @chain({signature}) -> ({results}) {{
  %s = tensor.empty() : {s}
  %o = tensor.empty() : {o}
  {body}
  %out = attn.apply ins(%s{last}, %v : {s}, {arguments["v"]}) outs(%o : {o}) -> {o}
  return {returned} : {results}
}}
"""
