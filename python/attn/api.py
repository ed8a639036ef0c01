"""The calls of the package: `sdpa` on arrays, and the threads of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attn import _kernel, _library, _problem, _tensor
from attn._cache import KernelCache
from attn.errors import CompileError

# What of SPEC §5 the compiler does not have yet: argument → (is this value supported?, what is). A feature that
# arrives loses its line here and gains a field in `_problem.Problem`.
NOT_YET: dict[str, tuple[Callable[[Any], bool], str]] = {
    "causal": (lambda x: x is None or isinstance(x, str | bool), '"top_left" or "bottom_right"'),
    "sink": (lambda x: x is None, "None"),
    "align": (lambda x: x is None or isinstance(x, str), '"top_left" or "bottom_right"'),
    "q_lengths": (lambda x: x is None, "None"),
    "kv_lengths": (lambda x: x is None, "None"),
    "score_mod": (lambda x: x is None, "None"),
    "mask_mod": (lambda x: x is None, "None"),
    "dropout": (lambda x: x is None, "None"),
    "return_weights": (lambda x: not x, "False"),
}

kernels = KernelCache()


def sdpa(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | None = None,
    causal: Any = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    bias: Any = None,
    mask: Any = None,
    sink: Any = None,
    align: Any = None,
    q_lengths: Any = None,
    kv_lengths: Any = None,
    score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    dropout: tuple[float, int, int] | None = None,
    layout: str = "bhsd",
    return_lse: bool = False,
    return_weights: bool = False,
    target: str = "host",
) -> Any:
    """Scaled dot-product attention by a kernel compiled for exactly this problem; SPEC §2 says what it computes.

    The first call of a problem compiles (a fraction of a second); later ones find the kernel in a cache. Safe to call
    from several threads; the GIL is released while the kernel runs. The kernel is flash-style (Dao, "FlashAttention-2",
    2023, over Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018): no score matrix is allocated.

    Args:
      q, k, v: (B, Hq, Sq, D), (B, Hkv, Sk, D), (B, Hkv, Sk, Dv), all float32 or all float64: NumPy arrays or anything
        with `__dlpack__` in CPU memory. C-contiguous ones are used where they lie, others are copied.
      scale: factor on Q·Kᵀ, any real number; None for 1/√D.
      causal: "top_left" (keeps j ≤ i) or "bottom_right" (keeps j ≤ i + Sk − Sq).
      softcap: c > 0 of c·tanh(s / c), in score units, before the bias.
      bias: added to the scores, in the type of q, rank 4, each size 1 or that of (B, Hq, Sq, Sk); −inf removes a key.
      mask: bool, true = attend, rank 4, each size 1 or that of (B, Hq, Sq, Sk).
      return_lse: return lse (B, Hq, Sq) too: the natural logarithm of the sum of exp of the scores, −inf for an empty
        row (whose out is 0).
      target: "host" or a name in `attn.targets()`.
      window: (L, R), inclusive and ≥ 0, None for unbounded: keeps i + off − L ≤ j ≤ i + off + R, where off is that of
        causal or align.
      align: the alignment of a window without causal, spelled as causal is; needed where Sq and Sk differ.
      layout: "bhsd", or "bshd" for q, k, v and out as (B, S, H, D); bias, mask and lse keep their shapes.
      sink, q_lengths, kv_lengths, score_mod, mask_mod, dropout, return_weights, offsets as causal or align: as SPEC §5;
        not in the compiler yet, refused with CompileError. `attn.reference.sdpa` has them.

    Returns:
      out (B, Hq, Sq, Dv) in the type of q, or (out, lse). Torch tensors where q is one, otherwise NumPy arrays.

    Raises:
      TypeError: an element type, a device, or the kind of an argument.
      ValueError: a shape or a value, with what was expected and found.
      CompileError: the compiler refused the problem, or does not have the feature yet.
    """
    given = {
        "causal": causal,
        "sink": sink,
        "align": align,
        "q_lengths": q_lengths,
        "kv_lengths": kv_lengths,
        "score_mod": score_mod,
        "mask_mod": mask_mod,
        "dropout": dropout,
        "return_weights": return_weights,
    }
    for name, (supports, expected) in NOT_YET.items():
        if not supports(given[name]):
            raise CompileError(
                f"{name} is not supported by the compiler yet: expected {expected}, found {given[name]!r}"
            )

    named = {"q": q, "k": k, "v": v, "bias": bias, "mask": mask}
    arrays: dict[str, Any] = {name: None if x is None else _tensor.as_array(name, x) for name, x in named.items()}
    problem = _problem.of(
        **arrays,
        scale=scale,
        causal=causal,
        window=window,
        align=align,
        softcap=softcap,
        layout=layout,
        return_lse=return_lse,
    )
    kernel = kernels.get((problem, target), lambda: _kernel.compile(problem.line(), target))
    return kernel(*(x for x in named.values() if x is not None))


def targets() -> list[str]:
    """The names that `target=` takes."""
    names: bytes = _library.load().attn_targets()
    return names.decode().split()


def set_num_threads(threads: int) -> None:
    """Sets how many threads the kernels of this process use; 0 restores OpenMP's own setting."""
    if threads < 0:
        raise ValueError(f"expected a number of threads >= 0, found {threads}")
    _library.load().attn_set_num_threads(threads)


def get_num_threads() -> int:
    """How many threads the kernels of this process use."""
    return int(_library.load().attn_get_num_threads())
