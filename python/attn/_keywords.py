"""What is written here for keywords of other systems, and the error of a keyword that a function does not have.

One table for all functions. Where the function called lacks the keyword that a row names, the error says which has it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

# How near a name must be to one that is known to be taken for it, from 0 to 1.
OWN_CLOSENESS, OTHER_CLOSENESS = 0.65, 0.85


class Row(NamedTuple):
    """What to write in the place of a keyword.

    Attributes:
      text: the words behind "write".
      needs: the keyword of attn that the text is about; empty where it is about none.
    """

    text: str
    needs: str = ""


Rows = tuple[Row, ...]  # the first that the function has is what to write

BIAS = (
    Row("bias=, which is added to the scores", "bias"),
    Row("score_mod=lambda score, b, h, i, j: score + bias[b, h, i, j]", "score_mod"),
)
MASK = (
    Row("mask=, a bool array, true = attend, or bias=, which is added to the scores", "mask"),
    Row("attn_mask=, true = attend", "attn_mask"),
    Row("mask_mod=lambda b, h, i, j: keep[b, h, i, j]", "mask_mod"),
)
PACKED_Q = Row("cu_seqlens_q, the exclusive prefix sums of the lengths of queries", "cu_seqlens_q")
PACKED_K = Row("cu_seqlens_k, the exclusive prefix sums of the lengths of keys", "cu_seqlens_k")
QUERY_LENGTHS = (Row("q_lengths=, the number of queries of each sequence", "q_lengths"), PACKED_Q)
LENGTHS = (Row("kv_lengths=, the number of keys of each sequence", "kv_lengths"), PACKED_K)
PADDING = (Row("q_lengths= and kv_lengths=", "kv_lengths"), Row("cu_seqlens_q and cu_seqlens_k", "cu_seqlens_k"))
LEFT_PADDING = (Row("mask=, false for the keys of the padding", "mask"), MASK[-1])
HEADS = (
    Row("heads and kv_heads", "kv_heads"),
    Row('heads=, or heads=(query heads, key heads), for layout="bsd"; other layouts show them', "heads"),
)
CAUSAL = Row('causal="top_left", or causal="bottom_right", where the last query sees all keys', "causal")
WINDOW = Row('window=(left, right), both inclusive, beside causal= or align="bottom_right"', "window")
SLIDING = Row('window=(size - 1, 0) beside causal="bottom_right", for a size that counts the query itself', "window")
SCALE = Row("scale=", "scale")
DROPOUT = (Row("dropout=(p, seed, offset)", "dropout"), Row("dropout_p=", "dropout_p"))
WEIGHTS = Row("return_weights=True", "return_weights")
LSE = Row("return_lse=True", "return_lse")
SOFTCAP = Row("softcap=", "softcap")
SINK = Row("sink=, one score a query head", "sink")
ALIBI = Row("score_mod=lambda score, b, h, i, j: score - slopes[h] * (i - j)", "score_mod")
TABLE = Row("block_table, (batch, pages of a sequence)", "block_table")
PAGES = Row("k_cache and v_cache", "k_cache")
LAYOUT = Row('layout="bhsd", "bshd" or "bsd"', "layout")
PAGE_LAYOUT = Row('page_layout="nhd" or "hnd"', "page_layout")
K_SCALE = Row("k_scale= and v_scale=", "k_scale")
GROUPED = Row("nothing: fewer heads of k and v are grouped")
NO_LENGTH = Row("nothing: lengths are read from the arrays")
SAME_BITS = Row("nothing: results have the same bits in every run")
CHOSEN = Row("nothing: the compiler chooses tiles, splits and instructions")
ROTATED = Row("nothing: q and k are given rotated; positions have no other part here")
CACHED = Row("nothing: give all keys and values in k and v; attn.kv_append writes new ones to a cache")
F32_SUMS = Row("nothing: scores, state and sums are float32, of float64 inputs float64")
PROJECTIONS = Row("attn.multi_head for attention with its projections")

# By keyword; the comments name where they come from, the first of several.
OTHERS: dict[str, Row | Rows] = {
    # PyTorch: scaled_dot_product_attention, MultiheadAttention, FlexAttention, varlen_attn
    "query": Row("q", "q"),
    "key": (Row("k", "k"), Row("k_cache", "k_cache")),
    "value": (Row("v", "v"), Row("v_cache", "v_cache")),
    "is_causal": CAUSAL,
    "attn_mask": MASK,
    "dropout_p": DROPOUT,
    "enable_gqa": GROUPED,
    "key_padding_mask": (
        Row("kv_lengths=, where padding follows the keys, or mask=keep[:, None, None]", "mask"),
        *LENGTHS,
    ),
    "need_weights": WEIGHTS,
    "average_attn_weights": Row("return_weights=True, and the mean of the weights over axis 1", "return_weights"),
    "num_heads": HEADS,
    "embed_dim": PROJECTIONS,
    "batch_first": LAYOUT,
    "add_bias_kv": Row("nothing: append the row to k and v"),
    "add_zero_attn": Row("nothing: append a row of zeros to k and v"),
    "block_mask": Row("mask_mod=, the function that create_block_mask was given", "mask_mod"),
    "kernel_options": CHOSEN,
    "return_aux": LSE,
    "cu_seq_q": PACKED_Q,
    "cu_seq_k": PACKED_K,
    "max_q": NO_LENGTH,
    "max_k": NO_LENGTH,
    # FlashAttention
    "softmax_scale": SCALE,
    "window_size": WINDOW,
    "alibi_slopes": ALIBI,
    "deterministic": SAME_BITS,
    "return_attn_probs": Row("return_lse=True, or return_weights=True", "return_lse"),
    "return_softmax": WEIGHTS,
    "return_softmax_lse": LSE,
    "max_seqlen_q": NO_LENGTH,
    "max_seqlen_k": NO_LENGTH,
    "cu_seqlens": Row("cu_seqlens_q and cu_seqlens_k", "cu_seqlens_q"),
    "cache_seqlens": LENGTHS,
    "seqused_q": QUERY_LENGTHS,
    "seqused_k": LENGTHS,
    "leftpad_k": LEFT_PADDING,
    "cache_leftpad": LEFT_PADDING,
    "cache_batch_idx": Row("nothing: index the cache, or write block_table of attn.paged_sdpa"),
    "page_table": TABLE,
    "rotary_cos": ROTATED,
    "rotary_sin": ROTATED,
    "rotary_interleaved": ROTATED,
    "num_splits": CHOSEN,
    "pack_gqa": CHOSEN,
    "sm_margin": CHOSEN,
    "scheduler_metadata": CHOSEN,
    "attention_chunk": Row("chunk=", "chunk"),
    "learnable_sink": SINK,
    "q_descale": Row("scale=, with the factor of q in it", "scale"),
    "k_descale": K_SCALE,
    "v_descale": K_SCALE,
    # FlashInfer
    "sm_scale": SCALE,
    "logits_soft_cap": SOFTCAP,
    "window_left": Row('window=(left, None), beside causal="bottom_right"', "window"),
    "custom_mask": MASK,
    "packed_custom_mask": Row("mask=, a bool array, one byte a key, true = attend", "mask"),
    "kv_layout": PAGE_LAYOUT,
    "pos_encoding_mode": Row("score_mod= for ALiBi; q and k are given rotated for RoPE", "score_mod"),
    "qo_indptr": PACKED_Q,
    "kv_indptr": PACKED_K,
    "paged_kv_cache": PAGES,
    "paged_kv_indptr": TABLE,
    "paged_kv_indices": TABLE,
    "kv_indices": TABLE,
    "paged_kv_last_page_len": LENGTHS,
    "kv_last_page_len": LENGTHS,
    "kv_len_arr": LENGTHS,
    "num_qo_heads": HEADS,
    "page_size": Row("nothing: k_cache shows it"),
    "rope_scale": ROTATED,
    "rope_theta": ROTATED,
    "use_fp16_qk_reduction": F32_SUMS,
    "use_tensor_cores": CHOSEN,
    # xFormers
    "attn_bias": (Row("bias=, which is added, or causal= for LowerTriangularMask", "bias"), BIAS[1]),
    "p": DROPOUT,
    "op": CHOSEN,
    # JAX, Pallas, Flax
    "query_seq_lengths": QUERY_LENGTHS,
    "key_value_seq_lengths": LENGTHS,
    "local_window_size": WINDOW,
    "implementation": CHOSEN,
    "return_residual": LSE,
    "segment_ids": Row("mask_mod=lambda b, h, i, j: ids[b, i] == ids[b, j]", "mask_mod"),
    "block_sizes": CHOSEN,
    "ab": BIAS,
    "precision": F32_SUMS,
    "dropout_rate": DROPOUT,
    "dropout_rng": DROPOUT,
    # ONNX, ONNX Runtime
    "q_num_heads": HEADS,
    "kv_num_heads": HEADS,
    "nonpad_kv_seqlen": LENGTHS,
    "past_key": CACHED,
    "past_value": CACHED,
    "qk_matmul_output_mode": WEIGHTS,
    "softmax_precision": F32_SUMS,
    "seqlens_k": LENGTHS,
    "attention_bias": BIAS,
    "unidirectional": CAUSAL,
    "do_rotary": ROTATED,
    "smooth_softmax": Row("sink=zeros, one a query head", "sink"),
    "head_sink": SINK,
    # cuDNN
    "attn_scale": SCALE,
    "use_causal_mask": CAUSAL,
    "use_causal_mask_bottom_right": Row('causal="bottom_right"', "causal"),
    "use_alibi_mask": ALIBI,
    "use_padding_mask": PADDING,
    "seq_len_q": QUERY_LENGTHS,
    "seq_len_kv": LENGTHS,
    "sliding_window_length": SLIDING,
    "diagonal_alignment": Row('align="top_left" or "bottom_right"', "align"),
    "diagonal_band_left_bound": WINDOW,
    "diagonal_band_right_bound": WINDOW,
    "generate_stats": LSE,
    "is_inference": Row("return_lse=True for training", "return_lse"),
    "sink_token": SINK,
    "score_modifier": Row("score_mod=", "score_mod"),
    "paged_attention_k_table": TABLE,
    "paged_attention_v_table": TABLE,
    "paged_attention_max_seq_len_kv": NO_LENGTH,
    "compute_data_type": F32_SUMS,
    # TensorRT, TensorRT-LLM
    "q_scaling": Row("scale=1 / (q_scaling * sqrt(head size))", "scale"),
    "sequence_length": LENGTHS,
    "host_past_key_value_lengths": LENGTHS,
    "attention_window_size": SLIDING,
    "max_attention_window_size": SLIDING,
    "sink_token_length": Row("prefix=, the number of keys that every query sees", "prefix"),
    "relative_attention_bias": BIAS,
    "kv_cache_block_offsets": TABLE,
    "decomposable": CHOSEN,
    # Hugging Face transformers
    "attention_mask": MASK,
    "head_mask": Row("nothing: multiply the heads of out by it"),
    "scaling": SCALE,
    "sliding_window": SLIDING,
    "output_attentions": WEIGHTS,
    "attention_dropout": DROPOUT,
    "attn_logit_softcapping": SOFTCAP,
    "s_aux": SINK,
    "position_bias": BIAS,
    "position_ids": ROTATED,
    "position_embeddings": ROTATED,
    "past_key_value": CACHED,
    "past_key_values": CACHED,
    "use_cache": CACHED,
    "cache_position": CACHED,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "num_key_value_groups": GROUPED,
    # vLLM, SGLang
    "kv_cache": PAGES,
    "key_cache": PAGES,
    "value_cache": PAGES,
    "block_tables": TABLE,
    "block_size": Row("nothing: k_cache shows it"),
    "seq_lens": LENGTHS,
    "context_lens": LENGTHS,
    "query_start_loc": PACKED_Q,
    "max_query_len": NO_LENGTH,
    "max_seq_len": NO_LENGTH,
    "num_kv_heads": HEADS,
    "head_size": Row("nothing: the last dimension of q shows it"),
    "kv_cache_dtype": K_SCALE,
    "sinks": SINK,
    "logit_cap": SOFTCAP,
    # Keras, TensorFlow
    "return_attention_scores": WEIGHTS,
    "key_dim": Row("nothing: the last dimension of q shows it"),
    "value_dim": Row("nothing: the last dimension of v shows it"),
    "attention_axes": LAYOUT,
    "flash_attention": CHOSEN,
    "dropout_seed": DROPOUT,
    "training": Row("dropout=(p, seed, offset) in training, and none outside of it", "dropout"),
    "query_mask": QUERY_LENGTHS,
    "value_mask": LENGTHS,
    # MLX
    "memory_efficient_threshold": CHOSEN,
    "stream": Row("nothing: kernels for a GPU start on the stream that the library of q uses"),
    # SageAttention, PaddlePaddle, Ascend
    "tensor_layout": LAYOUT,
    "smooth_k": Row("k - k.mean(axis=2), whose softmax is the same"),
    "pv_accum_dtype": F32_SUMS,
    "fixed_seed_offset": DROPOUT,
    "startend_row_indices": Row("mask_mod=, a condition on (b, h, i, j) that reads the array", "mask_mod"),
    "atten_mask": Row("mask=, a bool array, true = attend: the opposite of it", "mask"),
    "padding_mask": PADDING,
    "pse": BIAS,
    "keep_prob": Row("dropout=(1 - keep_prob, seed, offset)", "dropout"),
    "head_num": HEADS,
    "input_layout": LAYOUT,
    "pre_tockens": WINDOW,
    "next_tockens": WINDOW,
    "actual_seq_qlen": PACKED_Q,
    "actual_seq_kvlen": PACKED_K,
}

# What a function of attn lacks that another one has.
OWN: dict[str, Rows] = {
    "q": (Row("query", "query"),),
    "k": (Row("key", "key"), Row("k_cache", "k_cache")),
    "v": (Row("value", "value"), Row("v_cache", "v_cache")),
    "bias": BIAS[1:],
    "mask": MASK[1:],
    "q_lengths": (PACKED_Q,),
    "kv_lengths": (PACKED_K,),
    "causal": (Row("is_causal=", "is_causal"),),
    "dropout": DROPOUT[1:],
}
# Which function has the keywords that not all have, by the first that has them.
HOMES: dict[str, tuple[str, ...]] = {
    "attn.sdpa": (
        *("q", "k", "v", "scale", "causal", "window", "chunk", "prefix", "softcap", "bias", "mask", "sink", "align"),
        *("q_lengths", "kv_lengths", "score_mod", "mask_mod", "dropout", "layout", "heads", "k_scale", "v_scale"),
        *("q_origin", "k_origin", "b_origin", "h_origin", "whole"),
        *("return_lse", "return_weights", "return_max", "return_log_sum", "return_key_sums", "out_dtype", "into"),
        *("dynamic", "target"),
    ),
    "attn.varlen_sdpa": ("cu_seqlens_q", "cu_seqlens_k"),
    "attn.paged_sdpa": ("k_cache", "v_cache", "block_table", "page_layout"),
    "attn.sdpa_backward": ("out", "lse", "dout", "dlse", "grad"),
    "attn.multi_head": ("x", "w_q", "w_k", "w_v", "w_o", "kv_heads"),
    "attn.compile": ("source", "name", "parallel", "reference", "fail_on_fallback", "cache"),
    "attn.torch.sdpa": ("attn_mask", "dropout_p", "is_causal", "enable_gqa"),
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
    if near:
        return f"did you mean {near[0]!r}?"
    other = difflib.get_close_matches(name, OTHERS, n=1, cutoff=OTHER_CLOSENESS)
    if other:
        return f"for {other[0]!r} {_write(OTHERS[other[0]], known)}"
    return f"write one of {', '.join(known)}"


def _write(rows: Row | Rows, known: list[str]) -> str:
    """What to write, of the rows the first that the function has; where it has none, what another function has."""
    choices = (rows,) if isinstance(rows, Row) else rows
    for row in choices:
        if not row.needs or row.needs in known:
            return f"write {row.text}"
    first = next((row for row in choices if _home(row.needs)), choices[0])
    return f"{_home(first.needs)} has {first.text}"


def _home(name: str) -> str:
    return next((function for function, names in HOMES.items() if name in names), "")
