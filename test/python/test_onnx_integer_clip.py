"""Clip of integers, as DeBERTa's relative positions are clipped, against ONNX's reference evaluator."""

import numpy as np
import pytest

import attn
from graph_models import Graph, evaluate


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("bounds", [(-4, 5), (None, 3), (-2, None), (6, 2)])
def test_clip_of_integers(dtype, bounds):
    g = Graph()
    x = g.input("x", np.arange(-113, 90, dtype=dtype).reshape(7, 29), ["rows", 29])
    low, high = ("" if n is None else g.constant(np.array(n, dtype)) for n in bounds)
    clipped = g.Clip(x, low, high) if high else g.Clip(x, low)
    model = g.finish(g.Add(clipped, g.constant(np.array(1, dtype))))
    found = attn.from_onnx(model).kernel(*g.arrays)
    np.testing.assert_array_equal(found, evaluate(g, model)[0])


def test_clip_of_booleans_is_refused():
    g = Graph()
    model = g.finish(g.Clip(g.input("x", np.array([True])), g.constant(np.array(False))))
    with pytest.raises(attn.CompileError, match="expected numbers, with the bounds as inputs, found others"):
        attn.from_onnx(model)
