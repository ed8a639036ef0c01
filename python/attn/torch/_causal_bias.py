"""PyTorch's causal masks without a matrix (`torch.nn.attention.bias`), as words: they are tensors by name alone."""

from __future__ import annotations

from typing import Any

MODULE = "torch.nn.attention.bias"  # not imported here: who has such a mask has done so
WORDS = {"UPPER_LEFT": "top_left", "LOWER_RIGHT": "bottom_right"}


def is_one(mask: Any) -> bool:
    """Whether a mask is what causal_upper_left or causal_lower_right makes."""
    return type(mask).__module__ == MODULE


def alignment(mask: Any, rows: int, keys: int, ranks: int = 1) -> str | None:
    """Where the diagonal of such a mask lies; None of any other mask.

    Args:
      mask: any.
      rows, keys: of a call.
      ranks: where a sequence is on several, the mask is of a rank's part or of the whole.

    Raises:
      ValueError: it is of other sizes.
    """
    if not is_one(mask):
        return None
    word, found = WORDS[mask.variant.name], (mask.seq_len_q, mask.seq_len_kv)
    if found not in ((rows, keys), (rows * ranks, keys * ranks)):
        raise ValueError(
            f"expected attn_mask of {rows} queries and {keys} keys, found a CausalBias of {found[0]} and {found[1]}; "
            f'write causal="{word}", which is of any sizes'
        )
    return word
