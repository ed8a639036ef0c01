"""What a step of a ring costs beside its kernel: merged and added behind it, and in place (into=).

Takes the processor time of one process, the variants in turn in each round, and prints the best and the median of each
by that of the kernel.

    build/frameworks/bin/python benchmarks/ring_step.py --rows=4096 --rounds=7
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import attn
from attn.torch.parallel import _blocks


def main() -> None:
    """Times forward and backward."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4096, help="of Q and of K, in a rank")
    parser.add_argument("--heads", default="8,2", help="of Q and of K")
    parser.add_argument("--size", type=int, default=64, help="of a head")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    attn.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    heads, key_heads = map(int, options.heads.split(","))
    q, dout = torch.randn(2, 1, heads, options.rows, options.size)
    k, v = torch.randn(2, 1, key_heads, options.rows, options.size)
    flags = {"return_max": True, "return_log_sum": True}
    state = _blocks.State(*attn.sdpa(q, k, v, **flags))
    sums = [torch.zeros_like(x) for x in (q, k, v)]

    def forward() -> object:
        return attn.sdpa(q, k, v, **flags)

    def merged() -> object:
        return _blocks.merge(state, _blocks.State(*attn.sdpa(q, k, v, **flags)))

    def merged_by_attn() -> object:
        out, *terms = attn.sdpa(q, k, v, **flags)
        return attn.merge(state.out, (state.max, state.log_sum), out, tuple(terms))

    def into_state() -> object:
        return attn.sdpa(q, k, v, into=(state.out, (state.max, state.log_sum)))

    out, row_max, log_sum = attn.sdpa(q, k, v, **flags)

    def backward() -> object:
        return attn.sdpa_backward(q, k, v, out, (row_max, log_sum), dout)

    def added() -> object:
        for to, x in zip(sums, backward().values(), strict=True):
            to.add_(x)
        return sums

    def into_sums() -> object:
        return attn.sdpa_backward(q, k, v, out, (row_max, log_sum), dout, into=dict(zip("qkv", sums, strict=True)))

    report(
        "forward",
        {"kernel": forward, "merge of torch": merged, "attn.merge": merged_by_attn, "into": into_state},
        options.rounds,
    )
    report("backward", {"kernel": backward, "add": added, "into": into_sums}, options.rounds)


def report(name: str, variants: dict[str, Callable[[], object]], rounds: int) -> None:
    """Prints the times of variants, which run in turn, by those of the first."""
    times: dict[str, list[float]] = {x: [] for x in variants}
    for call in variants.values():
        call()
    for _ in range(rounds):
        for x, call in variants.items():
            start = time.process_time()
            call()
            times[x].append(time.process_time() - start)
    first = next(iter(variants))
    for x, found in times.items():
        best, median = min(found) / min(times[first]), statistics.median(found) / statistics.median(times[first])
        print(f"{name} {x}: {1e3 * min(found):.1f} ms, best {best:.3f}, median {median:.3f} of the kernel")


if __name__ == "__main__":
    main()
