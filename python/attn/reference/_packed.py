"""Attention over packed sequences, and its gradients, in NumPy and float64: each sequence by itself.

`attn.reference` re-exports both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _pages
from attn.reference._backward import of_shape, sdpa_backward
from attn.reference._forward import sdpa
from attn.trace import _capture

Array = npt.NDArray[Any]


def varlen_sdpa(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    cu_seqlens_q: npt.ArrayLike,
    cu_seqlens_k: npt.ArrayLike,
    *,
    return_lse: bool = False,
    return_max: bool = False,
    return_log_sum: bool = False,
    return_key_sums: bool = False,
    **options: Any,
) -> Array | tuple[Array, ...]:
    """Attention over packed sequences: each by itself, as `sdpa` computes it.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv).
      cu_seqlens_q, cu_seqlens_k: [B + 1], exclusive prefix sums of the lengths.
      return_lse, return_max, return_log_sum: return lse, max, log_sum (Hq, total_q) too.
      return_key_sums: return key_sums (Hkv, total_k) too.
      options: scale, causal, window, align, softcap, sink, score_mod, mask_mod, alibi_slopes, softcap_first and origins
        as in `sdpa`; offsets are [B], and positions count from the start of a sequence, or from its origin.

    Returns:
      out (total_q, Hq, Dv), or a tuple of out and further results in that order; float64.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    rows = _pages.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0])
    keys = _pages.cu_seqlens("cu_seqlens_k", cu_seqlens_k, k.shape[0])
    flags = {"return_lse": return_lse, "return_max": return_max, "return_log_sum": return_log_sum}
    wanted = {**flags, "return_key_sums": return_key_sums}
    parts = (
        (at, (slice(None), of), sdpa(q[None, at], k[None, of], v[None, of], layout="bshd", **wanted, **mine))
        for _, at, of, mine in _sequences(rows, keys, options)
    )
    sums = np.zeros((k.shape[1], k.shape[0])) if return_key_sums else None
    return _pack(parts, q.shape, v.shape[2], sum(flags.values()), sums)


def packed_queries(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    cu_seqlens_q: npt.ArrayLike,
    kv_lengths: npt.ArrayLike,
    **options: Any,
) -> Array | tuple[Array, ...]:
    """Attention of packed queries on keys that are not packed: each sequence by itself, as `sdpa` computes it.

    Args:
      q, k, v: (total_q, Hq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv).
      cu_seqlens_q: [B + 1], exclusive prefix sums of the numbers of queries; rows behind the last one are padding.
      kv_lengths: [B].
      options: as in `varlen_sdpa`; k_scale and v_scale are (Hkv,) or (B, Hkv, Sk).

    Returns:
      As `varlen_sdpa`; key_sums are (B, Hkv, Sk).
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    rows = _pages.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0], has_padding=True)
    lengths = np.asarray(kv_lengths)

    def part(b: int, at: slice, mine: dict[str, Any]) -> Any:
        n = lengths[b]
        scales = {x: np.asarray(mine.pop(x)) for x in ("k_scale", "v_scale") if mine.get(x) is not None}
        mine |= {x: y if y.ndim < 2 else y[b : b + 1, :, :n] for x, y in scales.items()}
        keys, values = (x[b : b + 1, :, :n].swapaxes(1, 2) for x in (k, v))
        return sdpa(q[None, at], keys, values, layout="bshd", **mine)

    count = sum(bool(options.get(x)) for x in ("return_lse", "return_max", "return_log_sum"))
    parts = (
        (at, (b, slice(None), slice(lengths[b])), part(b, at, mine))
        for b, at, _, mine in _sequences(rows, rows, options)
    )
    sums = np.zeros(k.shape[:3]) if options.get("return_key_sums") else None
    return _pack(parts, q.shape, v.shape[3], count, sums)


def _pack(
    parts: Iterable[tuple[slice, tuple[Any, ...], Any]],
    shape: tuple[int, ...],
    columns: int,
    count: int,
    sums: Array | None,
) -> Any:
    """The results of each sequence, (1, S, Hq, Dv) and `count` of (1, Hq, S), in the rows of all; q has `shape`.

    Those of keys, (1, Hkv, S), are the last ones, and go to their place in `sums` where these are wanted.
    """
    out = np.zeros((*shape[:2], columns))
    rest = [np.full(shape[1::-1], -np.inf) for _ in range(count)]
    wholes = [*rest, *([] if sums is None else [sums])]
    for at, of, results in parts:
        part, *others = results if wholes else (results,)
        out[at] = part[0]
        for n, (whole, each) in enumerate(zip(wholes, others, strict=True)):
            whole[(slice(None), at) if n < count else of] = each[0]
    return (out, *wholes) if wholes else out


def varlen_sdpa_backward(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    out: npt.ArrayLike | None,
    lse: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] | None,
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
      out, lse: what `varlen_sdpa` returned for them, (total_q, Hq, Dv) and (Hq, total_q), or the pair (max,
        log_sum) for lse; None to compute it here.
      dout, dlse: the cotangents of out and lse; one of them may be None for 0.
      grad: whose gradients, as in `sdpa_backward`.

    Returns:
      The gradients by name, in the order of `grad`, float64, each of the shape of its input.

    Raises:
      ValueError, TypeError: as in `sdpa_backward`.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    grad = _checks.gradients(grad)
    rows = _pages.cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.shape[0])
    keys = _pages.cu_seqlens("cu_seqlens_k", cu_seqlens_k, k.shape[0])
    shape = (*q.shape[:2], v.shape[2])
    out, dout = (
        None if x is None else of_shape(name, np.asarray(x, np.float64), shape)
        for name, x in (("out", out), ("dout", dout))
    )
    terms, dlse = (
        None if x is None else [of_shape(name, np.asarray(y, np.float64), shape[1::-1]) for y in x]
        for name, x in (
            ("lse", lse if isinstance(lse, tuple | None) else (lse,)),
            ("dlse", dlse if dlse is None else (dlse,)),
        )
    )
    wholes = {"q": q, "k": k, "v": v}
    result: dict[str, Array] = {x: np.zeros(wholes[x].shape) for x in grad if x in wholes}
    for _, at, of, mine in _sequences(rows, keys, options):
        part = sdpa_backward(
            q[None, at],
            k[None, of],
            v[None, of],
            None if out is None else out[None, at],
            None if terms is None else _alone(tuple(x[None, :, at] for x in terms)),
            None if dout is None else dout[None, at],
            dlse=None if dlse is None else dlse[0][None, :, at],
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


def _sequences(rows: Array, keys: Array, options: dict[str, Any]) -> Iterator[tuple[int, slice, slice, dict[str, Any]]]:
    """Of each sequence its number, its rows of q, of k and v, its options: its offset, and functions that know b."""
    mods = {x: _capture.rebind(options[x]) for x in ("score_mod", "mask_mod") if options.get(x) is not None}
    for b in range(rows.size - 1):
        mine = {x: y[b : b + 1] if _is_of_batch(x, y) else y for x, y in options.items() if x not in mods}
        number = b + (mine.pop("b_origin", None) or 0)
        if "score_mod" in mods:
            mine["score_mod"] = lambda s, x, h, i, j, b=number: mods["score_mod"](s, np.full_like(x, b), h, i, j)
        if "mask_mod" in mods:
            mine["mask_mod"] = lambda x, h, i, j, b=number: mods["mask_mod"](np.full_like(x, b), h, i, j)
        yield b, slice(rows[b], rows[b + 1]), slice(keys[b], keys[b + 1]), mine


def _alone(x: tuple[Array, ...]) -> Any:
    return x[0] if len(x) == 1 else x


def _is_of_batch(name: str, value: Any) -> bool:
    """Whether each sequence has its own: offsets, and slopes (B, Hq)."""
    if name == "alibi_slopes" and value is not None:
        return np.ndim(value) == 2
    return isinstance(value, np.ndarray | list) and np.asarray(value).dtype.kind in "iu"
