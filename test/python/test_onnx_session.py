"""Attention nodes in sessions of ONNX Runtime: what `attnc --emit=ort` writes, and libattn_ort.so."""

import subprocess

import numpy as np
import onnx
import pytest

import fake_session
from graph_models import HEADS, HIDDEN, Graph
from node_models import PACKED, draw, evaluate, make_model, make_symbolic
from paths import ATTNC
from test_onnx_microsoft import draw_cached, microsoft

SYMBOLS = {name: {0: "batch"} for name in ("Q", "K", "V", "past_key", "past_value")}


def rewrite(tmp_path, model, *flags):
    """What attnc says, its exit code, and the model that it has written."""
    onnx.save(model, tmp_path / "model.onnx")
    command = [ATTNC, tmp_path / "model.onnx", "--emit=ort", "-o", tmp_path / "out.onnx", *flags]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stderr, found.returncode, onnx.load(tmp_path / "out.onnx") if found.returncode == 0 else None


def operators(model):
    return [x.op_type for x in model.graph.node]


def test_a_node_with_caches(rng, tmp_path):
    arrays = draw(rng, packed=True, past=True)
    outputs = ("Y", "present_key", "present_value")
    model = make_symbolic(make_model(arrays, outputs, **PACKED), SYMBOLS)
    message, code, written = rewrite(tmp_path, model)
    assert (message, code, operators(written)) == ("", 0, ["Kernel"])
    loops = fake_session.get_host().loops
    found = fake_session.run(written, arrays)
    assert fake_session.get_host().loops > loops
    for x, y in zip(found, evaluate(make_model(arrays, outputs, **PACKED), arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6, atol=2e-6)
    with pytest.raises(RuntimeError, match=r"attn: .*expected .*found"):
        fake_session.run(written, arrays | {"K": arrays["K"][:, :, :-1]})


def make_two(rng):
    """A node that becomes a kernel between nodes that stay, and one of sums of projections, which stays."""
    g = Graph()
    x = g.input("x", rng.standard_normal((2, 5, HIDDEN)).astype(np.float32), ("batch", "length", HIDDEN))
    q, k, v = (g.MatMul(x, g.weight(HIDDEN, HIDDEN)) for _ in range(3))
    y = g.MultiHeadAttention(q, k, v, domain="com.microsoft", num_heads=HEADS, name="covered")
    z = g.MultiHeadAttention(y, y, y, g.weight(3 * HIDDEN), domain="com.microsoft", num_heads=HEADS, name="biased")
    return g, g.finish(g.Relu(y), z)


def test_other_nodes_stay(rng, tmp_path):
    g, model = make_two(rng)
    message, _, written = rewrite(tmp_path, model)
    assert "node 'biased': expected no bias, found it" in message
    assert message.endswith("; the node stays as it is\n")
    expected = onnx.ModelProto.FromString(model.SerializeToString())
    node, kernel = expected.graph.node[3], written.graph.node[3]
    assert (kernel.op_type, kernel.domain, kernel.name) == ("Kernel", "attn", "covered")
    assert (kernel.input, kernel.output) == (node.input, node.output)
    node.CopyFrom(kernel)
    expected.opset_import.append(onnx.helper.make_opsetid("attn", 1))
    value = onnx.helper.make_tensor_value_info(kernel.output[0], 1, (None, None, HIDDEN))
    assert [x.name for x in written.graph.value_info] == [value.name]
    expected.graph.value_info.extend(written.graph.value_info)
    assert written == expected
    del written.graph.node[4], written.graph.output[1]  # which onnx.reference does not have
    (found,) = fake_session.run(written, {"x": g.arrays[0]})
    q, k, v = (g.arrays[0] @ onnx.numpy_helper.to_array(x) for x in g.weights[:3])
    split = lambda x: x.reshape(2, 5, HEADS, -1).swapaxes(1, 2)  # noqa: E731
    scores = np.exp(split(q) @ split(k).swapaxes(2, 3) * (HIDDEN // HEADS) ** -0.5)
    out = (scores / scores.sum(-1, keepdims=True) @ split(v)).swapaxes(1, 2).reshape(2, 5, HIDDEN)
    np.testing.assert_allclose(found, np.maximum(out, 0), rtol=2e-5, atol=2e-5)
    assert rewrite(tmp_path, model, "--fail-on-fallback")[1] == 1


def test_inputs_that_the_kernel_does_not_take(rng, tmp_path):
    operands = draw_cached(rng) | dict(total=np.array(12, np.int32))
    written = rewrite(tmp_path, microsoft("GroupQueryAttention", operands, num_heads=4, kv_num_heads=2))[2]
    (kernel,) = written.graph.node
    assert list(kernel.input) == ["query", "key", "value", "seqlens_k"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda g, x: g.Relu(x), "model.onnx: expected an attention node, found none; write torch.onnx.export"),
        (
            lambda g, x: g.Attention(x, x, x, domain="com.microsoft", name="fused"),
            "node 'fused': expected Attention (opset 23), or MultiHeadAttention or GroupQueryAttention of "
            "com.microsoft, found Attention of com.microsoft",
        ),
    ],
    ids=["none", "of others"],
)
def test_models_without_a_kernel(rng, tmp_path, model, message):
    g = Graph()
    x = g.draw("x", 1, 4, HIDDEN)
    found, code, _ = rewrite(tmp_path, g.finish(model(g, x)))
    assert code == 1
    assert message in found
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problem=sq5 sk7 d8 f32", "-o", "x.onnx"], "expected MODEL.onnx with --emit=ort, found a problem line"),
        (["model.onnx"], "expected -o OUT.onnx with --emit=ort, and no other output, found none"),
        (["model.onnx", "-o", "out.onnx", "--header=x.h"], "and no other output, found another one"),
    ],
)
def test_flags(tmp_path, arguments, message):
    (tmp_path / "model.onnx").touch()
    command = [ATTNC, "--emit=ort", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert found.returncode == 1
    assert message in found.stderr


def test_what_the_library_refuses():
    with pytest.raises(RuntimeError, match=r"expected ONNX Runtime 1\.17 or later, found an older one"):
        fake_session.Host(version=16)
    with pytest.raises(RuntimeError, match=r"attn: .*expected"):
        fake_session.get_host().run("func.func @attention(", 1, np.zeros((1, 1), np.float32))
