"""torch's scaled_dot_product_attention on the inputs of a line, back end by back end; imported where torch is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
INPUTS = {"q", "k", "v", "out", "bias", "mask"}


def measure(
    kernel: Any, arrays: dict[str, np.ndarray], operations: float, time: Callable[..., float]
) -> dict[str, float]:
    """TFLOP/s by back end; empty where torch has no such problem (windows, lengths, pages, sinks, ...)."""
    words, arguments = kernel.conventions, {a["name"]: a for a in kernel.arguments}
    causal = words["causal"]
    dense = len(arguments["q"]["shape"]) == 4
    isolated = words["window_left"] is None and words["window_right"] is None and not words["softcap"]
    square = dense and arguments["q"]["shape"][2] == arguments["k"]["shape"][2]
    if not (dense and set(arguments) <= INPUTS and isolated and (not causal or square)) or "chunk" in kernel.line:
        return {}
    if arguments["k"]["dtype"] not in TYPES:
        return {}
    q, k, v = (torch.randn(arguments[n]["shape"], device="cuda").to(TYPES[arguments[n]["dtype"]]) for n in "qkv")
    options: dict[str, Any] = {"is_causal": bool(causal), "enable_gqa": q.shape[1] != k.shape[1]}
    for name in ("bias", "mask"):
        if name in arrays:
            values = torch.zeros(arguments[name]["shape"], device="cuda", dtype=q.dtype)
            options["attn_mask"] = values == 0 if name == "mask" else values
    found = {}
    for name, backend in BACKENDS.items():
        with sdpa_kernel(backend), warnings.catch_warnings(action="ignore"):  # why it does not take the problem
            try:
                call = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)  # noqa: E731
                found[name] = operations / time(call) / 1e12
            except RuntimeError:  # this back end does not take the problem
                continue
    return found
