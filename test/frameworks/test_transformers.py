"""attn as an attention implementation of transformers: small random models, logits and gradients beside "sdpa"."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
import transformers

import attn.torch as at

SIZES = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
CONFIGURATIONS = {
    "Llama": lambda: transformers.LlamaConfig(**SIZES),
    "GPT-2": lambda: transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64,
                                             attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0),
    "Mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=6),
    "Qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=8),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered():
    assert at.register_transformers() == "attn"


def make(name, implementation):
    torch.manual_seed(0)
    configuration = CONFIGURATIONS[name]()
    return transformers.AutoModelForCausalLM.from_config(configuration, attn_implementation=implementation)


def batch(is_padded):
    ids = torch.randint(0, 97, (3, 19))
    mask = torch.ones_like(ids)
    if is_padded:
        mask[0, :5] = mask[2, :11] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_logits_and_gradients_are_those_of_sdpa(name, is_padded, monkeypatch):
    calls = []
    monkeypatch.setattr(at._transformers, "sdpa", lambda *x, **y: calls.append(1) or at.sdpa(*x, **y))
    inputs, results = batch(is_padded), []
    for implementation in ("sdpa", "attn"):
        model = make(name, implementation)
        output = model(**inputs)
        output.loss.backward()
        seen = inputs["attention_mask"].bool()
        results.append([output.logits[seen], *[x.grad for x in model.parameters()]])
    assert len(calls) == 2  # one a layer, of the second model alone
    for x, y in zip(*results, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_tokens_are_generated_with_a_cache(name, cache, monkeypatch):
    calls = []
    monkeypatch.setattr(at._transformers, "sdpa", lambda *x, **y: calls.append(1) or at.sdpa(*x, **y))
    prompt, tokens = batch(is_padded=True), []
    del prompt["labels"]
    options = dict(max_new_tokens=12, do_sample=False, pad_token_id=0, disable_compile=True)
    options |= {} if cache is None else {"cache_implementation": cache}
    for implementation in ("sdpa", "attn"):
        tokens.append(make(name, implementation).eval().generate(**prompt, **options))
    assert torch.equal(*tokens)
    assert calls


def test_the_implementation_is_chosen_later_too():
    model = make("Llama", "eager")
    inputs = batch(is_padded=False)
    expected = model(**inputs).logits
    model.set_attn_implementation("attn")
    torch.testing.assert_close(model(**inputs).logits, expected, rtol=1e-4, atol=1e-6)


def test_softcap_of_gemma_is_in_the_kernel():
    # Scores of a new model are near 0, where a cap does nothing: weights of 0.3 make larger ones.
    configuration = transformers.Gemma2Config(
        initializer_range=0.3, **SIZES, head_dim=8, attn_logit_softcapping=0.5, query_pre_attn_scalar=8
    )
    inputs, results = batch(is_padded=False), []
    for implementation in ("eager", "attn"):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(configuration, attn_implementation=implementation)
        output = model(**inputs)
        output.loss.backward()
        results.append([output.logits, *[x.grad for x in model.parameters()]])
    for x, y in zip(*results, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def architectures():
    script = Path(__file__).resolve().parents[2] / "scripts/architectures.py"
    specification = importlib.util.spec_from_file_location("architectures", script)
    module = sys.modules["architectures"] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


# scripts/architectures.py has 45.
SOME = ["GptOssForCausalLM", "BertModel", "BartForConditionalGeneration", "CLIPModel", "SiglipModel"]


@pytest.mark.filterwarnings("ignore:attn.torch. attention of SiglipVisionModel is by attn but in")
@pytest.mark.parametrize("name", SOME)
def test_architectures_use_attn_in_every_layer(architectures, name):
    (chosen,) = (x for x in architectures.ARCHITECTURES if x.model == name)
    assert architectures.check(chosen, "attn")[0] == "uses"


def test_the_mask_alone_says_that_rows_are_causal(architectures):
    """Layers of the decoder say that they are not: the model does not take "sdpa", which would ask them."""
    dense = {"num_experts": 4, "encoder_sparse_step": 0, "decoder_sparse_step": 0}
    assert architectures.check(architectures.translator("NllbMoe", architectures.BART | dense), "attn")[0] == "uses"


def test_each_of_them_is_of_another_architecture(architectures):
    assert len({x.configuration for x in architectures.ARCHITECTURES}) == 45


REFUSED = {
    "BloomForCausalLM": "BloomAttention",
    "MptForCausalLM": "MptAttention",
    "FalconForCausalLM": "FalconAttention",  # it has a table of classes, without ours
    "Swinv2Model": "Swinv2SelfAttention",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_run_without_attn_is_refused_by_name(architectures, name):
    (chosen,) = (x for x in architectures.ARCHITECTURES if x.model == name)
    message = f'attn_implementation="attn", found {name}, whose [^;]*{REFUSED[name]}'
    with pytest.raises(ValueError, match=message):
        architectures.make(chosen, "attn")
    model = architectures.make(chosen, "eager")
    with pytest.raises(ValueError, match=message):
        model.set_attn_implementation("attn")
    model(**chosen.inputs())  # it is as it was


@pytest.mark.parametrize("name", ["BloomForCausalLM", "MptForCausalLM"])
def test_what_is_set_behind_its_back_is_refused_in_the_first_forward_pass(architectures, name):
    (chosen,) = (x for x in architectures.ARCHITECTURES if x.model == name)
    model = architectures.make(chosen, "eager")
    model.config._attn_implementation = "attn"
    with pytest.raises(ValueError, match=f'attn_implementation="attn", found {name.partition("For")[0]}Model, whose'):
        model(**chosen.inputs())


def test_pytorchs_attention_beside_layers_that_ask_is_warned_of_once(architectures):
    (chosen,) = (x for x in architectures.ARCHITECTURES if x.model == "SiglipModel")
    with pytest.warns(RuntimeWarning, match=r"SiglipVisionModel is by attn but in head\.attention, which PyTorch's"):
        model = architectures.make(chosen, "attn")
    model.set_attn_implementation("attn")
    model = architectures.make(chosen, "eager")
    with pytest.warns(RuntimeWarning, match=r"SiglipModel is by attn but in vision_model\.head\.attention, which"):
        model.set_attn_implementation("attn")


def test_pytorchs_attention_in_a_model_without_sdpa_is_refused(architectures):
    """Its layers ask the interface and say that they are causal, which they are not."""
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    text, vision = {**SIZES, **sizes, "bos_token_id": 1}, {"hidden_size": 64, "num_hidden_layers": 2, "image_size": 16}
    options = {"text_config": text, "vision_config": vision | {"patch_size": 4}, **sizes}
    chosen = architectures.Architecture("BridgeTowerModel", "BridgeTowerConfig", options)
    with pytest.raises(ValueError, match="found BridgeTowerVisionModel, whose MultiheadAttention would"):
        architectures.make(chosen, "attn")
    advice = r'whose MultiheadAttention .* attn_implementation={"text_config": …, "vision_config": …}'
    with pytest.raises(ValueError, match=advice):
        architectures.make(chosen, "eager").set_attn_implementation("attn")


def test_parts_of_a_model_have_implementations_of_their_own(architectures):
    (chosen,) = (x for x in architectures.ARCHITECTURES if x.model == "SiglipModel")
    eager = architectures.make(chosen, "eager")
    model = architectures.make(chosen, {"text_config": "attn", "vision_config": "eager"})
    inputs = chosen.inputs()
    with architectures.Attentions() as counts:
        found = model(**inputs)
    assert (counts.of_attn, counts.own) == (2, 3)
    torch.testing.assert_close(found.logits_per_text, eager(**inputs).logits_per_text, rtol=1e-4, atol=1e-5)


def test_other_implementations_are_not_refused(architectures):
    (chosen,) = (x for x in architectures.ARCHITECTURES if x.model == "FalconForCausalLM")
    architectures.make(chosen, "sdpa")
