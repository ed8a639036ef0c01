"""What a call from Python costs beside the kernel itself: microseconds a call of attention on 8 keys, on one thread.

PyTorch's own call stands beside it where it is installed, as in the environment of setup_peers.sh.

    PYTHONPATH=python build/peers/bin/python benchmarks/calls.py
"""

from __future__ import annotations

import argparse
import importlib.util
import timeit
from collections.abc import Callable

import numpy as np

import attn

CALLS, ROUNDS = 2000, 9
PROBLEM = "b1 hq2 hkv2 sq1 sk8 d16 f32"


def microseconds(call: Callable[[], object]) -> float:
    """Of one call, in the fastest round."""
    call()
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def main() -> None:
    """Prints a row a way to call."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 2, rows, 16), dtype=np.float32) for rows in (1, 8, 8))
    out = np.empty_like(q)
    kernel = attn.compile(PROBLEM)
    attn.set_num_threads(1)
    ways: dict[str, Callable[[], object]] = {
        "a kernel of `attn.compile`, with `out=`": lambda: kernel(q, k, v, out=out),
        "a kernel of `attn.compile`": lambda: kernel(q, k, v),
        "`attn.sdpa`": lambda: attn.sdpa(q, k, v),
        "`attn.sdpa` with a `mask_mod`": lambda: attn.sdpa(q, k, v, mask_mod=lambda b, h, i, j: j <= i + 3),
    }
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        tensors = [torch.from_numpy(x) for x in (q, k, v)]
        ways["`attn.sdpa` of torch tensors"] = lambda: attn.sdpa(*tensors)
        ways["PyTorch"] = lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)
    print("| call | time |\n| --- | --- |")
    for name, call in ways.items():
        print(f"| {name} | {microseconds(call):.1f} µs |", flush=True)


if __name__ == "__main__":
    main()
