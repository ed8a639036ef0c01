"""Sums of weights a key, out=key_sums: of dense, packed and paged keys, beside the output and lse."""

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference
from helpers import BF16, TYPES, compare
from test_serving import DRAFTS, MIXED, OPTIONS, Step

FLAGS = dict(return_lse=True, return_key_sums=True)


def draw(*shapes, dtype=np.float32):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def check_step(step, **options):
    options |= dict(cu_seqlens_q=step.sums, page_layout=step.layout, **FLAGS)
    arguments = step.arguments
    found = attn.paged_sdpa(*arguments, **options, dynamic=True)
    compare(found, reference.paged_sdpa, *arguments, **options)
    assert not found[2].reshape(*found[2].shape[:2], -1)[:, :, step.lengths.max() :].any()


class Case(Step):
    """A step that knows its layout and lengths."""

    def __init__(self, queries, lengths, page=16, layout="nhd", **options):
        """As of a `Step`."""
        super().__init__(queries, lengths, page, layout, **options)
        self.layout, self.lengths = layout, np.array(lengths)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_types(dtype):
    check_step(Case(**MIXED, dtype=dtype), causal="bottom_right")


@pytest.mark.parametrize("name", OPTIONS)
def test_masks(name):
    check_step(Case(**MIXED), **OPTIONS[name])


@pytest.mark.parametrize(("page", "layout"), [(1, "nhd"), (3, "hnd"), (256, "nhd")])
def test_page_sizes(page, layout):
    check_step(Case(**DRAFTS, page=page, layout=layout, sizes=(59, 40)), causal="bottom_right")


@pytest.mark.parametrize("queries", [(0, 0), (1, 0), (0, 113), (200, 1)], ids=str)
def test_compositions(queries):
    check_step(Case(queries, (203, 300)), causal="bottom_right")  # of one kernel


def test_no_keys():
    check_step(Case((3, 1, 2), (0, 0, 40)), causal="bottom_right")


DENSE = {
    "plain": {},
    "bottom_right": dict(causal="bottom_right"),
    "lengths": dict(q_lengths=np.array([100, 0]), kv_lengths=np.array([203, 17])),
    "empty rows": dict(causal="bottom_right", kv_lengths=np.array([50, 0])),
    "window and sink": dict(causal="bottom_right", window=(20, 3), sink=np.array([1.0, -1.0, 0.0, 5.0])),
    "softcap": dict(softcap=2.0, scale=0.3),
    "dropout": dict(dropout=(0.3, 42, 1)),
    "alibi": dict(score_mod=lambda s, b, h, i, j: s - (h + 1) * 0.1 * (i - j)),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense(name):
    arguments = draw((2, 4, 113, 59), (2, 2, 203, 59), (2, 2, 203, 24))
    options = DENSE[name] | FLAGS
    compare(attn.sdpa(*arguments, **options), reference.sdpa, *arguments, **options)


@pytest.mark.parametrize("shape", [(2, 4, 1, 0), (2, 4, 0, 9), (1, 4, 1, 1)], ids=str)
def test_sizes(shape):
    b, h, sq, sk = shape
    arguments = draw((b, h, sq, 8), (b, h, sk, 8), (b, h, sk, 8))
    compare(attn.sdpa(*arguments, **FLAGS), reference.sdpa, *arguments, **FLAGS)


@pytest.mark.parametrize("layout", ["bshd", "bsd"])
def test_layouts(layout):
    q, k, v = draw((2, 31, 4, 16), (2, 45, 2, 16), (2, 45, 2, 16))
    options = dict(layout=layout, bias=draw((1, 4, 31, 45))[0], **FLAGS)
    if layout == "bsd":
        q, k, v = (x.reshape(*x.shape[:2], -1) for x in (q, k, v))
        options["heads"] = (4, 2)
    compare(attn.sdpa(q, k, v, **options), reference.sdpa, q, k, v, **options)


@pytest.mark.parametrize(("name", "dtype"), [("bottom_right", "f32"), ("window", "bf16"), ("sink", "f32")])
def test_packed(name, dtype):
    rows, keys = ([0, 20, 20, 21, 113], [0, 33, 40, 90, 203])
    arguments = [*draw((113, 4, 40), (203, 2, 40), (203, 2, 24), dtype=TYPES[dtype]), np.array(rows), np.array(keys)]
    options = OPTIONS[name] | FLAGS
    for dynamic in (False, True):
        compare(attn.varlen_sdpa(*arguments, **options, dynamic=dynamic), reference.varlen_sdpa, *arguments, **options)


@pytest.mark.parametrize("of", ["head", "page", "slot"])
@pytest.mark.parametrize(
    "dtype", [np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2], ids=["int8", "fp8", "e5m2"]
)
def test_quantised(of, dtype):
    step = Case(**MIXED)
    q, k, v, table, lengths = step.arguments
    unused = np.isnan(k[..., 0])
    unused = {"head": np.zeros(k.shape[2], bool), "page": unused.all(axis=1), "slot": unused}[of]
    rng = np.random.default_rng(3)
    scales = {f"{x}_scale": np.where(unused, np.nan, rng.uniform(0.5, 2, unused.shape)).astype("f4") for x in "kv"}
    step.arguments = (q, *(np.nan_to_num(x * 8).astype(dtype) for x in (k, v)), table, lengths)
    check_step(step, causal="bottom_right", **scales)


@pytest.mark.parametrize("sizes", [MIXED, DRAFTS], ids=["mixed", "drafts"])
def test_bits_do_not_depend_on_threads_or_the_batch(sizes):
    step = Case(**sizes)
    q, k, v, table, lengths = step.arguments

    def run(rows, of, sums):
        options = dict(causal="bottom_right", dynamic=True, return_key_sums=True)
        return attn.paged_sdpa(q[rows], k, v, table[of], lengths[of], cu_seqlens_q=sums, **options)[1]

    whole = run(slice(None), slice(None), step.sums)
    before = attn.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            assert np.array_equal(run(slice(None), slice(None), step.sums), whole)
    finally:
        attn.set_num_threads(before)
    for b in range(lengths.size):
        rows = slice(step.sums[b], step.sums[b + 1])
        alone = run(rows, slice(b, b + 1), np.array([0, rows.stop - rows.start], np.int32))
        assert np.array_equal(alone, whole[b : b + 1])


@pytest.mark.parametrize("dtype", [np.float32, BF16], ids=["f32", "bf16"])
def test_weights_of_a_row_sum_to_one(dtype):
    arguments = draw((3, 8, 200, 64), (3, 2, 300, 64), (3, 2, 300, 64), dtype=dtype)
    sums = attn.sdpa(*arguments, causal="bottom_right", return_key_sums=True)[1]
    np.testing.assert_allclose(sums.sum(-1), 4 * 200, rtol=1e-5)


def test_sums_are_weights_summed():
    arguments = draw((2, 4, 7, 16), (2, 2, 30, 16), (2, 2, 30, 16))
    sums = attn.sdpa(*arguments, return_key_sums=True)[1]
    weights = attn.sdpa(*arguments, return_weights=True)[1]
    np.testing.assert_allclose(sums, weights.reshape(2, 2, 2, 7, 30).sum((2, 3)), rtol=1e-5)


def test_refused():
    arguments = draw((2, 4, 7, 16), (2, 2, 30, 16), (2, 2, 30, 16))
    with pytest.raises(attn.CompileError, match="expected key_sums without weights"):
        attn.sdpa(*arguments, return_key_sums=True, return_weights=True)
    with pytest.raises(TypeError, match="return_key_sums"):
        attn.sdpa(*arguments, return_key_sums=1)
    with pytest.raises(attn.CompileError, match="expected no grad with key_sums"):
        attn.compile("sq8 d8 out=key_sums grad=q")
    with pytest.raises(attn.CompileError, match="whole pages with paged and key_sums, found 203 with pages of 16"):
        attn.compile("sq8 sk203 d8 paged=16 kv_lengths out=key_sums")
