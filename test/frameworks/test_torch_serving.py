"""attn.torch.paged_sdpa and kv_append as operators of PyTorch: a step of a serving engine on paged caches."""

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters

import attn
import attn.torch as at
import serving_steps
from attn import reference
from attn.kernel._cache import plans
from attn.torch import _append_steps, _appending, _regions, _serving, _steps
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


@pytest.fixture
def calls(monkeypatch):
    """What runs: "paged" and "append" where a plan is made, the names of operators where PyTorch's dispatcher is."""
    found = []
    plans.clear()

    def counted(run, name, *arguments):
        found.append(name)
        count = len(found)
        try:
            return run(*arguments)
        finally:
            del found[count:]  # the operator asks for a plan as well

    for name, module in (("paged", _steps), ("append", _append_steps)):
        make = getattr(module, f"_made_{name}")
        monkeypatch.setattr(module, f"_made_{name}", lambda *x, m=make, n=name: found.append(n) or m(*x))
    for name, module in (("_operator", _serving), ("_append", _appending)):
        run = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *x, r=run, n=name: counted(r, n, *x))
    return found


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("return_lse", [False, True])
def test_other_steps_take_one_plan(calls, dtype, return_lse):
    _, k, v, *_ = step(dtype)
    for sizes in STEPS * 2:
        q, table, lengths, sums = draw(*sizes, dtype)
        options = dict(causal="bottom_right", return_lse=return_lse)
        found = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **options)
        wanted = expected(q, k, v, table, lengths, sums, **options)
        for x, y in zip(found, wanted, strict=True) if return_lse else [(found, wanted)]:
            np.testing.assert_allclose(x.float(), y, atol=1e-5 if dtype == torch.float32 else 2e-2)
    assert calls == ["paged"]


def test_shifted_views_of_one_memory_are_caches(calls):
    """Of unlike numbers of pages: eager by a plan, and in a graph and exported by the operator."""
    memory = torch.randn(2 * PAGES, PAGE, HKV, D)
    q, _, _, table, lengths, sums = step()
    for k, v in ((memory, memory[1:]), (memory[2:], memory[1:])):
        run = lambda q, k, v: at.paged_sdpa(q, k, v, table * 2, lengths, cu_seqlens_q=sums, causal="bottom_right")  # noqa: E731
        wanted = expected(q, k, v, table * 2, lengths, sums, causal="bottom_right")
        calls.clear()
        for _ in range(2):
            np.testing.assert_allclose(run(q, k, v), wanted, atol=1e-5)
        assert calls == ["paged"]
        np.testing.assert_allclose(torch.compile(run, fullgraph=True)(q, k, v), wanted, atol=1e-5)


def test_other_numbers_of_tokens_append_by_one_plan(calls):
    cache = torch.zeros(PAGES, PAGE, HKV, D)
    wanted = cache.clone()
    for count in (3, 1, 0, _append_steps.FEW_TOKENS + 1, 100, 2):
        new, slots = torch.randn(count, HKV, D), torch.randperm(PAGES * PAGE)[:count]
        before = cache._version
        assert at.kv_append(cache, new, slots=slots) is cache
        assert cache._version == before + 1  # as autograd counts
        wanted.view(-1, HKV, D)[slots] = new
    torch.testing.assert_close(cache, wanted)
    assert calls == ["append"]


def views(x):
    """The same numbers in other strides, which a kernel reads where they are."""
    return [
        x,
        torch.stack([x, x + 1])[0],
        torch.stack([x, x + 1], 1)[:, 0],
        torch.cat([x, x + 1], -1)[..., : x.shape[-1]],
    ]


def test_strides_and_types_have_plans_of_their_own(calls):
    q, table, lengths, sums = draw(*STEPS[0])
    _, k, v, *_ = step()
    wanted = expected(q, k, v, table, lengths, sums)
    kinds = 0
    for _ in range(2):
        for x, y, z in [*zip(views(q), views(k), views(v), strict=True), (q, views(k)[2], v), (views(q)[3], k, v)]:
            found = at.paged_sdpa(x, y, z, table, lengths, cu_seqlens_q=sums)
            np.testing.assert_allclose(found, wanted, atol=1e-5)
        for x in (q.bfloat16(), q.double()):
            found = at.paged_sdpa(x, k.to(x.dtype), v.to(x.dtype), table, lengths, cu_seqlens_q=sums)
            np.testing.assert_allclose(found.float(), wanted, atol=5e-2)
        kinds = kinds or len(calls)
        assert calls == ["paged"] * kinds  # each is made once
    assert kinds == len(plans)
    # Integers of other types, tables that are views, and tensors off their alignment are copied behind the operator.
    wide = torch.cat([table, table], 1)[:, : table.shape[1]]
    bytes_of_q = torch.frombuffer(bytearray(4 * q.numel() + 1), dtype=torch.float32, offset=1, count=q.numel())
    for x, tables in (
        (q, (table.long(), lengths, sums)),
        (q, (wide, lengths, sums)),
        (bytes_of_q.view(q.shape).copy_(q), (table, lengths, sums)),
    ):
        found = at.paged_sdpa(x, k, v, *tables[:2], cu_seqlens_q=tables[2])
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert calls.pop() == "_operator"


def test_options_have_plans_of_their_own(calls):
    q, table, lengths, sums = draw(*STEPS[0])
    _, k, v, *_ = step()
    several = [{}, {"scale": 1}, {"scale": 0.5}, {"causal": "bottom_right"}, {"causal": "top_left"}, {"softcap": 2.0}]
    several += [{"causal": "bottom_right", "window": (w, 0)} for w in (3, 4)]
    several += [{"causal": "bottom_right", "chunk": 3}, {"sink": torch.randn(HQ)}]
    several += [{"causal": "bottom_right", "sink": torch.zeros(HQ)}]
    for _ in range(2):
        for options in several:
            found = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **options)
            given = {name: x.numpy() if name == "sink" else x for name, x in options.items()}
            np.testing.assert_allclose(found, expected(q, k, v, table, lengths, sums, **given), atol=1e-5)
    assert calls == ["paged"] * len(several)
    with pytest.raises(RuntimeError, match="chunk"):
        at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, causal="bottom_right", chunk=3.0)
    offsets = torch.tensor([30, 2, 19])
    for start in (offsets, offsets - 1):
        found = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, causal=start)
        np.testing.assert_allclose(found, expected(q, k, v, table, lengths, sums, causal=start.numpy()), atol=1e-5)
    with pytest.raises(ValueError, match="expected sink of shape"):
        at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, sink=torch.randn(HQ - 1))
    # Lengths that are equal today are not tomorrow.
    sums, lengths = torch.tensor([0, 2, 4], dtype=torch.int32), torch.tensor([2, 2], dtype=torch.int32)
    at.paged_sdpa(q[:4], k, v, table[:2], lengths, cu_seqlens_q=sums, window=(3, 3))
    with pytest.raises(ValueError, match="expected align for a window"):
        at.paged_sdpa(q[:4], k, v, table[:2], lengths + 1, cu_seqlens_q=sums, window=(3, 3))


def test_scales_of_quantised_caches(calls):
    q, table, lengths, sums = draw(*STEPS[0])
    k, v = torch.randint(-127, 128, (2, PAGES, PAGE, HKV, D), dtype=torch.int8)
    for _ in range(2):
        scales = {f"{x}_scale": torch.rand(HKV) / 50 for x in "kv"}
        found = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **scales)
        heads = [x.float() * scale[:, None] for x, scale in zip((k, v), scales.values(), strict=True)]
        np.testing.assert_allclose(found, expected(q, *heads, table, lengths, sums), atol=1e-4)
    assert calls == ["paged"]


WRONG_STEPS = {
    "beyond the table": (dict(lengths=[33, 49, 20]), "expected kv_lengths in 0 to 48"),
    "no page": (dict(table=[[3, 7, 1], [0, 0, 0], [5, PAGES, 0]]), rf"found {PAGES} at \[2, 1\]"),
    "sums that fall": (dict(sums=[0, 5, 4, 7]), "expected cu_seqlens_q never to decrease"),
    "many rows": (dict(sums=[0, 5, 6, 8]), "to go from 0 to the 7 packed rows"),
    "more lengths": (dict(lengths=[33, 1, 20, 4]), "expected kv_lengths of shape"),
    "a table of fewer": (dict(table=[[3, 7, 1]]), "expected block_table of shape"),
    "a row of pages": (dict(table=[3, 7, 1]), r"\[B, pages\], found \(3,\); write block_table.reshape\(3, -1\)"),
}


@pytest.mark.parametrize("name", WRONG_STEPS)
def test_steps_that_are_refused(calls, name):
    wrong, message = WRONG_STEPS[name]
    q, k, v, table, lengths, sums = step()
    at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums)
    tables = dict(table=table, lengths=lengths, sums=sums)
    tables |= {name: torch.tensor(x, dtype=torch.int32) for name, x in wrong.items()}
    with pytest.raises(ValueError, match=message):
        at.paged_sdpa(q, k, v, tables["table"], tables["lengths"], cu_seqlens_q=tables["sums"])
    assert calls == ["paged", "_operator"]


@pytest.mark.parametrize("name", MISTAKES)
def test_slots_that_a_plan_refuses(calls, name):
    slots, message = MISTAKES[name]
    cache = torch.zeros(PAGES, PAGE, HKV, D)
    at.kv_append(cache, torch.zeros(3, HKV, D), slots=torch.tensor([0, 1, 2]))
    more = torch.arange(PAGES * PAGE)[20 : 20 + _append_steps.FEW_TOKENS]
    for slots_of, count in ((torch.tensor(slots), 3), (torch.cat([torch.tensor(slots), more]), 3 + more.numel())):
        with pytest.raises(ValueError, match=message if count == 3 else message.replace(r"\(3,\)", "")):
            at.kv_append(cache, torch.ones(count, HKV, D), slots=slots_of)
    assert not cache.any()
    assert calls == ["append", "_append", "_append"]


def test_who_sees_the_operator(calls):
    q, k, v, table, lengths, sums = step()
    at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums)
    at.kv_append(k, k[0, :2] * 0, slots=torch.tensor([1, 2]))
    assert calls == ["paged", "append"]
    q.requires_grad_()
    out = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        out.sum().backward()
    with torch.no_grad():
        at.kv_append(k, torch.ones(2, HKV, D, requires_grad=True), slots=torch.tensor([1, 2]))
    with torch.profiler.profile() as profile:
        at.paged_sdpa(q.detach(), k, v, table, lengths, cu_seqlens_q=sums)
    assert "attn::paged_sdpa" in {x.key for x in profile.key_averages()}
    assert calls[2:] == ["_operator", "_operator"]
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            found = at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums)
            assert not found.requires_grad
            assert found.is_inference() == (mode is torch.inference_mode)
    assert len(calls) == 4


def test_plans_make_results_as_the_manifest_has_them():
    """Of other columns than q, and of another type, which no keyword of attn.torch asks for today."""
    q, k, v, *tables = step(torch.bfloat16)
    v = torch.cat([v, v[..., :5]], -1)
    constants = ("nhd", None, "bottom_right", None, True, True, "", "", ("out_dtype", torch.dtype, torch.float32))
    for _ in range(2):
        found = _steps.paged(q, k, v, *tables, (None,) * 3, constants)
        wanted = expected(q, k, v, *tables, causal="bottom_right", return_lse=True, return_key_sums=True)
        assert [x.dtype for x in found] == [torch.float32] * 3
        for x, y in zip(found, wanted, strict=True):
            assert x.shape == y.shape
            np.testing.assert_allclose(x, y, atol=2e-3)
