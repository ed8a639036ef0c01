"""ONNX Runtime's own sessions with libattn_ort.so, beside the same sessions without."""

import numpy as np
import onnx
import onnxruntime
import torch
from test_mapped_bert import VOCABULARY, Bert

from fake_session import LIBRARY
from graph_models import HEADS, HIDDEN, Graph
from paths import attnc


def make_session(path, threads, library=None):
    """A session on this many threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    if library:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def check(tmp_path, feeds, kernels):
    """model.onnx rewritten, with as many kernels, gives what it gives without attn."""
    attnc(tmp_path / "model.onnx", "--emit=ort", "-o", tmp_path / "out.onnx")
    written = onnx.load(tmp_path / "out.onnx")
    assert sum(x.domain == "attn" for x in written.graph.node) == kernels
    for threads in (1, 3):
        own = make_session(tmp_path / "model.onnx", threads)
        other = make_session(tmp_path / "out.onnx", threads, LIBRARY)
        for feed in feeds:
            for x, y in zip(other.run(None, feed), own.run(None, feed), strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(x, y, rtol=0, atol=5e-6)


def test_bert(tmp_path):
    """Of transformers, with sizes of the call."""
    torch.manual_seed(0)
    tokens = torch.randint(3, VOCABULARY, (2, 11))
    dims = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(Bert().eval(), (tokens, torch.ones_like(tokens)), tmp_path / "model.onnx", dynamo=True,
                      opset_version=23, dynamic_shapes=(dims, dims), external_data=False, verbose=False)  # fmt: skip
    names = [x.name for x in onnx.load(tmp_path / "model.onnx").graph.input]
    feeds = []
    for batch, length in ((2, 11), (1, 70)):
        mask = np.ones((batch, length), np.int64)
        mask[:, length - 3 :] = 0
        feeds.append(dict(zip(names, (np.full_like(mask, 5).cumsum(1) % VOCABULARY, mask), strict=True)))
    check(tmp_path, feeds, kernels=2)


def test_nodes_of_onnxruntime(tmp_path):
    """A cache in a buffer, whose lengths count, behind a node that attn does not take."""
    g, length = Graph(), 6
    x = g.draw("x", 1, length, HIDDEN, symbols=("batch", "length", HIDDEN))
    q, k, v = (g.MatMul(x, g.weight(HIDDEN, HIDDEN)) for _ in range(3))
    y = g.MultiHeadAttention(q, k, v, g.weight(3 * HIDDEN), domain="com.microsoft", num_heads=HEADS, name="biased")
    caches = [
        g.draw(n, 1, HEADS, 9, HIDDEN // HEADS, symbols=("batch", HEADS, "past", 8)) for n in ("past_k", "past_v")
    ]
    counts = g.input("counts", np.array([8], np.int32), ("batch",))
    total = g.constant(np.array(9, np.int32))
    z, *present = g.GroupQueryAttention(y, k, v, *caches, counts, total, outputs=3, domain="com.microsoft",
                                        num_heads=HEADS, kv_num_heads=HEADS)  # fmt: skip
    model = g.finish(g.Add(z, x), *present, opset=21)
    for value in model.graph.output[1:]:
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, 1, ("batch", HEADS, "past", HIDDEN // HEADS)))
    model.graph.value_info.append(onnx.helper.make_tensor_value_info(y, 1, ("batch", "length", HIDDEN)))
    model.ir_version = 10
    onnx.save(model, tmp_path / "model.onnx")
    feed = dict(zip((i.name for i in g.inputs), g.arrays, strict=True))
    check(tmp_path, [feed], kernels=1)
