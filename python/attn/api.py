"""The calls of the package on dense arrays: `sdpa`, and the threads of the kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Unpack

from attn.call import _call, _checks, _running
from attn.kernel import _library, _tensor
from attn.words import _signatures
from attn.words._types import Alignment, Integers, MaskMod, ScoreMod, State, Tensor, TensorT
from attn.words._words import Words


@_signatures.explains_arguments
def sdpa(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | Tensor | None = None,
    causal: Alignment | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    sink: Tensor | None = None,
    align: Alignment | None = None,
    q_lengths: Integers | None = None,
    kv_lengths: Integers | None = None,
    score_mod: ScoreMod | None = None,
    mask_mod: MaskMod | None = None,
    alibi_slopes: Tensor | None = None,
    softcap_first: bool = False,
    dropout: tuple[float, int, int] | None = None,
    layout: str = "bhsd",
    heads: int | tuple[int, int] | None = None,
    k_scale: float | Tensor | None = None,
    v_scale: float | Tensor | None = None,
    q_scale: float | Tensor | None = None,
    out_scale: float | Tensor | None = None,
    return_lse: bool = False,
    return_weights: bool = False,
    return_max: bool = False,
    return_log_sum: bool = False,
    return_key_sums: bool = False,
    out_dtype: Any = None,
    into: State | None = None,
    q_origin: int | Integers | None = None,
    k_origin: int | Integers | None = None,
    b_origin: int | None = None,
    h_origin: int | None = None,
    whole: tuple[int, int, int] | None = None,
    dynamic: bool | None = False,
    target: str = "host",
    **words: Unpack[Words],
) -> TensorT | tuple[TensorT, ...]:
    """Scaled dot-product attention (docs/Semantics.md) by a kernel compiled for exactly this problem.

    The first call of a problem compiles (a fraction of a second); later ones find the kernel in a cache. Safe to call
    from several threads; the GIL is released while the kernel runs. The kernel is flash-style (Dao, "FlashAttention-2",
    2023, over Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018): no score matrix is allocated
    unless the weights are returned.

    Args:
      q, k, v: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv), all of one type: float32, float64, float16 or
        bfloat16 (ml_dtypes, torch, JAX). Beside a float32 q, k and v may be float16 or bfloat16; with k_scale and
        v_scale they are int8, float8_e4m3fn or float8_e5m2 (ml_dtypes, torch, JAX). NumPy arrays or anything with
        `__dlpack__` in CPU memory. They are used where they lie if their last dimension is contiguous, whatever their
        strides (slices, transposed and expanded views), others are copied.
      scale: factor on Q·Kᵀ, any real number; None for 1/√D. An array without dimensions is an argument of the kernel,
        which serves all its values, and has a gradient; it lies in CPU memory for a GPU too.
      causal: "top_left" (keeps j ≤ i), "bottom_right" (j ≤ i + kv_len − q_len) or an integer array [B] of offsets
        (j ≤ i + off).
      {words}
      bias: added to the scores, in the type of q, rank 4, each size 1 or that of (B, Hq, Sq, Sk); −inf removes a key.
      mask: bool, true = attend, rank 4, each size 1 or that of (B, Hq, Sq, Sk).
      sink: [Hq] floats, a score a head that takes part in the sum of the softmax only.
      align: the alignment of a window or chunk without causal, spelled as causal is; needed where Sq and Sk differ.
      q_lengths, kv_lengths: [B] integers, effective lengths; later rows give out 0 and lse −inf, later keys and values
        are not used, even if they are NaN.
      score_mod: score_mod(score, b, h, i, j) → score, traced into the kernel: operators, comparisons, the functions of
        attn.functions (attn.where, attn.tanh …), arrays indexed by b, h, i, j. After the scale, before the softcap.
      mask_mod: mask_mod(b, h, i, j) → bool, traced likewise; true = attend.
      alibi_slopes: [Hq] or [B, Hq] floats: −slope · |i + kv_len − q_len − j| is added to each score, behind score_mod
        and softcap, whatever causal says (ALiBi as FlashAttention has it); q_len and kv_len are q_lengths and
        kv_lengths where they are there. Not beside origins. It is traced with score_mod, under this name.
      softcap_first: softcap comes before score_mod, as in FlashAttention, not behind it.
      dropout: (p, seed, offset), Philox4x32-10 by element; the sum of the softmax uses the undropped weights.
      layout: of q, k, v and out: "bhsd", "bshd" for (B, S, H, D), or "bsd" for (B, S, H·D). Bias, mask, lse and weights
        keep their shapes.
      heads: Hq, or (Hq, Hkv), for layout "bsd" only.
      k_scale, v_scale: quantised k and v stand for k_scale·k and v_scale·v: floats [Hkv], one a key head, or
        [B, Hkv, Sk], one a token; used in float32. On a processor one number, or an array of one, is that of all; None
        is 1 of fp8, int8 has to have one, and the number 1 is none of other floats.
      q_scale: a q of float8_e4m3fn or float8_e5m2 stands for q_scale·q: a number, or floats of one element or [Hq]. No
        kernel has such a q: a pass over q widens it to out_dtype, to the type of k, or beside k of 8 bits to bfloat16,
        float32 for an out of 8 bits; q_scale·q is computed in float32 and rounded once.
      out_scale: beside out_dtype of float8_e4m3fn or float8_e5m2: a number or one element; out is out / out_scale, to
        the nearest number, limited to the largest finite one; a NaN stays one. It is a pass over the out of the kernel,
        which has the type of q.
      return_lse: return lse (B, Hq, Sq) too: the natural logarithm of the sum of exp of the scores, −inf for an empty
        row (whose out is 0).
      return_weights: return the weights (B, Hq, Sq, Sk) that multiply V too, in the type of q; slow, materialised.
      return_max, return_log_sum: return max and log_sum (B, Hq, Sq) too: the largest score m of each row, a sink among
        them, and ln Σ exp(score − m), both −inf for an empty row. Their sum is lse, which as one number has no room for
        log_sum where |m| is large; not beside weights.
      return_key_sums: return key_sums (B, Hkv, Sk) in the type of lse too: the weights of each key, summed over the
        queries and the heads that share its head; 0 beyond the lengths. It takes the scores a second time; not beside
        weights.
      out_dtype: of out, and of the gradients of q, k, v and bias: None for the type of q, or float32 beside a q of 16
        bits, for partial results, which are rounded once, behind their sum; or one of 8 bits, as out_scale says.
      into: (out, lse), or (out, (max, log_sum)), of other keys: C-contiguous arrays, which become the results of these
        and the keys of the call, in place; float32, or float64 beside float64. An empty state has lse −inf, whatever
        out holds; a row that keeps no key stays as it is. Not beside return_… or a sink.
      q_origin, k_origin: where rows and keys begin in a whole that q, k and v are a part of, as a device has it: an
        integer, or integers [B]. causal, window, chunk, prefix, score_mod, mask_mod and dropout take row i for
        i + q_origin and key j for j + k_origin, so that they are those of the whole; bias, mask and lengths count the
        rows given. Not beside "bottom_right". For a GPU tensors [B] on the device.
      b_origin, h_origin: where batch and heads begin in it, for score_mod, mask_mod and dropout.
      whole: (Hq, Sq, Sk) of it, by which dropout counts; beside dropout and an origin.
      dynamic: compile for any batch, lengths and, where Hq = Hkv, heads, so that one kernel serves all sizes. None:
        compile for exactly this problem at first, and leave batch and lengths open once they change; so do calls
        whose arrays are all tensors of PyTorch on the CPU, for False too.
      target: "host" or a name in `attn.targets()`. For a GPU ("sm_80"), arrays are in the memory of a CUDA device, and
        the kernel is started on the stream that their library uses; docs/Python.md, "GPUs", says which are accepted.

    Returns:
      out (B, Hq, Sq, Dv) in out_dtype, or a tuple of out and the further results, in the order lse, weights,
      max, log_sum, key_sums. Torch tensors or JAX arrays if q is one, otherwise NumPy arrays; of a GPU arrays of the
      library of q. With into, what it holds: the same objects.

    Raises:
      TypeError: an element type, a device, or the kind of an argument; a function that cannot be traced; an unknown
        keyword, with what to write for keywords of other systems.
      ValueError: a shape or a value, with what was expected and found.
      CompileError: the compiler refused the problem.
    """
    given = locals()
    if target == "host" and _tensor.is_torch(q) and "torch.library" in sys.modules:  # which attn.torch builds on
        from attn.torch import _handed  # PyTorch is there

        made = _handed.sdpa(given)
        if made is not None:
            return made  # type: ignore[return-value]
    return _running.run(DENSE, given)


DENSE = _running.Kind(sdpa, ("q", "k", "v"), _call.dense, _running.forms)


def targets() -> list[str]:
    """The names that `target=` takes."""
    names: bytes = _library.load().attn_targets()
    return names.decode().split()


def get_include() -> str:
    """The folder of the C headers, as `-I` takes it; `python -m attn --include` prints it.

    Programs that call kernels of attnc include `dlpack/dlpack.h` and `attn-c/attn_runtime.h`, those that compile in
    memory `attn-c/attn.h`. A wheel has the libraries of both in the folder above. In a checkout, `dlpack/dlpack.h` is
    the system's.

    Raises:
      FileNotFoundError: there are none, in an installation that is not whole.
    """
    package = Path(__file__).resolve().parent
    folders = [package / "include", package.parents[1] / "include"]
    found = next((x for x in folders if (x / "attn-c" / "attn.h").is_file()), None)
    if found is None:
        raise FileNotFoundError(f"expected attn-c/attn.h in one of {', '.join(map(str, folders))}, found none")
    return str(found)


def set_num_threads(threads: int) -> None:
    """Sets how many threads the kernels of this process use; 0 follows PyTorch again, and without PyTorch OpenMP."""
    if not _checks.is_integer(threads):
        raise TypeError(f"expected a number of threads, found {threads!r}")
    if not 0 <= threads <= _checks.MAX_I32:
        raise ValueError(f"expected a number of threads >= 0 that fits in 32 bits, found {threads}")
    _library.load().attn_set_num_threads(threads)


def get_num_threads() -> int:
    """How many threads the kernels of this process use: what `set_num_threads` says, else what PyTorch says if this
    process has loaded it (`torch.get_num_threads`), else what OpenMP says (`OMP_NUM_THREADS`).
    """
    return int(_library.load().attn_get_num_threads())
