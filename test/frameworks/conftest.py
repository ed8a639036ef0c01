"""Settings of these tests: fresh seeds for each, and kernels are compiled and not found on disk."""

import pytest
import torch

import attn

attn.set_cache(enabled=False)


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(20251125)
    torch.compiler.reset()
