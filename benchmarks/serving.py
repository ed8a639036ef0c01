"""Steps of a serving engine on paged caches, beside contiguous ones: decoding, drafts, mixed steps, and whole engines.

Of each line two things take turns, in one process; the median of the rounds counts. Kernels are compiled anew.

    build/frameworks/bin/python benchmarks/serving.py --threads 2
    build/frameworks/bin/python benchmarks/serving.py --threads 1 --only "pages of 16"
    build/peers/bin/python benchmarks/serving.py --peers openvino   # of setup_peers.sh; its own pages, and others
"""

from __future__ import annotations

import argparse
import functools
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from peers import openvino_pages
from torch import Tensor

import attn
import attn.torch as at

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples/python"))
import serving

ROUNDS, SECONDS_AT_LEAST = 9, 0.02
HEADS, KV_HEADS, SIZE, PAGE = 32, 8, 128, 16
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}
Work = Callable[[], object]


class Line(NamedTuple):
    """One row: what makes the two works, that of attn first."""

    title: str
    versus: str
    make: Callable[[], tuple[Work, Work]]


def paged(k: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """The keys (B, Hkv, S, D) in shuffled pages (pages, PAGE, Hkv, D), and the table."""
    torch.manual_seed(seed)
    batch, heads, length, size = k.shape
    count = length // PAGE
    order = torch.randperm(batch * count)
    pages = torch.empty(batch * count, PAGE, heads, size, dtype=k.dtype)
    pages[order] = k.transpose(1, 2).reshape(batch * count, PAGE, heads, size)
    return pages, order.reshape(batch, count).to(torch.int32)


def draw(dtype: torch.dtype, *shape: int) -> Tensor:
    """Random numbers of this type."""
    if dtype == torch.int8:
        return torch.randint(-127, 128, shape, dtype=dtype)
    return torch.randn(shape).to(dtype)


def decode(dtype: torch.dtype, batch: int, length: int, queries: int = 1) -> tuple[Work, Work]:
    """Single tokens, or drafts of several, on pages of 16, and on the same keys side by side."""
    k, v = (draw(dtype, batch, KV_HEADS, length, SIZE) for _ in range(2))
    q = torch.randn(batch, HEADS, queries, SIZE).to(torch.float32 if dtype == torch.int8 else dtype)
    scales = {f"{x}_scale": torch.full((KV_HEADS,), 0.01) for x in "kv"} if dtype == torch.int8 else {}
    (keys, table), (values, _) = (paged(x, seed=0) for x in (k, v))
    lengths, sums = torch.full((batch,), length, dtype=torch.int32), torch.arange(batch + 1, dtype=torch.int32)
    sums *= queries
    packed = q.transpose(1, 2).reshape(-1, HEADS, SIZE)
    options = scales | ({"causal": "bottom_right"} if queries > 1 else {})
    return (
        lambda: at.paged_sdpa(packed, keys, values, table, lengths, cu_seqlens_q=sums, **options),
        lambda: attn.sdpa(q, k, v, **options),
    )


def of_pages() -> Iterator[Line]:
    """Decoding, for each type of the cache."""
    for (name, dtype), (batch, length) in itertools.product(TYPES.items(), ((1, 4096), (8, 4096), (8, 1024))):
        title = f"pages of 16, {name}, {batch} × {length} keys"
        yield Line(title, "contiguous", functools.partial(decode, dtype, batch, length))


def of_drafts() -> Iterator[Line]:
    """Speculative decoding."""
    for name, queries in itertools.product(("f32", "bf16"), (1, 2, 4, 8)):
        title = f"drafts of {queries}, {name}, 32 × 4096 keys in pages of 16"
        yield Line(title, "contiguous", functools.partial(decode, TYPES[name], 32, 4096, queries))


def of_openvino(threads: int) -> Iterator[Line]:
    """A token of each sequence, on OpenVINO's pages, whose keys of f32 are also those of attn."""

    def make(kind: str, batch: int, length: int) -> tuple[Work, Work]:
        theirs = openvino_pages.prepare(batch, length, kind, threads, HEADS, KV_HEADS, SIZE)
        q = torch.from_numpy(theirs.inputs["query"]).view(batch, HEADS, SIZE)
        table = torch.from_numpy(theirs.inputs["block_indices"]).view(batch, -1)
        lengths = torch.full((batch,), length, dtype=torch.int32)
        options = {"cu_seqlens_q": torch.arange(batch + 1, dtype=torch.int32), "page_layout": "hnd"}
        if kind == "f32":
            caches = [torch.from_numpy(x) for x in theirs.caches]
        else:
            shape = (batch * length // openvino_pages.PAGE, KV_HEADS, openvino_pages.PAGE, SIZE)
            caches = [draw(torch.int8, *shape) for _ in range(2)]
            options |= {f"{x}_scale": torch.full((KV_HEADS,), 0.01) for x in "kv"}
        mine = functools.partial(at.paged_sdpa, q, *caches, table, lengths, **options)
        if kind == "f32":  # with the keys that it has appended
            found = torch.from_numpy(theirs.run()).view(q.shape)
            torch.testing.assert_close(mine(), found, rtol=1e-4, atol=1e-5)
        return mine, theirs.run

    for kind, (batch, length) in itertools.product(openvino_pages.KINDS, ((1, 4096), (8, 4096), (8, 1024))):
        title = f"pages of {openvino_pages.PAGE}, {kind}, {batch} × {length} keys"
        yield Line(title, "OpenVINO", functools.partial(make, kind, batch, length))


class Step:
    """Packed queries on pages of 4k keys and more."""

    def __init__(self, chunks: int, singles: int) -> None:
        """So many sequences of 512 queries, and of one."""
        counts = torch.tensor([512] * chunks + [1] * singles)
        batch, heads, kv_heads, size, length = chunks + singles, 8, 2, 64, 4096
        self.sums = torch.nn.functional.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
        self.table = torch.randperm(batch * length // PAGE).reshape(batch, -1).to(torch.int32)
        self.caches = torch.randn(2, batch * length // PAGE, PAGE, kv_heads, size)
        self.lengths = torch.full((batch,), length, dtype=torch.int32)
        self.q = torch.randn(int(self.sums[-1]), heads, size)

    def run(self) -> Tensor:
        """The call."""
        tables = (self.table, self.lengths)
        return at.paged_sdpa(self.q, *self.caches, *tables, cu_seqlens_q=self.sums, causal="bottom_right")


def mix(chunks: int, singles: int) -> tuple[Work, Work]:
    """One call, and one for each of the two."""
    both, prompts, tokens = Step(chunks, singles), Step(chunks, 0), Step(0, singles)
    return both.run, lambda: (prompts.run(), tokens.run())


def of_mixed() -> Iterator[Line]:
    """Chunks of prompts and single tokens."""
    for chunks, singles in ((8, 56), (1, 63)):
        yield Line(f"{chunks} × 512 and {singles} × 1 queries", "two calls", functools.partial(mix, chunks, singles))


def generate(batch: int, length: int) -> tuple[Work, Work]:
    """A token of each request, by the engines of examples/python/serving.py."""
    model = serving.Llama().eval()
    which, one = torch.arange(batch), torch.ones(batch, dtype=torch.int64)
    before, ids = torch.full((batch,), length - 1), torch.zeros(batch, dtype=torch.int64)

    def run(engine: type[serving.Paged] | type[serving.Contiguous]) -> Work:
        caches = engine(batch, length, torch.float32)
        for cache in caches.caches:
            cache.normal_()
        return lambda: model(ids, before, one.cumsum(0) - 1, caches.attend(which, one, before))

    return run(serving.Paged), run(serving.Contiguous)


def of_engines() -> Iterator[Line]:
    """Batches and contexts."""
    for batch, length in itertools.product((1, 8, 32), (1024, 4096, 8192)):
        title = f"engine, {batch} × {length} keys"
        yield Line(title, "PyTorch, contiguous", functools.partial(generate, batch, length))


def measure(line: Line) -> tuple[float, float]:
    """Milliseconds of both."""
    works, counts, times = line.make(), [], ([], [])
    for work in works:
        work()
        work()
        begin = time.perf_counter()
        work()
        counts.append(max(1, round(SECONDS_AT_LEAST / (time.perf_counter() - begin))))
    for _ in range(ROUNDS):
        for found, work, count in zip(times, works, counts, strict=True):
            begin = time.perf_counter()
            for _ in range(count):
                work()
            found.append((time.perf_counter() - begin) / count)
    mine, others = (1e3 * statistics.median(x) for x in times)
    return mine, others


def main() -> None:
    """Prints a row a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="lines whose title has this")
    parser.add_argument("--peers", choices=["openvino"], help="lines beside this system as well")
    options = parser.parse_args()
    lines = itertools.chain(of_pages(), of_drafts(), of_mixed(), of_engines())
    if options.peers:
        try:
            openvino_pages.load()
            lines = itertools.chain(lines, of_openvino(options.threads))
        except ImportError as error:
            print(f"without openvino: {error}", file=sys.stderr)
    torch.set_num_threads(options.threads)
    attn.set_num_threads(options.threads)
    attn.set_cache(enabled=False)
    print("| step | attn | beside it | of | ratio |\n| --- | --- | --- | --- | --- |")
    with torch.inference_mode():
        for line in lines:
            if options.only in line.title:
                mine, others = measure(line)
                cells = [f"{x:.0f} ms" if x >= 1000 else f"{x:.3g} ms" for x in (mine, others)]
                print(f"| {line.title} | {cells[0]} | {cells[1]} | {line.versus} | {others / mine:.2f} |", flush=True)


if __name__ == "__main__":
    main()
