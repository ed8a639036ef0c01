"""flex_attention with a block mask of PyTorch: its function counts; without one its blocks."""

import pytest
import torch
from torch.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, or_masks
from torch.nn.attention.flex_attention import flex_attention as flex

import attn.torch as at

B, H, SQ, SK, D = 2, 4, 150, 300, 8
DOCUMENTS = torch.arange(SK).repeat(B, 1) // torch.tensor([[70], [90]])

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")


def causal(b, h, i, j):
    return i >= j


def documents(b, h, i, j):
    return DOCUMENTS[b, i] == DOCUMENTS[b, j]


def near(b, h, i, j):
    return (i - j).abs() < 9 * (h + 1)


MASKS = {
    "a function": lambda: create_block_mask(causal, None, None, SQ, SK, device="cpu"),
    "of batches": lambda: create_block_mask(documents, B, None, SQ, SK, device="cpu"),
    "of heads": lambda: create_block_mask(near, None, H, SQ, SK, device="cpu"),
    "both": lambda: create_block_mask(and_masks(causal, documents), B, H, SQ, SK, device="cpu"),
    "either": lambda: create_block_mask(or_masks(near, documents), B, H, SQ, SK, device="cpu"),
}


def draw():
    return torch.randn(B, H, SQ, D), torch.randn(1, H, SK, D), torch.randn(1, H, SK, D)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_it_is_the_mask_of_flex_attention(name, is_compiled):
    """In the fifth place, as FlexAttention has it, and by name."""
    q, k, v = draw()
    mask = MASKS[name]()
    call = torch.compile(at.flex_attention, fullgraph=True) if is_compiled else at.flex_attention
    expected = flex(q, k.expand(B, -1, -1, -1), v.expand(B, -1, -1, -1), None, mask)
    torch.testing.assert_close(call(q, k, v, None, mask), expected)
    torch.testing.assert_close(call(q, k, v, block_mask=mask), expected)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_without_a_function_its_blocks_count(is_compiled):
    """Of 128 rows and keys; FlexAttention forgets them unless it is compiled."""
    mask = BlockMask.from_kv_blocks(
        torch.tensor([[[1, 2]]]), torch.tensor([[[[2, 0, 1], [0, 1, 2]]]]), seq_lengths=(SQ, SK)
    )
    blocks = torch.tensor([[False, False, True], [True, True, False]])
    dense = blocks.repeat_interleave(128, 0)[:SQ].repeat_interleave(128, 1)[:, :SK]
    q, k, v = draw()
    call = torch.compile(at.flex_attention, fullgraph=True) if is_compiled else at.flex_attention
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, dense)
    torch.testing.assert_close(call(q, k, v, block_mask=mask), expected)


def test_made_in_a_compiled_function_it_reads_its_arguments():
    def call(q, k, v, documents):
        def mask_mod(b, h, i, j):
            return documents[b, i] == documents[b, j]

        return at.flex_attention(q, k, v, block_mask=create_block_mask(mask_mod, B, None, SQ, SK, device="cpu"))

    q, k, v = draw()
    compiled = torch.compile(call, fullgraph=True)
    for n in (70, 40):
        mask = torch.arange(SK).repeat(B, 1) // n
        torch.testing.assert_close(compiled(q, k, v, mask), call(q, k, v, mask))


MISTAKES = {
    "sizes": (
        lambda: {"block_mask": create_block_mask(causal, None, None, SQ, 2 * SK, device="cpu")},
        "of 150 queries",
    ),
    "a part": (
        lambda: {"block_mask": create_block_mask(causal, None, None, 2 * SQ, SK, device="cpu")[:, :, 1]},
        "a part",
    ),
    "both": (lambda: {"block_mask": MASKS["a function"](), "mask_mod": causal}, "expected one of block_mask"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_says_what_to_write(name):
    make, message = MISTAKES[name]
    q, k, v = draw()
    q = q[:, :, :128] if name == "a part" else q
    with pytest.raises((TypeError, ValueError), match=message):
        at.flex_attention(q, k, v, **make())
