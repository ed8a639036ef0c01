"""Rows whose lse as one number has lost the count of their keys: gradients, merges, max and log_sum."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import attn
from helpers import assert_within

LOWEST = float(np.finfo(np.float32).min)
# Tolerances of gradients, relative to the largest: those of docs/Semantics.md, bf16 by three roundings.
ERRORS = {"float32": 2e-5, "float64": 2e-12, "bfloat16": 0.024}
NAMES = ("q", "k", "v")
TARGETS = pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])


def draw(dtype, sizes=(1, 2, 2, 64, 64, 32), seed=0):
    """q, k, v and dout of sizes (B, Hq, Hkv, Sq, Sk, D)."""
    b, hq, hkv, sq, sk, d = sizes
    rng = np.random.default_rng(seed)
    shapes = ((b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, d), (b, hq, sq, d))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def uniform_bias(dtype, sq, sk, value):
    """Rows that hold `value` throughout, and some that do not."""
    bias = np.zeros((1, 1, sq, sk), dtype)
    bias[..., : sq // 2 + 1, :] = value
    return bias


def formula(q, k, v, dout, bias):
    """dq, dk, dv in f64 from the definition alone: the row's maximum is subtracted before the exponential."""
    q, k, v, dout, bias = (np.asarray(x).astype(np.float64) for x in (q, k, v, dout, bias))
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, group, 1) for x in (k, v))
    scale = q.shape[-1] ** -0.5
    s = np.einsum("bhid,bhjd->bhij", q, k) * scale + bias
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = np.einsum("bhie,bhje->bhij", dout, v)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True))
    fold = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)  # noqa: E731
    dk, dv = np.einsum("bhij,bhid->bhjd", ds, q) * scale, np.einsum("bhij,bhie->bhje", p, dout)
    return {"q": np.einsum("bhij,bhjd->bhid", ds, k) * scale, "k": fold(dk), "v": fold(dv)}


def compare(found, expected, dtype):
    for name in NAMES:
        error = ERRORS[np.dtype(dtype).name] * np.abs(expected[name]).max()
        assert_within(error, found[name].astype(np.float64), expected[name], f"d{name}")


@TARGETS
@pytest.mark.parametrize("value", [LOWEST, -1e30, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_gradients_of_uniform_rows(target, dtype, value):
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    if value == LOWEST and dtype == ml_dtypes.bfloat16:
        value = float(ml_dtypes.finfo(dtype).min)
    q, k, v, dout = draw(dtype, (1, 4, 2, 37, 45, 32))
    bias = uniform_bias(dtype, 37, 45, value)
    out, row_max, log_sum = attn.sdpa(q, k, v, bias=bias, return_max=True, return_log_sum=True, target=target)
    expected = formula(q, k, v, dout, bias)
    compare(attn.sdpa_backward(q, k, v, out, (row_max, log_sum), dout, bias=bias, target=target), expected, dtype)
    _, pullback = attn.vjp(q, k, v, bias=bias, target=target)
    compare(pullback(dout), expected, dtype)


def test_an_lse_of_one_number_is_computed_again():
    q, k, v, dout = draw("float32")
    bias = uniform_bias("float32", 64, 64, -1e30)
    out, lse = attn.sdpa(q, k, v, bias=bias, return_lse=True)
    with pytest.warns(RuntimeWarning, match=r"lse of 66 rows is beyond 256.*pass \(max, log_sum\)"):
        found = attn.sdpa_backward(q, k, v, out, lse, dout, bias=bias)
    compare(found, formula(q, k, v, dout, bias), np.float32)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_log_sum_of_zeros_is_what_it_says(is_packed):
    """Rows of one key, of large scores; and lse in parts of which the caller says that the second is 0."""
    rng = np.random.default_rng(0)
    q, k = (rng.integers(8, 16, (1, 2, n, 16)).astype(np.float32) for n in (3, 1))  # whose scores are not rounded
    v, dout = (rng.standard_normal((1, 2, n, 16)).astype(np.float32) for n in (1, 3))
    call, backward, sums = attn.sdpa, attn.sdpa_backward, ()
    if is_packed:
        q, k, v, dout = (np.ascontiguousarray(x[0].swapaxes(0, 1)) for x in (q, k, v, dout))
        call, backward, sums = attn.varlen_sdpa, attn.varlen_sdpa_backward, ([0, 3], [0, 1])
    flags = dict(return_lse=True, return_max=True, return_log_sum=True)
    out, lse, row_max, log_sum = call(q, k, v, *sums, scale=1, **flags)
    assert not log_sum.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        terms = ((row_max, log_sum), (lse, np.zeros_like(lse)))
        found = [backward(q, k, v, out, x, dout, *sums, scale=1) for x in terms]
    for gradients in found:
        expected = dout.sum(0 if is_packed else 2)
        np.testing.assert_allclose(gradients["v"].reshape(expected.shape), expected, atol=1e-6)
        np.testing.assert_allclose(gradients["k"], 0, atol=1e-3)


def test_an_lse_over_more_keys_stays():
    """As ring attention has it: lse of all keys, gradients of some of them."""
    q, k, v, dout = draw("float32")
    q *= 40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        out, lse = attn.sdpa(q, k, v, return_lse=True)
        whole = attn.sdpa_backward(q, k, v, out, lse + 300, dout)
        halves = [
            attn.sdpa_backward(q, k[..., x, :], v[..., x, :], out, lse + 300, dout) for x in (slice(32), slice(32, 64))
        ]
    for name in NAMES:
        joined = halves[0][name] + halves[1][name] if name == "q" else np.concatenate([x[name] for x in halves], 2)
        np.testing.assert_allclose(joined, whole[name], atol=1e-4 * np.abs(whole[name]).max())


@TARGETS
def test_scores_of_products_are_uniform(target):
    """Without a bias: products of −1e30, whose scale is no power of two, in kernels that sum in one order."""
    q, k, v, dout = draw("float32", (1, 1, 1, 64, 20, 24))
    q[...], k[...] = 1e15, -1e15
    out, row_max, log_sum = attn.sdpa(q, k, v, return_max=True, return_log_sum=True, target=target)
    np.testing.assert_allclose(log_sum, np.log(20), rtol=1e-6)
    found = attn.sdpa_backward(q, k, v, out, (row_max, log_sum), dout, grad="v", target=target)
    np.testing.assert_allclose(found["v"], np.broadcast_to(dout.sum(2, keepdims=True) / 20, v.shape), atol=1e-5)


@pytest.mark.filterwarnings("ignore:attn. lse of")
@pytest.mark.parametrize("size", [1e6, 1e8, 1e14])
def test_no_weight_is_more_than_one(size):
    """Scores that a backward pass rounds in another way than the pass that has found their maximum."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q, k = ((rng.standard_normal((1, 1, n, 96)) * np.sqrt(size)).astype(np.float32) for n in (6, 95))
        v = np.ones_like(k)
        sums = attn.sdpa(q, k, v, return_key_sums=True)[1]
        out, row_max, log_sum = attn.sdpa(q, k, v, return_max=True, return_log_sum=True)
        dv = attn.sdpa_backward(q, k, v, out, (row_max, log_sum), np.ones_like(out), grad="v")["v"]
        np.testing.assert_allclose(out, 1, rtol=1e-5)
        assert sums.max() <= 6.001
        assert dv.max() <= 6.001


@pytest.mark.parametrize(
    ("target", "dtype"), [("reference", "float64"), ("x86-64", "float32"), ("x86-64-v3", "float64")]
)
def test_a_maximum_below_the_scores(target, dtype):
    """What rounding makes of large scores, made of small ones; what is no number stays so."""
    q, k, v, dout = draw(dtype, (1, 1, 1, 64, 64, 32))
    k[..., 7, :] *= 9
    options = {"return_max": True, "return_log_sum": True}
    out, row_max, log_sum = attn.sdpa(q, k, v, **options)
    module = attn.reference if target == "reference" else attn
    words = {} if target == "reference" else {"target": target}
    for saved in ((row_max - 2, log_sum), row_max + log_sum - 2):
        m, ln_l = saved if isinstance(saved, tuple) else (saved, np.zeros_like(saved))
        s = np.einsum("bhid,bhjd->bhij", q.astype("f8"), k.astype("f8")) * 32**-0.5
        p = np.exp(np.minimum(s - m[..., None], 0) - ln_l[..., None])
        expected = np.einsum("bhij,bhie->bhje", p, dout.astype("f8"))
        found = module.sdpa_backward(q, k, v, out, saved, dout, grad="v", **words)["v"]
        assert_within(ERRORS[dtype] * np.abs(expected).max(), found.astype("f8"), expected, "dv")
        broken = q.copy()
        broken[..., 5, :] = np.nan
        assert np.isnan(module.sdpa_backward(broken, k, v, out, saved, dout, grad="v", **words)["v"]).all()


def test_reference():
    q, k, v, dout = draw("float64")
    bias = uniform_bias("float64", 64, 64, -1e30)
    out, lse, row_max, log_sum = attn.reference.sdpa(
        q, k, v, bias=bias, return_lse=True, return_max=True, return_log_sum=True
    )
    expected = formula(q, k, v, dout, bias)
    for saved in (lse, (row_max, log_sum), None):
        compare(attn.reference.sdpa_backward(q, k, v, out, saved, dout, bias=bias), expected, np.float64)


def test_packed_sequences():
    rng = np.random.default_rng(1)
    q, k, v, dout = (rng.standard_normal((30, 2, 16)).astype(np.float32) for _ in range(4))
    starts = [0, 11, 30]
    options = {"score_mod": lambda s, b, h, i, j: attn.where(i < 5, s * 0 - 1e30, s)}
    out, row_max, log_sum = attn.varlen_sdpa(q, k, v, starts, starts, return_max=True, return_log_sum=True, **options)
    found = attn.varlen_sdpa_backward(q, k, v, out, (row_max, log_sum), dout, starts, starts, **options)
    expected = attn.reference.varlen_sdpa_backward(q, k, v, None, None, dout, starts, starts, **options)
    compare(found, expected, np.float32)
    out, lse = attn.varlen_sdpa(q, k, v, starts, starts, return_lse=True, **options)
    with pytest.warns(RuntimeWarning, match="lse of 20 rows"):
        compare(attn.varlen_sdpa_backward(q, k, v, out, lse, dout, starts, starts, **options), expected, np.float32)


CASES = {
    "plain": {},
    "causal": {"causal": "bottom_right"},
    "lengths": {"q_lengths": [30, 0], "kv_lengths": [0, 50]},
    "sink": {"sink": np.array([0.5, 3, -1, 20], np.float32), "causal": "top_left"},
    "softcap": {"softcap": 3.0, "window": (5, 5), "align": "top_left"},
}


@TARGETS
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rows", [1, 37])
def test_max_and_log_sum(target, case, rows):
    q, k, v, _ = draw("float32", (2, 4, 2, rows, 61, 40))
    options = dict(CASES[case])
    if "q_lengths" in options:
        options["q_lengths"] = [min(rows, 30), 0]
    flags = dict(return_lse=True, return_max=True, return_log_sum=True)
    found = attn.sdpa(q, k, v, **options, **flags, target=target)
    expected = attn.reference.sdpa(q, k, v, **options, **flags)
    for name, x, y in zip(("out", "lse", "max", "log_sum"), found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=2e-5, err_msg=name)
    one, largest = attn.sdpa(q, k, v, **options, return_max=True, target=target)
    np.testing.assert_array_equal(largest, found[2])
    np.testing.assert_array_equal(one, found[0])


def test_max_is_not_beside_weights():
    q, k, v, _ = draw("float32")
    with pytest.raises(attn.CompileError, match="expected max and log_sum without weights"):
        attn.sdpa(q, k, v, return_weights=True, return_max=True)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_merge(dtype):
    q, k, v, _ = draw(dtype, (1, 2, 2, 8, 40, 16))
    # The largest number of f16 is no such number: 0 there.
    bias = uniform_bias(dtype, 8, 40, -1e30 if dtype == "float32" else 0)
    parts = [
        attn.sdpa(
            q, k[..., x, :], v[..., x, :], bias=np.ascontiguousarray(bias[..., x]), return_max=True, return_log_sum=True
        )
        for x in (slice(7), slice(7, 40))
    ]
    out, (row_max, log_sum) = attn.merge(parts[0][0], parts[0][1:], parts[1][0], parts[1][1:])
    whole = attn.sdpa(q, k, v, bias=bias, return_max=True, return_log_sum=True)
    tolerance = 1e-5 if dtype == "float32" else 3e-3
    np.testing.assert_allclose(out.astype(np.float32), whole[0].astype(np.float32), atol=tolerance)
    np.testing.assert_array_equal(row_max, np.maximum(parts[0][1], parts[1][1]))
    # The kernels of fewer keys may add up the products of a score in another order.
    np.testing.assert_allclose(row_max, whole[1], rtol=1e-6)
    np.testing.assert_allclose(log_sum, whole[2], atol=1e-5)
    reference, terms = attn.reference.merge(parts[0][0], parts[0][1:], parts[1][0], parts[1][1:])
    np.testing.assert_allclose(out.astype(np.float64), reference, atol=tolerance)
    np.testing.assert_allclose(terms[1], log_sum, atol=1e-5)


def test_merge_refuses_lost_sums():
    q, k, v, _ = draw("float32", (1, 2, 2, 8, 40, 16))
    bias = uniform_bias("float32", 8, 40, -1e30)
    first, second = (attn.sdpa(q, k, v, bias=x, return_lse=True) for x in (bias, bias))
    with pytest.raises(ValueError, match=r"found -1e\+30 and -1e\+30 at \(0, 0, 0\).*write \(max, log_sum\)"):
        attn.merge(*first, *second)
    # One of them outweighs: nothing is lost.
    other = attn.sdpa(q, k, v, return_lse=True)
    np.testing.assert_array_equal(attn.merge(*first, *other)[0][:, :, :5], other[0][:, :, :5])
