"""The masks of transformers as predicates: what keeps a key is said by words, and no matrix of a mask is made.

A model makes its mask once and hands it to its layers as a tensor. `Predicate` is such a tensor without memory: the
layer's attention reads its words; whatever else a model does with it computes on the dense mask, made then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

Tensor = torch.Tensor


class Words(NamedTuple):
    """Which keys a mask keeps, whatever their values.

    Attributes:
      window: (L, R) as in `attn.sdpa`; R is None for a causal one.
      offset: what is between positions of queries and of keys, a number or an integer tensor without dimensions.
      padding: bool (B, 1, 1, Sk), keys that are there; None for all.
    """

    window: tuple[int | None, int | None] | None
    is_causal: bool
    offset: int | Tensor
    padding: Tensor | None


class Predicate(Tensor):
    """A mask (B, 1, Sq, Sk) of bool that is its words."""

    words: Words

    @staticmethod
    def __new__(
        cls: type[Predicate], words: Words, shape: tuple[int, int, int, int], device: torch.device
    ) -> Predicate:
        """A tensor without memory."""
        made: Predicate = Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device=device)
        made.words = words
        return made

    def __repr__(self, *_: Any, **__: Any) -> str:
        return f"Predicate({self.words}, shape={tuple(self.shape)})"

    def dense(self) -> Tensor:
        """The mask that it stands for."""
        rows, keys = self.shape[2:]
        words = self.words
        i = torch.arange(rows, device=self.device)[:, None] + words.offset
        j = torch.arange(keys, device=self.device)
        left, right = words.window or (None, None)
        kept = torch.ones(rows, keys, dtype=torch.bool, device=self.device)
        if words.is_causal:
            kept &= j <= i
        if left is not None:
            kept &= j >= i - left
        if right is not None:
            kept &= j <= i + right
        kept = kept[None, None]
        return (kept if words.padding is None else kept & words.padding).expand(self.shape)

    def options(self, query: Tensor, key: Tensor) -> dict[str, Any] | None:
        """The keywords of `attn.torch.sdpa` for this mask; None where it is one of other sizes."""
        if (query.shape[0], query.shape[2], key.shape[2]) != (self.shape[0], *self.shape[2:]):
            return None
        words = self.words
        made: dict[str, Any] = {"attn_mask": words.padding, "window": words.window}
        name = "causal" if words.is_causal else "align"
        if words.is_causal or words.window is not None:
            made[name] = self._alignment()
        return made

    def _alignment(self) -> str | Tensor:
        offset, (batch, _, rows, keys) = self.words.offset, self.shape
        if isinstance(offset, Tensor):
            return offset.to(torch.int32).expand(batch)
        if offset == keys - rows:
            return "bottom_right"
        if offset == 0:
            return "top_left"
        return torch.full((batch,), offset, dtype=torch.int32, device=self.device)

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        """Any operator computes on the dense mask."""
        if function is torch.ops.aten.detach.default:
            return cls(arguments[0].words, tuple(arguments[0].shape), arguments[0].device)
        dense = lambda x: x.dense() if isinstance(x, Predicate) else x  # noqa: E731
        arguments, keywords = pytree.tree_map(dense, (arguments, keywords or {}))
        return function(*arguments, **keywords)


def predicate(make: Callable[..., Tensor | None], keywords: dict[str, Any]) -> Tensor | None:
    """The mask of `make` as a predicate, where its words say it exactly; otherwise what `make` makes.

    Args:
      make: transformers' `sdpa_mask`, which also decides where no mask is needed.
      keywords: its arguments.
    """
    known = _known(keywords.get("mask_function"))
    if known is None or keywords.get("use_vmap"):
        return make(**keywords)
    # Only what transformers adds to the function, padding: one number a key, however many queries it is expanded to.
    rest = make(**keywords | {"mask_function": lambda b, h, i, j: torch.ones_like(j, dtype=torch.bool)})
    if rest is None:
        return None
    padding: Tensor | None = rest[:, :, :1]
    if bool(padding.all()):
        padding = None
    is_causal, window = known
    offset = keywords.get("q_offset", 0) - keywords.get("kv_offset", 0)
    return Predicate(Words(window, is_causal, offset, padding), tuple(rest.shape), rest.device)


def of_whole(keywords: dict[str, Any], has_documents: bool) -> Predicate:
    """The mask of a sequence on several ranks, by its words alone: positions count from the start of the whole.

    Documents that transformers finds in the positions of a shard are those of `context_parallel(…, cu_seqlens=)`, and
    where a zigzag shard jumps there is none.

    Args:
      keywords: the arguments of transformers' `sdpa_mask`.
      has_documents: the context has cu_seqlens.

    Raises:
      ValueError: keys are padding, or the mask has no words, or documents that the context does not have.
    """
    padding, function = keywords.get("attention_mask"), keywords.get("mask_function")
    if padding is not None and not bool(padding.all()):
        raise ValueError(
            "expected no padding in a sequence on several ranks, found an attention_mask that removes tokens; pack the "
            "sequences, and write context_parallel(…, cu_seqlens=…)"
        )
    known = _known(_without_documents(function, has_documents))
    if known is None:
        raise ValueError(
            f"expected a mask of causal, window or cu_seqlens in a sequence on several ranks, found {function}; run "
            "such a model on one rank"
        )
    is_causal, window = known
    sizes = (keywords["batch_size"], 1, keywords["q_length"], keywords["kv_length"])
    return Predicate(Words(window, is_causal, 0, None), sizes, torch.device(keywords.get("device") or "cpu"))


def _without_documents(function: Any, has_documents: bool) -> Any:
    """A mask function without the documents that transformers has found in the positions of a shard.

    Raises:
      ValueError: positions start again, and nobody has said where documents start.
    """
    from transformers import masking_utils as made

    parts = (_cells(function, made.and_masks(made.causal_mask_function)) or {}).get("mask_functions")
    if not isinstance(parts, tuple) or len(parts) != 2:
        return function
    if not _cells(parts[1], made.packed_sequence_mask_function(None)):
        return function
    function = parts[0]
    remap = getattr(made, "remap_positions_for_packed_sequence", None)  # of transformers 5
    cells = _cells(function, remap(None, None)) if remap else None
    if not cells:
        return function
    if not has_documents and bool((cells["position_ids"].diff(dim=-1) <= 0).any()):
        raise ValueError(
            "expected cu_seqlens beside positions of packed documents, found position_ids that start again; write "
            "context_parallel(…, cu_seqlens=[0, …])"
        )
    return cells["mask_function"]


def _known(function: Any) -> tuple[bool, tuple[int | None, int | None] | None] | None:
    """Whether a function of transformers is causal, and its window; None for a function that has no words."""
    from transformers import masking_utils as made

    if function is made.causal_mask_function:
        return True, None
    cells = _cells(function, made.and_masks(made.causal_mask_function))
    parts = cells.get("mask_functions") if cells else None
    if not isinstance(parts, tuple) or len(parts) != 2:
        return None
    one_sided = _cells(parts[0], made.sliding_window_overlay(1))
    if one_sided and parts[1] is made.causal_mask_function:
        size = one_sided.get("sliding_window")
        return (True, (size - 1, None)) if _is_size(size) else None
    two_sided = _cells(parts[0], made.sliding_window_bidirectional_overlay(1))
    if two_sided and parts[1] is made.bidirectional_mask_function:
        size = two_sided.get("sliding_window")
        return (False, (size, size)) if _is_size(size) else None
    return None


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _cells(function: Any, model: Any) -> dict[str, Any] | None:
    """What a function has from where it was made, where its code is that of `model`."""
    if getattr(function, "__code__", None) is not model.__code__:
        return None
    values = [x.cell_contents for x in function.__closure__ or ()]
    return dict(zip(function.__code__.co_freevars, values, strict=True))
