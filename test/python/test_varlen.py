"""Packed sequences against the reference, which takes each by itself."""

import numpy as np
import pytest

import attn
from helpers import TYPES, compare

ROWS, KEYS = [0, 40, 40, 41, 113], [0, 25, 60, 125, 203]  # one sequence has no queries, one has a single one
DOCUMENTS = np.random.default_rng(3).integers(0, 3, (4, 203))
SLOPES = np.array([0.5, 0.1, 0.2, 0.05])

OPTIONS = {
    "plain": {},
    "scale": dict(scale=0.4),
    "top_left": dict(causal="top_left"),
    "bottom_right": dict(causal="bottom_right"),
    "offsets": dict(causal=np.array([3, 0, -5, 10])),
    "window": dict(causal="bottom_right", window=(20, 0)),
    "aligned window": dict(window=(20, 5), align="bottom_right"),
    "softcap": dict(softcap=1.5),
    "sink": dict(sink=np.array([1.0, -1.0, 0.0, 5.0])),
    "score_mod": dict(score_mod=lambda s, b, h, i, j: s - SLOPES[h] * (i - j) + 0.1 * b),
    "mask_mod": dict(mask_mod=lambda b, h, i, j: DOCUMENTS[b, j] == DOCUMENTS[b, i]),
}


def draw(rows, keys, heads=(4, 2), sizes=(32, 24), dtype=np.float32):
    rng = np.random.default_rng(2)
    shapes = [(rows, heads[0], sizes[0]), (keys, heads[1], sizes[0]), (keys, heads[1], sizes[1])]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def check(tensors, rows, keys, **options):
    found = attn.varlen_sdpa(*tensors, rows, keys, return_lse=True, **options)
    options.pop("dynamic", None)
    compare(found, attn.reference.varlen_sdpa, *tensors, rows, keys, return_lse=True, **options)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_packed_sequences(name, dtype):
    check(draw(113, 203, dtype=dtype), ROWS, KEYS, **OPTIONS[name])


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("causal", [None, "top_left", "bottom_right"])
def test_tiles_of_few_rows(dtype, causal):
    """Lengths about a vector of rows, half a query tile and all of it, in one call, and as many keys, or others."""
    rows = [8, 15, 16, 17, 0, 31, 32, 33, 1, 64, 65, 80, 7, 9, 2, 16, 5]
    for keys in (rows, [*rows[3:], *rows[:3]], [1, 64, 65, *reversed(rows[3:])]):
        ends, key_ends = np.cumsum([0, *rows]), np.cumsum([0, *keys])
        check(draw(ends[-1], key_ends[-1], dtype=dtype), ends, key_ends, causal=causal)


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ([0, 113], [0, 203]),
        ([0, 1, 2, 3], [0, 64, 128, 203]),
        ([0, 64, 113], [0, 0, 203]),
        ([0, 0, 113, 113], [0, 7, 7, 7]),
        ([0, 64, 128], [0, 64, 128]),
    ],
    ids=str,
)
def test_other_lengths(rows, keys):
    check(draw(rows[-1], keys[-1]), np.array(rows), np.array(keys, np.int32), causal="bottom_right")


def test_sequences_do_not_see_each_other():
    q, k, v = draw(113, 203)
    expected = attn.varlen_sdpa(q, k, v, ROWS, KEYS)
    k[25:60], v[25:60] = np.nan, np.inf  # all keys of sequence 1, which has no queries
    np.testing.assert_array_equal(attn.varlen_sdpa(q, k, v, ROWS, KEYS), expected)


def test_a_window_without_alignment_needs_equal_lengths():
    tensors = draw(113, 113)
    check(tensors, ROWS, ROWS, window=(3, 3))
    with pytest.raises(ValueError, match="align for a window where Sq and Sk differ"):
        attn.varlen_sdpa(*tensors, ROWS, [0, 41, 41, 42, 113], window=(3, 3))


def test_one_kernel_for_all_batches():
    for rows, keys in ([0, 3, 10], [0, 5, 9]), ([0, 50, 50, 113], [0, 100, 203, 203]):
        check(draw(rows[-1], keys[-1]), rows, keys, causal="bottom_right", dynamic=True)


BAD = {
    "decreasing": ([0, 50, 40, 113], KEYS, "cu_seqlens_q never to decrease"),
    "start": ([1, 113], [0, 203], "cu_seqlens_q to go from 0 to the 113 packed rows, found 1 to 113"),
    "end": ([0, 113], [0, 204], "cu_seqlens_k to go from 0 to the 203 packed rows, found 0 to 204"),
    "batch": ([0, 113], [0, 100, 203], "as many sequences in cu_seqlens_q as in cu_seqlens_k, found 1, 2"),
    "rank": ([[0, 113]], [0, 203], r"cu_seqlens_q of shape \(batch \+ 1,\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_prefix_sums(case):
    rows, keys, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        attn.varlen_sdpa(*draw(113, 203), rows, keys)


def test_bad_tensors():
    q, k, v = draw(113, 203)
    with pytest.raises(ValueError, match="q of rank 3"):
        attn.varlen_sdpa(q[None], k, v, ROWS, KEYS)
    with pytest.raises(TypeError, match="cu_seqlens_q to hold integers"):
        attn.varlen_sdpa(q, k, v, np.array(ROWS, float), KEYS)


def test_a_call_of_the_same_sizes_prepares_nothing(monkeypatch):
    """Lengths may be others: the entry of the kernel tests them. What is refused says why, as the first call does."""
    tensors = draw(24, 40)
    first = attn.varlen_sdpa(*tensors, np.array([0, 8, 24], "i4"), np.array([0, 30, 40], "i4"), causal="top_left")
    prepared = []
    prepare = attn.call._packed.prepare
    monkeypatch.setattr(attn.call._packed, "prepare", lambda *a, **b: prepared.append(a) or prepare(*a, **b))
    rows, keys = np.array([0, 20, 24], "i4"), np.array([0, 4, 40], "i4")
    found = attn.varlen_sdpa(*tensors, rows, keys, causal="top_left")
    assert not prepared
    assert found.shape == first.shape
    compare(found, attn.reference.varlen_sdpa, *tensors, rows, keys, causal="top_left")
    with pytest.raises(ValueError, match="never to decrease"):
        attn.varlen_sdpa(*tensors, np.array([0, 25, 24], "i4"), keys, causal="top_left")
    with pytest.raises(ValueError, match="24 packed rows"):
        attn.varlen_sdpa(*tensors, np.array([0, 20, 23], "i4"), keys, causal="top_left")
    # Windows without an alignment need equal lengths, which are another kernel's.
    assert attn.varlen_sdpa(*draw(24, 24), rows, rows, window=(3, 3)).shape == (24, 4, 24)
    with pytest.raises((ValueError, attn.CompileError)):
        attn.varlen_sdpa(*draw(24, 24), rows, np.array([0, 4, 24], "i4"), window=(3, 3))
