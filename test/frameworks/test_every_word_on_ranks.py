"""Each word of the table that Python has, on two ranks: the formula of test_every_word.py, and its gradients."""

import numpy as np
import pytest
import ranks
import torch

import attn
import attn.torch
from attn.torch.parallel import _layout
from attn.words import _words
from helpers import assert_close
from test_every_word import VALUES, as_regions

S, D = 48, 16
METHODS = ("allgather", "ring", "ulysses")


def inputs():
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(1, 2, S, D, generator=generator) for _ in range(4)]


def on_ranks(rank, count):
    found, layout = {}, _layout.layout_of("zigzag", S, count)
    for word, form in _words.FORMS.items():
        options = {word: VALUES[form], "is_causal": word == "prefix"}
        for method in METHODS:
            *leaves, dout = (layout.shard_of(x, rank, 2) for x in inputs())
            leaves = [x.requires_grad_(True) for x in leaves]
            out = attn.torch.sharded_sdpa(*leaves, method=method, **options)
            out.backward(dout)
            results = [out.detach(), *(x.grad for x in leaves)]
            found[word, method] = [attn.torch.unshard(x, 2).numpy() for x in results]
    return found


@pytest.fixture(scope="module")
def found():
    return ranks.run(on_ranks, 2)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("word", _words.FORMS)
def test_ranks_compute_the_formula(found, word, method):
    q, k, v, dout = (x.numpy() for x in inputs())
    expected = [attn.reference.sdpa(q, k, v, **as_regions(word, 0))]
    expected += attn.reference.sdpa_backward(q, k, v, None, None, dout, **as_regions(word, 0)).values()
    for x, y in zip(found[word, method], expected, strict=True):
        assert_close(x, y, np.float32)
