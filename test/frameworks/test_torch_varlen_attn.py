"""attn.torch.varlen_attn: the signature of torch.nn.attention.varlen, against dense attention of each sequence."""

import inspect

import pytest
import torch
from torch.nn.attention import varlen

import attn.torch as at

HQ, HKV, D, DV = 4, 2, 59, 40
ROWS, KEYS = [5, 0, 1, 113], [9, 4, 20, 203]
USED = [7, 4, 0, 200]
WINDOWS = [(-1, -1), (-1, 0), (6, 0), (3, 2), (-1, 4), (5, -1), (0, 0)]


def sums(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)


def draw(heads=HKV, dtype=torch.float64):
    shapes = (sum(ROWS), HQ, D), (sum(KEYS), heads, D), (sum(KEYS), heads, DV)
    return [torch.randn(x, dtype=dtype) for x in shapes]


def expected(q, k, v, window, lengths=KEYS, scale=D**-0.5):
    """out and lse of each sequence, whose last query stands at its last key."""
    outs, sums_of_rows, group = [], [], HQ // k.shape[1]
    starts = sums(KEYS).tolist()
    for rows, start, length in zip(q.split(ROWS), starts, lengths, strict=False):
        keys, values = (x[start : start + length].repeat_interleave(group, 1).transpose(0, 1) for x in (k, v))
        distance = torch.arange(length) - (torch.arange(len(rows))[:, None] + length - len(rows))
        left, right = (float("inf") if x < 0 else x for x in window)
        scores = scale * rows.transpose(0, 1) @ keys.mT
        scores = scores.masked_fill((distance < -left) | (distance > right), -torch.inf)
        sums_of_rows.append(scores.logsumexp(-1))
        outs.append((scores.softmax(-1).nan_to_num() @ values).transpose(0, 1))
    return torch.cat(outs), torch.cat(sums_of_rows, 1)


def test_parameters_are_those_of_torch():
    mine, theirs = (inspect.signature(x).parameters.values() for x in (at.varlen_attn, varlen.varlen_attn))
    assert [(x.name, x.kind, x.default) for x in mine] == [(x.name, x.kind, x.default) for x in theirs]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window):
    q, k, v = draw()
    call = (sums(ROWS), sums(KEYS), max(ROWS), max(KEYS))
    options = dict(window_size=window, enable_gqa=True, scale=0.2)
    wanted = expected(q, k, v, window, scale=0.2)
    found = at.varlen_attn(q, k, v, *call, return_aux=varlen.AuxRequest(lse=True), **options)
    torch.testing.assert_close(found, wanted)
    for request in (None, varlen.AuxRequest()):
        torch.testing.assert_close(at.varlen_attn(q, k, v, *call, return_aux=request, **options), wanted[0])


def test_gradients():
    inputs = [x.requires_grad_() for x in draw(HQ)]
    found = at.varlen_attn(*inputs, sums(ROWS), sums(KEYS), max(ROWS), max(KEYS), window_size=(-1, 0))
    wanted = expected(*inputs, (-1, 0))[0]
    dout = torch.randn_like(found)
    torch.testing.assert_close(*(torch.autograd.grad(x, inputs, dout) for x in (found, wanted)))


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (6, 0)])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_keys_that_are_used(window, is_compiled):
    """Packed, and in pages of other memory; what lies behind is never read."""
    q, k, v = draw(dtype=torch.float32)
    wanted = expected(q, k, v, window, USED)[0]
    starts, page = sums(KEYS).tolist(), 16
    counts = [-(-x // page) for x in USED]
    order = torch.randperm(sum(counts) + 1).to(torch.int32)
    table = torch.full((len(USED), max(counts)), -1, dtype=torch.int32)
    pools = [torch.full((sum(counts) + 1, page, *x.shape[1:]), torch.nan) for x in (k, v)]
    for b, (start, used) in enumerate(zip(starts, USED, strict=False)):
        table[b, : counts[b]] = order[sum(counts[:b]) : sum(counts[: b + 1])]
        for x, pool in zip((k, v), pools, strict=True):
            for j in range(used):
                pool[table[b, j // page], j % page] = x[start + j]
            x[start + used : starts[b + 1]] = torch.nan
    options = dict(window_size=window, enable_gqa=True, seqused_k=torch.tensor(USED, dtype=torch.int32), num_splits=1)
    call = torch.compile(at.varlen_attn, fullgraph=True) if is_compiled else at.varlen_attn
    found = call(q, k, v, sums(ROWS), sums(KEYS), max(ROWS), max(KEYS), **options)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    found = call(q, *pools, sums(ROWS), None, max(ROWS), max(KEYS), block_table=table, **options)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


MISTAKES = {
    "heads": ({"enable_gqa": False}, "expected as many heads of key as of query, 4, found 2; write enable_gqa=True"),
    "table": ({"block_table": torch.zeros(4, 1, dtype=torch.int32)}, "expected seqused_k beside block_table"),
    "no keys": ({"cu_seq_k": None}, "expected cu_seq_k or block_table, found neither"),
    "too many": ({"seqused_k": torch.tensor([10, 1, 1, 1])}, r"expected seqused_k of at most \[9, 4, 20, 203\]"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    wrong, message = MISTAKES[name]
    sizes = dict(cu_seq_q=sums(ROWS), cu_seq_k=sums(KEYS), max_q=max(ROWS), max_k=max(KEYS), enable_gqa=True)
    with pytest.raises(ValueError, match=message):
        at.varlen_attn(*draw(), **sizes | wrong)
