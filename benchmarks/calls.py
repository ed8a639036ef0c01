"""What a call from Python costs beside the kernel itself: microseconds a call of attention on 8 keys, on one thread.

PyTorch's own call stands beside it where it is installed, as in the environment of setup_peers.sh.

    PYTHONPATH=python build/peers/bin/python benchmarks/calls.py
    build/frameworks/bin/python benchmarks/calls.py --only step
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import attn
from attn.kernel import _tensor

LENGTHS = 200
CALLS, ROUNDS = LENGTHS, 90  # short rounds: some are not interrupted
PROBLEM = "b1 hq2 hkv2 sq1 sk8 d16 f32"


def microseconds(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Of one call each, in the fastest round; the ways take turns."""
    for call in ways.values():
        timeit.timeit(call, number=LENGTHS)
    found = dict.fromkeys(ways, math.inf)
    for _ in range(ROUNDS):
        for name, call in ways.items():
            found[name] = min(found[name], timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    return found


def _of_torch(torch: Any) -> dict[str, Callable[[], object]]:
    """What a framework hands over: tiny calls, a generation's and a training's lengths, each beside PyTorch's own.

    Two ways compute nothing: an operator with a rule for its gradient, and an autograd.Function that saves what an
    attention saves, and allocates what it returns. Nothing that is written in Python takes less than the latter.
    """
    import attn.torch

    schema = "(Tensor q, Tensor k, Tensor v) -> Tensor"
    allocate = lambda q, k, v: torch.empty_like(q)  # noqa: E731
    operator = torch.library.custom_op("attn_calls::empty", allocate, mutates_args=(), schema=schema)
    operator.register_autograd(lambda _, dout: (dout, dout, dout))

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(inputs[0])
            ctx.save_for_backward(*inputs, out, torch.empty(out.shape[:3]), torch.empty(out.shape[:3]))
            return out

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> Any:
            return tuple([torch.empty_like(x) for x in ctx.saved_tensors[:3]])

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
        "an empty operator of PyTorch": operator,
        "an empty autograd.Function": Function.apply,
    }
    for name, call in functions.items():
        ways[f"{name}, 8 rows"] = lambda call=call: call(*plain)
        ways[f"{name}, 8 rows, recorded for a backward"] = lambda call=call: call(*tiny)
        ways[f"{name}, 8 rows, forward and backward"] = lambda call=call: step(call, tiny)
        ways[f"{name}, a query on a cache of 1 to {LENGTHS} keys"] = lambda call=call: call(*next(growing))
        ways[f"{name}, 1 to {LENGTHS} rows, forward and backward"] = lambda call=call: step(call, next(changing))
    lengths = torch.tensor([0, 3, 8], dtype=torch.int32)
    packed = [x[0].transpose(0, 1).contiguous() for x in plain]
    nested = torch.nested.nested_tensor_from_jagged(packed[0], lengths.long()).transpose(1, 2)
    ways["`attn.torch.varlen_sdpa`, 8 rows of 2 sequences"] = lambda: attn.torch.varlen_sdpa(*packed, lengths, lengths)
    ways["`attn.torch.sdpa`, the same as nested tensors"] = lambda: attn.torch.sdpa(nested, nested, nested)
    pytorch = torch.nn.functional.scaled_dot_product_attention
    ways["PyTorch's sdpa, the same as nested tensors"] = lambda: pytorch(nested, nested, nested)
    keep = torch.tensor([5], dtype=torch.int32)
    ways["`attn.torch.sdpa`, 8 rows, `kv_lengths`"] = lambda: attn.torch.sdpa(*plain, kv_lengths=keep)
    ways["`attn.sdpa` of torch tensors, 8 rows, `kv_lengths`"] = lambda: attn.sdpa(*plain, kv_lengths=keep)
    shifts = torch.randn(8)
    ways["`attn.torch.sdpa`, 8 rows, a `score_mod` with an array"] = lambda: attn.torch.sdpa(
        *plain, score_mod=lambda s, b, h, i, j: s + shifts[j]
    )
    return ways


def _of_steps(torch: Any) -> dict[str, Callable[[], object]]:
    """A step of a serving engine: one token on one key, 32 heads on 8 of D 128, in pages of 16.

    Beside it its kernel by a prepared plan, the same kernel without Python, and operators of PyTorch that compute
    nothing: one of a tensor, and one with the signature of `attn::paged_sdpa`.
    """
    import attn.torch
    from attn.torch import _serving

    heads, kv_heads, size, page = 32, 8, 128, 16
    keys, values = torch.randn(2, 64, page, kv_heads, size, dtype=torch.bfloat16)
    q, new = (torch.randn(1, n, size, dtype=torch.bfloat16) for n in (heads, kv_heads))
    lengths, sums = torch.tensor([1], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32)
    steps = [(torch.randn_like(q), torch.randint(64, (1, n), dtype=torch.int32)) for n in range(1, 9)]
    several, slots = itertools.cycle(steps), torch.tensor([20])
    table = steps[0][1]

    def attend(q: Any, table: Any, **more: Any) -> object:
        options = {"cu_seqlens_q": sums, "causal": "bottom_right", **more}
        return attn.torch.paged_sdpa(q, keys, values, table, lengths, **options)

    line = f"b? hq{heads} hkv{kv_heads} sq? sk? d{size} bf16 layout=varlen paged={page} kv_lengths causal=bottom_right"
    kernel, inputs = attn.compile(line), [q, keys, values, lengths, sums, table]
    arrays = [x.view(torch.int16).numpy().view(_tensor.dtype("bfloat16")) for x in inputs[:3]]
    arrays += [x.numpy() for x in inputs[3:]]
    out, padded = torch.empty_like(q), q.repeat(4, 1, 1)
    written = torch.empty_like(padded)
    plan, _ = kernel.plan(arrays, ["out"], frozenset({"b", "b_plus_1", "sq", "max_pages"}))
    sizes = (*q.shape, 1, 2, *table.shape, *out.shape)
    alone = plan.frame_of([x.data_ptr() for x in (*inputs, out)], sizes)

    def empty(name: str, schema: str) -> Any:
        allocate = lambda q, *_: (torch.empty_like(q), torch.empty(heads, 1))  # noqa: E731
        schema += " -> (Tensor, Tensor)"
        operator = torch.library.custom_op(f"attn_calls::{name}", allocate, mutates_args=(), schema=schema)
        operator.register_fake(allocate)
        return operator

    def compiled(call: Callable[..., object], *inputs: Any) -> Callable[[], object]:
        graph = torch.compile(call, fullgraph=True)
        return lambda: graph(*inputs)

    torch._inductor.config.compile_threads = 1  # others would take the processor from what is measured
    slopes = torch.rand(heads)

    def scored(q: Any, table: Any, slopes: Any) -> object:
        return attend(q, table, score_mod=lambda s, b, h, i, j: s - slopes[h] * (j - i))

    one, same = empty("one", "(Tensor q)"), empty("same", f"({_serving.INPUTS})")
    arguments = (q, keys, values, table, lengths, [], sums, *[None] * 5, "bottom_right", None, "nhd", True)
    return {
        "`attn.torch.paged_sdpa` of a step": lambda: attend(q, table),
        "`attn.torch.paged_sdpa` of another step each time": lambda: attend(*next(several)),
        "`attn.torch.paged_sdpa` of a step, with `out=`": lambda: attend(q, table, out=out),
        "`attn.torch.paged_sdpa` of a step of 4 rows, 3 of padding": lambda: attend(padded, table, out=written),
        "`attn.torch.kv_append` of a step": lambda: attn.torch.kv_append(keys, new, slots=slots),
        "`attn.torch.paged_sdpa` of a step, compiled": compiled(attend, q, table),
        "`attn.torch.kv_append` of a step, compiled": compiled(
            lambda new, slots: attn.torch.kv_append(keys, new, slots=slots), new, slots
        ),
        "`attn.torch.paged_sdpa` of a step, with `alibi_slopes`": lambda: attend(q, table, alibi_slopes=slopes),
        "`attn.torch.paged_sdpa` of a step, with a `score_mod`": lambda: scored(q, table, slopes),
        "`attn.torch.paged_sdpa` of a step, with a `score_mod`, compiled": compiled(scored, q, table, slopes),
        "a plan of the kernel of a step": lambda: plan([x.data_ptr() for x in (*inputs, out)], sizes=sizes),
        "the kernel of a step, its tensors described": lambda: alone.run(),
        "an empty operator of PyTorch beside a step": lambda: one(q),
        "an empty operator of PyTorch of the signature of a step": lambda: same(*arguments),
        "an empty operator of PyTorch of the signature of a step, compiled": compiled(
            lambda q, table: same(q, keys, values, table, *arguments[4:])[0], q, table
        ),
    }


def main() -> None:
    """Prints a row a way to call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="ways whose name has this")
    options = parser.parse_args()
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
        ways |= _of_torch(torch) | _of_steps(torch)
    ways = {name: call for name, call in ways.items() if options.only in name}
    print("| call | time |\n| --- | --- |")
    for name, time in microseconds(ways).items():
        print(f"| {name} | {time:.1f} µs |")


if __name__ == "__main__":
    main()
