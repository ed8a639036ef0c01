"""The reference's derivative of score_mod, by dual numbers: each rule, kinks and poles, captured arrays."""

import contextlib
import functools
import itertools

import numpy as np
import pytest

import attn
from attn import reference
from differences import gradients_agree
from helpers import Shape, draw

SHAPE = Shape(5, 7, 3, 2, b=2, hq=4, hkv=2)

# Functions of the score s, and of an element x of an array, one for each rule.
RULES = {
    "add": lambda s, x: s + x,
    "subtract": lambda s, x: 1.0 - s - x,
    "multiply": lambda s, x: s * x * s,
    "divide": lambda s, x: s / (3.0 + x) + x / (9.0 + s),
    "remainder": lambda s, x: (s + x) % 50.0 + 50.0 % (9.0 + s),
    "integer powers": lambda s, x: s**3 + x**2 + s**0 + (3.0 + x) ** -1,
    "powers": lambda s, x: abs(s + 9.0) ** x + 2**s,
    "square": lambda s, x: np.square(s) - np.positive(x),
    "exp": lambda s, x: attn.exp(s / 4) + attn.exp2(x),
    "log": lambda s, x: attn.log(9.0 + s) + attn.log2(9.0 + x) + attn.log1p(9.0 + s * x / 9),
    "sqrt": lambda s, x: attn.sqrt(9.0 + s) + (9.0 + x) ** 0.5,
    "tanh": lambda s, x: attn.tanh(s * x),
    "sigmoid": lambda s, x: s * attn.sigmoid(x * s),
    "sin": lambda s, x: attn.sin(s) * attn.cos(x) + attn.cos(s),
    "abs": lambda s, x: abs(s) + attn.abs(x),
    "least and most": lambda s, x: attn.minimum(s, x) - attn.maximum(x, s * s) + attn.clip(s, -0.5, x + 9),
    "clip of numpy": lambda s, x: np.clip(s, -0.5, 0.5) * x,
    "where": lambda s, x: attn.where(s > x, s * x, 2.0) + attn.where((s < 0) | (x > 0), x, s),
    "constant": lambda s, x: attn.floor(s) * x + attn.ceil(x) * s + s // 1 + (s > 0) * x,
    "nested": lambda s, x: attn.tanh(attn.exp(-s * s) * attn.where(x > 0, attn.sin(x * s), x)) - s / (1 + x * x),
    "x alone": lambda s, x: x,
    "neither": lambda s, x: 0.25,
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_the_derivative(rng, name):
    table = rng.uniform(-1, 1, (4, 7))

    def score_mod(s, b, h, i, j):
        return RULES[name](s, table[h, j])

    gradients_agree(*draw(SHAPE, np.float64), score_mod=score_mod, captured={"table": table})


# Functions that are smooth, or whose kinks a random value does not meet, wherever they are composed.
INNER = [
    attn.tanh, attn.sin, attn.cos, abs, attn.sigmoid,
    lambda x: attn.exp(attn.minimum(x, 1.0)), lambda x: attn.exp2(attn.tanh(x)), lambda x: attn.sqrt(1.0 + x * x),
    lambda x: attn.log1p(abs(x)), lambda x: attn.log(2.0 + attn.sin(x)), lambda x: -x / (1.0 + x * x),
]  # fmt: skip
PAIRS = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: attn.tanh(x) * y, attn.maximum, attn.minimum,
    lambda x, y: x / (1.5 + attn.cos(y)), lambda x, y: attn.where(x > y, x * 0.5, attn.sin(y)),
    lambda x, y: (1.0 + x * x) ** attn.tanh(y), lambda x, y: attn.clip(x, -0.7, attn.exp(attn.sin(y))),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_random_compositions(seed):
    table = np.random.default_rng(seed).uniform(-1, 1, (4, 7))

    def score_mod(s, b, h, i, j):
        rng = np.random.default_rng(seed)

        def tree(depth):
            if depth == 0:
                return [s, table[h, j], s * table[h, i], 0.1 * (i - j)][rng.integers(4)]
            if rng.random() < 0.4:
                return INNER[rng.integers(len(INNER))](tree(depth - 1))
            return PAIRS[rng.integers(len(PAIRS))](tree(depth - 1), tree(depth - 1))

        return tree(4) + 0.3 * s + table[h, 0]

    gradients_agree(*draw(SHAPE, np.float64, seed), score_mod=score_mod, captured={"table": table}, seed=seed)


def of_score(function, score):
    """The derivative by the score at given scores, through the whole: one key each, and dlse of 1."""
    score = np.asarray(score, np.float64).reshape(1, 1, -1, 1)
    d = reference.sdpa_backward(
        score, np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1)), None, None, np.zeros(score.shape),
        dlse=np.ones(score.shape[:3]), grad=("q",), score_mod=lambda s, b, h, i, j: function(s),
    )  # fmt: skip
    return d["q"].ravel().tolist()


def test_conventions_at_kinks_and_poles():
    assert of_score(abs, [-2, 0, 3]) == [-1, 0, 1]
    assert of_score(lambda s: attn.maximum(s, 0.0), [-1, 0, 1]) == [0, 1, 1]
    assert of_score(lambda s: attn.maximum(0.0, s), [-1, 0, 1]) == [0, 0, 1]
    assert of_score(lambda s: attn.minimum(s, 0.0), [-1, 0, 1]) == [1, 1, 0]
    assert of_score(lambda s: attn.minimum(0.0, s), [-1, 0, 1]) == [1, 0, 0]
    assert of_score(lambda s: attn.floor(s) + attn.ceil(s) + (s < 1), [0.0, 1, 1.5]) == [0, 0, 0]
    # 0 times a derivative that is infinite, or NaN.
    assert of_score(lambda s: attn.where(s > 0, attn.sqrt(s), 0.0), [0.0, 4]) == [0, 0.25]
    assert of_score(lambda s: attn.sqrt(s * 0.0), [1.0]) == [0]
    assert of_score(lambda s: attn.sqrt(s) * 0.0, [0.0]) == [0]
    assert of_score(lambda s: attn.where(s > 0, attn.log(s), 0.0), [0.0, -1, 4]) == [0, 0, 0.25]
    assert of_score(lambda s: s**0 + s**2, [0.0]) == [0]


def test_arrays_that_are_read_in_many_ways(rng):
    slopes, temperature, offsets = rng.standard_normal(4), np.array(0.7), rng.integers(0, 4, 7)
    narrow = rng.standard_normal((2, 7)).astype(np.float32)
    holder = {"x": attn.capture(rng.standard_normal(5), "inside")}

    def helper(h, j):
        return slopes[offsets[j]] * temperature + (2 * slopes)[h] + slopes[-1]

    def score_mod(s, b, h, i, j):
        s += helper(h, j) * s + holder["x"][i]
        return s - narrow[b, j] + np.tanh(slopes)[h] + slopes[3]

    arrays = {"slopes": slopes, "temperature": temperature, "inside": np.asarray(holder["x"])}
    q, k, v = draw(SHAPE, np.float64)
    gradients_agree(q, k, v, score_mod=score_mod, captured=arrays)
    found = reference.sdpa_backward(q, k, v, None, None, np.ones((2, 4, 5, 2)), grad=("narrow",), score_mod=score_mod)
    assert found["narrow"].shape == (2, 7)


def test_functions_with_defaults_and_partial(rng):
    slopes = rng.standard_normal(4)

    def score_mod(factors, s, b, h, i, j, *, more=slopes):
        return s * factors[h] + more[h]

    mod = functools.partial(score_mod, attn.capture(slopes, "slopes"))
    q, k, v = draw(SHAPE, np.float64)
    with pytest.raises(ValueError, match="no gradient"):
        reference.sdpa_backward(q, k, v, None, None, np.ones((2, 4, 5, 2)), grad=("factors",), score_mod=mod)
    found = reference.sdpa_backward(q, k, v, None, None, np.ones((2, 4, 5, 2)), grad=("slopes", "more"), score_mod=mod)
    assert found["slopes"].shape == found["more"].shape == (4,)


def test_arrays_without_gradients(rng):
    q, k, v = draw(SHAPE)
    numbers, table, other = np.arange(4), rng.standard_normal((7, 4)), attn.capture(rng.standard_normal(4), "table")

    def backward(score_mod, *grad):
        return reference.sdpa_backward(q, k, v, None, None, np.ones((2, 4, 5, 2)), grad=grad, score_mod=score_mod)

    with pytest.raises(ValueError, match="'numbers', which has no gradient"):
        backward(lambda s, b, h, i, j: s * numbers[h], "numbers")
    with pytest.raises(TypeError, match="found a view or copy"):
        backward(lambda s, b, h, i, j: s + table.T[h, j], "table")
    # What is not asked for may be read in any way.
    assert list(backward(lambda s, b, h, i, j: s + table.T[h, j] + other[h], "q")) == ["q"]
    with pytest.raises(ValueError, match="found several"):
        backward(lambda s, b, h, i, j: s + table[j, h] + other[h], "table")


def test_reading_leaves_no_trace(rng):
    slopes = attn.capture(rng.standard_normal(4), "slopes")
    q, k, v = draw(SHAPE)
    for mod in (lambda s, b, h, i, j: s + slopes[h], lambda s, b, h, i, j: 1 / 0):
        with contextlib.suppress(ZeroDivisionError):
            reference.sdpa_backward(q, k, v, None, None, np.ones((2, 4, 5, 2)), score_mod=mod)
        assert isinstance(slopes[1], float)
    assert list(itertools.islice(slopes, 1)) == [slopes[0]]
