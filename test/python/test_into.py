"""into=: keys that are added to a state, and gradients that are added to others, in place."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import attn
from attn import reference

BF16 = ml_dtypes.bfloat16


def draw(dtype, *shapes, seed=7):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def exact(arrays, **options):
    return reference.sdpa(*(np.asarray(x, np.float64) for x in arrays), return_lse=True, **options)


def rms(x):
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64)))) if x.size else 0.0


def empty(rows, dv, *, terms, dtype=np.float32):
    """A state of no keys, whose out holds garbage."""
    out = np.full((*rows, dv), np.nan, dtype)
    out[..., ::2] = 1e30
    lse = tuple(np.full(rows, -np.inf, dtype) for _ in range(2)) if terms else np.full(rows, -np.inf, dtype)
    return out, lse


def lse_of(lse):
    return lse[0] + np.where(np.isneginf(lse[0]), 0, lse[1]) if isinstance(lse, tuple) else lse


def blocks(q, k, v, state, cuts, **options):
    """The state with the keys of each block added; offsets move a causal diagonal along."""
    for lower, upper in itertools.pairwise(cuts):
        own = dict(options)
        if own.pop("diagonal", None) is not None:
            own["causal"] = np.full(q.shape[0], options["diagonal"] - lower, np.int32)
        result = attn.sdpa(q, k[:, :, lower:upper], v[:, :, lower:upper], into=state, **own)
        assert result[0] is state[0]
        assert result[1] is state[1]
    return state


@pytest.mark.parametrize("terms", [False, True])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 4, 2, 113, 203, 59, 59), {}),
        ((2, 4, 2, 113, 203, 59, 33), {"diagonal": 90}),
        ((1, 8, 2, 113, 203, 64, 64), {"diagonal": 90, "window": (31, None)}),
        ((1, 4, 4, 300, 300, 64, 64), {"diagonal": 0}),
        ((2, 8, 2, 1, 777, 64, 64), {}),
        ((1, 4, 1, 3, 5000, 64, 128), {}),
        ((1, 2, 2, 1, 9, 59, 59), {"softcap": 20.0}),
    ],
)
def test_blocks_of_keys_are_the_whole(shape, options, terms):
    b, hq, hkv, sq, sk, d, dv = shape
    q, k, v = draw(np.float32, (b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, dv))
    words = {x: y for x, y in options.items() if x != "diagonal"}
    if "diagonal" in options:
        words["causal"] = np.full(b, options["diagonal"], np.int32)
    expected, expected_lse = exact((q, k, v), **words)
    whole, _whole_lse = attn.sdpa(q, k, v, return_lse=True, **words)
    cuts = [0, sk // 5, sk // 5, sk // 2, sk]
    out, lse = blocks(q, k, v, empty((b, hq, sq), dv, terms=terms), cuts, **options)
    assert rms(out - expected) <= 1.1 * rms(whole - expected) + 2e-8
    known = np.isfinite(expected_lse)
    np.testing.assert_array_equal(np.isfinite(lse_of(lse)), known)
    np.testing.assert_allclose(lse_of(lse)[known], expected_lse[known], rtol=2e-6, atol=2e-6)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("dtype", [BF16, np.float16])
def test_narrow_inputs_beside_a_wide_state(dtype):
    q, k, v = draw(dtype, (1, 4, 128, 64), (1, 2, 1024, 64), (1, 2, 1024, 64))
    expected, _ = exact((q, k, v))
    whole = attn.sdpa(q, k, v)
    out, _ = blocks(q, k, v, empty((1, 4, 128), 64, terms=False), [0, 256, 300, 777, 1024])
    assert rms(out.astype(dtype).astype(np.float64) - expected) <= 1.02 * rms(whole.astype(np.float64) - expected)


def test_double_precision():
    q, k, v = draw(np.float64, (1, 2, 33, 59), (1, 2, 100, 59), (1, 2, 100, 59))
    out, lse = blocks(q, k, v, empty((1, 2, 33), 59, terms=False, dtype=np.float64), [0, 40, 100])
    expected, expected_lse = exact((q, k, v))
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-14)


def test_rows_without_keys_keep_their_bits():
    q, k, v = draw(np.float32, (2, 4, 113, 59), (2, 4, 203, 59), (2, 4, 203, 59))
    out, lse = attn.sdpa(q, k, v, return_lse=True)
    old, old_lse = out.copy(), lse.copy()
    out[0, 0, 100] = np.nan
    lse[0, 0, 100] = -np.inf
    k[1, :, 60:] = np.nan
    v[1, :, 60:] = np.nan
    attn.sdpa(q, k, v, q_lengths=[7, 50], kv_lengths=[0, 60], into=(out, lse))
    assert (out[0, 0, 100] == 0).all()
    assert np.isneginf(lse[0, 0, 100])
    keep = np.ones((2, 4, 113), bool)
    keep[1, :, :50] = keep[0, 0, 100] = False
    np.testing.assert_array_equal(out[keep], old[keep])
    np.testing.assert_array_equal(lse[keep], old_lse[keep])
    assert np.isfinite(out[1]).all()
    assert not np.array_equal(out[1, :, :50], old[1, :, :50])


def test_no_keys_and_no_queries():
    q, k, v = draw(np.float32, (1, 2, 5, 16), (1, 2, 0, 16), (1, 2, 0, 16))
    state = empty((1, 2, 5), 16, terms=False)
    out, lse = attn.sdpa(q, k, v, into=state)
    assert (out == 0).all()
    assert np.isneginf(lse).all()
    out[:], lse[:] = 3, 1
    attn.sdpa(q, k, v, into=(out, lse))
    assert (out == 3).all()
    assert (lse == 1).all()
    none = (np.empty((1, 2, 0, 16), np.float32), np.empty((1, 2, 0), np.float32))
    attn.sdpa(q[:, :, :0], q, q, into=none)


def test_large_scores_need_both_terms():
    q, k, v = draw(np.float32, (1, 2, 33, 64), (1, 2, 128, 64), (1, 2, 128, 64))
    q, k = q * 0 + 100, k * 0 + 100  # every score is 80,000
    out, terms = blocks(q, k, v, empty((1, 2, 33), 64, terms=True), [0, 31, 128], scale=0.125)
    np.testing.assert_allclose(out, np.broadcast_to(v.mean(2, keepdims=True), out.shape), atol=1e-5)
    np.testing.assert_allclose(terms[1], np.log(128), rtol=1e-6)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_layouts_and_dynamic_sizes(layout, dynamic):
    q, k, v = draw(
        np.float32, (2, 6, 113, 59), (2, 3 if not dynamic else 6, 203, 59), (2, 3 if not dynamic else 6, 203, 59)
    )
    if layout == "bshd":
        q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    expected, expected_lse = exact((q, k, v), layout=layout)
    keys = 1 if layout == "bshd" else 2
    out = np.full((*q.shape[:3], 59), np.nan, np.float32)
    lse = np.full((2, 6, 113), -np.inf, np.float32)
    for part in (slice(0, 77), slice(77, 203)):
        at = (slice(None),) * keys + (part,)
        attn.sdpa(q, k[at], v[at], into=(out, lse), layout=layout, dynamic=dynamic)
    np.testing.assert_allclose(out, expected, atol=2e-6)
    np.testing.assert_allclose(lse, expected_lse, rtol=2e-6)


@pytest.mark.parametrize("rows", [1, 2, 5, 30])
def test_dynamic_numbers_of_queries(rows):
    q, k, v = draw(np.float32, (1, 4, rows, 64), (1, 4, 203, 64), (1, 4, 203, 64))
    out, lse = empty((1, 4, rows), 64, terms=False)
    for part in (slice(0, 77), slice(77, 203)):
        attn.sdpa(q, k[:, :, part], v[:, :, part], into=(out, lse), dynamic=True)
    expected, expected_lse = exact((q, k, v))
    np.testing.assert_allclose(out, expected, atol=2e-6)
    np.testing.assert_allclose(lse, expected_lse, rtol=2e-6)


@pytest.mark.parametrize("dynamic", [False, True])
def test_packed_sequences(dynamic):
    rows, keys = np.array([0, 5, 5, 100], np.int32), np.array([0, 40, 77, 203], np.int32)
    q, k, v = draw(np.float32, (100, 4, 59), (203, 2, 59), (203, 2, 59))
    out, lse = empty((100, 4), 59, terms=False)
    lse = lse.T.copy()
    whole, whole_lse = attn.varlen_sdpa(q, k, v, rows, keys, return_lse=True)
    for lower, upper in ((0, 0.4), (0.4, 1.0)):
        parts = [slice(int(a + lower * (b - a)), int(a + upper * (b - a))) for a, b in itertools.pairwise(keys)]
        sums = np.cumsum([0, *[x.stop - x.start for x in parts]]).astype(np.int32)
        some = [np.concatenate([x[p] for p in parts]) for x in (k, v)]
        attn.varlen_sdpa(q, *some, rows, sums, into=(out, lse), dynamic=dynamic)
    np.testing.assert_allclose(out, whole, atol=2e-6)
    np.testing.assert_allclose(lse, whole_lse, rtol=2e-6)


@pytest.mark.parametrize("is_step", [False, True])
def test_paged_caches(is_step):
    k, v = draw(np.float32, (12, 16, 2, 64), (12, 16, 2, 64))
    table, lengths = np.arange(12, dtype=np.int32).reshape(2, 6), np.array([90, 41], np.int32)
    (q,) = draw(np.float32, (14, 4, 64) if is_step else (2, 4, 3, 64))
    rows = {"cu_seqlens_q": np.array([0, 1, 14], np.int32)} if is_step else {}
    whole, whole_lse = attn.paged_sdpa(q, k, v, table, lengths, return_lse=True, **rows)
    out, lse = np.full_like(whole, np.nan), np.full_like(whole_lse, -np.inf)
    for n in range(2):
        some = np.array([48, 16] if n == 0 else [42, 25], np.int32)
        first = np.ascontiguousarray(
            table[:, [0, 1, 2, 0, 0, 0]] if n == 0 else [[3, 4, 5, 0, 0, 0], [7, 8, 0, 0, 0, 0]]
        )
        attn.paged_sdpa(q, k, v, first.astype(np.int32), some, into=(out, lse), **rows)
    np.testing.assert_allclose(out, whole, atol=2e-6)
    np.testing.assert_allclose(lse, whole_lse, rtol=2e-6)


@pytest.mark.parametrize("names", [("q",), ("k", "v"), ("q", "k", "v"), ("v",)])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (np.float32, (2, 4, 2, 113, 203, 59)),
        (np.float32, (1, 1, 1, 700, 700, 64)),  # few heads: tasks are pairs of chunks
        (BF16, (1, 4, 2, 130, 140, 64)),
    ],
)
def test_gradients_are_added(dtype, shape, names):
    b, hq, hkv, sq, sk, d = shape
    q, k, v, dout = draw(dtype, (b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, d), (b, hq, sq, d))
    options = {"causal": "bottom_right", "out_dtype": np.float32}
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    plain = attn.sdpa_backward(q, k, v, out, lse, dout.astype(np.float32), **options)
    old = dict(zip("qkv", draw(np.float32, q.shape, k.shape, v.shape, seed=9), strict=True))
    into = {name: old[name].copy() for name in names}
    found = attn.sdpa_backward(q, k, v, out, lse, dout.astype(np.float32), into=into, **options)
    for name in "qkv":
        assert name not in names or found[name] is into[name]
        added = old[name] if name in names else 0
        np.testing.assert_allclose(found[name], plain[name] + added, rtol=2e-6, atol=2e-5)


def test_gradients_of_packed_sequences_are_added():
    rows, keys = np.array([0, 5, 5, 90], np.int32), np.array([0, 40, 77, 190], np.int32)  # and rows of none
    q, k, v, dout = draw(np.float32, (100, 4, 59), (203, 2, 59), (203, 2, 59), (100, 4, 59))
    rows, keys = np.append(rows, 100).astype(np.int32), np.append(keys, 203).astype(np.int32)
    out, lse = attn.varlen_sdpa(q, k, v, rows, keys, return_lse=True)
    plain = attn.varlen_sdpa_backward(q, k, v, out, lse, dout, rows, keys)
    into = dict(zip("qkv", draw(np.float32, q.shape, k.shape, v.shape, seed=9), strict=True))
    old = {name: x.copy() for name, x in into.items()}
    attn.varlen_sdpa_backward(q, k, v, out, lse, dout, rows, keys, into=into)
    for name in "qkv":
        np.testing.assert_allclose(into[name], plain[name] + old[name], rtol=2e-6, atol=2e-5)


def test_torch_tensors_are_written_in_place():
    torch = pytest.importorskip("torch")
    q, k, v = (torch.from_numpy(x) for x in draw(np.float32, (1, 2, 33, 64), (1, 2, 65, 64), (1, 2, 65, 64)))
    out, lse = torch.full((1, 2, 33, 64), torch.nan), torch.full((1, 2, 33), -torch.inf)
    found = attn.sdpa(q, k, v, into=(out, lse))
    assert found[0] is out
    assert found[1] is lse
    torch.testing.assert_close(out, attn.sdpa(q, k, v))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"into": "x"}, TypeError, r"expected into to be .out, lse. or .out, .max, log_sum.., found str"),
        ({"return_lse": True}, ValueError, r"expected no return_lse beside into"),
        ({"sink": np.zeros(2, np.float32)}, ValueError, "expected no sink beside into"),
        ({"target": "sm_90"}, TypeError, "expected out of into in the memory of a CUDA device, found it in CPU memory"),
        ({"out": "narrow"}, TypeError, "expected out of into in float32"),
        ({"out": "strided"}, ValueError, "expected out of into to be C-contiguous"),
        ({"out": "shape"}, ValueError, "out"),
        ({"out": "locked"}, ValueError, "expected out of into to be writable"),
    ],
)
def test_refusals(change, error, text):
    q, k, v = draw(np.float32, (1, 2, 5, 16), (1, 2, 9, 16), (1, 2, 9, 16))
    out, lse = np.zeros((1, 2, 5, 16), np.float32), np.zeros((1, 2, 5), np.float32)
    kind = change.get("out")
    if kind == "narrow":
        out = out.astype(np.float16)
    elif kind == "strided":
        out = np.zeros((1, 2, 5, 32), np.float32)[..., ::2]
    elif kind == "shape":
        out = np.zeros((1, 2, 5, 17), np.float32)
    elif kind == "locked":
        out.flags.writeable = False
    options = {"into": (out, lse)} | {x: y for x, y in change.items() if x != "out"}
    with pytest.raises(error, match=text):
        attn.sdpa(q, k, v, **options)
    assert not out.any()
    assert not lse.any()


def test_refusals_of_gradients():
    q, k, v = draw(np.float32, (1, 2, 5, 16), (1, 2, 9, 16), (1, 2, 9, 16))
    out, lse = attn.sdpa(q, k, v, return_lse=True)
    with pytest.raises(ValueError, match=r"expected into to hold some of q, k, v that grad=.'q',. names, found 'k'"):
        attn.sdpa_backward(q, k, v, out, lse, out, grad=("q",), into={"k": np.zeros_like(k)})
    with pytest.raises(TypeError, match="expected into to be arrays by name"):
        attn.sdpa_backward(q, k, v, out, lse, out, into=(k, v))
