"""score_mod and mask_mod through attn.torch: beside PyTorch's FlexAttention, compiled, with captured tensors."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention as flex

import attn
import attn.torch as at

B, H, HKV, S, D = 2, 4, 2, 37, 8
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
DOCUMENTS = torch.tensor([[0] * 17 + [1] * 20, [0] * 30 + [1] * 7])
SCORE_MODS = {
    "none": None,
    "ALiBi": lambda s, b, h, i, j: s - SLOPES[h] * (i - j),
    "a score alone": lambda s, b, h, i, j: s * 0.5 + 1,
}
MASK_MODS = {
    "causal": lambda b, h, i, j: j <= i,
    "documents": lambda b, h, i, j: (DOCUMENTS[b, i] == DOCUMENTS[b, j]) & (j <= i),
    "window": lambda b, h, i, j: (i - j < 5) & (j - i < 3),
}


def draw():
    return torch.randn(B, H, S, D), torch.randn(B, HKV, S, D), torch.randn(B, HKV, S, D)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("score_mod", SCORE_MODS)
@pytest.mark.parametrize("mask_mod", MASK_MODS)
def test_it_is_flex_attention(score_mod, mask_mod):
    q, k, v = draw()
    block_mask = create_block_mask(MASK_MODS[mask_mod], B, H, S, S, device="cpu")
    expected = flex(q, k, v, SCORE_MODS[score_mod], block_mask, enable_gqa=True)
    found = at.flex_attention(q, k, v, SCORE_MODS[score_mod], MASK_MODS[mask_mod], enable_gqa=True)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


def test_compiled_it_is_the_same_and_reads_captures_when_it_runs():
    table = torch.randn(H)

    def score_mod(s, b, h, i, j):
        return s + table[h] * j

    def call(q, k, v):
        return at.flex_attention(q, k, v, score_mod, MASK_MODS["causal"], enable_gqa=True)

    q, k, v = draw()
    compiled = torch.compile(call, fullgraph=True)
    first = call(q, k, v)
    torch.testing.assert_close(compiled(q, k, v), first)
    table *= -2
    torch.testing.assert_close(compiled(q, k, v), call(q, k, v))
    assert not torch.allclose(call(q, k, v), first)


def test_exported_the_graph_has_the_text_of_the_functions():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v):
            return at.flex_attention(q, k, v, SCORE_MODS["ALiBi"], MASK_MODS["causal"], enable_gqa=True)

    q, k, v = draw()
    program = torch.export.export(Layer(), (q, k, v))
    (node,) = [x for x in program.graph.nodes if x.target is torch.ops.attn.sdpa.default]
    assert any("score_mod {" in str(x) for x in node.args)
    torch.testing.assert_close(program.module()(q, k, v), Layer()(q, k, v))


def test_the_log_sum_exp_comes_with_it():
    q, k, v = draw()
    out, lse = at.flex_attention(q, k, v, None, MASK_MODS["window"], enable_gqa=True, return_lse=True)
    expected = attn.sdpa(q, k, v, window=(4, 2), return_lse=True)
    torch.testing.assert_close((out, lse), tuple(expected))


def test_captures_that_are_views():
    """Slices, reversed and read-only arrays have no other order in the graph than in the function."""
    q, k, v = draw()
    wide = torch.randn(2 * S, H)
    view, dense = wide[::2].T, wide[::2].T.clone()
    found = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + view[h, j], enable_gqa=True)
    expected = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + dense[h, j], enable_gqa=True)
    torch.testing.assert_close(found, expected)
    backwards, read_only = dense.numpy()[:, ::-1], torch.ones(S).expand(H, S).numpy()
    read_only.flags.writeable = False
    found = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + read_only[h, j] * backwards[h, j], enable_gqa=True)
    expected = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + dense[h, S - 1 - j], enable_gqa=True)
    torch.testing.assert_close(found, expected)


def test_a_captured_parameter_is_refused_and_not_left_without_gradient():
    slopes = torch.nn.Parameter(SLOPES.clone())
    with pytest.raises(TypeError, match="expected slopes to be a tensor that requires no gradient"):
        at.flex_attention(*draw(), lambda s, b, h, i, j: s - slopes[h] * (i - j), enable_gqa=True)
    with torch.no_grad():
        at.flex_attention(*draw(), lambda s, b, h, i, j: s - slopes[h] * (i - j), enable_gqa=True)
