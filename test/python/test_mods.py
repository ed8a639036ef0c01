"""score_mod and mask_mod in compiled kernels against the reference, which calls the same functions on arrays."""

import numpy as np
import pytest

import attn
from attn.call import _running
from helpers import TYPES, Shape, check, draw, in_child

SHAPE = Shape(113, 203, 32, 24, b=2, hq=4, hkv=2)
RNG = np.random.default_rng(7)
SLOPES = 2.0 ** -np.arange(1.0, 5.0)
RELATIVE = RNG.standard_normal((4, 113 + 203 - 1))
DOCUMENTS = np.sort(RNG.integers(0, 6, (2, 203)), axis=1)
SCATTERED = RNG.integers(0, 6, (2, 203)).astype(np.int32)
PREFIX = np.array([31, 150])
KEEP = RNG.random((4, 203)) < 0.7
TEMPERATURE = np.array(0.7)
BLOCK, CHUNK = 40, 29
OTHERS = {name: dtype for name, dtype in TYPES.items() if name != "f32"}

SCORE_MODS = {
    "identity": lambda s, b, h, i, j: s,
    "alibi": lambda s, b, h, i, j: s - SLOPES[h] * (i - j),
    "alibi of powers": lambda s, b, h, i, j: s + attn.exp2(-2.0 * (h + 1)) * (j - i),
    "softcap": lambda s, b, h, i, j: 2.0 * attn.tanh(s / 2.0),
    "relative table": lambda s, b, h, i, j: s + RELATIVE[h, i - j + 202],
    "run-time scalar": lambda s, b, h, i, j: s * TEMPERATURE,
    "removes by minus infinity": lambda s, b, h, i, j: attn.where(i >= j, s, -np.inf),
    "by document": lambda s, b, h, i, j: s + 0.1 * SCATTERED[b, j] - attn.abs(i - j) / 50,
    "squares": lambda s, b, h, i, j: attn.minimum(s**2, 3.0) - attn.maximum(s, 0.5) * (h == 2),
    "functions": lambda s, b, h, i, j: attn.sigmoid(s) + attn.exp(-(s**2)) + attn.log(1.0 + i) - attn.sqrt(j),
}
MASK_MODS = {
    "causal": lambda b, h, i, j: i >= j,
    "causal, bottom right": lambda b, h, i, j: i + 90 >= j,
    "window": lambda b, h, i, j: (i - j <= 30) & (j - i <= 10),
    "prefix": lambda b, h, i, j: (j < 37) | (j <= i),
    "run-time prefix": lambda b, h, i, j: (j < PREFIX[b]) | (j <= i),
    "dilated": lambda b, h, i, j: (i - j) % 4 == 0,
    "dilated and causal": lambda b, h, i, j: (j <= i) & ((i - j) % 3 == 0) & (i - j < 64),
    "chunked": lambda b, h, i, j: (i // CHUNK == j // CHUNK) & (j <= i),
    "block-diagonal": lambda b, h, i, j: i // BLOCK == j // BLOCK,
    "documents": lambda b, h, i, j: DOCUMENTS[b, i] == DOCUMENTS[b, j],
    "documents, causal": lambda b, h, i, j: (DOCUMENTS[b, i] == DOCUMENTS[b, j]) & (j <= i),
    "scattered documents": lambda b, h, i, j: SCATTERED[b, i] == SCATTERED[b, j],
    "table of booleans": lambda b, h, i, j: KEEP[h, j],
    "by head": lambda b, h, i, j: attn.where(h < 2, i >= j, j - i < 20 * (b + 1)),
    "everything": lambda b, h, i, j: True,
    "nothing": lambda b, h, i, j: j < 0,
    "not": lambda b, h, i, j: ~((i > j) ^ (j > 100)),
}


@pytest.mark.parametrize("name", SCORE_MODS)
def test_score_mods(name):
    check(*draw(SHAPE), score_mod=SCORE_MODS[name])


@pytest.mark.parametrize("name", MASK_MODS)
def test_mask_mods(name):
    check(*draw(SHAPE), mask_mod=MASK_MODS[name])


@pytest.mark.parametrize("dtype", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", ["alibi", "relative table", "softcap"])
def test_score_mods_in_other_types(name, dtype):
    check(*draw(SHAPE, dtype), score_mod=SCORE_MODS[name])


@pytest.mark.parametrize("dtype", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", ["causal", "documents", "run-time prefix"])
def test_mask_mods_in_other_types(name, dtype):
    check(*draw(SHAPE, dtype), mask_mod=MASK_MODS[name])


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_both_with_everything_else(dtype):
    rng = np.random.default_rng(8)
    options = dict(
        score_mod=SCORE_MODS["alibi"], mask_mod=MASK_MODS["dilated"], causal="bottom_right", window=(100, 0),
        softcap=5.0, scale=0.3, bias=rng.standard_normal((1, 4, 1, 203)).astype(dtype),
        mask=rng.random((2, 1, 113, 203)) < 0.9, sink=rng.standard_normal(4), kv_lengths=[203, 120],
    )  # fmt: skip
    check(*draw(SHAPE, dtype), **options)


@pytest.mark.parametrize(
    "shape", [Shape(1, 203, 32, 32, hq=4, hkv=1), Shape(5, 0, 8, 8, hq=4, hkv=4), Shape(1, 1, 1, 1)]
)
def test_one_query_no_keys_and_one_by_one(shape):
    slopes = SLOPES[: shape.hq]
    options = dict(score_mod=lambda s, b, h, i, j: s - slopes[h] * j, mask_mod=lambda b, h, i, j: j % 3 != 1)
    check(*draw(shape), **options)


def test_rows_that_a_mask_mod_empties():
    out, lse = check(*draw(SHAPE), mask_mod=lambda b, h, i, j: (i % 3 == 0) & (j < 50))
    assert (out[:, :, 1::3] == 0).all()
    assert (lse[:, :, 1::3] == -np.inf).all()


def test_a_mask_mod_is_the_mask_that_it_says():
    q, k, v = draw(SHAPE)
    as_mod = attn.sdpa(q, k, v, mask_mod=lambda b, h, i, j: i >= j, return_lse=True)
    as_word = attn.sdpa(q, k, v, causal="top_left", return_lse=True)
    for x, y in zip(as_mod, as_word, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


def test_new_values_in_captured_arrays_need_no_new_kernel():
    q, k, v = draw(SHAPE)
    table = DOCUMENTS.copy()

    def same(b, h, i, j):
        return table[b, i] == table[b, j]

    first, _ = check(q, k, v, mask_mod=same)
    before = len(_running.kernels)
    table[...] = SCATTERED
    second, _ = check(q, k, v, mask_mod=same)
    assert len(_running.kernels) == before
    assert np.abs(first - second).max() > 0.1


def test_tables_are_not_read_outside():
    in_child("""
        shape = Shape(113, 203, 16, 16, b=2, hq=4, hkv=2)
        slopes, bias = before_a_wall(np.ones(4)), before_a_wall(np.zeros((4, 315)))
        documents = before_a_wall(np.zeros((2, 203), np.int32))
        check(*draw(shape), score_mod=lambda s, b, h, i, j: s + slopes[h] + bias[h, i - j + 202],
              mask_mod=lambda b, h, i, j: documents[b, j] == documents[b, i])
    """)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("dynamic", [False, True])
def test_integer_division_by_zero_is_that_of_numpy(dynamic):
    """0, also in a value that attn.where does not take; MLIR leaves open what dividing by 0 does."""
    divisors = np.array([0, 3, -2, 1])
    options = dict(
        score_mod=lambda s, b, h, i, j: s + i // divisors[h] + (j - 9) % divisors[h] + 0.1 * ((-i) // (j % 4)),
        mask_mod=lambda b, h, i, j: attn.where(j == 0, True, i % j < 5) & ((h == 3) | (j % divisors[h] != 1)),
    )
    check(*draw(SHAPE), dynamic=dynamic, **options)


def test_integers_beyond_32_bits_are_floats_of_their_value():
    """An index that f32 holds to 24 bits: products of positions, and captured integers."""
    large = np.array([3_000_000_000, 0, 2**31, 5], np.uint32)
    shape = Shape(2, 50_000, 16, 16, hq=4, hkv=4)
    check(*draw(shape), score_mod=lambda s, b, h, i, j: s - (i - j) * (i - j) * 1e-9 + 1e-8 * large[h])
    huge = np.full(4, 2**63, np.uint64)
    with pytest.raises(ValueError, match=r"expected integers below 2\^63 in the captured array huge"):
        attn.sdpa(*draw(shape), score_mod=lambda s, b, h, i, j: s + huge[h])
