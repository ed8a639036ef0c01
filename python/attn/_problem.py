"""A problem: shapes and structure of one `attn.sdpa` call, checked, hashable, printed as a problem line (SPEC §5)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from attn import _checks

Array = npt.NDArray[Any]

TYPE_NAMES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


@dataclasses.dataclass(frozen=True)
class Problem:
    """One case: what a kernel is compiled for, and the key it is cached by. `None` leaves a feature out."""

    sizes: _checks.Sizes
    dtype: str
    scale: float | None = None
    causal: str | None = None
    window: tuple[int | None, int | None] | None = None
    align: str | None = None
    softcap: float | None = None
    bias: _checks.Shape | None = None
    mask: _checks.Shape | None = None
    layout: str = "bhsd"
    lse: bool = False

    def line(self) -> str:
        """The problem line, as "b2 hq8 hkv2 sq113 sk203 d64 dv64 f32 causal=bottom_right out=lse"."""
        words = [f"{name}{size}" for name, size in zip(self.sizes._fields, self.sizes, strict=True)]
        words.append(self.dtype)
        if self.scale is not None:
            words.append(f"scale={self.scale!r}")
        if self.causal is not None:
            words.append(f"causal={self.causal}")
        if self.window is not None:
            words.append("window=" + ",".join("" if bound is None else str(bound) for bound in self.window))
        if self.align is not None:
            words.append(f"align={self.align}")
        if self.softcap is not None:
            words.append(f"softcap={self.softcap!r}")
        if self.bias is not None:
            words.append(f"bias={_commas(self.bias)}")
        if self.mask is not None:
            words.append("mask=bool" if self.mask == self.sizes.scores else f"mask={_commas(self.mask)}")
        if self.layout != "bhsd":
            words.append(f"layout={self.layout}")
        if self.lse:
            words.append("out=lse")
        return " ".join(words)


def of(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: Any,
    causal: Any,
    window: Any = None,
    align: Any = None,
    softcap: Any,
    bias: Array | None,
    mask: Array | None,
    layout: str = "bhsd",
    return_lse: bool,
) -> Problem:
    """The problem of a call.

    Raises:
      TypeError: the element types are not one of f32, f64 for all of q, k, v, bias, or mask is not bool.
      ValueError: a shape, the scale, softcap or causal is not as SPEC says.
    """
    if q.dtype not in TYPE_NAMES:
        raise TypeError(f"expected q to be float32 or float64, found {q.dtype}")
    for name, array in (("k", k), ("v", v), ("bias", bias)):
        if array is not None and array.dtype != q.dtype:
            raise TypeError(f"expected {name} to have the type of q, {q.dtype}, found {array.dtype}")
    if mask is not None and mask.dtype != np.bool_:
        raise TypeError(f"expected mask to be bool, true = attend, found {mask.dtype}; an additive mask is a bias")
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f'expected layout to be "bhsd" or "bshd", found {layout!r}')
    shapes = [x.shape if layout == "bhsd" or x.ndim != 4 else np.swapaxes(x, 1, 2).shape for x in (q, k, v)]
    sizes = _checks.qkv(*shapes)
    alignment = _checks.alignment("causal", causal, sizes.b)
    window_alignment = _checks.alignment("align", align, sizes.b)
    assert alignment is None or isinstance(alignment, str), "offsets are refused before"
    assert window_alignment is None or isinstance(window_alignment, str), "offsets are refused before"
    return Problem(
        sizes,
        TYPE_NAMES[q.dtype],
        scale=None if scale is None else _checks.scale(scale, sizes.d),
        causal=alignment,
        window=_checks.window(window),
        align=window_alignment,
        softcap=_checks.softcap(softcap),
        bias=None if bias is None else _checks.broadcast("bias", bias.shape, sizes.scores),
        mask=None if mask is None else _checks.broadcast("mask", mask.shape, sizes.scores),
        layout=layout,
        lse=bool(return_lse),
    )


def _commas(shape: _checks.Shape) -> str:
    return ",".join(map(str, shape))
