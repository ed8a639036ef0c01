"""Functions of scores that were traced before: what they are made of, and which of their arrays a kernel reads.

A function is its code, the constants that it reads and the forms of its arrays. It is remembered where arrays of other
values make the same text: of the smallest and of the largest numbers instead of their own. Where positions depend on
integers, the range of these counts as well. All else is traced at each call: objects with attributes, and functions
that look at values while they are traced.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from attn.kernel import _subclasses, _tensor
from attn.kernel._cache import Plans
from attn.trace import _capture

MAX_DEPTH = 8  # of functions, lists and modules in each other
CONSTANTS = (bool, int, str, bytes, type(None), type(...), np.dtype)
TENSORS = (("torch", "Tensor"), ("torch.nn.parameter", "Parameter"))
DENSE = "torch.strided"  # the layout of tensors that have memory

traced = Plans()


class UnknownError(Exception):
    """A function is made of something that may change unseen."""


class Made(NamedTuple):
    """What a function is made of.

    Attributes:
      form: all but the values of arrays.
      arrays: in the order in which the form has them, each once, with their names.
    """

    form: Hashable
    arrays: list[tuple[str, Any]]

    def bounds(self) -> Hashable:
        """The smallest and the largest of the integers of each array."""
        arrays = [_values(x) for _, x in self.arrays]
        return tuple([(int(x.min()), int(x.max())) for x in arrays if x.dtype.kind in "iu" and x.size])


class _Walk:
    """Collects arrays, each place once."""

    def __init__(self) -> None:
        self.arrays: list[tuple[str, Any]] = []
        self._places: dict[Hashable, int] = {}
        self._functions: dict[int, int] = {}

    def form(self, name: str, value: Any, names: frozenset[str] = frozenset(), depth: int = 0) -> Hashable:
        """The form of a value of this name in a function that reads attributes of these names."""
        kind = type(value)
        if kind in CONSTANTS:
            return (kind, value)
        if kind is float:
            return value.hex()
        if isinstance(value, np.generic):
            return (kind, value.tobytes())
        if kind is np.ndarray or (kind.__module__, kind.__name__) in TENSORS:
            return self._array(name, value)
        if depth > MAX_DEPTH:
            raise UnknownError
        if kind is types.FunctionType:
            return self._function(value, depth + 1)
        if kind is functools.partial:
            given = {str(n): x for n, x in enumerate(value.args)} | value.keywords
            parts = [(key, self.form(key, x, names, depth + 1)) for key, x in given.items()]
            return ("partial", self.form(name, value.func, names, depth + 1), *parts)
        if kind is types.ModuleType:
            if _is_library(value.__name__):
                return value
            own = [(x, getattr(value, x)) for x in sorted(names) if hasattr(value, x)]
            return ("module", value.__name__, *[(x, self.form(x, y, names, depth + 1)) for x, y in own])
        if kind in (tuple, list):
            return self._whole(kind.__name__, [(str(n), x) for n, x in enumerate(value)], names, depth)
        if kind is dict:
            return self._whole("dict", [(str(x), x) for pair in value.items() for x in pair], names, depth)
        is_known = kind in (types.BuiltinFunctionType, np.ufunc) or _is_library(getattr(value, "__module__", "") or "")
        if is_known and callable(value):
            return value
        raise UnknownError

    def _whole(self, kind: str, values: list[tuple[str, Any]], names: frozenset[str], depth: int) -> Hashable:
        """A list of constants; tracing does not see arrays in one."""
        count = len(self.arrays)
        made = (kind, *[self.form(name, x, names, depth + 1) for name, x in values])
        if len(self.arrays) != count:
            raise UnknownError
        return made

    def _function(self, function: types.FunctionType, depth: int) -> Hashable:
        code = function.__code__
        if _is_library(function.__module__ or "") and function.__closure__ is None:
            return code
        if id(function) in self._functions:
            return ("again", self._functions[id(function)])
        self._functions[id(function)] = len(self._functions)
        named = tuple(dict.fromkeys(_capture.names_of(code)))
        names = frozenset(named)
        read = [(x, function.__globals__[x]) for x in named if x in function.__globals__]
        try:
            read += zip(code.co_freevars, [x.cell_contents for x in function.__closure__ or ()], strict=True)
        except ValueError as error:  # a variable without a value yet
            raise UnknownError from error
        positional = code.co_varnames[: code.co_argcount]
        defaults = function.__defaults__ or ()
        read += zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
        read += (function.__kwdefaults__ or {}).items()
        return (code, *[(name, self.form(name, x, names, depth)) for name, x in read])

    def _array(self, name: str, array: Any) -> Hashable:
        if isinstance(array, np.ndarray):
            place = (array.ctypes.data, array.shape, array.strides, array.dtype)
            form: Hashable = (array.shape, array.dtype, array.strides if 0 in array.strides else None)
        else:
            is_dense = str(array.layout) == DENSE and not array.is_nested
            if not array.is_cpu or array.is_neg() or not is_dense or not _subclasses.is_known(array):
                raise UnknownError
            place = (array.data_ptr(), array.shape, array.stride(), array.dtype)
            form = (array.shape, array.dtype, array.requires_grad)
        number = self._places.setdefault(place, len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append((name, array))
        return (name, number, form)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _capture.LIBRARIES


def _values(array: Any) -> Any:
    """The array of NumPy."""
    return array if isinstance(array, np.ndarray) else _tensor.as_array("a captured tensor", array.detach())


def of(*functions: Any) -> Made | None:
    """What functions of a call are made of; None where nobody can say."""
    if _capture.STAND_INS.get() is not None or _capture.READER.get() is not None:
        return None
    walk = _Walk()
    try:
        return Made(tuple([walk.form("", x) for x in functions]), walk.arrays)
    except UnknownError:
        return None


def is_blind(trace: Callable[[], Any], text: str, *, has_bounds: bool) -> bool:
    """Whether arrays of other values make the same text, each within the range of its own where that counts."""
    for is_largest in (False, True):
        token = _capture.BLIND.set(_capture.Blind(is_largest, has_bounds))
        try:
            if trace().regions.text != text:
                return False
        except Exception:  # whatever a function does with values that it has not
            return False
        finally:
            _capture.BLIND.reset(token)
    return True
