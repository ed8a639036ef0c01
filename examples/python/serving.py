"""Continuous batching: 32 requests on a small Llama with random weights, with attn and with PyTorch's own attention.

    scripts/setup.sh --frameworks
    build/frameworks/bin/python examples/python/serving.py

A step takes up to STEP_TOKENS tokens: one of each request that generates, and the next part of the prompts that wait.
With attn their queries are packed, their keys and values lie in pages that all requests share, and one call a layer
serves prompts and single tokens together. PyTorch has a contiguous cache a request, one call for each prompt, and one
for all single tokens, whose mask says how long each cache is. Both generate the same tokens. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import Tensor, nn

import attn
import attn.torch as at

WIDTH, HEADS, KV_HEADS, SIZE, LAYERS, VOCABULARY = 512, 8, 2, 64, 4, 1024
PAGE, STEP_TOKENS = 16, 256
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


class Layer(nn.Module):
    """A block of a Llama: attention with grouped heads and rotary positions, and a gated MLP."""

    def __init__(self) -> None:
        """Of WIDTH columns."""
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * SIZE, bias=False)
        self.project = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor, angles: Tensor, attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
        """(tokens, WIDTH) to the same; attend takes q (tokens, HEADS, SIZE), k and v (tokens, KV_HEADS, SIZE)."""
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (-1, SIZE)).split((HEADS, KV_HEADS, KV_HEADS), dim=1)
        x = x + self.project(attend(rotate(q, angles), rotate(k, angles), v).flatten(1))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotary positions (RoFormer, arXiv:2104.09864) of (tokens, heads, SIZE); angles are (tokens, 1, SIZE / 2)."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Llama(nn.Module):
    """A small Llama."""

    def __init__(self) -> None:
        """With random weights."""
        super().__init__()
        self.embed, self.layers = nn.Embedding(VOCABULARY, WIDTH), nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, SIZE, 2) / SIZE))

    def forward(self, ids: Tensor, positions: Tensor, last: Tensor, attend: Attend) -> Tensor:
        """The next token of each sequence, greedily, from its last row."""
        x, angles = self.embed(ids), (positions[:, None] * self.rates)[:, None]
        for number, layer in enumerate(self.layers):
            x = layer(x, angles, lambda q, k, v, number=number: attend(number, q, k, v))
        return self.head(self.norm(x[last])).argmax(-1)


class Paged:
    """The caches of all requests: pages that a table gives to sequences."""

    def __init__(self, requests: int, longest: int, dtype: torch.dtype) -> None:
        """With room for so many requests of so many tokens."""
        self.width = -(-longest // PAGE)
        pages = requests * self.width
        # As vLLM lays them out: keys and values are halves of one tensor.
        self.caches = [torch.zeros(2, pages, PAGE, KV_HEADS, SIZE, dtype=dtype) for _ in range(LAYERS)]
        self.tables = torch.randperm(pages, dtype=torch.int32).reshape(requests, self.width)

    def attend(self, which: Tensor, counts: Tensor, before: Tensor) -> Attend:
        """The attention of a step: counts[b] new tokens of request which[b], which has before[b] tokens."""
        table = self.tables[which]
        sums = F.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
        lengths = (before + counts).to(torch.int32)
        owner = torch.repeat_interleave(torch.arange(which.numel()), counts)
        place = torch.arange(int(sums[-1])) - sums[owner] + before[owner]
        slots = table[owner, place // PAGE] * PAGE + place % PAGE

        def run(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.caches[layer]
            at.kv_append(keys, k, slots=slots)
            at.kv_append(values, v, slots=slots)
            return at.paged_sdpa(q, keys, values, table, lengths, cu_seqlens_q=sums, causal="bottom_right")

        return run


class Contiguous:
    """A cache a request, of the longest length."""

    def __init__(self, requests: int, longest: int, dtype: torch.dtype) -> None:
        """With room for so many requests of so many tokens."""
        shape = (2, requests, KV_HEADS, longest, SIZE)
        self.caches = [torch.zeros(shape, dtype=dtype) for _ in range(LAYERS)]

    def attend(self, which: Tensor, counts: Tensor, before: Tensor) -> Attend:
        """The same step by F.scaled_dot_product_attention."""
        ends = counts.cumsum(0).tolist()
        parts = list(zip(which.tolist(), counts.tolist(), before.tolist(), ends, strict=True))
        single = [(r, old, end - 1) for r, n, old, end in parts if n == 1]
        of, olds, rows = (torch.tensor(x) for x in zip(*single, strict=True)) if single else (None, None, None)
        longest = int(olds.max()) + 1 if single else 0
        # Caches of one length need no mask, nor all of them a copy.
        mask = None
        if single and int(olds.min()) + 1 < longest:
            mask = (torch.arange(longest) <= olds[:, None])[:, None, None]
        is_all = bool(single) and of.numel() == self.caches[0].shape[1] and bool((of[1:] > of[:-1]).all())

        def run(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.caches[layer]
            out = torch.empty_like(q)
            for r, n, old, end in parts:
                if n == 1:
                    continue
                at_rows = slice(end - n, end)
                for cache, new in ((keys, k), (values, v)):
                    cache[r, :, old : old + n] = new[at_rows].transpose(0, 1)
                seen = (torch.arange(old + n) <= old + torch.arange(n)[:, None]) if old else None
                mine = (x[None, r, :, : old + n] for x in (keys, values))
                made = F.scaled_dot_product_attention(
                    q[at_rows].transpose(0, 1)[None], *mine, attn_mask=seen, is_causal=seen is None, enable_gqa=True
                )
                out[at_rows] = made[0].transpose(0, 1)
            if single:
                keys[of, :, olds], values[of, :, olds] = k[rows], v[rows]
                mine = (x[:, :, :longest] if is_all else x[of, :, :longest] for x in (keys, values))
                made = F.scaled_dot_product_attention(q[rows][:, :, None], *mine, attn_mask=mask, enable_gqa=True)
                out[rows] = made[:, :, 0]
            return out

        return run


def serve(model: Llama, prompts: list[Tensor], new_tokens: int, engine: Paged | Contiguous) -> list[list[int]]:
    """The tokens that each request generates."""
    texts = [x.tolist() for x in prompts]
    done = [0] * len(texts)  # tokens whose keys are in the cache
    wanted = [len(x) + new_tokens for x in texts]
    while any(n < end for n, end in zip(map(len, texts), wanted, strict=True)):
        room, which, counts = STEP_TOKENS, [], []
        running = [r for r, end in enumerate(wanted) if len(texts[r]) < end]
        for r in sorted(running, key=lambda r: len(texts[r]) - done[r] > 1):  # single tokens first
            count = min(room, len(texts[r]) - done[r])
            if count:
                which.append(r)
                counts.append(count)
                room -= count
        ids = torch.tensor([t for r, n in zip(which, counts, strict=True) for t in texts[r][done[r] : done[r] + n]])
        before, sizes = torch.tensor([done[r] for r in which]), torch.tensor(counts)
        positions = torch.cat([done[r] + torch.arange(n) for r, n in zip(which, counts, strict=True)])
        attend = engine.attend(torch.tensor(which), sizes, before)
        tokens = model(ids, positions, sizes.cumsum(0) - 1, attend).tolist()
        for r, n, token in zip(which, counts, tokens, strict=True):
            done[r] += n
            if done[r] == len(texts[r]):
                texts[r].append(token)
    return [text[len(prompt) :] for text, prompt in zip(texts, prompts, strict=True)]


def main() -> None:
    """Prints tokens a second of both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=32)
    parser.add_argument("--longest-prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=32, help="that each request generates")
    options = parser.parse_args()
    torch.manual_seed(0)
    attn.set_num_threads(torch.get_num_threads())
    model = Llama().eval()
    sizes = torch.randint(8, options.longest_prompt + 1, (options.requests,)).tolist()
    prompts = [torch.randint(VOCABULARY, (n,)) for n in sizes]
    found = {}
    with torch.inference_mode():
        for name, engine in (("attn, paged", Paged), ("PyTorch, contiguous", Contiguous)):
            for _ in range(2):  # the first one compiles
                caches = engine(options.requests, max(sizes) + options.tokens, torch.float32)
                begin = time.perf_counter()
                found[name] = serve(model, prompts, options.tokens, caches)
                took = time.perf_counter() - begin
            made = options.requests * options.tokens
            print(f"{name}: {made} tokens after prompts of {sum(sizes)} in {took:.2f} s, {made / took:.0f} tokens/s")
    print("tokens equal:", len({str(x) for x in found.values()}) == 1)


if __name__ == "__main__":
    main()
