"""Modules of PyTorch: `from_torch`, by torch's own ONNX exporter and `from_onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attn.errors import CompileError
from attn.kernel import _onnx
from attn.words import _signatures

if TYPE_CHECKING:
    import torch

# The first with Attention nodes, which scaled_dot_product_attention becomes.
OPSET = 23
PARTS = (
    "expected a module whose operators are all covered (docs/Frontends.md), found one of which parts alone are; write "
    "attn.from_onnx of its export for these"
)


class TorchKernel:
    """A compiled module, called with the module's tensors.

    Attributes:
      kernel: the `Kernel` underneath, of the whole graph.
    """

    def __init__(self, compiled: _onnx.OnnxKernel) -> None:
        """Made by `attn.from_torch` only."""
        self._compiled = compiled
        self.kernel = compiled.kernel

    def __repr__(self) -> str:
        """The kernel's."""
        return repr(self.kernel)

    @property
    def remarks(self) -> list[str]:
        """What the compiler says, as `Kernel.remarks`."""
        return self.kernel.remarks

    def __call__(self, *args: Any) -> Any:
        """Runs the module without gradients.

        Args:
          args: as the module was exported with them, nested or not; keyword arguments follow in their order. Tensors
            may be NumPy arrays, or of another library by `__dlpack__`. Values that are none are those of the export,
            and are not looked at.

        Returns:
          The outputs, one or a tuple of all: tensors of PyTorch, or, as for `Kernel`, what the first tensor is.

        Raises:
          TypeError, ValueError: a tensor of another type or shape, or another number of them.
        """
        import torch

        leaves = torch.utils._pytree.tree_leaves(args)
        given = [x for x in leaves if hasattr(x, "__dlpack__")]
        return self.kernel(*(x.detach().contiguous() if isinstance(x, torch.Tensor) else x for x in given))


@_signatures.explains_arguments
def from_torch(
    module: torch.nn.Module | torch.export.ExportedProgram,
    args: Sequence[Any] = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    target: str = "host",
    parallel: str = "openmp",
    fail_on_fallback: bool = False,
    cache: bool = True,
) -> TorchKernel:
    """Compiles a module of PyTorch, by `torch.onnx.export` and `attn.from_onnx`.

    Attention by `scaled_dot_product_attention`, or by products and a softmax, becomes flash kernels; the weights are
    constants of the kernel. Needs the packages torch, onnx and onnxscript.

    Args:
      module: in evaluation mode, or what `torch.export.export` has made of one.
      args, kwargs: example arguments; of an exported program its own.
      dynamic_shapes: which sizes are those of each call, as `torch.onnx.export` has it: for each argument a dictionary
        of dimensions, `{0: torch.export.Dim.DYNAMIC}`; all others are those of the examples.
      target, parallel, fail_on_fallback, cache: as for `attn.compile`.

    Returns:
      A callable that takes the module's tensors and returns its outputs.

    Raises:
      ImportError: torch, onnx or onnxscript is not installed.
      TypeError: `module` is none of the above.
      ValueError: a module in training mode, or arguments beside an exported program.
      CompileError: an operator is not covered (docs/Frontends.md); the message names it.
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
        import torch
    except ImportError as error:
        raise ImportError(
            f"expected the packages torch, onnx and onnxscript for attn.from_torch, found no {error.name}; "
            "write pip install torch onnx onnxscript",
            name=error.name,
        ) from error
    if isinstance(module, torch.export.ExportedProgram):
        if args or kwargs or dynamic_shapes is not None:
            raise ValueError("expected an exported program alone, which has arguments and shapes, found others beside")
    elif not isinstance(module, torch.nn.Module):
        raise TypeError(f"expected a torch.nn.Module or torch.export.ExportedProgram, found {type(module).__name__}")
    elif module.training:
        raise ValueError("expected a module in evaluation mode, found one in training mode; write module.eval()")
    with torch.no_grad():
        program = torch.onnx.export(
            *(module, tuple(args)),
            kwargs=None if kwargs is None else dict(kwargs),
            dynamo=True,
            opset_version=OPSET,
            dynamic_shapes=dynamic_shapes,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    try:
        compiled = _onnx.from_onnx(
            model, target=target, parallel=parallel, fail_on_fallback=fail_on_fallback, cache=cache
        )
    except CompileError as error:
        if "expected node to be one of" not in str(error):
            raise
        raise CompileError(PARTS, str(error)) from error
    if compiled.part != "graph" and len(model.graph.node) > 1:
        raise CompileError(PARTS, "\n".join(compiled.remarks))
    return TorchKernel(compiled)
