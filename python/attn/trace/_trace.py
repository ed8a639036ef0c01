"""Tracing: `score_mod` and `mask_mod`, called once with symbols, become the text of MLIR regions.

The text is deterministic and holds no values of captured arrays, so that it is part of the key a kernel is cached by;
the arrays are arguments of each call.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _text
from attn.call._checks import MAX_I32
from attn.call._origins import Origins
from attn.kernel import _tensor
from attn.trace import _capture, _foreign, _remembered, _torch_functions  # noqa: F401 - fills the tables of symbols
from attn.trace._range import Range
from attn.trace._symbols import BOOL, FLOAT, INDEX, Symbol, as_float, lift

Array = npt.NDArray[Any]

INDICES = {"b": "batch", "h": "head", "i": "query", "j": "key"}
DTYPES: dict[str, npt.DTypeLike] = {"f32": "f4", "f64": "f8", "i1": "?", "i32": "i4", "i64": "i8"}
# Names that are taken in a kernel: its other arguments, its results, and what a region calls its own values.
RESERVED = {"q", "k", "v", "bias", "mask", "sink", "q_lengths", "kv_lengths", "k_scale", "v_scale", "causal_offset"}
RESERVED |= {"cu_seqlens_q", "cu_seqlens_k", "block_table", "seed", "offset", "scale", "out", "lse", "weights"}
RESERVED |= {"q_origin", "k_origin", "b_origin", "h_origin", "whole_hq", "whole_sq", "whole_sk"}
RESERVED |= {"score", *INDICES}
POSITIONS = Range(0, MAX_I32 - 1)  # of every call of a kernel
# A size in the text of a form, as "$j203": below 203 runs j; or "$_203", where an expression indexes the array.
ANY = "_"
SIZE = re.compile(r"\$([bij_])(\d+)")
TEMPORARY = re.compile(r"t\d+")
# What is known of functions whose form does not say what they are.
BY_BOUNDS, EACH_TIME = object(), object()
NO_ORIGINS = (0, 0, 0, 0)


class Regions(NamedTuple):
    """The functions of a call without the values that they read.

    Attributes:
      text: what follows the problem line.
      names: of the captured arrays, in the order of the arguments.
      differentiable: those of them that score_mod reads and that are of floats.
      indices: those of "bhij" that functions read.
    """

    text: str = ""
    names: tuple[str, ...] = ()
    differentiable: tuple[str, ...] = ()
    indices: str = ""

    @property
    def form(self) -> str:
        """What the regions of all sizes have in common, where they are those of a form."""
        return SIZE.sub(r"$\1", self.text)

    def fill(self, opened: str) -> str:
        """The regions of a kernel: "?" where it leaves sizes open, as `opened` says of "bij"."""
        return SIZE.sub(lambda x: "?" if x[1] in opened or (x[1] == ANY and opened) else x[2], self.text)


@functools.lru_cache(maxsize=256)
def sized(text: str, names: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> Regions:
    """Regions of a form for arrays of these names and shapes, which may be of other sizes than the traced ones."""
    for name, shape in zip(names, shapes, strict=True):

        def resized(found: re.Match[str], shape: tuple[int, ...] = shape) -> str:
            *sizes, element = found[2].split("x")
            labels = [x[:2] if x[0] == "$" else "" for x in sizes]
            return found[1] + "x".join([*[f"{x}{y}" for x, y in zip(labels, shape, strict=True)], element]) + ">"

        text = re.sub(rf"(%{re.escape(name)}(?:\[[^\]]*\])? : tensor<)([^>]*)>", resized, text)
    return Regions(text, names)


class Traced(NamedTuple):
    """The regions of a call, and the captured arrays in the order of the arguments.

    Attributes:
      places: `_capture.place` of each array as the function has it.
    """

    regions: Regions = Regions()
    arrays: tuple[Any, ...] = ()
    places: tuple[Any, ...] = ()


def trace(
    score_mod: Callable[..., Any] | None,
    mask_mod: Callable[..., Any] | None,
    scores: Iterable[int],
    element: str = "f32",
    *,
    open_indices: str | None = None,
    is_on_device: bool | None = False,
    is_form: bool = False,
    origins: Origins | None = None,
) -> Traced:
    """Traces one call's functions.

    Args:
      score_mod: score_mod(score, b, h, i, j) → score, or None.
      mask_mod: mask_mod(b, h, i, j) → predicate, or None.
      scores: the shape of the scores (B, Hq, Sq, Sk): the indices run below it.
      element: the type of the score, "f32" or "f64".
      open_indices: for a kernel that serves other sizes too, which of "bhij" run below a size that is open; None where
        all sizes are static.
      is_form: the kernel is chosen later: the text says of each size of an array which index runs below it, and
        `Regions.fill` makes it that of a kernel.
      origins: where the indices begin; those of tensors on a device may be anything.
      is_on_device: the captured arrays are tensors on a device: those that `Traced.arrays` then has. None where the
        caller checks it.

    Raises:
      TypeError: a function does what cannot be traced, or returns the wrong type; the message says what to write.
        A captured array is not where the kernel runs.
      ValueError: it indexes a captured array at positions that may be outside.
    """
    if score_mod is None and mask_mod is None:
        return Traced()
    firsts = NO_ORIGINS if origins is None else origins.firsts()
    how = (tuple(scores), element, open_indices, is_form, firsts)
    run = functools.partial(_trace, score_mod, mask_mod, *how)
    made = None if is_on_device or not all(type(x) is int for x in firsts) else _remembered.of(score_mod, mask_mod)
    if made is None:
        return run(is_on_device)
    return _recalled((made.form, *how), made) or _remember(run, (made.form, *how), made)


def recall(score_mod: Any, mask_mod: Any, scores: Iterable[int], element: str) -> Traced | None:
    """`trace` of a form, without an origin, where the functions were traced before; otherwise None."""
    made = _remembered.of(score_mod, mask_mod)
    return None if made is None else _recalled((made.form, tuple(scores), element, None, True, NO_ORIGINS), made)


def _recalled(key: tuple[Any, ...], made: _remembered.Made) -> Traced | None:
    found = _remembered.traced.get(key)
    if found is BY_BOUNDS:
        found = _remembered.traced.get((*key, made.bounds()))
    if found is None or found is EACH_TIME:
        return None
    regions, numbers = found
    views = []
    for name, (number, dtype) in zip(regions.names, numbers, strict=True):
        view = _capture.capture(made.arrays[number][1], name)
        views.append((view.astype(dtype, copy=False), _capture.place(view)))
    return Traced(regions, tuple([x for x, _ in views]), tuple([x for _, x in views]))


def _remember(run: Callable[..., Traced], key: tuple[Any, ...], made: _remembered.Made) -> Traced:
    """What the functions are, from now on remembered where their form says it."""
    result = run(None)
    if key in _remembered.traced and _remembered.traced[key] is EACH_TIME:
        return result
    views = [_capture.capture(x, name) for name, x in made.arrays]
    places = {_capture.place(view): number for number, view in enumerate(views)}
    kept: Any = EACH_TIME
    if all(place in places for place in result.places):
        dtypes = [x.dtype for x in result.arrays]
        kept = (result.regions, list(zip([places[x] for x in result.places], dtypes, strict=True)))
        if not _remembered.is_blind(lambda: run(None), result.regions.text, has_bounds=False):
            is_known = _remembered.is_blind(lambda: run(None), result.regions.text, has_bounds=True)
            if is_known:
                _remembered.traced.keep((*key, made.bounds()), kept)
            kept = BY_BOUNDS if is_known else EACH_TIME
    _remembered.traced.keep(key, kept)
    return result


def _trace(
    score_mod: Callable[..., Any] | None,
    mask_mod: Callable[..., Any] | None,
    scores: tuple[int, ...],
    element: str,
    open_indices: str | None,
    is_form: bool,
    firsts: tuple[Any, ...],
    is_on_device: bool | None,
) -> Traced:
    """`trace`, each time anew."""
    for label, size in zip(INDICES, scores, strict=True):
        if size > MAX_I32:
            raise ValueError(
                f"expected sizes of at most {MAX_I32} beside score_mod and mask_mod, found {size} for {label}"
            )
    printer = _Printer(element, "bij" if is_form else open_indices, is_form=is_form)
    indices = [
        Symbol(INDEX, f"attn.index {kind} : index", (), POSITIONS, _positions(first, size), label=label)
        for (label, kind), first, size in zip(INDICES.items(), firsts, scores, strict=True)
    ]
    results = []
    if score_mod is not None:
        score = Symbol(FLOAT, "", label="score")
        result = as_float(_call("score_mod", score_mod, ("score", *INDICES), [score, *indices]))
        results.append((f"score_mod {{\n^bb0(%score: {element}):", result, element))
    if mask_mod is not None:
        result = _call("mask_mod", mask_mod, tuple(INDICES), indices)
        if result.kind != BOOL:
            raise TypeError(f"expected mask_mod to return a predicate, found {result!r}; write a comparison")
        results.append(("mask_mod {", result, "i1"))
    for _, result, _ in results:
        printer.capture(result)
    regions = [printer.region(*region) for region in results]
    captures = [f"%{name} : {kind}" for name, kind, _ in printer.captures.values()]
    head = [f"captures({', '.join(captures)})"] if captures else []
    names = tuple(name for name, _, _ in printer.captures.values())
    arrays = tuple(_where(name, array, is_on_device) for name, _, array in printer.captures.values())
    text = "\n".join(head + regions)
    return Traced(Regions(text, names, tuple(printer.differentiable), printer.indices), arrays, tuple(printer.captures))


def _positions(first: Any, size: int) -> Range:
    """Where an index runs that begins at `first`, an integer or an array of them."""
    if isinstance(first, _tensor.StandIn):
        return POSITIONS
    low, high = (int(np.min(first)), int(np.max(first))) if np.size(first) else (0, 0)
    return Range(low, high + size - 1)


def _where(name: str, array: Array, is_on_device: bool | None) -> Any:
    """A captured array where its kernel runs: itself, or the tensor on the device that it stands for."""
    tensor = getattr(array, "tensor", None)
    if is_on_device and tensor is None:
        raise TypeError(f"expected {name} in the memory of a CUDA device, as q is, found an array in CPU memory")
    if tensor is not None and is_on_device is False:
        raise TypeError(f"expected {name} in CPU memory, found a tensor on a CUDA device; copy it to the CPU")
    return array if tensor is None else tensor


def _call(what: str, function: Callable[..., Any], names: tuple[str, ...], symbols: list[Symbol]) -> Symbol:
    """What the function returns on symbols, with errors that say what to write."""
    if not callable(function):
        raise TypeError(f"expected {what} to be a function of ({', '.join(names)}), found {type(function).__name__}")
    try:
        result = _capture.rebind(function)(*symbols)
    except TypeError as error:
        _check_parameters(what, function, names)
        raise _foreign.explain(what, error) or TypeError(f"{what}: {error}") from error
    except IndexError as error:
        raise TypeError(
            f"expected {what} to index arrays that the tracer sees (a variable of its own, a global, a default), "
            f"found: {error}; write attn.capture(array)[…] for others"
        ) from error
    except Exception as error:  # what a library raises that does not know traced values, or the function itself
        explained = _foreign.explain(what, error)
        if explained is None:
            raise
        raise explained from error
    try:
        return lift(result)
    except TypeError as error:
        raise TypeError(f"expected {what} to return a traced value: {error}") from error


def _check_parameters(what: str, function: Callable[..., Any], names: tuple[str, ...]) -> None:
    """Raises if a call failed because the function has other parameters."""
    try:
        inspect.signature(function).bind(*names)
    except TypeError as error:
        raise TypeError(f"expected {what}({', '.join(names)}), found other parameters: {error}") from error


class _Printer:
    """Prints regions; remembers the arrays that they name."""

    def __init__(self, element: str, open_indices: str | None, *, is_form: bool) -> None:
        self._element, self._open_indices, self._is_form = element, open_indices, is_form
        # The dimensions, by place of the array, whose size must be in the text.
        self._static: set[tuple[Any, int]] = set()
        # Which index runs below others.
        self._label: dict[tuple[Any, int], str] = {}
        # Where the array lies → its name, its MLIR type, itself as the kernel takes it.
        self.captures: dict[Any, tuple[str, str, Array]] = {}
        # The names of arrays of floats that the score is made of.
        self.differentiable: dict[str, None] = {}
        self.indices = ""

    def capture(self, result: Symbol) -> None:
        """Learns how the result indexes arrays.

        The checked entry takes a dimension of open size that b, h, i or j itself indexes for as large as that index
        is many. Where an array is larger, or the index has a static size, the array's own size is in the text.
        """
        for symbol in _operands_first(result):
            if not symbol.operands or symbol.operands[0].kind != _capture.ARRAY:
                continue
            array, *positions = symbol.operands
            for dim, (position, size) in enumerate(zip(positions, array.constant.shape, strict=True)):
                is_plain = position.template.startswith("attn.index")
                is_open = position.label in (self._open_indices or "") and position.range.hi == size - 1
                key = (_capture.place(array.constant), dim)
                is_other = self._is_form and self._label.get(key, position.label) != position.label
                if is_plain and (not is_open or is_other):
                    self._static.add(key)
                elif is_plain:
                    self._label[key] = position.label

    def region(self, head: str, result: Symbol, kind: str) -> str:
        """A region that yields the result: each operation once, operands first, what is not needed left out."""
        names: dict[Symbol, str] = {}
        printed: dict[str, str] = {}
        lines = []
        for symbol in _operands_first(result):
            if symbol.kind == _capture.ARRAY:
                name = self._captured(symbol)[0]
                names[symbol] = f"%{name}"
                if kind != "i1" and symbol.constant.dtype.kind not in "biu":
                    self.differentiable[name] = None
                continue
            if not symbol.template:
                names[symbol] = f"%{symbol.label}"
                continue
            if symbol.label in INDICES and symbol.label not in self.indices:
                self.indices += symbol.label
            operation = self._operation(symbol, [names[x] for x in symbol.operands])
            if operation not in printed:
                printed[operation] = f"%{symbol.label or f't{len(printed)}'}"
                lines.append(f"  {printed[operation]} = {operation}")
            names[symbol] = printed[operation]
        return "\n".join([head, *lines, f"  attn.yield {names[result]} : {kind}", "}"])

    def _operation(self, symbol: Symbol, operands: list[str]) -> str:
        array = self._captured(symbol.operands[0])[1] if "{array}" in symbol.template else ""
        constant = print_float(symbol.constant, self._element) if isinstance(symbol.constant, float) else ""
        return symbol.template.format(*operands, float=self._element, array=array, constant=constant)

    def _captured(self, symbol: Symbol) -> tuple[str, str, Array]:
        array: Array = symbol.constant
        place = _capture.place(array)
        if place not in self.captures:
            element = self._element
            if array.dtype.kind in "biu":
                element = "i1" if array.dtype.kind == "b" else _capture.integer_type(array.dtype)
            is_static = [self._open_indices is None or (place, dim) in self._static for dim in range(array.ndim)]
            labels = [f"${self._label.get((place, dim), ANY)}{size}" for dim, size in enumerate(array.shape)]
            opened = labels if self._is_form else ["?"] * array.ndim
            sizes = "".join(
                f"{x}x" if known else f"{y}x" for x, y, known in zip(array.shape, opened, is_static, strict=True)
            )
            name = _unused(symbol.label, {name for name, _, _ in self.captures.values()})
            is_on_device = getattr(array, "tensor", None) is not None
            values = array if is_on_device else array.astype(DTYPES[element], copy=False)
            self.captures[place] = (name, f"tensor<{sizes}{element}>", values)
        return self.captures[place]


def _operands_first(result: Symbol) -> Iterable[Symbol]:
    """Every symbol that the result needs, each after its operands; no recursion, expressions may be deep."""
    done: dict[Symbol, None] = {}
    stack = [(result, False)]
    while stack:
        symbol, is_ready = stack.pop()
        if is_ready:
            done[symbol] = None
        elif symbol not in done:
            stack.append((symbol, True))
            stack.extend((x, False) for x in reversed(symbol.operands))
    return done


def _unused(label: str, taken: set[str]) -> str:
    """A name for a captured array that is free in the kernel and an identifier of MLIR."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", label)
    if name in RESERVED or TEMPORARY.fullmatch(name) or not re.match(r"[A-Za-z_]", name):
        name = f"captured_{name}"
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def print_float(value: float, element: str) -> str:
    """A float in MLIR's syntax: with a decimal point, and the bits in hexadecimal where it is not finite."""
    if not math.isfinite(value):
        code, size = (">f", 8) if element == "f32" else (">d", 16)
        return f"0x{int.from_bytes(struct.pack(code, value)):0{size}X}"
    return _text.real(value)
