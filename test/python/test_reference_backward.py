"""The reference's backward against central differences of its forward, the goldens of docs/Semantics.md, and NaN."""

import ml_dtypes
import numpy as np
import pytest

from attn import functions, reference
from differences import gradients_agree
from helpers import Shape, draw

INF, NAN = float("inf"), float("nan")
SHAPE = Shape(5, 7, 3, 2, b=2, hq=4, hkv=2)


def options_of(rng, shape=SHAPE):
    """Every word of a call alone; captured arrays under "captured"."""
    slopes, table = rng.standard_normal(shape.hq), rng.standard_normal((shape.hq, 12))
    bias = rng.standard_normal((1, shape.hq, 1, shape.sk))
    holes = rng.standard_normal(shape.scores)
    holes[rng.random(shape.scores) < 0.3] = -INF

    def alibi(s, b, h, i, j):
        return s - slopes[h] * abs(i - j)

    def relative(s, b, h, i, j):
        return s + table[h, functions.clip(j - i + 2, 0, 11)] * functions.tanh(s)

    lengths = {"q_lengths": [3, 5], "kv_lengths": [7, 4]}
    return {
        "nothing": {},
        "scale": {"scale": -0.7},
        "top_left": {"causal": "top_left"},
        "bottom_right": {"causal": "bottom_right"},
        "offsets": {"causal": np.array([-2, 3])},
        "window": {"window": (2, 1), "align": "bottom_right"},
        "chunk": {"chunk": 3, "align": "top_left"},
        "prefix": {"causal": "top_left", "prefix": 2, "window": (1, 0)},
        "softcap": {"softcap": 0.9},
        "bias": {"bias": bias},
        "bias that removes": {"bias": holes},
        "bias of one": {"bias": np.ones((1, 1, 1, 1))},
        "mask": {"mask": rng.random(shape.scores) < 0.6},
        "mask_mod": {"mask_mod": lambda b, h, i, j: (h + i + j) % 3 != 0},
        "sink": {"sink": rng.standard_normal(shape.hq)},
        "lengths": lengths,
        "sink and empty rows": {"sink": rng.standard_normal(shape.hq), "causal": np.array([-2, -9]), **lengths},
        "alibi": {"score_mod": alibi, "captured": {"slopes": slopes}},
        "relative": {"score_mod": relative, "captured": {"table": table}},
        "dropout": {"dropout": (0.3, 42, 1)},
        "all dropped": {"dropout": (1.0, 42, 1)},
        "scales of heads": {"k_scale": 1 + rng.random(shape.hkv), "v_scale": 1 + rng.random(shape.hkv)},
        "scales of tokens": {
            "k_scale": rng.standard_normal((shape.b, shape.hkv, shape.sk)),
            "v_scale": rng.standard_normal((shape.b, shape.hkv, shape.sk)),
        },
    }


@pytest.mark.parametrize("name", options_of(np.random.default_rng(0)))
def test_every_word_alone(rng, name):
    gradients_agree(*draw(SHAPE, np.float64), **options_of(rng)[name])


GROUPS = [
    ["nothing", "scale"],
    ["nothing", "top_left", "bottom_right", "offsets", "window", "chunk", "prefix"],
    ["nothing", "softcap"],
    ["nothing", "bias", "bias that removes", "bias of one"],
    ["nothing", "mask"],
    ["nothing", "mask_mod"],
    ["nothing", "sink"],
    ["nothing", "lengths"],
    ["nothing", "alibi", "relative"],
    ["nothing", "dropout"],
    ["nothing", "scales of heads", "scales of tokens"],
]


@pytest.mark.parametrize("seed", range(40))
def test_random_combinations(seed):
    rng = np.random.default_rng(seed)
    words = options_of(rng)
    merged = {}
    for group in GROUPS:
        merged |= words[group[rng.integers(len(group))]]
    gradients_agree(*draw(SHAPE, np.float64, seed), **merged, directions=1, seed=seed)


def test_every_element_by_differences(rng):
    q, k, v = draw(Shape(3, 4, 2, 3, hq=2), np.float64)
    options = dict(causal="bottom_right", softcap=1.5, bias=rng.standard_normal((1, 1, 3, 4)), sink=np.array([0.3, -1]))
    dout, dlse = rng.standard_normal((1, 2, 3, 3)), rng.standard_normal((1, 2, 3))
    inputs = dict(q=q, k=k, v=v, **options)
    grad = ("q", "k", "v", "bias", "sink")
    found = reference.sdpa_backward(q, k, v, None, None, dout, dlse=dlse, grad=grad, **options)

    def loss(name, at, step):
        x = inputs[name].copy()
        x[at] += step
        out, lse = reference.sdpa(**{**inputs, name: x}, return_lse=True)
        return (dout * out).sum() + (dlse * lse).sum()

    for name in grad:
        for at in np.ndindex(inputs[name].shape):
            slope = (loss(name, at, 1e-5) - loss(name, at, -1e-5)) / 2e-5
            assert abs(found[name][at] - slope) < 1e-8, (name, at)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(113, 203, 4, 3, hq=2), Shape(5, 0, 3, 2, hq=2), Shape(0, 7, 3, 2, hq=2), Shape(1, 1, 1, 1),
        Shape(3, 5, 1, 9, hq=3), Shape(4, 6, 59, 1, hq=6, hkv=2), Shape(1, 9, 8, 8, b=3, hq=4, hkv=1),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("sink", [False, True])
def test_odd_shapes(rng, shape, sink):
    slopes = rng.standard_normal(shape.hq)
    gradients_agree(
        *draw(shape, np.float64), causal="bottom_right", softcap=3.0, directions=1,
        score_mod=lambda s, b, h, i, j: s + slopes[h] * j / 100, captured={"slopes": slopes},
        **({"sink": rng.standard_normal(shape.hq)} if sink else {}),
    )  # fmt: skip


@pytest.mark.parametrize("layout", ["bshd", "bsd"])
def test_layouts(rng, layout):
    q, k, v = (x.swapaxes(1, 2) for x in draw(SHAPE, np.float64))
    dout = rng.standard_normal((2, 5, 4, 2))
    expected = reference.sdpa_backward(*(x.swapaxes(1, 2) for x in (q, k, v)), None, None, dout.swapaxes(1, 2))
    options = {"heads": (4, 2)} if layout == "bsd" else {}
    given = [x.reshape(*x.shape[:2], -1) if layout == "bsd" else x for x in (q, k, v, dout)]
    out, lse = reference.sdpa(*given[:3], layout=layout, return_lse=True, **options)
    found = reference.sdpa_backward(*given[:3], out, lse, given[3], layout=layout, **options)
    for name, x in zip(("q", "k", "v"), given, strict=False):
        np.testing.assert_allclose(found[name], expected[name].swapaxes(1, 2).reshape(x.shape), rtol=1e-13)


def test_golden_of_one_query():
    q = np.array([[[[0.1, 0.2, 0.3, 0.4]]]])
    k = np.array([[[[0, 0.1, 0, 0.1], [0.2, 0.1, 0, 0], [0.1, 0, 0.3, 0.1]]]])
    v = np.array([[[[1.0, 0], [0, 1], [1, 1]]]])
    d = reference.sdpa_backward(q, k, v, None, None, np.ones((1, 1, 1, 2)))
    np.testing.assert_allclose(d["q"][0, 0, 0], [0.000056, -0.011274, 0.033822, 0.005609], atol=5e-7)
    expected = [
        [-0.005665, -0.01133, -0.016995, -0.022661],
        [-0.005609, -0.011218, -0.016826, -0.022435],
        [0.011274, 0.022548, 0.033822, 0.045096],
    ]
    np.testing.assert_allclose(d["k"][0, 0], expected, atol=5e-7)
    np.testing.assert_allclose(d["v"][0, 0], np.repeat([[0.329939], [0.326656], [0.343404]], 2, axis=1), atol=5e-7)


def test_golden_of_causal_four_by_four():
    i = np.arange(1, 5)[:, None]
    q = 0.1 * i + 0.01 * np.arange(1, 4)
    k = 0.05 * i + 0.02 * np.arange(1, 4)
    v = 0.2 * i + 0.1 * np.arange(2)
    q, k, v = (x[None, None] for x in (q, k, v))
    d = reference.sdpa_backward(q, k, v, None, None, np.ones((1, 1, 4, 2)), causal="top_left")
    expected = np.repeat([[0], [0.002886], [0.007695], [0.014418]], 3, axis=1)
    np.testing.assert_allclose(d["q"][0, 0], expected, atol=5e-7)
    expected = [
        [-0.070369, -0.072553, -0.074737], [-0.000986, -0.000732, -0.000478],
        [0.035023, 0.036067, 0.037111], [0.036332, 0.037218, 0.038104],
    ]  # fmt: skip
    np.testing.assert_allclose(d["k"][0, 0], expected, atol=5e-7)
    expected = np.repeat([[2.055906], [1.083303], [0.59699], [0.263801]], 2, axis=1)
    np.testing.assert_allclose(d["v"][0, 0], expected, atol=5e-7)


def removing(shape):
    """Ways to remove the last two keys of every row, and everything of row 1."""
    keep = np.ones(shape.scores, bool)
    keep[..., -2:] = keep[:, :, 1] = False
    return {
        "mask": {"mask": keep},
        "bias": {"bias": np.where(keep, 0.0, -INF)},
        "mask_mod": {"mask_mod": lambda b, h, i, j: (i != 1) & (j < shape.sk - 2)},
        "lengths": {"kv_lengths": [shape.sk - 2] * 2, "mask_mod": lambda b, h, i, j: i != 1},
    }


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("bad", [NAN, INF])
@pytest.mark.parametrize("name", removing(SHAPE))
def test_what_is_removed_reaches_nothing(rng, name, bad, sink):
    slopes = rng.standard_normal(4)
    options = removing(SHAPE)[name] | dict(
        softcap=2.0, score_mod=lambda s, b, h, i, j: s * functions.sqrt(abs(s)) - slopes[h] * j, dropout=(0.2, 1, 2)
    )
    options |= {"sink": rng.standard_normal(4)} if sink else {}
    options |= {"k_scale": 1 + rng.random((2, 2, 7)), "v_scale": 1 + rng.random((2, 2, 7))}
    q, k, v = draw(SHAPE, np.float64)
    dout, dlse = rng.standard_normal((2, 4, 5, 2)), rng.standard_normal((2, 4, 5))
    grad = ("q", "k", "v", "scale", "softcap", "k_scale", "v_scale", "slopes") + (("sink",) if sink else ())
    expected = reference.sdpa_backward(q, k, v, None, None, dout, dlse=dlse, grad=grad, **options)
    out, lse = reference.sdpa(q, k, v, return_lse=True, **options)
    assert (expected["q"][:, :, 1] == 0).all()
    for dead in ("k", "v"):
        assert (expected[dead][:, :, -2:] == 0).all()

    k[:, :, -2:], v[:, :, -2:], q[:, :, 1], dout[:, :, 1] = bad, bad, bad, bad
    options["k_scale"][..., -2:] = options["v_scale"][..., -2:] = bad
    if not sink:
        dlse[:, :, 1] = bad
    for given in ((None, None), (out, lse)):
        found = reference.sdpa_backward(q, k, v, *given, dout, dlse=dlse, grad=grad, **options)
        for x in grad:
            np.testing.assert_allclose(found[x], expected[x], rtol=1e-12, atol=1e-14, err_msg=x)


def test_rows_beyond_q_lengths_have_no_gradient_with_a_sink(rng):
    q, k, v = draw(SHAPE, np.float64)
    options = {"sink": rng.standard_normal(4), "q_lengths": [3, 0], "grad": ("q", "k", "v", "sink")}
    dout, dlse = rng.standard_normal((2, 4, 5, 2)), rng.standard_normal((2, 4, 5))
    expected = reference.sdpa_backward(q, k, v, None, None, dout, dlse=dlse, **options)
    assert (expected["q"][0, :, 3:] == 0).all()
    assert (expected["q"][1] == 0).all()
    assert (expected["k"][1] == 0).all()
    for x in (q, dout, dlse):
        x[0, :, 3:] = x[1] = NAN
    found = reference.sdpa_backward(q, k, v, None, None, dout, dlse=dlse, **options)
    for name, x in found.items():
        np.testing.assert_array_equal(x, expected[name])


def test_a_sink_alone_has_the_cotangent_of_lse(rng):
    q, k, v = draw(Shape(3, 0, 4, 2, hq=2), np.float64)
    dlse = rng.standard_normal((1, 2, 3))
    dout = np.full((1, 2, 3, 2), NAN)
    d = reference.sdpa_backward(q, k, v, None, None, dout, dlse=dlse, sink=[0.5, 2.0], grad=("q", "sink"))
    np.testing.assert_allclose(d["sink"], dlse.sum((0, 2)))
    assert (d["q"] == 0).all()


def test_nan_of_a_kept_key_reaches_its_rows_only(rng):
    q, k, v = draw(Shape(4, 4, 3, 2), np.float64)
    k[0, 0, 2, 0] = NAN
    d = reference.sdpa_backward(q, k, v, None, None, np.ones((1, 1, 4, 2)), causal="top_left")
    assert np.isfinite(d["q"][0, 0, :2]).all()
    assert np.isnan(d["q"][0, 0, 2:]).all()
    assert np.isfinite(d["k"][0, 0, 3]).sum() == 0


@pytest.mark.parametrize("name", ["q", "dout"])
def test_nan_of_a_row_reaches_its_keys_only(rng, name):
    q, k, v = draw(Shape(4, 4, 3, 2), np.float64)
    dout = rng.standard_normal((1, 1, 4, 2))
    {"q": q, "dout": dout}[name][0, 0, 1] = NAN
    d = reference.sdpa_backward(q, k, v, None, None, dout, causal="top_left")
    assert np.isnan(d["q"][0, 0]).all(-1).tolist() == [False, True, False, False]
    for key in ("k", "v"):
        assert np.isnan(d[key][0, 0]).all(-1).tolist() == [True, True, False, False]
        assert np.isfinite(d[key][0, 0, 2:]).all()


@pytest.mark.parametrize("kind", [np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_quantised_keys_have_gradients_of_their_scales_only(rng, kind):
    q, k, v = draw(SHAPE, np.float64)
    narrow = [(4 * x).astype(kind) for x in (k, v)]
    scales = {"k_scale": 0.2 + rng.random(2), "v_scale": 0.2 + rng.random(2)}
    dout = rng.standard_normal((2, 4, 5, 2))
    grad = ("q", "k_scale", "v_scale")
    found = reference.sdpa_backward(q, *narrow, None, None, dout, grad=grad, **scales)
    wide = [x.astype(np.float64) for x in narrow]
    expected = reference.sdpa_backward(q, *wide, None, None, dout, grad=grad, **scales)
    for name in grad:
        np.testing.assert_array_equal(found[name], expected[name])
    for name in ("k", "v"):
        with pytest.raises(ValueError, match=f"{name}_scale"):
            reference.sdpa_backward(q, *narrow, None, None, dout, grad=(name,), **scales)


def test_a_sum_over_a_group_is_that_of_expanded_heads(rng):
    q, k, v = draw(SHAPE, np.float64)
    dout = rng.standard_normal((2, 4, 5, 2))
    grouped = reference.sdpa_backward(q, k, v, None, None, dout)
    expanded = reference.sdpa_backward(q, *(np.repeat(x, 2, axis=1) for x in (k, v)), None, None, dout)
    np.testing.assert_allclose(grouped["q"], expanded["q"], rtol=1e-13)
    for name in ("k", "v"):
        x = expanded[name]
        np.testing.assert_allclose(grouped[name], x[:, ::2] + x[:, 1::2], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("given", [False, True], ids=["recomputed", "given"])
def test_packed_sequences(rng, given):
    rows, keys = [0, 3, 3, 7, 9], [0, 4, 6, 6, 9]  # one without rows, one without keys
    q, k, v = (rng.standard_normal(shape) for shape in ((9, 4, 3), (9, 2, 3), (9, 2, 2)))
    slopes, sink, starts = rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(4)

    def score_mod(s, b, h, i, j):
        return s - slopes[h] * j + starts[b] * s

    options = dict(causal=np.array([1, 0, 0, -1]), softcap=2.0, score_mod=score_mod, sink=sink, scale=0.4)
    out, lse = reference.varlen_sdpa(q, k, v, rows, keys, return_lse=True, **options)
    dout, dlse = rng.standard_normal(out.shape), rng.standard_normal(lse.shape)
    arrays = dict(q=q, k=k, v=v, sink=sink, slopes=slopes, starts=starts)
    found = reference.varlen_sdpa_backward(
        q,
        k,
        v,
        out if given else None,
        lse if given else None,
        dout,
        rows,
        keys,
        dlse=dlse,
        grad=tuple(arrays),
        **options,
    )
    assert list(found) == list(arrays)

    def loss():
        out, lse = reference.varlen_sdpa(q, k, v, rows, keys, return_lse=True, **options)
        return (dout * out).sum() + (dlse * lse).sum()

    for name, x in arrays.items():
        u, before, values = rng.standard_normal(x.shape), x.copy(), []
        for step in (1e-5, -1e-5):
            x[...] = before + step * u
            values.append(loss())
        x[...] = before
        assert found[name].shape == x.shape
        assert abs((found[name] * u).sum() - (values[0] - values[1]) / 2e-5) < 1e-7, name


def test_packed_shapes_are_checked(rng):
    x = np.zeros((4, 1, 2))
    for bad in (dict(dout=x[:3]), dict(lse=np.zeros((4, 1))), dict(out=x[:, :, :1]), dict(dlse=np.zeros(4))):
        given = dict(out=None, lse=None, dout=x) | bad
        with pytest.raises(ValueError, match=f"expected {next(iter(bad))} of shape"):
            reference.varlen_sdpa_backward(x, x, x, cu_seqlens_q=[0, 4], cu_seqlens_k=[0, 4], **given)


def test_out_and_lse_that_are_given_are_used(rng):
    q, k, v = draw(SHAPE, np.float64)
    dout = rng.standard_normal((2, 4, 5, 2))
    out, lse = reference.sdpa(q, k, v, return_lse=True)
    d = reference.sdpa_backward(q, k, v, out, lse + np.log(2.0), dout)  # half of each weight
    np.testing.assert_allclose(d["v"], reference.sdpa_backward(q, k, v, out, lse, dout)["v"] / 2, rtol=1e-12)
    lse[:, :, 2] = -INF
    d = reference.sdpa_backward(q, k, v, out, lse, dout)
    assert (d["q"][:, :, 2] == 0).all()
    assert all(np.isfinite(x).all() for x in d.values())


BAD = {
    "mask": (dict(grad=("mask",)), "'mask', which has no gradient"),
    "lengths": (dict(grad=("q", "kv_lengths"), kv_lengths=[1, 2]), "expected grad of q, k, v, .*'kv_lengths'"),
    "seed": (dict(grad=("seed",), dropout=(0.1, 1, 2)), "'seed', which has no gradient"),
    "no bias": (dict(grad=("bias",)), "expected bias in the call"),
    "no softcap": (dict(grad=("softcap",)), "expected softcap in the call"),
    "no such array": (dict(grad=("slopes",), score_mod=lambda s, b, h, i, j: s), "array of floats .* found 'slopes'"),
    "a string": (dict(grad="qkv"), "expected grad of q, k, v, .* found 'qkv'"),
    "dout": (dict(dout=np.zeros((2, 4, 5, 3))), r"dout of shape \(2, 4, 5, 2\)"),
    "out": (dict(out=np.zeros((2, 4, 5, 3))), r"out of shape \(2, 4, 5, 2\)"),
    "lse": (dict(lse=np.zeros((2, 5, 4))), r"lse of shape \(2, 4, 5\)"),
    "dlse": (dict(dlse=np.zeros((2, 5))), r"dlse of shape \(2, 4, 5\)"),
    "dweights": (dict(dweights=np.zeros((2, 5))), r"dweights of shape \(2, 4, 5, 7\)"),
    "keyword": (dict(is_causal=True), 'write causal="top_left"'),
    "no rule": (dict(score_mod=lambda s, b, h, i, j: np.arctan(s)), "derivative in score_mod, found numpy.arctan"),
    "as in sdpa": (dict(softcap=-1), "softcap > 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_say_what_was_expected(case):
    q, k, v = draw(SHAPE)
    arguments, message = BAD[case]
    given = {"q": q, "k": k, "v": v, "out": None, "lse": None, "dout": np.zeros((2, 4, 5, 2)), **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        reference.sdpa_backward(**given)
