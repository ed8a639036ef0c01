"""Few query rows: lanes over columns, a group's rows together, keys in ranges that are folded apart and merged."""

import numpy as np
import pytest

import attn
import decode_cases
from attn import reference
from decode_cases import CASES, KEYS, SPLIT
from helpers import TYPES, Shape, check, compare, draw
from test_paged import Pages

LONG = Shape(2, 2 * SPLIT + 1, 40, 24, b=2, hq=4, hkv=2)
RNG = np.random.default_rng(11)
DOCUMENTS = RNG.integers(0, 3, (2, LONG.sk))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_lengths_around_the_ranges(case):
    for sk in KEYS:
        decode_cases.check(case, 4 if sk <= SPLIT else 1, sk)


@pytest.mark.parametrize("sk", KEYS)
def test_static_lengths(sk):
    check(*draw(Shape(1, sk, 64, 64, b=2, hq=4, hkv=2)))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("sk", [31, 65, 160, 1003])
def test_keys_from_several_places(element, sk):
    # As many rows as one block of products has: a tile's keys come from four places, the rest from one.
    group = 2 if element == "f64" else 4
    check(*draw(Shape(1, sk, 64, 72, b=2, hq=2 * group, hkv=2), TYPES[element]))
    check(*draw(Shape(3, sk, 128, 128, b=1, hq=1, hkv=1), TYPES[element]), causal="bottom_right", window=(sk - 7, 0))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("group", [1, 2, 4, 8])
def test_maximum_that_moves_with_every_tile(element, group):
    # Scores grow along the keys: alpha is less than 1 in every tile, for one row; for its neighbour in none.
    q, k, v = draw(Shape(1, 517, 64, 48, b=1, hq=group, hkv=1), TYPES[element])
    k[..., 0] = np.linspace(-30, 30, 517)
    q[..., 0] = np.where(np.arange(group) % 2, -8, 8)[:, None]
    check(q, k, v)


@pytest.mark.parametrize("batch", [1, 2, 130])
def test_batches_that_fill_the_threads_and_more(batch):
    check(*draw(Shape(1, SPLIT + 3, 8, 8, b=batch, hq=2, hkv=2)))


OPTIONS = {
    "bias": lambda dtype: dict(bias=RNG.standard_normal((1, 4, 2, LONG.sk)).astype(dtype), softcap=2.0),
    "bias of one row": lambda dtype: dict(bias=RNG.standard_normal((2, 1, 1, LONG.sk)).astype(dtype)),
    "mask": lambda dtype: dict(mask=RNG.random((2, 1, 2, LONG.sk)) < 0.5, sink=np.array([1.0, -1.0, 0.0, 9.0])),
    "an empty range": lambda dtype: dict(mask=(np.arange(LONG.sk) >= SPLIT).reshape(1, 1, 1, -1)),
    "window": lambda dtype: dict(causal="bottom_right", window=(SPLIT + 9, 0)),
    "window of one range": lambda dtype: dict(causal="bottom_right", window=(20, 0)),
    "offsets": lambda dtype: dict(causal=[3, SPLIT]),
    "lengths": lambda dtype: dict(q_lengths=[2, 1], kv_lengths=[SPLIT, LONG.sk], causal="bottom_right"),
    "dropout": lambda dtype: dict(dropout=(0.3, 5, 6)),
    "score_mod": lambda dtype: dict(score_mod=lambda s, b, h, i, j: s - 0.01 * (h + 1) * attn.abs(i - j)),
    "mask_mod": lambda dtype: dict(mask_mod=lambda b, h, i, j: DOCUMENTS[b, j] == DOCUMENTS[b, i]),
    "scale": lambda dtype: dict(scale=-0.3),
}


@pytest.mark.parametrize(("name", "element"), [(name, list(TYPES)[i % 4]) for i, name in enumerate(OPTIONS)])
def test_features(name, element):
    check(*draw(LONG, TYPES[element]), **OPTIONS[name](TYPES[element]))


@pytest.mark.parametrize("layout", ["bshd", "bsd"])
def test_layouts(layout):
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in draw(LONG))
    options = dict(layout=layout, causal="bottom_right")
    if layout == "bsd":
        q, k, v = (x.reshape(*x.shape[:2], -1) for x in (q, k, v))
        options["heads"] = (4, 2)
    check(q, k, v, **options)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("group", [1, 4, 5])
def test_heads_side_by_side(element, group):
    """The rows of a key's heads lie one behind the other: heads are gone through inside of the loop over keys."""
    case = decode_cases.Case(1 if group > 1 else 3, group, 6, 128, 100, element)
    for sk in [*KEYS[:3], 17, 600, 1300]:
        decode_cases.check(case, 3, sk, "layout=bshd sink")


@pytest.mark.parametrize("name", OPTIONS)
def test_features_of_heads_side_by_side(name):
    element = list(TYPES)[list(OPTIONS).index(name) % 4]
    tensors = draw(LONG._replace(d=128, dv=128), TYPES[element])
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in tensors)
    check(q, k, v, layout="bshd", **OPTIONS[name](TYPES[element]))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("page", [5, 16, 24, 32, 64])
def test_pages_of_heads_side_by_side(page, element):
    # Rounds of several pages, of one, and of a part of one; two ranges and more.
    for lengths in (1300, 0, 17, 512, 64), (SPLIT + 9, 4 * page, 0, 1):
        pages = Pages(page, "nhd", lengths=lengths, dtype=TYPES[element], sq=1, sizes=(128, 128))
        pages.check(causal="bottom_right", window=(1100, 0))
        pages.check(dynamic=True)


@pytest.mark.parametrize(("page", "layout"), [(1, "nhd"), (16, "hnd"), (48, "nhd"), (64, "hnd"), (128, "nhd")])
@pytest.mark.parametrize("sq", [1, 4])
def test_pages(page, layout, sq):
    lengths = (SPLIT - 1, 0, SPLIT, 1, SPLIT + 1)
    element = list(TYPES)[(page // 16 + sq) % 4]
    Pages(page, layout, lengths=lengths, dtype=TYPES[element], sq=sq).check(causal="bottom_right")


def test_pages_of_one_long_sequence():
    Pages(16, lengths=(3 * SPLIT + 5,), sq=1, sizes=(64, 64)).check()


@pytest.mark.parametrize("element", TYPES)
def test_scores_that_grow_from_range_to_range(element):
    # Each range but the last is scaled by next to nothing; the first is large and negative.
    q, k, v = draw(LONG, TYPES[element])
    q[...], k[...] = 1, (np.arange(LONG.sk) // 512 * 4).reshape(1, 1, -1, 1)
    found = attn.sdpa(q, k, v, scale=1.0, return_lse=True)
    compare(found, reference.sdpa, q, k, v, scale=1.0, return_lse=True)
