"""Transformer blocks of JAX: functions, with the same as PyTorch users write it.

As those of block_models.py, but that norms have no weights, products no bias, and there is no RoPE.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import torch.nn.functional as F  # noqa: N812 - as everyone calls it
from block_models import COLUMNS, HEADS, HIDDEN, KV_HEADS, SIZE

Array = Any  # of JAX or PyTorch


def normalize(x: Array) -> Array:
    """Layer norm without weights."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def split(x: Array, heads: int) -> Array:
    """Heads of (rows, heads * SIZE) first."""
    return x.reshape(-1, heads, SIZE).swapaxes(0, 1)


def vit(x: Array, *weights: Array) -> Array:
    """A pre-norm block with a GELU MLP."""
    wq, wk, wv, wo, w1, w2 = weights
    h = normalize(x)
    q, k, v = (split(h @ w, HEADS) for w in (wq, wk, wv))
    p = jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) / SIZE**0.5, axis=-1)
    x = x + (p @ v).swapaxes(0, 1).reshape(-1, COLUMNS) @ wo
    return x + jax.nn.gelu(normalize(x) @ w1) @ w2


def vit_torch(x: Array, *weights: Array) -> Array:
    """The same, as PyTorch users write it."""
    wq, wk, wv, wo, w1, w2 = weights
    h = F.layer_norm(x, (COLUMNS,))
    q, k, v = (y.view(-1, HEADS, SIZE).transpose(0, 1)[None] for y in (h @ wq, h @ wk, h @ wv))
    o = F.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).reshape(-1, COLUMNS)
    x = x + o @ wo
    return x + F.gelu(F.layer_norm(x, (COLUMNS,)) @ w1, approximate="tanh") @ w2


def llama(x: Array, *weights: Array) -> Array:
    """A causal block with grouped keys and SwiGLU."""
    wq, wk, wv, wo, w1, w2, w3 = weights
    h = normalize(x)
    q, k, v = split(h @ wq, HEADS), split(h @ wk, KV_HEADS), split(h @ wv, KV_HEADS)
    k, v = (jnp.repeat(y, HEADS // KV_HEADS, 0) for y in (k, v))
    row = jnp.arange(len(x))
    s = jnp.where(row[:, None] >= row[None], jnp.einsum("hqd,hkd->hqk", q, k) / SIZE**0.5, -jnp.inf)
    x = x + (jax.nn.softmax(s, axis=-1) @ v).swapaxes(0, 1).reshape(-1, COLUMNS) @ wo
    h = normalize(x)
    return x + (jax.nn.silu(h @ w1) * (h @ w3)) @ w2


def llama_torch(x: Array, *weights: Array) -> Array:
    """The same, as PyTorch users write it."""
    wq, wk, wv, wo, w1, w2, w3 = weights
    h = F.layer_norm(x, (COLUMNS,))
    q, k, v = (y.view(len(y), -1, SIZE).transpose(0, 1)[None] for y in (h @ wq, h @ wk, h @ wv))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0]
    x = x + o.transpose(0, 1).reshape(-1, COLUMNS) @ wo
    h = F.layer_norm(x, (COLUMNS,))
    return x + (F.silu(h @ w1) * (h @ w3)) @ w2


E, G, M = COLUMNS, KV_HEADS * SIZE, HIDDEN
JAX_BLOCKS = {
    "ViT-B-like of JAX": (vit, vit_torch, [(E, E), (E, E), (E, E), (E, E), (E, M), (M, E)]),
    "Llama-like of JAX": (llama, llama_torch, [(E, E), (E, G), (E, G), (E, E), (E, M), (M, E), (E, M)]),
}
