"""How many floating-point operations a call is, for torch.utils.flop_counter: those of its products.

As for F.scaled_dot_product_attention no key counts as removed: a mask's values are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.flop_counter import register_flop_formula

from attn.torch import _varlen  # noqa: F401 - makes two of the operators
from attn.torch._ops import LEADING

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


def _packed_products(call: Sequence[Any]) -> int:
    """The same of each sequence of `attn::varlen_sdpa`, summed; where lengths have no values, they are all the same."""
    q, k, _, rows, keys = call[:5]
    count = rows.shape[0] - 1
    if isinstance(rows, FakeTensor) or rows.device.type == "meta":
        pairs = int(q.shape[0]) * int(k.shape[0]) // count
    else:
        pairs = int((rows.diff().long() * keys.diff().long()).sum())
    return 2 * int(q.shape[1]) * pairs


def _packed_forward(*call: Any, out_val: Any = None, **_: Any) -> int:
    return _packed_products(call) * (call[0].shape[2] + call[2].shape[2])


def _packed_backward(*arguments: Any, out_val: Any = None, **_: Any) -> int:
    call = arguments[LEADING:]
    return _packed_products(call) * (3 * call[0].shape[2] + 2 * call[2].shape[2])


register_flop_formula(torch.ops.attn.varlen_sdpa, get_raw=True)(_packed_forward)
register_flop_formula(torch.ops.attn.varlen_sdpa_backward, get_raw=True)(_packed_backward)
register_flop_formula(torch.ops.attn.sdpa)(_forward)
register_flop_formula(torch.ops.attn.sdpa_backward)(_backward)
