"""Where a call stands: inside of what PyTorch would make something else of, without a word, it is an error."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn import functional

from attn.kernel import _subclasses
from attn.torch import _dtensor

DISTRIBUTED = "torch.distributed.tensor"
CONTEXT_PARALLEL = (
    "expected a call outside of torch.distributed's context_parallel, found one inside: each rank would attend to its "
    "own part of the keys alone; write attn.torch.context_parallel(mesh, buffers=…, buffer_seq_dims=…) in its place, "
    "or call attn.torch with all keys"
)


def forward_mode(name: str) -> str:
    """The error of a gradient of forward mode of the operator attn::NAME."""
    return (
        f"expected a gradient of reverse mode of attn::{name}, found forward mode (forward_ad.make_dual, "
        'torch.func.jvp and jacfwd, jacobian(strategy="forward-mode")), for which it has no rule: the tangent would be '
        "0; write backward(), torch.func.grad, vjp or jacrev, or the attention by torch's operators"
    )


FORWARD_MODE = forward_mode("sdpa")
# Of operators without any gradient.
FORWARD_MODE_OF_SERVING = (
    "expected tensors without a tangent, found one of forward mode (forward_ad.make_dual, torch.func.jvp and jacfwd), "
    "for which paged_sdpa and kv_append have no rule: it would be lost; write forward_ad.unpack_dual(x).primal, or "
    "torch's operators"
)


def check_outside() -> None:
    """The call is not one of those that PyTorch's context_parallel distributes.

    Raises:
      RuntimeError: it is.
    """
    # context_parallel has a function of its own in the place of PyTorch's.
    if (functional.scaled_dot_product_attention.__module__ or "").startswith(DISTRIBUTED):
        raise RuntimeError(CONTEXT_PARALLEL)


def check(**given: Any) -> None:
    """For the arguments of a call that may be tensors; torch.compile has what is asked here among its guards.

    Raises:
      RuntimeError: PyTorch has replaced its own attention by one that distributes keys over ranks.
      TypeError: a tensor is distributed, or of a class whose memory is not its elements.
    """
    check_outside()
    for x in given.values():
        if x is not None and type(x) is not str and not _is_plain(x):
            break
    else:  # as nearly all calls are
        return
    tensors = {name: x for name, x in given.items() if isinstance(x, torch.Tensor)}
    fakes = [name for name, x in tensors.items() if type(x).__name__ == "FakeTensor"]
    if fakes and len(fakes) < len(tensors) and not torch._C._len_torch_dispatch_stack():
        raise TypeError(
            f"expected tensors with values, or fake ones alone, found {', '.join(fakes)} of FakeTensor beside others; "
            "make all of them under one FakeTensorMode"
        )
    for name, x in tensors.items():
        if _dtensor.is_among(x):
            raise TypeError(
                f"expected {name} on one device, found a DTensor, of whose shards this call knows nothing; write "
                f"{name}.full_tensor() for all of it, or {name}.to_local() where each rank has all keys of its heads "
                "and batches"
            )
        _subclasses.check(name, x, is_dispatched=True)


def _is_plain(x: Any) -> bool:
    """Whether `_subclasses.check` takes it, in less time."""
    return type(x) is torch.Tensor and x.layout is torch.strided and not x.is_quantized and not x.is_nested


def refuse_forward_mode(*tensors: Any, message: str = FORWARD_MODE) -> None:
    """For the tensors of a call.

    Raises:
      RuntimeError: one has a tangent.
    """
    if forward_ad._current_level < 0:
        return
    for x in tensors:
        if isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None:
            raise RuntimeError(message)
