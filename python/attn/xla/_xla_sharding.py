"""How XLA partitions the custom call of `attn.jax` over devices: by batch and heads, each device its own.

The rule has a name for each dimension, so that XLA knows which are the same: b batch, k and g key heads and what shares
one, i rows, j keys. Rows and keys are not partitioned: where arrays are, they are gathered, with a warning. (Attention
whose rows and keys are on several devices is `attn.jax.ring_sdpa`.)
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from typing import Any, NamedTuple

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from attn.xla import _xla
from attn.xla._xla import Call

Labels = tuple[str, ...]  # of the dimensions of an array; "" is one that nothing shares
Axes = tuple[str, ...]  # of a mesh

# The dimensions of what a call takes and returns; h is all query heads.
DENSE: dict[str, Labels] = {
    "q": ("b", "h", "i", ""),
    "k": ("b", "k", "j", ""),
    "v": ("b", "k", "j", ""),
    "bias": ("b", "h", "", ""),
    "mask": ("b", "h", "", ""),
    "sink": ("h",),
    "q_lengths": ("b",),
    "kv_lengths": ("b",),
    "offsets": ("b",),
    "scale": (),
    "out": ("b", "h", "i", ""),
    "rows": ("b", "h", "i"),
}
PACKED: dict[str, Labels] = {
    "q": ("i", "h", ""),
    "k": ("j", "k", ""),
    "v": ("j", "k", ""),
    "sink": ("h",),
    "offsets": ("",),
    "cu_seqlens_q": ("",),
    "cu_seqlens_k": ("",),
    "scale": (),
    "out": ("i", "h", ""),
    "rows": ("h", "i"),
}
PART: Axes = ("a part of an axis",)  # in the place of axes


class Form(NamedTuple):
    """The dimensions of the arrays and results of a call."""

    arrays: list[Labels]
    results: list[Labels]
    heads: tuple[int, int]  # of queries and of keys


def run(call: Call, *arrays: Any) -> Any:
    """`_xla.run`, partitioned by batch and heads where the arrays are on several devices.

    Inside of a shard_map it is the call of this device alone. Where a mesh has explicit axes, the results have the
    sharding that these say.
    """
    mesh = jax.sharding.get_abstract_mesh()
    if not mesh.empty and mesh.are_all_axes_manual:
        return _xla.run(call, *arrays)
    specs = [jax.typeof(x).sharding.spec for x in arrays]
    is_explicit = any(jax.typeof(x).sharding.mesh._any_axis_explicit for x in arrays)
    if not is_explicit:
        return _partitioned(call)(*arrays)
    form = form_of(call, [x.shape for x in arrays])
    own = dict(zip((*call.names, *call.regions.names), specs, strict=False))
    # A gradient has the sharding of what it is of.
    placed = [own[x] for x in call.grad] or [PartitionSpec(*_placed(form, specs, labels)) for labels in form.results]
    on_auto = jax.sharding.auto_axes(_partitioned(call), out_sharding=tuple(placed))
    return on_auto(*arrays)


def form_of(call: Call, shapes: list[tuple[int, ...]]) -> Form:
    """The dimensions of a call on arrays of these shapes; one of size 1 that broadcasts is shared with nothing."""
    is_packed = "cu_seqlens_q" in call.names
    table = PACKED if is_packed else DENSE
    if dict(call.options).get("layout") == "bshd":
        table = {name: (x[0], x[2], x[1], *x[3:]) if name in ("q", "k", "v", "out") else x for name, x in table.items()}
    captured = len(call.regions.names)
    saved = ["out", "rows", "rows", "out", *["rows"] * call.has_dlse] if call.grad else []
    named = dict(zip(call.names, shapes, strict=False))
    sizes = dict(zip(table["q"], named["q"], strict=True))
    sizes["k"] = sizes["h"]
    heads = (sizes["h"], named["k"][table["k"].index("k")])
    found = [
        tuple("" if size == 1 < sizes.get(x, 1) else x for x, size in zip(table[name], shape, strict=True))
        for name, shape in named.items()
    ]
    found += [("",) * len(shape) for shape in shapes[len(found) : len(found) + captured]] + [table[x] for x in saved]
    if not call.grad:
        return Form(found, [table["out"], *[table["rows"]] * 3], heads)
    own = dict(zip((*call.names, *call.regions.names), found, strict=False))
    return Form(found, [own[name] for name in call.grad], heads)


def _placed(form: Form, specs: list[Any], labels: Labels) -> list[Any]:
    """The axes of a result of the forward pass, by dimension: those of the first array that has them."""
    axes: dict[str, Any] = {}
    for of, spec in zip(form.arrays, specs, strict=True):
        for label, found in zip(of, spec, strict=False):
            if label and found is not None and found not in axes.values():
                axes.setdefault("h" if label == "k" else label, found)
    return [axes.get(x) for x in labels]


@functools.cache
def _partitioned(call: Call) -> Any:
    @custom_partitioning
    def operator(*arrays: Any) -> Any:
        return _xla.run(call, *arrays)

    # Shardings are decoded here: where XLA splits an axis, as one of 4 for 6 heads, JAX's own decoder fails.
    operator.def_partition(
        partition=functools.partial(_partition, call),
        sharding_rule=functools.partial(_rule, call),
        decode_shardings=False,
    )
    return operator


def _rule(call: Call, _mesh: Any, values: Any, _results: Any) -> tuple[str, dict[str, int]]:
    """The rule as XLA reads it: a name for each dimension; query heads are key heads times what shares one."""
    form = form_of(call, [tuple(x.shape) for x in values])
    hq, hkv = form.heads
    group = hq // hkv if hkv else 1
    names = iter(f"x{n}" for n in range(1000))
    is_compound = hkv > 1 and group > 1
    query_heads = "(k g)" if is_compound else "k" if hkv > 1 or group == 1 else "h"

    def text(all_labels: list[Labels]) -> str:
        words = {"h": query_heads, "": None}
        return ", ".join(" ".join(words.get(x, x) or next(names) for x in labels) for labels in all_labels)

    return f"{text(form.arrays)} -> {text(form.results)}", {"g": group} if is_compound else {}


def _partition(call: Call, mesh: Any, arrays: Any, results: Any) -> Any:
    """What each device computes, and what part of arrays and results it has."""
    form = form_of(call, [x.shape for x in arrays])
    axes = _axes(call, mesh, form, arrays)

    def shardings(all_labels: list[Labels]) -> tuple[NamedSharding, ...]:
        found = axes | {"k": axes["h"]}
        parts = ([found.get(x) or None for x in labels] for labels in all_labels)
        return tuple(NamedSharding(mesh, PartitionSpec(*x)) for x in parts)

    # A gradient of what all devices read is the sum of theirs.
    summed = [tuple(a for x in "bh" if x not in _all(labels) for a in axes.get(x, ())) for labels in form.results]

    def local(*own: Any) -> Any:
        found = _xla.run(call, *own)
        return tuple(jax.lax.psum(x, over) if over and call.grad else x for x, over in zip(found, summed, strict=True))

    return mesh, local, shardings(form.results), shardings(form.arrays)


def _all(labels: Labels) -> str:
    return "".join(labels).replace("k", "h")


def _axes(call: Call, mesh: Any, form: Form, arrays: Any) -> dict[str, Axes]:
    """The axes of the mesh that the batch and the heads are partitioned over, as the arrays are.

    The others that arrays are partitioned over are gathered, with a warning that says which.
    """
    found: dict[str, Axes] = {"b": (), "h": ()}
    gathered: set[str] = set()
    shapes = [x.shape for x in arrays]
    sizes = {"b": shapes[0][0], "h": form.heads[1] if form.heads[1] > 1 else form.heads[0]}
    for shape, labels, array in zip(shapes, form.arrays, arrays, strict=True):
        for dim, (label, over) in enumerate(zip(labels, _spec(mesh, array), strict=True)):
            label = "h" if label == "k" else label
            used = found["b"] + found["h"]
            is_free = label in found and not found[label] and not set(over) & set(used)
            if not over or (label in found and found[label] == over) or shape[dim] == 1:
                continue
            parts = math.prod(mesh.shape.get(x, 0) for x in over)
            if is_free and label not in call.regions.indices and parts and sizes[label] % parts == 0:
                found[label] = over
            else:
                gathered.update(over)
    gathered -= set(found["b"] + found["h"])
    if gathered:
        warnings.warn(
            f"attn.jax: arrays of attention of {list(shapes[0])} are partitioned over {', '.join(sorted(gathered))} "
            "where the kernel is not: they are gathered, and each device computes all of it. It is partitioned by "
            "batch and by key heads; for rows and keys write attn.jax.ring_sdpa inside of jax.shard_map",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def _spec(mesh: Any, array: Any) -> list[Axes]:
    """The axes of the mesh that each dimension of an array is partitioned over; PART where it is a part of one."""
    sharding, shape = array.sharding, array.shape
    if sharding is None or sharding.is_fully_replicated:
        return [()] * len(shape)
    try:
        parts = [size // part if part else 1 for size, part in zip(shape, sharding.shard_shape(shape), strict=True)]
    except ValueError:  # parts of several sizes
        return [PART, *[()] * (len(shape) - 1)]
    several = [x for n in range(len(mesh.axis_names) + 1) for x in itertools.permutations(mesh.axis_names, n)]
    choices = [[x for x in several if math.prod(mesh.shape[a] for a in x) == count] for count in parts]
    for axes in itertools.product(*choices):
        names = list(itertools.chain(*axes))
        if len(set(names)) < len(names):
            continue
        if NamedSharding(mesh, PartitionSpec(*(x or None for x in axes))).is_equivalent_to(sharding, len(shape)):
            return list(axes)
    return [PART if count > 1 else () for count in parts]
