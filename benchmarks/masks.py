"""What masks, windows and dynamic sizes take beside the same attention without them: a row a kernel, on one thread.

The goals of goals.py have the costs that a mask, a bias, a softcap and ALiBi may have; this is the rest. A kernel and
the one beside it are timed in turn; of both the best round counts.

    build/venv/bin/python benchmarks/masks.py
"""

from __future__ import annotations

import argparse

from goals import bench

FULL_1K, FULL_4K = "sq1024 d64", "sq4096 d64"
CAUSAL = f"{FULL_4K} causal=top_left"
CAUSAL_REGION = f"""{FULL_4K}
mask_mod {{
  %i = attn.index query : index
  %j = attn.index key : index
  %keep = arith.cmpi sle, %j, %i : index
  attn.yield %keep : i1
}}"""
DOCUMENTS = f"""{FULL_4K}
mask_mod {{
  %i = attn.index query : index
  %j = attn.index key : index
  %size = arith.constant 512 : index
  %row = arith.floordivsi %i, %size : index
  %column = arith.floordivsi %j, %size : index
  %keep = arith.cmpi eq, %row, %column : index
  attn.yield %keep : i1
}}"""
# The kernel, its problem, what stands beside it, its problem.
CASES = [
    ("dynamic batch, heads and lengths, S = 1024", "b? hq? sq? sk? d64", "full", FULL_1K),
    ("window of 256 keys, S = 4096", f"{FULL_4K} window=255,0 align=top_left", "full", FULL_4K),
    ("causal, S = 4096", CAUSAL, "full", FULL_4K),
    ("causal as a `mask_mod` region, S = 4096", CAUSAL_REGION, "causal", CAUSAL),
    ("8 documents of 512 on the diagonal, S = 4096", DOCUMENTS, "full", FULL_4K),
    ("causal in chunks of 512, S = 4096", f"{CAUSAL} chunk=512", "full", FULL_4K),
]
# Of the open sizes, where a problem has any.
SIZES = "--size=b=1,hq=1,sq=1024,sk=1024"


def main() -> None:
    """Prints a row a kernel as it is measured."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| kernel (f32, D = 64, one thread) | best | beside | ratio |\n| --- | --- | --- | --- |")
    for name, problem, other_name, other in CASES:
        figure, base = bench(problem, other, flags=(SIZES,))
        times = f"{figure.seconds * 1e3:.3g} ms | {other_name}, {base.seconds * 1e3:.3g} ms"
        print(f"| {name} | {times} | {figure.seconds / base.seconds:.3f} |", flush=True)


if __name__ == "__main__":
    main()
