"""Calls of serving engines whose keys lie in two places, the merge of their results, and pages as FlashInfer has them.

docs/Serving.md, "What an engine writes", names a test for each row. The reference is NumPy in float64.
"""

import math

import numpy as np
import pytest
import torch
from engine_steps import HQ, LENGTHS, PAGE, SUMS, WAYS, D, Step, attend, close, integers, way

import attn
import attn.torch as at

run = pytest.fixture(params=WAYS)(way)


def parts(count, rng):
    """out and lse of two parts (rows, Hq, D), (rows, Hq); row 0 has no keys in one, row 1 none in both."""
    outs, lses = rng.standard_normal((2, count, HQ, D)), rng.standard_normal((2, count, HQ)) * 3
    lses[0, :2] = lses[1, 1:2] = -np.inf
    outs[0, :2] = outs[1, 1:2] = np.nan
    with np.errstate(invalid="ignore"):
        weights = np.exp(lses - lses.max(0))
    weights = np.where(np.isneginf(lses), 0, weights)
    total = weights.sum(0)
    out = (np.where(weights[..., None] == 0, 0, outs) * weights[..., None]).sum(0) / np.where(total, total, 1)[
        ..., None
    ]
    with np.errstate(divide="ignore"):
        lse = np.where(total == 0, -np.inf, lses.max(0) + np.log(total))
    return outs, lses, out, lse


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("layout", ["hn", "nh", "bhsd"])
def test_merge(run, layout, kind):
    state = torch.float64 if kind == torch.float64 else torch.float32
    for count in (9, 7, HQ):  # of one kernel; as many rows as heads do not tell the layout
        outs, lses, out, lse = parts(count, np.random.default_rng(count))
        outs, lses = torch.tensor(outs).to(kind), torch.tensor(lses).to(state)
        if layout == "hn":
            lses, lse = lses.mT.contiguous(), lse.T
        if layout == "bhsd":
            outs, lses, out, lse = outs[:, None], lses[:, None], out[None], lse[None]
        named = {"lse_layout": layout} if count == HQ and layout != "bhsd" else {}
        call = lambda a, b: at.merge(a, lses[0], b, lses[1], **named)  # noqa: B023, E731
        found = run(call, outs[0], outs[1])
        close(found[0].double(), out, atol=2e-2 if kind == torch.bfloat16 else 1e-6)
        close(found[1], lse)
        if kind == torch.float32:
            arrays = [x.numpy() for x in (outs[0], lses[0], outs[1], lses[1])]
            np.testing.assert_array_equal(attn.merge(*arrays, **named)[0], found[0])
    if layout == "nh":
        with pytest.raises(ValueError, match=r'as many rows as heads, 4, .* write lse_layout="hn"'):
            at.merge(outs[0], lses[0], outs[1], lses[1])


@pytest.mark.parametrize("padded", [False, True])
def test_a_shared_prefix(run, padded):
    """cascade_sdpa: as if each table began with the pages of the prefix."""
    step = Step()
    step.q = torch.cat([step.q, torch.zeros(3, HQ, D)]) if padded else step.q
    prefix, count = step.table[4, :2], 27  # not a whole page
    sink = torch.randn(HQ)

    def call(q):
        shared = (prefix, count, step.table[:4], step.lengths[:4])
        options = dict(cu_seqlens_q=step.sums[:5], sink=sink, return_lse=True)
        return at.cascade_sdpa(q, *step.caches, *shared, **options)

    out, lse = run(call, step.q)
    front = [x[:count] for x in step.keys(4)]
    for b in range(4):
        rows = slice(SUMS[b], SUMS[b + 1])
        keys = [np.concatenate(x) for x in zip(front, step.keys(b), strict=True)]
        wanted = attend(step.q[rows].double().numpy(), *keys, sink=sink.numpy())
        close(out[rows], wanted[0])
        close(lse[:, rows], wanted[1])


def test_words_over_both_parts_are_refused():
    step = Step()
    q, sums, shared = step.q, step.sums, (step.table[4, :2], 27, step.table, step.lengths)
    for word, value in {
        "chunk": 4,
        "window": (3, 0),
        "score_mod": lambda s, b, h, i, j: s,
        "align": "top_left",
    }.items():
        with pytest.raises(
            TypeError, match=rf"attn.torch.cascade_sdpa\(\) has no keyword '{word}'; write one of .*merge"
        ):
            at.cascade_sdpa(q, *step.caches, *shared, cu_seqlens_q=sums, **{word: value})
        if word != "window":
            with pytest.raises(
                TypeError, match=rf"attn.torch.extend_sdpa\(\) has no keyword '{word}'; write one of .*"
            ):
                at.extend_sdpa(q, q, q, *step.caches, step.table, step.lengths, cu_seqlens_q=sums, **{word: value})


def test_pages_in_rows_one_after_the_other(run):
    """kv_indptr, kv_indices and last_page_len of FlashInfer; a sequence has no page."""
    step = Step()
    counts = [-(-x // PAGE) for x in LENGTHS]
    indices = torch.cat([step.table[b, :count] for b, count in enumerate(counts)])
    given = dict(kv_indptr=integers([0, *np.cumsum(counts)]), kv_indices=indices)
    given["last_page_len"] = integers([x - (n - 1) * PAGE if n else 0 for x, n in zip(LENGTHS, counts, strict=True)])
    close(run(lambda q: at.paged_sdpa(q, *step.caches, **step.causal, **given), step.q), step.expected()[0])
    last = given.pop("last_page_len")
    flat = {**step.causal, "kv_indptr": given["kv_indptr"]}
    for by_lengths in (
        lambda q: at.paged_sdpa(q, *step.caches, kv_lengths=step.lengths, **step.causal, **given),
        lambda q: at.paged_sdpa(q, *step.caches, indices, step.lengths, **flat),
    ):
        close(run(by_lengths, step.q), step.expected()[0])
    with pytest.raises(ValueError, match="expected kv_lengths of at most the rows of the pages of kv_indptr"):
        at.paged_sdpa(step.q, *step.caches, indices, step.lengths + 2 * PAGE, **flat)
    given["last_page_len"] = last
    for wrong, error, message in (
        (dict(last_page_len=None), TypeError, "found last_page_len as NoneType"),
        (dict(kv_indptr=given["kv_indptr"][:-1]), ValueError, r"expected kv_indptr of shape \(batch \+ 1,\)"),
        (dict(kv_indptr=given["kv_indptr"] + 1), ValueError, "expected kv_indptr never to decrease"),
        (dict(block_table=step.table), TypeError, "write one of the two whole"),
        (dict.fromkeys(given), TypeError, "write one of the two whole"),
    ):
        with pytest.raises(error, match=message):
            at.paged_sdpa(step.q, *step.caches, **step.causal, **(given | wrong))


@pytest.mark.parametrize("window", [None, (20, 0), (3, -1), -1], ids=str)
@pytest.mark.parametrize("causal", ["bottom_right", None])
def test_new_keys_beside_the_cache(run, causal, window):
    """extend_sdpa: the cache holds what is in front of the tokens of the step."""
    step = Step()
    new = [np.concatenate([step.keys(b)[n][LENGTHS[b] - SUMS[b + 1] + SUMS[b] :] for b in range(5)]) for n in (0, 1)]
    k, v = (torch.tensor(x).float() for x in new)
    before = step.lengths - step.sums.diff()
    caches = [x.clone() for x in step.caches]
    for b, length in enumerate(LENGTHS):  # what is not in the cache yet
        for j in range(int(before[b]), length):
            for cache in caches:
                cache[step.table[b, j // PAGE], j % PAGE] = math.nan
    options = dict(cu_seqlens_q=step.sums, causal=causal, window=window, return_lse=True)
    out, lse = run(lambda q: at.extend_sdpa(q, k, v, *caches, step.table, before, **options), step.q)
    left, right = window if isinstance(window, tuple) else (None, None)
    wanted = step.expected(causal=causal is not None, left=left, right=None if right == -1 else right)
    close(out, wanted[0])
    close(lse, wanted[1])
    pad = [torch.cat([x, torch.zeros_like(x[:3])]) for x in (step.q, k, v)]
    assert torch.equal(at.extend_sdpa(*pad, *caches, step.table, before, **options)[0][: SUMS[-1]], out)
