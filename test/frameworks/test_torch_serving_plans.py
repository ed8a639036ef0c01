"""Plans of the steps of an engine: which calls of attn.torch take one, and what they refuse."""

import numpy as np
import pytest
import torch
from test_torch_serving import HKV, HQ, MISTAKES, PAGE, PAGES, STEPS, D, draw, expected, step

import attn.torch as at
from attn.kernel._cache import plans
from attn.torch import _append_steps, _appending, _serving, _steps


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
