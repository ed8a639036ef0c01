"""Functions for `score_mod` and `mask_mod`: they take traced values, numbers and NumPy arrays alike.

So the same Python function is traced into a kernel by `attn.sdpa`, and called on arrays by `attn.reference`. NumPy's
own functions of these names (np.tanh, np.where …) do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attn.trace import _symbols
from attn.trace._symbols import Symbol, unary
from attn.words._types import Value

__all__ = [
    "abs",
    "ceil",
    "clip",
    "cos",
    "exp",
    "exp2",
    "floor",
    "log",
    "log1p",
    "log2",
    "maximum",
    "minimum",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
    "where",
]


def where(condition: Value, a: Value, b: Value) -> Value:
    """The value a where the condition holds, otherwise b; both are computed."""
    return _call(np.where, condition, a, b)


def minimum(a: Value, b: Value) -> Value:
    """The smaller one; NaN if one is NaN."""
    return _call(np.minimum, a, b)


def maximum(a: Value, b: Value) -> Value:
    """The larger one; NaN if one is NaN."""
    return _call(np.maximum, a, b)


def clip(x: Value, low: Value, high: Value) -> Value:
    """The value x, at least low and at most high."""
    return _call(np.minimum, _call(np.maximum, x, low), high)


def abs(x: Value) -> Value:  # noqa: A001 - shadows a builtin on purpose
    """The absolute value |x|."""
    return _call(np.absolute, x)


def tanh(x: Value) -> Value:
    """The hyperbolic tangent."""
    return _call(np.tanh, x)


def exp(x: Value) -> Value:
    """The exponential function e^x."""
    return _call(np.exp, x)


def exp2(x: Value) -> Value:
    """The power 2^x."""
    return _call(np.exp2, x)


def log(x: Value) -> Value:
    """The natural logarithm."""
    return _call(np.log, x)


def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    return _call(np.log2, x)


def log1p(x: Value) -> Value:
    """The natural logarithm of 1 + x."""
    return _call(np.log1p, x)


def sqrt(x: Value) -> Value:
    """The square root."""
    return _call(np.sqrt, x)


def sin(x: Value) -> Value:
    """The sine."""
    return _call(np.sin, x)


def cos(x: Value) -> Value:
    """The cosine."""
    return _call(np.cos, x)


def floor(x: Value) -> Value:
    """The largest whole number ≤ x, as a float."""
    return _call(np.floor, x)


def ceil(x: Value) -> Value:
    """The smallest whole number ≥ x, as a float."""
    return _call(np.ceil, x)


def sigmoid(x: Value) -> Value:
    """The logistic function 1 / (1 + e^−x)."""
    return 1.0 / (1.0 + exp(-x))


def _call(function: Any, *inputs: Any) -> Any:
    """NumPy's function, or where an input is traced the one on symbols."""
    is_traced = any(isinstance(x, Symbol) for x in inputs)
    return _symbols.NUMPY[function](*inputs) if is_traced else function(*inputs)


def _unary(name: str) -> Callable[[Any], Symbol]:
    return lambda x: unary(f"math.{name}", x)


def _logical(op: str) -> Callable[[Any, Any], Symbol]:
    return lambda a, b: _symbols.logical(op, a, b)


_symbols.NUMPY |= {
    getattr(np, name): _unary(name)
    for name in ("tanh", "exp", "exp2", "log", "log2", "log1p", "sqrt", "sin", "cos", "floor", "ceil")
}
_symbols.NUMPY |= {
    np.add: _symbols.add,
    np.subtract: _symbols.subtract,
    np.multiply: _symbols.multiply,
    np.true_divide: _symbols.divide,
    np.floor_divide: _symbols.floor_divide,
    np.remainder: _symbols.remainder,
    np.power: _symbols.power,
    np.negative: _symbols.negative,
    np.positive: _symbols.lift,
    np.absolute: _symbols.absolute,
    np.square: lambda x: _symbols.multiply(x, x),
    np.minimum: _symbols.minimum,
    np.maximum: _symbols.maximum,
    np.where: _symbols.where,
    np.clip: clip,
    np.logical_not: lambda x: _symbols.logical("arith.xori", x, True),
    np.invert: lambda x: _symbols.logical("arith.xori", x, True),
}
for _kind in ("logical", "bitwise"):
    for _name in ("and", "or", "xor"):
        _symbols.NUMPY[getattr(np, f"{_kind}_{_name}")] = _logical(f"arith.{_name}i")
_comparisons = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
for _name, _op in zip(_comparisons, _symbols.COMPARISONS, strict=True):
    _symbols.NUMPY[getattr(np, _name)] = _symbols.comparison(_op)
