"""Kernels of attn.sdpa_backward against the specification."""

import numpy as np
import pytest

import attn
from backward_ir import Sizes, backward
from helpers import assert_close

ODD = Sizes(2, 4, 2, 113, 203, 59, 80)


def causal(text):
    return f"causal = #attn.causal<{text}>", {"causal": text}


MASKS = {
    "full": ("", {}),
    "top_left": causal("top_left"),
    "bottom_right": causal("bottom_right"),
    "window": (
        "window = #attn.window<left = 20, right = 3>, align = #attn.causal<bottom_right>",
        {"window": (20, 3), "align": "bottom_right"},
    ),
    "chunk": ("causal = #attn.causal<top_left>, chunk = 32 : i64", {"causal": "top_left", "chunk": 32}),
    "prefix": ("causal = #attn.causal<top_left>, prefix = 40 : i64", {"causal": "top_left", "prefix": 40}),
}

SIZES = {
    "odd": ODD,
    "multi-query": Sizes(2, 3, 1, 113, 203, 16, 16),
    "one-head": Sizes(1, 1, 1, 203, 113, 32, 64),
    "whole": Sizes(1, 2, 2, 192, 256, 64, 64),
    "one-row": Sizes(2, 2, 1, 1, 70, 16, 16),
    "two-keys": Sizes(1, 2, 1, 50, 2, 8, 8),  # of one key, dq and dk are 0: nothing to be relative to
    "wide": Sizes(1, 1, 1, 100, 140, 256, 192),
}


def problem(sizes, dtype=np.float32, **options):
    """q, k, v, out, lse, dout, and the options that the reference takes."""
    rng = np.random.default_rng(1)
    b, hq, hkv, sq, sk, d, dv = sizes
    shapes = [(b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, dv), (b, hq, sq, dv)]
    q, k, v, dout = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    out, lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    return q, k, v, out.astype(dtype), lse.astype(np.float64 if dtype == np.float64 else np.float32), dout


def check(sizes, attributes="", options=None, dtype=np.float32, clauses=(), regions="", grad=("q", "k", "v"), more=()):
    """Compiles, runs, and compares all gradients."""
    options = options or {}
    arrays = problem(sizes, dtype, **options)
    expected = attn.reference.sdpa_backward(*arrays, grad=grad, **options)
    dbias = next((shape for name, shape, _ in clauses if name == "bias"), None) if "bias" in grad else None
    text = backward(sizes, "f64" if dtype == np.float64 else "f32", clauses, attributes, regions, dbias)
    kernel = attn.compile(text, fail_on_fallback=True, cache=False)
    found = kernel(*arrays, *more)
    for name, array in zip(grad, found, strict=True):
        assert_close(array, expected[name], dtype, f"d{name}")
    return found


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    check(ODD, *MASKS[name])


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("mask", ["full", "bottom_right"])
def test_sizes(name, mask):
    check(SIZES[name], *MASKS[mask])


@pytest.mark.parametrize("mask", ["full", "top_left"])
def test_f64(mask):
    check(ODD, *MASKS[mask], dtype=np.float64)


def test_no_keys():
    dq, dk, dv = check(Sizes(2, 2, 1, 5, 0, 8, 8))
    assert not dq.any()
    assert dk.size == dv.size == 0
