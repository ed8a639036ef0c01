"""attn.torch.paged_sdpa and kv_append as operators of PyTorch: a step of a serving engine on paged caches."""

import numpy as np
import pytest
import torch

import attn
import attn.torch as at
from attn import reference
from attn.torch._serving import _append, _operator

HQ, HKV, D, PAGE, PAGES = 4, 2, 32, 16, 12
LENGTHS, SUMS = [33, 1, 20], [0, 5, 6, 7]


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


def test_opcheck():
    q, k, v, table, lengths, sums = step()
    torch.library.opcheck(_operator, (q, k, v, table, lengths, sums), {"causal": "bottom_right", "dynamic": True})
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
    "few": ([5, 2], r"expected slots of shape \(3,\)"),
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
