"""attn.torch.paged_sdpa and kv_append as operators of PyTorch: a step of a serving engine on paged caches."""

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters

import attn
import attn.torch as at
import serving_steps
from attn import reference
from attn.torch import _regions
from attn.torch._appending import _append
from attn.torch._serving import _operator

HQ, HKV, D, PAGE, PAGES = 4, 2, 32, 16, 12
LENGTHS, SUMS = [33, 1, 20], [0, 5, 6, 7]
SLOPES = torch.tensor([0.5, 0.1, 0.2, 0.05])
ALIBI = lambda s, b, h, i, j: s - SLOPES[h] * (j - i)  # noqa: E731


def step(dtype=torch.float32):
    """Queries, caches (halves of one tensor, as vLLM has them), table, lengths and sums of a step."""
    torch.manual_seed(0)
    caches = torch.randn(2, PAGES, PAGE, HKV, D, dtype=dtype)
    table = torch.tensor([[3, 7, 1], [0, 0, 0], [5, 2, 0]], dtype=torch.int32)
    lengths, sums = (torch.tensor(x, dtype=torch.int32) for x in (LENGTHS, SUMS))
    return torch.randn(SUMS[-1], HQ, D, dtype=dtype), caches[0], caches[1], table, lengths, sums


STEPS = [  # tokens and keys of each sequence, and columns of the table
    ((5, 1, 1), (33, 1, 20), 3),
    ((1,), (40,), 3),
    ((1, 1, 1, 1, 9), (3, 30, 17, 70, 9), 5),
    ((0, 2), (0, 2), 1),
]


def draw(counts, lengths, width, dtype=torch.float32):
    """Queries, table, lengths and sums of a step."""
    table = torch.randint(PAGES, (len(counts), width), dtype=torch.int32)
    sums = torch.tensor([0, *np.cumsum(counts)], dtype=torch.int32)
    return torch.randn(sum(counts), HQ, D).to(dtype), table, torch.tensor(lengths, dtype=torch.int32), sums


def expected(q, k, v, table, lengths, sums, **options):
    arrays = [x.float().numpy() for x in (q, k, v)]
    return reference.paged_sdpa(*arrays, table.numpy(), lengths.numpy(), cu_seqlens_q=sums.numpy(), **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_values(dtype):
    q, k, v, table, lengths, sums = step(dtype)
    out, lse = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, causal="bottom_right", return_lse=True)
    wanted = expected(q, k, v, table, lengths, sums, causal="bottom_right", return_lse=True)
    error = 1e-5 if dtype == torch.float32 else 2e-2
    np.testing.assert_allclose(out.float(), wanted[0], atol=error)
    np.testing.assert_allclose(lse, wanted[1], atol=error)
    assert out.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_sums_of_weights(dtype):
    """By a plan, by the operator, and in a graph."""
    q, *caches, table, lengths, sums = step(dtype)
    options = dict(cu_seqlens_q=sums, causal="bottom_right", return_key_sums=True)

    def run(q, **more):
        return at.paged_sdpa(q, *caches, table, lengths, **options, **more)

    out, found = run(q)
    wanted = expected(q, *caches, table, lengths, sums, causal="bottom_right", return_key_sums=True)[1]
    np.testing.assert_allclose(found, wanted, atol=1e-5 if dtype == torch.float32 else 1e-3)
    assert found.shape == (3, HKV, 3, PAGE)
    both = run(q, return_lse=True)
    assert len(both) == 3
    assert torch.equal(both[2], found)
    assert torch.equal(both[0], out)
    graph = torch.compile(lambda q: run(q)[1] * 2, fullgraph=True)
    assert torch.equal(graph(q), 2 * found)


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_caches_of_fp8(kind):
    """Rows appended by slots, then a step with a scale a head."""
    q, *caches, table, lengths, sums = step()
    narrow, scale = [x.to(kind) for x in caches], torch.tensor([0.5, -0.25])
    new, slots = torch.randn(2, HKV, D).to(kind), torch.tensor([7 * PAGE, 5 * PAGE + 1])
    for x in narrow:
        at.kv_append(x, new, slots=slots)
        assert torch.equal(x[slots // PAGE, slots % PAGE].view(torch.int8), new.view(torch.int8))
    options = dict(causal="bottom_right", cu_seqlens_q=sums, k_scale=scale, v_scale=scale)
    out = at.paged_sdpa(q, *narrow, table, lengths, **options)
    wide = [x.float() * scale[:, None] for x in narrow]
    np.testing.assert_allclose(out, expected(q, *wide, table, lengths, sums, causal="bottom_right"), atol=1e-5)


def tree(first, parents):
    """A token of a draft sees the first keys, and of the draft itself what the tree says (B, tokens, tokens)."""

    def mask(b, h, i, j):
        k = j - first[b]
        return (k < 0) | parents[b, attn.functions.clip(i, 0, 4), attn.functions.clip(k, 0, 4)]

    return mask


@pytest.mark.parametrize("dynamic", [True, False])
def test_functions_of_scores(dynamic):
    """ALiBi, and a tree of drafts; another step has other tensors."""
    q, k, v, table, lengths, sums = step()
    first = lengths - sums.diff()
    for seed in (0, 1):
        torch.manual_seed(seed)
        parents = torch.rand(3, 5, 5) < 0.5
        parents |= torch.eye(5, dtype=torch.bool)
        options = dict(score_mod=ALIBI, mask_mod=tree(first, parents))
        found = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **options, dynamic=dynamic)
        slopes, keep = SLOPES.numpy(), tree(first.numpy(), parents.numpy())
        options = dict(score_mod=lambda s, b, h, i, j: s - slopes[h] * (j - i), mask_mod=keep)  # noqa: B023
        np.testing.assert_allclose(found, expected(q, k, v, table, lengths, sums, **options), atol=1e-5)
    dense = at.paged_sdpa(q[:6].view(3, HQ, 2, D), k, v, table, lengths, score_mod=ALIBI, dynamic=dynamic)
    arrays = [x.numpy() for x in (q[:6].view(3, HQ, 2, D), k, v, table, lengths)]
    wanted = reference.paged_sdpa(*arrays, score_mod=lambda s, b, h, i, j: s - slopes[h] * (j - i))
    np.testing.assert_allclose(dense, wanted, atol=1e-5)


def test_functions_in_a_graph():
    def run(q, k, v, table, lengths, sums, slopes, parents):
        mask = tree(lengths - sums.diff(), parents)
        options = dict(score_mod=lambda s, b, h, i, j: s - slopes[h] * (j - i), mask_mod=mask)
        return at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **options)

    arguments = (*step(), SLOPES)
    compiled = torch.compile(run, fullgraph=True)
    for seed in (0, 1):
        torch.manual_seed(seed)
        parents = (torch.rand(3, 5, 5) < 0.5) | torch.eye(5, dtype=torch.bool)
        torch.testing.assert_close(compiled(*arguments, parents), run(*arguments, parents))


def test_a_graph_with_functions_serves_other_sizes():
    """Of one graph for each kind of sizes, no kernel is traced for a number of rows; bits are those of eager calls."""

    def run(q, k, v, table, lengths, sums, slopes, first):
        options = dict(
            score_mod=lambda s, b, h, i, j: s - slopes[h] * (j - i), mask_mod=lambda b, h, i, j: j >= first[b]
        )
        return at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **options)

    compiled, graphs = torch.compile(run, backend="aot_eager", fullgraph=True), counters["stats"]["unique_graphs"]
    _, k, v, *_ = step()
    for counts in ((1, 1), (3, 2), (4, 5, 1), (2, 0), (7, 1, 1), (2, 2, 2, 2), (30, 2), (9, 9, 9), (1, 2, 3, 4, 5)):
        q, table, lengths, sums = draw(counts, [x + 3 for x in counts], 5)
        tensors = (q, k, v, table, lengths, sums, SLOPES, torch.arange(len(counts), dtype=torch.int32))
        assert torch.equal(compiled(*tensors), run(*tensors))
    assert counters["stats"]["unique_graphs"] - graphs <= 6


def test_functions_that_are_refused():
    q, k, v, table, lengths, sums = step()
    short = torch.zeros(4)
    with pytest.raises(ValueError, match=r"expected positions from 0 to 3 in .* found 0 to 4 possible"):
        at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, score_mod=lambda s, b, h, i, j: s + short[i])


def test_opcheck():
    q, k, v, table, lengths, sums = step()
    options = {"causal": "bottom_right", "dynamic": True}
    torch.library.opcheck(_operator, (q, k, v, table, lengths, [], sums), options)
    functions = _regions.traced(ALIBI, None, (3, HQ, 5, 48), q)
    options |= {"regions": functions[0], "captured": functions[1]}
    torch.library.opcheck(_operator, (q, k, v, table, lengths, functions[2], sums), options)
    slots = torch.tensor([3, 40, 7])
    torch.library.opcheck(_append, (k.clone(), torch.randn(3, HKV, D), None, None, slots, "nhd"))


def test_a_compiled_step_has_no_graph_break():
    def run(q, k, v, new, slots, table, lengths, sums):
        at.kv_append(k, new, slots=slots)
        at.kv_append(v, new * 2, slots=slots)
        return at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, causal="bottom_right")

    q, k, v, table, lengths, sums = step()
    new, slots = torch.randn(2, HKV, D), torch.tensor([3 * PAGE, 5 * PAGE + 1])
    copies = k.clone(), v.clone()
    found = torch.compile(run, fullgraph=True)(q, k, v, new, slots, table, lengths, sums)
    torch.testing.assert_close(found, run(q, *copies, new, slots, table, lengths, sums))
    torch.testing.assert_close(k, copies[0])
    np.testing.assert_allclose(found, expected(q, k, v, table, lengths, sums, causal="bottom_right"), atol=1e-5)


def test_compiled_steps_take_the_plans_of_eager_ones(monkeypatch):
    def run(q, k, v, new, slots, table, lengths, sums, slopes):
        at.kv_append(k, new, slots=slots)
        options = dict(cu_seqlens_q=sums, causal="bottom_right")
        out = torch.empty_like(q)
        at.paged_sdpa(q, k, v, table, lengths, out=out, **options)
        return out, *at.paged_sdpa(q, k, v, table, lengths, alibi_slopes=slopes, return_lse=True, **options)

    compiled = torch.compile(run, fullgraph=True)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        for counts, lengths, width in STEPS[:3]:
            q, *tables = draw(counts, lengths, width)
            _, k, v, *_ = step()
            new, slots = torch.randn(2, HKV, D), torch.tensor([3 * PAGE, 5 * PAGE + 1])
            with mode():
                found = compiled(q, k, v, new, slots, *tables, SLOPES)
            for x, y in zip(found, run(q, k, v, new, slots, *tables, SLOPES), strict=True):
                assert torch.equal(x, y)
        # From here on the functions that make kernels are not asked.
        monkeypatch.setattr(attn, "paged_sdpa", None)
        monkeypatch.setattr(attn, "kv_append", None)


def test_random_steps_of_an_engine():
    """The steps of serving_steps.py by attn.torch, compiled: with the bits of NumPy's."""
    for seed in (3, 5):
        assert serving_steps.run(5, seed, lambda: serving_steps.by_torch(True)) == []


def test_export():
    class Step(torch.nn.Module):
        def forward(self, q, k, v, table, lengths, sums):
            return at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, causal="bottom_right")

    inputs = step()
    program = torch.export.export(Step(), inputs)
    torch.testing.assert_close(program.module()(*inputs), Step()(*inputs))


MISTAKES = {
    "beyond": ([0, PAGES * PAGE, 2], f"expected slots in 0 to {PAGES * PAGE - 1}, found {PAGES * PAGE} of token 1"),
    "twice": ([5, 2, 5], "expected each slot once, found 5 of tokens 0 and 2"),
    "many": ([5, 2, 7, 9], r"expected slots of shape \(3,\)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_slots_that_are_refused(name):
    slots, message = MISTAKES[name]
    cache = torch.zeros(PAGES, PAGE, HKV, D)
    with pytest.raises(ValueError, match=message):
        at.kv_append(cache, torch.ones(3, HKV, D), slots=torch.tensor(slots))
    assert not cache.any()


@pytest.mark.parametrize("layout", ["nhd", "hnd"])
def test_slots_of_numpy(layout):
    rng = np.random.default_rng(0)
    cache, new = rng.standard_normal((PAGES, PAGE, HKV, D)), rng.standard_normal((5, HKV, D))
    slots = np.array([0, 17, 5, PAGES * PAGE - 1, 33])
    wanted = cache.copy()
    wanted[slots // PAGE, slots % PAGE] = new
    cache = cache if layout == "nhd" else np.ascontiguousarray(cache.swapaxes(1, 2))
    attn.kv_append(cache, new, slots=slots, page_layout=layout)
    np.testing.assert_array_equal(cache if layout == "nhd" else cache.swapaxes(1, 2), wanted)
