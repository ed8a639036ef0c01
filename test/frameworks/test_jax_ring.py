"""`attn.jax.ring_sdpa` on four devices inside of shard_map, and `attn.jax.sdpa_backward` by lse of whole rows."""

import os
import subprocess
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

import attn
import attn.jax

attn.set_cache(enabled=False)
N, B, HQ, HKV, S, D = 4, 2, 4, 2, 64, 16
ROWS = P(None, None, "s")
pytestmark = pytest.mark.skipif(
    jax.device_count() < N, reason="JAX was started by another file, with less than 4 devices"
)
CASES = {
    "full": ({}, "contiguous", "float32"),
    "causal": ({"causal": True}, "contiguous", "float32"),
    "striped": ({"causal": True, "sink": True}, "striped", "float32"),
    "window": ({"causal": True, "window": (21, None), "softcap": 5.0, "sink": True}, "contiguous", "float32"),
    "two-sided": ({"window": (5, 20)}, "contiguous", "float32"),
    "bf16": ({"causal": True}, "striped", "bfloat16"),
}


def inputs(dtype):
    rng = np.random.default_rng(20261128)
    draw = lambda *shape: rng.standard_normal(shape).astype(dtype)  # noqa: E731
    q, dout, sink = draw(B, HQ, S, D), draw(B, HQ, S, D), rng.standard_normal(HQ).astype(np.float32)
    k, v, dlse = draw(B, HKV, S, D), draw(B, HKV, S, D), rng.standard_normal((B, HQ, S)).astype(np.float32)
    return q, k, v, sink, dout, dlse


def reference(options, q, k, v, sink, dout, dlse):
    wide = [x.astype(np.float64) for x in (q, k, v)]
    options = (
        {x: y for x, y in options.items() if x not in ("causal", "sink")}
        | ({"causal": "top_left"} if options.get("causal") else {"align": "top_left"} if "window" in options else {})
        | ({"sink": sink.astype(np.float64)} if "sink" in options else {})
    )
    out, lse = attn.reference.sdpa(*wide, **options, return_lse=True)
    grad = ("q", "k", "v", "sink") if "sink" in options else ("q", "k", "v")
    cotangents = (dout.astype(np.float64), dlse.astype(np.float64))
    found = attn.reference.sdpa_backward(*wide, out, lse, cotangents[0], dlse=cotangents[1], grad=grad, **options)
    return [out, lse, *found.values()]


def positions(layout, devices, rows):
    """The rows of the whole in the order of the devices."""
    if layout == "contiguous":
        return np.arange(rows)
    if layout == "striped":
        return np.arange(rows).reshape(-1, devices).T.ravel()
    blocks = np.arange(rows).reshape(2 * devices, -1)
    return np.concatenate([blocks[[r, 2 * devices - 1 - r]].ravel() for r in range(devices)])


def of_ring(options, layout, devices, q, k, v, sink, dout, dlse):
    """out, lse, dq, dk, dv of the whole and, where there is one, dsink."""
    words = {x: y for x, y in options.items() if x != "sink"}
    order = positions(layout, devices, q.shape[2])
    back = np.argsort(order)
    mesh = jax.make_mesh((devices,), ("s",), axis_types=(AxisType.Auto,), devices=jax.devices()[:devices])

    def rows(q, k, v, sink):
        given = {"sink": sink} if "sink" in options else {}
        return attn.jax.ring_sdpa(q, k, v, axis_name="s", layout=layout, return_lse=True, **given, **words)

    shards = jax.shard_map(rows, mesh=mesh, in_specs=(ROWS, ROWS, ROWS, P()), out_specs=(ROWS, ROWS))

    def both(q, k, v, sink, dout, dlse):
        results, pull = jax.vjp(shards, q, k, v, sink)
        return *results, *pull((dout, dlse))

    given = [jnp.asarray(x[:, :, order]) for x in (q, k, v, dout, dlse)]
    found = jax.jit(both)(*given[:3], sink, *given[3:])
    return [np.asarray(x)[:, :, back] for x in found[:5]] + [np.asarray(found[5])] * ("sink" in options)


@pytest.mark.parametrize("case", CASES)
def test_a_ring_computes_the_attention_of_the_whole(case):
    options, layout, dtype = CASES[case]
    given = inputs(ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float32)
    for x, y in zip(of_ring(options, layout, N, *given), reference(options, *given), strict=True):
        bound = 2e-6 if dtype == "float32" else 2e-2
        assert np.abs(x.astype(np.float64) - y).max() <= bound * np.abs(y).max()


def test_the_backward_takes_lse_of_whole_rows():
    q, k, v, _, dout, _ = inputs(np.float32)
    out, lse, row_max = attn.jax.sdpa(q, k, v, causal="top_left", return_lse=True, return_max=True)
    dq, half = 0, S // 2
    parts = []
    for n in range(2):
        offsets = np.full(B, -n * half, np.int32)
        keys = (x[:, :, n * half : (n + 1) * half] for x in (k, v))
        found = attn.jax.sdpa_backward(q, *keys, out, (row_max, lse - row_max), dout, causal=offsets)
        dq = dq + found[0]
        parts.append(found[1:])
    expected = attn.reference.sdpa_backward(
        *(np.asarray(x).astype(np.float64) for x in (q, k, v, out, lse, dout)), causal="top_left"
    )
    dk, dv = (np.concatenate([x[n] for x in parts], 2) for n in (0, 1))
    for x, y in zip((dq, dk, dv), expected.values(), strict=True):
        assert np.abs(np.asarray(x) - y).max() <= 2e-6 * np.abs(y).max()


def test_the_example_runs():
    example = Path(__file__).resolve().parents[2] / "examples/python/ring.py"
    found = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("4 devices: gradients differ by ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "rows"}, r"expected layout to be one of contiguous, zigzag, striped, found 'rows'"),
        ({"causal": "top_left"}, r"expected causal to be True or False in a ring"),
    ],
)
def test_what_a_ring_does_not_have_is_refused(options, message):
    q, k, v, *_ = inputs(np.float32)
    with pytest.raises((TypeError, ValueError), match=message):
        attn.jax.ring_sdpa(q, k, v, axis_name="s", **options)
