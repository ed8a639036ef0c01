"""attn: attention kernels, compiled for exactly your problem.

`sdpa` runs attention on arrays; `varlen_sdpa` and `paged_sdpa` on packed sequences and paged caches, `kv_append` writes
to a cache, `merge` merges results over parts of the keys, `multi_head` adds the projections. `sdpa_backward` and `vjp`
give the gradients of `sdpa`, `varlen_sdpa_backward` and `varlen_vjp` those of packed sequences. `linear_attention` has
a state in the place of keys, `linear_attention_backward` its gradients. `compile` makes a kernel from a problem line or
an IR file, `from_onnx` one from a node of an ONNX model, `from_torch` one from a module of PyTorch; `load_library`
loads kernels that attnc has compiled.
`reference` is the executable specification in NumPy; `plot` draws weights and tiles.
docs/Semantics.md defines every argument. To the C API (include/attn-c/attn.h) the package adds arrays, checks, tracing
of Python functions and a cache of kernels; it has no compiler logic.
"""

from attn import functions, plot, reference
from attn.api import get_include, get_num_threads, sdpa, set_num_threads, targets
from attn.call._append import kv_append
from attn.call._gradients import sdpa_backward, varlen_sdpa_backward, varlen_vjp, vjp
from attn.call._layers import merge, multi_head
from attn.call._linear import linear_attention
from attn.call._linear_gradients import linear_attention_backward
from attn.call._packed import varlen_sdpa
from attn.call._serving import paged_sdpa
from attn.errors import CompileError
from attn.functions import *  # noqa: F403 - what score_mod and mask_mod are written with
from attn.kernel import _library
from attn.kernel._compile import compile  # noqa: A004 - shadows a builtin on purpose
from attn.kernel._disk_cache import CacheInfo, cache_info, clear_cache, set_cache
from attn.kernel._kernel import Kernel
from attn.kernel._onnx import from_onnx
from attn.kernel._static import Library, load_library
from attn.kernel._torch_export import from_torch
from attn.trace._capture import capture

__version__ = "0.1.0"

_library.load()

__all__ = [
    "CacheInfo",
    "CompileError",
    "Kernel",
    "Library",
    "cache_info",
    "capture",
    "clear_cache",
    "compile",
    "from_onnx",
    "from_torch",
    "functions",
    "get_include",
    "get_num_threads",
    "kv_append",
    "linear_attention",
    "linear_attention_backward",
    "load_library",
    "merge",
    "multi_head",
    "paged_sdpa",
    "plot",
    "reference",
    "sdpa",
    "sdpa_backward",
    "set_cache",
    "set_num_threads",
    "targets",
    "varlen_sdpa",
    "varlen_sdpa_backward",
    "varlen_vjp",
    "vjp",
    *functions.__all__,
]
