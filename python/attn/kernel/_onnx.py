"""ONNX models: `from_onnx`. The compiler reads the file; here is only what makes operands a kernel's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from attn.call import _checks
from attn.errors import CompileError
from attn.kernel import _compile, _kernel, _library
from attn.kernel._inspect import Source
from attn.words import _signatures
from attn.words._types import Tensor

if TYPE_CHECKING:
    from onnx import ModelProto

# The operator's inputs in their order (onnx.defs.get_schema("Attention", 24)); a kernel has those that its node has.
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
UNCOVERED = (
    "; the graph is none of them, as not all of its operators are covered: attnc MODEL.onnx -o MODEL.o --remarks=all "
    "says which are not"
)


class OnnxKernel:
    """The kernel of an Attention node, called as the operator is, or of a graph, called with the graph's inputs.

    Attributes:
      kernel: the `Kernel` underneath; its inputs and outputs have the operator's names, or the graph's.
      part: what of the model it is: "node", "graph", or "part" of a graph that is not covered.
    """

    def __init__(self, kernel: _kernel.Kernel, part: str) -> None:
        """Made by `attn.from_onnx` only."""
        self.kernel = kernel
        self.part = part

    def __repr__(self) -> str:
        """The kernel's."""
        return repr(self.kernel)

    def ir(self, phase: str | None = None) -> str:
        """The IR after a phase, as `Kernel.ir`."""
        return self.kernel.ir(phase)

    @property
    def asm(self) -> str:
        """The assembly or PTX, as `Kernel.asm`."""
        return self.kernel.asm

    @property
    def remarks(self) -> list[str]:
        """What the compiler says, as `Kernel.remarks`; nodes that no kernel is made of are among it."""
        return self.kernel.remarks

    def __call__(
        self, *inputs: Tensor | None, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """Runs the node, or the graph.

        Args:
          inputs: of a node, in the operator's order (Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen), with
            None for those that the node leaves out; trailing ones may be left out here too. Of a graph, in its order.
            Types and shapes are the model's.
          out: as for `Kernel`.

        Returns:
          The outputs, in the operator's or the graph's order, without those that a node leaves out: one array, or a
          tuple.

        Raises:
          TypeError: an input that the node has is missing, or one that it leaves out is given; an element type.
          ValueError: a shape, or too many inputs.
        """
        if self.part != "node":
            return self.kernel(*inputs, out=out)
        wanted = [x["name"] for x in self.kernel.inputs]
        if len(inputs) > len(INPUTS):
            raise ValueError(f"expected at most {len(INPUTS)} inputs ({', '.join(INPUTS)}), found {len(inputs)}")
        given = dict(zip(INPUTS, inputs, strict=False))
        for name in INPUTS:
            if (given.get(name) is not None) != (name in wanted):
                found = "none" if name in wanted else "one; the node leaves it out, write None"
                raise TypeError(f"{self.kernel.name}: expected {', '.join(wanted)}, found for {name} {found}")
        return self.kernel(*(given[name] for name in wanted), out=out)


@_signatures.explains_arguments
def from_onnx(
    model: str | Path | bytes | ModelProto,
    node: str | None = None,
    *,
    target: str = "host",
    parallel: str = "openmp",
    fail_on_fallback: bool = False,
    cache: bool = True,
) -> OnnxKernel:
    """Compiles an ONNX model: an Attention node of it, or its graph.

    What an Attention node (opset 23 to 28) computes is ONNX's definition of it, but that a row whose keys are all
    removed is 0, not NaN. A node with qk_matmul_output runs with the scores in memory; any other is a flash kernel.
    Inputs of com.microsoft's MultiHeadAttention and GroupQueryAttention are in the order of Attention's, too
    (key_padding_mask and seqlens_k as nonpad_kv_seqlen).

    Args:
      model: the path of a file, whose weights may lie in other files in its folder, the bytes of one, or an
        `onnx.ModelProto`, whose values have known types; sizes may be symbols, but for heads and head sizes.
      node: the kernel's name: that of the Attention node, with an underscore for what C does not allow in a name, or
        attention_<i> by position where it has none. None is the graph, where all of its operators are covered
        (docs/Frontends.md), and otherwise the only kernel.
      target, parallel, fail_on_fallback, cache: as for `attn.compile`.

    Returns:
      A callable that takes the node's inputs and returns its outputs.

    Raises:
      CompileError: the file is no such model; the message names the node and what was expected.
      TypeError: `model` is none of the above.
      OSError: the file cannot be read.
    """
    what, kind = "the ONNX model", _library.SOURCE_ONNX
    if isinstance(model, str | Path):
        what, source = f"{model}", Path(model).read_bytes()
        # Weights in other files have an entry of this name; the compiler reads them by the model's path.
        if b"location" in source:
            kind, source = _library.SOURCE_ONNX_FILE, os.fsencode(Path(model).absolute())
    elif isinstance(model, bytes | bytearray | memoryview):
        source = bytes(model)
    elif hasattr(model, "SerializeToString"):
        source = model.SerializeToString()
    else:
        raise TypeError(f"expected a path, bytes or an onnx.ModelProto, found {type(model).__name__}")
    flag = _checks.flag("fail_on_fallback", fail_on_fallback)
    made = Source(kind, source, what, target, parallel, fail_on_fallback=flag)
    module, manifest = _compile.compile_source(made, cache=cache)
    kernels = manifest["kernels"]
    graph = [x for x in kernels if x["onnx"] == "graph"]
    entries = graph if node is None and graph else [x for x in kernels if node in (None, x["name"])]
    if len(entries) != 1:
        _library.load().attn_module_destroy(module)
        names = ", ".join(x["name"] for x in kernels)
        advice = UNCOVERED if node is None else ""
        raise CompileError(f"{what}: expected node to be one of {names}, found {node}{advice}")
    return OnnxKernel(_kernel.Kernel(module, manifest, entries[0], made), entries[0]["onnx"])
