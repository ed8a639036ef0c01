"""Small configurations of transformers, for scripts/exports.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

VOCABULARY = 97
SPREAD = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, "hidden_size": 32, "intermediate_size": 48,
         "num_hidden_layers": 2, "num_attention_heads": 4}  # fmt: skip
GROUPED = SIZES | {"num_key_value_heads": 2}
IMAGE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "image_size": 16, "patch_size": 4}  # fmt: skip
SPEECH = {"vocab_size": VOCABULARY, "d_model": 32, "num_mel_bins": 8, "max_source_positions": 16,
          "max_target_positions": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
          "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}  # fmt: skip


def tokens(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Tokens and a mask, padded on the right where there is a second sequence."""
    mask = np.ones((batch, length), np.int64)
    mask[1:, length - length // 3 :] = 0
    return {"input_ids": rng.integers(3, VOCABULARY, (batch, length)), "attention_mask": mask}


def only_tokens(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Tokens."""
    return {"input_ids": rng.integers(3, VOCABULARY, (batch, length))}


def image(rng: np.random.Generator, batch: int, _: int) -> dict[str, np.ndarray]:
    """Images."""
    return {"pixel_values": rng.standard_normal((batch, 3, 16, 16)).astype(np.float32)}


def large_image(rng: np.random.Generator, batch: int, _: int) -> dict[str, np.ndarray]:
    """Images of 32 by 32."""
    return {"pixel_values": rng.standard_normal((batch, 3, 32, 32)).astype(np.float32)}


def segments(rng: np.random.Generator, batch: int, _: int) -> dict[str, np.ndarray]:
    """Images of 64 by 64."""
    return {"pixel_values": rng.standard_normal((batch, 3, 64, 64)).astype(np.float32)}


def waveform(rng: np.random.Generator, batch: int, _: int) -> dict[str, np.ndarray]:
    """Sounds."""
    return {"input_values": rng.standard_normal((batch, 200)).astype(np.float32)}


def frames(rng: np.random.Generator, batch: int, _: int) -> dict[str, np.ndarray]:
    """Spectrograms of frames first."""
    return {"input_features": rng.standard_normal((batch, 32, 8)).astype(np.float32)}


def spectrogram(rng: np.random.Generator, batch: int, _: int) -> dict[str, np.ndarray]:
    """Spectrograms."""
    return {"input_features": rng.standard_normal((batch, 8, 32)).astype(np.float32)}


def decoder_of_states(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Tokens beside the states of an encoder."""
    states = rng.standard_normal((batch, 16, 32)).astype(np.float32)
    return {"input_ids": rng.integers(3, VOCABULARY, (batch, length)),
            "attention_mask": np.ones((batch, length), np.int64), "encoder_hidden_states": states}  # fmt: skip


def pairs(rng: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Sequences for an encoder and for a decoder, of one length."""
    return tokens(rng, batch, length) | {"decoder_input_ids": rng.integers(3, VOCABULARY, (batch, length))}


@dataclass
class Model:
    """A small configuration: its classes, what it is called with, and the part of the model that is exported."""

    name: str
    model: str
    config: str
    options: dict[str, Any]
    inputs: Callable[[np.random.Generator, int, int], dict[str, np.ndarray]] = tokens
    part: str = ""
    result: str = "last_hidden_state"
    keywords: dict[str, Any] = field(default_factory=dict)
    attention: str = "sdpa"


def decoder(name: str, options: dict[str, Any], **others: Any) -> Model:
    """A model that writes."""
    return Model(name.lower(), f"{name}ForCausalLM", f"{name}Config", options, result="logits",
                 keywords={"use_cache": False}, **others)  # fmt: skip


def encoder(name: str, options: dict[str, Any], **others: Any) -> Model:
    """A model that reads."""
    return Model(name.lower(), f"{name}Model", f"{name}Config", options, **others)


MODELS = [
    encoder("Bert", SIZES),
    encoder("DistilBert", {"vocab_size": VOCABULARY, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}),
    encoder("Roberta", SIZES),
    encoder("ModernBert", SIZES | {"local_attention": 8, "global_attn_every_n_layers": 2}),
    Model(
        "gpt2",
        "GPT2LMHeadModel",
        "GPT2Config",
        {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
        result="logits",
        keywords={"use_cache": False},
    ),
    decoder("Llama", GROUPED),
    decoder("Mistral", GROUPED | {"sliding_window": 6}),
    decoder("Qwen3", GROUPED | {"head_dim": 8}),
    decoder("Gemma", GROUPED | {"head_dim": 8}),
    decoder(
        "OPT",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "ffn_dim": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": 32,
        },
    ),
    decoder("Phi", GROUPED),
    Model(
        "t5",
        "T5ForConditionalGeneration",
        "T5Config",
        {
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "decoder_start_token_id": 0,
        },
        pairs,
        result="logits",
        keywords={"use_cache": False},
        attention="eager",
    ),
    Model("whisper_encoder", "WhisperModel", "WhisperConfig", SPEECH, spectrogram, part="encoder"),
    Model(
        "whisper_decoder",
        "WhisperModel",
        "WhisperConfig",
        SPEECH,
        decoder_of_states,
        part="decoder",
        keywords={"use_cache": False},
    ),
    encoder("ViT", IMAGE, inputs=image),
    Model("clip_text", "CLIPTextModel", "CLIPTextConfig", SIZES),
    Model("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", IMAGE, image),
]
BART = {"vocab_size": VOCABULARY, "d_model": 32, "max_position_embeddings": 64, "encoder_layers": 2,
        "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48}  # fmt: skip
MORE = [
    Model("bert_eager", "BertModel", "BertConfig", SIZES, attention="eager"),
    Model("llama_eager", "LlamaForCausalLM", "LlamaConfig", GROUPED, result="logits", keywords={"use_cache": False},
          attention="eager"),
    Model("gpt2_tokens", "GPT2LMHeadModel", "GPT2Config",
          {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}, only_tokens,
          result="logits", keywords={"use_cache": False}),
    encoder("Electra", SIZES | {"embedding_size": 32}),
    encoder("Albert", SIZES | {"embedding_size": 32}),
    encoder("MPNet", SIZES, attention="eager"),
    encoder("DebertaV2", SIZES, attention="eager"),
    Model("bart", "BartForConditionalGeneration", "BartConfig", BART, pairs, result="logits",
          keywords={"use_cache": False}),
    decoder("Qwen2", GROUPED),
    decoder("Phi3", GROUPED),
    decoder("Gemma2", GROUPED | {"head_dim": 8, "sliding_window": 6, "attn_logit_softcapping": 2.0}, attention="eager"),
    decoder("GPTNeoX", SIZES),
    decoder("StableLm", GROUPED),
    decoder("Olmo2", GROUPED),
    decoder("Falcon", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}),
    decoder("Bloom", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4},
            attention="eager"),
    encoder("Dinov2", IMAGE, inputs=image),
    Model("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig", IMAGE, image),
    Model("siglip_text", "SiglipTextModel", "SiglipTextConfig", SIZES),
]  # fmt: skip

SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4}
SPEECH_CNN = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "conv_dim": [16, 16],
    "conv_stride": [4, 2],
    "conv_kernel": [8, 3],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
}
FORCED = {"keywords": {"use_cache": False}, "result": "logits"}
WIDE = [
    encoder("XLMRoberta", SIZES),
    encoder("Esm", SIZES | {"position_embedding_type": "rotary"}),
    encoder("RemBert", SIZES | {"input_embedding_size": 32, "output_embedding_size": 32},
            attention="eager"),
    encoder("Ernie", SIZES),
    encoder("ConvBert", SIZES | {"embedding_size": 32, "head_ratio": 2, "conv_kernel_size": 5}, attention="eager"),
    encoder("SqueezeBert", SIZES | {"embedding_size": 32}, attention="eager"),
    encoder("MobileBert", SIZES | {"embedding_size": 16, "intra_bottleneck_size": 16}),
    encoder("LayoutLM", SIZES),
    encoder("Funnel", {"vocab_size": VOCABULARY, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8,
                       "d_inner": 48, "num_decoder_layers": 1}, attention="eager"),
    encoder("Longformer", SIZES | {"attention_window": [4, 4]}, attention="eager"),
    encoder("Deberta", SIZES | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, attention="eager"),
    encoder("Nystromformer", SIZES | {"num_landmarks": 4, "segment_means_seq_len": 64}, attention="eager"),
    Model("blip_text", "BlipTextModel", "BlipTextConfig", SIZES | {"encoder_hidden_size": 32, "is_decoder": False},
          attention="eager"),
    Model("mbart", "MBartForConditionalGeneration", "MBartConfig", BART, pairs, **FORCED),
    Model("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", BART, pairs, **FORCED),
    Model("m2m100", "M2M100ForConditionalGeneration", "M2M100Config", BART, pairs, **FORCED),
    Model("marian", "MarianMTModel", "MarianConfig", BART, pairs, **FORCED),
    Model("mt5", "MT5ForConditionalGeneration", "MT5Config",
          {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
           "decoder_start_token_id": 0}, pairs, attention="eager", **FORCED),
    Model("gptj", "GPTJForCausalLM", "GPTJConfig",
          {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4},
          attention="eager", **FORCED),
    Model("gptneo", "GPTNeoForCausalLM", "GPTNeoConfig",
          {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 48,
           "max_position_embeddings": 64, "attention_types": [[["global", "local"], 1]], "window_size": 6},
          attention="eager", **FORCED),
    Model("codegen", "CodeGenForCausalLM", "CodeGenConfig",
          {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4},
          attention="eager", **FORCED),
    Model("mpt", "MptForCausalLM", "MptConfig",
          {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
          attention="eager", **FORCED),
    Model("xglm", "XGLMForCausalLM", "XGLMConfig",
          {"vocab_size": VOCABULARY, "d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4,
           "max_position_embeddings": 64}, attention="eager", **FORCED),
    Model("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", GROUPED | {"head_dim": 8, "sliding_window": 6}, **FORCED),
    decoder("Mixtral", GROUPED | {"num_local_experts": 2}),
    decoder("Cohere", GROUPED),
    decoder("Granite", GROUPED),
    decoder("SmolLM3", GROUPED),
    decoder("BioGpt", SIZES, attention="eager"),
    encoder("Beit", IMAGE | {"use_relative_position_bias": True}, inputs=image),
    encoder("DeiT", IMAGE, inputs=image),
    encoder("Yolos", IMAGE | {"num_detection_tokens": 3, "image_size": [16, 16]}, inputs=image),
    encoder("Dinov2WithRegisters", IMAGE | {"num_register_tokens": 2}, inputs=image),
    encoder("Swin", SWIN, inputs=large_image, attention="eager"),
    encoder("Swinv2", SWIN, inputs=large_image, attention="eager"),
    Model("segformer", "SegformerForSemanticSegmentation", "SegformerConfig",
          {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4],
           "decoder_hidden_size": 32, "num_labels": 5}, segments, result="logits", attention="eager"),
    Model("sam_vision", "SamVisionModel", "SamVisionConfig",
          {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 4,
           "window_size": 4, "global_attn_indexes": [1], "mlp_dim": 48, "output_channels": 16}, large_image,
          attention="eager"),
    encoder("Wav2Vec2", SPEECH_CNN, inputs=waveform),
    encoder("Hubert", SPEECH_CNN, inputs=waveform),
    Model("speech2text", "Speech2TextModel", "Speech2TextConfig",
          {"vocab_size": VOCABULARY, "d_model": 32, "input_feat_per_channel": 8, "input_channels": 1,
           "conv_channels": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
           "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}, frames, part="encoder",
          attention="eager"),
]  # fmt: skip
