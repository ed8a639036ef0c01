"""attn for JAX on the CPU: attention under jit, grad and vmap, as a custom call of XLA.

`sdpa`, `varlen_sdpa` and `linear_attention` trace to one custom call, forward and backward. The handler is in libattn
(lib/CAPI/Xla.cpp); a kernel is compiled when a function is traced. Programs for GPUs and TPUs are refused when they are
lowered. docs/Training.md has an example.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("expected JAX for attn.jax, found none; write pip install jax") from error

import numpy as np

from attn.call import _checks
from attn.words import _signatures
from attn.words._types import MaskMod, ScoreMod
from attn.words._words import Words
from attn.xla import _xla, _xla_call, _xla_operator, _xla_ring
from attn.xla._xla_linear import linear_attention as linear_attention


def sdpa(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    scale: float | jax.Array | None = None,
    causal: str | jax.Array | None = None,
    align: str | jax.Array | None = None,
    bias: jax.Array | None = None,
    mask: jax.Array | None = None,
    sink: jax.Array | None = None,
    q_lengths: jax.Array | None = None,
    kv_lengths: jax.Array | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    alibi_slopes: jax.Array | None = None,
    softcap_first: bool = False,
    layout: str = "bhsd",
    return_lse: bool = False,
    return_max: bool = False,
    **words: Unpack[Words],
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """`attn.sdpa` on arrays of JAX on the CPU, with gradients; inside jax.jit, jax.grad and jax.vmap and outside.

    Args:
      q, k, v: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv), of one float type.
      scale, causal, align, bias, mask, sink: as in `attn.sdpa`; bias and sink have gradients, and a scale that is an
        array.
      q_lengths, kv_lengths: integers (B,); the kernel refuses those that are negative or too large when it runs.
      score_mod, mask_mod: as in `attn.sdpa`. Arrays that they capture may be traced; those that score_mod reads have
        gradients. Traced integers as positions are bounded in the function, as by attn.clip.
      alibi_slopes, softcap_first: as in `attn.sdpa`; slopes have a gradient.
      layout: "bhsd", or "bshd" as jax.nn.dot_product_attention has it.
      return_lse: return lse (B, Hq, Sq) too; it has a gradient.
      return_max: return the largest score (B, Hq, Sq) of each row too, a sink among them; it has no gradient.
      {words}

    Returns:
      out in the layout and type of q, or a tuple of out and further results, in the order lse, max.

    Raises:
      TypeError, ValueError, CompileError: as `attn.sdpa`.
      NotImplementedError: a gradient of second order; or the program is compiled for a GPU or a TPU, or for jax.export.
    """
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f'expected layout to be "bhsd" or "bshd", found {layout!r}')
    given = {"q": q, "k": k, "v": v, "bias": bias, "mask": mask, "sink": sink}
    integers = {"q_lengths": q_lengths, "kv_lengths": kv_lengths}
    shape, axis = np.shape(q), 2 if layout == "bhsd" else 1
    scored = (shape[0], shape[3 - axis], shape[axis], np.shape(k)[axis])
    score_mod, words = _xla_call.composed(score_mod, words, alibi_slopes, scored, softcap_first, q_lengths, kv_lengths)
    tensors, call = _xla_call.made(sdpa, given, words, integers, causal=causal, align=align, scale=scale, layout=layout)
    sizes = [tensors["q"].shape[n] for n in ((0, 1, 2) if layout == "bhsd" else (0, 2, 1))]
    scores = (*sizes, tensors["k"].shape[2 if layout == "bhsd" else 1])
    return _xla_call.apply(tensors, call, score_mod, mask_mod, scores, return_lse, return_max)


sdpa.__doc__ = _signatures.with_words(sdpa.__doc__)


def varlen_sdpa(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    cu_seqlens_q: jax.Array,
    cu_seqlens_k: jax.Array,
    *,
    scale: float | jax.Array | None = None,
    causal: str | jax.Array | None = None,
    align: str | jax.Array | None = None,
    sink: jax.Array | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    alibi_slopes: jax.Array | None = None,
    softcap_first: bool = False,
    return_lse: bool = False,
    return_max: bool = False,
    **words: Unpack[Words],
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """`attn.varlen_sdpa` on arrays of JAX on the CPU, with gradients; inside of jax.jit, jax.grad and jax.vmap, too.

    Args:
      q, k, v: (total_q, Hq, D), (total_k, Hkv, D), (total_k, Hkv, Dv), of one float type.
      cu_seqlens_q, cu_seqlens_k: integers (B + 1,), exclusive prefix sums of the lengths; the kernel refuses others
        when it runs. Where both are one array, lengths are equal.
      scale, causal, align, sink: as in `attn.varlen_sdpa`; a sink has a gradient, and a scale that is an array.
      score_mod, mask_mod: as in `attn.varlen_sdpa`, of captured arrays as in `sdpa`. Lengths are not known: i and j may
        be as large as all rows are many.
      alibi_slopes, softcap_first: as in `sdpa`; distances are those of each sequence.
      return_lse, return_max: return lse, max (Hq, total_q) too, as `sdpa`.
      {words}

    Returns:
      out (total_q, Hq, Dv) in the type of q, or a tuple of out and further results, in the order lse, max.

    Raises:
      TypeError, ValueError, CompileError, NotImplementedError: as `sdpa`.
    """
    given = {"q": q, "k": k, "v": v, "sink": sink}
    integers = {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    are_same = cu_seqlens_q is cu_seqlens_k
    scored = (np.shape(cu_seqlens_q)[0] - 1, np.shape(q)[1], 0, 0)
    lengths = [None if alibi_slopes is None else jnp.diff(jnp.asarray(x)) for x in integers.values()]
    score_mod, words = _xla_call.composed(score_mod, words, alibi_slopes, scored, softcap_first, *lengths)
    tensors, call = _xla_call.made(
        varlen_sdpa, given, words, integers, causal=causal, align=align, scale=scale, are_same=are_same
    )
    (rows, heads), sequences = tensors["q"].shape[:2], tensors["cu_seqlens_q"].shape[0] - 1
    scores = (sequences, heads, rows, tensors["k"].shape[0])
    return _xla_call.apply(tensors, call, score_mod, mask_mod, scores, return_lse, return_max)


varlen_sdpa.__doc__ = _signatures.with_words(varlen_sdpa.__doc__)


def ring_sdpa(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    axis_name: str,
    layout: str = "contiguous",
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: jax.Array | None = None,
    return_lse: bool = False,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """Attention of a sequence whose rows are on the devices of a mesh axis, with gradients; inside of jax.shard_map.

    Keys and values travel from device to device, and gradients of them back home. A step asks for the keys of the next
    one before its kernel. What masks say counts from the start of the whole sequence of S = n · rows.

    Args:
      q, k, v: (B, Hq, S/n, D), (B, Hkv, S/n, D), (B, Hkv, S/n, Dv), the device's rows, of one float type.
      axis_name: the axis of the mesh.
      layout: "contiguous": device r has the rows r · S/n …; "zigzag": of 2n blocks of rows the r-th and the
        (2n − 1 − r)-th; "striped": the rows r, r + n, r + 2n …. With the latter two causal attention costs every device
        the same.
      causal: a query sees the keys j ≤ i.
      window: (L, R) as in `attn.sdpa`.
      scale, softcap: as in `sdpa`, numbers.
      sink: (Hq,) floats, as in `sdpa`; has a gradient, the sum over devices.
      return_lse: return lse (B, Hq, S/n) too; it has a gradient.

    Returns:
      out (B, Hq, S/n, Dv), or (out, lse).

    Raises:
      TypeError, ValueError, CompileError: as `sdpa`; rows of queries and keys that differ, or of zigzag an odd number.
      NotImplementedError: a gradient of second order.
    """
    if layout not in _xla_ring.LAYOUTS:
        raise ValueError(f"expected layout to be one of {', '.join(_xla_ring.LAYOUTS)}, found {layout!r}")
    if not isinstance(causal, bool):
        raise TypeError(f"expected causal to be True or False in a ring, found {causal!r}")
    q, k, v = (jnp.asarray(x) for x in (q, k, v))
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4 or not q.shape[2] == k.shape[2] == v.shape[2]:
        raise ValueError(
            "expected q, k and v (B, H, rows of the device, D) of as many rows, found shapes "
            f"{q.shape}, {k.shape} and {v.shape}"
        )
    if layout == "zigzag" and q.shape[2] % 2:
        raise ValueError(
            f'expected two blocks of equally many rows on a device with layout="zigzag", found {q.shape[2]} rows; pad '
            'the sequence, or write layout="striped"'
        )
    window = None if window is None else _checks.window("window", window)
    words = () if softcap is None else (("softcap", softcap),)
    run, run_backward = (_Block(causal, scale, words, is_backward=x) for x in (False, True))
    ring = _xla_ring.Ring(axis_name, layout, causal, window, run, run_backward)
    sinks = () if sink is None else (jnp.asarray(sink).astype(_xla_call.score_type(q.dtype)),)
    q, k, v, *sinks = _xla.varying((q, k, v, *sinks))
    out, lse = _ring(ring, q, k, v, sinks[0] if sinks else None)
    return (out, lse) if _checks.flag("return_lse", return_lse) else out


_ring = jax.jit(_xla_ring.attention, static_argnums=0)


class _Block(NamedTuple):
    """A step of a ring by a kernel: a function of arrays that equals another of the same constants, as a jit needs."""

    causal: bool
    scale: float | None
    words: tuple[tuple[str, float], ...]
    is_backward: bool

    def __call__(self, window: Any, q: Any, k: Any, v: Any, sink: Any, offsets: Any, *saved: Any) -> Any:
        """out, max, log_sum; or the gradients, by those of whole rows."""
        where = {"causal" if self.causal else "align": offsets, "layout": "bhsd"}
        if q.dtype.itemsize < 4:
            where["out_dtype"] = "float32"  # results of blocks are summed, and rounded once
        given, words = {"q": q, "k": k, "v": v, "sink": sink}, {"window": window, **dict(self.words)}
        tensors, call = _xla_call.made(sdpa, given, words, {}, scale=self.scale, **where)
        if not self.is_backward:
            out, _, row_max, log_sum = _xla_operator.first_order(call, tuple(tensors.values()))
            return out, row_max, log_sum
        grad = ("q", "k", "v") if sink is None else ("q", "k", "v", "sink")
        return _xla_operator.first_order(call._replace(grad=grad, has_dlse=True), (*tensors.values(), *saved))


def sdpa_backward(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    out: jax.Array,
    lse: jax.Array | tuple[jax.Array, jax.Array],
    dout: jax.Array,
    *,
    scale: float | None = None,
    causal: str | jax.Array | None = None,
    align: str | jax.Array | None = None,
    **words: Unpack[Words],
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The gradients of q, k and v from out and lse of whole rows, of which k and v may be a part of the keys.

    So the gradients of parts of the keys, each by a call, sum up to those of the whole: what schemes on several devices
    need whose forward pass merged the results of parts.

    Args:
      q, k, v, scale, causal, align: as in `sdpa`, in the layout bhsd.
      out, lse: of the whole rows, (B, Hq, Sq, Dv) and (B, Hq, Sq); for lse rather the pair (max, log_sum), whose sum it
        is, where it is large.
      dout: the cotangent of out.
      {words}

    Returns:
      dq, dk, dv.

    Raises:
      TypeError, ValueError, CompileError, NotImplementedError: as `sdpa`.
    """
    given = {"q": q, "k": k, "v": v}
    tensors, call = _xla_call.made(
        sdpa_backward, given, words, {}, causal=causal, align=align, scale=scale, layout="bhsd"
    )
    row_max, log_sum = lse if isinstance(lse, tuple) else (lse, jnp.zeros_like(lse))
    arrays = (*tensors.values(), out, row_max, log_sum, dout)
    found: tuple[Any, Any, Any] = _xla_operator.first_order(call._replace(grad=("q", "k", "v")), arrays)
    return found


sdpa_backward.__doc__ = _signatures.with_words(sdpa_backward.__doc__)
