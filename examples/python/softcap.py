"""Soft capping of scores, as in Gemma 2: c·tanh(s / c), as an argument and as a function of your own.

RUN: %python %s | FileCheck %s
CHECK: largest error
CHECK: largest error
"""

import numpy as np
from report import report

import attn

CAP = 30.0
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 8, 512, 128), dtype=np.float32) for _ in range(3))
options = {"causal": "top_left", "scale": 1.0}
expected = attn.reference.sdpa(q, k, v, softcap=CAP, **options)

report(lambda: attn.sdpa(q, k, v, softcap=CAP, **options), expected)


def capped(score, b, h, i, j):
    return CAP * attn.tanh(score / CAP)


report(lambda: attn.sdpa(q, k, v, score_mod=capped, **options), expected)
