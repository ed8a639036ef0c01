"""Kernels of attn.sdpa_backward with a bias, of which heads, rows or keys may share an element."""

import numpy as np
import pytest

import attn
import processor
from backward_check import CHUNKS, MASKS, ODD, check, check_threads, problem
from backward_ir import Sizes, backward
from helpers import assert_close


@pytest.mark.parametrize("shape", [(2, 4, 113, 203), (2, 4, 1, 203), (2, 4, 113, 1)])
@pytest.mark.parametrize("mask", ["full", "top_left"])
def test_bias_and_its_gradient(shape, mask):
    """With a gradient of lse: without it, that of a bias for all keys of a row is 0."""
    attributes, options = MASKS[mask]
    rng = np.random.default_rng(2)
    bias, dlse = rng.standard_normal(shape).astype(np.float32), rng.standard_normal((2, 4, 113)).astype(np.float32)
    bias[0, 0, 0, 0] = -np.inf
    clauses = (("dlse", dlse.shape, "f32"), ("bias", shape, "f32"))
    grad, options = ("q", "k", "v", "bias"), {**options, "bias": bias}
    check(ODD, attributes, options, grad=grad, more=[dlse, bias], given={"dlse": dlse}, clauses=clauses, dbias=shape)


def test_bias_of_all_heads():
    bias = np.random.default_rng(2).standard_normal((1, 1, 113, 203)).astype(np.float32)
    check(ODD, "", {"bias": bias}, more=[bias], clauses=(("bias", bias.shape, "f32"),))


@pytest.mark.parametrize("shape", [(2, 4, 113, 203), (2, 4, 1, 203), (2, 4, 113, 1)])
def test_chunks_with_the_gradient_of_a_bias(shape):
    processor.skip_unless_it_runs("x86-64-v3")
    rng = np.random.default_rng(2)
    bias, dlse = rng.standard_normal(shape).astype(np.float32), rng.standard_normal((2, 4, 113)).astype(np.float32)
    clauses = (("dlse", dlse.shape, "f32"), ("bias", shape, "f32"))
    check(
        ODD,
        CHUNKS,
        {"bias": bias},
        grad=("q", "k", "v", "bias"),
        more=[dlse, bias],
        given={"dlse": dlse},
        clauses=clauses,
        dbias=shape,
        target="x86-64-v3",
    )


@pytest.mark.parametrize("shape", [(1, 4, 113, 203), (2, 1, 113, 203), (1, 1, 113, 203), (1, 1, 1, 203)])
def test_gradient_of_a_shared_bias(shape):
    text = backward(ODD, clauses=(("bias", shape, "f32"),), dbias=shape)
    bias = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    arrays = problem(ODD, bias=bias)
    grad = ("q", "k", "v", "bias")
    expected = attn.reference.sdpa_backward(*arrays, grad=grad, bias=bias)
    for name, array in zip(grad, attn.compile(text, fail_on_fallback=True, cache=False)(*arrays, bias), strict=True):
        assert_close(array, expected[name], np.float32, f"d{name}")


@pytest.mark.parametrize("shape", [(1, 1, 20, 1030), (1, 8, 20, 1030), (3, 1, 1, 1030)])
@pytest.mark.parametrize("mask", ["full", "bottom_right"])
def test_tasks_take_the_keys_of_a_shared_bias_in_turn(shape, mask):
    """Twelve tasks, nine key tiles: a second round has fewer tasks. Equal bits for every number of threads."""
    sizes, (attributes, options) = Sizes(3, 8, 4, 20, 1030, 8, 8), MASKS[mask]
    bias = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    ir = {"clauses": (("bias", shape, "f32"),), "dbias": shape}
    options = {**options, "bias": bias}
    check(sizes, attributes, options, grad=("q", "k", "v", "bias"), more=[bias], **ir)
    text = backward(sizes, attributes=attributes, **ir)
    check_threads(attn.compile(text, fail_on_fallback=True, cache=False), [*problem(sizes, **options), bias])


def test_what_has_no_kernel_falls_back():
    """The parts of a bias without keys that heads share would be too large."""
    line = "hq8 sq16777216 sk8 d4 bias=1,1,16777216,1 grad=bias"
    with pytest.raises(attn.CompileError) as error:
        attn.compile(line, fail_on_fallback=True, cache=False)
    assert "falls back to the materialised path" in error.value.diagnostics
