"""Views that PyTorch programs have, beside the same values in contiguous tensors and beside PyTorch on the same view.

build/frameworks/bin/python benchmarks/views.py --threads 1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import attn
import attn.torch

ROUNDS = 15


def seconds(call: Callable[[], object]) -> float:
    """Of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def heads_inside(x: torch.Tensor) -> torch.Tensor:
    """The same values in the memory of (B, S, H, D)."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def in_cache(x: torch.Tensor) -> torch.Tensor:
    """The first rows of a static cache."""
    cache = torch.zeros(*x.shape[:2], x.shape[2] + 64, x.shape[3], dtype=x.dtype)
    cache[:, :, : x.shape[2]] = x
    return cache[:, :, : x.shape[2]]


def fused(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
    """Parts of one projection (B, S, (Hq + Hkv + Hkv) · D), as `qkv.split` gives them."""
    parts = [x.transpose(1, 2).flatten(2) for x in (q, k, v)]
    qkv = torch.cat(parts, -1)
    split = qkv.split([x.shape[-1] for x in parts], -1)
    return [y.unflatten(-1, (x.shape[1], x.shape[3])).transpose(1, 2) for x, y in zip((q, k, v), split, strict=True)]


def main() -> None:
    """Prints a row a view: the fastest call of each, of as many rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    torch.set_num_threads(threads)
    attn.set_num_threads(threads)
    torch.manual_seed(0)

    def draw(batch: int, heads: int, kv_heads: int, queries: int, keys: int, size: int) -> list[torch.Tensor]:
        shapes = ((heads, queries), (kv_heads, keys), (kv_heads, keys))
        return [torch.randn(batch, h, rows, size) for h, rows in shapes]

    decode, prefill = draw(4, 32, 8, 1, 4096, 128), draw(1, 8, 8, 1024, 1024, 64)
    one_head = draw(4, 32, 1, 1, 4096, 128)
    lines = {
        "decode, slices of a static cache": (decode, [decode[0], *map(in_cache, decode[1:])], False),
        "decode, (B, S, H, D) seen as (B, H, S, D)": (decode, [decode[0], *map(heads_inside, decode[1:])], False),
        "decode, one head of K and V expanded to 8": (
            [one_head[0], *(x.expand(-1, 8, -1, -1).contiguous() for x in one_head[1:])],
            [one_head[0], *(x.expand(-1, 8, -1, -1) for x in one_head[1:])],
            False,
        ),
        "prefill, causal, (B, S, H, D)": (prefill, [heads_inside(x) for x in prefill], True),
        "prefill, causal, fused qkv": (prefill, fused(*prefill), True),
    }
    print("| view | attn | contiguous | attn / contiguous | PyTorch, the view | PyTorch / attn |")
    print("| --- | --- | --- | --- | --- | --- |")
    for title, (tensors, views, causal) in lines.items():
        calls = [
            lambda x=views, c=causal: attn.torch.sdpa(*x, is_causal=c, enable_gqa=True),
            lambda x=tensors, c=causal: attn.torch.sdpa(*x, is_causal=c, enable_gqa=True),
            lambda x=views, c=causal: torch.nn.functional.scaled_dot_product_attention(
                *x, is_causal=c, enable_gqa=True
            ),
        ]
        with torch.no_grad():
            found, *others = [call() for call in calls]
            for other in others:
                torch.testing.assert_close(found, other, atol=1e-5, rtol=1e-4)
            view, dense, peer = np.min([[seconds(call) for call in calls] for _ in range(ROUNDS)], axis=0) * 1e3
        print(
            f"| {title} | {view:.2f} ms | {dense:.2f} ms | {view / dense:.2f} | {peer:.2f} ms | {peer / view:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
