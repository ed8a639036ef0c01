"""Settings of these tests: fresh seeds for each, and kernels are compiled and not found on disk, up to the LLVM IR of
which an earlier test has made machine code. LLVM runs a few passes, since test/python tests what its -O3 makes of
kernels; with `--products` it runs all.
"""

import gc
import sys

import pytest

import attn
from attn.kernel import _compile
from paths import OBJECTS

attn.set_cache(enabled=False, objects=OBJECTS)


def pytest_configure(config):
    """Before files are imported. PyTorch makes millions of objects that stay: collecting is a fifth of its import."""
    _compile.is_quick = not config.option.products
    gc.disable()


def pytest_collection_finish():
    """After files are imported."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def fresh():
    """Of what the file has imported: files of JAX need no PyTorch, and most of PyTorch's not its compiler."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(20251125)
    if "torch._dynamo" in sys.modules:
        sys.modules["torch"].compiler.reset()
