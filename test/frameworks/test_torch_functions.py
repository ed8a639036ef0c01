"""Functions and methods of PyTorch on traced values, by its own on all scores at once; what is read of one number."""

import pytest
import torch
import torch.nn.functional as F

import attn.torch as at

H, S, D = 2, 9, 4
ROWS, KEYS = torch.arange(S)[:, None], torch.arange(S)[None, :]
INF = float("inf")

FORMS = {
    "methods": lambda s, i, j: s.tanh() + i.float() * 0.1 + (i - j).abs(),
    "a chain of methods": lambda s, i, j: s.clamp(-1, 1).abs().exp().pow(2),
    "masked_fill": lambda s, i, j: s.masked_fill(i < j, -INF),
    "where of a tensor": lambda s, i, j: s.where(i >= j, -INF),
    "full_like": lambda s, i, j: torch.where(i >= j, s, torch.full_like(s, -INF)),
    "zeros_like": lambda s, i, j: torch.where(i >= j, s, torch.zeros_like(s)) + torch.ones_like(s),
    "new_ones": lambda s, i, j: torch.where(s.new_ones((), dtype=torch.bool) & (i >= j), s, -INF),
    "log1p": lambda s, i, j: s + torch.log1p(torch.abs(s)),
    "reciprocal": lambda s, i, j: s * torch.rsqrt(i + 1) + torch.reciprocal(j + 1.0),
    "sign": lambda s, i, j: s * torch.sign(s) + (i - j).sign(),
    "expm1 of small numbers": lambda s, i, j: torch.expm1(s * 1e-9) * 1e9,
    "activations": lambda s, i, j: F.softplus(s) + F.silu(s) + F.relu(s) + F.logsigmoid(s),
    "rounding_mode": lambda s, i, j: s + torch.div(i, 3, rounding_mode="floor") + torch.floor_divide(j, 2),
    "alpha": lambda s, i, j: torch.add(s, i, alpha=2) - torch.rsub(s, 1) + torch.sub(s, j, alpha=0.5),
    "trunc": lambda s, i, j: torch.trunc(s * 3),
    "isnan": lambda s, i, j: torch.where(torch.isnan(s * 0 / (i - j)), 0.0, s),
    "isinf": lambda s, i, j: torch.where(torch.isinf(1.0 / (i - j)) | ~torch.isfinite(s), 0.0, s),
    "types": lambda s, i, j: s + (i > j).to(torch.float64) + (i > j).int() * 2 + i.bool().float(),
    "clamp_min": lambda s, i, j: s.clamp_min(0) + torch.clamp_max(s, 1),
    "bitwise": lambda s, i, j: s + torch.where(torch.bitwise_not(i > j) | torch.logical_xor(i > 2, j > 2), 1, 0),
}


@pytest.mark.parametrize("name", FORMS)
def test_they_are_those_of_tensors(name):
    """Values and gradients."""
    form = FORMS[name]
    q, k, v = inputs = [torch.randn(1, H, S, D, dtype=torch.float64, requires_grad=True) for _ in "qkv"]
    expected = torch.softmax((form(q @ k.mT / D**0.5, ROWS, KEYS)).double(), -1) @ v
    found = at.flex_attention(q, k, v, lambda s, b, h, i, j: form(s, i, j))
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-7)
    dout = torch.randn_like(found)
    gradients = torch.autograd.grad(found, inputs, dout)
    torch.testing.assert_close(
        gradients, torch.autograd.grad(expected, inputs, dout, materialize_grads=True), rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("is_compiled", [False, True])
def test_arithmetic_of_a_number_and_an_element_has_gradients(is_compiled):
    """Of a captured number, and of one element: neither is a constant."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.temperature = torch.nn.Parameter(torch.tensor(1.5))
            self.table = torch.nn.Parameter(torch.randn(3))

        def forward(self, q, k, v):
            temperature, table = self.temperature, self.table
            return at.flex_attention(q, k, v, lambda s, b, h, i, j: s * (temperature * 2) + table[1] * i * j)

        def expected(self, q, k, v):
            return torch.softmax(q @ k.mT / D**0.5 * (self.temperature * 2) + self.table[1] * ROWS * KEYS, -1) @ v

    layer = Layer()
    q, k, v = (torch.randn(1, H, S, D) for _ in "qkv")
    call = torch.compile(layer, fullgraph=True) if is_compiled else layer
    found, expected = call(q, k, v), layer.expected(q, k, v)
    torch.testing.assert_close(found, expected)
    dout = torch.randn_like(found)
    parameters = list(layer.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(found, parameters, dout),
        torch.autograd.grad(expected, parameters, dout),
        rtol=1e-4,
        atol=1e-5,
    )


REFUSED = {
    "a method": (lambda s, b, h, i, j: s.frexp(), r"found s\.frexp"),
    "an integer of a score": (lambda s, b, h, i, j: s.int(), "to become a float or bool"),
    "a rounding mode": (
        lambda s, b, h, i, j: s + torch.div(i, 3, rounding_mode="trunc"),
        'rounding_mode None or "floor"',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused_with_what_to_write(name):
    score_mod, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        at.flex_attention(*(torch.randn(1, H, S, D) for _ in "qkv"), score_mod)


def test_symbolic_trace_records_a_call():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v, mask):
            return at.sdpa(q, k, v, mask, scale=0.3, window=(3, None)) * 2

    q, k, v = (torch.randn(1, H, S, D) for _ in "qkv")
    mask = torch.randn(S, S)
    traced = torch.fx.symbolic_trace(Layer())
    assert at.sdpa in [x.target for x in traced.graph.nodes]
    torch.testing.assert_close(traced(q, k, v, mask), Layer()(q, k, v, mask))


def test_symbolic_trace_refuses_functions_with_what_to_write():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v):
            return at.flex_attention(q, k, v, lambda s, b, h, i, j: s + i)

    with pytest.raises(TypeError, match=r"without score_mod in torch\.fx\.symbolic_trace.*write torch\.export"):
        torch.fx.symbolic_trace(Layer())


BROADCAST = {
    "batches": ((3, H, S, D), (1, H, S, D), (1, H, S, D)),
    "heads": ((3, H, S, D), (3, 1, S, D), (3, 1, S, D)),
    "both": ((3, H, S, D), (1, 1, S, D), (1, 1, S, D)),
    "values alone": ((3, H, S, D), (3, H, S, D), (1, 1, S, D)),
    "queries": ((1, 1, S, D), (3, H, S, D), (3, H, S, D)),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_batches_and_heads_broadcast_with_a_function(name):
    """As F.scaled_dot_product_attention has them; gradients are sums over what is shared."""
    q, k, v = inputs = [torch.randn(x, dtype=torch.float64, requires_grad=True) for x in BROADCAST[name]]
    mask = torch.arange(H)[:, None, None] * ROWS >= KEYS - 1
    found = at.flex_attention(q, k, v, None, lambda b, h, i, j: h * i >= j - 1)
    expected = F.scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(found, expected)
    dout = torch.randn_like(found)
    torch.testing.assert_close(torch.autograd.grad(found, inputs, dout), torch.autograd.grad(expected, inputs, dout))
