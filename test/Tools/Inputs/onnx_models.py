"""Writes ONNX models to FOLDER, good ones and broken ones: `onnx_models.py FOLDER`."""

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

F = TensorProto.FLOAT
SHAPES = {"Q": [1, 4, 5, 8], "K": [1, 2, 7, 8], "V": [1, 2, 7, 6], "Y": [1, 4, 5, 6]}
PACKED = {"Q": [1, 5, 32], "K": [1, 7, 16], "V": [1, 7, 12], "Y": [1, 5, 24]}
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}


def value(name, shape, types):
    return helper.make_tensor_value_info(name, types.get(name, F), shape)


def model(
    *,
    inputs=("Q", "K", "V"),
    outputs=("Y",),
    shapes=None,
    types=None,
    opset=23,
    name="attn",
    op="Attention",
    nodes=None,
    functions=(),
    domain="",
    results=None,
    unused=(),
    **attributes,
):
    """A model of one Attention node; `shapes` and `types` are by value name and add to those above.

    `results` are outputs of the graph that may be no node's, `unused` inputs of the graph that no node reads.
    """
    shapes, types = {**SHAPES, **(shapes or {})}, types or {}
    nodes = nodes or [helper.make_node(op, inputs, outputs, name=name, domain=domain, **attributes)]
    graph = helper.make_graph(
        nodes,
        "graph",
        [value(x, shapes[x], types) for x in (*inputs, *unused) if x],
        [value(x, shapes[x], types) for x in results or outputs if x and x in shapes],
        value_info=[value("a", SAME["a"], types)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], functions=functions)


def attention(name, *operands):
    return helper.make_node("Attention", operands[:-1], operands[-1:], name=name)


BODY = [
    helper.make_node("MatMul", ["Q", "K"], ["s"], name="attn_QKAttnWeight"),
    helper.make_node("Softmax", ["s"], ["p"]),
    helper.make_node("MatMul", ["p", "V"], ["Y"]),
]
FUNCTION = helper.make_function("", "Attention", ["Q", "K", "V"], ["Y"], BODY, [helper.make_opsetid("", 23)])
STEPS = [
    helper.make_node("Transpose", ["K"], ["k"], perm=[0, 1, 3, 2]),
    helper.make_node("MatMul", ["a", "k"], ["s"]),
    helper.make_node("Softmax", ["s"], ["p"], name="step", axis=-1),
    helper.make_node("MatMul", ["p", "V"], ["Y"]),
]
SAME = {"K": [1, 4, 7, 8], "V": [1, 4, 7, 6], "a": [1, 4, 5, 8]}
PAST = {"past_key": [1, 2, 3, 8], "past_value": [1, 2, 3, 6]}
CACHE = ("Q", "K", "V", "", "past_key", "past_value")
MASK = ("Q", "K", "V", "attn_mask")
LENGTHS = {"inputs": ("Q", "K", "V", "", "", "", "n"), "types": {"n": TensorProto.INT64}, "opset": 24}

MODELS = {
    "good": dict(scale=0.25, softcap=30.0, is_causal=1),
    "named": dict(name="/layer.0/attn"),
    "two": dict(
        nodes=[attention("first", "Q", "K", "V", "x"), attention("", "x", "K2", "V", "Y")],
        inputs=("Q", "K", "V", "K2"),
        shapes={"K2": [1, 2, 7, 6]},
    ),
    "keyword": dict(name="while"),
    "decomposed": dict(nodes=[helper.make_node("Identity", ["Q"], ["a"]), *STEPS], shapes=SAME, opset=18),
    "around": dict(nodes=[helper.make_node("Neg", ["Q"], ["a"]), attention("attn", "a", "K", "V", "Y")]),
    "cycle": dict(
        nodes=[
            helper.make_node("Add", ["Q", "b"], ["a"], name="sum"),
            helper.make_node("Neg", ["a"], ["b"], name="back"),
            attention("attn", "b", "K", "V", "Y"),
        ]
    ),
    "self": dict(nodes=[helper.make_node("Add", ["Q", "Y"], ["Y"], name="sum")]),
    "unsorted": dict(
        nodes=[attention("attn", "a", "K", "V", "Y"), helper.make_node("Neg", ["Q"], ["a"], name="before")]
    ),
    "twice": dict(nodes=[helper.make_node("Neg", ["Q"], ["Y"]), helper.make_node("Exp", ["Q"], ["Y"], name="other")]),
    "part": dict(nodes=[helper.make_node("Hardmax", ["Q"], ["a"], name="1"), *STEPS], shapes=SAME, opset=18),
    "one_refused": dict(
        nodes=[
            attention("first", "Q", "K", "V", "Y"),
            helper.make_node("Attention", ["Q", "K", "V"], ["Z"], name="second", softcap=-1.0),
        ]
    ),
    "several": dict(
        nodes=[
            helper.make_node("Hardmax", ["Q"], ["x"], name="first"),
            helper.make_node("MaxRoiPool", ["x", "K"], ["y"], name="pool", pooled_shape=[1, 1]),
            helper.make_node("Hardmax", ["y"], ["z"]),
            helper.make_node("Relu", ["z"], ["r"]),
            helper.make_node("Hardmax", ["r"], ["Y"]),
        ]
    ),
    "refusals": dict(
        nodes=[
            helper.make_node("Attention", ["Q", "K", "V"], ["Y"], name="first", softcap=-1.0),
            helper.make_node("Attention", ["Q", "K", "V"], ["Z"], name="second", softcap=-1.0),
            helper.make_node("Attention", ["Q", "K", "V"], ["U"], name="third", is_causal=2),
        ]
    ),
    "notmade": dict(op="Relu", inputs=("Q",), outputs=("Z",), results=("Y",)),
    "bytes": dict(op="Relu", inputs=("Q",), unused=("K",), types={"K": TensorProto.UINT8}, shapes={"Y": SHAPES["Q"]}),
    "opset": dict(opset=22),
    "operator": dict(op="Hardmax", inputs=("Q",)),
    "domain": dict(domain="com.microsoft"),
    "body": dict(nodes=BODY),
    "function": dict(functions=[FUNCTION]),
    "attribute": dict(do_rotary=1),
    "kind": dict(scale=1),
    "causal": dict(is_causal=2),
    "softcap": dict(softcap=-1.0),
    "infinite": dict(scale=float("inf")),
    "mode": dict(qk_matmul_output_mode=4),
    "precision": dict(softmax_precision=TensorProto.DOUBLE),
    "element": dict(types={"Q": TensorProto.INT32}),
    "rank": dict(shapes={"K": [1, 7, 16]}),
    "batch": dict(shapes={"V": [2, 2, 7, 6]}),
    "length": dict(shapes={"V": [1, 2, 9, 6]}),
    "heads": dict(shapes={"Q": [1, 5, 5, 8]}),
    "symbolic": dict(shapes={"Q": [1, "h", 5, 8]}),
    "nomultiple": dict(shapes={**PACKED, "Q": [1, 5, 33]}, **HEADS),
    "noheads": dict(shapes=PACKED),
    "output": dict(shapes={"Y": [1, 4, 5, 8]}),
    "noshape": dict(shapes={"K": None}),
    "missing": dict(inputs=("Q", "K")),
    "halfcache": dict(inputs=CACHE[:5], shapes=PAST),
    "cachesize": dict(inputs=CACHE, shapes={**PAST, "past_key": [1, 2, 3, 9]}),
    "cachelength": dict(inputs=CACHE, shapes={"past_key": [1, 2, "p", 8], "past_value": [1, 2, "p", 6]}),
    "maskkeys": dict(inputs=MASK, shapes={"attn_mask": [5, 6]}),
    "masklong": dict(inputs=MASK, shapes={"attn_mask": [5, 8]}, opset=24),
    "maskrows": dict(inputs=MASK, shapes={"attn_mask": [4, 7]}),
    "maskrank": dict(inputs=MASK, shapes={"attn_mask": [1, 1, 4, 5, 7]}),
    "lengths23": {**LENGTHS, "shapes": {"n": [1]}, "opset": 23},
    "lengths": {**LENGTHS, "shapes": {"n": [2]}},
    "lengthtype": {**LENGTHS, "shapes": {"n": [1]}, "types": {"n": TensorProto.INT32}},
}

folder = Path(sys.argv[1])
for file, changes in MODELS.items():
    onnx.save(model(**changes), folder / f"{file}.onnx")
good = (folder / "good.onnx").read_bytes()
(folder / "short.onnx").write_bytes(good[:-3])
(folder / "empty.onnx").write_bytes(b"")
(folder / "text.onnx").write_text("func.func @f() { return }\n")
# A graph of which a length is beyond all memory, and a varint without an end.
(folder / "length64.onnx").write_bytes(b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
(folder / "varint.onnx").write_bytes(b"\x08" + b"\xff" * 20)
