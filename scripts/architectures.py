#!/usr/bin/env python3
"""Runs architectures of Hugging Face transformers by attn beside their own "eager" attention.

  build/frameworks/bin/python scripts/architectures.py           all; some minutes of one core
  build/frameworks/bin/python scripts/architectures.py NAME…     some
  … --implementation=sdpa                                        another implementation in the place of attn

Each is a small model of random weights, so large that attention is far from uniform. Batches are padded. Compared are
the results where nothing is padded, the gradients of all parameters, and what models that generate write. A model
"uses attn" where attn was called as often as "eager" has a softmax of scores, and where no other attention ran but
that of PyTorch's MultiheadAttention. A model may refuse attn: by an error that has its name, when it is made.

The last line is `N of 45 use attn, M refused, K wrong`. The exit status is 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import copy
import logging
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

import attn.torch

VOCABULARY, LENGTH, NEW_TOKENS = 97, 17, 6
PADDED = 5  # of the first sequence of a batch
GROWTH = 6.0  # of the weights that are matrices
TOLERANCE = 2e-4  # relative to the largest element
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
LAYERS = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, **LAYERS}
GROUPED = SIZES | {"num_key_value_heads": 2}
GPT = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
BART = {"vocab_size": VOCABULARY, "d_model": 32, "max_position_embeddings": 64}
BART |= {f"{part}_{what}": x for part in ("encoder", "decoder") for what, x in
         {"layers": 2, "attention_heads": 4, "ffn_dim": 48}.items()}  # fmt: skip
T5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
IMAGE = LAYERS | {"image_size": 16, "patch_size": 4}
SPEECH = LAYERS | {"conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 4), "num_feat_extract_layers": 2}
SPEECH |= {"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "vocab_size": VOCABULARY}
LATENT = SIZES | {"num_key_value_heads": 4, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4}
LATENT |= {"qk_nope_head_dim": 8, "v_head_dim": 12, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1}
LATENT |= {"topk_group": 1, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}


@dataclass
class Architecture:
    """A small model: its class, its configuration, and what it is called with."""

    model: str
    configuration: str
    options: dict[str, Any]
    inputs: Callable[[], dict[str, torch.Tensor]] = field(default=lambda: tokens())
    generates: bool = False


def tokens() -> dict[str, torch.Tensor]:
    """Two sequences, the first padded on the left."""
    ids = torch.randint(3, VOCABULARY, (2, LENGTH))
    mask = torch.ones_like(ids)
    mask[0, :PADDED] = 0
    return {"input_ids": ids, "attention_mask": mask}


def tokens_padded_right() -> dict[str, torch.Tensor]:
    """Two sequences, the first padded on the right."""
    found = tokens()
    return {"input_ids": found["input_ids"], "attention_mask": found["attention_mask"].flip(1)}


def pairs() -> dict[str, torch.Tensor]:
    """Sequences for an encoder, padded on the right, and for a decoder."""
    return tokens_padded_right() | {"decoder_input_ids": torch.randint(3, VOCABULARY, (2, 9))}


def image() -> dict[str, torch.Tensor]:
    """Two images."""
    return {"pixel_values": torch.randn(2, 3, 16, 16)}


def image_and_text() -> dict[str, torch.Tensor]:
    """Two images and two texts, the first padded."""
    return image() | tokens_padded_right()


def spectrogram() -> dict[str, torch.Tensor]:
    """Two spectrograms, and sequences for a decoder."""
    return {"input_features": torch.randn(2, 8, 32), "decoder_input_ids": torch.randint(3, VOCABULARY, (2, 9))}


def sound() -> dict[str, torch.Tensor]:
    """Two sounds, the first padded."""
    mask = torch.ones(2, 256, dtype=torch.long)
    mask[0, 160:] = 0
    return {"input_values": torch.randn(2, 256), "attention_mask": mask}


def decoder(name: str, options: dict[str, Any], *, model: str = "ForCausalLM", config: str = "") -> Architecture:
    """A model that writes."""
    return Architecture(f"{name}{model}", f"{config or name}Config", options, generates=True)


def encoder(name: str, options: dict[str, Any]) -> Architecture:
    """A model that reads."""
    return Architecture(f"{name}Model", f"{name}Config", options, tokens_padded_right)


def translator(name: str, options: dict[str, Any]) -> Architecture:
    """A model that reads one sequence and writes another."""
    return Architecture(f"{name}ForConditionalGeneration", f"{name}Config", options, pairs, generates=True)


def viewer(name: str, options: dict[str, Any]) -> Architecture:
    """A model that sees."""
    return Architecture(f"{name}Model", f"{name}Config", options, image)


ARCHITECTURES = [
    decoder("Llama", GROUPED),
    decoder("Mistral", GROUPED | {"sliding_window": 6}),
    decoder("Mixtral", GROUPED | {"num_local_experts": 4}),
    decoder("Qwen2", GROUPED),
    decoder("Qwen3", GROUPED | {"head_dim": 8}),
    decoder("Qwen3Moe", GROUPED | EXPERTS | {"head_dim": 8}),
    decoder("Gemma", GROUPED | {"head_dim": 8}),
    decoder("Gemma2", GROUPED | {"head_dim": 8, "sliding_window": 6, "attn_logit_softcapping": 2.0}),
    decoder("Gemma3", GROUPED | {"head_dim": 8, "sliding_window": 6,
                                 "layer_types": ["sliding_attention", "full_attention"]}, config="Gemma3Text"),
    decoder("Phi", GROUPED),
    decoder("Phi3", GROUPED),
    decoder("GPT2", GPT, model="LMHeadModel"),
    decoder("GPTBigCode", GPT),
    decoder("GPTNeoX", SIZES),
    decoder("GPTNeo", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 6,
                       "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64}),
    decoder("GptOss", GROUPED | {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 6}),
    decoder("OPT", {"vocab_size": VOCABULARY, "hidden_size": 32, "ffn_dim": 48, "num_hidden_layers": 2,
                    "num_attention_heads": 4, "max_position_embeddings": 64, "word_embed_proj_dim": 32}),
    decoder("Cohere", GROUPED),
    decoder("Olmo2", GROUPED),
    decoder("Granite", GROUPED),
    decoder("StableLm", GROUPED),
    decoder("Starcoder2", GROUPED),
    decoder("DeepseekV3", LATENT),
    decoder("Bloom", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    decoder("Mpt", {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4}),
    decoder("Falcon", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}),
    encoder("Bert", SIZES),
    encoder("Roberta", SIZES),
    encoder("DistilBert", {"vocab_size": VOCABULARY, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}),
    encoder("Electra", SIZES | {"embedding_size": 32}),
    encoder("Albert", SIZES | {"embedding_size": 32}),
    encoder("ModernBert", SIZES | {"local_attention": 8, "global_attn_every_n_layers": 2}),
    encoder("MPNet", SIZES),
    encoder("DebertaV2", SIZES),
    translator("T5", T5),
    translator("Bart", BART),
    translator("Pegasus", BART),
    translator("M2M100", BART),
    Architecture("WhisperForConditionalGeneration", "WhisperConfig",
                 BART | {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 64}, spectrogram),
    viewer("ViT", IMAGE),
    viewer("Dinov2", IMAGE),
    viewer("Swinv2", {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4],
                      "window_size": 4}),
    Architecture("CLIPModel", "CLIPConfig", {"text_config": SIZES | {"eos_token_id": 2}, "vision_config": IMAGE,
                                             "projection_dim": 16}, image_and_text),
    Architecture("SiglipModel", "SiglipConfig", {"text_config": SIZES, "vision_config": IMAGE}, image_and_text),
    Architecture("Wav2Vec2Model", "Wav2Vec2Config", SPEECH, sound),
]  # fmt: skip


class Attentions(TorchDispatchMode):
    """Counts what computes attention: softmaxes of scores, PyTorch's operators, attn."""

    def __init__(self) -> None:
        """No count yet."""
        super().__init__()
        self.own = self.of_attn = 0

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        """Counts, and calls."""
        name = str(function)
        is_softmax = name.startswith(("aten._softmax.", "aten._safe_softmax.")) and arguments[0].dim() > 2
        self.own += is_softmax or name.startswith("aten._scaled_dot_product")
        self.of_attn += name == "attn.sdpa.default"
        return function(*arguments, **(keywords or {}))


@dataclass
class Run:
    """What a model made of the inputs."""

    results: list[torch.Tensor]
    gradients: list[torch.Tensor | None]
    written: torch.Tensor | None
    counts: Attentions


def make(architecture: Architecture, implementation: str) -> transformers.PreTrainedModel:
    """The model; without dropout, with large weights, the same for each implementation."""
    options = {**SPECIAL, **copy.deepcopy(architecture.options)}
    configuration = getattr(transformers, architecture.configuration)(**options)
    torch.manual_seed(0)
    model = getattr(transformers, architecture.model)._from_config(configuration, attn_implementation=implementation)
    torch.manual_seed(0)
    with torch.no_grad():
        for x in model.parameters():
            x.copy_(torch.randn_like(x) * 0.02 * GROWTH if x.dim() > 1 else x + 0.02 * torch.randn_like(x))
    return model.eval()


def run(architecture: Architecture, implementation: str) -> Run:
    """A forward pass, its gradients, and what the model writes."""
    model = make(architecture, implementation)
    torch.manual_seed(1)
    inputs = architecture.inputs()
    with Attentions() as counts:
        output = model(**inputs)
    found = [x for x in output.to_tuple() if isinstance(x, torch.Tensor) and x.is_floating_point()]
    mask = inputs.get("attention_mask")
    if mask is not None and "decoder_input_ids" not in inputs:
        found = [x[mask.bool()] if x.shape[:2] == mask.shape else x for x in found]
    total = sum((x * torch.cos(torch.arange(x.numel()).to(x)).view(x.shape)).sum() for x in found if x.requires_grad)
    total.backward()
    gradients = [x.grad for x in model.parameters()]
    written = None
    if architecture.generates:
        prompt = {name: x for name, x in inputs.items() if not name.startswith("decoder")}
        written = model.generate(**prompt, max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, do_sample=False)
    return Run([x.detach() for x in found], gradients, written, counts)


def distance(x: torch.Tensor | None, y: torch.Tensor | None) -> float:
    """The largest difference relative to the largest element of the first."""
    if x is None or y is None:
        return 0.0 if x is y else float("inf")
    if x.shape != y.shape or not torch.isfinite(y).all():
        return float("inf")
    return ((x - y).abs().max() / x.abs().max().clamp_min(1e-30)).item() if x.numel() else 0.0


def compare(eager: Run, other: Run) -> str:
    """What is wrong; empty where nothing is."""
    for what, of_eager, of_other in (
        ("results", eager.results, other.results),
        ("gradients", eager.gradients, other.gradients),
    ):
        if len(of_eager) != len(of_other):
            return f"{len(of_other)} {what} in place of {len(of_eager)}"
        scale = max(float(x.abs().max()) for x in of_eager if x is not None)
        pairs = zip(of_eager, of_other, strict=True)
        found = max(min(distance(x, y), error(x, y, scale)) for x, y in pairs)
        if not found < TOLERANCE:
            return f"{what} differ by {found:.1e} of the largest"
    if eager.written is not None and not torch.equal(eager.written, other.written):
        return "other tokens are written"
    return ""


def error(x: torch.Tensor | None, y: torch.Tensor | None, scale: float) -> float:
    """The largest difference relative to a scale: of a gradient that is nearly 0, that of all gradients."""
    return float((x - y).abs().max()) / scale / 10 if x is not None and y is not None and x.numel() else float("inf")


def check(architecture: Architecture, implementation: str) -> tuple[str, str]:
    """Whether an architecture "uses" the implementation, has "refused" it, or is "wrong", and why."""
    eager = run(architecture, "eager")
    try:
        make(architecture, implementation)
    except ValueError as refusal:
        return ("refused" if is_named(architecture, implementation, str(refusal)) else "wrong"), str(refusal)
    try:
        found = run(architecture, implementation)
    except Exception as failure:
        return "wrong", f"{type(failure).__name__}: {failure}"
    problem = compare(eager, found)
    of_torch = sum(isinstance(x, torch.nn.MultiheadAttention) for x in make(architecture, "eager").modules())
    if implementation == "attn" and (found.counts.of_attn, found.counts.own) != (eager.counts.own - of_torch, of_torch):
        problem = problem or "other attention ran"
    counts = f"eager {eager.counts.own}, attn {found.counts.of_attn}, others {found.counts.own}"
    return ("wrong", f"{problem} ({counts})") if problem else ("uses", counts)


def is_named(architecture: Architecture, implementation: str, refusal: str) -> bool:
    """Whether a refusal names the implementation and the model, or a part of it that is a model."""
    package = getattr(transformers, architecture.model).__module__
    names = [name for name, x in vars(sys.modules[package]).items() if getattr(x, "__module__", "") == package]
    return f'"{implementation}"' in refusal and any(f"found {name}," in refusal for name in names)


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="classes of models, or how they begin")
    parser.add_argument("--implementation", default="attn")
    options = parser.parse_args()
    chosen = [x for x in ARCHITECTURES if not options.names or x.model.startswith(tuple(options.names))]
    if not chosen:
        parser.error(f"expected some of {', '.join(x.model for x in ARCHITECTURES)}, found {' '.join(options.names)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    attn.torch.register_transformers()
    kinds = []
    for architecture in chosen:
        begin = time.perf_counter()
        kind, why = check(architecture, options.implementation)
        kinds.append(kind)
        print(f"{architecture.model:34} {kind:8} {why}  {time.perf_counter() - begin:.1f} s", flush=True)
    wrong = kinds.count("wrong")
    print(
        f"{kinds.count('uses')} of {len(kinds)} use {options.implementation}, {kinds.count('refused')} refused, "
        f"{wrong} wrong"
    )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
