"""The calls of the package around attention: multi-head attention with its projections, and merging two results."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _elements, _lse, _problem, _running, _text
from attn.kernel import _cuda, _kernel, _tensor
from attn.words import _signatures
from attn.words._types import Tensor, TensorT

Array = npt.NDArray[Any]


@_signatures.explains_arguments
def multi_head(
    x: TensorT,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    heads: int,
    kv_heads: int | None = None,
    *,
    scale: float | None = None,
    causal: str | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    align: str | None = None,
    target: str = "host",
) -> TensorT:
    """Multi-head self-attention with its projections (Vaswani et al., "Attention Is All You Need", 2017).

    One kernel: X·W_Q, X·W_K, X·W_V, `sdpa` with heads as views, then ·W_O.

    Args:
      x: (B, S, E), in one float type with the weights.
      w_q, w_k, w_v, w_o: (E, heads·D), (E, kv_heads·D), (E, kv_heads·Dv), (heads·Dv, E'); heads are contiguous ranges
        of columns.
      heads, kv_heads: how many; kv_heads is heads if it is None.
      scale, causal, window, softcap, align: as in `sdpa`, without offsets.
      target: a processor, as in `sdpa`.

    Returns:
      (B, S, E') in the type of x.

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`.
    """
    named = {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
    arrays = {name: _tensor.as_array(name, value) for name, value in named.items()}
    dtype = _elements.element_type(arrays["x"], **{name: arrays[name] for name in named if name != "x"})
    for name, array in arrays.items():
        if array.ndim != (3 if name == "x" else 2):
            raise ValueError(f"expected {name} of rank {3 if name == 'x' else 2}, found shape {array.shape}")
    query_heads, key_heads = _checks.heads(heads if kv_heads is None else (heads, kv_heads), "bsd")
    _cuda.refuse_gpu("multi_head", target, "only attention has GPU kernels")
    b, s, width = arrays["x"].shape
    for name in ("w_q", "w_k", "w_v"):
        if arrays[name].shape[0] != width:
            raise ValueError(f"expected {name} to have the {width} rows that x has columns, found {arrays[name].shape}")
    # What sdpa will see, for its shape and type checks alone: these arrays have no memory.
    q, k, v = (
        np.broadcast_to(np.zeros((), arrays["x"].dtype), (b, s, arrays[w].shape[1])) for w in ("w_q", "w_k", "w_v")
    )
    words = {"scale": scale, "causal": causal, "window": window, "align": align, "softcap": softcap}
    problem = _problem.of(q, k, v, _problem.Given(**words, layout="bsd", heads=(query_heads, key_heads)))
    if "offset" in (problem.causal, problem.align):
        raise ValueError('expected causal and align to be "top_left" or "bottom_right" here, found offsets')
    columns = problem.sizes.hq * problem.sizes.dv
    if arrays["w_o"].shape[0] != columns:
        raise ValueError(f"expected w_o to have {columns} rows, heads x value head size, found {arrays['w_o'].shape}")
    attributes = {"heads": f"{query_heads} : i64", "kv_heads": f"{key_heads} : i64"}
    given = dict(problem.words)
    attributes |= _text.structure(
        problem.scale, problem.causal, given.get("window"), problem.align, given.get("softcap")
    )
    shapes = {name: array.shape for name, array in arrays.items()}
    text = _text.multi_head(shapes, (b, s, arrays["w_o"].shape[1]), dtype, attributes)
    return _running.compiled(text, target)(*named.values())


@_signatures.explains_arguments
def merge(
    out1: TensorT,
    lse1: Tensor | tuple[Tensor, Tensor],
    out2: TensorT,
    lse2: Tensor | tuple[Tensor, Tensor],
    *,
    lse_layout: str | None = None,
    target: str = "host",
) -> tuple[TensorT, Any]:
    """The attention over the keys of two calls, from their results: shared prefixes, split keys.

    Args:
      out1, out2: (B, Hq, Sq, Dv) of one float type, from calls on disjoint ranges of keys; packed (total, Hq, Dv), by
        one kernel for any total.
      lse1, lse2: (B, Hq, Sq), the lse of both calls (return_lse=True), or its two terms (max, log_sum) as a pair
        (return_max=True, return_log_sum=True): as one number a large lse has no room for log_sum. Packed ones are
        (Hq, total), as attn returns them, or (total, Hq). They are natural logarithms: those of FlashInfer, to base 2,
        times ln 2.
      lse_layout: "hn" for (Hq, total), "nh" for (total, Hq) of packed ones; needed where both are one shape.
      target: as in `sdpa`.

    Returns:
      (out, lse): as if one call had seen the keys of both; lse is a pair where lse1 or lse2 is one. Exact: associative
      up to rounding.

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`; or a row of both has a large lse of one number, of which its sum
        is lost, and both count.
    """
    has_terms = isinstance(lse1, tuple) or isinstance(lse2, tuple)
    rows, given = (("max", "log_sum") if has_terms else ("lse",)), {}
    for n, out, lse in ((1, out1, lse1), (2, out2, lse2)):
        values = (out, *(_lse.terms(lse) if has_terms else (lse,)))
        given |= {f"{name}{n}": x for name, x in zip(("out", *rows), values, strict=True)}
    named, tensors = _cuda.split(target, given)
    arrays = {name: _tensor.as_array(name, value) for name, value in named.items()}
    shape = arrays["out1"].shape
    layout = _lse.layout(lse_layout, arrays[f"{rows[0]}1"].shape, shape)
    for name, array in arrays.items():
        wanted = shape if name == "out2" else shape[1::-1] if layout == "hn" else shape[:-1]
        if name != "out1" and (len(shape) < 2 or array.shape != wanted):
            raise ValueError(f"expected {name} of shape {wanted} beside out1 {shape}, found {array.shape}")
    dtype = _elements.element_type(arrays["out1"], out2=arrays["out2"])
    state = np.dtype(np.float64 if dtype == "f64" else np.float32)
    for name in rows:
        first, second = (arrays[f"{name}{n}"].dtype for n in (1, 2))
        if first != state or second != state:
            raise TypeError(f"expected {name}1 and {name}2 in {state}, found {first} and {second}")
    if not has_terms and not tensors:
        _lse.check_known_sums(arrays["lse1"], arrays["lse2"])
    kernel = merging(shape, dtype, layout, target, has_terms=has_terms)
    results = kernel(*(tensors or arrays.values()))
    out, *found = results if tensors else [_tensor.like(x, out1) for x in results]
    return out, (tuple(found) if has_terms else found[0])


def merging(shape: tuple[int, ...], dtype: str, layout: str, target: str, *, has_terms: bool = False) -> _kernel.Kernel:
    """The kernel of `merge` for outs of this shape, of packed ones for any total, with lse in this layout."""
    shape = (_problem.DYNAMIC, *shape[1:]) if len(shape) == 3 else shape
    state = "f64" if dtype == "f64" else "f32"
    text = _text.merge(shape, dtype, state, has_terms=has_terms, are_heads_first=layout == "hn")
    return _running.compiled(text, target)
