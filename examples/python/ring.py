"""Ring attention on the devices of JAX, beside one call on the whole (docs/Scaling.md).

XLA_FLAGS=--xla_force_host_platform_device_count=4 python examples/python/ring.py
"""

import functools

import jax
import numpy as np

import attn.jax

devices = jax.device_count()
mesh = jax.make_mesh((devices,), ("s",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
q, k, v, dout = (rng.standard_normal((1, 4, 64 * devices, 32)).astype(np.float32) for _ in range(4))
rows = jax.sharding.PartitionSpec(None, None, "s")
attention = functools.partial(attn.jax.ring_sdpa, axis_name="s", causal=True)
shards = jax.shard_map(attention, mesh=mesh, in_specs=(rows, rows, rows), out_specs=rows)
found = jax.jit(jax.grad(lambda q, k, v: (shards(q, k, v) * dout).sum(), (0, 1, 2)))(q, k, v)
whole = jax.jit(jax.grad(lambda q, k, v: (attn.jax.sdpa(q, k, v, causal="top_left") * dout).sum(), (0, 1, 2)))(q, k, v)
error = max(float(abs(x - y).max() / abs(y).max()) for x, y in zip(found, whole, strict=True))
assert error < 1e-5
print(f"{devices} devices: gradients differ by {error:.1e}")
