"""An attention backend of vLLM (v1) by attn, to copy; test/frameworks/test_engine_backends.py runs it. In a plugin:

register_backend(AttentionBackendEnum.CUSTOM, "vllm_backend.AttnBackend")  # of vllm.v1.attention.backends.registry
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from vllm.v1.attention.backend import AttentionBackend, AttentionImpl, AttentionMetadata, AttentionMetadataBuilder

import attn.torch as at


class AttnBackend(AttentionBackend):
    """Decoders of any head and block size: windows, softcaps, sinks, ALiBi; bits of a request depend on no other."""

    supported_dtypes: ClassVar = [torch.float32, torch.float16, torch.bfloat16]
    get_name = staticmethod(lambda: "CUSTOM")
    get_impl_cls = staticmethod(lambda: AttnImpl)
    get_builder_cls = staticmethod(lambda: AttnMetadataBuilder)
    supports_sink = supports_non_causal = supports_batch_invariance = classmethod(lambda cls: True)

    @staticmethod
    def get_kv_cache_shape(num_blocks, block_size, num_kv_heads, head_size, cache_dtype_str="auto"):
        return (2, num_blocks, block_size, num_kv_heads, head_size)


@dataclasses.dataclass
class AttnMetadata(AttentionMetadata):
    """A step, for all layers."""

    tokens: int  # without padding
    slots: torch.Tensor
    arguments: tuple[torch.Tensor, torch.Tensor]  # block table and lengths
    sums: torch.Tensor  # prefix sums of queries
    is_causal: bool


class AttnMetadataBuilder(AttentionMetadataBuilder[AttnMetadata]):
    """Plans nothing: sizes are values of a call."""

    def __init__(self, kv_cache_spec, layer_names, vllm_config, device):
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)

    def build(self, common_prefix_len, common_attn_metadata, fast_build=False):
        step = common_attn_metadata
        tokens, count = step.num_actual_tokens, step.num_reqs
        arguments = (step.block_table_tensor[:count], step.seq_lens[:count])
        sums = step.query_start_loc[: count + 1]
        return AttnMetadata(tokens, step.slot_mapping[:tokens], arguments, sums, bool(step.causal))


class AttnImpl(AttentionImpl[AttnMetadata]):
    """A layer: prompts, parts of them and single tokens are one call."""

    def __init__(
        self,
        num_heads,
        head_size,
        scale,
        num_kv_heads=None,
        alibi_slopes=None,
        sliding_window=None,
        kv_cache_dtype="auto",
        logits_soft_cap=None,
        attn_type="decoder",
        kv_sharing_target_layer_name=None,
        sinks=None,
    ):
        self.num_heads, self.head_size, self.scale = num_heads, head_size, float(scale)
        self.num_kv_heads, self.kv_cache_dtype = num_kv_heads or num_heads, kv_cache_dtype
        self.is_writer = kv_sharing_target_layer_name is None
        self.words = {"scale": self.scale, "sink": sinks, "softcap": logits_soft_cap or None}
        self.words["window"] = None if sliding_window is None else (sliding_window - 1, 0)
        self.words["alibi_slopes"] = None if alibi_slopes is None else torch.tensor(alibi_slopes, dtype=torch.float32)

    def forward(
        self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None, output_block_scale=None
    ):
        if output_scale is not None or output_block_scale is not None:
            raise NotImplementedError("attn writes no quantised output")
        if attn_metadata is None:  # vLLM measures memory
            return output.fill_(0)
        step, caches = attn_metadata, kv_cache.unbind(0)
        if self.is_writer and key is not None:
            for cache, new in zip(caches, (key, value), strict=True):
                at.kv_append(cache, new[: step.tokens], slots=step.slots)
        words = {name: x for name, x in self.words.items() if x is not None}
        if step.is_causal or "window" in words:
            words["causal" if step.is_causal else "align"] = "bottom_right"
        words |= {"cu_seqlens_q": step.sums, "out": output[: step.tokens]}
        at.paged_sdpa(query[: step.tokens], *caches, *step.arguments, **words)
        return output
