"""What frameworks hand over: training steps, views, generations, changing lengths and short sequences, beside PyTorch.

Of each line attn and PyTorch take turns, in one process; the median of the rounds counts. Kernels are compiled anew
(no disk cache); lines called "first" include that.

    build/frameworks/bin/python benchmarks/frameworks.py --threads 2
    build/frameworks/bin/python benchmarks/frameworks.py --threads 1 --only "training step"
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import Tensor, nn
from views import fused, heads_inside, in_cache, seconds

import attn
import attn.torch

ROUNDS, CALLS_AT_LEAST = 15, 0.02
WIDTH, HEADS, LAYERS, BATCH, BYTES = 256, 4, 4, 8, 256
LENGTHS, CACHE = 200, 4096
Attention = Callable[..., Tensor]
Work = Callable[[], object]


class Line(NamedTuple):
    """One row: what attn does, and what PyTorch does instead."""

    title: str
    attn: Work
    torch: Work
    once: bool = False  # the first call is what counts


class Block(nn.Module):
    """A block of a GPT, whose attention is a function with the signature of F.scaled_dot_product_attention."""

    def __init__(self, attention: Attention) -> None:
        """Of WIDTH columns."""
        super().__init__()
        self.attention = attention
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """(B, S, WIDTH) to the same."""
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (y.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2) for y in parts)
        x = x + self.project(self.attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


def training_step(attention: Attention, length: int) -> Work:
    """One step of AdamW on a batch of random bytes."""
    torch.manual_seed(0)
    blocks = [Block(attention) for _ in range(LAYERS)]
    model = nn.Sequential(nn.Embedding(BYTES, WIDTH), *blocks, nn.Linear(WIDTH, BYTES))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(BYTES, (BATCH, length + 1))

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimiser.step()

    return step


def forward(attention: Attention, inputs: list[Tensor], **options: Any) -> Work:
    """A call without gradients."""

    def call() -> Tensor:
        with torch.no_grad():
            return attention(*inputs, **options)

    return call


def gradients(attention: Attention, inputs: list[Tensor]) -> object:
    """A causal call and the gradients of its sum."""
    return torch.autograd.grad(attention(*inputs, is_causal=True).sum(), inputs)


def both(title: str, work: Callable[..., Work], *arguments: Any, **options: Any) -> Line:
    """The same work with attn's attention and with PyTorch's."""
    ways = (attn.torch.sdpa, F.scaled_dot_product_attention)
    mine, peers = [work(attention, *arguments, **options) for attention in ways]
    return Line(title, mine, peers)


def of_views() -> Iterator[Line]:
    """Decode on a slice of a cache and on (B, S, H, D), prefill on parts of one projection."""
    q, *kv = [torch.randn(4, heads, rows, 128) for heads, rows in ((32, 1), (8, CACHE), (8, CACHE))]
    yield both("view: decode on a slice of a static cache", forward, [q, *map(in_cache, kv)], enable_gqa=True)
    yield both("view: decode on (B, S, H, D)", forward, [q, *map(heads_inside, kv)], enable_gqa=True)
    qkv = fused(*[torch.randn(1, 8, 1024, 64) for _ in range(3)])
    yield both("view: prefill, causal, of a fused qkv", forward, qkv, is_causal=True)


def of_queries() -> Iterator[Line]:
    """Few queries on a cache, of one kernel for all numbers."""
    for queries in (1, 4, 8, 16, 24):
        inputs = [torch.randn(1, heads, rows, 128) for heads, rows in ((32, queries), (8, CACHE), (8, CACHE))]
        yield both(f"{queries} queries on {CACHE} keys, 32/8 heads", forward, inputs, enable_gqa=True)


def of_lengths() -> Iterator[Line]:
    """Forward and backward of 200 lengths, the first time and later."""
    inputs = [[torch.randn(1, 4, n, 64, requires_grad=True) for _ in range(3)] for n in range(1, LENGTHS + 1)]

    def run(attention: Attention) -> Work:
        return lambda: [gradients(attention, x) for x in inputs]

    yield both(f"{LENGTHS} lengths, forward and backward, first", run)._replace(once=True)
    yield both(f"{LENGTHS} lengths, forward and backward, later", run)


def of_sequences() -> Iterator[Line]:
    """Packed sequences, which PyTorch has as a dense batch."""
    for count, length in ((512, 8), (256, 16), (64, 128)):
        packed = [torch.randn(count * length, 8, 64) for _ in range(3)]
        ends = torch.arange(0, count * length + 1, length, dtype=torch.int32)
        dense = [x.reshape(count, length, 8, 64).transpose(1, 2).contiguous() for x in packed]
        mine = functools.partial(attn.varlen_sdpa, *packed, ends, ends, causal="top_left")
        peers = forward(F.scaled_dot_product_attention, dense, is_causal=True)
        yield Line(f"{count} packed sequences of {length}", mine, peers)


def of_generation() -> Iterator[Line]:
    """Tokens of a small Llama."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import LlamaConfig, LlamaForCausalLM

    attn.torch.register_transformers()
    torch.manual_seed(0)
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 256}
    model = LlamaForCausalLM(LlamaConfig(**sizes, **heads)).eval()
    ids, tokens = torch.randint(0, 256, (1, 17)), 64
    options = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False, "pad_token_id": 0}

    def run(name: str) -> Work:
        def generate() -> Tensor:
            model.set_attn_implementation(name)
            with torch.no_grad():
                return model.generate(ids, **options)

        return generate

    yield Line(f"generate, {tokens} tokens, first", run("attn"), run("sdpa"), once=True)
    yield Line(f"generate, {tokens} tokens, later", run("attn"), run("sdpa"))


def of_steps() -> Iterator[Line]:
    """Training steps of a small GPT."""
    for length in (64, 256, 1024):
        yield both(f"training step of a GPT, S {length}", training_step, length)


def of_calls() -> Iterator[Line]:
    """What a call costs."""
    inputs = [torch.randn(1, 2, 8, 16, requires_grad=True) for _ in range(3)]

    def run(attention: Attention) -> Work:
        return lambda: gradients(attention, inputs)

    yield both("8 rows, forward", forward, [x.detach() for x in inputs])
    yield both("8 rows, forward and backward", run)


def measure(line: Line) -> tuple[float, float]:
    """Milliseconds of both."""
    if line.once:
        return 1e3 * seconds(line.attn), 1e3 * seconds(line.torch)
    calls = []
    for call in (line.attn, line.torch):
        call()  # compiles
        call()  # a second length, or what is compiled in the background
        calls.append(max(1, round(CALLS_AT_LEAST / seconds(call))))
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for found, call, count in zip(times, (line.attn, line.torch), calls, strict=True):
            call()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            found.append((time.perf_counter() - begin) / count)
    mine, peers = (1e3 * statistics.median(x) for x in times)
    return mine, peers


def main() -> None:
    """Prints a row a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="lines whose title has this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    attn.set_num_threads(options.threads)
    attn.set_cache(enabled=False)
    print("| work | attn | PyTorch | PyTorch / attn |\n| --- | --- | --- | --- |")
    groups = (of_steps, of_views, of_generation, of_lengths, of_queries, of_sequences, of_calls)
    for line in itertools.chain.from_iterable(group() for group in groups):
        if options.only in line.title:
            mine, peers = measure(line)
            cells = [f"{x:.0f} ms" if x >= 1000 else f"{x:.3g} ms" for x in (mine, peers)]
            print(f"| {line.title} | {' | '.join(cells)} | {peers / mine:.2f} |", flush=True)


if __name__ == "__main__":
    main()
