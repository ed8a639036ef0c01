"""Symbolic scalars: what `score_mod` and `mask_mod` are called with when they are traced (attn.trace._trace).

A Symbol is one node of a pure expression over the score, the indices b, h, i, j, and elements of captured arrays; it
knows how MLIR spells its operation. Indices compute in MLIR's `index`, scores in f32 (f64 in f64 problems), predicates
in i1. Operators follow Python and NumPy: `/` and a mix with a float give a float, `//` and `%` floor.
"""

from __future__ import annotations

import functools
import numbers
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from attn.kernel import _subclasses, _tensor
from attn.trace import _wide
from attn.trace._range import Range, wrapped

INDEX, FLOAT, BOOL = "index", "float", "bool"
MAX_POWER = 16  # larger powers are a function call, not a chain of products
# Operator → predicate of arith.cmpi, of arith.cmpf.
COMPARISONS = {"<": ("slt", "olt"), "<=": ("sle", "ole"), ">": ("sgt", "ogt"), ">=": ("sge", "oge")}
COMPARISONS |= {"==": ("eq", "oeq"), "!=": ("ne", "une")}
# NumPy's function → the one on symbols; filled by attn.functions.
NUMPY: dict[Any, Callable[..., Symbol]] = {}
# The same by the names that PyTorch has for its functions, and for methods of tensors; filled by _torch_functions.py.
TORCH: dict[str, Callable[..., Symbol]] = {}
METHODS: dict[str, Callable[..., Symbol]] = {}
# What captures an array; filled by attn.trace._capture.
READ: list[Callable[[Any], Any]] = []


def lift(value: Any) -> Symbol:
    """The symbol of an operand: itself, a constant, or the only element of a captured array without dimensions."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        element = getattr(value, "element", None)
        return lift(value[()]) if element is None else lift(element(()))
    if isinstance(value, bool | np.bool_):
        return Symbol(BOOL, f"arith.constant {str(bool(value)).lower()}", constant=bool(value))
    if isinstance(value, numbers.Integral):
        number = _wide.integer(value)
        return Symbol(INDEX, f"arith.constant {number} : index", (), Range(number, number), constant=number)
    if isinstance(value, numbers.Real | np.floating) or getattr(value, "dtype", None) == "bfloat16":
        return Symbol(FLOAT, "arith.constant {constant} : {float}", constant=float(value))
    shape = getattr(value, "shape", None)
    if shape == () and hasattr(value, "element"):
        return lift(value.element(()))
    if shape == () and hasattr(value, "item"):  # of torch and JAX
        is_read = getattr(value, "requires_grad", False) or _tensor.is_tracer(value)
        is_read = is_read or (_tensor.is_torch(value) and not _subclasses.is_known(value))
        return lift(READ[0](value).element(()) if is_read else value.item())
    found = type(value).__name__ if shape is None else f"an array of shape {tuple(shape)}; index it to one element"
    raise TypeError(f"expected a traced value or a number, found {found}")


def as_float(value: Any) -> Symbol:
    """The value in the type of the score."""
    x = lift(value)
    if x.kind == BOOL:
        return where(x, 1.0, 0.0)
    if x.kind == FLOAT:
        return x
    if x.constant is not None:
        return lift(float(x.constant))
    integer = "i32" if x.range.lo >= -(2**31) and x.range.hi < 2**31 else "i64"
    narrow = Symbol(integer, f"arith.index_cast {{0}} : index to {integer}", (x,))
    return Symbol(FLOAT, f"arith.sitofp {{0}} : {integer} to {{float}}", (narrow,))


def alike(*values: Any) -> list[Symbol]:
    """Operands of arithmetic in one type: all indices, or all floats."""
    lifted = [where(x, 1, 0) if x.kind == BOOL else x for x in map(lift, values)]
    return lifted if all(x.kind == INDEX for x in lifted) else [as_float(x) for x in lifted]


def unary(op: str, value: Any) -> Symbol:
    """A function of one float, as math.tanh."""
    return Symbol(FLOAT, f"{op} {{0}} : {{float}}", (as_float(value),))


def binary(a: Any, b: Any, on_index: str, on_float: str, bounds: Callable[[Range, Range], Range]) -> Symbol:
    """An operation of two indices or two floats, by its names for both."""
    x, y = alike(a, b)
    if x.kind == FLOAT:
        return Symbol(FLOAT, f"{on_float} {{0}}, {{1}} : {{float}}", (x, y))
    return Symbol(INDEX, f"{on_index} {{0}}, {{1}} : index", (x, y), bounds(x.known, y.known), bounds(x.range, y.range))


def add(a: Any, b: Any) -> Symbol:
    """The sum."""
    return binary(a, b, "arith.addi", "arith.addf", Range.plus)


def subtract(a: Any, b: Any) -> Symbol:
    """The difference."""
    return binary(a, b, "arith.subi", "arith.subf", Range.minus)


def multiply(a: Any, b: Any) -> Symbol:
    """The product."""
    return binary(a, b, "arith.muli", "arith.mulf", Range.times)


def divide(a: Any, b: Any) -> Symbol:
    """The quotient, a float."""
    return Symbol(FLOAT, "arith.divf {0}, {1} : {float}", (as_float(a), as_float(b)))


def floor_divide(a: Any, b: Any) -> Symbol:
    """The floor of the quotient; of integers 0 where the divisor is 0, as in NumPy."""
    x, y = alike(a, b)
    if x.kind == FLOAT:
        return unary("math.floor", divide(x, y))
    if y.constant == 0:
        raise ZeroDivisionError("expected a divisor that is not 0 in a traced function, found 0")
    return binary(x, y, "arith.floordivsi", "", Range.floordiv)


def remainder(a: Any, b: Any) -> Symbol:
    """The remainder a − (a // b)·b, which has the sign of b; of integers 0 where b is 0, as in NumPy."""
    x, y = alike(a, b)
    if x.kind == INDEX and x.known.lo >= 0 and y.constant is not None and y.constant > 0:
        return binary(x, y, "arith.remsi", "", Range.modulo)
    if x.kind == FLOAT:
        return subtract(x, multiply(floor_divide(x, y), y))
    if y.constant == 0:
        raise ZeroDivisionError("expected a divisor that is not 0 in a traced function, found 0")
    # The product may wrap; the difference, which is smaller than the divisor, does not.
    result = subtract(x, multiply(floor_divide(x, y), y))
    if y.known.lo <= 0 <= y.known.hi:
        result = where(compare("==", y, 0), 0, result)
    result.known, result.range = x.known.modulo(y.known), x.range.modulo(y.range)
    return result


def power(a: Any, b: Any) -> Symbol:
    """The power a ** b: of integers an integer, otherwise products for small exponents, or a function."""
    x, y = (where(x, 1, 0) if x.kind == BOOL else x for x in map(lift, (a, b)))
    if x.kind == y.kind == INDEX:
        return _integer_power(x, y)
    exponent = y.constant if y.kind == INDEX else None
    if exponent is not None and abs(exponent) <= MAX_POWER:
        if exponent < 0:
            return divide(1.0, power(as_float(x), -exponent))
        return _repeated_product(x, exponent, lift(1.0))
    if y.constant == 0.5:
        return unary("math.sqrt", x)
    if x.constant == 2:
        return unary("math.exp2", y)
    return Symbol(FLOAT, "math.powf {0}, {1} : {float}", (as_float(x), as_float(y)))


def _repeated_product(x: Symbol, exponent: int, one: Symbol) -> Symbol:
    """x ** exponent by Horner's scheme, from the highest bit."""
    result = one
    for bit in bin(exponent)[2:]:
        result = multiply(result, result) if result.constant is None else result
        if bit == "1":
            result = x if result.constant is not None else multiply(result, x)
    return result


def _integer_power(x: Symbol, y: Symbol) -> Symbol:
    """x ** y of indices; as in NumPy no negative y."""
    if y.range.lo < 0:
        raise ValueError(
            f"expected integer powers with exponents from 0 on, found {y.range.lo} to {y.range.hi} possible; "
            "write a float to the power, as 2.0 ** x"
        )
    if y.constant is not None:
        return (
            lift(wrapped(x.constant**y.constant))
            if x.constant is not None
            else _repeated_product(x, y.constant, lift(1))
        )
    result, square = lift(1), x
    for bit in range(y.range.hi.bit_length()):  # Π x^(2^bit) over the bits of y
        is_set = compare("==", remainder(floor_divide(y, 2**bit), 2), 1)
        result = where(is_set, multiply(result, square), result)
        square = multiply(square, square) if square.constant is None else lift(wrapped(square.constant**2))
    return result


def negative(value: Any) -> Symbol:
    """The value with the other sign."""
    x = lift(value)
    return unary("arith.negf", x) if x.kind == FLOAT else subtract(0, x)


def absolute(value: Any) -> Symbol:
    """The absolute value."""
    x = lift(value)
    return unary("math.absf", x) if x.kind == FLOAT else maximum(x, negative(x))


def minimum(a: Any, b: Any) -> Symbol:
    """The smaller one; NaN if one is NaN."""
    return binary(a, b, "arith.minsi", "arith.minimumf", Range.least)


def maximum(a: Any, b: Any) -> Symbol:
    """The larger one; NaN if one is NaN."""
    return binary(a, b, "arith.maxsi", "arith.maximumf", Range.most)


def compare(op: str, a: Any, b: Any) -> Symbol:
    """A comparison: of indices, of floats, or of two predicates for equality."""
    on_integers, on_floats = COMPARISONS[op]
    x, y = lift(a), lift(b)
    if x.kind == y.kind == BOOL and op in ("==", "!="):
        return Symbol(BOOL, f"arith.cmpi {on_integers}, {{0}}, {{1}} : i1", (x, y))
    x, y = alike(x, y)
    if x.kind == INDEX:
        return Symbol(BOOL, f"arith.cmpi {on_integers}, {{0}}, {{1}} : index", (x, y))
    return Symbol(BOOL, f"arith.cmpf {on_floats}, {{0}}, {{1}} : {{float}}", (x, y))


def logical(op: str, a: Any, b: Any) -> Symbol:
    """A connective of two predicates, as arith.andi."""
    x, y = lift(a), lift(b)
    for operand in (x, y):
        if operand.kind != BOOL:
            raise TypeError(f"expected predicates around &, |, ^ and ~, found {operand!r}; write a comparison of it")
    return Symbol(BOOL, f"{op} {{0}}, {{1}} : i1", (x, y))


def where(condition: Any, a: Any, b: Any) -> Symbol:
    """The value a where the condition holds, otherwise b."""
    test, x, y = lift(condition), lift(a), lift(b)
    if test.kind != BOOL:
        raise TypeError(f"expected a predicate as the condition of attn.where, found {test!r}; write a comparison")
    if not x.kind == y.kind == BOOL:
        x, y = alike(x, y)
    spelled = {INDEX: "index", FLOAT: "{float}", BOOL: "i1"}[x.kind]
    template = f"arith.select {{0}}, {{1}}, {{2}} : {spelled}"
    return Symbol(x.kind, template, (test, x, y), x.known.either(y.known), x.range.either(y.range))


def _operator(function: Callable[..., Symbol]) -> tuple[Callable[..., Symbol], Callable[..., Symbol]]:
    """The methods of a binary operator: x op y, and y op x."""
    return (lambda self, other: function(self, other)), (lambda self, other: function(other, self))


def comparison(op: str) -> Callable[[Any, Any], Symbol]:
    """The function of two operands of a comparison, as "<"."""
    return lambda a, b: compare(op, a, b)


class Symbol:
    """One traced scalar. `template` is its MLIR operation with {0}, {1} … for the operands.

    Attributes:
      kind: INDEX, FLOAT, BOOL, or the MLIR type of an intermediate value.
      known: of an index, what the problem says about its values; it decides on the text.
      range: the same, from the values in captured arrays too; it decides on errors only.
      label: the name of an argument or an array that it stands for.
      constant: its value where it is a constant.
    """

    __slots__ = ("constant", "kind", "known", "label", "operands", "range", "template")

    def __init__(
        self,
        kind: str,
        template: str,
        operands: tuple[Symbol, ...] = (),
        known: Range | None = None,
        values: Range | None = None,
        *,
        label: str = "",
        constant: Any = None,
    ) -> None:
        """A node; `values` becomes its range."""
        self.kind, self.template, self.operands, self.label, self.constant = kind, template, operands, label, constant
        self.known = Range() if known is None else known
        self.range = self.known if values is None else values

    def __repr__(self) -> str:
        """What it is, for error messages."""
        return f"<traced {self.kind} {self.label or self.template.partition(' ')[0]}>"

    __add__, __radd__ = _operator(add)
    __sub__, __rsub__ = _operator(subtract)
    __mul__, __rmul__ = _operator(multiply)
    __truediv__, __rtruediv__ = _operator(divide)
    __floordiv__, __rfloordiv__ = _operator(floor_divide)
    __mod__, __rmod__ = _operator(remainder)
    __pow__, __rpow__ = _operator(power)
    __and__, __rand__ = _operator(lambda a, b: logical("arith.andi", a, b))
    __or__, __ror__ = _operator(lambda a, b: logical("arith.ori", a, b))
    __xor__, __rxor__ = _operator(lambda a, b: logical("arith.xori", a, b))
    __lt__, __le__, __gt__, __ge__ = map(comparison, ("<", "<=", ">", ">="))
    __eq__, __ne__ = map(comparison, ("==", "!="))  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __neg__(self) -> Symbol:
        return negative(self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return absolute(self)

    def __invert__(self) -> Symbol:
        return logical("arith.xori", self, True)

    def __bool__(self) -> bool:
        raise TypeError(
            f"expected no truth value of {self!r}, found `and`, `or`, `not`, `if` or a chained comparison; "
            "write &, |, ~ and attn.where"
        )

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"expected {self!r} as an operand, found a use as a plain number or array; write attn.exp for math.exp and "
            "the like, and attn.capture(array)[...] for an array that the tracer does not see"
        )

    __int__ = __float__ = __complex__ = __index__ = __array__ = _refuse
    __round__ = __trunc__ = __floor__ = __ceil__ = _refuse

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Symbol:
        """NumPy's functions on symbols: np.tanh(score) is attn.tanh(score)."""
        return self.__array_function__(ufunc if method == "__call__" else getattr(ufunc, method), (), inputs, options)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Symbol:
        """The same for those that are not ufuncs: np.where, np.clip."""
        if function not in NUMPY:
            raise TypeError(f"expected a function that can be traced, found numpy.{function.__name__} of {self!r}")
        if options:
            names = ", ".join(options)
            raise TypeError(f"expected numpy.{function.__name__} of {self!r} without options, found {names}")
        return NUMPY[function](*inputs)

    def __getattr__(self, name: str) -> Any:
        """The methods of tensors that can be traced: score.tanh()."""
        if name not in METHODS:
            raise AttributeError(f"'Symbol' object has no attribute '{name}'", name=name, obj=self)
        return functools.partial(METHODS[name], self)

    @classmethod
    def __torch_function__(cls, function: Any, kinds: Any, inputs: Any = (), options: Any = None) -> Symbol:
        """PyTorch's functions and operators of a tensor and a symbol: torch.tanh(score) is attn.tanh(score)."""
        name = getattr(function, "__name__", "")
        table = METHODS if isinstance(function, types.MethodDescriptorType) else TORCH
        if name.strip("_") not in table:
            traced = next((x for x in inputs if isinstance(x, Symbol)), "a traced value")
            raise TypeError(
                f"expected a function that can be traced, found torch.{name} of {traced!r}; write operators, or "
                "functions of attn.functions"
            )
        return table[name.strip("_")](*inputs, **(options or {}))
