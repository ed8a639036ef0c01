"""Models for the tests that grow a node at a time, and what ONNX's reference evaluator makes of them."""

import numpy as np
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

BATCH, HEADS, LENGTH, SIZE = 2, 4, 12, 8
HIDDEN = HEADS * SIZE


class Graph:
    """Nodes, weights and the types of inputs and outputs, grown from inputs to outputs."""

    def __init__(self, seed=0):
        """Starts with nothing."""
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.arrays = [], [], [], []

    def input(self, name, array, shape=None):
        """An input of the graph, whose type may have symbols."""
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape or array.shape))
        self.arrays.append(array)
        return name

    def draw(self, name, *shape, dtype=np.float32, symbols=None):
        """An input of random values."""
        return self.input(name, self.rng.standard_normal(shape).astype(dtype), symbols)

    def constant(self, array):
        """An initializer."""
        name = f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape):
        """An initializer of random values."""
        return self.constant((0.2 * self.rng.standard_normal(shape)).astype(np.float32))

    def __getattr__(self, op):
        def add(*operands, outputs=1, name="", domain="", **attributes):
            names = [f"value_{len(self.nodes)}_{i}" for i in range(outputs)]
            node = helper.make_node(op, operands, names, name=name or f"node_{len(self.nodes)}", domain=domain)
            node.attribute.extend(helper.make_attribute(k, v) for k, v in sorted(attributes.items()))
            self.nodes.append(node)
            return names[0] if outputs == 1 else names

        return add

    def finish(self, *outputs, opset=18):
        """The model with these outputs, whose types it leaves out."""
        results = [helper.make_empty_tensor_value_info(x) for x in outputs]
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, results, self.weights)
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports)


def attend(g, q, k, v, *, mask=None, guard=False, name="softmax"):
    """Attention as torch's exporter decomposes it: the root of the scale on Q and on K."""
    root = g.constant(np.array([SIZE**-0.25], np.float32))
    keys = g.Transpose(k, perm=[0, 1, 3, 2])
    scores = g.MatMul(g.Mul(q, root), g.Mul(keys, root))
    if mask is not None:
        scores = g.Add(scores, mask)
    weights = g.Softmax(scores, axis=-1, name=name)
    if guard:
        weights = g.Where(g.IsNaN(weights), g.constant(np.float32(0)), weights)
    return g.MatMul(weights, v)


def split_heads(g, x, length=LENGTH):
    split = g.Reshape(x, g.constant(np.array([0, length, HEADS, -1], np.int64)))
    return g.Transpose(split, perm=[0, 2, 1, 3])


def normalize(g, x):
    return g.LayerNormalization(x, g.weight(HIDDEN), g.weight(HIDDEN), axis=-1, epsilon=1e-5)


def block(g, x, attention=attend, **options):
    """A layer of a transformer: normalised, attention with projections, and an MLP with GELU by hand."""
    normal = normalize(g, x)
    q, k, v = (split_heads(g, g.Add(g.MatMul(normal, g.weight(HIDDEN, HIDDEN)), g.weight(HIDDEN))) for _ in range(3))
    heads = g.Transpose(attention(g, q, k, v, **options), perm=[0, 2, 1, 3])
    joined = g.Reshape(heads, g.constant(np.array([0, LENGTH, HIDDEN], np.int64)))
    x = g.Add(x, g.MatMul(joined, g.weight(HIDDEN, HIDDEN)))
    wide = g.MatMul(normalize(g, x), g.weight(HIDDEN, 2 * HIDDEN))
    half, root = g.constant(np.float32(0.5)), g.constant(np.float32(2**0.5))
    gelu = g.Mul(g.Mul(half, wide), g.Add(g.Erf(g.Div(wide, root)), g.constant(np.float32(1))))
    return g.Add(x, g.MatMul(gelu, g.weight(2 * HIDDEN, HIDDEN)))


def evaluate(g, model):
    return ReferenceEvaluator(model).run(None, dict(zip([x.name for x in g.inputs], g.arrays, strict=True)))


def check(g, model, kernel, tolerance=2e-5):
    found = kernel.kernel(*g.arrays)
    for x, expected in zip(found if isinstance(found, tuple) else (found,), evaluate(g, model), strict=True):
        np.testing.assert_allclose(x, expected, rtol=tolerance, atol=tolerance)
