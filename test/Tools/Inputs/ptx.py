"""Arrays for the samples of PTX and what they must compute.

`ptx.py add FOLDER`: x.npy and y.npy for vector_add.ptx; `ptx.py check-add FOLDER`: sum.npy is their sum.
`ptx.py flash FOLDER`: q.npy, k.npy and v.npy, bfloat16, 256 × 64; `ptx.py check-flash FOLDER`: o.npy is attention.
"""

import sys
from pathlib import Path

import numpy as np

from attn import reference


def to_bfloat16(array):
    """f32 → bfloat16, halves to even, as attn's .npy files hold it."""
    bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view("V2")


def from_bfloat16(array):
    """bfloat16 → f64."""
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


command, folder = sys.argv[1], Path(sys.argv[2])
generator = np.random.default_rng(0)
if command == "add":
    for name in "xy":
        np.save(folder / f"{name}.npy", generator.standard_normal((10, 100), dtype=np.float32))
elif command == "check-add":
    x, y, found = (np.load(folder / f"{name}.npy") for name in ("x", "y", "sum"))
    np.testing.assert_array_equal(found, x + y)
elif command == "flash":
    for name in "qkv":
        np.save(folder / f"{name}.npy", to_bfloat16(generator.standard_normal((256, 64))))
else:
    q, k, v, found = (from_bfloat16(np.load(folder / f"{name}.npy")) for name in "qkvo")
    expected = reference.sdpa(q[None, None], k[None, None], v[None, None])[0, 0]
    np.testing.assert_allclose(found, expected, atol=4e-3)
    print(f"largest error {np.abs(found - expected).max():.1e}")
