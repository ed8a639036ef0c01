"""attn::step, which graphs of torch.compile have for steps of an engine: which calls, with the bits of eager ones."""

import json

import numpy as np
import pytest
import torch
from test_torch_serving import HKV, HQ, PAGE, PAGES, STEPS, D, draw, expected, step
from torch._dynamo.backends.common import aot_autograd

import attn.torch as at
from attn.torch import _graph_step, _record, _steps

SCALES = dict(k_scale=torch.tensor([0.5, 1.5])[:HKV], v_scale=2.0)
WORDS = {
    "plain": {},
    "sink": dict(sink=torch.linspace(-1, 1, HQ)),
    "words": dict(window=(9, 0), softcap=3.0, scale=0.2),
    "align": dict(causal=None, align="bottom_right", window=(None, 2)),
}


@pytest.fixture
def compiled():
    """Compiles a function; `compiled.operators` are those of attn in its graphs, run as they are."""

    def compile_it(run, **options):
        torch._dynamo.reset()
        backend = aot_autograd(fw_compiler=lambda graph, _: found.extend(graph.graph.nodes) or graph.forward)
        return torch.compile(run, fullgraph=True, backend=backend, **options)

    found = []
    compile_it.operators = lambda: [str(x.target) for x in found if str(x.target).startswith("attn.")]
    return compile_it


def call(q, k, v, table, lengths, sums, **options):
    return at.paged_sdpa(q, k, v, table, lengths, cu_seqlens_q=sums, **dict(causal="bottom_right") | options)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_bits_of_eager_steps(compiled, words, mode):
    _, k, v, *_ = step()
    run = compiled(lambda *x: call(*x, **WORDS[words]), dynamic=True)
    for sizes in [*STEPS[:3], STEPS[0]]:
        q, *tables = draw(*sizes)
        with mode():
            found = run(q, k, v, *tables)
        assert torch.equal(found, call(q, k, v, *tables, **WORDS[words]))
        if words == "plain":
            np.testing.assert_allclose(found, expected(q, k, v, *tables, causal="bottom_right"), atol=1e-5)
    assert set(compiled.operators()) == {"attn.step.default"}


def test_layouts_types_and_scales(compiled):
    """One graph after the other has the same constants and other forms: each has a plan of its own."""
    q, k, v, *tables = step()
    both = torch.stack([k, v], 1)
    given = {
        "strided": (both[:, 0], both[:, 1], {}),
        "unlike": (k, torch.cat([v, v[:3]]), {}),
        "hnd": (k.transpose(1, 2).contiguous(), v.transpose(1, 2).contiguous(), dict(page_layout="hnd")),
        "hnd views": (k.transpose(1, 2), v.transpose(1, 2), dict(page_layout="hnd")),
        "fp8": (k.to(torch.float8_e4m3fn), v.to(torch.float8_e4m3fn), SCALES),
    }
    run = compiled(call, dynamic=False)
    for _ in range(2):
        for keys, values, options in given.values():
            assert torch.equal(run(q, keys, values, *tables, **options), call(q, keys, values, *tables, **options))
    wide = q.repeat(1, 1, 2)[..., :D]
    assert not wide.is_contiguous()
    assert torch.equal(run(wide, k, v, *tables), call(q, k, v, *tables))
    assert torch.equal(run(q, k, v, *[x.long() for x in tables]), call(q, k, v, *tables))
    assert set(compiled.operators()) == {"attn.step.default"}


def test_further_steps_run_in_cpp(compiled, monkeypatch):
    """A form that Python has seen once runs without it; `ninja attn_torch` makes the library."""
    assert _graph_step.in_cpp()
    _, k, v, *_ = step()
    run = compiled(call, dynamic=True)
    drawn = [draw(*sizes) for sizes in STEPS[:3]]
    wanted = [call(q, k, v, *tables) for q, *tables in drawn]
    run(drawn[0][0], k, v, *drawn[0][1:])
    monkeypatch.setattr(_steps, "paged", None)
    for (q, *tables), out in zip(drawn, wanted, strict=True):
        assert torch.equal(run(q, k, v, *tables), out)
    with pytest.raises(TypeError, match="not callable"):  # another form is Python's
        run(q.double(), k.double(), v.double(), *tables)


def test_rows_of_padding_are_0(compiled):
    q, k, v, *tables = step()
    run, padded = compiled(call, dynamic=False), torch.cat([q, q + 1])
    for _ in range(2):
        found = run(padded, k, v, *tables)
        assert torch.equal(found[: len(q)], call(q, k, v, *tables))
        assert not found[len(q) :].any()


def test_what_is_refused_is_refused_in_a_graph(compiled):
    q, k, v, table, lengths, sums = step()
    run = compiled(call, dynamic=False)
    for _ in range(2):
        for wrong in (
            (table + PAGES, lengths, sums),
            (table, lengths + PAGES * PAGE, sums),
            (table, lengths, -sums),
            (table, lengths[:, None], sums),
            (table.double(), lengths, sums),
        ):
            with pytest.raises((TypeError, ValueError), match="expected") as eager:
                call(q, k, v, *wrong)
            with pytest.raises(eager.type, match="expected") as found:
                run(q, k, v, *wrong)
            assert str(found.value) == str(eager.value)
        assert torch.equal(run(q, k, v, table, lengths, sums), call(q, k, v, table, lengths, sums))


def test_other_calls_have_the_operator_of_all(compiled):
    q, k, v, *tables = step()
    run = compiled(lambda *x: call(*x, return_lse=True), dynamic=False)
    for x, y in zip(run(q, k, v, *tables), call(q, k, v, *tables, return_lse=True), strict=True):
        assert torch.equal(x, y)
    compiled(call)(q, k, v, *tables)
    with pytest.raises(RuntimeError, match=r"no autograd formula was registered|does not require grad"):
        compiled(call)(q.clone().requires_grad_(), k, v, *tables).sum().backward()
    with torch.no_grad():
        compiled(call)(q.clone().requires_grad_(), k, v, *tables)
    assert compiled.operators() == ["attn.paged_sdpa.default", "attn.step.default", "attn.step.default"]


def test_opcheck():
    q, k, v, *tables = step()
    constants = {"scale": None, "causal": "bottom_right", "align": None, "page_layout": "nhd"}
    constants = json.dumps(constants | {"words": _record.NO_WORDS, "others": []})
    torch.library.opcheck(torch.ops.attn.step.default, (constants, q, k, v, *tables, []))
