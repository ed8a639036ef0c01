"""Hybrids of transformers with attn as implementation: their linear layers call attn, those of others what they did."""

import copy
import pickle

import pytest
import torch
import transformers

import attn.torch as at
from attn.torch import _linear_layers

pytestmark = pytest.mark.filterwarnings("ignore:attn.torch. the gradient of linear_attention:RuntimeWarning")

COMMON = {"vocab_size": 97, "hidden_size": 32, "num_attention_heads": 4, "pad_token_id": 0}
DENSE = {**COMMON, "intermediate_size": 48, "num_key_value_heads": 2, "max_position_embeddings": 64}
DELTA = {
    **DENSE, "num_hidden_layers": 4, "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 16, "linear_value_head_dim": 8,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
SCAN = {**DENSE, "num_hidden_layers": 2, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 2}
SCAN |= {"mamba_d_state": 12, "mamba_chunk_size": 8}
KDA = {
    **COMMON, "num_hidden_layers": 5, "num_key_value_heads": 4, "intermediate_size": 48, "moe_intermediate_size": 16,
    "num_local_experts": 4, "num_experts_per_tok": 2, "linear_num_heads": 4, "linear_head_dim": 8, "kv_lora_rank": 8,
    "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8,
}  # fmt: skip
# The configuration, and how many layers are linear.
MODELS = {
    "Qwen3-Next": (lambda: transformers.Qwen3NextConfig(**DELTA, **EXPERTS, shared_expert_intermediate_size=16), 3),
    "Qwen3.5": (lambda: transformers.Qwen3_5TextConfig(**DELTA), 3),
    "OLMo hybrid": (lambda: transformers.OlmoHybridConfig(**DELTA), 3),
    "Kimi Linear": (lambda: transformers.KimiLinearConfig(**KDA), 4),
    "Mamba-2": (
        lambda: transformers.Mamba2Config(
            vocab_size=97, hidden_size=32, num_hidden_layers=2, num_heads=8, head_dim=8, state_size=12, n_groups=2,
            chunk_size=8, pad_token_id=0,
        ),
        2,
    ),
    "Falcon-H1": (lambda: transformers.FalconH1Config(**SCAN, mamba_d_ssm=64), 2),
    "Bamba": (lambda: transformers.BambaConfig(**SCAN, attn_layer_indices=[1]), 1),
}  # fmt: skip
OTHERS = {"Mamba-2": "eager"}  # it has no attention, and refuses "sdpa"


@pytest.fixture(scope="module", autouse=True)
def registered():
    transformers.logging.set_verbosity_error()
    at.register_transformers()


@pytest.fixture
def calls(monkeypatch):
    """The numbers of tokens of the calls of attn by linear layers."""
    found, function = [], _linear_layers.linear_attention

    def counted(**named):
        found.append(named["q"].shape[1])
        return function(**named)

    monkeypatch.setattr(_linear_layers, "linear_attention", counted)
    return found


def make(name, implementation):
    torch.manual_seed(0)
    implementation = OTHERS.get(name, implementation) if implementation == "sdpa" else implementation
    return transformers.AutoModelForCausalLM.from_config(MODELS[name][0](), attn_implementation=implementation)


def batch(is_padded=True):
    torch.manual_seed(1)
    ids = torch.randint(1, 97, (2, 19))
    mask = torch.ones_like(ids)
    if is_padded:
        mask[0, :5] = 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_a_training_step_are_those_of_sdpa(name, calls):
    inputs, results = batch(), []
    seen = inputs["attention_mask"].bool()
    labels = inputs["input_ids"].masked_fill(~seen, -100)
    for implementation in ("sdpa", "attn"):
        model = make(name, implementation)
        output = model(**inputs, labels=labels)
        output.loss.backward()
        assert calls == ([19] * MODELS[name][1] if implementation == "attn" else [])
        results.append([output.logits[seen], *[x.grad for x in model.parameters() if x.grad is not None]])
    for x, y in zip(*results, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_generated_with_a_cache(name, cache, calls):
    options = dict(max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=None, disable_compile=True)
    options |= {} if cache is None else {"cache_implementation": cache}
    tokens = [make(name, x).eval().generate(**batch(), **options) for x in ("sdpa", "attn")]
    assert torch.equal(*tokens)
    count = MODELS[name][1]
    assert calls == [19] * count + [1] * 7 * count


@pytest.mark.parametrize("name", ["Qwen3-Next", "Kimi Linear", "Mamba-2"])
def test_narrow_types(name, calls):
    inputs = batch()
    seen, results = inputs["attention_mask"].bool(), []
    exact = make(name, "sdpa").eval()(**inputs).logits[seen]
    for implementation in ("sdpa", "attn"):
        results.append(make(name, implementation).to(torch.bfloat16).eval()(**inputs).logits[seen].float())
    low, found = ((x - exact).abs().max() for x in results)
    assert found <= 2 * low
    assert calls


def test_the_implementation_is_chosen_by_each_model(calls):
    """Also later, and back; others of the same class are as they were, and copies are as the original."""
    model, other = make("Qwen3.5", "attn"), make("Qwen3.5", "sdpa")
    expected = other(**batch()).logits
    assert not calls
    torch.testing.assert_close(model(**batch()).logits, expected, rtol=1e-4, atol=1e-5)
    assert calls.count(19) == 3
    model.set_attn_implementation("eager")
    model(**batch())
    assert calls.count(19) == 3
    other.set_attn_implementation("attn")
    other(**batch())
    assert calls.count(19) == 6
    for twin in (copy.deepcopy(other), pickle.loads(pickle.dumps(other))):
        twin(**batch())
    assert calls.count(19) == 12
    other.set_attn_implementation("sdpa")
    assert torch.equal(other(**batch()).logits, expected)


@pytest.mark.parametrize("name", ["Qwen3.5", "Mamba-2"])
def test_a_graph_of_torch_compile(name):
    model, inputs = make(name, "attn").eval(), batch(is_padded=False)
    names = []

    def backend(graph, _):
        names.extend(str(x.target) for x in graph.graph.nodes)
        return graph

    with torch.no_grad():
        expected = model(**inputs, use_cache=False).logits
        found = torch.compile(model, backend=backend)(**inputs, use_cache=False).logits
    torch.testing.assert_close(found, expected)
    assert sum("attn.linear_attention" in x for x in names) == MODELS[name][1]


def test_checkpointed_layers_call_attn_again(calls):
    model = make("Qwen3.5", "attn").train()
    model.activation_checkpointing_enable()
    model(**batch(), labels=batch()["input_ids"]).loss.backward()
    assert calls == [19] * 6


def test_an_exported_program_holds_a_node_a_layer_for_any_length():
    model = make("Qwen3.5", "attn").eval()

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(ids, use_cache=False).logits

    sizes = {"ids": {1: torch.export.Dim("tokens", min=2, max=64)}}
    with torch.no_grad():
        program = torch.export.export(Logits(), (batch()["input_ids"],), dynamic_shapes=sizes, strict=False)
        names = [str(x.target) for x in program.graph.nodes]
        assert names.count("attn.linear_attention.default") == 3
        ids = torch.randint(1, 97, (2, 41))
        torch.testing.assert_close(program.module()(ids), Logits()(ids))
