#!/usr/bin/env python3
"""Gradients under masks that no range of positions solves, in units of causal and of no mask: forms in turn.

    benchmarks/backward_maps.py 4096 64 --heads=4 --rounds=5 --threads=1

With one thread the time is that of the processor, which a loaded machine stretches less; with more it is by the clock.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "python"))
import attn

UNITS = {"none": "none", "everything kept": "none"}  # the others: causal


def forms(rows: int) -> dict:
    """Options of a call by name."""
    positions = np.arange(rows, dtype=np.int32)
    documents = (positions * 4 // max(rows, 1)).astype(np.int32)
    pieces = np.array_split(positions, 8)
    zigzag = np.concatenate([pieces[i] for i in (0, 7, 1, 6, 2, 5, 3, 4)])
    return {
        "none": {},
        "everything kept": {"mask_mod": lambda b, h, i, j: positions[j] <= positions[i] + rows},
        "causal": {"causal": "top_left"},
        "positions": {"mask_mod": lambda b, h, i, j: positions[j] <= positions[i]},
        "zigzag": {"mask_mod": lambda b, h, i, j: zigzag[j] <= zigzag[i]},
        "four documents": {"mask_mod": lambda b, h, i, j: documents[j] == documents[i]},
    }


def main() -> None:
    """Prints a line for each form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int)
    parser.add_argument("columns", type=int)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    attn.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    rng = np.random.default_rng(0)
    shape = (1, options.heads, options.rows, options.columns)
    q, k, v, dout = (rng.standard_normal(shape, dtype=np.float32) for _ in range(4))
    cases = forms(options.rows)
    saved = {name: attn.sdpa(q, k, v, return_lse=True, **words) for name, words in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(options.rounds + 1):  # the first one compiles
        for name, words in cases.items():
            start = clock()
            attn.sdpa_backward(q, k, v, *saved[name], dout, **words)
            if turn:
                times[name].append(clock() - start)
    for name, found in times.items():
        unit = times[UNITS.get(name, "causal")]
        best, median = min(found) / min(unit), statistics.median(found) / statistics.median(unit)
        print(
            f"{name:16s} best {min(found) * 1e3:7.1f} ms, median {statistics.median(found) * 1e3:7.1f} ms: "
            f"{best:.3f} and {median:.3f} x {UNITS.get(name, 'causal')}"
        )


if __name__ == "__main__":
    main()
