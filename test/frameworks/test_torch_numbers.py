"""attn.torch.sdpa beside PyTorch's own function, forward and backward: shapes, groups, masks, types."""

import itertools

import pytest
import torch
import torch.nn.functional as F

import attn
import attn.torch as at

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}
SHAPES = {
    "113x203": ((2, 4, 113, 59), (2, 4, 203, 59), (2, 4, 203, 59)),
    "one query": ((3, 2, 1, 16), (3, 2, 40, 16), (3, 2, 40, 16)),
    "D 1": ((1, 2, 7, 1), (1, 2, 9, 1), (1, 2, 9, 1)),
    "Dv 33": ((1, 2, 17, 8), (1, 2, 19, 8), (1, 2, 19, 33)),
    # Each D is of one shape: kernels of open sizes, which a second one would have, are test_torch_lengths'.
    "no keys": ((2, 3, 4, 8), (2, 3, 0, 8), (2, 3, 0, 8)),
    "no queries": ((2, 3, 0, 7), (2, 3, 5, 7), (2, 3, 5, 7)),
    "no batch": ((0, 3, 4, 6), (0, 3, 5, 6), (0, 3, 5, 6)),
    "rank 2": ((9, 8), (11, 8), (11, 8)),
    "rank 3": ((4, 9, 8), (4, 11, 8), (4, 11, 8)),
    "rank 5": ((2, 3, 4, 9, 8), (2, 3, 4, 11, 8), (2, 3, 4, 11, 8)),
    "groups": ((2, 6, 13, 8), (2, 2, 21, 8), (2, 2, 21, 8)),
    "one head of keys": ((2, 6, 13, 8), (2, 1, 21, 8), (2, 1, 21, 8)),
}


def draw(shapes, dtype=torch.float32):
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def run(function, inputs, **options):
    """The result and the gradients, of a fixed cotangent."""
    out = function(*inputs, **options)
    weights = torch.cos(torch.arange(out.numel(), dtype=torch.float64)).view(out.shape).to(out.dtype)
    bias = [x for x in options.values() if isinstance(x, torch.Tensor) and x.requires_grad]
    return [out.detach(), *torch.autograd.grad((out * weights).sum(), [*inputs, *bias])]


def assert_close(found, expected, low=None):
    """As docs/Semantics.md has it; `low` is the same mathematics in 16 bits, whose error may be doubled."""
    largest = max([x.abs().max() for x in expected[1:] if x.numel()], default=0)  # where a row has one key, dq is 0
    for n, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert x.shape == y.shape
        if not y.numel():
            continue
        limit = (
            TOLERANCE[x.dtype] * (largest if n else y.abs().max())
            if low is None
            else 2 * (low[n].double() - y).abs().max()
        )
        error = (x.double() - y.double()).abs().max()
        assert error <= limit, f"result {n}: expected an error of at most {limit:.2e}, found {error:.2e}"


# Each shape with both types, and with and without a mask; all four of what kernels treat in a way of their own.
WHOLE = ("113x203", "one query", "no keys", "no queries")
CALLS = [
    (shape, is_causal, dtype)
    for shape in SHAPES
    for is_causal, dtype in itertools.product((False, True), TOLERANCE)
    if shape in WHOLE or is_causal == (dtype == torch.float32)
]


@pytest.mark.parametrize(("shape", "is_causal", "dtype"), CALLS, ids=str)
def test_shapes(shape, is_causal, dtype):
    inputs = draw(SHAPES[shape], dtype)
    options = {"is_causal": is_causal, "enable_gqa": shape in ("groups", "one head of keys")}
    expected = run(F.scaled_dot_product_attention, [x.detach().double().requires_grad_() for x in inputs], **options)
    assert_close(run(at.sdpa, inputs, **options), expected)


MASKS = {
    "bool": lambda: torch.rand(13, 21) > 0.4,
    "bool of each key": lambda: torch.rand(2, 1, 1, 21) > 0.4,
    "bool, empty rows": lambda: (torch.rand(13, 21) > 0.4) & (torch.arange(13) % 3 > 0)[:, None],
    "nothing": lambda: torch.zeros(13, 21, dtype=torch.bool),
    "floats": lambda: torch.randn(13, 21, dtype=torch.float64, requires_grad=True),
    "floats of heads": lambda: torch.randn(6, 13, 21, dtype=torch.float64, requires_grad=True),
    "floats of a batch": lambda: torch.randn(2, 1, 13, 21, dtype=torch.float64, requires_grad=True),
    "floats, some of them -inf": lambda: torch.randn(13, 21, dtype=torch.float64).masked_fill(
        torch.rand(13, 21) > 0.6, -torch.inf
    ),
}


# Scales are of the scores alone: each kind of mask is with one that is given, and kernels are shared where they can be.
SCALES = {
    "bool": (None, 0.3, -1.0),
    "bool, empty rows": (0.3, -1.0),
    "nothing": (0.3, -1.0),
    "floats": (None, 0.3, -1.0),
    "floats of heads": (-1.0,),
    "floats of a batch": (0.3,),
    "bool of each key": (0.3,),
    "floats, some of them -inf": (None, -1.0),
}


@pytest.mark.parametrize(("mask", "scale"), [(mask, scale) for mask in MASKS for scale in SCALES[mask]])
def test_masks(mask, scale):
    inputs = draw(SHAPES["groups"], torch.float64)
    options = {"attn_mask": MASKS[mask](), "scale": scale, "enable_gqa": True}
    assert_close(run(at.sdpa, inputs, **options), run(F.scaled_dot_product_attention, inputs, **options))


def test_a_mask_of_rank_5():
    inputs = draw(SHAPES["rank 5"], torch.float64)
    for mask in (torch.rand(9, 11) > 0.4, torch.rand(3, 1, 9, 11) > 0.4, torch.rand(2, 1, 4, 1, 11) > 0.4):
        options = {"attn_mask": mask}
        assert_close(run(at.sdpa, inputs, **options), run(F.scaled_dot_product_attention, inputs, **options))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "options", [{}, {"is_causal": True}, {"attn_mask": torch.ones(113, 203).tril(70) > 0}], ids=str
)
def test_16_bits(dtype, options):
    inputs = draw(((1, 4, 113, 64), (1, 2, 203, 64), (1, 2, 203, 64)), dtype)
    wide = [x.detach().double().requires_grad_() for x in inputs]

    def narrow(q, k, v, is_causal=False, attn_mask=None, enable_gqa=True):
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        scores = (q @ k.mT) * q.shape[-1] ** -0.5
        kept = torch.ones(q.shape[2], k.shape[2]).tril() > 0 if is_causal else attn_mask
        scores = scores if kept is None else scores.masked_fill(~kept, -torch.inf)
        return scores.softmax(-1) @ v

    options = {**options, "enable_gqa": True}
    expected = run(F.scaled_dot_product_attention, wide, **options)
    assert_close(run(at.sdpa, inputs, **options), expected, low=run(narrow, inputs, **options))


def test_what_is_not_contiguous():
    """As layers make them: (B, S, H, D) with heads exchanged, and one of every two elements."""
    q = torch.randn(2, 13, 6, 8, dtype=torch.float64).transpose(1, 2).requires_grad_()
    k = torch.randn(2, 2, 21, 16, dtype=torch.float64)[..., ::2].requires_grad_()
    v = torch.randn(2, 21, 2, 8, dtype=torch.float64).transpose(1, 2).requires_grad_()
    options = {"attn_mask": torch.randn(21, 13, dtype=torch.float64).T, "enable_gqa": True}
    assert_close(run(at.sdpa, [q, k, v], **options), run(F.scaled_dot_product_attention, [q, k, v], **options))


@pytest.mark.parametrize("window", [(4, 1), (None, 2), (3, None), (0, 0)])
@pytest.mark.parametrize("placed", ["causal", "align"])
def test_lse_and_the_words_of_attn(placed, window):
    """What PyTorch has no word for, beside the reference in NumPy."""
    q, k, v = (x.detach() for x in draw(((2, 4, 9, 8), (2, 2, 12, 8), (2, 2, 12, 8)), torch.float64))
    options = {"window": window, placed: "bottom_right", "softcap": 3.0, "sink": torch.randn(4).double()}
    lengths = {"q_lengths": [9, 3], "kv_lengths": [12, 0]}
    found = at.sdpa(q, k, v, enable_gqa=True, return_lse=True, **options, **lengths)
    expected = attn.reference.sdpa(q.numpy(), k.numpy(), v.numpy(), return_lse=True, **options, **lengths)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, torch.from_numpy(y), rtol=1e-12, atol=1e-12)


def test_nan_beyond_the_lengths_reaches_no_gradient():
    q, k, v = draw(((2, 4, 9, 8), (2, 2, 12, 8), (2, 2, 12, 8)), torch.float64)
    with torch.no_grad():
        q[1, :, 5:] = k[1, :, 7:] = v[1, :, 7:] = torch.nan
    out = at.sdpa(q, k, v, enable_gqa=True, q_lengths=[9, 5], kv_lengths=[12, 7])
    dq, dk, dv = torch.autograd.grad(out[:, :, :5].sum(), (q, k, v))
    assert not any(x.isnan().any() for x in (out, dq, dk, dv))
    assert all((x == 0).all() for x in (out[1, :, 5:], dq[1, :, 5:], dk[1, :, 7:], dv[1, :, 7:]))


def test_packed_sequences_take_tensors_of_torch():
    """Backward as forward; the numbers are those of arrays."""
    q, k, v = torch.randn(9, 4, 8), torch.randn(11, 2, 8), torch.randn(11, 2, 8)
    sums = torch.tensor([0, 4, 9], dtype=torch.int32), torch.tensor([0, 5, 11], dtype=torch.int32)
    out, pull = attn.varlen_vjp(q, k, v, *sums, return_lse=True)
    dout = torch.randn_like(out[0])
    of_arrays = attn.varlen_sdpa_backward(*(x.numpy() for x in (q, k, v, *out, dout, *sums)))
    for found in (pull(dout), attn.varlen_sdpa_backward(q, k, v, *out, dout, *sums)):
        assert list(found) == list("qkv")
        for name, x in found.items():
            assert isinstance(x, torch.Tensor)
            torch.testing.assert_close(x, torch.from_numpy(of_arrays[name]), rtol=1e-5, atol=1e-6)
