"""Where a call of `attn::sdpa` runs: on the CPU, or on one CUDA device.

What asks PyTorch about devices is `attn.kernel._device.TorchDevice`.
"""

from __future__ import annotations

from typing import Any

import torch

from attn.kernel import _device, _tensor
from attn.kernel._device import TorchDevice
from attn.words import _words

# Tensors of a call that the host reads: seed and offset of dropout.
ON_HOST = ("seeds",)


def check(tensors: dict[str, torch.Tensor]) -> None:
    """Tensors of one call are on one device; it holds for those without memory, too.

    Raises:
      TypeError: they are on several.
    """
    device = tensors["q"].device
    for name, x in tensors.items():
        if name not in ON_HOST and x.device != device:
            raise TypeError(
                f'expected {name} on {device}, as query is, found it on {x.device}; write {name}.to("{device}")'
            )


def options(tensors: dict[str, torch.Tensor], given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `attn.sdpa` that run a call where its tensors are.

    Args:
      tensors: all of the call, by name.
      given: the keywords, without a target.

    Raises:
      TypeError: the tensors are on several devices.
      RuntimeError: the device runs no code of attn; or the call has what a graph of CUDA cannot hold.
    """
    check(tensors)
    device = _device.of(tensors["q"])
    made = dict(given)
    if not isinstance(device, TorchDevice):
        if "score_mod" in made:
            traced = made["score_mod"]
            named = zip(traced.regions.names, traced.arrays, strict=True)
            made["score_mod"] = traced._replace(arrays=tuple(_tensor.as_array(name, x) for name, x in named))
        return made
    if "dropout" in made and device.is_capturing:
        raise RuntimeError(
            "expected no dropout while a CUDA graph is captured, found dropout_p: each replay would drop the same "
            "weights; leave it out, or run the attention outside of the graph"
        )
    made["target"] = device.target
    for name in _words.PER_BATCH:
        if isinstance(made.get(name), torch.Tensor):
            made[name] = made[name].to(torch.int32)
    if "sink" in made:
        made["sink"] = made["sink"].float()
    return made
