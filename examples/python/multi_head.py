"""Multi-head attention with its projections, one kernel: X·W_Q, X·W_K, X·W_V, attention, ·W_O.

RUN: %python %s | FileCheck %s
CHECK: largest error
CHECK: largest error
"""

import numpy as np
from report import report

import attn

MODEL, HEADS, SIZE = 256, 8, 32
rng = np.random.default_rng(0)
x = rng.standard_normal((2, 128, MODEL), dtype=np.float32)
w_q, w_k, w_v, w_o = (rng.standard_normal((MODEL, HEADS * SIZE), dtype=np.float32) / 16 for _ in range(4))

expected = attn.reference.multi_head(x, w_q, w_k, w_v, w_o, HEADS, causal="top_left")
report(lambda: attn.multi_head(x, w_q, w_k, w_v, w_o, HEADS, causal="top_left"), expected)

# With projections of your own, attention alone: layout "bsd" takes (batch, length, heads x size) as it is.
q, k, v = x @ w_q, x @ w_k, x @ w_v
report(lambda: attn.sdpa(q, k, v, layout="bsd", heads=HEADS, causal="top_left") @ w_o, expected)
