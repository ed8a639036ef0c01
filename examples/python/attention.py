"""attn from Python: a call, a kernel of your own, and the specification to compare with.

RUN: %python %s | FileCheck %s
"""

import numpy as np

import attn

rng = np.random.default_rng(0)
q = rng.standard_normal((1, 8, 113, 64), dtype=np.float32)  # batch, query heads, queries, head size
k = rng.standard_normal((1, 2, 203, 64), dtype=np.float32)  # 2 heads, each shared by 4 heads of queries
v = rng.standard_normal((1, 2, 203, 80), dtype=np.float32)  # values may have a size of their own

# 1. One call. The first of a problem compiles a kernel for exactly these shapes, later ones find it in a cache.
out, lse = attn.sdpa(q, k, v, causal="bottom_right", return_lse=True)
# CHECK: (1, 8, 113, 80) float32
print(out.shape, out.dtype)

# 2. The executable specification, in f64 and plain NumPy: what every kernel is tested against.
expected, expected_lse = attn.reference.sdpa(q, k, v, causal="bottom_right", return_lse=True)
# CHECK: agrees: True True
print("agrees:", np.allclose(out, expected, atol=1e-5), np.allclose(lse, expected_lse, atol=1e-5))

# 3. A kernel by hand, from a problem line or from the text of an IR file; it has a C ABI and takes arrays.
kernel = attn.compile("b1 hq8 hkv2 sq113 sk203 d64 dv80 f32 causal=bottom_right out=lse")
again, _ = kernel(q, k, v)
# CHECK: same kernel: True
print("same kernel:", np.array_equal(out, again))
