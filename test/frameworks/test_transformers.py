"""attn as an attention implementation of transformers: small random models, logits and gradients beside "sdpa"."""

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
    operator = at._functions.call
    monkeypatch.setattr(at._functions, "call", lambda arguments: calls.append(1) or operator(arguments))
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


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_tokens_are_generated_with_a_cache(name):
    prompt, tokens = batch(is_padded=True), []
    del prompt["labels"]
    for implementation in ("sdpa", "attn"):
        model = make(name, implementation).eval()
        tokens.append(model.generate(**prompt, max_new_tokens=12, do_sample=False, pad_token_id=0))
    assert torch.equal(*tokens)


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
