"""Decoding on pages in any order beside contiguous keys: the time of a processor, which other processes do not add to.

    PYTHONPATH=python build/venv/bin/python benchmarks/pages.py

Best and median of rounds in turn, by those of the contiguous kernel; loops that only read: benchmarks/micro/pages.cpp.
"""

import itertools
import statistics
import time
from collections.abc import Callable

import ml_dtypes
import numpy as np

import attn

BATCH, HEADS, KV_HEADS, KEYS, SIZE = 8, 32, 8, 4096, 128
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}
ROUNDS = 21


def ways(name: str) -> dict[str, Callable[[], object]]:
    """Kernels of this type, each on caches of its layout."""
    rng, dtype = np.random.default_rng(0), TYPES[name]
    line = f"b{BATCH} hq{HEADS} hkv{KV_HEADS} sq1 sk{KEYS} d{SIZE} {name} kv_lengths"
    caches = [np.ones(BATCH * KEYS * KV_HEADS * SIZE, dtype) for _ in range(2)]
    q, lengths = np.ones((BATCH, HEADS, 1, SIZE), dtype), np.full(BATCH, KEYS, np.int32)

    def way(words: str, shape: tuple[int, ...], *table: np.ndarray) -> Callable[[], object]:
        kernel, arrays = attn.compile(line + words), [x.reshape(shape) for x in caches]
        return lambda: kernel(q, *arrays, lengths, *table)

    found = {"contiguous": way("", (BATCH, KV_HEADS, KEYS, SIZE))}
    for layout, page in itertools.product(("nhd", "hnd"), (16, 32)):
        inner = (page, KV_HEADS) if layout == "nhd" else (KV_HEADS, page)
        table = rng.permutation(BATCH * KEYS // page).astype(np.int32).reshape(BATCH, -1)
        words = f" paged={page}" + (",hnd" if layout == "hnd" else "")
        found[f"pages of {page}, {layout}"] = way(words, (-1, *inner, SIZE), table)
        if layout == "nhd":  # without what the order costs, and without memory
            found[f"pages of {page}, {layout}, in order"] = way(
                words, (-1, *inner, SIZE), np.sort(table, None).reshape(table.shape)
            )
            found[f"pages of {page}, {layout}, all one"] = way(words, (-1, *inner, SIZE), table * 0)
    return found


def main() -> None:
    """Prints a row a kernel."""
    attn.set_num_threads(1)
    print("| kernel | best | median |\n| --- | --- | --- |")
    for name in TYPES:
        times: dict[str, list[float]] = {}
        for _, (way, call) in itertools.product(range(ROUNDS + 1), ways(name).items()):
            begin = time.thread_time()
            call()
            times.setdefault(way, []).append((time.thread_time() - begin) * 1e3)
        times = {way: x[1:] for way, x in times.items()}
        for way, found in times.items():
            cells = [f"{f(found):.2f} ms, {f(found) / f(times['contiguous']):.2f}" for f in (min, statistics.median)]
            print(f"| {name}, {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
