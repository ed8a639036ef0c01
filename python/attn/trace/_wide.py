"""Arithmetic of `score_mod` and `mask_mod` on arrays: one rule for the kernel and for `attn.reference`.

docs/Semantics.md, "Functions of Python": integers of every width are int64 and wrap, floats are of the reference's
type, predicates in arithmetic are 0 and 1. NumPy would let int8 wrap at 2^7, round in float16, and add predicates to
one predicate.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.trace._range import LARGEST, LOWEST, wrapped

Array = npt.NDArray[Any]

# What predicates stay predicates in; in others they are numbers.
LOGIC = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
LOGIC += (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)


def integer(value: Any) -> int:
    """An integer that a function writes.

    Raises:
      ValueError: it is none of int64.
    """
    number = int(value)
    if not LOWEST <= number <= LARGEST:
        raise ValueError(
            f"expected integers of 64 bits in score_mod and mask_mod, found {number}; "
            f"write {wrapped(number)}, which is the same modulo 2^64"
        )
    return number


def widened(array: Array, what: str = "an array") -> Array:
    """The array in int64, float64 or bool; as it is where its elements are no real numbers.

    Raises:
      ValueError: an integer is none of int64.
    """
    kind = array.dtype.kind
    if kind == "u" and array.dtype.itemsize == 8 and array.size and int(array.max()) > LARGEST:
        raise ValueError(f"expected integers below 2^63 in {what}, found {int(array.max())}")
    if kind in "iu":
        return array.astype(np.int64, copy=False)
    if kind == "f" or (kind == "V" and np.can_cast(array.dtype, np.float64)):  # "V": ml_dtypes
        return array.astype(np.float64, copy=False)
    return array


class Wide(np.ndarray[Any, np.dtype[Any]]):  # from NumPy 2.5 on, NDArray is an alias that has no subclasses
    """An array whose arithmetic is that of traced functions."""

    def __getitem__(self, key: Any) -> Any:
        """Elements; one alone is a number of Python."""
        found = super().__getitem__(key)
        return found if isinstance(found, np.ndarray) else widened(np.asarray(found)).item()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's function of the widened inputs; `x += y` makes a new x, as it does where it is traced."""
        if any(_has_own_rule(x) for x in inputs):
            return NotImplemented
        out = options.pop("out", (None,))
        if any(x is not None and x is not inputs[0] for x in out):
            raise TypeError(
                f"expected numpy.{ufunc.__name__} without out=, found one; write x = numpy.{ufunc.__name__}(…)"
            )
        with np.errstate(all="ignore"):
            result = getattr(ufunc, method)(*(_operand(x, is_number=ufunc not in LOGIC) for x in inputs), **options)
        return tuple(map(self._alike, result)) if isinstance(result, tuple) else self._alike(result)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        """The same for those that are not ufuncs: np.where."""
        if any(_has_own_rule(x) for x in inputs):
            return NotImplemented
        return super().__array_function__(function, types, tuple(_operand(x) for x in inputs), options)

    def _alike(self, result: Any) -> Any:
        view = np.asarray(result).view(type(self))
        view.__array_finalize__(self)
        return view


def _has_own_rule(value: Any) -> bool:
    """What computes NumPy's functions by itself: symbols, dual numbers."""
    return not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__array_ufunc__")


def _operand(value: Any, *, is_number: bool = False) -> Any:
    """An operand as the rule has it; numbers of Python take the type of the others."""
    if isinstance(value, np.ndarray | np.generic):
        array = widened(np.asarray(value))
        return array.astype(np.int64) if is_number and array.dtype.kind == "b" else array
    if isinstance(value, bool):
        return int(value) if is_number else value
    return integer(value) if isinstance(value, numbers.Integral) else value
