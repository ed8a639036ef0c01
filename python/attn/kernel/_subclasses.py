"""Tensors of PyTorch whose memory is not their elements: refused by name, before anybody reads it.

A subclass with `__torch_function__` says itself what functions of PyTorch make of it, and those of attn are none of
them. One with `__torch_dispatch__` is asked by PyTorch when an operator takes it; nobody else may read it.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

# What to write for a class, by its name, of an argument `{0}`.
ADVICE = {
    "CausalBias": 'give it as attn_mask of attn.torch.sdpa, or write causal="top_left" or "bottom_right"',
    "DTensor": "write {0}.full_tensor() for all of it, or {0}.to_local() for the part of this rank",
    "FakeTensor": "give a tensor with values, or call attn.torch with fake tensors alone",
    "MaskedTensor": "write {0}.get_data(), and its mask as attn_mask",
    "NestedTensor": "write {0}.to_padded_tensor(…), or {0}.values() with cu_seqlens of attn.torch.varlen_sdpa",
    "UninitializedBuffer": "initialise its module, as by a first call",
    "UninitializedParameter": "initialise its module, as by a first call",
}
OTHERWISE = "write {0}.as_subclass(torch.Tensor) where its memory is its elements, or the tensor that it stands for"


def check(name: str, tensor: Any, *, is_dispatched: bool = False) -> None:
    """For a tensor of PyTorch.

    Args:
      name: of the argument.
      tensor: of any class.
      is_dispatched: it goes to an operator, where PyTorch asks a class with `__torch_dispatch__`.

    Raises:
      TypeError: its memory is not its elements.
    """
    torch = sys.modules["torch"]
    kind = type(tensor)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        plain = (torch._C._disabled_torch_function_impl, torch.Tensor.__torch_function__.__func__)
        is_own = getattr(kind.__torch_function__, "__func__", kind.__torch_function__) not in plain
        if is_own or (_is_dispatched(kind) and not is_dispatched):
            advice = ADVICE.get(kind.__name__, OTHERWISE).format(name)
            raise TypeError(
                f"expected {name} to be a torch.Tensor, found the subclass {kind.__name__}, whose elements are not its "
                f"memory; {advice}"
            )
    if tensor.is_nested:
        raise TypeError(f"expected {name} to be dense, found a nested tensor; {ADVICE['NestedTensor'].format(name)}")
    if tensor.layout is not torch.strided:
        raise TypeError(f"expected {name} to be dense, found layout {tensor.layout}; write {name}.to_dense()")
    if tensor.is_quantized:
        raise TypeError(
            f"expected {name} without a quantiser of its own, found {tensor.dtype}; write {name}.dequantize(), or "
            f"{name}.int_repr() beside k_scale and v_scale of attn.sdpa"
        )


def _is_dispatched(kind: Any) -> bool:
    return kind.__torch_dispatch__ is not sys.modules["torch"].Tensor.__torch_dispatch__


def is_known(tensor: Any) -> bool:
    """Whether a tensor has values: vmap has some for each entry, a class with `__torch_dispatch__` has its own."""
    is_wrapped = sys.modules["torch"]._C._functorch.is_functorch_wrapped_tensor(tensor)
    return not (is_wrapped or _is_dispatched(type(tensor)))


@functools.cache
def element_of(dtype: Any) -> str:
    """The name of a type of PyTorch, as NumPy has it."""
    return str(dtype).removeprefix("torch.")


def recorded(name: str, tensor: Any) -> tuple[Any, Any]:
    """A tensor as a graph of gradients has it, and one with its values; None where they are not known.

    Transforms of torch.func wrap tensors, once for each transform around.

    Raises:
      TypeError: as `check`.
    """
    check(name, tensor, is_dispatched=True)
    torch = sys.modules["torch"]
    given, functorch = tensor if torch.is_grad_enabled() else tensor.detach(), torch._C._functorch
    while functorch.is_gradtrackingtensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    if not is_known(tensor):
        return given, None
    with torch._C._DisableFuncTorch():  # which would wrap what is detached
        return given, tensor.detach()
