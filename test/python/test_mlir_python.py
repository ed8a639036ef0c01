"""The generated module dialects/attn, behind MLIR's Python bindings as jaxlib ships them.

They are of another MLIR than attn's, which does not register there: ops are built by their classes, printed in generic
form, and attnc, which knows them, compiles the text.
"""

import re
from pathlib import Path

import jaxlib.mlir.dialects
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

import paths
from attn import reference

ROOT = Path(__file__).parents[2]
jaxlib.mlir.dialects.__path__.append(str(ROOT / "build/release/python/mlir/dialects"))
from jaxlib.mlir.dialects import attn as dialect  # noqa: E402


def build(tensor_sizes, **attributes):
    """A function with one attn.sdpa of these sizes of q and of k and v."""
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.create()
        query, key = (ir.RankedTensorType.get(sizes, ir.F32Type.get()) for sizes in tensor_sizes)
        with ir.InsertionPoint(module.body):

            @func.FuncOp.from_py_func(query, key, key, query)
            def attend(q, k, v, out):
                values = {name: ir.Attribute.parse(text) for name, text in attributes.items()}
                return dialect.SdpaOp([query], q, k, v, out, **values).results_

        return module.operation.get_asm(print_generic_op_form=True)


def test_ops_by_builders_are_compiled(rng, tmp_path):
    text = build([(2, 4, 16, 8), (2, 2, 24, 8)], scale="0.25 : f64", causal="#attn.causal<bottom_right>")
    sizes = [(2, 4, 16, 8), (2, 2, 24, 8), (2, 2, 24, 8)]
    q, k, v = (rng.standard_normal(x).astype(np.float32) for x in sizes)
    inputs = []
    for i, array in enumerate((q, k, v)):
        np.save(tmp_path / f"{i}.npy", array)
        inputs += ["--input", tmp_path / f"{i}.npy"]
    paths.attnc("run", "-", *inputs, "--output", tmp_path / "out.npy", text=text)
    expected = reference.sdpa(q, k, v, causal="bottom_right", scale=0.25)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-5)


def test_every_op_has_a_class():
    page = (ROOT / "docs/Dialect.md").read_text()
    names = re.findall(r"^### `attn\.(\w+)` \(::attn::(\w+)\)", page, re.M)
    assert len(names) > 15
    assert [getattr(dialect, cls).OPERATION_NAME for _, cls in names] == [f"attn.{name}" for name, _ in names]


def test_enums_are_those_of_the_dialect():
    assert [str(x) for x in dialect.CausalAlignment] == ["top_left", "bottom_right", "offset"]
    names = {"fma", "fma_lanes", "pairs", "quads", "bytes", "amx", "mma", "tf32", "wgmma"}
    assert {str(x) for x in dialect.Instruction} == names
