"""What the author of a backend of a serving engine writes, as vLLM, SGLang and FlashInfer have it, in attn.torch.

docs/Serving.md, "What an engine writes", names a test for each row. The reference is NumPy in float64.
"""

import math

import numpy as np
import pytest
import torch
from engine_steps import GARBAGE, HKV, HQ, LENGTHS, PAGE, PAGES, SUMS, WAYS, D, Step, attend, close, way

import attn
import attn.torch as at

run = pytest.fixture(params=WAYS)(way)


def test_out_is_written_in_place(run):
    step = Step()
    wanted, lse = step.expected()
    out = torch.full_like(step.q, 7.0)
    at_once = out.data_ptr()

    def call(q, out):
        return at.paged_sdpa(q, *step.given[1:], **step.causal, out=out, return_lse=True)

    made, found = run(call, step.q, out)
    close(out, wanted)
    close(made, wanted)
    close(found, lse)
    assert made.data_ptr() == at_once
    # One layer after the other into the same memory, read in between.
    twice = run(lambda q, out: at.paged_sdpa(q, *step.given[1:], **step.causal, out=out) * 2, step.q, out.zero_())
    close(twice, 2 * wanted)
    close(out, wanted)


def test_out_of_packed_sequences(run):
    step = Step()
    k, v = torch.randn(2, SUMS[-1], HKV, D)
    out = torch.full_like(step.q, 7.0)
    options = dict(causal="bottom_right", return_lse=True)
    made, lse = run(lambda q, out: at.varlen_sdpa(q, k, v, step.sums, step.sums, out=out, **options), step.q, out)
    for b in range(len(LENGTHS)):
        rows = slice(SUMS[b], SUMS[b + 1])
        wanted = attend(*(x[rows].double().numpy() for x in (step.q, k, v)))
        close(out[rows], wanted[0])
        close(lse[:, rows], wanted[1])
    assert made.data_ptr() == out.data_ptr()


def test_out_of_packed_sequences_with_padding(run):
    """Rows behind the last sums, of queries and of keys."""
    step = Step()
    k, v = torch.randn(2, SUMS[-1], HKV, D)
    q, *padded = (torch.cat([x, torch.full_like(x, math.nan)]) for x in (step.q, k, v))
    out = torch.full_like(q, 7.0)
    call = lambda q, out: at.varlen_sdpa(q, *padded, step.sums, step.sums, out=out, return_lse=True)  # noqa: E731
    _, lse = run(call, q, out)
    wanted = at.varlen_sdpa(step.q, k, v, step.sums, step.sums, return_lse=True)
    assert torch.equal(out[: SUMS[-1]], wanted[0])
    assert (out[SUMS[-1] :] == 7).all()
    assert torch.equal(lse[:, : SUMS[-1]], wanted[1])
    assert lse[:, SUMS[-1] :].isneginf().all()
    arrays, whole = [x.numpy() for x in (q, *padded)], np.full(tuple(q.shape), 7, np.float32)
    sums = attn.varlen_sdpa(*arrays, SUMS, SUMS, out=whole, return_key_sums=True)[1]
    np.testing.assert_array_equal(whole, out)
    assert sums.shape == (HKV, 2 * SUMS[-1])
    assert not sums[:, SUMS[-1] :].any()
    with pytest.raises(ValueError, match="expected cu_seqlens_q to go from 0 to the 18 packed rows"):
        at.varlen_sdpa(q, *padded, step.sums, step.sums)


def test_out_of_other_strides_is_copied_to(run):
    step, wide = Step(), torch.full((SUMS[-1], HQ, 2 * D), 7.0)
    made = run(lambda q, out: at.paged_sdpa(q, *step.given[1:], **step.causal, out=out), step.q, wide[..., D:])
    close(wide[..., D:], step.expected()[0])
    close(made, step.expected()[0])
    assert (wide[..., :D] == 7).all()


def test_out_that_is_refused():
    step = Step()
    call = lambda out, **options: at.paged_sdpa(*step.given, **step.causal, out=out, **options)  # noqa: E731
    for out, error, message in (
        (step.q, ValueError, "memory of its own, found an overlap with argument 0 'q'"),
        (step.caches[1].view(-1)[: step.q.numel()].view_as(step.q), ValueError, "found an overlap with argument 2 'v'"),
        (torch.empty(SUMS[-1], HQ, D + 1), ValueError, "expected shape"),
        (
            torch.empty(SUMS[-1], HQ, D + 1)[..., :5],
            ValueError,
            r"expected out of shape \(9, 4, 59\), found \(9, 4, 5\)",
        ),
        (step.caches[0].view(-1)[: 2 * step.q.numel()].view(9, HQ, 2 * D)[..., D:], ValueError, "overlap with k_cache"),
        (torch.empty_like(step.q, dtype=torch.float64), TypeError, "expected type float32, found float64"),
    ):
        before = out.clone()
        with pytest.raises(error, match=message):
            call(out)
        assert torch.equal(out.nan_to_num(), before.nan_to_num())
    out = torch.zeros_like(step.q)
    step.q.requires_grad_()
    with pytest.raises(TypeError, match=r"expected no gradient beside out= of attn.torch.paged_sdpa"):
        call(out)
    assert not out.any()
    with torch.no_grad():
        call(out)
    close(out, step.expected()[0])
    with torch.inference_mode():
        kept = torch.zeros_like(out)
    with (
        pytest.raises(RuntimeError, match="expected an out of attn::paged_sdpa that may be written here"),
        torch.no_grad(),
    ):
        call(kept)
    arrays = [x.detach().numpy() for x in step.given]
    state = (np.zeros_like(arrays[0]), np.zeros((HQ, SUMS[-1]), np.float32))
    with pytest.raises(ValueError, match="expected out or into, found both"):
        attn.paged_sdpa(*arrays, cu_seqlens_q=SUMS, out=state[0], into=state)


def test_writes_to_out_are_counted():
    step, out = Step(), torch.zeros(SUMS[-1], HQ, D)
    product = out * torch.ones(D, requires_grad=True)
    at.paged_sdpa(*step.given, **step.causal, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@pytest.mark.parametrize("given", ["out", "none"])
def test_rows_behind_the_last_sum_are_padding(run, given):
    step = Step()
    q = torch.cat([step.q, torch.full_like(step.q, math.nan)])
    out = torch.full_like(q, 7.0) if given == "out" else None
    call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, out=out, return_lse=True)  # noqa: E731
    made, lse = run(call, q)
    wanted = step.expected()
    close(made[: SUMS[-1]], wanted[0])
    close(lse[:, : SUMS[-1]], wanted[1])
    assert (made[SUMS[-1] :] == (7 if given == "out" else 0)).all()
    assert lse[:, SUMS[-1] :].isneginf().all()


def test_padding_beside_functions_and_key_sums(run):
    """What goes by other roads: score_mod by the operator, one kernel for these sizes alone, three results."""
    step = Step()
    q, slopes = torch.cat([step.q, step.q]), torch.tensor([0.5, 0.1, 0.2, 0.05])
    more = dict(score_mod=lambda s, b, h, i, j: s - slopes[h] * (j - i))
    for options in (more, dict(dynamic=False), dict(return_key_sums=True)):
        call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, return_lse=True, **options)  # noqa: B023, E731
        for n, (found, wanted) in enumerate(zip(run(call, q), run(call, step.q), strict=True)):
            rows = wanted.shape[n] if n < 2 else None
            assert torch.equal(found[:rows] if n == 0 else found[:, :rows], wanted)
        assert found.shape == wanted.shape or n < 2


def test_a_step_of_padding_alone(run):
    step = Step()
    sums, out = torch.zeros_like(step.sums), torch.full_like(step.q, 7.0)
    options = dict(cu_seqlens_q=sums, causal="bottom_right", return_lse=True)
    made, lse = run(lambda q: at.paged_sdpa(q, *step.given[1:], **options, out=out), step.q)
    assert (made == 7).all()
    assert lse.isneginf().all()


@pytest.mark.parametrize("kind", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("slots", [[3, 17, 40, -1, -1], [3, -1, 40, -1, 2], [3, 17], [-1] * 5, []], ids=str)
def test_slots_of_padding_are_skipped(run, slots, kind):
    for count in (5, 40):  # of few tokens slots are looked at in another way
        new, cache = torch.randn(count, HKV, D), torch.full((4, PAGE, HKV, D), 7.0)
        many = slots + ([-1] * 30 if count > 5 and len(slots) == 5 else [])
        wanted = cache.clone()
        for token, slot in enumerate(many):
            if slot >= 0:
                wanted[slot // PAGE, slot % PAGE] = new[token]

        def append(cache, new, given):
            at.kv_append(cache, new, slots=given)
            return cache + 0

        made = run(append, cache, new, torch.tensor(many, dtype=kind))
        assert torch.equal(cache, wanted)
        assert torch.equal(made, wanted)
        array = np.full(tuple(cache.shape), 7.0, np.float32)
        attn.kv_append(array, new.numpy(), slots=many)
        np.testing.assert_array_equal(array, wanted)


def test_slots_that_are_refused():
    cache, new = torch.zeros(4, PAGE, HKV, D), torch.randn(3, HKV, D)
    for slots, message in (
        ([1, -2, 3], "expected slots in 0 to 63, found -2 of token 1"),
        ([1, 1, -1], "expected each slot once, found 1 of tokens 0 and 1"),
        ([1, 2, 3, -1], r"one a token of new, or fewer, found \(4,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            at.kv_append(cache, new, slots=torch.tensor(slots))
    assert not cache.any()


@pytest.mark.parametrize("null", [*GARBAGE, "a null page"])
def test_pages_in_front_of_a_window_are_not_looked_at(run, null):
    """Freed pages, with anything in the table, or the page of another sequence, and NaN where they were."""
    step, left = Step(), 20
    wanted = step.expected(left=left)[0]
    for b, length in enumerate(LENGTHS):
        freed = max(0, length - (SUMS[b + 1] - SUMS[b]) - left) // PAGE
        for cache in step.caches:
            cache[step.table[b, :freed].long()] = math.nan
        step.table[b, :freed] = (
            int(step.table[0, 5]) if null == "a null page" and b == 1 else 0 if isinstance(null, str) else null
        )
    call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, window=(left, 0))  # noqa: E731
    if null == "a null page":
        step.table[0, :2] = step.table[4, 0] = step.table[3, 0]
    close(run(call, step.q), wanted)
    found = attn.paged_sdpa(
        *(x.numpy() for x in step.given), cu_seqlens_q=SUMS, causal="bottom_right", window=(left, 0)
    )
    np.testing.assert_allclose(found, wanted, atol=2e-6)


SCALES = {
    "numbers": (0.5, 2, 0.5, 2),
    "without dimensions": (torch.tensor(0.5), torch.tensor(2.0), 0.5, 2),
    "expanded": (torch.tensor(0.5).expand(5, HKV), torch.tensor([2.0]).expand(HKV), 0.5, 2),
    "one element": (torch.tensor([0.5]), torch.tensor([2.0]), 0.5, 2),
    "a head": (
        torch.tensor([0.5, 0.25]),
        torch.tensor([2.0, 1.0]),
        torch.tensor([[0.5], [0.25]]),
        torch.tensor([[2.0], [1.0]]),
    ),
    "a number beside a head": (torch.tensor([0.5, 0.25]), 2.0, torch.tensor([[0.5], [0.25]]), 2),
    "none": (None, None, 1, 1),
    "one of two": (0.5, None, 0.5, 1),
}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.int8], ids=str)
def test_scales_of_quantised_caches(run, name, kind):
    step = Step()
    step.caches = [(x.nan_to_num() * (20 if kind == torch.int8 else 1)).to(kind) for x in step.caches]
    k_scale, v_scale, *scales = SCALES[name]
    call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, k_scale=k_scale, v_scale=v_scale)  # noqa: E731
    if kind == torch.int8 and (k_scale is None or v_scale is None):
        with pytest.raises(Exception, match="expected k_scale and v_scale beside k and v of int8"):
            run(call, step.q)
        return
    close(run(call, step.q), step.expected(scales)[0], atol=2e-5)


def test_scales_a_page_and_a_slot(run):
    step = Step()
    step.caches = [x.nan_to_num().to(torch.float8_e4m3fn) for x in step.caches]
    for shape in ((PAGES, HKV), (PAGES, PAGE, HKV)):
        scale = torch.rand(shape) + 0.5
        wide = (scale[:, None] if scale.dim() == 2 else scale)[..., None]
        call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, k_scale=scale, v_scale=2.0)  # noqa: B023, E731
        close(run(call, step.q), step.expected((wide, 2.0))[0], atol=2e-5)


def test_a_scale_of_one_is_none_of_floats(run):
    step = Step()
    call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, k_scale=1.0, v_scale=1)  # noqa: E731
    close(run(call, step.q), step.expected()[0])
    with pytest.raises(TypeError, match="expected k_scale only beside k and v of int8"):
        at.paged_sdpa(*step.given, **step.causal, k_scale=0.5)
    q, k, v = (np.ones((1, 2, 3, 8), np.float32) for _ in "qkv")
    np.testing.assert_array_equal(attn.sdpa(q, k, v, k_scale=1.0, v_scale=1.0), attn.sdpa(q, k, v))


NO_WORDS = [dict(softcap=0), dict(softcap=0.0), dict(softcap=None), dict(window=-1), dict(window=(-1, -1))]
NO_WORDS += [dict(window=[-1, -1]), dict(window=(-1, 0)), dict(window=(None, -1), softcap=0.0)]


@pytest.mark.parametrize("words", NO_WORDS, ids=str)
def test_words_that_mean_none(run, words):
    step = Step()
    close(run(lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, **words), step.q), step.expected()[0])
    arrays = [x.numpy() for x in step.given]
    found = attn.paged_sdpa(*arrays, cu_seqlens_q=SUMS, causal="bottom_right", **words)
    np.testing.assert_allclose(found, step.expected()[0], atol=2e-6)
    q, k, v = torch.randn(3, 1, 2, 7, D)
    plain = at.sdpa(q, k, v, causal="top_left")
    assert torch.equal(at.sdpa(q, k, v, causal="top_left", **words), plain)
    given = [x.numpy() for x in (q, k, v)]
    np.testing.assert_array_equal(attn.sdpa(*given, causal="top_left", **words), plain.numpy())
    np.testing.assert_allclose(attn.reference.sdpa(*given, causal="top_left", **words), plain, atol=1e-5)


def test_a_window_of_one_side(run):
    step = Step()
    call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, window=(20, -1))  # noqa: E731
    close(run(call, step.q), step.expected(left=20)[0])


def test_a_scale_that_is_a_tensor(run):
    step = Step()
    call = lambda q: at.paged_sdpa(q, *step.given[1:], **step.causal, scale=0.2)  # noqa: E731
    close(run(call, step.q), step.expected(scale=0.2)[0])
    found = at.paged_sdpa(*step.given, **step.causal, scale=torch.tensor(0.2))
    close(found, step.expected(scale=0.2)[0])
