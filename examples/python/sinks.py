"""Attention sinks: a score a head that takes part in the sum of the softmax and in nothing else, as in gpt-oss.

RUN: %python %s | FileCheck %s
CHECK: a row sums to {{0.[0-9]+}}
CHECK: largest error
"""

import numpy as np
from report import report

import attn

rng = np.random.default_rng(0)
q = rng.standard_normal((1, 8, 512, 64), dtype=np.float32)
k, v = (rng.standard_normal((1, 2, 512, 64), dtype=np.float32) for _ in range(2))
sink = rng.standard_normal(8).astype(np.float32)  # one a query head
options = {"sink": sink, "causal": "top_left", "window": (127, 0)}

# The sink takes its share of every row: what is left for the values sums to less than one.
_, weights = attn.sdpa(q, k, v, return_weights=True, **options)
print(f"a row sums to {weights[0, 0, 100].sum():.3f}")

report(lambda: attn.sdpa(q, k, v, **options), attn.reference.sdpa(q, k, v, **options))
