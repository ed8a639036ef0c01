"""Settings of these tests: fresh seeds for each, and kernels are compiled and not found on disk, up to the LLVM IR of
which an earlier test has made machine code.
"""

import sys

import pytest

import attn
from paths import OBJECTS

attn.set_cache(enabled=False, objects=OBJECTS)


@pytest.fixture(autouse=True)
def fresh():
    """Of what the file has imported: files of JAX need no PyTorch, and most of PyTorch's not its compiler."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(20251125)
    if "torch._dynamo" in sys.modules:
        sys.modules["torch"].compiler.reset()
