"""The types of rows that `kv_append` writes, and the scales that it converts them by."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _elements
from attn.kernel import _cuda, _tensor

Array = npt.NDArray[Any]

QUANTISED = _elements.BYTE_NAMES
CACHE_TYPES = _elements.TYPE_NAMES | QUANTISED
NARROWED = ("float32", "bfloat16", "float16")  # what is converted to these


def elements(cache: np.dtype[Any], new: np.dtype[Any]) -> tuple[str, str]:
    """The types of a cache and of its new rows, as IR spells them.

    Raises:
      TypeError: a cache does not hold this type, or rows are not converted to it.
    """
    to, given = _tensor.type_name(cache), _tensor.type_name(new)
    for name, dtype in (("cache", to), ("new", given)):
        if dtype not in CACHE_TYPES:
            raise TypeError(f"expected {name} to be one of {', '.join(CACHE_TYPES)}, found {dtype}")
    known = NARROWED if to in QUANTISED else _elements.TYPE_NAMES
    if given != to and given not in known:
        raise TypeError(
            f"expected new to have the type of cache, {to}, or to be one of {', '.join(known)}, found {given}"
        )
    return CACHE_TYPES[to], CACHE_TYPES[given]


def of(
    old: Array, rows: Array, target: str, scale: Any = None, scale_cache: Any = None
) -> tuple[str | None, list[Any]]:
    """Which scales the kernel has ("given", "computed", None for none), and what it takes of them.

    Args:
      old: the cache.
      rows: (B, Hkv, N, D).
      target: of the kernel.
      scale, scale_cache: as in `kv_append`; for a GPU stand-ins of tensors.

    Raises:
      TypeError, ValueError: they are wrong, or do not go with the types.
    """
    to, is_converted = _tensor.type_name(old.dtype), old.dtype != rows.dtype
    elements(old.dtype, rows.dtype)
    given = [name for name, x in (("scale", scale), ("scale_cache", scale_cache)) if x is not None]
    if given and not (to in QUANTISED and is_converted):
        raise TypeError(
            f"expected {given[0]} only where new is converted to {', '.join(QUANTISED)}, found new of {rows.dtype} for "
            f"a cache of {old.dtype}; leave it out"
        )
    if len(given) == 2:
        raise ValueError("expected one of scale and scale_cache, found both; leave one out")
    if not given and is_converted and to == "int8":
        raise TypeError(f"expected scale or scale_cache beside a cache of int8 and new of {rows.dtype}, found neither")
    if scale_cache is not None:
        _check_table(old, scale_cache, target)
        return "computed", []
    if scale is None:
        return None, []
    return "given", [_of_heads(scale, rows.shape[1], target)]


def _check_table(old: Array, scale_cache: Any, target: str) -> None:
    if _cuda.is_target(target):
        raise TypeError(
            "expected scale for a GPU, found scale_cache, whose scales no kernel computes there; quantise the rows and "
            "append them and their scales as they are"
        )
    table = _tensor.as_array("scale_cache", scale_cache)
    if table.shape != old.shape[:3] or table.dtype != np.float32:
        raise ValueError(
            f"expected scale_cache of float32 of shape {old.shape[:3]}, that of the cache without D, found "
            f"{table.dtype} of {table.shape}"
        )


def _of_heads(scale: Any, heads: int, target: str) -> Any:
    """Scales [Hkv] as a kernel takes them."""
    if _cuda.is_target(target):
        if scale.shape != (heads,) or scale.dtype != np.float32:
            raise ValueError(
                f"expected scale of float32 of shape ({heads},) for a GPU, found {scale.dtype} of {scale.shape}"
            )
        return scale
    array = _tensor.as_numbers("scale", scale)
    if array.dtype.kind not in "fViu":
        raise TypeError(f"expected scale to hold floats, found {array.dtype}")
    if array.size != 1 and array.shape != (heads,):
        raise ValueError(f"expected scale of one element or of shape ({heads},), one a key head, found {array.shape}")
    return np.ascontiguousarray(np.broadcast_to(array.reshape(-1), heads), np.float32)
