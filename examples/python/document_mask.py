"""Document mask: several documents share one sequence, and no token sees another document.

RUN: %python %s | FileCheck %s
CHECK: largest error
CHECK: largest error
"""

import numpy as np
from report import report

import attn

LENGTHS = [300, 150, 74, 500]
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 8, sum(LENGTHS), 64), dtype=np.float32) for _ in range(3))
documents = np.repeat(np.arange(len(LENGTHS)), LENGTHS)[None]  # the document of each token, (batch, length)


# Documents are known at run time only: the kernel computes which blocks to skip before its main loop.
def same_document(b, h, i, j):
    return (documents[b, i] == documents[b, j]) & (j <= i)


expected = attn.reference.sdpa(q, k, v, mask_mod=same_document)
report(lambda: attn.sdpa(q, k, v, mask_mod=same_document), expected)

# The same as packed sequences: (tokens, heads, head size), and where each document begins.
packed = [np.ascontiguousarray(x[0].swapaxes(0, 1)) for x in (q, k, v)]
starts = np.concatenate([[0], np.cumsum(LENGTHS)])
report(lambda: attn.varlen_sdpa(*packed, starts, starts, causal="top_left"), expected[0].swapaxes(0, 1))
