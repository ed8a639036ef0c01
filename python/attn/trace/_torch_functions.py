"""PyTorch's functions of traced values, by name: torch.tanh(score), torch.where(i >= j, score, -inf), score.tanh().

The one table of them: `Symbol` looks here for functions of torch, its operators, and methods of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attn import functions
from attn.trace import _symbols
from attn.trace._symbols import BOOL, FLOAT, INDEX, NUMPY, TORCH, Symbol

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - PyTorch's names
    x = x if min is None else functions.maximum(x, min)
    return x if max is None else functions.minimum(x, max)


def _scaled(function: Callable[..., Symbol]) -> Callable[..., Symbol]:
    """torch.add and torch.sub, whose second operand has a factor."""
    return lambda x, y, *, alpha=1: function(x, y if alpha == 1 else _symbols.multiply(y, alpha))


def _divide(x: Any, y: Any, *, rounding_mode: str | None = None) -> Symbol:
    if rounding_mode is None:
        return _symbols.divide(x, y)
    if rounding_mode == "floor":
        return _symbols.floor_divide(x, y)
    raise TypeError(f'expected rounding_mode None or "floor" of a traced value, found {rounding_mode!r}')


def _expm1(x: Any) -> Symbol:
    """e^x − 1 = tanh(x / 2) · (e^x + 1), without the difference, which ends at 0."""
    return functions.tanh(0.5 * x) * (functions.exp(x) + 1.0)


def _softplus(x: Any) -> Any:
    return functions.maximum(x, 0.0) + functions.log1p(functions.exp(-abs(x)))


def _sign(x: Any) -> Symbol:
    one = 1 if _symbols.lift(x).kind == INDEX else 1.0
    return _symbols.where(x > 0, one, _symbols.where(x < 0, -one, 0 * x))  # NaN of NaN


def _to(x: Any, dtype: Any) -> Symbol:
    """The value as a float, an integer or a predicate: what its type is among, a kernel chooses."""
    symbol, name = _symbols.lift(x), str(dtype).removeprefix("torch.")
    if name in FLOATS:
        return _symbols.as_float(symbol)
    if name == "bool":
        return symbol if symbol.kind == BOOL else _symbols.compare("!=", symbol, 0)
    if name in INTEGERS and symbol.kind != FLOAT:
        return _symbols.alike(symbol)[0]
    raise TypeError(f"expected {symbol!r} to become a float or bool, found {dtype}; write floor(), which stays a float")


def _filled(x: Any, value: Any, dtype: Any = None) -> Symbol:
    kind = _symbols.lift(x).kind
    is_float = kind == FLOAT and dtype is None
    return _symbols.lift(float(value)) if is_float else _to(value, dtype or ("bool" if kind == BOOL else "int64"))


def _new(value: Any) -> Callable[..., Symbol]:
    """Tensor.new_ones and its kin: of no dimensions, as FlexAttention's and_masks has them."""

    def new(x: Any, size: Any = (), *, dtype: Any = None, **_: Any) -> Symbol:
        if tuple(size):
            raise TypeError(f"expected size () of a traced value, found {tuple(size)}")
        return _filled(x, value, dtype)

    return new


def _fill_like(value: Any) -> Callable[..., Symbol]:
    return lambda x, *, dtype=None, **_: _filled(x, value, dtype)


TORCH |= {x.__name__: function for x, function in NUMPY.items()}
TORCH |= {
    "abs": _symbols.absolute,
    "add": _scaled(_symbols.add),
    "and": NUMPY[np.bitwise_and],
    "bitwise_not": NUMPY[np.invert],
    "bool": lambda x: _to(x, "bool"),
    "clamp": _clamp,
    "clamp_max": lambda x, max: _clamp(x, max=max),  # noqa: A006
    "clamp_min": lambda x, min: _clamp(x, min=min),  # noqa: A006
    "clip": _clamp,
    "div": _divide,
    "divide": _divide,
    "double": _symbols.as_float,
    "eq": NUMPY[np.equal],
    "expm1": _expm1,
    "float": _symbols.as_float,
    "floordiv": _symbols.floor_divide,
    "full_like": lambda x, fill_value, *, dtype=None, **_: _filled(x, fill_value, dtype),
    "ge": NUMPY[np.greater_equal],
    "gt": NUMPY[np.greater],
    "int": lambda x: _to(x, "int64"),
    "isfinite": lambda x: abs(x) < math.inf,
    "isinf": lambda x: abs(x) == math.inf,
    "isnan": lambda x: x != x,
    "le": NUMPY[np.less_equal],
    "log_sigmoid": lambda x: -_softplus(-x),
    "long": lambda x: _to(x, "int64"),
    "lt": NUMPY[np.less],
    "masked_fill": lambda x, mask, value: _symbols.where(mask, value, x),
    "max": _symbols.maximum,
    "min": _symbols.minimum,
    "mod": _symbols.remainder,
    "mul": _symbols.multiply,
    "ne": NUMPY[np.not_equal],
    "neg": _symbols.negative,
    "new_full": lambda x, size, fill_value, **options: _new(fill_value)(x, size, **options),
    "new_ones": _new(1),
    "new_zeros": _new(0),
    "ones_like": _fill_like(1),
    "or": NUMPY[np.bitwise_or],
    "pow": _symbols.power,
    "reciprocal": lambda x: _symbols.divide(1.0, x),
    "relu": lambda x, inplace=False: _symbols.maximum(x, 0),
    "rsqrt": lambda x: _symbols.divide(1.0, functions.sqrt(x)),
    "rsub": lambda x, y, *, alpha=1: _scaled(_symbols.subtract)(y, x, alpha=alpha),
    "sigmoid": functions.sigmoid,
    "sign": _sign,
    "silu": lambda x, inplace=False: x * functions.sigmoid(x),
    "softplus": _softplus,
    "sub": _scaled(_symbols.subtract),
    "subtract": _scaled(_symbols.subtract),
    "to": _to,
    "true_divide": _symbols.divide,
    "truediv": _symbols.divide,
    "trunc": lambda x: _symbols.where(x < 0, functions.ceil(x), functions.floor(x)),
    "type_as": lambda x, other: _symbols.as_float(x) if _symbols.lift(other).kind == FLOAT else _to(x, "int64"),
    "where": lambda condition, input, other: _symbols.where(condition, input, other),  # noqa: A006
    "xor": NUMPY[np.bitwise_xor],
    "zeros_like": _fill_like(0),
}
# Of a tensor it is x where the condition holds.
METHODS = {**TORCH, "where": lambda x, condition, other: _symbols.where(condition, x, other)}
_symbols.METHODS.update(METHODS)
