"""The gradients of `attn.linear_attention`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from attn.call import _call, _checks, _linear, _linear_checks, _pages
from attn.kernel import _tensor
from attn.kernel._cache import plans
from attn.words import _signatures
from attn.words._types import Integers, Tensor, TensorT


@_signatures.explains_arguments
def linear_attention_backward(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    dout: Tensor | None,
    *,
    dstate: Tensor | None = None,
    grad: Sequence[str] = ("q", "k", "v"),
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    erase: Tensor | None = None,
    write: Tensor | None = None,
    before: bool = False,
    scale: float | None = None,
    normalize: float | bool | None = None,
    state: Tensor | None = None,
    cu_seqlens: Integers | None = None,
    slots: Integers | None = None,
    layout: str = "bhsd",
    target: str = "host",
) -> dict[str, TensorT]:
    """The gradients of `attn.linear_attention`, by a kernel: of Σ dout·out + Σ dstate·state.

    Nothing of the forward call is needed but its arguments. A call keeps the states in front of all chunks of 32 tokens
    (16 where decay has channels) in memory, and what is written. There are no snapshots.

    Args:
      q, k, v, decay, beta, erase, write, before, scale, normalize, cu_seqlens, slots, layout, target: as in
        `attn.linear_attention`.
      dout: the cotangent of out, of its shape and type, or None for 0.
      dstate: the cotangent of the state that is returned, of its shape and type, or None for 0.
      grad: whose gradients: "q", "k", "v", "decay", "beta", "erase", "write", "state".
      state: the states in front of the first tokens, which are not written; None for 0.

    Returns:
      The gradients by name, in the order of `grad`, each of the shape of its input. Those of decay, beta and state are
      float32, or float64 beside float64; the others have the type of their input. That of a pool is dstate in slots
      that no sequence has. Torch tensors or JAX arrays if q is one, otherwise NumPy arrays.

    Raises:
      TypeError, ValueError, CompileError: as `attn.linear_attention`; a name in `grad` that the call does not have.
    """
    if dout is None and dstate is None:
        raise TypeError("expected dout or dstate, the cotangent of a result, found None for both")
    given = {"q": q, "k": k, "v": v, "decay": decay, "beta": beta, "erase": erase, "write": write, "state": state}
    arrays = {name: _tensor.as_array(name, x) for name, x in given.items() if x is not None}
    names = _checks.gradients(grad)
    for name in names:
        if name not in (*arrays, "state"):
            raise ValueError(f"expected grad of {', '.join((*arrays, 'state'))}, what the call has, found {name!r}")
    sums = None if cu_seqlens is None else _pages.cu_seqlens("cu_seqlens", cu_seqlens, len(arrays["k"]))
    words = (before, scale, normalize, None if sums is None else sums.size - 1, slots is not None, layout)
    forms = [(name, x.shape, x.dtype) for name, x in arrays.items()]
    key: Hashable = (linear_attention_backward, target, *forms, *words, *map(type, words), names)
    made = plans.get(key) or plans.keep(key, _linear._Made.of(arrays, target, *words, grad=names))
    start = arrays.pop("state", None)
    shape = made.sizes.state if start is None else start.shape
    places = None if slots is None else _linear_checks.slots(slots, made.sizes.b, shape[0])
    if sums is not None:
        sums, places = made.with_empty_sequences(sums, places)
    integers = [_call.as_i32(x) for x in (sums, places) if x is not None]
    last, _ = _tensor.new(made.accumulation.name, list(shape), None)
    last[...] = 0 if dstate is None else _of_shape("dstate", dstate, shape)
    start = np.zeros(shape, made.accumulation) if start is None else start
    out = np.zeros(made.out, arrays["q"].dtype) if dout is None else _of_shape("dout", dout, made.out)
    if 0 in made.out or 0 in arrays["k"].shape:
        zeros = {name: np.zeros(x.shape, x.dtype) for name, x in arrays.items()} | {"state": last}
        return {name: _tensor.like(zeros[name], q) for name in names}
    rows = [x.astype(y, copy=False) for x, y in zip(arrays.values(), made.types, strict=True)]
    behind = [start.astype(made.accumulation, copy=False), out.astype(arrays["q"].dtype, copy=False)]
    inputs = [*rows, *integers, *behind]
    results = [x["name"] for x in made.kernel.outputs]
    found = made.kernel.run(inputs, q, tuple([last if x == "dstate" else None for x in results]))
    named = dict(zip(results, found if len(results) > 1 else (found,), strict=True))
    named["dstate"] = _tensor.like(last, q)
    return {name: named[f"d{name}"] for name in names}


def _of_shape(name: str, x: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent, as an array."""
    array = _tensor.as_array(name, x)
    if array.shape != shape:
        raise ValueError(f"expected {name} of shape {shape}, as the result, found {array.shape}")
    return array
