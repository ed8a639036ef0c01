"""Functions of other libraries (torch, JAX …) on traced values, which they refuse in words of their own.

The error is given the user's expression, and what to write in its place.
"""

from __future__ import annotations

import linecache
import re
import types
from collections.abc import Iterator

from attn.trace._symbols import Symbol

# Libraries of functions on arrays: an error from inside one is about what it was given.
LIBRARIES = ("torch", "jax", "jaxlib", "numpy", "scipy", "tensorflow", "cupy", "math")
# Their names for what has another name, or is an operator, here.
SPELLED = {"clamp": "attn.clip", "absolute": "attn.abs", "fabs": "attn.abs", "select": "attn.where"}
SPELLED |= {"expit": "attn.sigmoid", "fmin": "attn.minimum", "fmax": "attn.maximum", "relu": "attn.maximum(x, 0)"}
SPELLED |= {"logical_and": "&", "bitwise_and": "&", "logical_or": "|", "bitwise_or": "|", "logical_xor": "^"}
SPELLED |= {"logical_not": "~", "pow": "**", "power": "**", "float_power": "**", "square": "x * x"}
SPELLED |= {"lt": "<", "less": "<", "le": "<=", "less_equal": "<=", "gt": ">", "greater": ">", "ge": ">="}
SPELLED |= {"greater_equal": ">=", "eq": "==", "equal": "==", "ne": "!=", "not_equal": "!=", "add": "+"}
SPELLED |= {"subtract": "-", "sub": "-", "multiply": "*", "mul": "*", "divide": "/", "div": "/", "true_divide": "/"}
SPELLED |= {"remainder": "%", "mod": "%", "floor_divide": "//"}


def explain(what: str, error: Exception) -> TypeError | None:
    """The error of a function that was traced as one that says what to write; None where it is none of a library.

    Args:
      what: the function, "score_mod" or "mask_mod".
      error: what it raised, with its traceback, whose outermost frame is the caller's.
    """
    frames = list(_frames(error))
    if isinstance(error, AttributeError) and frames[-1][0].f_code is Symbol.__getattr__.__code__:
        frames.pop()  # the function asks a traced value for what it has not
    own = next((i for i, (frame, _) in enumerate(frames) if _is_foreign(frame)), len(frames))
    is_ours = _package(frames[-1][0]) == "attn"
    if is_ours or (own == len(frames) and Symbol.__name__ not in str(error)):
        return None
    # Without a frame of its own the function is C code, which the user's innermost frame calls.
    expression = _expression(*frames[own - 1]) if own > 0 else ""
    found = f"{expression or 'a function'} ({str(error).strip().partition(chr(10))[0]})"
    return TypeError(f"expected {what} to compute with traced values, found {found}; write {_instead(expression)}")


def _instead(expression: str) -> str:
    """What to write for a call, as "torch.where(i < j, score, 0)"."""
    from attn import functions

    called = re.match(r"([\w.]+)\(", expression)
    name = called[1].rpartition(".")[2] if called else ""
    others = "operators, and the functions " + ", ".join(f"attn.{x}" for x in functions.__all__)
    return f"attn.{name}" if name in functions.__all__ else SPELLED.get(name, others)


def _frames(error: Exception) -> Iterator[tuple[types.FrameType, types.TracebackType]]:
    """The frames of the traced function and inside it, outermost first."""
    entry = error.__traceback__.tb_next if error.__traceback__ else None
    if entry is None and error.__traceback__ is not None:  # the function itself is C code
        entry = error.__traceback__
    while entry is not None:
        yield entry.tb_frame, entry
        entry = entry.tb_next


def _package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_foreign(frame: types.FrameType) -> bool:
    return _package(frame) in LIBRARIES


def _expression(frame: types.FrameType, entry: types.TracebackType) -> str:
    """The source of what the frame was evaluating, up to the end of its line; empty where it is not known."""
    positions = list(frame.f_code.co_positions())
    first, last, start, end = positions[entry.tb_lasti // 2]
    if first is None or start is None:
        return ""
    line = linecache.getline(frame.f_code.co_filename, first, frame.f_globals).encode()
    return line[start : end if first == last else None].decode(errors="replace").strip()
