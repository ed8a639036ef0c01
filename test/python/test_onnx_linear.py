"""LinearAttention of ONNX and com.microsoft beside the recurrence; ONNX's own data are in test_onnx_operators.py."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import attn
from test_linear_kernel import recur

D, DV = 16, 8


def make_model(sizes, *, domain="", elements=TensorProto.FLOAT, inputs="qkvsgb", **attributes):
    """`sizes` is (batch, tokens, heads of query, of key, of value), where batch and tokens may be symbols."""
    b, t, hq, hk, hv = sizes
    shapes = {
        "q": [b, t, hq * D],
        "k": [b, t, hk * D],
        "v": [b, t, hv * DV],
        "s": [b, hv, D, DV],
        "g": [b, t, hv],
        "b": [b, t, hv],
    }
    names = [name if name in inputs else "" for name in "qkvsgb"]
    node = helper.make_node(
        "LinearAttention", names, ["o", "so"], domain=domain, q_num_heads=hq, kv_num_heads=hv, **attributes
    )
    values = [helper.make_tensor_value_info(name, elements, shapes[name]) for name in names if name]
    outputs = [
        helper.make_tensor_value_info("o", elements, [b, t, max(hq, hv) * DV]),
        helper.make_tensor_value_info("so", elements, shapes["s"]),
    ]
    graph = helper.make_graph([node], "g", values, outputs)
    imports = [helper.make_opsetid("", 27), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=11)


def draw(b, t, hq, hk, hv):
    rng = np.random.default_rng(t)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    gates = -np.abs(normal(b, t, hv)), 1 / (1 + np.exp(-normal(b, t, hv)))
    return normal(b, t, hq * D), normal(b, t, hk * D) / D**0.5, normal(b, t, hv * DV), normal(b, hv, D, DV), *gates


def expect(arrays, hq, hk, hv):
    """What the recurrence makes of gated_delta; a head of the output has its own state, or that of its group."""
    q, k, v, s, g, b = (x.astype(np.float64) for x in arrays)
    heads = max(hq, hv)
    out, new = np.zeros((*q.shape[:2], heads, DV)), s.copy()
    q, k, v = (x.reshape(*x.shape[:2], n, -1) for x, n in zip((q, k, v), (hq, hk, hv), strict=True))
    for i in range(len(q)):
        for h in range(heads):
            own, of = h // (heads // hv), h // (heads // hk)
            rows = q[i, :, h // (heads // hq)], k[i, :, of], v[i, :, own]
            out[i, :, h], last = recur(*rows, s[i, own], decay=g[i, :, own], beta=b[i, :, own])
            new[i, own] = last
    return out.reshape(*out.shape[:2], -1), new


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
@pytest.mark.parametrize("heads", [(2, 2, 2), (2, 2, 6), (6, 2, 2)])
@pytest.mark.parametrize("t", [1, 37])
def test_heads(domain, heads, t):
    arrays = draw(2, t, *heads)
    kernel = attn.from_onnx(make_model((2, t, *heads), domain=domain)).kernel
    before = arrays[3].copy()
    for found, expected in zip(kernel(*arrays), expect(arrays, *heads), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(arrays[3], before)  # past_state is an input


@pytest.mark.parametrize("t", [1, 40])
def test_symbols(t):
    arrays = draw(3, t, 2, 2, 4)
    kernel = attn.from_onnx(make_model(("batch", "tokens", 2, 2, 4))).kernel
    for found, expected in zip(kernel(*arrays), expect(arrays, 2, 2, 4), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("sizes", "given", "message"),
    [
        ((1, 5, 2, 2, 2), {"inputs": "qkvsb"}, "found no decay with gated_delta"),
        ((1, 5, 2, 2, 2), {"inputs": "qkvsg"}, "found no beta with gated_delta"),
        (
            (1, 5, 2, 2, 2),
            {"update_rule": "oja"},
            "expected update_rule linear, gated, .*, found oja",
        ),
        (
            (1, 5, 2, 2, 3),
            {},
            "expected one of q_num_heads and kv_num_heads to be a multiple of .*, found 2 and 3",
        ),
        ((1, 5, 4, 4, 2), {}, "expected key of 2 heads of 16 columns, found 4; repeat query for the heads of key"),
    ],
)
def test_refused(sizes, given, message):
    with pytest.raises(attn.CompileError, match=message):
        attn.from_onnx(make_model(sizes, **given))


def make_convolution(*, domain="", weight=(6, 1, 4), state=(2, 6, 3), **attributes):
    node = helper.make_node("CausalConvWithState", ["x", "w", "", "s"], ["y", "t"], domain=domain, **attributes)
    sizes = {"x": [2, 6, "tokens"], "w": weight, "s": state, "y": [2, 6, "tokens"], "t": [2, 6, 3]}
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in sizes.items()}
    graph = helper.make_graph([node], "g", [values[x] for x in "xws"], [values[x] for x in "yt"])
    imports = [helper.make_opsetid("", 27), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=11)


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
@pytest.mark.parametrize("t", [1, 2, 50])
def test_convolution_of_a_symbol(domain, t):
    rng = np.random.default_rng(t)
    x, w, s = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 6, t), (6, 1, 4), (2, 6, 3)))
    found, state = attn.from_onnx(make_convolution(domain=domain, activation="silu")).kernel(x, w, s)
    joined = np.concatenate([s, x], axis=2).astype(np.float64)
    sums = sum(joined[:, :, i : i + t] * w[:, 0, i][None, :, None] for i in range(4))
    np.testing.assert_allclose(found, sums / (1 + np.exp(-sums)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state, joined[:, :, t:].astype(np.float32))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"activation": "gelu"}, "expected activation silu, swish or none, found gelu"),
        ({"state": (2, 6, 4)}, r"expected past_state \(batch, channels, 3\) of the input's type, found others"),
        ({"domain": "com.microsoft", "ndim": 2}, r"expected an input \(batch, channels, length\)"),
    ],
)
def test_refused_convolution(given, message):
    with pytest.raises(attn.CompileError, match=message):
        attn.from_onnx(make_convolution(**given))
