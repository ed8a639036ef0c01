"""Functions of other libraries in score_mod and mask_mod: the error has the expression and what to write."""

import types

import numpy as np
import pytest

import attn
from attn.trace import _trace

SCORES = (2, 4, 9, 13)

# Stands in for torch and JAX, whose functions refuse values that they do not know, in Python or in C.
SOURCE = """
def refuse(*arguments):
    raise ERROR("no array: %s" % type(arguments[0]).__name__)

where = tanh = clamp = logical_and = softplus = refuse

def deep(x):
    return [tanh(y) for y in (x,)]

def quiet(x):
    raise ValueError("bad operand")  # says nothing of what it is

def own(x):
    return int(x)
"""


def library(name, error=TypeError):
    module = types.ModuleType(name)
    module.ERROR = error
    exec(SOURCE, vars(module))
    return module


torch, jnp, tf = library("torch"), library("jax.numpy"), library("tensorflow", ValueError)
unknown = library("somebodys.library")
in_c = types.SimpleNamespace(where=len, exotic=sorted)


def helper(score):
    return torch.tanh(score)


WHERE = r"attn\.where$"
OTHERS = r"write operators, and the functions attn\.abs, .*attn\.where$"
FOREIGN = {
    "torch.where": (lambda s, b, h, i, j: torch.where(i >= j, s, -1.0), r"torch\.where\(i >= j, s, -1\.0\)", WHERE),
    "jnp.where": (lambda s, b, h, i, j: s + jnp.where(i >= j, s, 0.0), r"jnp\.where\(i >= j, s, 0\.0\) ", WHERE),
    "another name": (lambda s, b, h, i, j: torch.clamp(s, 0, 1), r"torch\.clamp\(s, 0, 1\)", r"attn\.clip$"),
    "operator": (lambda s, b, h, i, j: s * torch.logical_and(i >= j, i < 5), "torch.logical_and", "&$"),
    "no name": (lambda s, b, h, i, j: torch.softplus(s), r"torch\.softplus\(s\)", OTHERS),
    "other error": (lambda s, b, h, i, j: tf.tanh(s), r"tf\.tanh\(s\) \(no array: Symbol\)", r"attn\.tanh$"),
    "quiet": (lambda s, b, h, i, j: jnp.quiet(s), r"jnp\.quiet\(s\) \(bad operand\)", OTHERS),
    "inside": (lambda s, b, h, i, j: torch.deep(s), r"torch\.deep\(s\)", OTHERS),
    "helper": (lambda s, b, h, i, j: helper(s), r"torch\.tanh\(score\)", r"attn\.tanh$"),
    "in C": (lambda s, b, h, i, j: in_c.where(s), r"in_c\.where\(s\) \(object of type 'Symbol'", WHERE),
    "several lines": (
        lambda s, b, h, i, j: torch.where(
            i >= j,
            s,
            0.0,
        ),
        r"torch\.where\( \(no array",
        WHERE,
    ),
    "unknown library": (lambda s, b, h, i, j: unknown.tanh(s), "no array: Symbol", "write "),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_a_function_of_a_library_says_what_to_write(name):
    score_mod, found, instead = FOREIGN[name]
    with pytest.raises(TypeError, match=f"expected score_mod to compute with traced values, found .*{found}") as error:
        _trace.trace(score_mod, None, SCORES)
    assert error.match(instead)
    assert error.value.__cause__ is not None


def test_mask_mods_likewise():
    with pytest.raises(TypeError, match=r"expected mask_mod .*found jnp\.logical_and\(i >= j, i < 5\).*; write &$"):
        _trace.trace(None, lambda b, h, i, j: jnp.logical_and(i >= j, i < 5), SCORES)


def test_without_source_the_message_still_says_what_to_write():
    score_mod = eval("lambda s, b, h, i, j: torch.where(i >= j, s, 0.0)", {"torch": torch})
    with pytest.raises(TypeError, match=f"found a function .no array: Symbol.; {OTHERS}"):
        _trace.trace(score_mod, None, SCORES)


def test_errors_of_the_function_itself_stay():
    def fails(s, b, h, i, j):
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match=r"^nothing here$"):
        _trace.trace(fails, None, SCORES)
    with pytest.raises(ZeroDivisionError):
        _trace.trace(lambda s, b, h, i, j: s + 1 // 0, None, SCORES)
    with pytest.raises(TypeError, match="score_mod: expected a traced value or a number, found NoneType"):
        _trace.trace(lambda s, b, h, i, j: s + None, None, SCORES)
    with pytest.raises(TypeError, match=r"write attn\.exp for math\.exp"):
        _trace.trace(lambda s, b, h, i, j: torch.own(s), None, SCORES)


class Scalar:
    """A number of another library, as jnp.float32(2) and torch.tensor(2.0)."""

    shape = ()
    __array_ufunc__ = None

    def __init__(self, value):
        """Of this value."""
        self.value = value

    def item(self):
        """As Python's."""
        return self.value


def test_scalars_of_other_libraries_are_numbers(rng):
    q, k, v = (rng.standard_normal((1, 1, 4, 8)).astype("f4") for _ in range(3))
    two, one = Scalar(2.0), Scalar(1)
    found = attn.sdpa(q, k, v, score_mod=lambda s, b, h, i, j: s * Scalar(2.0) + (i + Scalar(1)))
    expected = attn.reference.sdpa(q, k, v, score_mod=lambda s, b, h, i, j: s * two.item() + (i + one.item()))
    np.testing.assert_allclose(found, expected, atol=1e-5)
