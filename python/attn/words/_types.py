"""Types of the public signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

import numpy.typing as npt

if TYPE_CHECKING:
    from attn.trace._symbols import Symbol


class Tensor(Protocol):
    """What speaks DLPack, without strides that overlap: arrays of NumPy, PyTorch, JAX and CuPy."""

    def __dlpack__(self, *, stream: int | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


TensorT = TypeVar("TensorT", bound=Tensor)
#: Integers, one a batch index or sequence.
Integers: TypeAlias = Sequence[int] | Tensor
#: (out, lse) or (out, (max, log_sum)), what a call adds its keys to.
State: TypeAlias = tuple[Tensor, Tensor | tuple[Tensor, Tensor]]
#: Where the diagonal of a mask lies: at a corner, or offsets [B].
Alignment: TypeAlias = Literal["top_left", "bottom_right"] | Integers
#: A number in a traced function: a symbol, or a plain number or array where nothing is traced.
Value: TypeAlias = "Symbol | npt.ArrayLike"
#: score_mod(score, b, h, i, j) → score, and mask_mod(b, h, i, j) → bool.
ScoreMod: TypeAlias = Callable[["Symbol", "Symbol", "Symbol", "Symbol", "Symbol"], Value]
MaskMod: TypeAlias = Callable[["Symbol", "Symbol", "Symbol", "Symbol"], Value]
