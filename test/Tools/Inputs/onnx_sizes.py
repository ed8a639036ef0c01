"""Writes ONNX models with arithmetic on sizes to FOLDER: `onnx_sizes.py FOLDER`."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
NUMBERS = {"zero": 0, "one": 1, "two": 2, "minus": -1, "first": [0], "ones": [1, 1, 1], "heads": [4], "rest": [-1]}


def node(op, inputs, output, name="", **attributes):
    return helper.make_node(op, inputs.split(), [output], name=name or output, **attributes)


def write(file, nodes, inputs, output, values=()):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(x, F, shape) for x, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(output)],
        [numpy_helper.from_array(np.array(x, np.int64), name) for name, x in NUMBERS.items()],
        value_info=[helper.make_tensor_value_info(x, F, shape) for x, shape in values],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, Path(sys.argv[1]) / f"{file}.onnx")


# Heads by a list of sizes, keys of one head that an expand repeats, the list with -1 where a size stays.
LISTS = [
    node("Shape", "q", "s"),
    node("Gather", "s zero", "batch", axis=0),
    node("Unsqueeze", "batch first", "b"),
    node("Gather", "s two", "length", axis=0),
    node("Unsqueeze", "length first", "n"),
    node("Concat", "b heads n rest", "wanted", axis=0),
    node("Shape", "wanted", "rank"),
    node("ConstantOfShape", "rank", "all", value=helper.make_tensor("one", TensorProto.INT64, [1], [1])),
    node("Mul", "all minus", "none"),
    node("Equal", "wanted none", "stays"),
    node("Where", "stays all wanted", "shape"),
]
ATTENTION = [
    node("Transpose", "keys", "t", perm=[0, 1, 3, 2]),
    node("MatMul", "q t", "scores"),
    node("Softmax", "scores", "p", name="softmax", axis=-1),
    node("MatMul", "p keys", "y"),
]
HEADS = {"q": ["batch", 4, "length", 8], "k": ["batch", 1, "length", 8]}
write("expand", [*LISTS, node("Expand", "k shape", "keys"), *ATTENTION], HEADS, "y")
# An operator without a rule and without types around it; the list of sizes is calculated before it.
CUT = [node("HardSigmoid", "k", "hard"), node("Expand", "hard shape", "keys")]
write("cut", [*LISTS, *CUT, *ATTENTION], HEADS, "y")
write("product", [node("Reshape", "x rest", "y")], {"x": ["rows", "columns"]}, "y")
# Two operators that stop the graph, one of them for two reasons.
STOPS = [
    node("Hardmax", "x", "a", name="first"),
    node("NonZero", "a", "b", name="places"),
    node("Reshape", "x b", "c", name="by_values"),
    node("Hardmax", "a", "d"),
    node("Reshape", "d b", "e"),
    node("Reshape", "d ones", "f", name="too_few"),
    node("Add", "c f", "y", name="sum"),
]
write("stops", STOPS, {"x": [3, 5]}, "y")
