"""Sliding window: each query sees itself and the 255 keys before it, as in Mistral's models.

RUN: %python %s | FileCheck %s
CHECK: largest error
CHECK: tiles of 64 x 64
CHECK: largest error
"""

import numpy as np
from report import report

import attn

WINDOW = 256
rng = np.random.default_rng(0)
q = rng.standard_normal((1, 8, 1024, 64), dtype=np.float32)  # batch, query heads, queries, head size
k, v = (rng.standard_normal((1, 2, 1024, 64), dtype=np.float32) for _ in range(2))  # 2 heads of keys and values

# A window of W keys that ends at the query: (W − 1, 0), inclusive.
options = {"causal": "top_left", "window": (WINDOW - 1, 0)}
report(lambda: attn.sdpa(q, k, v, **options), attn.reference.sdpa(q, k, v, **options))

# Which tiles a kernel has to visit: the others cost nothing.
print(attn.plot.tiles(1024, 1024, (64, 64), **options).axes[0].get_title())


# The same mask as a function. It is affine in i and j, so the compiler finds the same ranges of keys.
def window(b, h, i, j):
    return (j <= i) & (i - j < WINDOW)


report(lambda: attn.sdpa(q, k, v, mask_mod=window), attn.reference.sdpa(q, k, v, **options))
