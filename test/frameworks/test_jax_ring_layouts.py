"""Zigzag and striped rows of `attn.jax.ring_sdpa` on 1, 2 and 4 devices, their masks, and results of 16 bits."""

import jax
import ml_dtypes
import numpy as np
import pytest
from test_jax_ring import N, S, inputs, of_ring, reference

import attn
import attn.jax

pytestmark = pytest.mark.skipif(
    jax.device_count() < N, reason="JAX was started by another file, with less than 4 devices"
)
CAUSAL = {"causal": True}
WINDOW = {**CAUSAL, "window": (21, None), "softcap": 5.0, "sink": True}
CASES = [
    (4, "zigzag", {}),
    (4, "zigzag", {**CAUSAL, "sink": True}),
    (4, "zigzag", {"window": (5, 20)}),
    (2, "zigzag", WINDOW),
    (1, "zigzag", WINDOW),
    (4, "striped", WINDOW),
    (2, "striped", {"window": (5, 20)}),
    # From some step on no key of it, or the window begins behind the offset.
    (4, "striped", {**CAUSAL, "window": (1, 3)}),
    (4, "striped", {"window": (1, 5)}),
    (4, "striped", {"window": (0, 0)}),
    (1, "striped", {"window": (None, 7)}),
]


@pytest.mark.parametrize(("devices", "layout", "options"), CASES)
def test_layouts_compute_the_attention_of_the_whole(devices, layout, options):
    given = inputs(np.float32)
    if (devices, layout) == (1, "zigzag"):  # blocks as on two devices, whose kernels it shares, and not of open sizes
        given = [x if x.ndim == 1 else x[:, :, : S // 2] for x in given]
    names = ("out", "lse", "dq", "dk", "dv", "dsink")
    for name, x, y in zip(names, of_ring(options, layout, devices, *given), reference(options, *given), strict=False):
        assert np.abs(x - y).max() <= 2e-6 * np.abs(y).max(), name


def test_narrow_results_are_rounded_once():
    """In bfloat16 the error of devices is that of one call, in the root of mean squares; gradients' not above it."""
    given = inputs(ml_dtypes.bfloat16)
    q, k, v, _, dout, dlse = given
    wanted = reference(CAUSAL, *given)

    def whole(q, k, v):
        return attn.jax.sdpa(q, k, v, causal="top_left", return_lse=True)

    (out, lse), pull = jax.vjp(jax.jit(whole), q, k, v)
    one = [out, lse, *pull((dout, dlse))]
    rms = lambda x, y: float(np.sqrt(np.mean(np.square(np.asarray(x).astype(np.float64) - y))))  # noqa: E731
    for devices, layout in ((4, "zigzag"), (4, "striped"), (2, "contiguous"), (1, "contiguous")):
        found = of_ring(CAUSAL, layout, devices, *given)
        for index in (0, 2, 3, 4):
            error, allowed = rms(found[index], wanted[index]), 1.02 * rms(one[index], wanted[index])
            assert error <= allowed, f"{devices}, {layout}, {index}: {error:.2e} > {allowed:.2e}"


def test_zigzag_rows_are_two_blocks():
    q = np.zeros((1, 1, 3, 4), np.float32)
    with pytest.raises(ValueError, match=r"expected two blocks of equally many rows .* found 3 rows; pad"):
        attn.jax.ring_sdpa(q, q, q, axis_name="s", layout="zigzag")


def test_rows_that_devices_do_not_divide_and_axes_that_are_not_there_are_refused():
    mesh = jax.make_mesh((N,), ("s",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:N])
    rows = jax.sharding.PartitionSpec(None, None, "s")

    def ring(axis):
        function = lambda q: attn.jax.ring_sdpa(q, q, q, axis_name=axis, causal=True)  # noqa: E731
        return jax.shard_map(function, mesh=mesh, in_specs=rows, out_specs=rows)

    with pytest.raises(ValueError, match="evenly divisible"):
        ring("s")(np.zeros((1, 1, 4 * N - 2, 4), np.float32))
    with pytest.raises(NameError, match="rows"):
        ring("rows")(np.zeros((1, 1, 4 * N, 4), np.float32))
