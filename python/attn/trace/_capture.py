"""Captured arrays: what a traced function reads beside the score and the indices.

A NumPy array cannot be indexed by a symbol, so before a function is traced the arrays that it names, in its closure,
its globals or its defaults, are replaced by views of the class `Captured`, which can. Arrays that are reached in other
ways (attributes, dictionaries) are given to `capture` by the user.
"""

from __future__ import annotations

import functools
import numbers
import types
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.kernel import _cuda, _device, _subclasses, _tensor
from attn.trace import _symbols, _wide
from attn.trace._range import LARGEST, Range
from attn.trace._symbols import BOOL, FLOAT, INDEX, Symbol
from attn.words._types import Tensor

Array = npt.NDArray[Any]

# Helpers of these packages are called as they are: they hold no arrays of the user.
LIBRARIES = ("attn", "numpy", "torch", "math", "functools", "builtins")
ARRAY = "array"  # the kind of the symbol that stands for a whole captured array
# While a function is differentiated (attn.reference): what makes of a captured array and a key the value that is read.
READER: ContextVar[Callable[[Captured, Any], Any] | None] = ContextVar("READER", default=None)
# While a function is traced for an operator of PyTorch (attn.torch): the captured tensors by their place, without
# gradient where none is recorded; None for other arrays, MIXED for memory with and without gradient.
MIXED = object()
TENSORS: ContextVar[dict[tuple[Any, ...], Any] | None] = ContextVar("TENSORS", default=None)
# While a function is traced for a program that another library traces (attn.jax): what makes of an array without values
# the array of zeros of its shape that stands for it; None for other arrays.
STAND_INS: ContextVar[Callable[[Any], Array | None] | None] = ContextVar("STAND_INS", default=None)


class Blind(NamedTuple):
    """How arrays are hidden from a function, to see whether their values count (`_remembered`).

    Attributes:
      is_largest: other values are the largest of the type, otherwise the smallest.
      has_bounds: the range of integers is their own, otherwise any.
    """

    is_largest: bool
    has_bounds: bool

    def of(self, array: Array) -> Array:
        """An array of the same form."""
        kind, end = array.dtype, int(self.is_largest)
        if kind.kind == "b":
            value = np.asarray(self.is_largest)
        elif kind.kind in "iu":
            value = np.asarray((np.iinfo(kind).min, np.iinfo(kind).max)[end], kind)
        else:
            value = np.asarray((-np.inf, np.inf)[end]).astype(kind)
        return np.broadcast_to(np.array(value), array.shape)


# While the same function is traced again without the values of its arrays; None otherwise.
BLIND: ContextVar[Blind | None] = ContextVar("BLIND", default=None)


class Captured(_wide.Wide):
    """An array that traced values may index, and whose own arithmetic is that of traced values."""

    name: str = ""
    tensor: Any = None  # whose values are not known here, as on a device: this array has its shape and type alone
    bounds: tuple[int, int] | None = None  # of integers whose values are not known here
    requires_grad = False  # in a graph of gradients: its elements are read by position alone
    is_view_of_tensor = False  # a view or copy of either, or made of one: its elements are nowhere

    def __array_finalize__(self, source: Any) -> None:
        """Views keep the name."""
        self.name = getattr(source, "name", "")
        self.is_view_of_tensor = _is_of_tensor(source)

    def __getitem__(self, key: Any) -> Any:
        """One element where the key has traced values, otherwise as NumPy does."""
        keys = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(x, Symbol) for x in keys):
            read = READER.get()
            is_element = len(keys) == self.ndim > 0 and all(isinstance(x, numbers.Integral) for x in keys)
            if read is None and is_element and _is_of_tensor(self):
                return self.element(keys)
            return super().__getitem__(key) if read is None else read(self, key)
        if len(keys) != self.ndim:
            raise TypeError(
                f"expected {self.ndim} positions in the captured array {self.name or '(attn.capture)'} of shape "
                f"{self.shape}, found {len(keys)}; write all of them in one pair of brackets, as table[h, i]"
            )
        return self.element(keys)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's function; of one number on a device a traced one; where reads are recorded, of what is read."""
        is_number = [isinstance(x, Captured) and x.ndim == 0 and _is_of_tensor(x) for x in inputs]
        if READER.get() is None and any(is_number):
            traced = tuple(x.element(()) if y else x for x, y in zip(inputs, is_number, strict=True))
            return next(x for x in traced if isinstance(x, Symbol)).__array_ufunc__(ufunc, method, *traced, **options)
        read = read_whole(inputs)
        if read is inputs:
            result = super().__array_ufunc__(ufunc, method, *inputs, **options)
            if any(map(_is_of_tensor, inputs)):
                for x in result if isinstance(result, tuple) else (result,):
                    x.is_view_of_tensor = True
            return result
        return getattr(ufunc, method)(*read, **options)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        """The same for those that are not ufuncs: np.where."""
        read = read_whole(inputs)
        return super().__array_function__(function, types, inputs, options) if read is inputs else function(*read)

    def element(self, keys: tuple[Any, ...]) -> Symbol:
        """The symbol of the element at these positions, one a dimension."""
        if self.is_view_of_tensor:
            raise TypeError(
                f"expected {self.name or 'the captured array'} to be read by position, as it requires a gradient or is "
                "on a device or of vmap, found a view or copy of it (.T, slices, arithmetic); make it outside of the "
                "function"
            )
        places = tuple(_position(self, dim, key) for dim, key in enumerate(keys))
        constant = self.view(np.ndarray) if self.tensor is None else self
        whole = Symbol(ARRAY, "", label=self.name or "captured", constant=constant)
        brackets = ", ".join(f"{{{n + 1}}}" for n in range(len(places)))
        template = f"tensor.extract {{0}}[{brackets}] : {{array}}"
        if self.dtype.kind not in "biu":
            if self.dtype.kind != "f" and not np.can_cast(self.dtype, np.float64):  # "V": ml_dtypes
                what = self.name or "(attn.capture)"
                raise TypeError(f"expected real numbers or bool in the captured array {what}, found {self.dtype}")
            return Symbol(FLOAT, template, (whole, *places))
        if self.dtype.kind == "b":
            return Symbol(BOOL, template, (whole, *places))
        element = integer_type(self.dtype)
        values = Range()
        if self.bounds is not None:
            values = Range(*self.bounds)
        elif self.size and self.tensor is None:
            values = Range(*_bounds(whole.constant, self.name))
        number = Symbol(element, template, (whole, *places))
        return Symbol(INDEX, f"arith.index_cast {{0}} : {element} to index", (number,), Range(), values)


class Traced:
    """An array that another library traces: itself in all, but its elements at traced positions are a kernel's."""

    def __init__(self, array: Any, zeros: Array, name: str) -> None:
        """The array, and what stands for it."""
        self._array, self._name = array, name
        self._stand_in = zeros.view(Captured)
        self._stand_in.name, self._stand_in.tensor = name, array

    def __getattr__(self, attribute: str) -> Any:
        """That of the array."""
        return getattr(self._array, attribute)

    def __getitem__(self, key: Any) -> Any:
        """One element where the key has traced values, otherwise what the library makes of the key."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(x, Symbol) for x in keys):
            return self._stand_in[key]
        return capture(self._array[key], self._name)

    def element(self, keys: tuple[Any, ...]) -> Symbol:
        """As that of `Captured`."""
        return self._stand_in.element(keys)


def _delegated(name: str) -> Callable[..., Any]:
    def operator(self: Traced, *operands: Any) -> Any:
        given = tuple(x._array if isinstance(x, Traced) else x for x in operands)
        if any(isinstance(x, Symbol) for x in given):
            return NotImplemented
        result = getattr(self._array, name)(*given)
        return result if result is NotImplemented else capture(result, self._name)

    return operator


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul"):
    setattr(Traced, f"__{_name}__", _delegated(f"__{_name}__"))
    setattr(Traced, f"__r{_name}__", _delegated(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    setattr(Traced, f"__{_name}__", _delegated(f"__{_name}__"))


def _is_of_tensor(array: Any) -> bool:
    """Whether its values, or their gradients, are those of a kernel's argument alone; so of what is made of it."""
    is_tensor = getattr(array, "tensor", None) is not None or getattr(array, "requires_grad", False)
    return isinstance(array, Captured) and (is_tensor or array.is_view_of_tensor)


def read_whole(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a function; where reads are recorded, captured arrays of floats among them are read whole."""
    read = READER.get()
    is_read = [isinstance(x, Captured) and x.dtype.kind not in "biu" for x in inputs]
    if read is None or not any(is_read):
        return inputs
    return tuple(read(x, ...) if y else x for x, y in zip(inputs, is_read, strict=True))


def _bounds(array: Array, name: str) -> tuple[int, int]:
    """The smallest and the largest integer of an array."""
    lo, hi = int(array.min()), int(array.max())
    if hi > LARGEST:
        raise ValueError(f"expected integers below 2^63 in the captured array {name or '(attn.capture)'}, found {hi}")
    return lo, hi


def _position(array: Captured, dim: int, key: Any) -> Symbol:
    """One index of an element, checked: a kernel reads where it says, so it must be inside for every (b, h, i, j)."""
    size, what = array.shape[dim], f"dimension {dim} of the captured array {array.name or '(attn.capture)'}"
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        number = int(key) + (size if key < 0 else 0)
        values = Range(number, number)
        place = Symbol(INDEX, f"arith.constant {number} : index", (), values, constant=number)
    elif isinstance(key, Symbol) and key.kind == INDEX:
        place = key
    else:
        raise TypeError(f"expected an integer as position in {what}, found {key!r}")
    if not place.range.inside(size):
        lo, hi = place.range
        wraps = ", as the arithmetic may leave int64" if place.range == Range() else ""
        raise ValueError(
            f"expected positions from 0 to {size - 1} in {what}, found {lo} to {hi} possible{wraps}; "
            f"write attn.clip(…, 0, {size - 1}) or (…) % {size}, or a larger array"
        )
    return place


def capture(array: Tensor, name: str = "") -> Captured | Traced:
    """An array that traced functions may index, for arrays that they reach in other ways than by a plain name.

    Args:
      array: a NumPy array or an object with `__dlpack__`, in CPU memory or, for a kernel on a GPU, in that of its
        device; not copied.
      name: the name of the kernel's argument.
    """
    what = name or "the array"
    stand_in = STAND_INS.get()
    zeros = None if stand_in is None else stand_in(array)
    if zeros is not None:
        return Traced(array, zeros, name)
    device, tensors, given, values = _device.of(array), TENSORS.get(), None, array
    if tensors is not None and _tensor.is_torch(array):
        given, values = _subclasses.recorded(what, array)
    is_known = device is None and values is not None
    if is_known:
        view = _tensor.as_array(what, values).view(Captured)
        blind = BLIND.get()
        if blind is not None:
            shown, view = view, blind.of(view).view(Captured)
            view.tensor = array
            if blind.has_bounds and shown.dtype.kind in "iu" and shown.size:
                view.bounds = _bounds(shown, what)
    else:
        view = _stand_in(what, array, device).view(Captured)
        view.tensor = array if given is None else given
    view.name, view.requires_grad = name or view.name, requires_gradient(given)
    if tensors is not None:
        other = tensors.get(place(view), given) if is_known else given
        is_mixed = other is MIXED or requires_gradient(other) != view.requires_grad
        tensors[place(view)] = MIXED if is_mixed else given
    return view


def _stand_in(what: str, array: Any, device: Any) -> Array:
    if device is not None:
        return _cuda.stand_in(what, array, device)
    return _tensor.without_values(tuple(array.shape), _tensor.dtype(_subclasses.element_of(array.dtype)))


def requires_gradient(tensor: Any) -> bool:
    """Whether a captured tensor requires one."""
    return bool(getattr(tensor, "requires_grad", False))


def place(array: Array) -> tuple[Any, ...]:
    """What tells one captured array from another: where it lies, and as what."""
    return (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)


def root(array: Captured) -> Captured:
    """The array as it was captured.

    Raises:
      TypeError: the function has made another of it, by .T or the like; its gradient would be of another shape.
    """
    whole = array
    while isinstance(whole.base, Captured):
        whole = whole.base
    if whole.base is None or place(whole) != place(array):
        raise TypeError(
            f"expected score_mod to read {array.name or 'the captured array'} by position, found a view or copy of it "
            "(.T, reshape, astype), which has no gradient; make it outside"
        )
    return array


def evaluate(function: Any, *inputs: Array) -> Any:
    """The result of a score_mod or mask_mod on arrays: the values that it has in a kernel."""
    return np.asarray(rebind(function)(*(x.view(_wide.Wide) for x in inputs)))


def integer_type(dtype: np.dtype[Any]) -> str:
    """The MLIR type that integers of this dtype are captured as."""
    return "i32" if np.can_cast(dtype, np.int32) else "i64"


def rebind(function: Any) -> Any:
    """The function with every array that it names replaced by a captured view; helpers that it calls likewise."""
    return _rebind(function, {})


def _rebind(function: Any, done: dict[int, Any]) -> Any:
    if isinstance(function, functools.partial):
        arguments = [_replace("captured", x, done) for x in function.args]
        keywords = {name: _replace(name, x, done) for name, x in function.keywords.items()}
        return functools.partial(_rebind(function.func, done), *arguments, **keywords)
    if isinstance(function, types.MethodType):
        return types.MethodType(_rebind(function.__func__, done), function.__self__)
    if not isinstance(function, types.FunctionType):
        call = vars(type(function)).get("__call__")
        return types.MethodType(_rebind(call, done), function) if isinstance(call, types.FunctionType) else function
    if id(function) in done:
        return done[id(function)]
    code, variables = function.__code__, function.__globals__
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    scope = dict(variables)
    new = done[id(function)] = types.FunctionType(code, scope, function.__name__, None, cells or None)
    for name in names_of(code):
        if name in variables:
            scope[name] = _replace(name, variables[name], done)
    for name, cell, old in zip(code.co_freevars, cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _replace(name, old.cell_contents, done)
        except ValueError:
            continue  # a variable without a value yet
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    named = zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
    new.__defaults__ = tuple(_replace(name, x, done) for name, x in named) or None
    keywords = function.__kwdefaults__ or {}
    new.__kwdefaults__ = {name: _replace(name, x, done) for name, x in keywords.items()} or None
    return new


def names_of(code: types.CodeType) -> Iterator[str]:
    """The global names of code and of the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)


def _replace(name: str, value: Any, done: dict[int, Any]) -> Any:
    if isinstance(value, Traced):
        return value
    if isinstance(value, Captured):
        return value if value.name else capture(value, name)
    if isinstance(value, np.ndarray) or (hasattr(value, "__dlpack__") and not isinstance(value, type | np.generic)):
        made = capture(value, name)
        return value if isinstance(made, Traced) and made.ndim == 0 else made  # a number is an operand as it is
    if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
        module = getattr(value, "__module__", None) or ""
        return value if module.partition(".")[0] in LIBRARIES else _rebind(value, done)
    return value


_symbols.READ.append(capture)
