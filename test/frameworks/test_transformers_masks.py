"""The masks that attn takes from transformers: words in the place of matrices, and weights that nobody makes."""

import pytest
import torch
import transformers
from transformers import masking_utils as masks

import attn.torch as at
from attn.torch import _windows
from attn.torch._ops import Call

SIZES = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}


@pytest.fixture(scope="module", autouse=True)
def registered():
    assert at.register_transformers() == "attn"


@pytest.fixture
def calls(monkeypatch):
    """The calls, each by the operator."""
    found, operator = [], at._functions.call
    monkeypatch.setattr(at._eager, "run", lambda *_: None)
    monkeypatch.setattr(at._functions, "call", lambda x: found.append(Call.of(x)) or operator(x))
    return found


FUNCTIONS = {
    "causal": masks.causal_mask_function,
    "window": masks.sliding_window_causal_mask_function(4),
    "window of one": masks.sliding_window_causal_mask_function(1),
    "both sides": masks.sliding_window_bidirectional_mask_function(2),
}
# Queries, keys, offsets of both.
LENGTHS = [(9, 9, 0, 0), (3, 9, 6, 0), (1, 9, 8, 0), (4, 12, 3, 0), (4, 9, 8, 3), (2, 6, torch.tensor(3), 0)]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("is_padded", [False, True])
def test_words_are_the_mask_of_transformers(name, lengths, is_padded):
    rows, keys, q_offset, kv_offset = lengths
    padding = torch.ones(2, keys + kv_offset, dtype=torch.bool)
    if is_padded:
        padding[0, : kv_offset + 2] = False
        padding[1, -1:] = False
    given = {"batch_size": 2, "q_length": rows, "kv_length": keys, "q_offset": q_offset, "kv_offset": kv_offset}
    given |= {"mask_function": FUNCTIONS[name], "attention_mask": padding, "allow_is_causal_skip": False}
    expected, found = masks.sdpa_mask(**given), _windows.predicate(masks.sdpa_mask, given)
    assert isinstance(found, _windows.Predicate)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert torch.equal(found.dense(), expected)
    assert torch.equal(found & torch.ones_like(expected), expected)  # any operator of PyTorch
    q, k, v = (torch.randn(2, 2, n, 8) for n in (rows, keys, keys))
    scores = (q @ k.mT / 8**0.5).masked_fill(~expected, -torch.inf)
    # A row without keys has NaN in PyTorch, 0 in attn.
    torch.testing.assert_close(at.sdpa(q, k, v, **found.options(q, k)), scores.softmax(-1).nan_to_num(0) @ v)


@pytest.mark.parametrize(
    "function",
    [
        masks.chunked_causal_mask_function(3, torch.zeros(2, dtype=torch.int64)),
        masks.or_masks(masks.causal_mask_function, masks.sliding_window_overlay(2)),
        masks.and_masks(masks.sliding_window_overlay(2), masks.sliding_window_overlay(3)),
        lambda b, h, i, j: j <= i,
    ],
)
def test_other_functions_are_matrices_as_ever(function):
    given = {"batch_size": 2, "q_length": 5, "kv_length": 5, "mask_function": function, "allow_is_causal_skip": False}
    found = _windows.predicate(masks.sdpa_mask, given)
    assert type(found) is torch.Tensor
    assert torch.equal(found, masks.sdpa_mask(**given))


def model(**options):
    torch.manual_seed(0)
    config = transformers.MistralConfig(**SIZES, sliding_window=6)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="attn", **options)


def test_a_model_with_windows_hands_no_matrix_to_the_kernel(calls):
    ids = torch.randint(0, 97, (3, 19))
    model()(ids)
    padding = torch.ones_like(ids)
    padding[0, :5] = 0
    model()(ids, attention_mask=padding)
    assert [None if x.mask is None else tuple(x.mask.shape) for x in calls] == [None] * 2 + [(3, 1, 1, 19)] * 2
    for x in calls:
        assert "top_left" in x.causal or "bottom_right" in x.causal
        assert x.options()["window"] == (5, None)


def test_a_compiled_layer_takes_the_mask_of_a_model_that_is_not_compiled():
    ids = torch.randint(0, 97, (2, 19))
    whole = model().eval()
    with torch.no_grad():
        expected = whole(ids).logits
        for layer in whole.model.layers:
            layer.compile(backend="eager")
        torch.testing.assert_close(whole(ids).logits, expected)


@pytest.mark.parametrize("family", [transformers.LlamaConfig, transformers.BertConfig])
def test_weights_are_refused_by_name(family):
    made = transformers.AutoModel.from_config(family(**SIZES), attn_implementation="attn")
    ids = torch.randint(0, 97, (2, 7))
    made(ids)
    with pytest.raises(ValueError, match=r"expected a model without output_attentions=True.*eager"):
        made(ids, output_attentions=True)
    made(ids, output_hidden_states=True)
    made.set_attn_implementation("eager")
    assert len(made(ids, output_attentions=True).attentions) == 2
