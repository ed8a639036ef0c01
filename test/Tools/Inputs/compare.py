"""Compares out.npy and lse.npy in FOLDER with the formula of small.mlir, and removes them: `compare.py FOLDER`."""

import sys
from pathlib import Path

import numpy as np

from attn import reference

folder = Path(sys.argv[1])
q, k, v = (np.load(folder / f"{name}.npy")[None] for name in "qkv")
expected = reference.sdpa(q, k, v, causal="bottom_right", scale=0.5, softcap=30.0, return_lse=True)
for name, array in zip(["out", "lse"], expected, strict=True):
    path = folder / f"{name}.npy"
    np.testing.assert_allclose(np.load(path), array[0], atol=1e-5, err_msg=name)
    path.unlink()
