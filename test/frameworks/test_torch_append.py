"""attn.torch.kv_append writes in place: what autograd and inference mode have to know of it."""

import pytest
import torch

import attn
import attn.torch as at

HKV, D, PAGE = 2, 32, 16

APPENDS = {
    "a plan": lambda cache, new: at.kv_append(cache, new, slots=torch.tensor([1, 20])),
    "the operator": lambda cache, new: torch.ops.attn.kv_append(cache, new, None, None, torch.tensor([1, 20])),
    "pages": lambda cache, new: at.kv_append(
        cache, new[:, :, None], torch.tensor([1, 4]), block_table=torch.tensor([[0], [1]])
    ),
    "dense": lambda cache, new: at.kv_append(cache, new[:, None, :1].expand(-1, PAGE, -1, -1), torch.tensor([0, 1])),
    "a graph": lambda cache, new: torch.compile(APPENDS["a plan"], backend="eager", fullgraph=True)(cache, new),
}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # which the compiler looks at
@pytest.mark.parametrize("name", APPENDS)
@pytest.mark.parametrize("recorded", ["cache", "new"])
def test_appends_that_would_lose_a_gradient_are_refused(name, recorded):
    """Overwritten rows would keep theirs, new ones would have none; leaves are not written, as PyTorch has it."""
    new = torch.randn(2, HKV, D, requires_grad=recorded == "new")
    leaf = torch.zeros(2, PAGE, HKV, D, requires_grad=recorded == "cache")
    error = Exception if name == "a graph" else TypeError  # PyTorch's compiler has its own around it
    message = f"expected {recorded} of attn::kv_append to require no gradient, found one .* write {recorded}.detach()"
    for cache in (leaf, leaf * 2):
        with pytest.raises(error, match=message):
            APPENDS[name](cache, new)
        assert not cache.any()
    with torch.no_grad():
        APPENDS[name](leaf, new)
    assert leaf.any()


@pytest.mark.parametrize("name", ["a plan", "the operator", "pages"])
def test_appends_are_counted_and_respect_inference_mode(name):
    new, saved = torch.randn(2, HKV, D), torch.zeros(2, PAGE, HKV, D)
    product = saved * torch.ones(D, requires_grad=True)
    APPENDS[name](saved, new)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with torch.inference_mode():
        cache = torch.zeros(2, PAGE, HKV, D)
        APPENDS[name](saved, new)
    with pytest.raises(RuntimeError, match=r"found a tensor of inference mode outside of it; write with"):
        APPENDS[name](cache, new)
    assert not cache.any()
    with torch.inference_mode():
        APPENDS[name](cache, new)
    torch.testing.assert_close(cache, saved)


def test_tensors_that_attn_itself_writes_are_counted():
    """attn.kv_append, and the arrays of into."""
    q, k, v = (torch.randn(1, 2, 4, 16) for _ in "qkv")
    out, lse = attn.sdpa(q, k, v, return_lse=True)
    cache = k.clone()
    for written, write in (
        (cache, lambda: attn.kv_append(cache, k[:, :, :1], [2])),
        (out, lambda: attn.sdpa(q, k, v, into=(out, lse))),
    ):
        product = written * torch.ones((), requires_grad=True)
        write()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward(torch.ones_like(product))
