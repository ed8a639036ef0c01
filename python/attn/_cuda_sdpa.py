"""`attn.sdpa` on tensors in the memory of a CUDA device."""

from __future__ import annotations

from typing import Any

from attn import _cuda

# What the kernel reads of these is on the device, like q, k and v.
DEVICE_ARGUMENTS = ("q_lengths", "kv_lengths", "k_scale", "v_scale")


def split(arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The arguments of `attn.sdpa` with NumPy stand-ins for tensors, and the tensors in the order of the kernel.

    The problem follows from shapes and types. Values are on the device, where nothing tests them: lengths must be in
    range, and integers int32.
    """
    found: dict[str, Any] = {}

    def replace(name: str) -> None:
        value = arguments[name]
        if value is not None and not isinstance(value, str):
            found[name] = value
            arguments[name] = _cuda.stand_in(name, value)

    arguments = dict(arguments)
    for name in ("q", "k", "v", "bias", "mask", "sink", *DEVICE_ARGUMENTS, "causal", "align"):
        replace(name)
    # The order of api.prepare: dense tensors, lengths, scales, offsets; the words of dropout come after.
    order = ("q", "k", "v", "bias", "mask", "sink", *DEVICE_ARGUMENTS, "causal", "align")
    tensors = [found[name] for name in order if name in found]
    return arguments, tensors
