"""The keywords that all overloads of a call share, for type checkers.

What a call returns depends on its other keywords alone, those that begin with `return_`.
"""

from __future__ import annotations

from typing import Any

from attn._types import Alignment, Integers, MaskMod, ScoreMod, State, Tensor
from attn._words import Words


class Packed(Words, total=False):
    """Of `attn.varlen_sdpa`, but for what says how much it returns."""

    scale: float | Tensor | None
    causal: Alignment | None
    sink: Tensor | None
    align: Alignment | None
    score_mod: ScoreMod | None
    mask_mod: MaskMod | None
    k_scale: Tensor | None
    v_scale: Tensor | None
    out_dtype: Any
    into: State | None
    q_origin: int | Integers | None
    k_origin: int | Integers | None
    dynamic: bool
    target: str


class Paged(Packed, total=False):
    """Of `attn.paged_sdpa`."""

    page_layout: str
    bias: Tensor | None
    mask: Tensor | None
    q_lengths: Integers | None
    cu_seqlens_q: Integers | None


class Dense(Packed, total=False):
    """Of `attn.sdpa`."""

    bias: Tensor | None
    mask: Tensor | None
    q_lengths: Integers | None
    kv_lengths: Integers | None
    dropout: tuple[float, int, int] | None
    b_origin: int | None
    h_origin: int | None
    whole: tuple[int, int, int] | None
    layout: str
    heads: int | tuple[int, int] | None
