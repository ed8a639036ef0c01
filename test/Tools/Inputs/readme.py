"""Runs the Python of README.md, a session and a block, on arrays of its names: readme.py README.md, in a new folder."""

import doctest
import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import attn

SHAPE = (1, 4, 113, 32)

types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("Q", "K", "V", "Y")]
node = helper.make_node("Attention", ["Q", "K", "V"], ["Y"], name="attention", is_causal=1)
graph = helper.make_graph([node], "graph", types[:3], types[3:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]), "model.onnx")

rng = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    """Normal numbers."""
    return rng.standard_normal(shape, dtype=np.float32)


names = {
    "attn": attn,
    "q": draw(2, 8, 113, 64),
    "k": draw(2, 2, 203, 64),
    "v": draw(2, 2, 203, 64),
    "k_int8": rng.integers(-127, 128, (2, 2, 203, 64), np.int8),
    "v_int8": rng.integers(-127, 128, (2, 2, 203, 64), np.int8),
    "k_scale": np.array([0.01, 0.02]),
    "v_scale": np.array([0.02, 0.01]),
    "slopes": np.exp2(-np.arange(1, 9, dtype=np.float32)),
    "documents": rng.integers(0, 3, (2, 203)),
    "packed_q": draw(203, 8, 64),
    "packed_k": draw(203, 2, 64),
    "packed_v": draw(203, 2, 64),
    "starts": np.array([0, 57, 203]),
    "k_cache": draw(24, 16, 2, 64),
    "v_cache": draw(24, 16, 2, 64),
    "block_table": rng.permutation(24).reshape(2, 12),
    "lengths": np.array([150, 120]),
    "seed": 42,
    "offset": 0,
}
page = Path(sys.argv[1]).read_text(encoding="utf-8")
session = doctest.DocTestParser().get_doctest(page.replace("```", "\n"), {}, "README.md", None, 0)
found = doctest.DocTestRunner().run(session)
print("session", found.attempted, "failed", found.failed)
for block in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M):
    exec(block, names)
print("weights", names["weights"].shape, Path("weights.png").stat().st_size > 0)
