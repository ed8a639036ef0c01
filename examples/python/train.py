"""A small language model, trained twice from one seed: with attn and with PyTorch's own attention. Needs PyTorch.

    scripts/setup.sh --frameworks
    build/frameworks/bin/python examples/python/train.py loss.png

The model predicts the next byte of docs/Semantics.md. Both runs have the same weights, batches and optimiser, so the
curves lie on each other; the largest difference is printed. test/frameworks/test_training.py runs it in float64.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

import attn.torch

TEXT = Path(__file__).resolve().parents[2] / "docs/Semantics.md"
BYTES, WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 256, 32, 4, 2, 32, 8


class Block(nn.Module):
    """A transformer block whose attention is a function with the signature of F.scaled_dot_product_attention."""

    def __init__(self, attention):
        super().__init__()
        self.attention = attention
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = (
            y.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        x = x + self.project(self.attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """Bytes to the logits of the next one."""

    def __init__(self, attention):
        super().__init__()
        self.bytes, self.positions = nn.Embedding(BYTES, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(attention) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, BYTES)

    def forward(self, ids):
        x = self.bytes(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def train(attention, steps=200, dtype=torch.float32):
    """The losses of each step, from a fixed seed."""
    torch.manual_seed(0)
    text = torch.tensor(list(TEXT.read_bytes()))
    model = Model(attention).to(dtype)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(text) - CONTEXT - 1, (BATCH,))
        batch = torch.stack([text[n : n + CONTEXT + 1] for n in starts])
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def draw(curves, path):
    """The curves in one picture."""
    from matplotlib.figure import Figure

    axes = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    for (name, losses), style in zip(curves.items(), ("-", "--"), strict=True):
        axes.plot(losses, style, label=name)
    axes.set(xlabel="step", ylabel="loss, nats a byte", title="one model, one seed, two attentions")
    axes.legend()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    curves = {"attn": train(attn.torch.sdpa), "PyTorch": train(F.scaled_dot_product_attention)}
    difference = max(abs(x - y) for x, y in zip(*curves.values(), strict=True))
    first, last = curves["attn"][0], curves["attn"][-1]
    print(f"loss {first:.3f} to {last:.3f}, largest difference from PyTorch's {difference:.1e}")
    if len(sys.argv) > 1:
        draw(curves, sys.argv[1])
