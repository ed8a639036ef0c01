"""What counts positions on several ranks: chunks, prefixes, functions and dropout are those of the whole."""

import numpy as np
import pytest
import ranks
import torch

import attn
import attn.torch
from attn.torch.parallel import _layout

S, D, DV, HQ, HKV = 96, 24, 16, 4, 2
LAYOUTS = ("contiguous", "zigzag")
NUMBERS = (1, 2, 4)
SEED = 11
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
POSITIONS = torch.randperm(S, generator=torch.Generator().manual_seed(2))


def alibi(s, b, h, i, j):
    """Slopes of heads by distances in the whole."""
    return s - SLOPES[h] * (i - j)


def captured(b, h, i, j):
    """Keys by positions that a tensor of the whole holds."""
    return POSITIONS[j] <= POSITIONS[i]


CASES = {
    "chunk": {"is_causal": True, "chunk": 20},
    "chunk-alone": {"chunk": 31, "window": (25, None)},
    "prefix": {"is_causal": True, "window": (9, None), "prefix": 13},
    "alibi": {"is_causal": True, "score_mod": alibi},
    "captured": {"mask_mod": captured},
    "dropout": {"dropout_p": 0.3},
    "all": {"is_causal": True, "prefix": 5, "score_mod": alibi, "mask_mod": captured, "dropout_p": 0.2, "softcap": 3.0},
}
SCHEMES = {"allgather": {}, "ring": {"method": "ring"}, "ordered": {"method": "ring", "ordered": True}}


def inputs():
    generator = torch.Generator().manual_seed(7)
    shapes = {"q": (2, HQ, S, D), "k": (2, HKV, S, D), "v": (2, HKV, S, DV), "dout": (2, HQ, S, DV)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def runs_of(case, count):
    """The layouts and schemes: all of them where words come together, on 4 ranks those where one alone differs.

    Each form of a kernel is compiled, which is most of the time of this file; fewer ranks have other blocks. Those of
    "contiguous" are longer than a chunk, those of "zigzag" shorter.
    """
    if case not in ("prefix", "all"):
        longer = [("contiguous", "ring")] if "chunk" in case else []
        return [*longer, ("zigzag", "allgather"), ("zigzag", "ring")] if count == 4 else []
    if count == 1:
        return [("zigzag", "ordered"), ("zigzag", "ring")]
    return [(x, y) for x in LAYOUTS for y in SCHEMES if x == "zigzag" or y == "ring"]


def on_ranks(rank, count):
    torch.set_grad_enabled(True)
    found, whole = {}, inputs()
    for case, options in CASES.items():
        for layout, name in runs_of(case, count):
            segments = _layout.layout_of(layout, S, count)
            given = {x: segments.shard_of(y, rank, 2) for x, y in whole.items()}
            leaves = [given[x].clone().requires_grad_() for x in "qkv"]
            torch.manual_seed(SEED + rank)  # those of rank 0 are taken
            call = {"layout": layout, "enable_gqa": True, "return_lse": True, **SCHEMES[name]}
            out, lse = attn.torch.sharded_sdpa(*leaves, **call, **options)
            out.backward(given["dout"])
            results = [out.detach(), lse.detach(), *(x.grad for x in leaves)]
            found[case, layout, name] = [attn.torch.unshard(x, 2, layout=layout) for x in results]
    q = whole["q"][:, :, : S // count]
    attempts = {
        "heads": lambda: attn.torch.sharded_sdpa(q, q, q, method="ulysses", dropout_p=0.1),
        "documents": lambda: attn.torch.sharded_sdpa(q[:1], q[:1], q[:1], cu_seqlens=[0, S], chunk=4, is_causal=True),
        "gradient": lambda: attn.torch.sharded_sdpa(q, q, q, score_mod=with_gradient()),
        "prefix": lambda: attn.torch.sharded_sdpa(q, q, q, prefix=3),
    }
    found["errors"] = {name: ranks.error_of(call) for name, call in attempts.items()}
    with attn.torch.context_parallel(layout="zigzag"):
        shard = [_layout.layout_of("zigzag", S, count).shard_of(whole[x], rank, 2) for x in "qkv"]
        torch.manual_seed(SEED)
        out = attn.torch.sdpa(*shard, is_causal=True, dropout_p=0.3, enable_gqa=True, chunk=20, score_mod=alibi)
        found["inside"] = attn.torch.unshard(out, 2, layout="zigzag")
    by_heads = attn.torch.sharded_sdpa(*shard, method="ulysses", is_causal=True, chunk=20, prefix=7, enable_gqa=True)
    found["by heads"] = attn.torch.unshard(by_heads, 2, layout="zigzag")
    return found


def with_gradient():
    table = torch.zeros(S, requires_grad=True)
    return lambda s, b, h, i, j: s + table[j]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    return {n: ranks.run(on_ranks, n, folder=folder) for n in NUMBERS}


def seeds():
    torch.manual_seed(SEED)
    return torch.randint(2**62, (2,)).tolist()


def reference(options):
    options = {**options}
    wide = {x: y.double().numpy() for x, y in inputs().items()}
    if options.pop("is_causal", False):
        options["causal"] = "top_left"
    elif "window" in options or "chunk" in options:
        options["align"] = "top_left"
    if "dropout_p" in options:
        options["dropout"] = (options.pop("dropout_p"), *seeds())
    if "score_mod" in options:
        slopes = SLOPES.double().numpy()
        options["score_mod"] = lambda s, b, h, i, j: s - slopes[h] * (i - j)
    if "mask_mod" in options:
        positions = POSITIONS.numpy()
        options["mask_mod"] = lambda b, h, i, j: positions[j] <= positions[i]
    q, k, v = (wide[x] for x in "qkv")
    out, lse = attn.reference.sdpa(q, k, v, **options, return_lse=True)
    return [out, lse, *attn.reference.sdpa_backward(q, k, v, out, lse, wide["dout"], **options).values()]


@pytest.mark.parametrize("case", CASES)
def test_ranks_compute_the_attention_of_the_whole(found, case):
    wanted = reference(CASES[case])
    for n in NUMBERS:
        for layout, name in runs_of(case, n):
            for x, y in zip(found[n][0][case, layout, name], wanted, strict=True):
                error = np.abs(x.double().numpy() - y).max() / np.abs(y).max()
                assert error <= 4e-6, f"{n} ranks, {layout}, {name}: {error:.1e}"


@pytest.mark.parametrize("case", ["prefix", "all"])
def test_ordered_has_the_same_bits_on_any_number_of_ranks(found, case):
    one = found[1][0][case, "zigzag", "ordered"]
    for n in NUMBERS[1:]:
        for x, y in zip(found[n][0][case, "zigzag", "ordered"], one, strict=True):
            assert torch.equal(x, y)


def test_one_rank_drops_the_same_weights(found):
    """`attn.torch.sdpa` of the whole, from the same seed."""
    q, k, v = (inputs()[x] for x in "qkv")
    torch.manual_seed(SEED)
    given = {"is_causal": True, "dropout_p": 0.3, "enable_gqa": True, "chunk": 20, "score_mod": alibi}
    one = attn.torch.sdpa(q, k, v, **given)
    for n in NUMBERS:
        torch.testing.assert_close(found[n][0]["inside"], one, atol=2e-6, rtol=0)


def test_heads(found):
    want = reference({"is_causal": True, "chunk": 20, "prefix": 7})[0]
    for n in NUMBERS:
        np.testing.assert_allclose(found[n][0]["by heads"].numpy(), want, atol=4e-6)


MESSAGES = {
    "heads": 'expected no dropout_p with method="ulysses", whose ranks have some of the heads',
    "documents": "expected no chunk beside cu_seqlens in a sequence on several ranks",
    "gradient": "expected functions of a sequence on several ranks to read tensors that require no",
    "prefix": "expected prefix beside causal, window or chunk, found it alone",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_each_rank_has_an_error(found, name):
    for n in NUMBERS:
        for results in found[n]:
            assert MESSAGES[name] in results["errors"][name]
