"""The reference against docs/Semantics.md, and against an independent scalar loop over every feature at once."""

import itertools
import math

import numpy as np
import pytest

from attn import reference
from helpers import Shape, draw

INF = float("inf")


def by_hand(q, k, v, scale, *, softcap=None, bias=None, keep=None, sink=None):
    """The formula of docs/Semantics.md as scalar loops: no broadcasting, no BLAS, nothing shared with the reference."""
    group = q.shape[1] // k.shape[1]
    out = np.zeros((*q.shape[:3], v.shape[3]))
    lse = np.full(q.shape[:3], -INF)
    for b, h, i in np.ndindex(*q.shape[:3]):
        kept = {}
        for j in range(k.shape[2]):
            s = scale * sum(q[b, h, i, d] * k[b, h // group, j, d] for d in range(q.shape[3]))
            s = s if softcap is None else softcap * math.tanh(s / softcap)
            s = s if bias is None else s + bias[b, h, i, j]
            if (keep is None or keep(b, h, i, j)) and s != -INF:
                kept[j] = s
        others = [] if sink is None else [sink[h]]
        if not kept and not others:
            continue
        m = max([*kept.values(), *others])
        total = sum(math.exp(s - m) for s in [*kept.values(), *others])
        lse[b, h, i] = m + math.log(total)
        for j, s in kept.items():
            out[b, h, i] += math.exp(s - m) / total * v[b, h // group, j]
    return out, lse


OFFSETS = {"top_left": [0, 0], "bottom_right": [4, -1], "offsets": [2, -3]}


@pytest.mark.parametrize("alignment", OFFSETS)
@pytest.mark.parametrize("sink", [False, True], ids=["plain", "sink"])
def test_all_features_agree_with_scalar_loops(rng, alignment, sink):
    shape = Shape(b=2, hq=4, hkv=2, sq=5, sk=7, d=3, dv=2)
    q, k, v = draw(shape, np.float64)
    bias = rng.standard_normal(shape.scores)
    bias[rng.random(shape.scores) < 0.2] = -INF
    mask = rng.random(shape.scores) < 0.8
    sinks = rng.standard_normal(4) if sink else None
    q_len, kv_len, off = [3, 5], [7, 4], OFFSETS[alignment]

    def keep(b, h, i, j):
        inside = i < q_len[b] and j < kv_len[b] and j <= i + off[b] and i + off[b] - 2 <= j
        return inside and mask[b, h, i, j] and (h + j) % 3 != 0

    out, lse = reference.sdpa(
        q, k, v, causal=np.array(off) if alignment == "offsets" else alignment, window=(2, 0), softcap=1.5,
        bias=bias, mask=mask, sink=sinks, q_lengths=q_len, kv_lengths=kv_len,
        mask_mod=lambda b, h, i, j: (h + j) % 3 != 0, return_lse=True,
    )  # fmt: skip
    expected_out, expected_lse = by_hand(q, k, v, 3**-0.5, softcap=1.5, bias=bias, keep=keep, sink=sinks)
    for b, rows in enumerate(q_len):
        expected_lse[b, :, rows:] = -INF
    np.testing.assert_allclose(out, expected_out, atol=1e-13)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-13)


def test_empty_rows_are_zero_with_lse_minus_inf():
    q, k, v = draw(Shape(5, 3, 4, 2))
    out, lse, weights = reference.sdpa(q, k, v, causal="bottom_right", return_lse=True, return_weights=True)
    assert (out[0, 0, :2] == 0).all()
    assert (lse[0, 0, :2] == -INF).all()
    assert (weights[0, 0, :2] == 0).all()
    assert np.isfinite(lse[0, 0, 2:]).all()


def test_no_keys():
    q, k, v = draw(Shape(3, 0, 4, 2))
    out, lse = reference.sdpa(q, k, v, return_lse=True)
    assert (out == 0).all()
    assert (lse == -INF).all()


def test_empty_row_with_a_sink_has_the_sink_as_lse():
    q, k, v = draw(Shape(3, 0, 4, 2))
    out, lse = reference.sdpa(q, k, v, sink=[0.75], return_lse=True)
    assert (out == 0).all()
    assert (lse == 0.75).all()


@pytest.mark.parametrize(
    ("causal", "first_keys"), [("top_left", [1, 2, 3]), ("bottom_right", [3, 4, 5]), (np.array([-1]), [0, 1, 2])]
)
def test_causal_alignment(causal, first_keys):
    q, k, v = draw(Shape(3, 5, 4, 2))
    weights = reference.sdpa(q, k, v, causal=causal, return_weights=True)[1]
    assert (weights[0, 0] > 0).sum(axis=-1).tolist() == first_keys


def test_window_is_inclusive_and_needs_an_alignment():
    q, k, v = draw(Shape(4, 6, 4, 2))
    weights = reference.sdpa(q, k, v, window=(1, 0), align="bottom_right", return_weights=True)[1]
    expected = [[j - i - 2 in (-1, 0) for j in range(6)] for i in range(4)]
    np.testing.assert_array_equal(weights[0, 0] > 0, expected)
    with pytest.raises(ValueError, match='write align="bottom_right"'):
        reference.sdpa(q, k, v, window=(1, 0))


def test_order_is_softcap_bias_mask():
    q, k, v = draw(Shape(2, 3, 4, 2), np.float64)
    bias = np.array([[[[10.0, -20, 0], [0, 5, -INF]]]])
    s = q[0, 0] @ k[0, 0].T / 2
    s = 0.5 * np.tanh(s / 0.5) + bias[0, 0]
    p = np.exp(s) * [[1, 1, 0], [1, 1, 0]]
    mask = np.array([[[[True, True, False]]]])
    out = reference.sdpa(q, k, v, softcap=0.5, bias=bias, mask=mask)
    np.testing.assert_allclose(out[0, 0], p / p.sum(-1, keepdims=True) @ v[0, 0], rtol=1e-13)


def test_score_mod_comes_after_the_scale_and_before_the_softcap():
    q, k, v = draw(Shape(2, 3, 4, 2), np.float64)
    lse = reference.sdpa(q, k, v, score_mod=lambda s, b, h, i, j: s + i - j, softcap=2.0, return_lse=True)[1]
    s = 2 * np.tanh((q[0, 0] @ k[0, 0].T / 2 + np.arange(2)[:, None] - np.arange(3)) / 2)
    np.testing.assert_allclose(lse[0, 0], np.log(np.exp(s).sum(-1)), rtol=1e-13)


def test_additive_minus_infinity_removes_and_the_finite_minimum_does_not():
    q, k, v = draw(Shape(2, 3, 4, 2))
    bias = np.zeros((1, 1, 2, 3))
    bias[..., 0, :], bias[..., 1, :] = -INF, np.finfo(np.float32).min
    out, lse = reference.sdpa(q, k, v, bias=bias, return_lse=True)
    assert (out[0, 0, 0] == 0).all()
    assert lse[0, 0, 0] == -INF
    np.testing.assert_allclose(out[0, 0, 1], v[0, 0].mean(axis=0), rtol=1e-6)
    assert np.isfinite(lse[0, 0, 1])


def test_removed_keys_may_hold_nan():
    q, k, v = draw(Shape(2, 3, 4, 2), np.float64)
    expected = reference.sdpa(q, k[:, :, :2], v[:, :, :2])
    k[:, :, 2], v[:, :, 2] = np.nan, INF
    for keep in ({"kv_lengths": [2]}, {"mask": np.array([[[[True, True, False]]]])}):
        np.testing.assert_allclose(reference.sdpa(q, k, v, **keep), expected, rtol=1e-14)


def test_nan_and_infinity_of_kept_values_reach_only_their_rows():
    q, k, v = draw(Shape(3, 3, 4, 2))
    v[0, 0, 1, 0], v[0, 0, 2, 1] = np.nan, INF
    out = reference.sdpa(q, k, v, causal="top_left")[0, 0]
    assert np.isfinite(out[0]).all()
    assert np.isnan(out[1:, 0]).all()
    assert out[:, 1].tolist()[2] == INF
    assert np.isfinite(out[:2, 1]).all()


def test_scale_zero_is_uniform_and_negative_is_legal():
    q, k, v = draw(Shape(2, 3, 4, 2))
    np.testing.assert_allclose(reference.sdpa(q, k, v, scale=0)[0, 0, 0], v[0, 0].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(reference.sdpa(q, k, v, scale=-0.5), reference.sdpa(-q, k, v, scale=0.5), rtol=1e-14)


def test_layout_bshd_is_a_view():
    q, k, v = draw(Shape(5, 7, 3, 2, b=2, hq=4, hkv=2))
    swapped = reference.sdpa(*(x.swapaxes(1, 2) for x in (q, k, v)), layout="bshd")
    np.testing.assert_array_equal(swapped.swapaxes(1, 2), reference.sdpa(q, k, v))


def test_online_steps_give_the_whole():
    q, k, v = draw(Shape(5, 9, 3, 2, b=2, hq=4, hkv=2), np.float64)
    state = reference.init_state((2, 4, 5), 2)
    keep = reference.predicate(reference._checks.qkv(q.shape, k.shape, v.shape), causal="bottom_right")
    s = reference.mask(reference.scale(reference.scores(q, k), 3**-0.5), keep=keep)
    for begin, end in [(0, 4), (4, 4), (4, 9)]:
        state = reference.online_step(state, s[..., begin:end], v[:, :, begin:end])
    expected = reference.sdpa(q, k, v, causal="bottom_right", return_lse=True)
    for found, want in zip(reference.finalize(state), expected, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-13)


def test_merge_states_is_associative_with_the_empty_state_as_neutral_element(rng):
    v = rng.standard_normal((1, 1, 2, 3))
    empty = reference.init_state((1, 1, 4), 3)
    a, b, c = (reference.online_step(empty, 50 * rng.standard_normal((1, 1, 4, 2)), v) for _ in range(3))
    left = reference.merge_states(reference.merge_states(a, b), c)
    right = reference.merge_states(a, reference.merge_states(b, c))
    for found, want in zip(left, right, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)
    for x, y in itertools.product([(empty, a), (a, empty)], [a]):
        for found, want in zip(reference.merge_states(*x), y, strict=True):
            np.testing.assert_array_equal(found, want)
    out, lse = reference.finalize(reference.merge_states(empty, empty))
    assert (out == 0).all()
    assert (lse == -INF).all()


def test_philox_known_answers():
    words = [f"{word:08x}" for word in reference.random_bits(42, 1, range(8))]
    assert words == ["fcdb2127", "53ba6cfd", "838f5a6e", "744e06fb", "be961592", "14909873", "80dcbc9a", "99b5bdec"]


def test_dropout_drops_by_element_and_divides_by_what_is_left():
    q, k, v = draw(Shape(4, 8, 3, 2, b=2, hq=2))
    plain = reference.sdpa(q, k, v, return_lse=True, return_weights=True)
    dropped = reference.sdpa(q, k, v, dropout=(0.25, 42, 1), return_lse=True, return_weights=True)
    np.testing.assert_array_equal(dropped[1], plain[1])
    keep = reference.random_bits(42, 1, np.arange(128)).reshape(2, 2, 4, 8) > 0.25 * (2**32 - 1)
    np.testing.assert_allclose(dropped[2], np.where(keep, plain[2] / 0.75, 0), rtol=1e-14)
    assert (reference.sdpa(q, k, v, dropout=(1.0, 42, 1)) == 0).all()


BAD = {
    "rank": (dict(q=np.zeros((2, 3, 4))), "q of rank 4"),
    "batch": (dict(k=np.zeros((1, 2, 7, 3))), "one batch size"),
    "head size": (dict(k=np.zeros((2, 2, 7, 5))), "head size of q, 3, found 5"),
    "v length": (dict(v=np.zeros((2, 2, 6, 2))), "heads and length of k"),
    "groups": (dict(k=np.zeros((2, 3, 7, 3)), v=np.zeros((2, 3, 7, 2))), "multiple of the 3 key heads, found 4"),
    "softcap": (dict(softcap=-1), "softcap > 0"),
    "scale": (dict(scale=float("nan")), "finite scale"),
    "causal true": (dict(causal=True), "top_left"),
    "causal name": (dict(causal="lower"), "top_left"),
    "offsets": (dict(causal=np.zeros(3, int)), r"shape \(2,\)"),
    "window": (dict(window=(-2, 0), align="top_left"), "window bounds"),
    "align twice": (dict(causal="top_left", align="top_left"), "align only"),
    "bias shape": (dict(bias=np.zeros((1, 1, 5, 6))), "dimension 3 of bias to be 1 or 7, found 6"),
    "mask rank": (dict(mask=np.ones((5, 7), bool)), r"write mask\[None, None\]"),
    "mask type": (dict(mask=np.ones((1, 1, 5, 7))), "mask to be bool"),
    "sink": (dict(sink=[0.0]), "sink of shape"),
    "lengths": (dict(kv_lengths=[8, 7]), "kv_lengths in 0 to 7"),
    "dropout": (dict(dropout=(1.5, 0, 0)), r"dropout p in \[0, 1\]"),
    "layout": (dict(layout="sbhd"), "layout"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_say_what_was_expected(case):
    q, k, v = draw(Shape(5, 7, 3, 2, b=2, hq=4, hkv=2))
    arguments, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        reference.sdpa(**{"q": q, "k": k, "v": v, **arguments})
