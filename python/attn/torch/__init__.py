"""attn for PyTorch: attention with gradients, as an operator that its compiler, exporter and transforms know.

`sdpa` has the signature of F.scaled_dot_product_attention, `flex_attention` that of FlexAttention; `varlen_sdpa` takes
packed sequences, `varlen_attn` has the signature of torch.nn.attention.varlen for them; `paged_sdpa` takes caches in
pages, which `kv_append` writes; `cascade_sdpa` and `extend_sdpa` keys in two places, whose results `merge` makes one;
`register_transformers` makes attn an attention implementation of Hugging Face transformers. docs/Training.md goes from
the formula of the gradient to a training loop.
Tensors are on the CPU or on a CUDA device. Where a sequence is on several ranks of torch.distributed,
`context_parallel` and `sharded_sdpa` are attention of the whole (docs/Scaling.md).
"""

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError("expected PyTorch for attn.torch, found none; write pip install torch") from error

from attn.torch import _batches, _flops  # noqa: F401 - register vmap and autocast, and what counts operations
from attn.torch._appending import kv_append
from attn.torch._flex import flex_attention
from attn.torch._kernels import with_kernels
from attn.torch._linear import linear_attention
from attn.torch._merge import cascade_sdpa, extend_sdpa, merge
from attn.torch._sdpa import sdpa
from attn.torch._serving import paged_sdpa
from attn.torch._transformers import register_transformers
from attn.torch._varlen import varlen_sdpa
from attn.torch._varlen_attn import varlen_attn
from attn.torch.parallel._call import sharded_sdpa
from attn.torch.parallel._context_parallel import context_parallel, unshard

__all__ = [
    "cascade_sdpa",
    "context_parallel",
    "extend_sdpa",
    "flex_attention",
    "kv_append",
    "linear_attention",
    "merge",
    "paged_sdpa",
    "register_transformers",
    "sdpa",
    "sharded_sdpa",
    "unshard",
    "varlen_attn",
    "varlen_sdpa",
    "with_kernels",
]
