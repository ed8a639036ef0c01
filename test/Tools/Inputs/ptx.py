"""`ptx.py FOLDER`: x.npy and y.npy for vector_add.ptx. `ptx.py FOLDER check`: sum.npy is their sum."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
if len(sys.argv) == 2:
    generator = np.random.default_rng(0)
    for name in "xy":
        np.save(folder / f"{name}.npy", generator.standard_normal((10, 100), dtype=np.float32))
else:
    x, y, found = (np.load(folder / f"{name}.npy") for name in ("x", "y", "sum"))
    np.testing.assert_array_equal(found, x + y)
