"""Paged caches: attention that reads pages where they lie, and appending rows, dense and paged."""

import re

import numpy as np
import pytest

import attn
from attn import reference
from helpers import DTYPES, NARROW, TYPES, compare, in_child

PAGE_SIZES = [1, 3, 16, 64]
LAYOUTS = ["nhd", "hnd"]
GARBAGE = 1 << 30  # as a page number: memory that is not mapped
SLOPES = np.array([0.5, 0.1, 0.2, 0.05])


class Pages:
    """Random caches whose pages are shuffled, with NaN in each row that no sequence uses."""

    def __init__(self, page, layout="nhd", lengths=(70, 0, 129), extra=2, dtype=np.float32, sizes=(32, 24), sq=5):
        """Caches for sequences of these lengths; the table has `extra` columns of garbage."""
        rng = np.random.default_rng(1)
        lengths, heads = np.array(lengths), 2
        used = -(-lengths // page)
        pages = int(used.sum()) + 1
        order, self.table = rng.permutation(pages), np.full((lengths.size, max(used) + extra), GARBAGE, np.int32)
        caches = [np.full((pages, page, heads, columns), np.nan, dtype) for columns in sizes]
        taken = 0
        for b, length in enumerate(lengths):
            self.table[b, : used[b]] = order[taken : taken + used[b]]
            taken += used[b]
            for j in range(length):
                for cache in caches:
                    cache[self.table[b, j // page], j % page] = rng.standard_normal((heads, cache.shape[3]))
        caches = [x if layout == "nhd" else np.ascontiguousarray(x.swapaxes(1, 2)) for x in caches]
        self.arguments = [rng.standard_normal((lengths.size, 4, sq, sizes[0])).astype(dtype), *caches]
        self.arguments += [self.table, lengths]
        self.layout = layout

    def check(self, **options):
        """The kernel against the reference."""
        found = attn.paged_sdpa(*self.arguments, page_layout=self.layout, return_lse=True, **options)
        options.pop("dynamic", None)
        assert np.isfinite(found[0]).all()
        compare(found, reference.paged_sdpa, *self.arguments, page_layout=self.layout, return_lse=True, **options)


OPTIONS = {
    "plain": {},
    "bottom_right": dict(causal="bottom_right"),
    "offsets": dict(causal=[60, 3, 10]),
    "window": dict(causal="bottom_right", window=(20, 0)),
    "softcap and scale": dict(softcap=1.5, scale=0.3),
    "sink": dict(sink=np.array([1.0, -1.0, 0.0, 5.0])),
    "q_lengths": dict(q_lengths=[5, 2, 0], causal="bottom_right"),
    "mods": dict(score_mod=lambda s, b, h, i, j: s - SLOPES[h] * (i - j), mask_mod=lambda b, h, i, j: (i + j) % 3 != 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("page", PAGE_SIZES)
def test_page_sizes(page, layout):
    Pages(page, layout).check(causal="bottom_right")


@pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize(("page", "layout"), [(1, "hnd"), (16, "nhd"), (48, "hnd"), (128, "nhd")])
def test_page_sizes_in_narrow_types(page, layout, dtype):
    Pages(page, layout, dtype=dtype).check(causal="bottom_right")


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", OPTIONS)
def test_features(name, dtype):
    Pages(16, dtype=dtype).check(**OPTIONS[name])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoding(layout):
    Pages(16, layout, lengths=(1, 16, 17, 200), sq=1, sizes=(64, 64)).check()


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize(("page", "layout"), [(16, "hnd"), (17, "hnd"), (20, "nhd"), (64, "nhd")])
@pytest.mark.parametrize("sq", [1, 2, 4, 5])
def test_any_number_of_pages(page, layout, dtype, sq):
    # Rounds of two and four pages and what is left of them, a page that is full and one that is not.
    lengths = [page * count + rest for count, rest in enumerate([1, 0, 0, 7, 0, 3, 0, page - 1, 0, 11])]
    Pages(page, layout, lengths=lengths, dtype=dtype, sq=sq, sizes=(64, 40)).check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_that_grow_from_page_to_page(layout):
    pages = Pages(16, layout, lengths=(16 * 13, 16 * 8 + 5), sq=1, sizes=(64, 40))
    q, k, _, table, lengths = pages.arguments
    q[...] = 1
    for b, length in enumerate(lengths):
        for number in range(-(-length // 16)):
            page = k[table[b, number]]
            page[~np.isnan(page)] = number / 2
    pages.check(scale=1.0)


def test_dense_masks(rng):
    pages = Pages(16)
    keys = pages.table.shape[1] * 16
    bias = rng.standard_normal((3, 1, 5, keys)).astype(np.float32)
    pages.check(bias=bias, mask=rng.random((1, 4, 1, keys)) < 0.8)


def test_pages_may_be_shared():
    pages = Pages(16, lengths=(40, 40), extra=0)
    pages.table[1, :2] = pages.table[0, :2]
    pages.check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_entries_and_rows_past_the_length_are_never_read(layout):
    in_child(f"""
        from test_paged import Pages
        for page in (3, 16):
            pages = Pages(page, {layout!r}, extra=5)
            pages.arguments[1:4] = map(before_a_wall, pages.arguments[1:4])
            pages.check(causal="bottom_right")
    """)


def test_one_kernel_for_all_batches():
    for lengths in (70, 0, 129), (5,), (16, 32, 48, 300):
        Pages(16, lengths=lengths).check(causal="bottom_right", dynamic=True)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_window_without_align_holds_for_its_own_lengths_alone(dynamic):
    """Of as many keys as rows every alignment is one; the kernel is remembered for no other lengths."""
    options = dict(window=(2, 0), dynamic=dynamic)
    for lengths in ((5, 5, 5), (5, 4, 5), (5, 5, 5)):
        q, *caches, table, lengths = Pages(4, lengths=lengths).arguments
        of_32 = [q, *caches, table, lengths.astype(np.int32)]
        if (lengths == q.shape[2]).all():
            compare(attn.paged_sdpa(*of_32, **options), reference.paged_sdpa, *of_32, window=(2, 0))
        else:
            with pytest.raises(ValueError, match="expected align for a window"):
                attn.paged_sdpa(*of_32, **options)


def test_bad_lengths_tables_and_layouts():
    q, k, v, table, lengths = Pages(16).arguments
    limit = table.shape[1] * 16
    with pytest.raises(ValueError, match=rf"kv_lengths in 0 to {limit}, found"):
        attn.paged_sdpa(q, k, v, table, lengths + limit)
    bad = table.copy()
    bad[2, 1] = k.shape[0]
    with pytest.raises(ValueError, match=rf"block_table in 0 to {k.shape[0] - 1}, found {k.shape[0]} at \[2, 1\]"):
        attn.paged_sdpa(q, k, v, bad, lengths)
    with pytest.raises(ValueError, match=r"block_table of shape \(3, max pages\)"):
        attn.paged_sdpa(q, k, v, np.zeros((2, limit), int), lengths)
    with pytest.raises(ValueError, match='page_layout to be "nhd" or "hnd"'):
        attn.paged_sdpa(q, k, v, table, lengths, page_layout="ndh")
    for wrong in (v[:, :-1], v[:, :, :-1]):
        with pytest.raises(ValueError, match="v_cache to have the page and heads of k_cache"):
            attn.paged_sdpa(q, k, wrong, table, lengths)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_longer", ["k", "v"])
def test_caches_of_unlike_numbers_of_pages(layout, is_longer):
    """As shifted views of one memory: pages that only one cache has are no pages."""
    pages = Pages(16, layout)
    q, k, v, table, lengths = pages.arguments
    count = k.shape[0]
    more = [np.concatenate([x, np.full_like(x[:3], np.nan)]) for x in (k, v)]
    pages.arguments[1:3] = (more[0], v) if is_longer == "k" else (k, more[1])
    for options in ({}, {"dynamic": True}, {"dynamic": True}):  # of the last the kernel is remembered
        pages.check(causal="bottom_right", **options)
    of_32, given = [*pages.arguments[:4], lengths.astype(np.int32)], {"page_layout": layout, "return_lse": True}
    for _ in range(2):
        compare(attn.paged_sdpa(*of_32, **given), reference.paged_sdpa, *of_32, **given)
    bad = table.copy()
    bad[2, 1] = count
    for dynamic in (False, True):
        with pytest.raises(ValueError, match=rf"block_table in 0 to {count - 1}, found {count} at"):
            attn.paged_sdpa(q, *pages.arguments[1:3], bad, of_32[4], page_layout=layout, dynamic=dynamic)


@pytest.mark.parametrize("of", ["head", "page", "slot"])
def test_scales_of_caches_of_unlike_numbers_of_pages(rng, of):
    pages = Pages(16)
    q, k, v, table, lengths = pages.arguments
    caches = [rng.integers(-128, 128, (rows, *x.shape[1:]), np.int8) for x, rows in ((k, len(k)), (v, len(k) + 2))]
    shapes = {"head": lambda x: x.shape[2:3], "page": lambda x: x.shape[:3:2], "slot": lambda x: x.shape[:3]}
    scales = [rng.random(shapes[of](x), np.float32) / 99 for x in caches]
    options = {"k_scale": scales[0], "v_scale": scales[1], "return_lse": True}
    for dynamic in (False, True):
        found = attn.paged_sdpa(q, *caches, table, lengths, dynamic=dynamic, **options)
        compare(found, reference.paged_sdpa, q, *caches, table, lengths, **options)


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16], ids=["f32", "f64", "f16"])
def test_append_to_a_dense_cache(rng, dtype):
    cache, new = (rng.standard_normal((3, 2, rows, 8)).astype(dtype) for rows in (50, 4))
    expected = reference.kv_append(cache, new, [0, 46, 7])
    assert attn.kv_append(cache, new, [0, 46, 7]) is cache
    np.testing.assert_array_equal(cache, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("page", PAGE_SIZES)
def test_append_to_a_paged_cache(rng, page, layout):
    pages = Pages(page, layout, extra=0)
    cache, table = pages.arguments[1], pages.table
    new = rng.standard_normal((3, 2, 4, 32)).astype(np.float32)
    table[1] = pages.arguments[1].shape[0] - 1
    table[1, : min(2, table.shape[1])] = 0
    positions = [66, 0, 125]
    expected = reference.kv_append(cache, new, positions, block_table=table, page_layout=layout)
    assert attn.kv_append(cache, new, positions, block_table=table, page_layout=layout) is cache
    np.testing.assert_array_equal(cache, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_append_to_a_view_of_pages(rng, layout):
    """K and V side by side in a page, and rows as a projection leaves them: both in place, nothing beside them."""
    shape = (5, 2, 16, 3, 8) if layout == "nhd" else (5, 2, 3, 16, 8)
    whole = rng.standard_normal(shape).astype(np.float32)
    new = rng.standard_normal((2, 4, 3, 3, 8)).astype(np.float32)[:, :, 1].transpose(0, 2, 1, 3)
    table, positions = np.array([[4, 1], [0, 2]]), [14, 3]
    expected = whole.copy()
    expected[:, 1] = reference.kv_append(whole[:, 1], new, positions, block_table=table, page_layout=layout)
    view = whole[:, 1]
    assert attn.kv_append(view, new, positions, block_table=table, page_layout=layout) is view
    np.testing.assert_array_equal(whole, expected)


def test_append_to_slices_of_a_cache(rng):
    whole = rng.standard_normal((2, 7, 3, 40, 8)).astype(np.float32)
    new = rng.standard_normal((2, 3, 4, 8)).astype(np.float32)
    for view in (whole[:, 5, :, :20], whole[:, 5, :, 30:4:-1], whole[:, 5].transpose(0, 1, 2, 3)[:, ::-1]):
        expected = reference.kv_append(view, new, [0, 9])
        attn.kv_append(view, new, [0, 9])
        np.testing.assert_array_equal(view, expected)


def test_append_to_rows_that_overlap(rng):
    new = rng.standard_normal((1, 2, 4, 8)).astype(np.float32)
    memory = np.zeros(400, np.float32)
    for strides in [(0, 0, 32, 4), (0, 640, 28, 4), (0, 160, 32, 4)]:  # heads, rows, and heads in rows
        cache = np.lib.stride_tricks.as_strided(memory, (1, 2, 20, 8), strides)
        with pytest.raises(ValueError, match="memory of its own for each element, found strides that overlap"):
            attn.kv_append(cache, new, [0])
    assert not memory.any()


def test_bad_appends_write_nothing(rng):
    cache, new = (rng.standard_normal((3, 2, rows, 8)).astype(np.float32) for rows in (50, 4))
    before = cache.copy()
    with pytest.raises(ValueError, match=r"positions in 0 to 46, as 4 rows go in 50, found \[0, 47, 7\]"):
        attn.kv_append(cache, new, [0, 47, 7])
    with pytest.raises(ValueError, match="page_layout only with a block_table"):
        attn.kv_append(cache, new, [0, 0, 0], page_layout="nhd")
    with pytest.raises(ValueError, match=r"a cache of shape \(3, 2, 50, 9\)"):
        attn.kv_append(cache, np.zeros((3, 2, 4, 9), np.float32), [0, 0, 0])
    with pytest.raises(ValueError, match=r"block_table in 0 to 2, found 3 at \[1, 0\]"):
        attn.kv_append(cache, new[:, :, :, :], [0, 0, 0], block_table=[[0], [3], [0]], page_layout="hnd")
    with pytest.raises(TypeError, match=r"new to be one of float32, .*, found int32"):
        attn.kv_append(cache, new.astype(np.int32), [0, 0, 0])
    np.testing.assert_array_equal(cache, before)


def test_dynamic_pages_know_no_number_of_keys():
    q, k, v, table, lengths = Pages(16, lengths=(40, 20), sq=1).arguments
    bias = np.zeros((1, 1, 1, table.shape[1] * 16), np.float32)
    with pytest.raises(ValueError, match="expected a bias without dynamic=True"):
        attn.paged_sdpa(q, k, v, table, lengths, page_layout="nhd", bias=bias, dynamic=True)
    scale = np.ones((2, 2, table.shape[1] * 16), np.float32)
    quantised = [np.zeros(x.shape, np.int8) for x in (k, v)]
    with pytest.raises(ValueError, match="expected k_scale and v_scale a token without dynamic=True"):
        attn.paged_sdpa(q, *quantised, table, lengths, page_layout="nhd", k_scale=scale, v_scale=scale, dynamic=True)


@pytest.mark.parametrize(
    ("lengths", "pages", "advice"),
    [
        ((40,), 3, "write block_table[None]"),
        ((40, 20), 6, "write block_table.reshape(2, -1)"),
        ((40, 20), 5, "write a row of pages for each sequence, padded at its end"),
    ],
)
def test_a_block_table_is_a_row_of_pages_for_each_sequence(lengths, pages, advice):
    q, k, v, _, lengths = Pages(16, lengths=lengths, extra=0, sq=1).arguments
    table, sums = np.zeros(pages, np.int32), np.arange(lengths.size + 1)
    rows, where = np.zeros((lengths.size, 2, 1, 32), np.float32), np.zeros(lengths.size, np.int32)
    message = f"expected block_table of shape ({lengths.size}, max pages), [B, pages], found ({pages},); {advice}"
    for call in (
        lambda: attn.paged_sdpa(q, k, v, table, lengths),
        lambda: attn.paged_sdpa(q[:, :, 0], k, v, table, lengths, cu_seqlens_q=sums, dynamic=True),
        lambda: attn.kv_append(k, rows, where, block_table=table),
        lambda: reference.paged_sdpa(q, k, v, table, lengths),
        lambda: reference.kv_append(k, rows, where, block_table=table),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            call()


def test_no_new_rows_read_no_table():
    cache, none = np.ones((4, 8, 2, 16), np.float32), np.ones((1, 2, 0, 16), np.float32)
    attn.kv_append(cache, none, [3], block_table=np.array([[GARBAGE, GARBAGE]]), page_layout="nhd")
    assert (cache == 1).all()
