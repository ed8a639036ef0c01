"""Other systems on the problems of attn: one module a system, each with `load()`.

`load(threads)` imports the system (ImportError where it is not installed) and returns a `Peer`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from peers.problem import Problem

Inputs = dict[str, np.ndarray]


class UnsupportedError(Exception):
    """The system has no such operation; the message says which."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """A system.

    Attributes:
      version: as it reports it.
      prepare: (problem, inputs) → a call that runs once and returns what the system returns. Raises UnsupportedError.
      to_numpy: what a call returned → (B, Hq, Sq, Dv) as float32; gradients flat, one after the other.
    """

    version: str
    prepare: Callable[[Problem, Inputs], Callable[[], Any]]
    to_numpy: Callable[[Any, Problem], np.ndarray]


# Those that have a backward pass on CPUs. FlexAttention refuses it there; the others are runtimes for inference.
DIFFERENTIABLE = ("attn", "torch", "JAX")

# The name in tables, and the module below this package whose `load` makes it. attn is first: all others are compared
# with it.
MODULES = {
    "attn": "attn_kernel",
    "torch": "torch_sdpa",
    "flex": "torch_flex",
    "ORT": "onnx_attention",
    "ORT MHA": "onnx_multi_head",
    "OpenVINO": "openvino_sdpa",
    "JAX": "jax_attention",
    "IREE": "iree_attention",
}
