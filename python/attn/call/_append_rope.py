"""The rotation by positions that `kv_append` does of rows of keys: its tables, and the positions of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _append_text, _checks, _elements, _problem
from attn.kernel import _cuda, _tensor

Array = npt.NDArray[Any]

ARRAYS = ("rope_positions", "rope_cos", "rope_sin")  # in the order of kernels
KEYWORDS = (*ARRAYS, "rope_interleaved")


def of(
    rows: Array, where: Array | None, target: str, given: dict[str, Any]
) -> tuple[_append_text.Rope | None, list[Any]]:
    """How the kernel rotates rows, None for not at all, and what it takes for that.

    Args:
      rows: (B, Hkv, N, D).
      where: the position of the first row of each sequence in its cache; None for rows that go to slots.
      target: of the kernel.
      given: KEYWORDS as in `kv_append`; for a GPU stand-ins of tensors.

    Raises:
      TypeError, ValueError: they are wrong, or do not go with the rows.
    """
    is_interleaved = _checks.flag("rope_interleaved", given["rope_interleaved"])
    cos, sin, places = (given[name] for name in ("rope_cos", "rope_sin", "rope_positions"))
    if cos is None and sin is None:
        if places is not None or is_interleaved:
            raise TypeError("expected rope_cos and rope_sin beside other words of rope, found neither")
        return None, []
    if cos is None or sin is None:
        raise TypeError("expected rope_cos and rope_sin, found one of them")
    cos, sin = (_tensor.as_array(name, x) for name, x in (("rope_cos", cos), ("rope_sin", sin)))
    element = _elements.TYPE_NAMES.get(_tensor.type_name(cos.dtype), "f64")
    if element == "f64" or sin.dtype != cos.dtype:
        raise TypeError(
            f"expected rope_cos and rope_sin of one type, float32, bfloat16 or float16, found {cos.dtype} and "
            f"{sin.dtype}"
        )
    if _tensor.type_name(rows.dtype) not in _elements.TYPE_NAMES:
        raise TypeError(f"expected new of floats beside rope_cos, found {rows.dtype}")
    columns = rows.shape[3]
    if cos.ndim != 2 or cos.shape != sin.shape or not 0 < 2 * cos.shape[1] <= columns or not cos.shape[0]:
        raise ValueError(
            f"expected rope_cos and rope_sin of shape (positions, rotated / 2), with at most {columns} rotated, found "
            f"{cos.shape} and {sin.shape}"
        )
    rope = _append_text.Rope((_problem.DYNAMIC, cos.shape[1]), element, is_interleaved)
    if _cuda.is_target(target):
        if places is None or places.shape != (rows.shape[0], rows.shape[2]):
            raise ValueError(f"expected rope_positions ({rows.shape[0]}, {rows.shape[2]}) of int32 for a GPU")
        return rope, [places, cos, sin]
    return rope, [positions(places, where, rows.shape, cos.shape[0]), cos, sin]


def positions(value: Any, where: Array | None, rows: tuple[int, ...], count: int) -> Array:
    """The position of each row, (B, N), of `count` that tables have: as given, or that in the cache."""
    shape = (rows[0], rows[2])
    if value is None:
        if where is None:
            raise TypeError("expected rope_positions beside slots, which do not say the position of a token")
        array = where[:, None] + np.arange(rows[2])
    else:
        array = _checks.integer_array("rope_positions", value)
        if where is None and array.shape == shape[:1]:
            array = array[:, None]
    if array.shape != shape:
        wanted = shape[:1] if where is None else shape
        raise ValueError(f"expected rope_positions of shape {wanted}, one a row, found {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= count):
        raise ValueError(f"expected rope_positions in 0 to {count - 1}, found {array.min()} to {array.max()}")
    return array.astype(np.int32)
