"""Functions of scores are traced once, where their code, constants and the forms of their arrays say what they are."""

import functools

import numpy as np
import pytest

import attn
from attn.trace import _remembered, _trace

RNG = np.random.default_rng(0)
SCORES = (2, 2, 3, 5)
CAP = 3.0


@pytest.fixture
def counted(monkeypatch):
    """How often a function was traced, with all that finds out whether it can be remembered."""
    calls = []
    run = _trace._trace
    monkeypatch.setattr(_trace, "_trace", lambda *given: calls.append(1) or run(*given))
    _remembered.traced.clear()
    return calls


def traced(score_mod=None, mask_mod=None, scores=SCORES):
    """Its regions and arrays, which are those of a trace of its own."""
    found = _trace.trace(score_mod, mask_mod, scores)
    anew = _trace._trace(score_mod, mask_mod, scores, "f32", None, False, (0, 0, 0, 0), False)
    assert found.regions == anew.regions
    for x, y in zip(found.arrays, anew.arrays, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    return found.regions.text


def bias_of(table):
    return lambda s, b, h, i, j: s + table[h, j]


def by_table(ids, table):
    return lambda s, b, h, i, j: s + table[ids[j]]


def of_values(table):
    return lambda s, b, h, i, j: s * (2.0 if float(np.asarray(table)[0, 0]) > 0 else 3.0) + table[h, j]


def test_arrays_of_one_form_share_a_trace(counted):
    for _ in range(4):
        traced(bias_of(RNG.standard_normal((2, 5))))
    count = len(counted) - 4  # one each by `traced`
    traced(bias_of(RNG.standard_normal((2, 5)).astype("f4")))
    assert len(counted) - 5 == 2 * count == 6  # once, and twice without the values of arrays


def test_constants_are_what_functions_are_made_of(counted):
    texts = {traced(functools.partial(lambda s, b, h, i, j, c: s * c, c=c)) for c in (2.0, 0.0, -0.0, 3.0, 2, True)}
    texts |= {traced(lambda s, b, h, i, j, c=c: s * c) for c in (4.0, np.float32(5.0))}
    assert len(texts) == 7  # 2 is 2.0


def test_globals_and_helpers_count(counted, monkeypatch):
    def helper(s):
        return s * CAP

    def score(s, b, h, i, j):
        return helper(s) + 1

    first = traced(score)
    monkeypatch.setitem(globals(), "CAP", 7.0)
    assert traced(score) != first


def test_integers_count_by_their_range_where_positions_need_it(counted):
    table = RNG.standard_normal(8)
    for high in (8, 8, 6):
        traced(by_table(np.concatenate([RNG.integers(0, high, 3), [0, high - 1]]), table))
    with pytest.raises(ValueError, match="expected positions from 0 to 7"):
        traced(by_table(np.array([0, 1, 2, 3, 8]), table))


def test_values_that_are_looked_at_are_looked_at_each_time(counted):
    positive, negative = np.ones((2, 5)), -np.ones((2, 5))
    assert traced(of_values(positive)) != traced(of_values(negative))
    assert traced(of_values(positive)) != traced(of_values(negative))
    assert _trace.EACH_TIME in _remembered.traced.values()


def test_arrays_that_are_one_are_told_from_two(counted):
    table = RNG.standard_normal((2, 5))

    def both(x, y):
        return lambda s, b, h, i, j: s + x[h, j] * y[h, j]

    assert traced(both(table, table)).count("captures(%x : tensor<2x5xf32>)") == 1
    assert "%y" in traced(both(table, table.copy()))


def test_objects_are_traced_each_time(counted):
    class Table:
        scale = 2.0

        def __call__(self, s, b, h, i, j):
            return s * self.scale

    score = Table()
    first = traced(score)
    score.scale = 3.0
    assert traced(score) != first


def test_calls_have_the_values_of_their_own_arrays(counted):
    q, k, v = (RNG.standard_normal((2, 2, n, 16), dtype="f4") for n in (3, 5, 5))
    for _ in range(3):
        table, keep = RNG.standard_normal((2, 5)), RNG.random((2, 5)) < 0.5
        options = dict(score_mod=bias_of(table), mask_mod=lambda b, h, i, j, keep=keep: keep[b, j])
        np.testing.assert_allclose(
            attn.sdpa(q, k, v, **options), attn.reference.sdpa(q, k, v, **options), rtol=1e-5, atol=1e-5
        )
