"""ALiBi (Press et al., "Train Short, Test Long", 2022): a penalty that grows with the distance, another slope a head.

RUN: %python %s | FileCheck %s
CHECK: largest error
"""

import numpy as np
from report import report

import attn

HEADS = 8
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((2, HEADS, 512, 64), dtype=np.float32) for _ in range(3))
slopes = 2.0 ** (-8.0 * np.arange(1, HEADS + 1) / HEADS)


# Traced once into the kernel; `slopes` becomes an argument of it, so other slopes need no other kernel.
def alibi(score, b, h, i, j):
    return score - slopes[h] * (i - j)


options = {"score_mod": alibi, "causal": "top_left"}
report(lambda: attn.sdpa(q, k, v, **options), attn.reference.sdpa(q, k, v, **options))
