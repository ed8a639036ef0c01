"""Transformer blocks of PyTorch: modules.

A ViT-B-like block (12 heads, GELU) and a Llama-like one (12 heads, 4 of keys, causal, SwiGLU,
RMSNorm, RoPE), of 768 columns, in f32.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - as everyone calls it
from torch import Tensor, nn

COLUMNS, HEADS, KV_HEADS, HIDDEN = 768, 12, 4, 3072
SIZE = COLUMNS // HEADS


class Rope(nn.Module):
    """Rotary embedding of (1, heads, rows, SIZE), halves as Llama has them."""

    def __init__(self, rows: int) -> None:
        """Makes the tables."""
        super().__init__()
        angles = torch.outer(torch.arange(rows), 10_000 ** (-torch.arange(0, SIZE, 2) / SIZE)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x: Tensor) -> Tensor:
        """Rotates pairs of columns, by the position of their row."""
        left, right = x.chunk(2, -1)
        return x * self.cos + torch.cat((-right, left), -1) * self.sin


class Attention(nn.Module):
    """Attention between the projections, on (1, rows, heads * SIZE)."""

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

    def __init__(self, rows: int) -> None:
        """With PyTorch's initial weights."""
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(COLUMNS), nn.LayerNorm(COLUMNS)
        self.q, self.k, self.v, self.o = (nn.Linear(COLUMNS, COLUMNS) for _ in range(4))
        self.up, self.down = nn.Linear(COLUMNS, HIDDEN), nn.Linear(HIDDEN, COLUMNS)
        self.attention = Attention(nn.Identity())

    def forward(self, x: Tensor) -> Tensor:
        """Of (1, rows, COLUMNS)."""
        h = self.norm1(x)
        x = x + self.o(self.attention(self.q(h), self.k(h), self.v(h)))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Llama(nn.Module):
    """A decoder block as Llama has it."""

    def __init__(self, rows: int) -> None:
        """With PyTorch's initial weights."""
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(COLUMNS, eps=1e-5), nn.RMSNorm(COLUMNS, eps=1e-5)
        self.q, self.o = (nn.Linear(COLUMNS, COLUMNS, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(COLUMNS, KV_HEADS * SIZE, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(COLUMNS, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, COLUMNS, bias=False)
        self.attention = Attention(Rope(rows), is_causal=True, enable_gqa=True)

    def forward(self, x: Tensor) -> Tensor:
        """Of (1, rows, COLUMNS)."""
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
