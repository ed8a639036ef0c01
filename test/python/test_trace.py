"""Tracing: the text of regions, what it means against the same function on arrays, and what is refused."""

import functools
import math
import re
import types

import numpy as np
import pytest

import attn
import region
from attn.trace import _trace
from helpers import Exporter

SCORES = (2, 4, 9, 13)
INDICES = np.ogrid[tuple(map(slice, SCORES))]
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625])
DOCUMENTS = np.random.default_rng(3).integers(0, 3, (2, 13))
TABLE = np.random.default_rng(4).standard_normal((4, 9 + 13 - 1)).astype(np.float32)
COUNTS = np.array([4, 7], dtype=np.int16)
LEARNED = np.array(1.5)


def test_the_text_is_what_the_contract_says():
    traced = _trace.trace(lambda s, b, h, i, j: s - SLOPES[h] * (i - j), lambda b, h, i, j: i >= j, SCORES)
    assert (
        traced.regions.text
        == """captures(%SLOPES : tensor<4xf32>)
score_mod {
^bb0(%score: f32):
  %h = attn.index head : index
  %t1 = tensor.extract %SLOPES[%h] : tensor<4xf32>
  %i = attn.index query : index
  %j = attn.index key : index
  %t4 = arith.subi %i, %j : index
  %t5 = arith.index_cast %t4 : index to i32
  %t6 = arith.sitofp %t5 : i32 to f32
  %t7 = arith.mulf %t1, %t6 : f32
  %t8 = arith.subf %score, %t7 : f32
  attn.yield %t8 : f32
}
mask_mod {
  %i = attn.index query : index
  %j = attn.index key : index
  %t2 = arith.cmpi sge, %i, %j : index
  attn.yield %t2 : i1
}"""
    )
    assert [x.dtype for x in traced.arrays] == [np.float32]


def test_nothing_to_trace_is_no_text():
    assert _trace.trace(None, None, SCORES) == (("", (), (), ""), (), ())


def test_what_functions_read():
    """Floats that score_mod reads have a gradient: neither integers nor what the mask compares have."""
    limits, buckets = np.arange(4.0), np.arange(13)
    regions = _trace.trace(
        lambda s, b, h, i, j: s + TABLE[h, buckets[j]] - SLOPES[h], lambda b, h, i, j: limits[h] + SLOPES[h] < j, SCORES
    ).regions
    assert regions.names == ("TABLE", "buckets", "SLOPES", "limits")
    assert regions.differentiable == ("TABLE", "SLOPES")
    assert sorted(regions.indices) == ["h", "j"]


def helper(x, h):
    return x + SLOPES[h]


SCORE_MODS = {
    "identity": lambda s, b, h, i, j: s,
    "alibi": lambda s, b, h, i, j: s - SLOPES[h] * (i - j),
    "alibi without a table": lambda s, b, h, i, j: s + 2.0 ** (-2 * (h + 1)) * (j - i),
    "softcap": lambda s, b, h, i, j: 30.0 * attn.tanh(s / 30.0),
    "softcap by numpy": lambda s, b, h, i, j: 30 * np.tanh(s / 30),
    "relative table": lambda s, b, h, i, j: s + TABLE[h, i - j + 12],
    "helper": lambda s, b, h, i, j: helper(s, h),
    "learned scalar": lambda s, b, h, i, j: s * LEARNED,
    "where": lambda s, b, h, i, j: attn.where(i >= j, s, -np.inf),
    "numpy where": lambda s, b, h, i, j: np.where((i >= j) & (h != 2), s, s - 1e4),
    "integers": lambda s, b, h, i, j: s + (i - j) // 3 - (j - i) % 5 + (i * j) % 7 + abs(i - j) - (-i),
    "floats": lambda s, b, h, i, j: s % 0.7 + s // 0.3 - abs(s) + (-s) / 2 + 1 / (1 + s * s) + (i / 3),
    "powers": lambda s, b, h, i, j: s**3 + s**0 + (s**2) ** 0.5 + i**2 + (1 + s**2) ** -2 + (1 + i) ** 1.5,
    "functions": lambda s, b, h, i, j: (
        attn.sigmoid(s) + attn.exp(-(s**2)) + attn.log(1 + s**2) + attn.sqrt(i) + attn.floor(s) + attn.cos(s)
        + attn.log1p(attn.abs(s)) + attn.exp2(-j) + attn.log2(1 + i) + attn.sin(s) + attn.ceil(s)
    ),
    "ufuncs": lambda s, b, h, i, j: np.maximum(s, 0.1) + np.minimum(i, j) + np.square(s) + np.clip(j - i, -2, 3),
    "predicates as numbers": lambda s, b, h, i, j: s * (i > j) + (i == j) - 1.0 * ((i + j) % 2 != 0),
    "numpy scalars": lambda s, b, h, i, j: np.float32(0.5) * s + np.int64(3) - np.float64(2) / (1 + s**2),
    "constant": lambda s, b, h, i, j: 0,
    "extremes": lambda s, b, h, i, j: attn.maximum(attn.minimum(s, 0.5), i - 4) + attn.clip(i - j, 0, 3),
}  # fmt: skip

MASK_MODS = {
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i - j <= 3) & (j <= i),
    "prefix": lambda b, h, i, j: (j < 4) | (j <= i),
    "run-time prefix": lambda b, h, i, j: (j < COUNTS[b]) | (j <= i),
    "dilated": lambda b, h, i, j: (i - j) % 4 == 0,
    "chunked": lambda b, h, i, j: (i // 4 == j // 4) & (i >= j),
    "documents": lambda b, h, i, j: DOCUMENTS[b, i] == DOCUMENTS[b, j],
    "heads": lambda b, h, i, j: ~(h == 2) ^ (j > i),
    "where": lambda b, h, i, j: attn.where(h < 2, i >= j, i <= j),
    "numpy": lambda b, h, i, j: np.logical_and(np.less_equal(j, i), np.logical_not(np.equal(j, 3))),
    "equal predicates": lambda b, h, i, j: (i < 3) == (j < 5),
    "constant": lambda b, h, i, j: True,
    "a number captured": functools.partial(lambda n, b, h, i, j: i - j < n, 5),
    "default": lambda b, h, i, j, table=DOCUMENTS: table[b, j] > 0,
}


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("name", SCORE_MODS)
def test_score_mods_mean_what_they_say(rng, name):
    score = rng.standard_normal(SCORES)
    traced = _trace.trace(SCORE_MODS[name], None, SCORES, "f64")
    found = region.run(traced.regions.text, traced.arrays, SCORES, score)["score_mod"]
    expected = SCORE_MODS[name](score, *INDICES)
    np.testing.assert_allclose(
        np.broadcast_to(found, SCORES), np.broadcast_to(expected, SCORES), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", MASK_MODS)
def test_mask_mods_mean_what_they_say(name):
    traced = _trace.trace(None, MASK_MODS[name], SCORES)
    found = region.run(traced.regions.text, traced.arrays, SCORES)["mask_mod"]
    np.testing.assert_array_equal(np.broadcast_to(found, SCORES), np.broadcast_to(MASK_MODS[name](*INDICES), SCORES))


def test_values_of_arrays_are_not_part_of_the_text():
    def text(table):
        return _trace.trace(None, lambda b, h, i, j: table[b, i] % 2 == table[b, j], SCORES).regions.text

    assert text(DOCUMENTS) == text(DOCUMENTS - 5)
    assert text(DOCUMENTS) != text(DOCUMENTS.astype(np.int32))


def test_remainders_of_what_may_be_negative_are_floored():
    assert "remsi" in _trace.trace(None, lambda b, h, i, j: i % 4 == 0, SCORES).regions.text
    assert "remsi" not in _trace.trace(None, lambda b, h, i, j: (i - j) % 4 == 0, SCORES).regions.text
    assert "remsi" not in _trace.trace(None, lambda b, h, i, j: DOCUMENTS[b, j] % 4 == 0, SCORES).regions.text


def test_constants_in_the_syntax_of_mlir():
    numbers = {
        1e30: "1.0e+30",
        0.1: "0.1",
        2.0: "2.0",
        1.5e-7: "1.5e-07",
        math.inf: "0x7F800000",
        -math.inf: "0xFF800000",
    }
    for value, text in numbers.items():
        assert _trace.print_float(value, "f32") == text
    assert _trace.print_float(math.inf, "f64") == "0x7FF0000000000000"
    assert _trace.print_float(math.nan, "f32") == "0x7FC00000"


def test_captured_arrays_become_what_kernels_take():
    arrays = {
        "f64": (np.ones(4), "f32", np.float32), "f16": (np.ones(4, np.float16), "f32", np.float32),
        "i64": (np.zeros(4, np.int64), "i64", np.int64), "u32": (np.zeros(4, np.uint32), "i64", np.int64),
        "u8": (np.zeros(4, np.uint8), "i32", np.int32), "bool": (np.ones(4, bool), "i1", np.bool_),
    }  # fmt: skip
    for table, element, dtype in arrays.values():
        traced = _trace.trace(lambda s, b, h, i, j, table=table: s + table[h], None, SCORES)
        assert traced.regions.text.startswith(f"captures(%table : tensor<4x{element}>)")
        assert traced.arrays[0].dtype == dtype
        assert type(traced.arrays[0]) is np.ndarray
    assert np.shares_memory(_trace.trace(lambda s, b, h, i, j: s + TABLE[h, i], None, SCORES).arrays[0], TABLE)


@pytest.mark.parametrize("dtype", ["c8", "O", "S1", "M8[s]"])
def test_captured_arrays_of_no_real_numbers_are_refused(dtype):
    table = np.zeros(4).astype(dtype)
    with pytest.raises(TypeError, match="expected real numbers or bool in the captured array table, found"):
        _trace.trace(lambda s, b, h, i, j: s + table[h], None, SCORES)


def test_one_array_is_one_argument_and_names_are_free():
    mask = q = t1 = SLOPES  # names that a kernel has already
    other = SLOPES.copy()
    traced = _trace.trace(lambda s, b, h, i, j: s + mask[h] + q[h] + t1[h] + other[h], None, SCORES)
    captures, _ = region.split(traced.regions.text)
    assert list(captures) == ["captured_mask", "other"]

    def make(n):
        table = SLOPES * n
        return lambda x, h: x * table[h]

    first, second = make(1), make(2)
    traced = _trace.trace(lambda s, b, h, i, j: first(s, h) + second(s, h), None, SCORES)
    assert list(region.split(traced.regions.text)[0]) == ["table", "table_2"]


def test_sizes_of_arrays_are_open_in_dynamic_problems():
    def sizes(function, open_indices="bhij"):
        text = _trace.trace(None, function, SCORES, open_indices=open_indices).regions.text
        return re.findall("tensor<(.*?)x[if]", text)[0]

    assert sizes(lambda b, h, i, j: DOCUMENTS[b, j] == 0) == "?x?"
    assert sizes(lambda b, h, i, j: DOCUMENTS[b, j] == 0, None) == "2x13"
    # An entry is taken to be as large as what indexes it; here 9 queries index a table of 13.
    assert sizes(lambda b, h, i, j: DOCUMENTS[b, i] == DOCUMENTS[b, j]) == "?x13"
    assert sizes(lambda b, h, i, j: DOCUMENTS[b, i + 2] == DOCUMENTS[b, j]) == "?x?"
    assert sizes(lambda b, h, i, j: TABLE[h, i - j + 12] > 0, "bij") == "4x?"


def test_dlpack_objects_and_hidden_arrays():
    exporter = Exporter(SLOPES)
    assert "%exporter" in _trace.trace(lambda s, b, h, i, j: s * exporter[h], None, SCORES).regions.text
    config = types.SimpleNamespace(slopes=SLOPES)
    with pytest.raises(TypeError, match=r"attn.capture\(array\)\[...\] for an array that the tracer"):
        _trace.trace(lambda s, b, h, i, j: s * config.slopes[h], None, SCORES)
    config.slopes = attn.capture(SLOPES, "slopes")
    text = _trace.trace(lambda s, b, h, i, j: s * config.slopes[h], None, SCORES).regions.text
    assert text.startswith("captures(%slopes : tensor<4xf32>)")
    np.testing.assert_array_equal(config.slopes[INDICES[1]], SLOPES[INDICES[1]])


class Model:
    """A function as a method, and as a callable object."""

    def __call__(self, score, b, h, i, j):
        """As attn.sdpa calls it."""
        return score + SLOPES[h]

    def mod(self, score, b, h, i, j):
        """The same."""
        return self(score, b, h, i, j)


def test_methods_callables_and_recursion():
    expected = _trace.trace(lambda s, b, h, i, j: s + SLOPES[h], None, SCORES).regions.text
    assert _trace.trace(Model(), None, SCORES).regions.text == expected

    def repeat(x, h, n):
        return x if n == 0 else repeat(x * SLOPES[h], h, n - 1)

    assert _trace.trace(lambda s, b, h, i, j: repeat(s, h, 3), None, SCORES).regions.text.count("arith.mulf") == 3


def test_the_function_itself_is_left_as_it_was():
    def mod(s, b, h, i, j):
        return s + SLOPES[h]

    _trace.trace(mod, None, SCORES)
    assert type(SLOPES) is np.ndarray
    assert mod.__globals__ is globals()


def test_deep_expressions_need_no_recursion():
    def mod(s, b, h, i, j):
        for n in range(3000):
            s = s + n
        return s

    assert _trace.trace(mod, None, SCORES).regions.text.count("arith.addf") == 3000


NO_TRUTH = "expected no truth value .* write &, [|], ~ and attn.where"
REFUSED = {
    "and": (lambda b, h, i, j: i > 0 and j > 0, TypeError, NO_TRUTH),
    "not": (lambda b, h, i, j: not i > 0, TypeError, NO_TRUTH),
    "if": (lambda b, h, i, j: True if i > j else False, TypeError, NO_TRUTH),  # noqa: SIM210
    "chain": (lambda b, h, i, j: 0 < i < j, TypeError, NO_TRUTH),
    "returns a number": (lambda b, h, i, j: i - j, TypeError, "expected mask_mod to return a predicate"),
    "returns nothing": (lambda b, h, i, j: None, TypeError, "expected mask_mod to return a traced value.*NoneType"),
    "parameters": (lambda b, h, i: i > 0, TypeError, r"expected mask_mod\(b, h, i, j\), found other parameters"),
    "no function": (True, TypeError, "expected mask_mod to be a function"),
    "& of numbers": (lambda b, h, i, j: i & 1, TypeError, "predicates around &"),
    "condition": (lambda b, h, i, j: attn.where(i, True, False), TypeError, "predicate as the condition of attn.where"),
    "math": (lambda b, h, i, j: math.exp(i) > 1, TypeError, "write attn.exp for math.exp"),
    "numpy function": (lambda b, h, i, j: np.cumsum(i) > 1, TypeError, "can be traced, found numpy.cumsum"),
    "numpy array": (lambda b, h, i, j: np.asarray(i) > 1, TypeError, "use as a plain number or array"),
    "whole array": (lambda b, h, i, j: SLOPES * i > 1, TypeError, r"array of shape \(4,\); index it"),
    "slice": (lambda b, h, i, j: DOCUMENTS[b, :] == i, TypeError, "expected an integer as position in dimension 1"),
    "few positions": (lambda b, h, i, j: DOCUMENTS[b][i] == 0, TypeError, r"expected 2 .* found 1; write all of them"),
    "many positions": (lambda b, h, i, j: SLOPES[h, i] > 0, TypeError, "expected 1 positions .* found 2"),
    "float position": (lambda b, h, i, j: SLOPES[h / 2] > 0, TypeError, "expected an integer as position"),
    "outside": (lambda b, h, i, j: SLOPES[i] > 0, ValueError, "from 0 to 3 in dimension 0 .* SLOPES, found 0 to 8"),
    "negative": (lambda b, h, i, j: TABLE[h, i - j] > 0, ValueError, r"found -12 to 8 possible; write attn.clip"),
    "outside by values": (lambda b, h, i, j: SLOPES[COUNTS[b]] > 0, ValueError, "found 4 to 7"),
    "zero": (lambda b, h, i, j: i // 0 == 1, ZeroDivisionError, "a divisor that is not 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_says_what_to_write(name):
    function, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        _trace.trace(None, function, SCORES)


def test_positions_that_a_clip_holds_inside_are_fine():
    traced = _trace.trace(lambda s, b, h, i, j: s + TABLE[h, attn.clip(i - j, 0, 20)], None, SCORES)
    score = np.zeros(SCORES)
    found = region.run(traced.regions.text, traced.arrays, SCORES, score)["score_mod"]
    expected = TABLE[INDICES[1], np.clip(INDICES[2] - INDICES[3], 0, 20)]
    np.testing.assert_array_equal(found, np.broadcast_to(expected, SCORES))
