"""Distributed tensors: `attn.torch.sdpa` on those sharded over batch and heads, on two and four ranks of gloo."""

import numpy as np
import pytest
import ranks
import torch
from torch.distributed.device_mesh import init_device_mesh

import attn
import attn.torch

B, HQ, HKV, S, D = 2, 8, 4, 21, 16
OPTIONS = {"causal": "top_left", "window": (7, None), "enable_gqa": True}


def inputs(hkv=HKV):
    generator = torch.Generator().manual_seed(7)
    draw = lambda *shape: torch.randn(shape, generator=generator)  # noqa: E731
    q, k, v = draw(B, HQ, S, D), draw(B, hkv, S, D), draw(B, hkv, S, D)
    return {"q": q, "k": k, "v": v, "dout": draw(B, HQ, S, D), "bias": draw(1, HQ, S, S), "sink": draw(HQ)}


def whole(x):
    return x.full_tensor().detach()


def on_ranks(rank, count):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    found = {}
    mesh = init_device_mesh("cpu", (count,))

    def run(name, mesh, place, given, of=None):
        """out, lse and the gradients, of `place` but for the tensors of `of`."""
        of = of or {}
        placed = {x: distribute_tensor(y, mesh, of.get(x, place)) for x, y in given.items()}
        leaves = {x: y.requires_grad_() for x, y in placed.items() if x != "dout"}
        extra = {x: y for x, y in leaves.items() if x not in "qkv"}
        out, lse = attn.torch.sdpa(*(leaves[x] for x in "qkv"), **extra, **OPTIONS, return_lse=True)
        assert out.placements == lse.placements == tuple(place)
        (out * placed["dout"]).sum().backward()
        found[name] = [whole(out), whole(lse), *(whole(y.grad) for y in leaves.values())]

    plain = {x: y for x, y in inputs().items() if x not in ("bias", "sink")}
    one = {x: y for x, y in inputs(1).items() if x not in ("bias", "sink")}
    all_, heads = [Replicate()], [Shard(1)]
    run("batch", mesh, [Shard(0)], plain)
    run("heads", mesh, heads, plain)
    run("replicate", mesh, all_, plain)
    run("one head of keys", mesh, heads, one, {"k": all_, "v": all_})
    run("bias and sink, heads", mesh, heads, inputs(), {"sink": [Shard(0)]})
    if count == 2:
        run("bias and sink, batch", mesh, [Shard(0)], inputs(), {"sink": all_, "bias": all_})
    else:
        both = init_device_mesh("cpu", (2, 2))
        run("batch and heads", both, [Shard(0), Shard(1)], plain)

    def error(place, of=None, hkv=HKV, **options):
        given = {x: distribute_tensor(y, mesh, (of or {}).get(x, place)) for x, y in inputs(hkv).items() if x in "qkv"}
        return ranks.error_of(lambda: attn.torch.sdpa(*(given[x] for x in "qkv"), **(OPTIONS | options)))

    found["errors"] = {
        "rows": error([Shard(2)]),
        "keys": error(heads, {"k": [Shard(2)]}),
        "other": error([Shard(0)], {"k": heads}),
        "heads": error(heads, hkv=1 if count == 2 else 2),
        "dropout": error(heads, dropout_p=0.1),
        "function": error(heads, mask_mod=lambda b, h, i, j: j <= i + h),
        "mask": error(heads, attn_mask=torch.ones(S, S, dtype=torch.bool)),
    }
    return found


@pytest.fixture(scope="module", params=[2, 4])
def found(request):
    return ranks.run(on_ranks, request.param)[0] | {"ranks": request.param}


def reference(given):
    wide = {x: y.double().numpy() for x, y in given.items()}
    options = {"causal": "top_left", "window": (7, None)} | {x: wide[x] for x in ("bias", "sink") if x in wide}
    q, k, v, dout = (wide.pop(x) for x in ("q", "k", "v", "dout"))
    out, lse = attn.reference.sdpa(q, k, v, **options, return_lse=True)
    grads = attn.reference.sdpa_backward(q, k, v, out, lse, dout, grad=("q", "k", "v", *wide), **options)
    return [out, lse, *grads.values()]


CASES = [
    "batch",
    "heads",
    "replicate",
    "one head of keys",
    "bias and sink, heads",
    "bias and sink, batch",
    "batch and heads",
]


@pytest.mark.parametrize("name", CASES)
def test_each_rank_has_its_batches_and_heads(found, name):
    if name not in found:
        pytest.skip("of another number of ranks")
    given = inputs(1 if name == "one head of keys" else HKV)
    if not name.startswith("bias"):
        given = {x: y for x, y in given.items() if x not in ("bias", "sink")}
    for x, y in zip(found[name], reference(given), strict=True):
        assert x.shape == y.shape
        assert np.abs(x.numpy() - y).max() <= 2e-6 * max(np.abs(y).max(), 1.0)


MESSAGES = {
    "rows": r"expected query with placements of Shard\(0\), Shard\(1\) and Replicate, found S.*2.*context_parallel",
    "keys": r"expected key with placements .* beside a query of .*, found .*2",
    "other": r"expected key with placements .* beside a query of",
    "dropout": r"expected dropout_p=0.0 with distributed tensors",
    "function": r"expected no mask_mod with distributed tensors, .*local_map",
    "mask": r"expected attn_mask to be a DTensor .* write distribute_tensor\(attn_mask, mesh, placements\)",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_what_ranks_would_compute_otherwise_is_refused(found, name):
    import re

    assert re.search(MESSAGES[name], found["errors"][name])


def test_ranks_have_whole_groups_of_heads(found):
    if found["ranks"] == 4:
        assert "expected heads of key of which 4 ranks have equally many, found 2" in found["errors"]["heads"]
    else:
        assert "expected key with placements" in found["errors"]["heads"]
