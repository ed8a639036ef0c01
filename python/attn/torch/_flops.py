"""How many floating-point operations a call is, for torch.utils.flop_counter: those of its products.

As for F.scaled_dot_product_attention no key counts as removed: a mask's values are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.flop_counter import register_flop_formula

Shape = Sequence[int]


def _products(q: Shape, k: Shape) -> int:
    """Multiplications and additions of each column of a product of all queries and keys."""
    batch, heads, rows = q[:3]
    return 2 * batch * heads * rows * k[2]


def _forward(q: Shape, k: Shape, v: Shape, *_: Any, **__: Any) -> int:
    """Q·Kᵀ and P·V."""
    return _products(q, k) * (q[3] + v[3])


def _backward(
    dout: Shape, out: Shape, row_max: Shape, log_sum: Shape, dlse: Any, grad: Any, *call: Any, **_: Any
) -> int:
    """Q·Kᵀ again, dO·Vᵀ, and what makes dQ, dK and dV."""
    q, k, v = call[:3]
    return _products(q, k) * (3 * q[3] + 2 * v[3])


register_flop_formula(torch.ops.attn.sdpa)(_forward)
register_flop_formula(torch.ops.attn.sdpa_backward)(_backward)
