"""One kernel of a dynamic number of queries: one query, few of them, and many take kernels of their own in it."""

import functools

import numpy as np
import pytest

import attn
import processor
from attn import reference
from helpers import TYPES, Shape, compare, draw

RNG = np.random.default_rng(7)
# Blocks of rows of one size and another, the last number that is few, vectors of rows that are whole and that are not.
QUERIES = [0, 1, 2, 3, 5, 8, 9, 16, 17, 24, 25, 33, 65]


@pytest.fixture(params=["host", "x86-64-v3"])
def target(request):
    if request.param != "host":
        processor.skip_unless("avx2", "fma")
    return request.param


@functools.cache
def kernel(words: str, target: str):
    return attn.compile(f"{words} out=lse", target)


def check(words: str, target: str, shape: Shape, *extra, dtype=np.float32, **options):
    arguments = draw(shape, dtype)
    compare(kernel(words, target)(*arguments, *extra), reference.sdpa, *arguments, return_lse=True, **options)


@pytest.mark.parametrize(("element", "group"), [("f32", 1), ("f32", 4), ("bf16", 3)])
def test_numbers_of_queries(element, group, target):
    words = f"b? hq{2 * group} hkv2 sq? sk? d40 dv72 {element} causal=bottom_right"
    for sq in QUERIES:
        shape = Shape(sq, 77, 40, 72, b=2, hq=2 * group, hkv=2)
        check(words, target, shape, dtype=TYPES[element], causal="bottom_right")


@pytest.mark.parametrize("sk", [0, 1, 3, 2047, 2048, 2049, 4161])
def test_ranges_of_keys(sk, target):
    # Ranges of 2048 keys have states of their own, of each tile of queries.
    for sq in (1, 2, 6, 19):
        words = "b? hq2 hkv1 sq? sk? d64 causal=bottom_right"
        check(words, target, Shape(sq, sk, 64, 64, b=1, hq=2, hkv=1), causal="bottom_right")


@pytest.mark.parametrize("group", [16, 128])
def test_heads_that_share_a_head(group, target):
    # Of many heads, a tile has as many queries as leave room for all of them.
    for sq in (1, 2, 5):
        words = f"b1 sq? sk? hq{group} hkv1 d192 dv160"
        check(words, target, Shape(sq, 150, 192, 160, b=1, hq=group, hkv=1))


def test_bias_mask_sink_and_lengths(target):
    words = "b? hq4 hkv2 sq? sk? d24 bias=?,4,?,? mask=?,1,?,? sink q_lengths kv_lengths"
    for sq in (1, 2, 7, 30, 70):
        bias = RNG.standard_normal((2, 4, sq, 50)).astype(np.float32)
        mask = RNG.random((2, 1, sq, 50)) < 0.6
        sink = RNG.standard_normal(4).astype(np.float32)
        lengths = np.array([sq, 1], np.int32), np.array([50, 13], np.int32)
        check(
            words, target, Shape(sq, 50, 24, 24, b=2, hq=4, hkv=2), bias, mask, sink, *lengths,
            bias=bias, mask=mask, sink=sink, q_lengths=lengths[0], kv_lengths=lengths[1],
        )  # fmt: skip


def test_rows_beyond_a_whole_vector_and_nan_keys(target):
    # What lies beyond the last row and key is never read into a result.
    words = "b? hq2 hkv2 sq? sk? d16 kv_lengths"
    for sq in (3, 13, 70):
        q, k, v = draw(Shape(sq, 41, 16, 16, b=1, hq=2, hkv=2), np.float32)
        k[:, :, 29:], v[:, :, 29:] = np.nan, np.nan
        lengths = np.array([29], np.int32)
        compare(kernel(words, target)(q, k, v, lengths), reference.sdpa, q, k, v, kv_lengths=lengths, return_lse=True)
