"""`attn.jax` on arrays that are on several devices: XLA partitions it by batch and heads, or says so."""

import math
import os
import re
import warnings

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import attn
import attn.jax

attn.set_cache(enabled=False)
pytestmark = pytest.mark.skipif(
    jax.device_count() < 4, reason="JAX was started by another file, with less than 4 devices"
)
TYPES = {"auto": AxisType.Auto, "explicit": AxisType.Explicit}
B, HQ, HKV, S, D = 4, 8, 4, 24, 16
OPTIONS = {"causal": "top_left", "window": (9, None)}


@pytest.fixture
def rng():
    return np.random.default_rng(20261128)


def mesh_of(name, shape=(4,), axes=("s",)):
    devices = jax.devices()[: math.prod(shape)]
    return jax.make_mesh(shape, axes, axis_types=(TYPES[name],) * len(axes), devices=devices)


def draw(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def on(mesh, spec, *arrays):
    return [jax.device_put(x, NamedSharding(mesh, spec)) for x in arrays]


def loss(q, k, v, dout, **options):
    return (attn.jax.sdpa(q, k, v, **OPTIONS, **options) * dout).sum()


def gathers(function, *arrays):
    text = jax.jit(function).lower(*arrays).compile().as_text()
    return len(re.findall(r" all-gather(?:-start)?\(", text))


def wanted(q, k, v, dout, layout="bhsd", **options):
    """out and the gradients of the reference in float64."""
    rows = (lambda x: x.swapaxes(1, 2)) if layout == "bshd" else (lambda x: x)
    q, k, v, dout = (rows(x.astype(np.float64)) for x in (q, k, v, dout))
    out, lse = attn.reference.sdpa(q, k, v, **OPTIONS, **options, return_lse=True)
    grad = tuple("qkv") + tuple(x for x in ("bias", "sink") if x in options)
    found = attn.reference.sdpa_backward(q, k, v, out, lse, dout, grad=grad, **OPTIONS, **options)
    return [rows(x) if n < 4 else x for n, x in enumerate((out, *found.values()))]


def check(found, expected):
    for x, y in zip(found, expected, strict=True):
        assert np.abs(np.asarray(x) - y).max() <= 2e-6 * max(np.abs(y).max(), 1.0)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("part", ["batch", "heads"])
@pytest.mark.parametrize("kind", TYPES)
def test_batch_and_heads_are_partitioned_without_gathers(rng, kind, part, layout):
    spec = P("s") if part == "batch" else P(None, "s") if layout == "bhsd" else P(None, None, "s")
    shape = lambda h: (B, h, S, D) if layout == "bhsd" else (B, S, h, D)  # noqa: E731
    arrays = [draw(rng, *shape(h)) for h in (HQ, HKV, HKV, HQ)]
    given = on(mesh_of(kind), spec, *arrays)
    step = jax.grad(lambda *x: loss(*x, layout=layout), (0, 1, 2))
    forward = lambda q, k, v: attn.jax.sdpa(q, k, v, layout=layout, **OPTIONS)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gathers(forward, *given[:3]) == 0
        assert gathers(step, *given) == 0
        found = [jax.jit(forward)(*given[:3]), *jax.jit(step)(*given)]
    assert [x.sharding.spec for x in found] == [spec] * 4
    check(found, wanted(*arrays, layout=layout))


def test_batch_and_heads_over_a_mesh_of_two_axes(rng):
    arrays = [draw(rng, B, h, S, D) for h in (HQ, HKV, HKV, HQ)]
    given = on(mesh_of("auto", (2, 2), ("x", "y")), P("x", "y"), *arrays)
    step = jax.value_and_grad(loss, (0, 1, 2))
    assert gathers(step, *given) == 0
    check(jax.jit(step)(*given)[1], wanted(*arrays)[1:])


# The devices, where queries are on them, and the batch and heads of the bias.
SHARED = {
    "batch": ((4,), P("x"), (1, HQ)),
    "heads": ((4,), P(None, "x"), (B, 1)),
    "heads of two devices": ((2,), P(None, "x"), (1, 1)),
    "heads over two axes": ((2, 2), P(None, ("x", "y")), (1, 1)),
    "batch and heads": ((2, 2), P("x", "y"), (1, HQ)),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("hkv", [1, HKV])
@pytest.mark.parametrize("name", SHARED)
def test_gradients_of_what_all_devices_read_are_sums(rng, name, hkv, kind):
    devices, spec, shared = SHARED[name]
    options = {"layout": "bshd"} if len(devices) == 2 else {}
    arrays = [draw(rng, B, *((S, h) if options else (h, S)), D) for h in (HQ, hkv, hkv, HQ)]
    bias, sink = draw(rng, *shared, S, S), draw(rng, HQ)
    mesh = mesh_of(kind, devices, ("x", "y")[: len(devices)])
    batch, heads = (*spec, None)[:2]
    specs = [P(batch, *((None, x) if options else (x,))) for x in (heads, None if hkv == 1 else heads)]
    given = [on(mesh, specs[n in (1, 2)], x)[0] for n, x in enumerate(arrays)]
    step = jax.jit(jax.grad(lambda *x: loss(*x[:4], bias=x[4], sink=x[5], **options), (0, 1, 2, 4, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = step(*given, *on(mesh, P(), bias, sink))
    check(found, wanted(*arrays, bias=bias, sink=sink, **options)[1:])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["rows", "three key heads", "a function that reads h"])
def test_what_is_not_partitioned_is_right_and_warned_of(rng, name, kind):
    spec = P(None, None, "s") if name == "rows" else P(None, "s")
    heads = (12, 6, 6, 12) if name == "three key heads" else (HQ, HKV, HKV, HQ)
    arrays = [draw(rng, B, h, S, D) for h in heads]
    mesh = mesh_of(kind)
    given = [*on(mesh, spec, arrays[0]), *(arrays[1:3] if heads[1] == 6 else on(mesh, spec, *arrays[1:3]))]
    options = {"score_mod": lambda s, b, h, i, j: s * (h + 1) / 8} if name.startswith("a function") else {}
    call = lambda q, k, v: attn.jax.sdpa(q, k, v, **OPTIONS, **options)  # noqa: E731
    step = jax.grad(lambda q, k, v, dout: (call(q, k, v) * dout).sum(), (0, 1, 2))
    with pytest.warns(RuntimeWarning, match=r"partitioned over .*s where the kernel is not: they are gathered"):
        found = [jax.jit(call)(*given), *jax.jit(step)(*given, *on(mesh, spec, arrays[3]))]
    check(found, wanted(*arrays, **options))


@pytest.mark.parametrize("hkv", [1, HKV])
def test_packed_sequences_are_partitioned_by_heads(rng, hkv):
    arrays = [draw(rng, S, h, D) for h in (HQ, hkv, hkv, HQ)]
    starts = np.array([0, 5, 17, S], np.int32)
    mesh = mesh_of("auto")
    given = [on(mesh, P(None, "s") if x.shape[1] > 1 else P(), x)[0] for x in arrays]
    call = lambda q, k, v: attn.jax.varlen_sdpa(q, k, v, starts, starts, **OPTIONS)  # noqa: E731
    step = jax.grad(lambda q, k, v, dout: (call(q, k, v) * dout).sum(), (0, 1, 2))
    assert gathers(step, *given) == 0
    wide = [x.astype(np.float64) for x in arrays]
    out, lse = attn.reference.varlen_sdpa(*wide[:3], starts, starts, **OPTIONS, return_lse=True)
    expected = attn.reference.varlen_sdpa_backward(*wide[:3], out, lse, wide[3], starts, starts, **OPTIONS)
    check([jax.jit(call)(*given[:3]), *jax.jit(step)(*given)], [out, *expected.values()])


@pytest.mark.parametrize("is_jitted", [False, True])
def test_gradients_inside_of_shard_map_with_its_checks(rng, is_jitted):
    q, dout, k = draw(rng, B, HQ, S, D), draw(rng, B, HQ, S, D), draw(rng, 1, HKV, S, D)
    shards = jax.shard_map(
        lambda q, k, v: attn.jax.sdpa(q, k, v, **OPTIONS),
        mesh=mesh_of("auto"),
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
    )
    step = jax.grad(lambda q, k, v: (shards(q, k, v) * dout).sum(), (0, 1, 2))
    found = (jax.jit(step) if is_jitted else step)(q, k, k)
    expected = wanted(q, *(np.broadcast_to(k, (B, *k.shape[1:])) for _ in "kv"), dout)[1:]
    check(found, [expected[0], *(x.sum(0, keepdims=True) for x in expected[1:])])


def test_a_whole_step_of_data_parallel_training(rng):
    """A scale and a sink that all devices have; jnp.asarray is what makes a scale one with a gradient."""
    arrays = [draw(rng, B, h, S, D) for h in (HQ, HKV, HKV, HQ)]
    given, scale = on(mesh_of("auto"), P("s"), *arrays), jnp.asarray(0.3, jnp.float32)
    found = jax.jit(jax.grad(lambda *x: loss(*x[:4], scale=x[4]), (0, 4)))(*given, scale)
    alone = jax.grad(lambda *x: loss(*x[:4], scale=x[4]), (0, 4))(*arrays, scale)
    check(found, [np.asarray(x) for x in alone])
