"""Shards with origins against the whole: masks, functions of positions and dropout, forward and backward."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference

B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 113, 203, 59, 48
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
POSITIONS = np.random.default_rng(5).permutation(256).astype(np.int32)


def alibi(s, b, h, i, j):
    """Slopes of whole heads, by distances in the whole."""
    return s - SLOPES[attn.functions.minimum(h, 3)] * abs(i - j)


def cells(b, h, i, j):
    """Keys by a function of all four positions."""
    return ((i * 3 + j * 5 + h * 7 + b) % 11 < 6) | (i == j)


def captured(b, h, i, j):
    """Keys by positions that the whole's tables hold."""
    return POSITIONS[i % 256] >= POSITIONS[j % 256]


CASES = {
    "causal": {"causal": "top_left"},
    "window": {"causal": "top_left", "window": (40, 0)},
    "two-sided": {"window": (30, 17), "align": "top_left"},
    "chunk": {"causal": "top_left", "chunk": 37},
    "chunk-alone": {"chunk": 50, "align": "top_left"},
    "prefix": {"causal": "top_left", "prefix": 29},
    "prefix-window": {"causal": "top_left", "window": (20, 0), "prefix": 61},
    "offset": {"causal": np.array([90, 20], np.int32)},
    "alibi": {"causal": "top_left", "score_mod": alibi},
    "mask_mod": {"mask_mod": cells},
    "captured": {"mask_mod": captured},
    "dropout": {"dropout": (0.4, 42, 1)},
    "all": {
        "causal": np.array([90, 20], np.int32), "window": (80, 3), "prefix": 7, "score_mod": alibi, "mask_mod": cells,
        "softcap": 4.0, "dropout": (0.2, 2**63 + 5, 2**40),
    },
}  # fmt: skip


def whole(seed=0, dtype=np.float32):
    """Q, K, V and a cotangent of out."""
    rng = np.random.default_rng(seed)
    shapes = ((B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV), (B, HQ, SQ, DV))
    return [rng.standard_normal(x).astype(np.float32).astype(dtype) for x in shapes]


def places(case, b, h, i, j):
    """The keywords of the shard whose first batch index, head, row and key these are."""
    given = {"q_origin": i, "k_origin": j, "b_origin": b, "h_origin": h}
    if "dropout" in case:
        given["whole"] = (HQ, SQ, SK)
    if isinstance(case.get("causal"), np.ndarray):
        given["causal"] = case["causal"][b:]
    return {**case, **given}


@pytest.mark.parametrize(
    ("name", "dtype"), [("all", np.float32), ("chunk", ml_dtypes.bfloat16), ("all", ml_dtypes.bfloat16)]
)
def test_rows(name, dtype):
    """Rows of a shard are those of the whole, whichever head and batch index they are of."""
    case = CASES[name]
    q, k, v, dout = whole(dtype=dtype)
    out, lse = attn.sdpa(q, k, v, **case, return_lse=True)
    for b, h, first, end in [(1, 0, 29, 57), (0, 2, 85, SQ)]:
        at = np.s_[b : b + 1, h : h + 2, first:end]
        of = np.s_[b : b + 1, h // 2 : h // 2 + 1]
        given = places(case, b, h, first, 0)
        if isinstance(given.get("causal"), np.ndarray):
            given["causal"] = given["causal"][:1]
        own, own_lse = attn.sdpa(q[at], k[of], v[of], **given, return_lse=True)
        tolerance = 2e-6 if dtype == np.float32 else 2e-2
        _assert_near(own, out[at], tolerance)
        _assert_near(np.where(np.isfinite(lse[at]), own_lse, 0), np.where(np.isfinite(lse[at]), lse[at], 0), 2e-6)
        np.testing.assert_array_equal(np.isfinite(own_lse), np.isfinite(lse[at]))
        grads = attn.sdpa_backward(q[at], k[of], v[of], out[at], lse[at], dout[at], grad=("q",), **given)
        tolerance = 2e-5 if dtype == np.float32 else 2e-2
        want = reference.sdpa_backward(*map(_wide, (q, k, v)), None, None, _wide(dout), grad=("q",), **case)["q"]
        _assert_near(grads["q"], want[at], tolerance)


@pytest.mark.parametrize("name", ["two-sided", "chunk", "prefix-window", "captured", "dropout", "all"])
def test_blocks(name):
    """Rows and keys of zigzag shards: their merge is the whole, their gradients by the lse of the whole sum to its."""
    case = CASES[name]
    q, k, v, dout = whole()
    wide = list(map(_wide, (q, k, v)))
    want, want_lse = reference.sdpa(*wide, **case, return_lse=True)
    gradients = reference.sdpa_backward(*wide, None, None, _wide(dout), **case)
    out, lse = want.astype(np.float32), want_lse.astype(np.float32)
    sums = {x: np.zeros(y.shape) for x, y in gradients.items()}
    merged = np.zeros(want.shape)
    rows = [(0, 29), (29, 57), (57, 86), (86, SQ)]
    for first, end in rows:
        numerator = 0.0
        for start, stop in [(0, 64), (64, 101), (101, 203)]:
            at, of = np.s_[:, :, first:end], np.s_[:, :, start:stop]
            given = places(case, 0, 0, first, start)
            given["dynamic"] = True  # one kernel for all of them
            own, own_lse = attn.sdpa(q[at], k[of], v[of], **given, return_lse=True)
            factor = np.where(np.isfinite(want_lse[at]), np.exp(_wide(own_lse) - want_lse[at]), 0.0)[..., None]
            numerator = numerator + _wide(own) * factor
            own = attn.sdpa_backward(q[at], k[of], v[of], out[at], lse[at], dout[at], **given)
            sums["q"][at] += own["q"]
            sums["k"][of] += own["k"]
            sums["v"][of] += own["v"]
        merged[:, :, first:end] = numerator
    _assert_near(merged, want, 2e-5)
    for x, y in gradients.items():
        _assert_near(sums[x], y, 4e-5)


@pytest.mark.parametrize("name", CASES)
def test_pattern(name):
    """Which weights of a shard are not 0, bit for bit those of the whole: read from out, where V is the identity."""
    case = {x: y for x, y in CASES[name].items() if x != "score_mod"}
    q, k = np.zeros((B, HQ, SQ, 8), np.float32), np.zeros((B, HKV, SK, 8), np.float32)
    v = np.broadcast_to(np.eye(SK, dtype=np.float32), (B, HKV, SK, SK)).copy()
    kept = attn.sdpa(q, k, v, **case) != 0
    assert 0.03 < kept.mean() < 0.97
    for b, h, i, j in [(1, 2, 41, 70), (0, 0, 60, 0), (0, 2, 0, 17)]:
        at, of = np.s_[b : b + 1, h : h + 2, i : i + 50], np.s_[b : b + 1, h // 2 : h // 2 + 1, j : j + 61]
        given = places(case, b, h, i, j)
        if isinstance(given.get("causal"), np.ndarray):
            given["causal"] = given["causal"][:1]
        values = v[of][..., j : j + 61].copy()
        shard = attn.sdpa(q[at], k[of], values, **given, dynamic=True) != 0
        np.testing.assert_array_equal(shard, kept[at][..., j : j + 61])
        # The reference's weights have the same pattern.
        weights = reference.sdpa(q[at], k[of], values, **given, return_weights=True)[1]
        np.testing.assert_array_equal(weights != 0, shard)


def test_a_wrong_origin_is_another_pattern():
    """What the tests above would see."""
    q, k = np.zeros((1, 1, 64, 8), np.float32), np.zeros((1, 1, 64, 8), np.float32)
    v = np.eye(64, dtype=np.float32)[None, None]
    for case in (CASES["chunk"], CASES["mask_mod"], {"dropout": (0.4, 42, 1), "whole": (4, 64, 64)}):
        patterns = [attn.sdpa(q, k, v, **case, q_origin=i, k_origin=j) != 0 for i, j in ((40, 7), (41, 7), (40, 8))]
        assert not np.array_equal(patterns[0], patterns[1])
        assert not np.array_equal(patterns[0], patterns[2])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ["prefix", "dropout"])
def test_one_origin_a_batch_index(name, dynamic):
    """Origins are lists; one kernel serves sizes of all calls."""
    case = CASES[name]
    q, k, v, _ = whole()
    q_origin, k_origin = np.array([40, 3]), np.array([10, 64], np.int32)
    given = {"q_origin": q_origin, "k_origin": k_origin}
    if "dropout" in case:
        given["whole"] = (HQ, 300, 400)
    own = attn.sdpa(q, k, v, **case, **given, dynamic=dynamic)
    _assert_near(own, reference.sdpa(*map(_wide, (q, k, v)), **case, **given), 2e-5)
    for b in range(B):
        at = np.s_[b : b + 1]
        one = {**given, "q_origin": int(q_origin[b]), "k_origin": int(k_origin[b]), "b_origin": b}
        alone = attn.sdpa(q[at], k[at], v[at], **case, **one, dynamic=dynamic)
        _assert_near(alone, own[at], 2e-6)


@pytest.mark.parametrize("name", ["causal", "chunk", "prefix", "alibi", "mask_mod"])
def test_documents(name):
    """Packed sequences with an origin each: the parts of three documents that a device has."""
    case = CASES[name]
    rng = np.random.default_rng(3)
    lengths = [70, 0, 45]
    wholes = [[rng.standard_normal((1, n, h, d)).astype(np.float32) for n, h, d in
               ((s, HQ, D), (s, HKV, D), (s, HKV, DV))] for s in lengths]  # fmt: skip
    rows, keys = [(13, 60), (0, 0), (20, 45)], [(0, 70), (0, 0), (5, 41)]
    q = np.concatenate([x[0][0, a:e] for x, (a, e) in zip(wholes, rows, strict=True)])
    k, v = (np.concatenate([x[n][0, a:e] for x, (a, e) in zip(wholes, keys, strict=True)]) for n in (1, 2))
    sums = [np.cumsum([0, *(e - a for a, e in parts)]).astype(np.int32) for parts in (rows, keys)]
    given = {"q_origin": np.array([a for a, _ in rows]), "k_origin": np.array([a for a, _ in keys])}
    out, lse = attn.varlen_sdpa(q, k, v, *sums, **case, **given, return_lse=True)
    dout = rng.standard_normal(out.shape).astype(np.float32)
    gradients = attn.varlen_sdpa_backward(q, k, v, out, lse, dout, *sums, **case, **given)
    want = reference.varlen_sdpa_backward(q, k, v, None, None, dout, *sums, **case, **given)
    for x, y in want.items():
        _assert_near(gradients[x], y, 4e-5)
    for b, ((a, e), (c, f)) in enumerate(zip(rows, keys, strict=True)):
        # Of the whole document, by a mask: the keys that the device has.
        j = np.arange(lengths[b])[None].repeat(e - a, 0)
        mask = ((j >= c) & (j < f))[None, None]
        of_rows = {**case}
        parts = [_wide(x).swapaxes(1, 2) for x in wholes[b]]
        if e == a:
            continue
        full = np.zeros((1, 1, lengths[b], lengths[b]), bool)
        full[:, :, a:e] = mask
        if "mask_mod" in of_rows or "score_mod" in of_rows:
            of_rows |= {x: _of_document(of_rows[x], b) for x in ("score_mod", "mask_mod") if x in of_rows}
        expected = reference.sdpa(*parts, **of_rows, mask=full)[0, :, a:e].swapaxes(0, 1)
        _assert_near(out[sums[0][b] : sums[0][b + 1]], expected, 2e-5)


def _of_document(function, b):
    if function is alibi:
        return lambda s, _, h, i, j: alibi(s, np.full_like(i, b), h, i, j)
    return lambda _, h, i, j: function(np.full_like(i, b), h, i, j)


@pytest.mark.parametrize("sk", [0, 1])
def test_empty(sk):
    """Shards without keys, or whose keys no row keeps, have empty rows and gradients of 0."""
    q, k, v, dout = whole()
    k, v = k[:, :, :sk], v[:, :, :sk]
    given = {"causal": "top_left", "q_origin": 0, "k_origin": 150}
    out, lse = attn.sdpa(q, k, v, **given, return_lse=True)
    assert not out.any()
    assert (lse == -np.inf).all()
    dout[...] = np.nan
    gradients = attn.sdpa_backward(q, k, v, out, lse, dout, **given)
    assert not any(x.any() for x in gradients.values())


def test_lengths_and_masks_count_the_rows_given():
    """kv_lengths, q_lengths, bias and mask are of the shard."""
    q, k, v, _ = whole()
    rng = np.random.default_rng(2)
    given = {"causal": "top_left", "q_origin": 100, "k_origin": 5, "kv_lengths": [150, 203], "q_lengths": [113, 60]}
    given |= {"bias": rng.standard_normal((1, HQ, SQ, SK)).astype(np.float32), "mask": rng.random((B, 1, SQ, SK)) > 0.3}
    k[0, :, 150:] = np.nan
    out = attn.sdpa(q, k, v, **given)
    k[0, :, 150:] = 0
    _assert_near(out, reference.sdpa(*map(_wide, (q, k, v)), **given), 2e-5)
    i, j = np.mgrid[:SQ, :SK]
    by_mask = {**given, "causal": None, "q_origin": None, "k_origin": None}
    by_mask["mask"] = given["mask"] & (j + 5 <= i + 100)
    _assert_near(out, reference.sdpa(*map(_wide, (q, k, v)), **by_mask), 2e-5)


def test_captured_arrays_are_those_of_the_whole():
    """A table is read at positions of the whole, and its gradient is added there."""
    table = np.random.default_rng(1).standard_normal((HQ, 400)).astype(np.float32)

    def by_table(s, b, h, i, j):
        return s + table[h, i + 1] * 0.5 + table[h, j]

    q, k, v, dout = whole()
    at, of = np.s_[:, 2:, 40:], np.s_[:, 1:, 90:]
    given = {"score_mod": by_table, "q_origin": 40, "k_origin": 90, "h_origin": 2}
    wide = [_wide(x) for x in (q[at], k[of], v[of])]
    out, lse = attn.sdpa(q[at], k[of], v[of], **given, return_lse=True)
    _assert_near(out, reference.sdpa(*wide, **given), 2e-5)
    names = ("q", "k", "v", "table")
    own = attn.sdpa_backward(q[at], k[of], v[of], out, lse, dout[at], grad=names, **given)
    want = reference.sdpa_backward(*wide, None, None, _wide(dout[at]), grad=names, **given)
    for name in names:
        _assert_near(own[name], want[name], 4e-5)
    assert not own["table"][:2].any()
    small = np.zeros((HQ, SK - 1), np.float32)
    with pytest.raises(ValueError, match="202 possible"):
        attn.sdpa(q[at], k[of], v[of], **(given | {"score_mod": lambda s, b, h, i, j: s + small[h, j]}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"causal": "bottom_right", "q_origin": 3}, 'expected no "bottom_right" beside q_origin'),
        ({"window": (3, 0), "k_origin": 3}, "expected align for a window beside k_origin"),
        ({"dropout": (0.1, 1, 1), "q_origin": 3}, r"write whole=\(Hq, Sq, Sk\)"),
        ({"dropout": (0.1, 1, 1), "h_origin": 3}, r"write whole=\(Hq, Sq, Sk\)"),
        ({"whole": (1, 2, 3)}, "expected whole beside dropout"),
        ({"dropout": (0.1, 1, 1), "whole": (1, 2)}, "expected whole to be sizes"),
        ({"causal": "top_left", "q_origin": [3]}, r"expected q_origin of shape \(2,\)"),
        ({"causal": "top_left", "q_origin": -1}, "expected q_origin in 0 to"),
        ({"mask_mod": cells, "b_origin": np.array([1, 2])}, "expected b_origin to be an integer"),
    ],
)
def test_refused(given, message):
    """Each error says what to write."""
    q, k, v, _ = whole()
    k, v = k[:, :, :SQ], v[:, :, :SQ]
    for function in (attn.sdpa, reference.sdpa):
        with pytest.raises((ValueError, TypeError), match=message):
            function(q, k, v, **given)


def _wide(x):
    return np.asarray(x).astype(np.float64)


def _assert_near(own, want, tolerance):
    own, want = _wide(own), _wide(want)
    assert own.shape == want.shape
    assert np.isfinite(own).all()
    scale = np.abs(want).max() if want.size else 1.0
    assert np.abs(own - want).max(initial=0) <= tolerance * max(scale, 1e-30)
