#!/usr/bin/env python3
"""Times transformer blocks through attn beside the same blocks in PyTorch eager.

  . build/peers/bin/activate                                  # of setup_peers.sh
  PYTHONPATH=python:test/Frontends/generate python benchmarks/blocks.py [--threads=1,2] [--rounds=15]

Blocks of PyTorch are modules that torch.onnx.export writes and attn.from_onnx compiles as whole graphs; those of JAX
are lowered to linalg by iree-base-compiler. A ViT-B-like block (12 heads, GELU) and a Llama-like one (12 heads, 4 of
keys, causal, SwiGLU; that of PyTorch with RMSNorm and RoPE), of 768 columns and 512 rows, in f32. Results must agree.
Of blocks of PyTorch two parts are timed alone, in the same rounds: the products with weights, and attention with its
RoPE.
"""

from __future__ import annotations

import argparse
import os
import statistics
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
from torch import Tensor, nn

import attn

ROWS, COLUMNS, HEADS, KV_HEADS, HIDDEN = 512, 768, 12, 4, 3072
SIZE = COLUMNS // HEADS
OPSET = 23  # the first with Attention
TOLERANCE = 2e-4
# Idle threads of an OpenMP library spin for so many seconds (libomp: 0.2), and would take the other's processors.
REST = 0.25
Array = Any  # of JAX or PyTorch
Pair = tuple[Callable, Callable]  # a call through attn and the same in PyTorch


class Rope(nn.Module):
    """Rotary embedding of (1, heads, ROWS, SIZE), halves as Llama has them."""

    def __init__(self) -> None:
        """Makes the tables."""
        super().__init__()
        angles = torch.outer(torch.arange(ROWS), 10_000 ** (-torch.arange(0, SIZE, 2) / SIZE)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x: Tensor) -> Tensor:
        """Rotates pairs of columns, by the position of their row."""
        left, right = x.chunk(2, -1)
        return x * self.cos + torch.cat((-right, left), -1) * self.sin


class Attention(nn.Module):
    """Attention between the projections, on (1, ROWS, heads * SIZE)."""

    def __init__(self, rotate: nn.Module, **options: bool) -> None:
        """With the options of F.scaled_dot_product_attention."""
        super().__init__()
        self.rotate, self.options = rotate, options

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Splits heads, and joins them again."""
        q, k, v = (x.unflatten(-1, (-1, SIZE)).transpose(1, 2) for x in (q, k, v))
        out = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, **self.options)
        return out.transpose(1, 2).flatten(2)


class Vit(nn.Module):
    """An encoder block as ViT-B has it."""

    def __init__(self) -> None:
        """With PyTorch's initial weights."""
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(COLUMNS), nn.LayerNorm(COLUMNS)
        self.q, self.k, self.v, self.o = (nn.Linear(COLUMNS, COLUMNS) for _ in range(4))
        self.up, self.down = nn.Linear(COLUMNS, HIDDEN), nn.Linear(HIDDEN, COLUMNS)
        self.attention = Attention(nn.Identity())

    def forward(self, x: Tensor) -> Tensor:
        """Of (1, ROWS, COLUMNS)."""
        h = self.norm1(x)
        x = x + self.o(self.attention(self.q(h), self.k(h), self.v(h)))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Llama(nn.Module):
    """A decoder block as Llama has it."""

    def __init__(self) -> None:
        """With PyTorch's initial weights."""
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(COLUMNS, eps=1e-5), nn.RMSNorm(COLUMNS, eps=1e-5)
        self.q, self.o = (nn.Linear(COLUMNS, COLUMNS, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(COLUMNS, KV_HEADS * SIZE, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(COLUMNS, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, COLUMNS, bias=False)
        self.attention = Attention(Rope(), is_causal=True, enable_gqa=True)

    def forward(self, x: Tensor) -> Tensor:
        """Of (1, ROWS, COLUMNS)."""
        h = self.norm1(x)
        x = x + self.o(self.attention(self.q(h), self.k(h), self.v(h)))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Products(nn.Module):
    """The products with weights of a block, alone."""

    def __init__(self, block: nn.Module) -> None:
        """Of its linear layers."""
        super().__init__()
        self.layers = nn.ModuleList(layer for layer in block.modules() if isinstance(layer, nn.Linear))

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
        """Each layer of x, or of the hidden columns."""
        return tuple(layer(hidden if layer.in_features == HIDDEN else x) for layer in self.layers)


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


E, G, M = COLUMNS, KV_HEADS * SIZE, HIDDEN
JAX_BLOCKS = {
    "ViT-B-like of JAX": (vit, vit_torch, [(E, E), (E, E), (E, E), (E, E), (E, M), (M, E)]),
    "Llama-like of JAX": (llama, llama_torch, [(E, E), (E, G), (E, G), (E, E), (E, M), (M, E), (E, M)]),
}
TORCH_BLOCKS = {"ViT-B-like of PyTorch": Vit, "Llama-like of PyTorch": Llama}


def draw(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Normal numbers."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def make_pair(kernel: Callable, eager: Callable, arrays: list[np.ndarray]) -> Pair:
    """The two calls, after their results were compared."""
    tensors = [*map(torch.from_numpy, arrays)]
    found, expected = kernel(*arrays), eager(*tensors)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=TOLERANCE)
    return lambda: kernel(*arrays), lambda: eager(*tensors)


def export(module: nn.Module, *shapes: tuple[int, ...]) -> Pair:
    """A module through ONNX, as one kernel of the whole graph."""
    arrays = draw(*shapes)
    arguments = tuple(map(torch.from_numpy, arrays))
    program = torch.onnx.export(module.eval(), arguments, dynamo=True, opset_version=OPSET, verbose=False)
    model = program.model_proto
    return make_pair(attn.from_onnx(model, model.graph.name, fail_on_fallback=True), module, arrays)


def make_torch(kind: Callable[[], nn.Module]) -> list[Pair]:
    """A block of PyTorch, its products and its attention."""
    torch.manual_seed(0)
    block = kind()
    columns = block.k.out_features
    return [
        export(block, (1, ROWS, COLUMNS)),
        export(Products(block), (1, ROWS, COLUMNS), (1, ROWS, HIDDEN)),
        export(block.attention, (1, ROWS, COLUMNS), (1, ROWS, columns), (1, ROWS, columns)),
    ]


def make_jax(of_jax: Callable, of_torch: Callable, shapes: list[tuple[int, int]]) -> list[Pair]:
    """A block of JAX, its weights as arguments."""
    x, *weights = draw((ROWS, COLUMNS), *shapes)
    arrays = [x, *(w * np.float32(w.shape[0] ** -0.5) for w in weights)]
    with tempfile.TemporaryDirectory() as folder:
        kernel = attn.compile(lower_jax(of_jax, arrays, Path(folder)), fail_on_fallback=True)
    return [make_pair(kernel, of_torch, arrays)]


def run_rounds(pairs: list[Pair], threads: int, rounds: int) -> list[tuple[list[float], list[float]]]:
    """Milliseconds of attn and PyTorch, pair by pair. A turn is an untimed call and a timed one."""
    attn.set_num_threads(threads)
    torch.set_num_threads(threads)
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in pairs]
    for _ in range(rounds):
        for pair, found in zip(pairs, times, strict=True):
            for call, list_of in zip(pair, found, strict=True):
                time.sleep(REST if threads > 1 else 0)
                call()
                begin = time.perf_counter()
                call()
                list_of.append((time.perf_counter() - begin) * 1e3)
    return times


def describe(times: list[float]) -> str:
    """The best and the median."""
    return f"{min(times):.1f} / {statistics.median(times):.1f} ms"


def describe_shares(block: list[float], products: list[float], attention: list[float]) -> str:
    """What the parts take of a block's time, by the best of each."""
    parts = [min(products) / min(block), min(attention) / min(block)]
    shares = [f"{share:.0%}".replace("%", " %") for share in (*parts, 1 - sum(parts))]
    return f"{shares[0]} products with weights, {shares[1]} attention, {shares[2]} the rest"


def main() -> None:
    """Parses the command line, and prints the table with its notes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    notes = [f"Versions: torch {torch.__version__}, jax {jax.__version__}."]
    print("| block | threads | attn best / median | PyTorch best / median | PyTorch ÷ attn |")
    print("| --- | --- | --- | --- | --- |")
    with torch.no_grad():
        blocks = {name: make_torch(kind) for name, kind in TORCH_BLOCKS.items()}
        blocks |= {name: make_jax(*block) for name, block in JAX_BLOCKS.items()}
        for name, pairs in blocks.items():
            for threads in map(int, options.threads.split(",")):
                times = run_rounds(pairs, threads, options.rounds)
                ours, theirs = times[0]
                ratio = min(theirs) / min(ours)
                print(f"| {name} | {threads} | {describe(ours)} | {describe(theirs)} | {ratio:.2f} × |", flush=True)
                if len(times) > 1:
                    for system, of_system in zip(("attn", "PyTorch"), zip(*times, strict=True), strict=True):
                        notes.append(f"{name}, --threads={threads}, {system}: {describe_shares(*of_system)}.")
    notes.append(f"Load average before {load:.1f}, after {os.getloadavg()[0]:.1f}.")
    print("\n" + "\n".join(f"* {note}" for note in notes))


if __name__ == "__main__":
    main()
