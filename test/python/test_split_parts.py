"""A model whose functions LLVM compiles in parts: one object on any number of cores, with no symbols of the parts."""

import os
import subprocess

import numpy as np
from onnx.reference import ReferenceEvaluator

import attn
from graph_models import Graph
from paths import ATTNC, call

ENTRIES = {"main_graph", "main_graph_checked"}


def make_model():
    """Products of many sizes, each a tile of its own."""
    g = Graph()
    x = g.draw("x", 70, 40)
    y, width = x, 40
    for columns in (96, 144, 80, 112, 64, 48):
        y = g.Gelu(g.Add(g.MatMul(y, g.weight(width, columns)), g.weight(columns)))
        width = columns
    return g.finish(y, opset=20), g.arrays[0]


def test_object(tmp_path):
    """The same bytes by one core and by all; only the entries are visible."""
    model, x = make_model()
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    objects = []
    for cores in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
        command = [ATTNC, tmp_path / "model.onnx", "--parallel=none", "-o", tmp_path / "model.o"]
        subprocess.run(command, check=True, preexec_fn=lambda to=cores: os.sched_setaffinity(0, to))
        objects.append((tmp_path / "model.o").read_bytes())
    assert objects[0] == objects[1]
    symbols = call("nm", "--defined-only", "--extern-only", tmp_path / "model.o")
    assert {line.split()[-1] for line in symbols.splitlines()} == ENTRIES
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    found = attn.from_onnx(model, cache=False)(x)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())
