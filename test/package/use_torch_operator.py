"""use_torch_operator.py LIBRARY: runs attn::kernel of a libattn_torch.so where no other part of attn is."""

import sys

import torch

torch.ops.load_library(sys.argv[1])
q, k, v = (torch.randn(1, 2, rows, 16) for rows in (5, 9, 9))
(out,) = torch.ops.attn.kernel("b? hq2 hkv2 sq? sk? d16 f32", [q, k, v], q.shape, "1 float32 4 0 1 2 3")
torch.testing.assert_close(out, torch.nn.functional.scaled_dot_product_attention(q, k, v))
assert "attn" not in sys.modules
print("attn::kernel is right")
