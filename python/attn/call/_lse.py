"""lse as one number and as the pair (max, log_sum), whose sum it is.

In float32 a number of size 2^k has steps of 2^(k − 23): beside a large maximum, ln l is rounded away. Kernels take the
pair; what a caller has as one number is (lse, 0), with the error of its rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LAYOUTS = ("hn", "nh")  # of packed results

# Beyond these the rounding of lse makes more than the bound of a gradient (docs/Semantics.md) of a weight.
LARGE = {np.dtype(np.float32): 2.0**8, np.dtype(np.float64): 2.0**12}
# How far apart an lse and the sum of its terms may be, in roundings of the type.
STEPS = 4
# From such steps of lse on, results cannot be weighed against each other by it.
LOST_STEP = 2.0**-10
# exp(−this) is below the rounding of float64.
NEGLIGIBLE = 40.0


def terms(lse: Any, shape: tuple[int, ...] | None = None) -> tuple[Any, Any]:
    """The pair that an lse, of this shape, is; of one number (lse, 0).

    On a device 0 is lse − lse, NaN in rows where no kernel reads it.
    """
    if isinstance(lse, tuple):
        if len(lse) != 2:
            raise ValueError(f"expected lse to be an array or the pair (max, log_sum), found {len(lse)} arrays")
        return lse
    if lse is None:
        raise TypeError("expected lse to be an array, found None; write that of the forward call with return_lse=True")
    if shape is not None and tuple(getattr(lse, "shape", shape)) != shape:
        raise ValueError(f"expected lse of shape {shape}, found {tuple(lse.shape)}")
    if isinstance(lse, np.ndarray):
        return lse, np.zeros_like(lse)
    try:
        return lse, lse - lse
    except TypeError as error:
        raise TypeError(
            f"expected lse as the pair (max, log_sum) where arrays have no difference: {type(lse).__name__}; "
            "write those of return_max=True and return_log_sum=True"
        ) from error


def layout(given: str | None, lse: tuple[int, ...], out: tuple[int, ...]) -> str:
    """Which sizes of packed results (total, Hq, Dv) the rows of lse have: "hn" or "nh"; "nh" of others too.

    Raises:
      ValueError: it is neither, or beside results that are not packed; or both are one shape.
    """
    if given not in (None, *LAYOUTS):
        raise ValueError(f'expected lse_layout to be "hn", (Hq, total), or "nh", (total, Hq), found {given!r}')
    if len(out) != 3:
        if given is not None:
            raise ValueError(f"expected lse_layout only beside packed results (total, Hq, Dv), found out1 {out}")
        return "nh"
    if given is None and out[0] == out[1] and lse == out[:2]:
        raise ValueError(
            f'expected lse_layout beside as many rows as heads, {out[0]}, which do not tell it; write lse_layout="hn" '
            'for (Hq, total), as attn returns it, or "nh" for (total, Hq)'
        )
    return given or ("nh" if lse == out[:2] else "hn")


def with_sums(lse: Array, compute: Callable[[], tuple[Array, Array]]) -> tuple[Array, Array]:
    """The pair of an lse that was one number: where it is large and that of this call, with the sums of this call.

    Args:
      lse: of every row.
      compute: the forward pass of this call, its max and log_sum.
    """
    large = is_large(lse)
    if not large.any():
        return lse, np.zeros_like(lse)
    warnings.warn(
        f"attn: lse of {int(large.sum())} rows is beyond {LARGE[lse.dtype]:g}, where one number has lost the sum of a "
        "row: the forward pass runs again; pass (max, log_sum) of return_max=True and return_log_sum=True",
        RuntimeWarning,
        stacklevel=4,
    )
    row_max, log_sum = compute()
    with np.errstate(invalid="ignore"):
        is_own = large & (np.abs(row_max + log_sum - lse) <= STEPS * np.finfo(lse.dtype).eps * np.abs(lse))
    return np.where(is_own, row_max, lse), np.where(is_own, log_sum, np.zeros_like(lse))


def is_large(lse: Array) -> Array:
    """The rows whose lse has lost its sum to rounding."""
    return np.isfinite(lse) & (np.abs(lse) > LARGE.get(lse.dtype, np.inf))


def check_known_sums(lse1: Array, lse2: Array) -> None:
    """Raises where two results cannot be weighed against each other: both lse are large, and neither outweighs."""
    with np.errstate(invalid="ignore"):
        both = _is_lost(lse1) & _is_lost(lse2) & (np.abs(lse1 - lse2) < NEGLIGIBLE)
    if both.any():
        where = tuple(int(x) for x in np.argwhere(both)[0])
        raise ValueError(
            f"expected lse1 and lse2 that hold the sums of their rows, found {lse1[where]:g} and {lse2[where]:g} at "
            f"{where}, which have lost them to rounding; write (max, log_sum) of return_max=True and "
            "return_log_sum=True for each"
        )


def _is_lost(lse: Array) -> Array:
    return np.isfinite(lse) & (np.abs(lse) * np.finfo(lse.dtype).eps >= LOST_STEP)
