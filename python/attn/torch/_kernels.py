"""Exported programs whose calls of attn are kernels: for programs in C++, which have no Python to prepare a call.

`attn::kernel` takes the source of a kernel and the tensors of its entry as they are. In Python it is below; in C++ it
is lib/Torch/Kernel.cpp, which AOTInductor's packages find by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from attn.call import _call, _packed, _running, _serving
from attn.torch import _graph_step, _ops, _varlen
from attn.torch import _serving as _paged

Tensor = torch.Tensor
SCHEMA = "(str source, Tensor[] inputs, SymInt[] sizes, str entry) -> Tensor[]"
# Of each operator the calls, what prepares one, and its results, which return_… asks for behind the first one.
CALLS: dict[Any, tuple[Any, Any, tuple[str, ...]]] = {
    torch.ops.attn.sdpa.default: (_ops.Call, _call.dense, _ops.Results._fields),
    torch.ops.attn.varlen_sdpa.default: (_varlen.Call, _packed.packed, _ops.Results._fields),
    torch.ops.attn.paged_sdpa.default: (_paged.Call, _serving.paged, ("out", "lse", "key_sums")),
}
NAMES = {"k_cache": "k", "v_cache": "v", "offsets": "causal_offset"}  # of a call, as kernels have them
VIEWS = ("q", "k", "v", "k_cache", "v_cache")  # which kernels read at their strides


def _results(_: str, inputs: Sequence[Tensor], sizes: Sequence[int], entry: str) -> list[Tensor]:
    """The results of a kernel, of any content: of each a type and a rank stand in the entry, its sizes in `sizes`."""
    count, *words = entry.split()
    made, left = [], iter(sizes)
    for n in range(int(count)):
        shape = [next(left) for _ in range(int(words[2 * n + 1]))]
        made.append(inputs[0].new_empty(shape, dtype=getattr(torch, words[2 * n])))
    return made


def _run(source: str, inputs: Sequence[Tensor], sizes: Sequence[int], entry: str) -> list[Tensor]:
    made = _results(source, inputs, sizes, entry)
    _running.compiled(source, "host")(*[x.detach() for x in inputs], out=tuple(made) if len(made) > 1 else made[0])
    return made


if not _graph_step.in_cpp():
    torch.library.custom_op("attn::kernel", _run, mutates_args=(), device_types="cpu", schema=SCHEMA)
torch.library.register_fake("attn::kernel", _results)


def with_kernels(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The exported program with each call of attn as the kernel that it runs: for AOTInductor and programs in C++.

    Kernels are for this processor's kind of instructions when they run: the program has their sources, which libattn
    compiles at the first call. Sizes that are open in the program are open in the kernel.

    Args:
      program: of torch.export.export; tensors are on the CPU.

    Returns:
      A program for `torch._inductor.aoti_compile_and_package`. In C++ it runs where libattn_torch.so is loaded.

    Raises:
      ValueError: a call draws dropout, or is a part of a whole, or there is a `kv_append` or `out=`.
      TypeError: it is on another device than the CPU.
      attn.CompileError: it has no kernel.
    """
    made = program.run_decompositions({})
    for node in list(made.graph.nodes):
        called = [x for x in (node.target, *node.args[:1]) if isinstance(x, torch._ops.OpOverload)]
        if any(x.namespace == "attn" and x not in CALLS for x in called):
            raise ValueError(
                f"expected no {called[-1]} in a program for C++, which has kernels alone, found it; write "
                "cache.flatten(0, 1).index_copy_(0, slots, new) for kv_append to pages of nhd, and no out="
            )
        if node.target in CALLS:
            _replace(made.graph, node)
    made.graph.eliminate_dead_code()
    made.graph_module.recompile()
    return made


def _replace(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Puts the kernel of a call in its place."""
    kind, prepare, names = CALLS[node.target]
    nodes = kind.of(node.args)
    values = kind.of(torch.fx.node.map_arg(node.args, lambda x: x.meta["val"]))
    results, users = dict(zip(names, node.meta["val"], strict=True)), list(node.users)
    for name in ("dropout", "q_origin", "k_origin", "b_origin", "h_origin", "whole"):
        if getattr(values, name, None) is not None:
            raise ValueError(f"expected a call of attn without {name} in a program for C++, found it; leave it out")
    if values.q.device.type != "cpu":
        raise TypeError(f"expected a program on the CPU, found a call of attn on {values.q.device}")
    wanted = {names[x.args[1]] for x in users} - {"out"}
    source = _source(prepare, values, wanted)
    kernel = _running.compiled(source, "host")
    given = _named(nodes, values)
    with graph.inserting_before(node):
        _take_common_pages(graph, given, values)
        inputs = [_as_entry(graph, given[x["name"]], x) for x in kernel.inputs]
        returned = [x["name"] for x in kernel.outputs]
        sizes = [_size(graph, dim, given.values()) for name in returned for dim in results[name].shape]
        entry = _entry(kernel)
        made = graph.call_function(torch.ops.attn.kernel.default, (source, inputs, sizes, entry))
    made.meta["val"] = [results[name] for name in returned]
    for user in users:
        user.args = (made, returned.index(names[user.args[1]]))
    graph.erase_node(node)


def _source(prepare: Any, call: Any, wanted: set[str]) -> str:
    """The source of a call's kernel, which returns these results beside out. Values of integers make no difference."""
    stand_ins = {name: _stand_in(name, x, call) for name, x in zip(call._fields, call, strict=True)}
    call = type(call)(**stand_ins)
    options = call.options()
    functions, is_open = options.pop("score_mod", None), options.pop("dynamic", None)
    flags = {f"return_{name}": True for name in wanted}
    made = prepare(*call[: call.operands], target="host", **options, **flags)
    return made.traced(functions, None, dynamic=bool(is_open))[0]


def _stand_in(name: str, value: Any, call: Any) -> Any:
    """A tensor of the form of one in a graph: nothing of it is read but shape and type, and sums of lengths."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
        return [_stand_in("", x, call) for x in value]
    if name == "dynamic":
        return bool(value) or any(isinstance(n, torch.SymInt) for x in call.tensors().values() for n in x.shape)
    if not isinstance(value, Tensor):
        return value
    shape = [n.node.hint if isinstance(n, torch.SymInt) else n for n in value.shape]
    if not value.is_floating_point():
        made = torch.zeros(shape, dtype=value.dtype)
        if name.startswith("cu_seqlens"):
            rows = (call.q if name == "cu_seqlens_q" else call.k).shape[0]
            made[-1] = rows.node.hint if isinstance(rows, torch.SymInt) else rows
        return made
    if name in VIEWS and not value.is_contiguous():
        return torch.empty([*shape[:-1], shape[-1] + 1], dtype=value.dtype)[..., :-1]
    return torch.empty(shape, dtype=value.dtype)


def _named(nodes: Any, values: Any) -> dict[str, torch.fx.Node]:
    """The nodes of a call's tensors, by the names that its kernel has for them."""
    fields = zip(nodes._fields, nodes, strict=True)
    found = {NAMES.get(name, name): x for name, x in fields if isinstance(x, torch.fx.Node)}
    captures = getattr(nodes, "captures", ())
    return found | (dict(zip(values.captured.split(","), captures, strict=True)) if captures else {})


def _take_common_pages(graph: torch.fx.Graph, given: dict[str, torch.fx.Node], values: Any) -> None:
    """Of caches of unlike numbers of pages the kernel has those of both.

    Raises:
      ValueError: the numbers are open and may differ.
    """
    if not hasattr(values, "k_cache"):
        return
    from torch.fx.experimental.symbolic_shapes import statically_known_true  # which imports sympy

    counts = {"k": values.k_cache.shape[0], "v": values.v_cache.shape[0]}
    if statically_known_true(counts["k"] == counts["v"]):
        return
    if not all(isinstance(x, int) for x in counts.values()):
        raise ValueError(f"expected one open number of pages of both caches in a program for C++, found {counts}")
    least = min(counts.values())
    for name in ("k", "v", "k_scale", "v_scale"):
        if name in given and given[name].meta["val"].dim() > 1:
            given[name] = _call_function(graph, torch.ops.aten.slice.Tensor, (given[name], 0, 0, least))


def _as_entry(graph: torch.fx.Graph, node: torch.fx.Node, described: dict[str, Any]) -> torch.fx.Node:
    """A tensor as the entry takes it: of its type, and contiguous unless it takes strides."""
    value, aten = node.meta["val"], torch.ops.aten
    if str(value.dtype) != f"torch.{described['dtype']}":
        node = _call_function(graph, aten._to_copy.default, (node,), dtype=getattr(torch, described["dtype"]))
        value = node.meta["val"]
    if value.is_contiguous() or (described["strided"] and value.stride(-1) == 1):
        return node
    return _call_function(graph, aten.clone.default, (node,), memory_format=torch.contiguous_format)


def _size(graph: torch.fx.Graph, size: int | torch.SymInt, nodes: Iterable[torch.fx.Node]) -> Any:
    """A size of a result: a number, or that of an input."""
    if not isinstance(size, torch.SymInt):
        return size
    for node in nodes:
        for dim, x in enumerate(node.meta["val"].shape):
            if isinstance(x, torch.SymInt) and x.node.expr == size.node.expr:
                return _call_function(graph, torch.ops.aten.sym_size.int, (node, dim))
    raise ValueError(f"expected each open size of a result of attn among those of its inputs, found {size}")


def _call_function(graph: torch.fx.Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> torch.fx.Node:
    node = graph.call_function(target, arguments, options)
    values = torch.fx.node.map_arg(arguments, lambda x: x.meta["val"])
    node.meta["val"] = target(*values, **options)
    return node


def _entry(kernel: Any) -> str:
    """How many results there are, the type and rank of each, and the order of inputs and results in the entry."""
    results = [f"{x['dtype']} {len(x['shape'])}" for x in kernel.outputs]
    names = [x["name"] for x in kernel.inputs + kernel.outputs]
    order = [str(names.index(x)) for x in kernel._entry_names]
    return " ".join([str(len(results)), *results, *order])
