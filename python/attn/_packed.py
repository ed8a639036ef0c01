"""Attention over packed sequences, and its gradients, in NumPy and float64: each sequence by itself.

`attn.reference` re-exports both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attn import _capture, _checks
from attn._backward import of_shape, sdpa_backward
from attn._forward import sdpa

Array = npt.NDArray[Any]


def varlen_sdpa(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    cu_seqlens_q: npt.ArrayLike,
    cu_seqlens_k: npt.ArrayLike,
    *,
    return_lse: bool = False,
    **options: Any,
) -> Array | tuple[Array, ...]:
    """Attention over packed sequences: each by itself, as `sdpa` computes it.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv).
      cu_seqlens_q, cu_seqlens_k: [B + 1], exclusive prefix sums of the lengths.
      return_lse: return lse (Hq, total_q) too.
      options: scale, causal, window, align, softcap, sink, score_mod, mask_mod as in `sdpa`; offsets are [B], and
        positions count from the start of a sequence.

    Returns:
      out (total_q, Hq, Dv), or (out, lse); float64.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    rows = _checks.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0])
    keys = _checks.cu_seqlens("cu_seqlens_k", cu_seqlens_k, k.shape[0])
    out, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[1::-1], -np.inf)
    for at, of, mine in _sequences(rows, keys, options):
        sequence = (q[None, at], k[None, of], v[None, of])
        part, part_lse = sdpa(*sequence, layout="bshd", return_lse=True, **mine)
        out[at], lse[:, at] = part[0], part_lse[0]
    return (out, lse) if return_lse else out


def varlen_sdpa_backward(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    out: npt.ArrayLike | None,
    lse: npt.ArrayLike | None,
    dout: npt.ArrayLike | None,
    cu_seqlens_q: npt.ArrayLike,
    cu_seqlens_k: npt.ArrayLike,
    *,
    dlse: npt.ArrayLike | None = None,
    grad: Sequence[str] = ("q", "k", "v"),
    **options: Any,
) -> dict[str, Array]:
    """The gradients of `varlen_sdpa`: those of each sequence, and the sums of what the sequences share.

    Args:
      q, k, v, cu_seqlens_q, cu_seqlens_k, options: as in `varlen_sdpa`.
      out, lse: what `varlen_sdpa` returned for them, (total_q, Hq, Dv) and (Hq, total_q); None to compute it here.
      dout, dlse: the cotangents of out and lse; one of them may be None for 0.
      grad: whose gradients, as in `sdpa_backward`.

    Returns:
      The gradients by name, in the order of `grad`, float64, each of the shape of its input.

    Raises:
      ValueError, TypeError: as in `sdpa_backward`.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    grad = _checks.gradients(grad)
    rows = _checks.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0])
    keys = _checks.cu_seqlens("cu_seqlens_k", cu_seqlens_k, k.shape[0])
    shape = (*q.shape[:2], v.shape[2])
    out, dout = (
        None if x is None else of_shape(name, np.asarray(x, np.float64), shape)
        for name, x in (("out", out), ("dout", dout))
    )
    lse, dlse = (
        None if x is None else of_shape(name, np.asarray(x, np.float64), shape[1::-1])
        for name, x in (("lse", lse), ("dlse", dlse))
    )
    wholes = {"q": q, "k": k, "v": v}
    result: dict[str, Array] = {x: np.zeros(wholes[x].shape) for x in grad if x in wholes}
    for at, of, mine in _sequences(rows, keys, options):
        part = sdpa_backward(
            q[None, at],
            k[None, of],
            v[None, of],
            None if out is None else out[None, at],
            None if lse is None else lse[None, :, at],
            None if dout is None else dout[None, at],
            dlse=None if dlse is None else dlse[None, :, at],
            grad=grad,
            layout="bshd",
            **mine,
        )
        for name, x in part.items():
            if name in wholes:
                result[name][at if name == "q" else of] = x[0]
            else:
                result[name] = result.get(name, 0.0) + x
    return {name: result[name] for name in grad}


def _sequences(rows: Array, keys: Array, options: dict[str, Any]) -> Iterator[tuple[slice, slice, dict[str, Any]]]:
    """Of each sequence the rows of q, those of k and v, and its options: its offset, and functions that know b."""
    mods = {x: _capture.rebind(options[x]) for x in ("score_mod", "mask_mod") if options.get(x) is not None}
    for b in range(rows.size - 1):
        mine = {x: y[b : b + 1] if _is_offsets(y) else y for x, y in options.items() if x not in mods}
        if "score_mod" in mods:
            mine["score_mod"] = lambda s, x, h, i, j, b=b: mods["score_mod"](s, np.full_like(x, b), h, i, j)
        if "mask_mod" in mods:
            mine["mask_mod"] = lambda x, h, i, j, b=b: mods["mask_mod"](np.full_like(x, b), h, i, j)
        yield slice(rows[b], rows[b + 1]), slice(keys[b], keys[b + 1]), mine


def _is_offsets(value: Any) -> bool:
    return isinstance(value, np.ndarray | list) and np.asarray(value).dtype.kind in "iu"
