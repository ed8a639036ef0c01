"""Decoding on a paged cache: append the new token's key and value, then attend to all tokens so far.

RUN: %python %s | FileCheck %s
CHECK: after 4 tokens: lengths [104, 37, 516]
CHECK: largest error
"""

import numpy as np
from report import report

import attn

PAGE, PAGES, HEADS, KV_HEADS, SIZE = 16, 64, 8, 2, 64
rng = np.random.default_rng(0)
lengths = np.array([100, 33, 512])
# Any free pages in any order; what a row holds past its length is never read.
block_table = np.full((3, 40), -1, dtype=np.int32)
free = rng.permutation(PAGES)
for b, length in enumerate(lengths):
    count = (length + 4 + PAGE - 1) // PAGE
    block_table[b, :count], free = free[:count], free[count:]
k_cache, v_cache = (rng.standard_normal((PAGES, PAGE, KV_HEADS, SIZE), dtype=np.float32) for _ in range(2))

for _ in range(4):
    q = rng.standard_normal((3, HEADS, 1, SIZE), dtype=np.float32)
    k, v = (rng.standard_normal((3, KV_HEADS, 1, SIZE), dtype=np.float32) for _ in range(2))
    attn.kv_append(k_cache, k, lengths, block_table=block_table)
    attn.kv_append(v_cache, v, lengths, block_table=block_table)
    lengths = lengths + 1
    out = attn.paged_sdpa(q, k_cache, v_cache, block_table, lengths)
print("after 4 tokens: lengths", lengths.tolist())

arguments = (q, k_cache, v_cache, block_table, lengths)
report(lambda: attn.paged_sdpa(*arguments), attn.reference.paged_sdpa(*arguments))
