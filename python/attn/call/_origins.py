"""Where the operands of a call begin in the whole that they are a part of: docs/Semantics.md, "Origins"."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _checks
from attn.kernel import _tensor


class Origins(NamedTuple):
    """Where the operands of a call begin in the whole that they are a part of.

    Attributes:
      q, k: [B], of rows and keys; None for 0.
      b, h: of the batch and of heads; None for 0.
      whole: (Hq, Sq, Sk), by which dropout counts; None where they are those of the call.
    """

    q: npt.NDArray[np.int64] | None = None
    k: npt.NDArray[np.int64] | None = None
    b: int | None = None
    h: int | None = None
    whole: tuple[int, int, int] | None = None

    @property
    def numbers(self) -> list[int]:
        """Those that are numbers, in the order of kernels."""
        return [x for x in (self.b, self.h, *(self.whole or ())) if x is not None]

    def firsts(self) -> tuple[Any, Any, Any, Any]:
        """What is added to each of b, h, i and j, broadcasting to the scores."""
        rows, keys = (0 if x is None else x[:, None, None, None] for x in (self.q, self.k))
        return (self.b or 0, self.h or 0, rows, keys)


def of(
    sizes: _checks.Sizes,
    alignment: Any,
    given: Mapping[str, Any],
    *,
    dropout: Any = None,
    q_origin: Any = None,
    k_origin: Any = None,
    b_origin: Any = None,
    h_origin: Any = None,
    whole: Any = None,
) -> Origins:
    """The origins of a call, checked.

    Args:
      sizes: of the call.
      alignment: of causal or align.
      given: words by name.
      dropout: of the call, None for none.
      q_origin, k_origin, b_origin, h_origin, whole: as in `attn.sdpa`.
    """
    numbers_of = {"b_origin": (b_origin, sizes.b), "h_origin": (h_origin, sizes.hq)}
    checked = {name: None if x is None else _origin(name, x, size) for name, (x, size) in numbers_of.items()}
    lists = {"q_origin": (q_origin, sizes.sq), "k_origin": (k_origin, sizes.sk)}
    arrays = {name: None if x is None else _origin_list(name, x, sizes.b, size) for name, (x, size) in lists.items()}
    first = next((name for name, x in (arrays | checked).items() if x is not None), None)
    if any(x is not None for x in arrays.values()):
        if isinstance(alignment, str) and alignment == "bottom_right":
            raise ValueError(
                f'expected no "bottom_right" beside {first}, as the sizes of the whole are not those of its part; '
                "write offsets, Sk - Sq of the whole for each batch index"
            )
        if alignment is None and _checks.placed(given):
            raise ValueError(
                f"expected align for a {_checks.placed(given)} beside {first}, as the sizes of the whole are not those "
                'of its part; write align="top_left"'
            )
    if whole is not None:
        if not _checks.are_counts(whole, 3):
            raise ValueError(f"expected whole to be sizes (Hq, Sq, Sk), each 1 or greater, found {whole!r}")
        if dropout is None:
            raise ValueError("expected whole beside dropout, which alone reads it; leave it out")
    elif dropout is not None and first is not None:
        raise ValueError(
            f"expected the sizes of the whole beside dropout and {first}, by which dropout counts weights; "
            "write whole=(Hq, Sq, Sk)"
        )
    return Origins(
        arrays["q_origin"],
        arrays["k_origin"],
        checked["b_origin"],
        checked["h_origin"],
        None if whole is None else tuple(int(x) for x in whole),  # type: ignore[arg-type]
    )


def _origin(name: str, value: Any, size: int) -> int:
    if not _checks.is_integer(value):
        raise TypeError(f"expected {name} to be an integer, found {value!r}")
    if not 0 <= value <= _checks.MAX_I32 - size:
        raise ValueError(f"expected {name} in 0 to {_checks.MAX_I32 - size}, found {value}")
    return int(value)


def _origin_list(name: str, value: Any, b: int, size: int) -> npt.NDArray[np.int64]:
    """Origins [B]; one integer is that of all."""
    if isinstance(value, numbers.Integral) or np.ndim(value) == 0:
        return np.full(b, _origin(name, value if isinstance(value, numbers.Integral) else value.item(), size))
    array = _checks.integers(name, value, b)
    if isinstance(value, _tensor.StandIn):  # of a device, where nothing reads values
        return value
    if ((array < 0) | (array > _checks.MAX_I32 - size)).any():
        raise ValueError(f"expected {name} in 0 to {_checks.MAX_I32 - size}, found {array.tolist()}")
    return array
