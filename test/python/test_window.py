"""Windows and the bshd layout: kernels against the specification, and what is refused."""

import numpy as np
import pytest

import attn
from helpers import assert_close

WINDOWS = [(0, 0), (20, 0), (None, 3), (40, None), (5, 7), (None, None), (1000, 1000)]


def random_qkv(sizes: tuple[int, ...], dtype: type = np.float32) -> list[np.ndarray]:
    b, hq, hkv, sq, sk, d, dv = sizes
    rng = np.random.default_rng(1)
    shapes = [(b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, dv)]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("sizes", [(1, 4, 2, 113, 203, 59, 80), (2, 1, 1, 203, 113, 32, 32), (1, 2, 2, 1, 70, 16, 16)])
@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
@pytest.mark.parametrize("is_causal", [True, False])
def test_window_agrees_with_the_specification(window, sizes, alignment, is_causal):
    q, k, v = random_qkv(sizes)
    options = {"window": window, "causal" if is_causal else "align": alignment, "return_lse": True}
    out, lse = attn.sdpa(q, k, v, **options)
    expected, expected_lse = attn.reference.sdpa(q, k, v, **options)
    assert_close(out, expected, np.float32)
    assert_close(lse, expected_lse, np.float32, "lse")


@pytest.mark.parametrize("options", [{}, {"causal": "bottom_right"}, {"window": (30, 2), "align": "top_left"}])
def test_layout_bshd_agrees_with_the_specification(options):
    q, k, v = (np.ascontiguousarray(np.swapaxes(x, 1, 2)) for x in random_qkv((2, 4, 2, 113, 203, 59, 80), np.float64))
    bias = np.random.default_rng(2).standard_normal((1, 4, 1, 203))
    options = {**options, "layout": "bshd", "bias": bias, "return_lse": True}
    out, lse = attn.sdpa(q, k, v, **options)
    expected, expected_lse = attn.reference.sdpa(q, k, v, **options)
    assert out.shape == (2, 113, 4, 80)
    assert_close(out, expected, np.float64)
    assert_close(lse, expected_lse, np.float64, "lse")


LARGE = [2**63 - 1, 2**32 + 5, 2**31 - 1]


@pytest.mark.parametrize(("word", "rows"), [("causal", 40), ("align", 40), ("align", 1)])
def test_large_windows_beside_large_offsets(word, rows):
    """A bound that no position reaches keeps what the definition keeps, whatever the offset."""
    offsets = [2**31 - 1, -(2**31), 2**31 - 30, 3 - 2**31]
    q, k, v = random_qkv((4, 2, 1, rows, 70, 16, 16))
    diagonal = np.arange(rows).reshape(-1, 1) + np.array(offsets).reshape(-1, 1, 1, 1)
    j = np.arange(70)
    for left, right in [(x, None) for x in LARGE] + [(None, x) for x in LARGE] + [(2**31, 2**31)]:
        kept = np.ones((4, 1, rows, 70), bool) if word == "align" else j <= diagonal
        kept = kept if left is None else kept & (diagonal.astype(object) - left <= j).astype(bool)
        kept = kept if right is None else kept & (j <= diagonal.astype(object) + right).astype(bool)
        expected = attn.reference.sdpa(q, k, v, mask=kept)
        for function in (attn.sdpa, attn.reference.sdpa):
            found = function(q, k, v, window=(left, right), **{word: offsets})
            assert_close(found, expected, np.float32)


def test_offsets_of_32_bits_are_taken_and_others_refused():
    q, k, v = random_qkv((1, 2, 1, 40, 70, 16, 16))
    for function in (attn.sdpa, attn.reference.sdpa):
        assert (np.asarray(function(q, k, v, causal=[-(2**31)])) == 0).all()
        for offset in (2**31, -(2**31) - 1):
            with pytest.raises(ValueError, match="expected causal to fit in 32 bits"):
                function(q, k, v, causal=[offset])


def test_window_without_alignment_is_refused_where_lengths_differ():
    q, k, v = random_qkv((1, 1, 1, 4, 6, 8, 8))
    with pytest.raises((attn.CompileError, ValueError), match="align"):
        attn.sdpa(q, k, v, window=(1, 0))


def test_negative_window_is_refused():
    q, k, v = random_qkv((1, 1, 1, 4, 4, 8, 8))
    with pytest.raises(ValueError, match="window"):
        attn.sdpa(q, k, v, window=(-2, 0))


@pytest.mark.parametrize("word", ["causal", "align"])
@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_chunk_agrees_with_the_specification(chunk, alignment, word):
    """A keyword, a token, the specification, and the same condition as a function."""
    q, k, v = random_qkv((1, 4, 2, 113, 203, 16, 8))
    offset = 0 if alignment == "top_left" else 203 - 113

    def keep(b, h, i, j):
        is_near = (i + offset) // chunk == j // chunk
        return is_near & (j <= i + offset) if word == "causal" else is_near

    options = {word: alignment, "chunk": chunk}
    expected = attn.reference.sdpa(q, k, v, mask_mod=keep)
    assert_close(attn.reference.sdpa(q, k, v, **options), expected, np.float64)
    assert_close(attn.sdpa(q, k, v, **options), expected, np.float32)
    kernel = attn.compile(f"hq4 hkv2 sq113 sk203 d16 dv8 {word}={alignment} chunk={chunk}")
    assert_close(kernel(q, k, v), expected, np.float32)


def test_chunks_of_packed_sequences_and_pages():
    rng = np.random.default_rng(3)
    sums = [0, 30, 30, 113]
    packed = [rng.standard_normal((113, heads, 16)).astype(np.float32) for heads in (4, 2, 2)]
    options = dict(causal="bottom_right", chunk=16)
    expected = attn.reference.varlen_sdpa(*packed, sums, sums, **options)
    assert_close(attn.varlen_sdpa(*packed, sums, sums, **options), expected, np.float32)
    q = rng.standard_normal((2, 4, 5, 16)).astype(np.float32)
    caches = rng.standard_normal((2, 12, 8, 2, 16)).astype(np.float32)
    table, lengths = np.arange(12).reshape(2, 6), [41, 17]
    expected = attn.reference.paged_sdpa(q, *caches, table, lengths, **options)
    assert_close(attn.paged_sdpa(q, *caches, table, lengths, **options), expected, np.float32)


def test_wrong_chunks_are_refused():
    q, k, v = random_qkv((1, 1, 1, 4, 4, 8, 8))
    for function in (attn.sdpa, attn.reference.sdpa):
        with pytest.raises(ValueError, match="expected chunk in 1 to 2147483647, found 0"):
            function(q, k, v, chunk=0)
        with pytest.raises(TypeError, match="expected chunk to be an integer, found True"):
            function(q, k, v, chunk=True)
        with pytest.raises(ValueError, match="expected align for a chunk where Sq and Sk differ"):
            function(q[:, :, :3], k, v, chunk=2)


WITH_PREFIX = {
    "causal": dict(causal="top_left"),
    "window": dict(causal="bottom_right", window=(20, 0)),
    "aligned window": dict(window=(9, 4), align="top_left"),
    "chunk": dict(causal="bottom_right", chunk=32),
    "lengths": dict(causal="bottom_right", q_lengths=[70, 113], kv_lengths=[203, 6]),
    "offsets": dict(causal=[-50, 90]),
    "mask": dict(causal="top_left", mask=np.random.default_rng(4).random((1, 1, 113, 203)) < 0.6),
}


def keep_with_prefix(n, options):
    """The condition of docs/Semantics.md as a function, but for lengths and masks, which stay words."""
    shift = {"top_left": 0, "bottom_right": 203 - 113}
    alignment = options.get("causal", options.get("align"))
    lengths = np.array(options.get("kv_lengths", [203, 203])) - np.array(options.get("q_lengths", [113, 113]))
    offsets = np.array(alignment) if isinstance(alignment, list) else lengths * (shift[alignment] != 0)
    left, right = options.get("window", (None, None))

    def keep(b, h, i, j):
        diagonal = i + offsets[b]
        is_near = (j <= diagonal) | ("causal" not in options)
        is_near = is_near if left is None else is_near & (diagonal - left <= j)
        is_near = is_near if right is None else is_near & (j <= diagonal + right)
        chunk = options.get("chunk", 2**20)
        return (is_near & (diagonal // chunk == j // chunk) if "chunk" in options else is_near) | (j < n)

    return keep


@pytest.mark.parametrize("name", WITH_PREFIX)
@pytest.mark.parametrize("prefix", [1, 40, 130, 1000])
def test_prefix_agrees_with_the_specification(prefix, name):
    options = WITH_PREFIX[name]
    q, k, v = random_qkv((2, 4, 2, 113, 203, 16, 8))
    others = {x: options[x] for x in ("q_lengths", "kv_lengths", "mask") if x in options}
    keep = keep_with_prefix(prefix, options)
    expected, expected_lse = attn.reference.sdpa(q, k, v, mask_mod=keep, return_lse=True, **others)
    for function in (attn.sdpa, attn.reference.sdpa):
        out, lse = function(q, k, v, prefix=prefix, return_lse=True, **options)
        assert_close(out, expected, np.float32)
        assert_close(lse, expected_lse, np.float32, "lse")


def test_prefix_of_packed_sequences_and_pages():
    rng = np.random.default_rng(3)
    sums = [0, 30, 30, 113]
    packed = [rng.standard_normal((113, heads, 16)).astype(np.float32) for heads in (4, 2, 2)]
    expected = attn.reference.varlen_sdpa(*packed, sums, sums, mask_mod=lambda b, h, i, j: (j <= i) | (j < 12))
    assert_close(attn.varlen_sdpa(*packed, sums, sums, causal="top_left", prefix=12), expected, np.float32)
    q = rng.standard_normal((2, 4, 5, 16)).astype(np.float32)
    caches = rng.standard_normal((2, 12, 8, 2, 16)).astype(np.float32)
    table, lengths = np.arange(12).reshape(2, 6), [41, 17]
    options = dict(causal="bottom_right", window=(6, 0), prefix=9)
    expected = attn.reference.paged_sdpa(q, *caches, table, lengths, **options)
    assert_close(attn.paged_sdpa(q, *caches, table, lengths, **options), expected, np.float32)


def test_a_prefix_alone_is_refused():
    q, k, v = random_qkv((1, 1, 1, 4, 4, 8, 8))
    for function in (attn.sdpa, attn.reference.sdpa):
        with pytest.raises((ValueError, attn.CompileError), match="expected prefix beside causal, window or chunk"):
            function(q, k, v, prefix=2)
        with pytest.raises(ValueError, match="expected prefix in 1 to 2147483647, found 0"):
            function(q, k, v, causal="top_left", prefix=0)
