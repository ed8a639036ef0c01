"""The derivative of a `score_mod` by dual numbers: forward mode, on arrays.

A dual number is a value with its tangents: one along the score, and one along each read of a captured array. The rules
are those of functions that can be traced (attn.functions); docs/Semantics.md, "Gradients", has the conventions at kinks
and poles. It shares nothing with the compiler, which differentiates regions in reverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.trace import _capture, _wide

Array = npt.NDArray[Any]

# NumPy's function → its partial derivatives, one an operand, of the operands and the result y.
PARTIALS: dict[Any, tuple[Callable[..., Any], ...]] = {
    np.add: (lambda a, b, y: 1.0, lambda a, b, y: 1.0),
    np.subtract: (lambda a, b, y: 1.0, lambda a, b, y: -1.0),
    np.multiply: (lambda a, b, y: b, lambda a, b, y: a),
    np.true_divide: (lambda a, b, y: 1.0 / b, lambda a, b, y: -y / b),
    np.remainder: (lambda a, b, y: 1.0, lambda a, b, y: -np.floor(a / b)),
    # 0 at x⁰ and at 0^y, where the formulas are 0 · inf.
    np.power: (
        lambda a, b, y: np.where(b == 0, 0.0, b * np.power(a, b - 1)),
        lambda a, b, y: np.where((a == 0) & (b >= 0), 0.0, y * np.log(a)),
    ),
    # To the operand that is selected, the first on a tie.
    np.minimum: (lambda a, b, y: 1.0 * (a <= b), lambda a, b, y: 1.0 - (a <= b)),
    np.maximum: (lambda a, b, y: 1.0 * (a >= b), lambda a, b, y: 1.0 - (a >= b)),
    np.negative: (lambda x, y: -1.0,),
    np.positive: (lambda x, y: 1.0,),
    np.absolute: (lambda x, y: np.sign(x),),
    np.square: (lambda x, y: 2.0 * x,),
    np.sqrt: (lambda x, y: 0.5 / y,),
    np.exp: (lambda x, y: y,),
    np.exp2: (lambda x, y: y * math.log(2.0),),
    np.log: (lambda x, y: 1.0 / x,),
    np.log2: (lambda x, y: 1.0 / (x * math.log(2.0)),),
    np.log1p: (lambda x, y: 1.0 / (1.0 + x),),
    np.tanh: (lambda x, y: tanh_slope(x),),
    np.sin: (lambda x, y: np.cos(x),),
    np.cos: (lambda x, y: -np.sin(x),),
}
# Those whose derivative is 0 wherever there is one.
CONSTANT = (np.floor, np.ceil, np.rint, np.floor_divide)
CONSTANT += (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


class Read:
    """One read of a captured array, or of none: the score.

    Attributes:
      array: what is read.
      places: where, positions in the flat array; they broadcast to the scores.
    """

    def __init__(self, array: _capture.Captured | None, places: Array | None) -> None:
        """Each read is one of its own."""
        self.array, self.places = array, places


class Derivative(NamedTuple):
    """∂score_mod/∂score, and each read of a captured array of floats with ∂score_mod/∂(what it reads)."""

    score: Array
    reads: list[tuple[Read, Array]]


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers of float64 and, along each read, their tangents; a tangent that is not there is 0."""

    def __init__(self, value: Array, tangents: dict[Read, Array]) -> None:
        """The value computes as attn.trace._wide has it."""
        self.value, self.tangents = value.view(_wide.Wide), tangents

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Σ of the operands' tangents times the partial derivatives."""
        out = options.pop("out", (None,))
        if method != "__call__" or options or any(x is not None and x is not inputs[0] for x in out):
            raise TypeError(f"expected numpy.{ufunc.__name__} without options in score_mod, found {method} {options}")
        inputs = _capture.read_whole(inputs)
        values = [_value(x) for x in inputs]
        result = ufunc(*values)
        if ufunc in CONSTANT:
            return result
        if ufunc not in PARTIALS:
            raise TypeError(f"expected a function with a derivative in score_mod, found numpy.{ufunc.__name__}")
        numbers = [np.asarray(x, np.float64) for x in [*values, result]]
        tangents: dict[Read, Array] = {}
        with np.errstate(all="ignore"):
            for x, partial in zip(inputs, PARTIALS[ufunc], strict=True):
                if isinstance(x, Dual):
                    factor = partial(*numbers)
                    for read, tangent in x.tangents.items():
                        tangents[read] = tangents.get(read, 0.0) + times(tangent, factor)
        return Dual(result, tangents)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        """np.where, whose tangents are selected too, and np.clip."""
        if function is np.clip and len(inputs) == 3 and not options:
            return np.minimum(np.maximum(inputs[0], inputs[1]), inputs[2])
        if function is not np.where or len(inputs) != 3 or options:
            raise TypeError(f"expected a function with a derivative in score_mod, found numpy.{function.__name__}")
        condition, *choices = _capture.read_whole(inputs)
        a, b = (x.tangents if isinstance(x, Dual) else {} for x in choices)
        tangents = {read: np.where(condition, a.get(read, 0.0), b.get(read, 0.0)) for read in a | b}
        return Dual(np.where(condition, *map(_value, choices)), tangents)

    def __getitem__(self, key: Any) -> Dual:
        """Elements of what has been computed of whole captured arrays: reads of their own."""
        tangents = {}
        for read, tangent in self.tangents.items():
            if read.places is None:
                raise TypeError("expected the score as an operand in score_mod, found a use as an array")
            places, tangent = (np.broadcast_to(x, self.value.shape)[key] for x in (read.places, tangent))
            tangents[Read(read.array, places)] = np.asarray(tangent)
        return Dual(np.asarray(self.value)[key], tangents)


def differentiate(function: Any, score: Array, *indices: Array) -> Derivative:
    """The derivative of score_mod(score, b, h, i, j) at these scores; the arrays broadcast to them."""
    of_score, reads = Read(None, None), []

    def read(array: _capture.Captured, key: Any) -> Any:
        found = _read(array, key)
        reads.extend(found.tangents if isinstance(found, Dual) else ())
        return found

    token = _capture.READER.set(read)
    try:
        result = _capture.rebind(function)(
            Dual(score, {of_score: np.ones_like(score)}), *(x.view(_wide.Wide) for x in indices)
        )
    finally:
        _capture.READER.reset(token)
    found = dict.fromkeys(reads, np.zeros(1)) | (result.tangents if isinstance(result, Dual) else {})
    return Derivative(np.broadcast_to(found.pop(of_score, 0.0), score.shape), list(found.items()))


def tanh_slope(x: Array) -> Array:
    """The derivative of tanh, 4e / (1 + e)² with e = exp(−2|x|): 1 − tanh² without the difference, which ends at 0."""
    with np.errstate(all="ignore"):
        e = np.exp(-2.0 * np.abs(x))
        slope: Array = 4.0 * e / ((1.0 + e) * (1.0 + e))
    return slope


def times(tangent: Array, partial: Array) -> Array:
    """The product, where 0 times anything is 0: of sqrt at 0 in a branch that is not selected, nothing comes."""
    with np.errstate(all="ignore"):
        return np.where((tangent == 0) | (partial == 0), 0.0, tangent * partial)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _read(array: _capture.Captured, key: Any) -> Any:
    """What a captured array has at a key: of floats, dual numbers."""
    plain = array.view(np.ndarray)
    if array.dtype.kind in "biu":
        return _wide.Wide.__getitem__(array, key)
    places = np.asarray(np.arange(plain.size).reshape(plain.shape)[key])
    value = _wide.widened(np.asarray(plain[key]))
    return Dual(value, {Read(array, places): np.ones(value.shape)})
