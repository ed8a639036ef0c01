"""attn.torch at lengths that change: how many kernels it compiles, and the reference at each length."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import attn
import attn.jax
import attn.torch as at

LENGTHS = [(59, 59), (113, 203), (1, 203), (1, 204), (1, 205), (1, 1), (40, 0), (0, 7), (113, 203)]
STATIC_AND_OPEN = 2  # kernels of a form whose batch is the same
TOLERANCE = 3e-6


@pytest.fixture
def made():
    """How many kernels the test has compiled so far; a test of exact numbers has a head size of its own."""
    before = attn.cache_info().misses
    return lambda: attn.cache_info().misses - before


def draw(sq, sk, b=2, hq=4, hkv=2, d=59, grad=False):
    shapes = (b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, d)
    return [torch.randn(shape).requires_grad_(grad) for shape in shapes]


def views(sq, sk):
    """The same, as (B, S, H, D) and slices of a longer cache."""
    q, k, v = torch.randn(2, sq, 4, 59), *torch.randn(2, 2, 2, sk + 9, 59)
    return [q.transpose(1, 2), k[:, :, :sk], v[:, :, 5 : sk + 5]]


OPTIONS = {
    "plain": lambda sq, sk: {},
    "causal": lambda sq, sk: {"causal": "bottom_right"},
    "mask": lambda sq, sk: {"attn_mask": torch.rand(2, 1, sq, sk) > 0.4},
    "bias": lambda sq, sk: {"attn_mask": torch.randn(4, sq, sk)},
    "lengths": lambda sq, sk: {"kv_lengths": torch.tensor([sk // 2, sk])},
    "function": lambda sq, sk: {"score_mod": lambda score, b, h, i, j: score * 0.5, "causal": "top_left"},
}


def expected(inputs, options):
    options = {name: x.numpy() if isinstance(x, torch.Tensor) else x for name, x in options.items()}
    mask = options.pop("attn_mask", None)
    if mask is not None:
        options["mask" if mask.dtype == bool else "bias"] = mask[(None,) * (4 - mask.ndim)]
    return attn.reference.sdpa(*(x.detach().numpy() for x in inputs), **options)


# Of views with arrays whose sizes follow; other options count positions, which strides do not change.
CALLS = [*((draw, x) for x in OPTIONS), *((views, x) for x in ("plain", "mask", "bias"))]


@pytest.mark.parametrize(("make", "option"), CALLS)
def test_lengths_share_kernels(make, option, made):
    for lengths in LENGTHS:
        inputs, options = make(*lengths), OPTIONS[option](*lengths)
        out = at.sdpa(*inputs, enable_gqa=True, **options)
        np.testing.assert_allclose(out.numpy(), expected(inputs, options), atol=TOLERANCE)
    forms = 2 + ("attn_mask" in options)  # one query; a mask of one key is one that broadcasts
    assert made() <= STATIC_AND_OPEN * forms * (2 if make is views else 1)  # some views are contiguous


def test_arrays_that_functions_read_have_other_sizes(made):
    for sq, sk in LENGTHS:
        inputs, table, slopes = draw(sq, sk), torch.randn(2, sk), torch.randn(sq, sk)
        out = at.sdpa(*inputs, enable_gqa=True, score_mod=lambda s, b, h, i, j: s + table[b, j] + slopes[i, j])  # noqa: B023
        bias = (table[:, None] + slopes)[:, None]
        np.testing.assert_allclose(out.numpy(), expected(inputs, {"attn_mask": bias}), atol=TOLERANCE)
    assert made() <= 2 * STATIC_AND_OPEN


def test_training_over_20_lengths(made):
    for length in range(3, 63, 3):
        q, k, v = draw(length, length, d=16, grad=True)
        at.sdpa(q, k, v, is_causal=True, enable_gqa=True).square().sum().backward()
        arrays = [x.detach().numpy() for x in (q, k, v)]
        dout = 2 * attn.reference.sdpa(*arrays, causal="top_left")
        grads = attn.reference.sdpa_backward(*arrays, None, None, dout, causal="top_left")
        for name, x in zip("qkv", (q, k, v), strict=True):
            np.testing.assert_allclose(x.grad.numpy(), grads[name], atol=1e-4)
    assert made() == 2 * STATIC_AND_OPEN  # forward and backward


def test_generation(made):
    q, k, v = draw(17, 17, d=20)
    at.sdpa(q, k, v, is_causal=True, enable_gqa=True)
    for length in range(18, 40):
        at.sdpa(*draw(1, length, d=20), enable_gqa=True)
    assert made() == 3


def test_batches_are_opened_where_they_change(made):
    for b, length in itertools.product((2, 3, 1), (8, 9, 10)):
        inputs = draw(length, length, b=b, d=21)
        np.testing.assert_allclose(at.sdpa(*inputs, enable_gqa=True).numpy(), expected(inputs, {}), atol=TOLERANCE)
    assert made() == STATIC_AND_OPEN + 1


def test_a_kernel_of_each_length_where_asked_for(made):
    for length in (21, 22, 23):
        at.sdpa(*draw(length, length, d=22), enable_gqa=True, dynamic=False)
    assert made() == 3


def test_functions_beside_dynamic(made):
    for length in (24, 25, 26):
        inputs, table = draw(length, length, d=23), torch.randn(length)
        out = at.sdpa(*inputs, enable_gqa=True, dynamic=True, score_mod=lambda s, b, h, i, j: s + table[j])  # noqa: B023
        np.testing.assert_allclose(
            out.numpy(), expected(inputs, {"attn_mask": table.expand(length, length)}), atol=TOLERANCE
        )
    assert made() == 1


def test_compiled_with_symbolic_sizes(made):
    compiled = torch.compile(at.sdpa, fullgraph=True, dynamic=True)
    for length in (31, 47, 33, 59):
        inputs = draw(length, length)
        np.testing.assert_allclose(compiled(*inputs, enable_gqa=True), expected(inputs, {}), atol=TOLERANCE)
    assert made() <= STATIC_AND_OPEN


def test_jax(made):
    for sq, sk in LENGTHS:
        inputs, table = draw(sq, sk, b=3), torch.randn(sk)
        array = table.numpy()
        out = attn.jax.sdpa(*(jnp.asarray(x.numpy()) for x in inputs), score_mod=lambda s, b, h, i, j: s + array[j])  # noqa: B023
        np.testing.assert_allclose(out, expected(inputs, {"attn_mask": table.expand(sq, sk)}), atol=TOLERANCE)
    assert made() <= 2 * STATIC_AND_OPEN


@pytest.mark.parametrize("causal", [None, "bottom_right"])
def test_packed_sequences_of_jax(causal, made):
    rng = np.random.default_rng(0)
    for ends in ([0, 5, 11], [0, 5, 5, 17], [0, 40, 41], [0, 3, 9, 10, 64]):
        q, k, v = (rng.standard_normal((ends[-1], 2, 61)).astype(np.float32) for _ in range(3))
        prefix = np.array(ends, np.int32)
        out, pullback = jax.vjp(
            lambda q, k, v, prefix=prefix: attn.jax.varlen_sdpa(q, k, v, prefix, prefix, causal=causal), q, k, v
        )
        expected, lse = attn.reference.varlen_sdpa(q, k, v, prefix, prefix, causal=causal, return_lse=True)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
        gradients = attn.reference.varlen_sdpa_backward(q, k, v, expected, lse, expected, prefix, prefix, causal=causal)
        for x, y in zip(pullback(out), gradients.values(), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)
    # Forward and backward: of the first sizes, and of any; the number of sequences may stay for one of them more.
    assert made() <= 3 * STATIC_AND_OPEN


@pytest.mark.parametrize("option", ["plain", "lengths", "causal"])
def test_attn_sdpa_of_tensors_takes_this_road(option, made):
    """Its results are those of attn.torch.sdpa, by its kernels; what that would broadcast is refused as ever."""
    counts = []
    for sq, sk in LENGTHS:
        q, k, v = draw(sq, sk, d=61)
        options = dict(OPTIONS[option](sq, sk), return_lse=True)
        wanted = at.sdpa(q, k, v, enable_gqa=True, **options)
        counts.append(made())
        assert all(torch.equal(x, y) for x, y in zip(attn.sdpa(q, k, v, **options), wanted, strict=True))
        assert made() == counts[-1] or 0 in (sq, sk)  # without memory there is no plan
        options.pop("return_lse")
        torch.testing.assert_close(
            wanted[0], torch.from_numpy(expected((q, k, v), options)).float(), atol=1e-5, rtol=1e-5
        )
    with pytest.raises(ValueError, match="expected query heads in a multiple of the 2 key heads"):
        attn.sdpa(q[:, :1], k, v)
    with pytest.raises(TypeError, match="requires no gradient"):
        attn.sdpa(q.requires_grad_(), k, v)
