"""The custom call of XLA that `attn.jax` traces to: its kernel, its lowering, and its handler in libattn."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
from typing import Any, NamedTuple

import jax
import jax.extend.core
import jax.interpreters.mlir
import numpy as np

from attn.call import _call, _packed, _problem, _running
from attn.kernel import _kernel, _library, _tensor
from attn.trace import _trace

TARGET = "attn_call"


class Call(NamedTuple):
    """All of a call but its arrays.

    Attributes:
      names: of the tensors; behind them stands what functions read, of `regions.names`.
    """

    names: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]
    regions: _trace.Regions = _trace.Regions()
    grad: tuple[str, ...] = ()
    has_dlse: bool = False

    def named(self, arrays: tuple[Any, ...]) -> dict[str, Any]:
        """The tensors by name, without those that functions read."""
        return dict(zip(self.names, arrays, strict=False))


def run(call: Call, *arrays: Any) -> Any:
    """The custom call of a kernel that is compiled for these shapes."""
    kernel, name = _compile(call, tuple((x.shape, np.dtype(x.dtype)) for x in arrays))
    return bind(kernel, name, arrays)


def bind(kernel: _kernel.Kernel, name: str, arrays: tuple[Any, ...], updated: str | None = None) -> Any:
    """The custom call of a kernel that is registered by a name.

    Args:
      kernel: with its outputs behind its inputs.
      arrays: its inputs, and behind them the old values of what it updates.
      updated: the output that it updates, the first one of its entry.
    """
    count = len(kernel.inputs)
    shapes = kernel.new_shapes(list(arrays[:count]), () if updated is None else (updated,))
    outputs = [
        (x["name"], jax.ShapeDtypeStruct(tuple(shape), _tensor.dtype(x["dtype"])))
        for shape, x in zip(shapes, kernel.outputs, strict=True)
    ]
    if updated is not None:
        outputs = kernel.in_order([None] * count + outputs)[count:]
        outputs[0] = (updated, jax.ShapeDtypeStruct(arrays[count].shape, arrays[count].dtype))
    types = tuple(x for _, x in outputs)

    def on_cpu(*arrays: Any) -> Any:
        return tuple(_custom_call.bind(*arrays, types=types, kernel=name, is_updated=updated is not None))

    def elsewhere(*arrays: Any) -> Any:
        return tuple(_elsewhere.bind(*arrays, types=types))

    results = tuple(jax.lax.platform_dependent(*arrays, cpu=on_cpu, default=elsewhere))
    results = varying(results, like=arrays)
    if updated is None:
        return results
    named = {of: x for (of, _), x in zip(outputs, results, strict=True)}
    return tuple(named[x["name"]] for x in kernel.outputs)


def varying(values: tuple[Any, ...], like: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
    """The values as what varies over each axis of a shard_map that one of `like`, or of them, varies over."""
    axes = frozenset().union(*(varies_over(x) for x in (values if like is None else like)))
    if not axes:
        return values
    missing = [tuple(sorted(axes - varies_over(x))) for x in values]
    return tuple(jax.lax.pcast(x, over, to="varying") if over else x for x, over in zip(values, missing, strict=True))


def varies_over(value: Any) -> frozenset[str]:
    """The axes of a shard_map that a value varies over."""
    kind = jax.typeof(value)
    axes: frozenset[str] = kind.mat.varying if hasattr(kind, "mat") else kind.vma
    return axes


# The custom call. It holds the name that this process has its kernel by.
_custom_call = jax.extend.core.Primitive("attn_call")
_custom_call.multiple_results = True
_custom_call.def_abstract_eval(lambda *_, types, **__: [jax.core.ShapedArray(x.shape, x.dtype) for x in types])
EXPORT = (
    "expected attn.jax.sdpa in a program of this process, found one for jax.export: its custom call has a kernel "
    "that is in the memory of this process alone; export the function with jax.nn.dot_product_attention in its place, "
    "or compile the kernel by attnc and call it where the program runs"
)


def _lower(context: Any, *arrays: Any, types: Any, kernel: str, is_updated: bool) -> Any:
    if context.module_context.lowering_parameters.for_export:
        raise NotImplementedError(EXPORT)
    aliases = {len(arrays) - 1: 0} if is_updated else None
    return jax.ffi.ffi_lowering(TARGET, operand_output_aliases=aliases)(context, *arrays, kernel=kernel)


jax.interpreters.mlir.register_lowering(_custom_call, _lower, platform="cpu")

# What a call is on any other platform: nothing that can be lowered.
_elsewhere = jax.extend.core.Primitive("attn_call_on_the_cpu_alone")
_elsewhere.multiple_results = True
_elsewhere.def_abstract_eval(lambda *_, types: [jax.core.ShapedArray(x.shape, x.dtype) for x in types])


def _refuse_platform(context: Any, *_: Any, **__: Any) -> Any:
    platforms = " and ".join(context.module_context.platforms)
    raise NotImplementedError(
        f"expected attn.jax.sdpa to be compiled for the platform cpu, found {platforms}: it has no custom call there; "
        'move the arrays, as by jax.device_put(q, jax.devices("cpu")[0]), or call attn.sdpa(…, target="sm_90a") '
        "outside of jax.jit"
    )


jax.interpreters.mlir.register_lowering(_elsewhere, _refuse_platform)


@functools.cache
def _compile(call: Call, types: tuple[tuple[tuple[int, ...], Any], ...]) -> tuple[_kernel.Kernel, str]:
    """The kernel of a call, and the name that the handler has it by.

    It is kept for ever, as are the programs that XLA has compiled with its name.
    """
    named = call.named(tuple(np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in types))
    options = dict(call.options)
    offsets = named.pop("offsets", None)
    for name in ("causal", "align"):
        if options.get(name) == "offsets":
            options[name] = offsets
    for lengths in ("q_lengths", "kv_lengths"):
        if lengths in named:  # no value is known
            named[lengths] = named[lengths].view(_tensor.StandIn)
    scale = named.pop("scale", None)
    if scale is not None:
        options["scale"] = scale
    returned = dict.fromkeys(("return_lse", "return_max", "return_log_sum"), not call.grad)
    q, k, v = (named.pop(name) for name in "qkv")
    if "cu_seqlens_q" in named:
        sums, are_same = ([named.pop(name) for name in ("cu_seqlens_q", "cu_seqlens_k")], options.pop("are_same"))
        given = _problem.Given(**named, **options, **returned, layout="varlen")
        problem, _, scores = _packed.prepare(q, k, v, *sums, given, is_known=False, are_same=are_same)
    else:
        problem, _ = _call.prepare(q, k, v, _problem.Given(**named, **options, **returned))
        scores = problem.sizes.scores
    if call.grad:
        problem = dataclasses.replace(problem, lse=call.has_dlse, grad=call.grad)
    prepared = _call.Call(problem, scores, [], "host")
    # A kernel for any number of sequences takes no offset of each.
    has_offsets = "offset" in (problem.causal, problem.align)
    dynamic = False if problem.layout == "varlen" and has_offsets else None
    source, _ = prepared.traced(_trace.Traced(call.regions), None, dynamic=dynamic)
    kernel = _running.compiled(source, "host", "sdpa_backward" if call.grad else None)
    return kernel, registered(kernel, source)


def registered(kernel: _kernel.Kernel, source: str) -> str:
    """The name by which the handler has a kernel from now on."""
    name = hashlib.sha256(f"{kernel.name}\n{source}".encode()).hexdigest()
    _library.load().attn_xla_register(name.encode(), kernel._module, kernel.name.encode())
    return name


@functools.cache
def register() -> None:
    """Registers the handler with JAX, once.

    Raises:
      ImportError: libattn was built without it.
    """
    library = _library.load()
    if not hasattr(library, "attn_xla_call"):
        raise ImportError(
            "expected libattn with attn_xla_call, which attn.jax calls, found one that was built without jaxlib's "
            "headers; run scripts/setup.sh, or install attn from its wheel"
        )
    library.attn_xla_register.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p]
    library.attn_xla_register.restype = None
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(library.attn_xla_call), platform="cpu")
