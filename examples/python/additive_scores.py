"""Additive scoring (Bahdanau et al., 2015): s = wᵀ tanh(W_q q + W_k k) in place of the product of query and key.

RUN: %python %s | FileCheck %s
CHECK: largest error
"""

import numpy as np
from report import report

import attn

B, HEADS, SQ, SK, A, DV = 2, 4, 64, 113, 32, 64
rng = np.random.default_rng(0)
x, y = (rng.standard_normal((B, HEADS, rows, 48), dtype=np.float32) for rows in (SQ, SK))
v = rng.standard_normal((B, HEADS, SK, DV), dtype=np.float32)
w_q, w_k = (rng.standard_normal((48, A), dtype=np.float32) / 7 for _ in range(2))
w = rng.standard_normal(A, dtype=np.float32)

# Both sides are projected once, outside of the loop over pairs; the op takes what is left, w and the tanh.
q, k = x @ w_q, y @ w_k
kernel = attn.compile(f"""
func.func @additive(%q: tensor<{B}x{HEADS}x{SQ}x{A}xf32>, %k: tensor<{B}x{HEADS}x{SK}x{A}xf32>,
                    %v: tensor<{B}x{HEADS}x{SK}x{DV}xf32>, %w: tensor<{A}xf32>) -> tensor<{B}x{HEADS}x{SQ}x{DV}xf32> {{
  %init = tensor.empty() : tensor<{B}x{HEADS}x{SQ}x{DV}xf32>
  %out = attn.sdpa
      ins(%q, %k, %v : tensor<{B}x{HEADS}x{SQ}x{A}xf32>, tensor<{B}x{HEADS}x{SK}x{A}xf32>,
                       tensor<{B}x{HEADS}x{SK}x{DV}xf32>)
      score_weight(%w : tensor<{A}xf32>)
      outs(%init : tensor<{B}x{HEADS}x{SQ}x{DV}xf32>) {{scale = 1.0 : f64}} -> tensor<{B}x{HEADS}x{SQ}x{DV}xf32>
  return %out : tensor<{B}x{HEADS}x{SQ}x{DV}xf32>
}}
""")

# The specification takes the weights of all three products.
scores = attn.reference.scores(x, y, [w_q, w_k, w], kind="additive")
weights, _ = attn.reference.softmax(scores)
report(lambda: kernel(q, k, v, w), attn.reference.apply(weights, v))
