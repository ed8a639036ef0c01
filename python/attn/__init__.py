"""attn: attention kernels, compiled for exactly your problem.

`sdpa` runs attention on arrays, `compile` makes a kernel from a problem line or an IR file, `from_onnx` one from a
node of an ONNX model, `reference` is the executable specification in NumPy. What every argument means is in SPEC; what
the package adds to the C API (include/attn-c/attn.h) is arrays, checks and a cache of kernels: no compiler logic.
"""

from attn import reference
from attn._kernel import Kernel, compile  # noqa: A004 - the name of SPEC §5
from attn._onnx import from_onnx
from attn.api import get_num_threads, sdpa, set_num_threads, targets
from attn.errors import CompileError

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "Kernel",
    "compile",
    "from_onnx",
    "get_num_threads",
    "reference",
    "sdpa",
    "set_num_threads",
    "targets",
]
