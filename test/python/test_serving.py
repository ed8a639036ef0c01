"""Steps of a serving engine: packed queries, prompts and single tokens, on paged caches."""

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from helpers import DTYPES, TYPES, compare
from serving_steps import Steps
from test_paged import Pages

SLOPES = np.array([0.5, 0.1, 0.2, 0.05])


class Step(Pages):
    """A step: sequence b has queries[b] new tokens at the end of its lengths[b] keys."""

    def __init__(self, queries, lengths, page=16, layout="nhd", **options):
        """The tokens of each sequence, and its keys; the other arguments are those of `Pages`."""
        super().__init__(page, layout, lengths, **options)
        self.sums = np.concatenate([[0], np.cumsum(queries)]).astype(np.int32)
        dense = self.arguments[0]
        rng = np.random.default_rng(2)
        self.arguments[0] = rng.standard_normal((self.sums[-1], 4, dense.shape[3])).astype(dense.dtype)

    def check(self, **options):
        """The kernel against the reference."""
        super().check(cu_seqlens_q=self.sums, **options)


MIXED = dict(queries=(20, 1, 0, 1, 5, 2), lengths=(70, 1, 9, 129, 5, 64))
DRAFTS = dict(queries=(2, 8, 3, 9, 5, 4), lengths=(70, 8, 129, 30, 5, 64))  # each kernel's shortest and longest

OPTIONS = {
    "plain": {},
    "bottom_right": dict(causal="bottom_right"),
    "top_left": dict(causal="top_left"),
    "offsets": dict(causal=[50, 0, 3, 128, 0, 62]),
    "window": dict(causal="bottom_right", window=(20, 0)),
    "chunk": dict(causal="bottom_right", chunk=16),
    "softcap and scale": dict(softcap=1.5, scale=0.3),
    "sink": dict(sink=np.array([1.0, -1.0, 0.0, 5.0])),
    "alibi": dict(score_mod=lambda s, b, h, i, j: s - SLOPES[h] * (i - j)),
    "mask by b": dict(mask_mod=lambda b, h, i, j: (i + j + b) % 3 != 1),
}


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_features(name, dtype):
    Step(**MIXED, dtype=dtype).check(**OPTIONS[name])


@pytest.mark.parametrize("layout", ["nhd", "hnd"])
@pytest.mark.parametrize("page", [1, 3, 16, 64])
def test_page_sizes(page, layout):
    Step(**MIXED, page=page, layout=layout).check(causal="bottom_right")


@pytest.mark.parametrize("name", ["bottom_right", "window", "sink", "mask by b"])
def test_drafts(name):
    Step(**DRAFTS).check(**OPTIONS[name])


@pytest.mark.parametrize("queries", [(0, 0), (1, 1), (1, 0), (0, 113), (200, 1)], ids=str)
def test_compositions(queries):
    Step(queries, (203, 300), sizes=(59, 40)).check(causal="bottom_right")


def test_no_keys():
    Step((3, 1, 2), (0, 0, 40)).check()


LINE = "b? hq4 hkv2 sq? sk? d32 dv24 layout=varlen paged=16 kv_lengths causal=bottom_right out=lse"


def test_one_kernel_serves_all_steps():
    kernel = attn.compile(LINE)
    for queries, lengths in [((20, 1, 0), (70, 1, 9)), ((1,), (200,)), ((1, 1, 1, 7), (3, 30, 300, 7))]:
        step = Step(queries, lengths)
        *qkv, table, keys = step.arguments
        found = kernel(*qkv, keys.astype(np.int32), step.sums, table)
        options = dict(cu_seqlens_q=step.sums, causal="bottom_right", return_lse=True)
        compare(found, reference.paged_sdpa, *step.arguments, **options)


def test_the_entry_counts_prefix_sums():
    step = Step((3, 1), (20, 9))
    *qkv, table, keys = step.arguments
    for sums in ([0, 4], [0, 1, 2, 4]):
        with pytest.raises(ValueError, match=f"expected 3 prefix sums, one more than .*, found {len(sums)}"):
            attn.compile(LINE)(*qkv, keys.astype(np.int32), np.array(sums, np.int32), table)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [MIXED, DRAFTS], ids=["mixed", "drafts"])
def test_bits_are_those_of_any_batch(sizes, dtype):
    step = Step(**sizes, dtype=dtype)
    q, k, v, table, lengths = step.arguments

    def run(rows, of, sums):
        options = dict(causal="bottom_right", dynamic=True)
        return attn.paged_sdpa(q[rows], k, v, table[of], lengths[of], cu_seqlens_q=sums, **options)

    all_rows = run(slice(None), slice(None), step.sums)
    before = attn.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            again = run(slice(None), slice(None), step.sums)
            assert np.array_equal(again.view(np.uint8), all_rows.view(np.uint8))
    finally:
        attn.set_num_threads(before)
    for b in range(lengths.size):
        rows = slice(step.sums[b], step.sums[b + 1])
        alone = run(rows, slice(b, b + 1), np.array([0, rows.stop - rows.start], np.int32))
        assert np.array_equal(alone.view(np.uint8), all_rows[rows].view(np.uint8))


@pytest.mark.parametrize("layout", ["nhd", "hnd"])
@pytest.mark.parametrize("of", ["page", "slot"])
@pytest.mark.parametrize("dtype", [np.int8, ml_dtypes.float8_e4m3fn], ids=["int8", "fp8"])
def test_scales_in_pages(of, layout, dtype):
    step = Step(**MIXED, layout=layout)
    q, k, v, table, lengths = step.arguments
    rng = np.random.default_rng(3)
    unused = np.isnan(k[..., 0])  # what no sequence has is never read
    if of == "page":
        unused = unused.all(axis=1 if layout == "nhd" else 2)
    scales = {f"{x}_scale": np.where(unused, np.nan, rng.uniform(0.5, 2, unused.shape)).astype("f4") for x in "kv"}
    arguments = (q, *(np.nan_to_num(x * 8).astype(dtype) for x in (k, v)), table, lengths)
    options = dict(cu_seqlens_q=step.sums, page_layout=layout, causal="bottom_right", return_lse=True, **scales)
    for dynamic in (True, False):
        compare(attn.paged_sdpa(*arguments, **options, dynamic=dynamic), reference.paged_sdpa, *arguments, **options)


def test_scales_of_two_meanings():
    k = np.ones((2, 2, 3, 8), np.int8)  # (pages, Hkv, page), or (B, Hkv, Sk)
    arguments = (np.ones((2, 2, 1, 8), np.float32), k, k, np.array([[0], [1]], np.int32), np.array([3, 3]))
    scale = np.ones((2, 2, 3), np.float32)
    with pytest.raises(ValueError, match="one a token as well as one a slot; allocate one more page"):
        attn.paged_sdpa(*arguments, page_layout="hnd", k_scale=scale, v_scale=scale)


@pytest.mark.parametrize("kind", range(8))
def test_random_steps(kind):
    steps = Steps([kind, 43])
    for _ in range(4):
        steps.check()


MISTAKES = {
    "falling": (dict(cu_seqlens_q=[0, 3, 2]), "expected cu_seqlens_q never to decrease, found"),
    "too many rows": (dict(cu_seqlens_q=[0, 1, 5]), "expected cu_seqlens_q to go from 0 to the 4 packed rows"),
    "bias": (dict(bias=np.zeros((1, 1, 1, 1), np.float32)), "expected no bias beside cu_seqlens_q"),
    "lengths": (dict(q_lengths=[1, 1]), "expected no q_lengths beside cu_seqlens_q"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    options, message = MISTAKES[name]
    step = Step((3, 1), (20, 9))
    with pytest.raises(ValueError, match=message):
        attn.paged_sdpa(*step.arguments, **{"cu_seqlens_q": step.sums, **options})
