"""What is written here for keywords of other systems, and the error of a keyword that a function does not have.

One table for all functions, which problem lines share (OtherWords.def). Where the function called lacks the keyword
that a row names, the error says which has it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from attn.words import _others

# How near a name must be to one that is known to be taken for it, from 0 to 1.
OWN_CLOSENESS, OTHER_CLOSENESS = 0.65, 0.85


class Row(NamedTuple):
    """What to write in the place of a keyword.

    Attributes:
      needs: the keyword of attn that the text is about; empty where it is about none.
      text: the words behind "write".
    """

    needs: str
    text: str


Rows = tuple[Row, ...]  # the first that the function has is what to write

OTHERS: dict[str, Rows] = {
    name: tuple(Row(*pair) for pair in pairs) for names, pairs in _others.OTHERS for name in names.split(", ")
}

# What a function of attn lacks that another one has.
OWN: dict[str, Rows] = {
    "q": (Row("query", "query"),),
    "k": (Row("key", "key"), Row("k_cache", "k_cache")),
    "v": (Row("value", "value"), Row("v_cache", "v_cache")),
    "bias": OTHERS["attention_bias"][1:],
    "mask": OTHERS["attn_mask"][1:],
    "q_lengths": OTHERS["seqused_q"][1:],
    "kv_lengths": OTHERS["seqused_k"][1:],
    "causal": (Row("is_causal", "is_causal="),),
    "dropout": OTHERS["dropout_p"][1:],
    "alibi_slopes": OTHERS["alibi"][1:],
}
# Which function has the keywords that not all have, by the first that has them.
HOMES: dict[str, tuple[str, ...]] = {
    "attn.sdpa": (
        *("q", "k", "v", "scale", "causal", "window", "chunk", "prefix", "softcap", "bias", "mask", "sink", "align"),
        *("q_lengths", "kv_lengths", "score_mod", "mask_mod", "alibi_slopes", "softcap_first", "dropout", "layout"),
        *("heads", "k_scale", "v_scale", "q_scale", "out_scale"),
        *("q_origin", "k_origin", "b_origin", "h_origin", "whole"),
        *("return_lse", "return_weights", "return_max", "return_log_sum", "return_key_sums", "out_dtype", "into"),
        *("dynamic", "target"),
    ),
    "attn.varlen_sdpa": ("cu_seqlens_q", "cu_seqlens_k", "out"),
    "attn.paged_sdpa": ("k_cache", "v_cache", "block_table", "page_layout"),
    "attn.kv_append": ("slots", "scale_cache", "rope_cos", "rope_sin", "rope_positions", "rope_interleaved"),
    "attn.sdpa_backward": ("lse", "dout", "dlse", "grad"),
    "attn.linear_attention": (
        *("decay", "beta", "erase", "write", "before", "normalize", "state", "cu_seqlens", "every", "return_state"),
    ),
    "attn.multi_head": ("x", "w_q", "w_k", "w_v", "w_o", "kv_heads"),
    "attn.compile": ("source", "name", "parallel", "reference", "fail_on_fallback", "cache"),
    "attn.merge": ("lse_layout",),
    "attn.torch.sdpa": ("attn_mask", "dropout_p", "is_causal", "enable_gqa"),
    "attn.torch.paged_sdpa": ("last_page_len",),
}


def unknown(function: str, name: str, known: Iterable[str]) -> TypeError:
    """The error of a keyword that a function does not have: what to write in its place.

    Args:
      function: its name, as users call it.
      name: the keyword.
      known: the keywords that the function has.
    """
    return TypeError(f"{function}() has no keyword {name!r}; {_advise(name, list(known))}")


def _advise(name: str, known: list[str]) -> str:
    if name in OTHERS:
        return _write(OTHERS[name], known)
    if any(row.needs in known for row in OWN.get(name, ())):
        return _write(OWN[name], known)
    home = _home(name)
    if home:
        return f"{home} has it"
    near = difflib.get_close_matches(name, known, n=1, cutoff=OWN_CLOSENESS)
    other = difflib.get_close_matches(name, OTHERS, n=1, cutoff=OTHER_CLOSENESS)
    if near and difflib.get_close_matches(name, [*near, *other], n=1, cutoff=OWN_CLOSENESS) == near:
        return f"did you mean {near[0]!r}?"
    if other:
        return f"for {other[0]!r} {_write(OTHERS[other[0]], known)}"
    return f"write one of {', '.join(known)}"


def _write(rows: Rows, known: list[str]) -> str:
    """What to write, of the rows the first that the function has; where it has none, what another function has."""
    for row in rows:
        if not row.needs or row.needs in known:
            return f"write {row.text}"
    first = next((row for row in rows if _home(row.needs)), rows[0])
    return f"{_home(first.needs)} has {first.text}"


def _home(name: str) -> str:
    return next((function for function, names in HOMES.items() if name in names), "")
