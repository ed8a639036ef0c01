"""Gradients by formulas, which GPUs have no kernels for: beside the kernels of the CPU, and beside autograd."""

import numpy as np
import pytest
import torch

import attn
from attn.torch import _formulas, _ops, _regions
from attn.torch._ops import Call
from attn.torch._tape import Region

B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 5, 7, 3, 6


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def qkv():
    return draw(B, HQ, SQ, D), draw(B, HKV, SK, D), draw(B, HKV, SK, DV)


def words(**given):
    return tuple(given.get(name) for name in attn._words.FORMS)


CASES = {
    "bias of all": lambda: dict(bias=draw(B, HQ, SQ, SK)),
    "bias of a row, softcap": lambda: dict(bias=draw(1, HQ, 1, SK), scale=0.7, words=words(softcap=1.5)),
    "bias that removes keys": lambda: dict(bias=draw(1, 1, SQ, SK).masked_fill(torch.rand(SQ, SK) > 0.6, -torch.inf)),
    "sink": lambda: dict(sink=draw(HQ), causal="bottom_right"),
    "empty rows": lambda: dict(sink=draw(HQ), causal="top_left", offsets=torch.tensor([-2, 1])),
    "window": lambda: dict(bias=draw(1, 1, SQ, SK), align="bottom_right", words=words(window=[2, 1])),
    "chunk, prefix": lambda: dict(bias=draw(1, 1, SQ, SK), align="top_left", words=words(chunk=2, prefix=1)),
    "window of one side": lambda: dict(sink=draw(HQ), causal="top_left", words=words(window=[_ops.NO_BOUND, 0])),
    "lengths": lambda: dict(
        bias=draw(1, 1, SQ, SK), q_lengths=torch.tensor([5, 2]), kv_lengths=torch.tensor([0, 6]), causal="bottom_right"
    ),
    "mask": lambda: dict(bias=draw(B, 1, SQ, SK), mask=torch.rand(B, HQ, SQ, SK) > 0.5),
    "dropout": lambda: dict(bias=draw(1, 1, SQ, SK), dropout=0.4, seeds=torch.tensor([7, 9])),
}


def compare(call, wanted):
    call = Call.of(call.flat())
    out, lse, *terms = _ops.sdpa(*call.flat())
    dout, dlse = torch.randn_like(out), torch.randn_like(lse)
    expected = _ops.sdpa_backward(dout, out, *terms, dlse, ",".join(wanted), *call.flat())
    found = _formulas.gradients(call, dout, out, *terms, dlse, wanted)
    for name, x, y in zip(wanted, found, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-12, atol=1e-12, msg=lambda text, name=name: f"d{name}: {text}")


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_kernels(name):
    call = Call(*qkv(), [], **CASES[name]())
    compare(call, ("q", "k", "v", *(x for x in ("bias", "sink") if getattr(call, x) is not None)))


def test_what_nobody_keeps_may_be_nan():
    q, k, v = qkv()
    k[0, :, 4:], v[0, :, 4:], q[1, :, 2:] = torch.nan, torch.nan, torch.nan
    lengths = {"q_lengths": torch.tensor([5, 2]), "kv_lengths": torch.tensor([4, 7])}
    compare(Call(q, k, v, [], bias=draw(1, 1, SQ, SK), **lengths), ("q", "k", "v", "bias"))


@pytest.mark.parametrize("has_mask", [False, True])
def test_captured_tensors(has_mask):
    """A table that is read twice, at the head and at a distance, through integers, and under a condition."""
    slopes, table, buckets = draw(HQ), draw(HQ, 3), torch.randint(3, (SK,))

    def score_mod(s, b, h, i, j):
        near = table[h, buckets[j]] * s + slopes[h] * (i - j)
        return attn.where(j < i, attn.tanh(near), near + slopes[h] ** 2)

    def mask_mod(b, h, i, j):
        return (buckets[j] != 1) | (i % 2 == b)

    q, k, v = qkv()
    text, names, captures = _regions.traced(score_mod, mask_mod if has_mask else None, (B, HQ, SQ, SK), torch.float64)
    floats = [f"captures.{n}" for n, x in enumerate(captures) if x.is_floating_point()]
    assert len(floats) == 2
    compare(Call(q, k, v, captures, regions=text, captured=names, words=words(softcap=3.0)), ("q", "k", "v", *floats))


def test_regions_without_captured_tensors():
    text, *_ = _regions.traced(lambda s, b, h, i, j: s * np.inf, None, (B, HQ, SQ, SK), torch.float64)
    score = torch.ones(B, HQ, SQ, SK, dtype=torch.float64)
    indices = tuple(torch.zeros(1, 1, 1, 1, dtype=torch.int64) for _ in range(4))
    assert Region(_formulas._bodies(text)[0], {}, indices, score).value.isinf().all()


FUNCTIONS = {
    "sums": lambda f, x, y: x + y * 2 - x / y,
    "choice": lambda f, x, y: f.where(x < y, x * y, y - 1),
    "extremes": lambda f, x, y: f.minimum(x, y) * f.maximum(x, 0.3 * y),
    "absolute": lambda f, x, y: abs(x) - y,
    "exponentials": lambda f, x, y: f.exp(x) + f.exp2(y) + f.tanh(x * y),
    "logarithms": lambda f, x, y: f.log(abs(x)) * f.log2(abs(y)) + f.log1p(abs(x)),
    "waves": lambda f, x, y: f.sin(x) * f.cos(y) + f.sqrt(abs(x)),
    "steps": lambda f, x, y: f.floor(x) * y + f.ceil(y) * x,
    "powers": lambda f, x, y: abs(x) ** y + x**3,
    "sigmoid": lambda f, x, y: f.sigmoid(x) * y,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_each_function(name):
    function, table, score = FUNCTIONS[name], draw(HQ, SK), draw(B, HQ, SQ, SK).requires_grad_()
    text, names, captures = _regions.traced(
        lambda s, b, h, i, j: function(attn, s, table[h, j]), None, score.shape, torch.float64
    )
    ranges = [torch.arange(n) for n in score.shape]
    indices = tuple(x.view([-1 if n == dim else 1 for n in range(4)]) for dim, x in enumerate(ranges))
    region = Region(_formulas._bodies(text)[0], dict(zip([names], captures, strict=True)), indices, score.detach())
    read = table.clone().requires_grad_()
    value = function(torch, score, read[None, :, None].expand(score.shape))
    d = draw(*score.shape)
    torch.testing.assert_close(region.value, value.detach())
    expected = torch.autograd.grad(value, (score, read), d)
    of_score, of_reads = region.backward(d)
    torch.testing.assert_close((of_score, of_reads[names]), expected)
