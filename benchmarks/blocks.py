#!/usr/bin/env python3
"""Times transformer blocks of JAX, as linalg through attn, beside the same blocks in PyTorch eager.

  PYTHONPATH=python:test/Frontends/generate python benchmarks/blocks.py [--threads=1,2] [--rounds=7]

Needs jax, torch and iree-base-compiler, which lowers StableHLO to linalg. A ViT-B-like block (768 columns, 12 heads,
GELU) and a Llama-like one (768 columns, 12 heads, 4 of keys, causal, SwiGLU), both f32 with 512 rows; then the products
with weights alone, which take most of the time. The best of rounds in turn; results must agree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everyone calls it
from to_linalg import lower_jax

import attn

ROWS, COLUMNS, HEADS, KV_HEADS, HIDDEN = 512, 768, 12, 4, 3072
SIZE = COLUMNS // HEADS
Array = Any  # of JAX or PyTorch


def normalize(x: Array) -> Array:
    """Layer norm without weights."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def split(x: Array, heads: int) -> Array:
    """Heads of (ROWS, heads * SIZE) first."""
    return x.reshape(ROWS, heads, SIZE).swapaxes(0, 1)


def vit(x: Array, *weights: Array) -> Array:
    """A pre-norm block with a GELU MLP."""
    wq, wk, wv, wo, w1, w2 = weights
    h = normalize(x)
    q, k, v = (split(h @ w, HEADS) for w in (wq, wk, wv))
    p = jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) / SIZE**0.5, axis=-1)
    x = x + (p @ v).swapaxes(0, 1).reshape(ROWS, COLUMNS) @ wo
    return x + jax.nn.gelu(normalize(x) @ w1) @ w2


def vit_torch(x: Array, *weights: Array) -> Array:
    """The same, as PyTorch users write it."""
    wq, wk, wv, wo, w1, w2 = weights
    h = F.layer_norm(x, (COLUMNS,))
    q, k, v = (y.view(ROWS, HEADS, SIZE).transpose(0, 1)[None] for y in (h @ wq, h @ wk, h @ wv))
    o = F.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).reshape(ROWS, COLUMNS)
    x = x + o @ wo
    return x + F.gelu(F.layer_norm(x, (COLUMNS,)) @ w1, approximate="tanh") @ w2


def llama(x: Array, *weights: Array) -> Array:
    """A causal block with grouped keys and SwiGLU."""
    wq, wk, wv, wo, w1, w2, w3 = weights
    h = normalize(x)
    q, k, v = split(h @ wq, HEADS), split(h @ wk, KV_HEADS), split(h @ wv, KV_HEADS)
    k, v = (jnp.repeat(y, HEADS // KV_HEADS, 0) for y in (k, v))
    row = jnp.arange(ROWS)
    s = jnp.where(row[:, None] >= row[None], jnp.einsum("hqd,hkd->hqk", q, k) / SIZE**0.5, -jnp.inf)
    x = x + (jax.nn.softmax(s, axis=-1) @ v).swapaxes(0, 1).reshape(ROWS, COLUMNS) @ wo
    h = normalize(x)
    return x + (jax.nn.silu(h @ w1) * (h @ w3)) @ w2


def llama_torch(x: Array, *weights: Array) -> Array:
    """The same, as PyTorch users write it."""
    wq, wk, wv, wo, w1, w2, w3 = weights
    h = F.layer_norm(x, (COLUMNS,))
    q, k, v = (y.view(ROWS, -1, SIZE).transpose(0, 1)[None] for y in (h @ wq, h @ wk, h @ wv))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0]
    x = x + o.transpose(0, 1).reshape(ROWS, COLUMNS) @ wo
    h = F.layer_norm(x, (COLUMNS,))
    return x + (F.silu(h @ w1) * (h @ w3)) @ w2


def product(x: Array, w: Array) -> Array:
    """One projection."""
    return x @ w


E, G, M = COLUMNS, KV_HEADS * SIZE, HIDDEN
BLOCKS = {
    "ViT-B-like": (vit, vit_torch, [(E, E), (E, E), (E, E), (E, E), (E, M), (M, E)]),
    "Llama-like": (llama, llama_torch, [(E, E), (E, G), (E, G), (E, E), (E, M), (M, E), (E, M)]),
    f"{ROWS}x{E} by {E}x{M}": (product, product, [(E, M)]),
    f"{ROWS}x{E} by {E}x{E}": (product, product, [(E, E)]),
}


def get_best(ours: Callable, theirs: Callable, rounds: int) -> list[float]:
    """Milliseconds of the fastest call of each, in turn."""
    best = [float("inf")] * 2
    for _ in range(rounds):
        for i, call in enumerate((ours, theirs)):
            begin = time.perf_counter()
            call()
            best[i] = min(best[i], (time.perf_counter() - begin) * 1e3)
    return best


def compare(name: str, of_jax: Callable, of_torch: Callable, shapes: list, threads: list[int], rounds: int) -> None:
    """Prints a row for each number of threads."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)]
    arrays += [(rng.standard_normal(s) * s[0] ** -0.5).astype(np.float32) for s in shapes]
    with tempfile.TemporaryDirectory() as folder:
        kernel = attn.compile(lower_jax(of_jax, arrays, Path(folder)), fail_on_fallback=True)
    tensors = [torch.from_numpy(x) for x in arrays]
    np.testing.assert_allclose(kernel(*arrays), of_torch(*tensors).numpy(), atol=2e-4)
    for count in threads:
        attn.set_num_threads(count)
        torch.set_num_threads(count)
        ours, theirs = get_best(lambda: kernel(*arrays), lambda: of_torch(*tensors), rounds)
        print(f"| {name} | {count} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |", flush=True)


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print("| block | threads | attn ms | PyTorch ms | attn / PyTorch |\n| --- | --- | --- | --- | --- |")
    with torch.no_grad():
        for name, block in BLOCKS.items():
            compare(name, *block, list(map(int, options.threads.split(","))), options.rounds)


if __name__ == "__main__":
    main()
