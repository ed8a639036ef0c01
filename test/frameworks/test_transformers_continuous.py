"""attn in transformers' continuous batching: the tokens of each request alone, and where keys and values were read."""

import logging

import pytest
import torch
import transformers
from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.generation.continuous_batching.model_runner import ModelRunner

import attn.torch as at
from attn.torch import _continuous

# Scores of a new model are near 0, where neither windows nor sinks change a token: weights of 0.3 make larger ones.
SIZES = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "initializer_range": 0.3}
HYBRID = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
CONFIGURATIONS = {
    "Llama": lambda: transformers.LlamaConfig(**SIZES),
    "Mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=6),
    "Qwen2": lambda: transformers.Qwen2Config(**SIZES, **HYBRID, use_sliding_window=True),
    "Qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=8),
    "Gemma2": lambda: transformers.Gemma2Config(
        **SIZES, **HYBRID, head_dim=8, attn_logit_softcapping=0.5, query_pre_attn_scalar=8
    ),
    "Gemma3": lambda: transformers.Gemma3TextConfig(**SIZES, **HYBRID, head_dim=8, query_pre_attn_scalar=8),
    "gpt-oss": lambda: transformers.GptOssConfig(**SIZES, **HYBRID, **EXPERTS, head_dim=8),
}
WINDOWS = {"Llama": {None}, "Qwen3": {None}, "Mistral": {6}}
TAKES_SDPA = ["Llama", "Mistral", "Qwen2", "Qwen3", "Gemma3"]
GREEDY = {"max_new_tokens": 11, "do_sample": False, "pad_token_id": 0, "eos_token_id": 97}  # no token ends a text


@pytest.fixture(scope="module", autouse=True)
def registered():
    at.register_transformers()
    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.CRITICAL)


@pytest.fixture
def steps(monkeypatch):
    """Of each call of attn's attention the number of query rows, and its Step."""
    found = []
    attend = _continuous.attend

    def seen(query, key, value, step, **options):
        found.append((query.shape[2], step))
        return attend(query, key, value, step, **options)

    monkeypatch.setattr(_continuous, "attend", seen)
    return found


def make(name, implementation):
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(CONFIGURATIONS[name](), attn_implementation=implementation)
    for parameter, x in model.named_parameters():
        if parameter.endswith("sinks"):
            torch.nn.init.normal_(x)
    return model.eval()


def prompts():
    """Of unlike lengths, beyond the window and the pages; the last one begins as another does."""
    torch.manual_seed(1)
    texts = [torch.randint(1, 97, (n,)).tolist() for n in (3, 17, 1, 30, 9)]
    return [*texts, texts[1] + [5, 6, 7]]


def batched(model, **options):
    settings = {"page_size": 4, "num_blocks": 96, "max_batch_tokens": 24} | options
    made = model.generate_batch(
        prompts(),
        generation_config=GenerationConfig(**GREEDY),
        continuous_batching_config=ContinuousBatchingConfig(**settings),
        warmup=False,
    )
    return [x.generated_tokens for x in made.values()]


def alone(model):
    return [model.generate(torch.tensor([x]), **GREEDY)[0, len(x) :].tolist() for x in prompts()]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_tokens_are_those_of_each_request_alone(name, steps):
    found = batched(make(name, "attn"))
    of_pages = [rows for rows, step in steps if step.pages is not None]
    if name != "Mistral":  # parts of prompts beside single tokens, and single tokens alone
        assert max(of_pages) > len(prompts()) >= min(of_pages)
    assert {step.window for _, step in steps} == WINDOWS.get(name, {None, 6})
    assert found == alone(make(name, "eager"))
    if name in TAKES_SDPA:
        assert found == batched(make(name, "sdpa"))


def test_steps_without_block_tables(steps):
    """Texts longer than tables: transformers gives an index of each key, of which a table is made."""
    found = batched(make("Llama", "attn"), max_blocks_per_request=2)
    assert found == alone(make("Llama", "eager"))
    assert all(step.pages is not None for rows, step in steps if rows < len(prompts()))


def test_steps_that_are_padded(steps, monkeypatch):
    """As transformers pads them for its graphs and compiled models."""
    start = ModelRunner.__init__

    def padded(runner, *given, **named):
        start(runner, *given, **named)
        runner.pad_inputs = True

    monkeypatch.setattr(ModelRunner, "__init__", padded)
    found = batched(make("Qwen2", "attn"), q_padding_interval_size=8, kv_padding_interval_size=16)
    assert found == alone(make("Qwen2", "eager"))
    assert any(rows > int(step.sums[-1]) for rows, step in steps)
    steps.clear()
    assert batched(make("Llama", "attn"), q_padding_interval_size=8) == alone(make("Llama", "eager"))
    assert any(rows > int(step.sums[-1]) and rows <= 8 for rows, step in steps)


def test_the_implementation_is_set_later_and_others_are_refused():
    model = make("Llama", "eager")
    expected = alone(model)
    model.set_attn_implementation("attn")
    assert batched(model) == expected
    assert model.config._attn_implementation == "attn"
    model.set_attn_implementation("flex_attention")
    with pytest.raises(ValueError, match="flex_attention is not supported for continuous batching"):
        batched(model)


def test_no_memory_is_kept_for_masks():
    from transformers.generation.continuous_batching.cache import PagedAttentionMemoryHandler

    def masks(implementation):
        configuration = make("Qwen2", implementation).config
        handler = PagedAttentionMemoryHandler(
            configuration, ContinuousBatchingConfig(max_memory_percent=0.5), torch.float32, 1, 1, 1, ["full_attention"]
        )
        return handler.num_attention_masks

    assert masks("sdpa") == 1
    assert masks("attn") == 0
