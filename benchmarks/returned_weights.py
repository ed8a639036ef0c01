"""Attention that returns its weights, beside the same written with PyTorch's matmul and softmax, call by call in turn.

PyTorch's fused attention returns no weights, so this is what its users write.

    PYTHONPATH=python build/peers/bin/python benchmarks/returned_weights.py --threads 1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import attn

ROUNDS = 15
HEADS, ROWS, HEAD_SIZE = 8, 1024, 64


def seconds(call: Callable[[], object]) -> float:
    """Of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def by_hand(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keep: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
    """The output and the weights, the keys that `keep` does not keep removed."""
    scores = q @ k.transpose(-1, -2) * HEAD_SIZE**-0.5
    if keep is not None:
        scores = scores.masked_fill(~keep, float("-inf"))
    weights = torch.softmax(scores, -1)
    return weights @ v, weights


def main() -> None:
    """Prints a row a problem: the fastest call of each, of as many rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    torch.set_num_threads(threads)
    attn.set_num_threads(threads)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, HEADS, ROWS, HEAD_SIZE), dtype=np.float32) for _ in range(3)]
    lower = torch.ones(ROWS, ROWS, dtype=torch.bool).tril()
    print("| returned weights | attn | PyTorch, by hand | ratio |\n| --- | --- | --- | --- |")
    for title, mask, keep, dtype in (
        ("full, f32", "", None, torch.float32),
        ("causal, f32", " causal=top_left", lower, torch.float32),
        ("full, bf16", "", None, torch.bfloat16),
    ):
        name = "bf16" if dtype == torch.bfloat16 else "f32"
        kernel = attn.compile(f"hq{HEADS} hkv{HEADS} sq{ROWS} sk{ROWS} d{HEAD_SIZE} {name}{mask} out=weights")
        tensors = [torch.from_numpy(x).to(dtype) for x in arrays]
        expected, found = by_hand(*tensors, keep), kernel(*tensors)
        tolerance = 2e-2 if name == "bf16" else 1e-5
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(torch.from_dlpack(x).to(dtype), y, atol=tolerance, rtol=2e-2)
        ways = [lambda: kernel(*tensors, out=found), lambda: by_hand(*tensors, keep)]  # noqa: B023
        times = np.min([[seconds(way) for way in ways] for _ in range(ROUNDS)], axis=0) * 1e3
        print(f"| {title} | {times[0]:.1f} ms | {times[1]:.1f} ms | {times[1] / times[0]:.2f} × |", flush=True)


if __name__ == "__main__":
    main()
