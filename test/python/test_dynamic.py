"""One kernel for all sizes, and values that a checked entry refuses before anything is written."""

import numpy as np
import pytest

import attn
from attn import reference


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def test_one_kernel_serves_all_sizes(rng):
    kernel = attn.compile("b? hq4 hkv2 sq? sk? d8 causal=bottom_right out=lse")
    assert kernel.manifest["kernels"][0]["sizes"] == ["b", "sq", "sk"]
    for b, sq, sk in [(2, 5, 7), (1, 1, 90), (3, 40, 17), (1, 4, 0)]:
        q, k, v = normal(rng, b, 4, sq, 8), normal(rng, b, 2, sk, 8), normal(rng, b, 2, sk, 8)
        out, lse = kernel(q, k, v)
        expected, expected_lse = reference.sdpa(q, k, v, causal="bottom_right", return_lse=True)
        np.testing.assert_allclose(out, expected, atol=1e-5)
        np.testing.assert_allclose(lse, expected_lse, atol=1e-5)


def test_sizes_that_disagree_are_refused(rng):
    kernel = attn.compile("b? hq1 sq? sk? d8")
    q, k = normal(rng, 2, 1, 5, 8), normal(rng, 3, 1, 7, 8)
    with pytest.raises(ValueError, match=r"'k': expected size 2 in dimension 0.*found 3"):
        kernel(q, k, k)


CASES = {
    "kv_lengths": ([8, 3], r"'kv_lengths': expected lengths in 0 to 7, found 8 at index 0"),
    "kv_lengths below 0": ([3, -1], r"'kv_lengths': expected lengths in 0 to 7, found -1 at index 1"),
}


@pytest.mark.parametrize(("lengths", "message"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("sizes", ["b2 sq5 sk7", "b? sq? sk?"])
def test_lengths_out_of_range_are_refused(rng, sizes, lengths, message):
    kernel = attn.compile(f"{sizes} d8 kv_lengths")
    q, k = normal(rng, 2, 1, 5, 8), normal(rng, 2, 1, 7, 8)
    out = np.full_like(q, 7)
    with pytest.raises(ValueError, match=message):
        kernel(q, k, k, np.array(lengths, np.int32), out=out)
    assert (out == 7).all()


def test_decreasing_prefix_sums_are_refused(rng):
    kernel = attn.compile("b2 sq5 sk7 d8 layout=varlen")
    q, k = normal(rng, 5, 1, 8), normal(rng, 7, 1, 8)
    good = np.array([0, 3, 5], np.int32)
    with pytest.raises(ValueError, match=r"'cu_seqlens_k': expected prefix sums that never decrease, found 3 after 4"):
        kernel(q, k, k, good, np.array([0, 4, 3], np.int32))
    with pytest.raises(ValueError, match=r"'cu_seqlens_q': expected prefix sums of at most 5, found 6 at index 2"):
        kernel(q, k, k, np.array([0, 3, 6], np.int32), good)


@pytest.mark.parametrize("sizes", ["b2 sq5 sk12", "b? sq? sk?"])
def test_pages_out_of_range_are_refused(rng, sizes):
    kernel = attn.compile(f"{sizes} d8 kv_lengths paged=4")
    q, cache = normal(rng, 2, 1, 5, 8), normal(rng, 6, 4, 1, 8)
    lengths = np.array([5, 12], np.int32)
    table = np.array([[3, 0, 99], [1, 2, 5]], np.int32)
    kernel(q, cache, cache, lengths, table)
    table[0, 1] = 6
    with pytest.raises(ValueError, match=r"'block_table': expected page numbers in 0 to 5, found 6 at index \[0, 1\]"):
        kernel(q, cache, cache, lengths, table)
    lengths[1] = 13
    with pytest.raises(ValueError, match=r"'kv_lengths': expected lengths in 0 to 12, found 13 at index 1"):
        kernel(q, cache, cache, lengths, table)
