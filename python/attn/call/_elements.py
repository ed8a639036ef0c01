"""The element types that calls may have, and their names in problem lines."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.kernel import _tensor

Array = npt.NDArray[Any]

TYPE_NAMES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16"}
# What k and v may be beside a q of another type, as problem lines call it; the first three go with scales.
KEY_NAMES = {"int8": "int8", "float8_e4m3fn": "fp8", "float8_e5m2": "e5m2", "bfloat16": "bf16", "float16": "f16"}
FP8 = ("fp8", "e5m2")
QUANTISED = ("int8", *FP8)
# The types of 8 bits as IR spells them, and their largest finite numbers.
BYTE_NAMES = {"int8": "i8", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2"}
LARGEST = {"int8": 127.0, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def element_type(q: Array, **others: Array | None) -> str:
    """The element type of q, which the others must share.

    Raises:
      TypeError: it is not one of f32, f64, bf16, f16, or they differ.
    """
    name = TYPE_NAMES.get(_tensor.type_name(q.dtype))
    if name is None:
        raise TypeError(f"expected q to be float32, float64, bfloat16 or float16, found {q.dtype}")
    for other, array in others.items():
        if array is not None and array.dtype != q.dtype:
            raise TypeError(f"expected {other} to have the type of q, {q.dtype}, found {array.dtype}")
    return name


def key_type(q: Array, k: Array, v: Array) -> str | None:
    """The type that k and v share where it is not that of q, as problem lines call it.

    Raises:
      TypeError: they differ, or the type is none that goes with q.
    """
    kind = KEY_NAMES.get(_tensor.type_name(k.dtype))
    if k.dtype != q.dtype and (kind is None or (kind not in QUANTISED and q.dtype != np.float32)):
        raise TypeError(
            f"expected k to have the type of q, {q.dtype}, found {k.dtype}; beside float32 it may be float16 or "
            "bfloat16, and with k_scale and v_scale int8, float8_e4m3fn or float8_e5m2"
        )
    if v.dtype != k.dtype:
        raise TypeError(f"expected v to have the type of k, {k.dtype}, found {v.dtype}")
    return None if k.dtype == q.dtype else kind


def scale_of(scale: Any, kind: str | None) -> Any:
    """A scale of keys or values of a type, as `key_type` returns it, with what serving engines leave out or add.

    None is 1 beside fp8, whose numbers are wide enough to do without, and the number 1 is none beside other floats.
    """
    if scale is None and kind in FP8:
        return 1.0
    is_one = isinstance(scale, numbers.Real) and not isinstance(scale, bool) and scale == 1
    return None if is_one and kind not in QUANTISED else scale


def has_wide_result(out_dtype: Any, q: Array) -> bool:
    """Whether out and gradients are float32 beside a q of 16 bits; `out_dtype` is as in `attn.sdpa`.

    Raises:
      TypeError: the type is neither that of q nor, beside 16 bits, float32.
    """
    if out_dtype is None:
        return False
    try:
        name = str(out_dtype).removeprefix("torch.") if "torch." in str(out_dtype) else np.dtype(out_dtype).name
    except TypeError:
        name = repr(out_dtype)
    own = _tensor.type_name(q.dtype)
    if name == "float32" and TYPE_NAMES.get(own) in ("bf16", "f16"):
        return True
    if name != own:
        other = ", or float32" if TYPE_NAMES.get(own) in ("bf16", "f16") else ""
        raise TypeError(f"expected out_dtype to be {own}, the type of q{other}, found {name}")
    return False


def is_widened_into(into: tuple[str, ...], dtype: str) -> bool:
    """Whether what is added to is float32 beside a q of 16 bits of this type."""
    return bool(into) and dtype in ("bf16", "f16")
