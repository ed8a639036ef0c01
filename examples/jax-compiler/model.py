"""Writes model.mlir: causal self-attention of a transformer, from JAX to linalg, and what JAX itself calculates.

python -m venv /tmp/jax && /tmp/jax/bin/pip install jax iree-base-compiler
PATH=/tmp/jax/bin:$PATH python model.py
"""

import re
import subprocess
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

BATCH, ROWS, HEADS, SIZE = 2, 96, 4, 16
WIDTH = HEADS * SIZE


def attend(x, wq, wk, wv, wo):
    """x + softmax(Q Kᵀ / sqrt(SIZE), keys up to each query's own) V Wo"""
    q, k, v = (jnp.reshape(x @ w, (BATCH, ROWS, HEADS, SIZE)).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(SIZE).astype(np.float32)
    scores = jnp.where(jnp.tril(jnp.ones((ROWS, ROWS), bool)), scores, -jnp.inf)
    out = jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(scores, axis=-1), v)
    return x + out.transpose(0, 2, 1, 3).reshape(BATCH, ROWS, WIDTH) @ wo


def argument(number, *shape):
    """The numbers that compiler.cpp gives to argument `number`."""
    return (0.3 * np.sin(0.7 * np.arange(np.prod(shape)) + number)).astype(np.float32).reshape(shape)


arguments = [argument(0, BATCH, ROWS, WIDTH), *(argument(i, WIDTH, WIDTH) for i in range(1, 5))]
function = jax.jit(attend)
stablehlo = re.sub(r", algorithm = <[^>]*>", "", function.lower(*arguments).as_text())  # a hint
with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
    file.write(stablehlo)
    file.flush()
    command = ["iree-compile", "--iree-input-type=stablehlo", "--compile-to=input", file.name]
    linalg = subprocess.run(command, check=True, capture_output=True, text=True).stdout
linalg = linalg.replace("util.func public", "func.func").replace("util.func private", "func.func private")
linalg = linalg.replace("util.return", "return")
expected = np.asarray(function(*arguments)).ravel()[-3:]
numbers = " ".join(f"{x:.3f}" for x in expected)
header = f"// Made by model.py, jax {jax.__version__}. The last numbers of the result: {numbers}\n"
Path(__file__).with_name("model.mlir").write_text(header + linalg)
