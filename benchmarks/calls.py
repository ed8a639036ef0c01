"""What a call from Python costs beside the kernel itself: microseconds a call of attention on 8 keys, on one thread.

PyTorch's own call stands beside it where it is installed, as in the environment of setup_peers.sh.

    PYTHONPATH=python build/peers/bin/python benchmarks/calls.py
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import attn

CALLS, ROUNDS = 2000, 9
LENGTHS = 200
PROBLEM = "b1 hq2 hkv2 sq1 sk8 d16 f32"


def microseconds(call: Callable[[], object]) -> float:
    """Of one call, in the fastest round."""
    call()
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def _of_torch(torch: Any) -> dict[str, Callable[[], object]]:
    """What a framework hands over: tiny calls, a generation's and a training's lengths, each beside PyTorch's own."""
    import attn.torch

    @torch.library.custom_op("attn_calls::empty", mutates_args=())
    def empty(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(q)

    empty.register_autograd(lambda _, dout: (dout, dout, dout))

    def tensors(rows: int, keys: int, *, grad: bool = False) -> list[Any]:
        return [torch.randn(1, 2, n, 16, requires_grad=grad) for n in (rows, keys, keys)]

    plain, tiny = tensors(8, 8), tensors(8, 8, grad=True)
    growing = itertools.cycle([tensors(1, keys) for keys in range(1, LENGTHS + 1)])
    changing = itertools.cycle([tensors(rows, rows, grad=True) for rows in range(1, LENGTHS + 1)])

    def step(call: Callable[..., Any], inputs: list[Any]) -> object:
        out = call(*inputs)
        return torch.autograd.grad(out, inputs, out)

    ways: dict[str, Callable[[], object]] = {}
    functions = {
        "`attn.torch.sdpa`": attn.torch.sdpa,
        "PyTorch's sdpa": torch.nn.functional.scaled_dot_product_attention,
        "an empty operator of PyTorch": empty,
    }
    for name, call in functions.items():
        ways[f"{name}, 8 rows"] = lambda call=call: call(*plain)
        ways[f"{name}, 8 rows, forward and backward"] = lambda call=call: step(call, tiny)
        ways[f"{name}, a query on a cache of 1 to {LENGTHS} keys"] = lambda call=call: call(*next(growing))
        ways[f"{name}, 1 to {LENGTHS} rows, forward and backward"] = lambda call=call: step(call, next(changing))
    return ways


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
        ways |= _of_torch(torch)
    print("| call | time |\n| --- | --- |")
    for name, call in ways.items():
        print(f"| {name} | {microseconds(call):.1f} µs |", flush=True)


if __name__ == "__main__":
    main()
