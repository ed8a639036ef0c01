"""Training on several ranks: the losses and weights of one process, bit by bit, and those of PyTorch's attention."""

import contextlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import ranks
import torch

STEPS = 5
NUMBERS = (1, 2)
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/train_ranks.py"
ORDERED = ("ring, ordered, by block", "ulysses, by block")
PLAIN = ("ring", "allgather")


def example():
    specification = importlib.util.spec_from_file_location("train_ranks", EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def on_ranks(rank, count):
    torch.set_grad_enabled(True)
    module = example()
    found = {}
    for name in (*ORDERED, *(PLAIN if count == 2 else ())):
        by_block, options = module.FORMS[name]
        found[name] = module.train(torch.distributed.group.WORLD, STEPS, by_block, **options)
    if count == 1:  # the same model by PyTorch's own attention

        @contextlib.contextmanager
        def outside(*_, **__):
            yield

        module.attn.torch.context_parallel = outside
        found["PyTorch"] = module.train(torch.distributed.group.WORLD, STEPS, False)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    return {n: ranks.run(on_ranks, n, folder=folder) for n in NUMBERS}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("count", NUMBERS[1:])
def test_losses_and_weights_have_the_bits_of_one_process(found, name, count):
    losses, weights = found[1][0][name]
    assert losses[-1] < losses[0]
    for of_rank in found[count]:
        assert of_rank[name][0] == losses
        assert torch.equal(of_rank[name][1], weights)


@pytest.mark.parametrize("name", [*ORDERED, *PLAIN])
def test_the_curve_is_that_of_pytorch(found, name):
    np.testing.assert_allclose(found[2][0][name][0], found[1][0]["PyTorch"][0], rtol=2e-6)


def test_without_blocks_bits_differ(found):
    """So the comparison of bits can fail."""
    assert all(not torch.equal(found[2][0][name][1], found[1][0]["PyTorch"][1]) for name in PLAIN)
