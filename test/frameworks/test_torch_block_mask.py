"""flex_attention with a block mask of PyTorch: its function counts, and its tables where they say more."""

import pytest
import torch
from torch.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, create_mask, or_masks
from torch.nn.attention.flex_attention import flex_attention as flex

import attn.torch as at
from attn.torch import _block_masks

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


def by_hand(listed, full=None, mask_mod=None, width=None):
    """A block mask of bool tables (…, blocks of queries, blocks of keys), and the dense mask that it means."""

    def ordered(table):
        found = torch.argsort(table.int(), dim=-1, descending=True, stable=True).int()
        return table.sum(-1).int(), found[..., :width]

    def dense(table):
        return table.repeat_interleave(128, -2)[..., :SQ, :].repeat_interleave(128, -1)[..., :SK]

    tables = [*ordered(listed), *([] if full is None else ordered(full))]
    mask = BlockMask.from_kv_blocks(*tables, mask_mod=mask_mod, seq_lengths=(SQ, SK))
    kept = dense(listed)
    if mask_mod is not None:
        kept = kept & create_mask(mask_mod, B, H, SQ, SK, device="cpu")
    return mask, kept if full is None else kept | dense(full)


def attend(q, k, v, kept):
    """By the dense mask; rows without keys are 0."""
    k, v = k.expand(B, -1, -1, -1), v.expand(B, -1, -1, -1)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, kept).nan_to_num()


LISTED = torch.tensor([[True, False, True], [False, True, False]])
FULL = torch.tensor([[False, True, False], [False, False, True]])
OF_EACH = torch.tensor([n % 3 != 1 for n in range(B * H * 6)]).view(B, H, 2, 3)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("mask_mod", [None, causal, near], ids=["none", "causal", "near"])
@pytest.mark.parametrize("listed", [LISTED[None, None], OF_EACH], ids=["one table", "of each head"])
def test_tables_made_by_hand_count_beside_the_function(listed, mask_mod, is_compiled):
    mask, kept = by_hand(listed, mask_mod=mask_mod)
    q, k, v = draw()
    call = torch.compile(at.flex_attention, fullgraph=True) if is_compiled else at.flex_attention
    torch.testing.assert_close(call(q, k, v, None, mask), attend(q, k, v, kept))


@pytest.mark.parametrize("mask_mod", [None, causal, near], ids=["none", "causal", "near"])
def test_full_blocks_are_kept_whatever_the_function_says(mask_mod, monkeypatch):
    q, k, v = draw()
    mask, kept = by_hand(LISTED[None, None], FULL[None, None], mask_mod)
    expected = attend(q, k, v, kept)
    torch.testing.assert_close(at.flex_attention(q, k, v, block_mask=mask), expected)
    if mask_mod is None:
        torch.testing.assert_close(torch.compile(at.flex_attention)(q, k, v, block_mask=mask), expected)
    # Of other functions it is looked at anew, and in parts.
    monkeypatch.setattr(_block_masks, "LARGEST_PART", 1000)
    mask, kept = by_hand(OF_EACH, ~OF_EACH, documents)
    torch.testing.assert_close(at.flex_attention(q, k, v, block_mask=mask), attend(q, k, v, kept))
    mask.mask_mod = near
    kept = by_hand(OF_EACH, ~OF_EACH, near)[1]
    torch.testing.assert_close(at.flex_attention(q, k, v, block_mask=mask), attend(q, k, v, kept))


@pytest.mark.parametrize("part", [1 << 24, 1000])
@pytest.mark.parametrize("name", MASKS)
def test_tables_that_say_no_more_cost_nothing(name, part, monkeypatch):
    """Those of create_block_mask: the compiler solves the function alone. A block less, and they count."""
    monkeypatch.setattr(_block_masks, "LARGEST_PART", part)
    q, k, _ = draw()
    mask = MASKS[name]()
    assert _block_masks.function_of(mask, q, k) is mask.mask_mod
    mask.kv_num_blocks -= 1
    assert _block_masks.function_of(mask, q, k) is not mask.mask_mod


def test_tables_narrower_than_the_keys():
    listed = torch.tensor([[False, False, True], [True, False, False]])[None, None]
    mask, kept = by_hand(listed, width=1)
    assert mask.kv_indices.shape[-1] == 1
    q, k, v = draw()
    torch.testing.assert_close(at.flex_attention(q, k, v, block_mask=mask), attend(q, k, v, kept))


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
