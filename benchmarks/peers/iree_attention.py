"""IREE's attention op (iree_linalg_ext.attention) for this processor; the heads of a group are a dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from peers import Inputs, Peer, UnsupportedError
from peers.problem import Problem, kept_pairs

SOURCE = """
func.func @attention(%q: {q}, %k: {k}, %v: {v}{argument}) -> {out} {{
  %scale = arith.constant {scale:.17e} : f32
  %empty = tensor.empty() : {out}
  {convert}
  %out = iree_linalg_ext.attention <{{indexing_maps = [
      affine_map<{dims} -> (b, h, g, m, k1)>, affine_map<{dims} -> (b, h, k2, k1)>, affine_map<{dims} -> (b, h, k2, n)>,
      affine_map<{dims} -> ()>, {mask_map} affine_map<{dims} -> (b, h, g, m, n)>]}}>
      ins(%q, %k, %v, %scale{operand} : {q}, {k}, {v}, f32{type}) outs(%empty : {out}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {out}
  return %out : {out}
}}
"""
DIMS = "(b, h, g, m, n, k1, k2)"


def write_source(p: Problem) -> str:
    """The IR file of a problem. A bias and a mask are one operand; IREE's interfaces have bytes instead of booleans."""
    parts = dict.fromkeys(("argument", "convert", "mask_map", "operand", "type"), "")
    scores = f"tensor<{p.sq}x{p.sk}x"
    if p.bias:
        parts |= {"argument": f", %mask: {scores}f32>", "type": f", {scores}f32>"}
    elif p.mask or p.causal:
        parts |= {"argument": f", %bytes: {scores}i8>", "type": f", {scores}i1>"}
        parts["convert"] = f"%mask = arith.trunci %bytes : {scores}i8> to {scores}i1>"
    if parts["argument"]:
        parts |= {"mask_map": f"affine_map<{DIMS} -> (m, k2)>,", "operand": ", %mask"}
    group = p.hq // p.hkv
    return SOURCE.format(
        q=f"tensor<{p.b}x{p.hkv}x{group}x{p.sq}x{p.d}xf32>",
        k=f"tensor<{p.b}x{p.hkv}x{p.sk}x{p.d}xf32>",
        v=f"tensor<{p.b}x{p.hkv}x{p.sk}x{p.dv}xf32>",
        out=f"tensor<{p.b}x{p.hkv}x{group}x{p.sq}x{p.dv}xf32>",
        scale=1 / math.sqrt(p.d),
        dims=DIMS,
        **parts,
    )


def load(threads: int) -> Peer:
    """IREE with so many threads."""
    import iree.compiler
    import iree.runtime

    iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")

    contexts: dict[str, Any] = {}

    def make_context(problem: Problem) -> Any:
        binary = iree.compiler.compile_str(
            write_source(problem), target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"]
        )
        context = iree.runtime.SystemContext(config=iree.runtime.Config("local-task"))
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, binary))
        return context

    def prepare(problem: Problem, inputs: Inputs) -> Callable[[], Any]:
        if problem.dtype != "f32" or problem.kv != "f32":
            raise UnsupportedError("written down here in f32 only")
        mask = None
        if problem.bias:
            mask = inputs["bias"][0, 0]
        elif problem.mask:
            mask = inputs["mask"][0, 0].astype(np.int8)
        elif problem.causal:
            mask = kept_pairs(problem).astype(np.int8)
        if problem.line not in contexts:
            contexts.clear()
            contexts[problem.line] = make_context(problem)
        context = contexts[problem.line]
        group = problem.hq // problem.hkv
        q = inputs["q"].reshape(problem.b, problem.hkv, group, problem.sq, problem.d)
        arrays = [q, inputs["k"], inputs["v"]] + ([] if mask is None else [mask])
        arrays = [iree.runtime.asdevicearray(context.config.device, x) for x in arrays]
        return lambda: context.modules.module["attention"](*arrays)

    return Peer(metadata.version("iree-base-compiler"), prepare, lambda out, _: np.asarray(out.to_host()))
