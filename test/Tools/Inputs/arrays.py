"""Writes the inputs of small.mlir to FOLDER, and inputs that do not fit: `arrays.py FOLDER`."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
rng = np.random.default_rng(3)
q, k, v = (rng.standard_normal(shape, dtype=np.float32) for shape in [(2, 5, 6), (1, 7, 6), (1, 7, 3)])
for name, array in {
    "q": q,
    "k": k,
    "v": v,
    "q-shape": np.zeros((2, 5, 7), np.float32),
    "q-rank": q.reshape(10, 6),
    "q-type": q.astype(np.float64),
    "q-order": np.asfortranarray(q),
}.items():
    np.save(folder / f"{name}.npy", array)
(folder / "q-half.npy").write_bytes((folder / "q.npy").read_bytes()[:-4])
