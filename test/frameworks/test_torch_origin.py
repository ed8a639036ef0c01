"""`attn.torch.sdpa` with origins: parts of rows and heads are those of the whole, in eager mode and in graphs."""

import pytest
import torch

import attn
import attn.torch
import processor

SHAPE = (2, 4, 96, 32)
POSITIONS = torch.randperm(96, generator=torch.Generator().manual_seed(3))
CASES = {
    "words": {"causal": "top_left", "chunk": 20, "prefix": 7},
    "functions": {
        "mask_mod": lambda b, h, i, j: POSITIONS[j] <= POSITIONS[i],
        "score_mod": lambda s, b, h, i, j: s - 0.1 * h * abs(i - j),
    },
}


def draw():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(SHAPE, generator=generator) for _ in range(4)]


def run(q, k, v, dout, **options):
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    out = attn.torch.sdpa(*leaves, **options)
    out.backward(dout)
    return out.detach(), [x.grad for x in leaves]


def same(found, expected):
    """Bits; with AMX, kernels of few rows multiply by other instructions than its tiles, and agree within rounding."""
    if not processor.has("amx-bf16"):
        assert torch.equal(found, expected)
    torch.testing.assert_close(found, expected, atol=4e-6, rtol=0)


@pytest.mark.parametrize("case", CASES)
def test_parts_are_those_of_the_whole(case):
    options, (q, k, v, dout) = CASES[case], draw()
    whole, gradients = run(q, k, v, dout, **options)
    first = {0: 0, 40: torch.tensor([40, 40])}
    parts = [
        run(q[:, :, a:e], k, v, dout[:, :, a:e], q_origin=first[a], k_origin=0, **options)
        for a, e in ((0, 40), (40, 96))
    ]
    same(torch.cat([x for x, _ in parts], 2), whole)
    same(torch.cat([x[0] for _, x in parts], 2), gradients[0])
    for n in (1, 2):
        torch.testing.assert_close(parts[0][1][n] + parts[1][1][n], gradients[n], atol=4e-6, rtol=0)
    heads, _ = run(*(x[:, 2:] for x in (q, k, v, dout)), h_origin=2, **options)
    assert torch.equal(heads, whole[:, 2:])
    wrong, _ = run(q[:, :, 40:], k, v, dout[:, :, 40:], q_origin=41, **options)
    assert not torch.allclose(wrong, whole[:, :, 40:], atol=1e-3)


def test_graphs():
    q, k, v, _ = draw()
    options = {"causal": "top_left", "prefix": 5}
    compiled = torch.compile(
        lambda q, k, v, first: attn.torch.sdpa(q, k, v, q_origin=first, **options), fullgraph=True, backend="aot_eager"
    )
    whole = attn.torch.sdpa(q, k, v, **options)
    assert torch.equal(compiled(q[:, :, 40:], k, v, torch.tensor([40, 40])), whole[:, :, 40:])


def test_dropout_needs_the_sizes_of_the_whole():
    q, k, v, _ = draw()
    with pytest.raises(ValueError, match=r"write whole=\(Hq, Sq, Sk\)"):
        attn.torch.sdpa(q, k, v, dropout_p=0.1, q_origin=3)
    torch.manual_seed(4)
    whole = attn.torch.sdpa(q, k, v, dropout_p=0.3)
    torch.manual_seed(4)
    part = attn.torch.sdpa(q[:, 1:, 32:], k[:, 1:], v[:, 1:], dropout_p=0.3, q_origin=32, h_origin=1, whole=(4, 96, 96))
    assert torch.equal(part, whole[:, 1:, 32:])
