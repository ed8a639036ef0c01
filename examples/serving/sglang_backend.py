"""An attention backend of SGLang by attn, to copy; test/frameworks/test_engine_backends.py runs it. In SGLang:

register_attention_backend("attn")(AttnBackend)  # of sglang.srt.layers.attention.attention_registry
"""

from __future__ import annotations

import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend

import attn.torch as at


class AttnBackend(AttentionBackend):
    """Decoders, and encoders without a cache of another sequence: any page size, windows, softcaps, sinks."""

    def __init__(self, model_runner):
        super().__init__()
        self.page = model_runner.page_size
        self.req_to_token = model_runner.req_to_token_pool.req_to_token

    def init_forward_metadata(self, forward_batch):
        step = forward_batch
        is_decode = step.forward_mode.is_decode_or_idle()
        counts = torch.ones_like(step.seq_lens) if is_decode else step.extend_seq_lens
        sums = torch.nn.functional.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
        # Slots of tokens: a page is that of its first one.
        table = self.req_to_token[step.req_pool_indices, : int(step.seq_lens_cpu.max()) : self.page] // self.page
        self.arguments, self.sums = (table.to(torch.int32), step.seq_lens.to(torch.int32)), sums

    def forward_extend(self, q, k, v, layer, forward_batch, save_kv_cache=True, sinks=None):
        if layer.is_cross_attention or layer.attn_type.value not in ("decoder", "encoder_only"):
            raise NotImplementedError("attn's backend has no cross attention and no bidirectional image tokens")
        pool = forward_batch.token_to_kv_pool
        if save_kv_cache and k is not None:
            pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
        caches = [x.unflatten(0, (-1, self.page)) for x in pool.get_kv_buffer(layer.layer_id)]
        words = {"scale": layer.scaling, "sink": sinks, "softcap": layer.logit_cap or None}
        words["window"] = None if layer.sliding_window_size in (None, -1) else (layer.sliding_window_size, 0)
        is_causal = layer.attn_type.value == "decoder"
        words["causal" if is_causal else "align"] = "bottom_right" if is_causal or words["window"] else None
        words = {name: x for name, x in words.items() if x is not None}
        rows = q.view(-1, layer.tp_q_head_num, layer.qk_head_dim)
        return at.paged_sdpa(rows, *caches, *self.arguments, cu_seqlens_q=self.sums, **words).flatten(1)

    forward_decode = forward_extend  # one call for both
