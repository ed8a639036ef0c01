"""Queries and results of 8 bits: no kernel has them, so a call widens q in front and narrows out behind.

That is a pass over q and one over out, each of a few bytes beside what attention reads: in decoding a row a sequence.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attn.call import _elements, _into
from attn.kernel import _tensor

# The largest finite number of each type; what is beyond it, infinities too, is that number.
LARGEST = {name: x for name, x in _elements.LARGEST.items() if name.startswith("float8")}
SCALES = ("q_scale", "out_scale")  # the keywords of both
KEYS = ("k", "key", "k_cache")  # what they are called
WIDE = ("bfloat16", "float16", "float32")  # what q may be widened to


def type_name(dtype: Any) -> str:
    """The name of a type of NumPy, ml_dtypes, PyTorch or JAX; empty for None."""
    if dtype is None:
        return ""
    name = str(dtype).removeprefix("torch.")
    return name if name in (*LARGEST, *WIDE) else str(getattr(dtype, "name", getattr(dtype, "__name__", name)))


def is_needed(q: Any, q_scale: Any, out_dtype: Any, out_scale: Any) -> bool:
    """Whether a call has queries or results of 8 bits, or scales of these."""
    if q_scale is not None or out_scale is not None:
        return True
    return _is_of_8_bits(getattr(q, "dtype", None)) or type_name(out_dtype) in LARGEST


@functools.cache
def _is_of_8_bits(dtype: Any) -> bool:
    """Remembered, since the text of a type takes a sixth of a call's time."""
    return type_name(dtype) in LARGEST


def around(function: Callable[..., Any], q: Any, axis: int | None, given: dict[str, Any]) -> Any:
    """What the function returns of a widened q, whose out is narrowed.

    Args:
      function: takes q and further arguments by name.
      q: the queries.
      axis: the dimension of q that is heads, if one is.
      given: the other arguments; loses q_scale, out_scale and out_dtype, and an out of 8 bits, which is copied to.

    Raises:
      TypeError, ValueError: a scale stands beside another type than 8 bits, or has another shape.
    """
    q_scale, out_scale = given.pop("q_scale"), given.pop("out_scale")
    out_dtype = given.pop("out_dtype", None)
    source, wanted = type_name(q.dtype), type_name(out_dtype)
    if q_scale is not None and source not in LARGEST:
        raise TypeError(f"expected q_scale only beside q of {' or '.join(LARGEST)}, found q of {source}; leave it out")
    if out_scale is not None and wanted not in LARGEST:
        raise TypeError(f"expected out_scale only beside out_dtype of {' or '.join(LARGEST)}, found {out_dtype}")
    if source in LARGEST:
        keys = type_name(next(given[name].dtype for name in KEYS if name in given))
        narrow = "float32" if wanted in LARGEST else "bfloat16"  # beside keys of 8 bits
        wide = wanted if wanted and wanted not in LARGEST else keys if keys in WIDE else narrow
        if wide not in WIDE:
            raise TypeError(f"expected out_dtype beside q of {source} to be one of {', '.join((*WIDE, *LARGEST))}")
        q = widened(q, q_scale, wide, axis)
    elif wanted not in LARGEST and out_dtype is not None:
        given["out_dtype"] = out_dtype
    place = given.pop("out", None) if wanted in LARGEST else None
    results = function(q, **given)
    if wanted not in LARGEST:
        return results
    out, *rest = results if isinstance(results, tuple) else (results,)
    out = narrowed(out, out_scale, wanted)
    if place is not None:
        if _tensor.is_torch(place) and _tensor.is_torch(out) and place.shape == out.shape and place.dtype == out.dtype:
            out = place.copy_(out)
        else:
            out = _into.copied(place, out)
    return (out, *rest) if rest else out


def widened(q: Any, scale: Any, dtype: str, axis: int | None) -> Any:
    """q · scale, computed in float32 and rounded to the type."""
    is_torch = _tensor.is_torch(q)
    wide = q.float() if is_torch else q.astype(np.float32)
    if scale is not None:
        wide = wide * _factors("q_scale", scale, wide, axis)
    if dtype == "float32":
        return wide
    if is_torch:
        return wide.bfloat16() if dtype == "bfloat16" else wide.half()
    return wide.astype(_tensor.dtype(dtype))


def narrowed(out: Any, scale: Any, dtype: str) -> Any:
    """out / scale to the nearest number of the type, ties to even, at most its largest finite one; a NaN stays one."""
    is_torch, limit = _tensor.is_torch(out), LARGEST[dtype]
    wide = out.float() if is_torch else out.astype(np.float32)
    if scale is not None:
        wide = wide / _factors("out_scale", scale, wide, None)
    wide = wide.clip(-limit, limit)
    if is_torch:
        import torch

        return wide.to(getattr(torch, dtype))
    return wide.astype(_tensor.dtype(dtype))


def _factors(name: str, scale: Any, like: Any, axis: int | None) -> Any:
    """A scale as a factor of an array: a number, one element, or one a head along a dimension."""
    if not hasattr(scale, "__dlpack__"):
        if not isinstance(scale, int | float | np.number):
            raise TypeError(f"expected {name} to be a number or an array of floats, found {type(scale).__name__}")
        return float(scale)
    shape = tuple(scale.shape)
    if _tensor.is_torch(like) and not _tensor.is_torch(scale):
        raise TypeError(f"expected {name} to be a number or a tensor, found {type(scale).__name__}")
    floats = scale.float() if _tensor.is_torch(scale) else scale.astype(np.float32)
    if _tensor.is_torch(scale) and not _tensor.is_torch(like):
        floats = floats.numpy()
    if math.prod(shape) == 1:
        return floats.reshape(())
    heads = None if axis is None or axis >= like.ndim else like.shape[axis]
    if shape != (heads,):
        known = "one element" if heads is None else f"one element or of shape ({heads},), one a query head"
        raise ValueError(f"expected {name} of {known}, found {shape}")
    return floats.reshape(*[-1 if n == axis else 1 for n in range(like.ndim)])
