"""Calls of linear attention: a state that each token decays, erases from, writes to and reads."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _call, _checks, _elements, _linear_checks, _pages, _running
from attn.kernel import _cuda, _kernel, _tensor
from attn.kernel._cache import plans
from attn.words import _signatures
from attn.words._types import Integers, Tensor, TensorT

Array = npt.NDArray[Any]

LAYOUTS = ("bhsd", "bshd")
# Up to so many tokens a kernel is compiled for their number, from there on for any.
MAX_STEP = 8
NO_POOL = "expected state, a pool, beside slots, found none"


@_signatures.explains_arguments
def linear_attention(
    q: TensorT,
    k: Tensor,
    v: Tensor,
    *,
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
    every: int | None = None,
    layout: str = "bhsd",
    return_state: bool = False,
    target: str = "host",
) -> TensorT | tuple[TensorT, Any] | tuple[TensorT, Any, TensorT]:
    """Linear attention (docs/Semantics.md): the gated delta rule and its family, with a state of fixed size.

    A sequence and value head has a state S (Dk, Dv). For each token, with D = diag(exp(decay)):

        e = (D S)ᵀ erase, or Sᵀ erase with before;  S = D S + write eᵀ + k vᵀ;  out = scale · Sᵀ q

    With beta, erase is −beta · k, write is k, and v is beta · v: the gated delta rule (Yang et al., "Gated Delta
    Networks", 2024). Without beta and erase nothing is erased. docs/Semantics.md has a table of ten families: linear,
    RetNet, lightning, GLA, Mamba-2, DeltaNet, GDN, KDA, GDN-2, Comba, RWKV-7. Kernels are compiled for exactly this
    problem but for the batch and more than a few tokens, which are open, and found in a cache.

    Args:
      q, k: (B, Hk, T, Dk), of one type with v: float32, float64, float16 or bfloat16. Value head h reads key head
        h div (Hv / Hk); where a model has h mod Hk, as in ggml, permute the heads first. NumPy arrays or anything with
        `__dlpack__` in CPU memory; arrays that are not C-contiguous are copied.
      v: (B, Hv, T, Dv), Hv a multiple of Hk.
      decay: natural logarithms ≤ 0, (B, Hv, T), or (B, Hv, T, Dk) for one a channel of the key; any size, −inf forgets
        the state. None for none. decay and beta have the type of the state, or are narrower floats.
      beta: (B, Hv, T), most often in (0, 1); not beside erase. Where beta · Σ k² is above 2, the recurrence itself
        grows without bound: normalize keys.
      erase, write: (B, Hv, T, Dk), in the type of q; write is k where it is None.
      before: erase reads the state in front of the decay (Comba, RWKV-7).
      scale: factor on out; None for 1/√Dk. Mamba-2 and RWKV-7 have 1.
      normalize: ε > 0; rows x of q and k become x / √(Σ x² + ε) first. True for 1e-6, None for none.
      state: the states in front of the first tokens, (B, Hv, Dk, Dv), float32, or float64 beside float64, C-contiguous.
        It is read and written in place: behind the call it holds those behind the last tokens. With slots it is a pool
        (places, Hv, Dk, Dv). None for 0.
      cu_seqlens: [B + 1] integers, exclusive prefix sums of the lengths of sequences that are packed one after the
        other: then all arrays with tokens are (T, heads, ·), T the sum of the lengths.
      slots: [B] integers, the place of each sequence in the pool, each place once; −1 for none: such a sequence starts
        from 0 and leaves no state.
      every: n ≥ 1, to return the states behind the tokens n, 2n, … too, to go back to one where drafts are refused.
        Each n tokens are then a run of the kernel; not beside cu_seqlens.
      layout: "bhsd", or "bshd" where tokens stand in front of heads in all arrays but the state, in out too.
      return_state: return the state too, also where none is given.
      target: a processor, as in `sdpa`.

    Returns:
      out (B, Hv, T, Dv), packed (T, Hv, Dv), in the type of q; or (out, state) where a state is given or asked for: the
      object given, or a new one. With every the snapshots (B, T // every, Hv, Dk, Dv) stand last, also behind out
      alone. Torch tensors or JAX arrays if q is one, otherwise NumPy arrays.

    Raises:
      TypeError: an element type, a device, or the kind of an argument.
      ValueError: a shape or a value, with what was expected and found. Nothing is written.
      CompileError: the compiler refused the problem.
    """
    given = {"q": q, "k": k, "v": v, "decay": decay, "beta": beta, "erase": erase, "write": write, "state": state}
    if every is not None:
        how = {"before": before, "scale": scale, "normalize": normalize, "layout": layout, "target": target}
        return _with_snapshots(every, given, cu_seqlens, slots, return_state, how)
    arrays = {name: _tensor.as_array(name, x) for name, x in given.items() if x is not None}
    sums = None if cu_seqlens is None else _pages.cu_seqlens("cu_seqlens", cu_seqlens, len(arrays["k"]))
    words = (before, scale, normalize, None if sums is None else sums.size - 1, slots is not None, layout)
    forms = [(name, x.shape, x.dtype) for name, x in arrays.items()]
    key: Hashable = (linear_attention, target, *forms, *words, *map(type, words))
    made = plans.get(key) or plans.keep(key, _Made.of(arrays, target, *words))
    places = None
    if slots is not None:
        places = _linear_checks.slots(slots, made.sizes.b, len(arrays["state"]))
    if sums is not None:
        sums, places = made.with_empty_sequences(sums, places)
    old = arrays.pop("state", None)
    result = None if state is None else state
    if old is None:
        old, result = _tensor.new(made.accumulation.name, list(made.sizes.state), q)
        old[...] = 0
    else:
        _check_writable(old, made.accumulation)
    integers = [_call.as_i32(x) for x in (sums, places) if x is not None]
    out = made.run([*arrays.values(), *integers], old, q)
    if state is not None:
        _tensor.count_writes((state,))
    if state is None and not _checks.flag("return_state", return_state):
        return out
    return out, _tensor.like(old, q) if result is None else result


def _with_snapshots(
    every: Any, given: dict[str, Any], cu_seqlens: Any, slots: Any, return_state: Any, how: dict[str, Any]
) -> Any:
    """The results of a call that keeps states on the way: parts of its tokens, one after the other."""
    count = _linear_checks.every(every)
    if count is None or cu_seqlens is not None:
        raise ValueError("expected every without cu_seqlens, found both; write a call for each sequence")
    q, state = given["q"], given["state"]
    rows = {name: _tensor.as_array(name, x) for name, x in given.items() if x is not None}
    is_swapped, is_pool = how["layout"] == "bshd", slots is not None
    shapes = {name: _swapped(x.shape) if is_swapped and name != "state" else x.shape for name, x in rows.items()}
    sizes = _linear_checks.sizes(shapes, None, is_pool=is_pool, before=how["before"])
    axis, pool = 1 if is_swapped else 2, rows.pop("state", None)
    own, places = pool, np.arange(sizes.b)
    if slots is not None:
        if pool is None:
            raise ValueError(NO_POOL)
        _check_writable(pool, pool.dtype)
        places = _linear_checks.slots(slots, sizes.b, len(pool))
        own = np.where((places == _linear_checks.NO_SLOT)[:, None, None, None], 0, pool[places]).astype(pool.dtype)
    outs, snapshots = [], []
    for first in range(0, max(sizes.t, 1), count):
        part = {name: x[(slice(None),) * axis + (slice(first, first + count),)] for name, x in rows.items()}
        out, own = linear_attention(**part, state=own, return_state=True, **how)
        outs.append(out)
        if out.shape[axis] == count:
            snapshots.append(own.copy())
    if pool is not None and is_pool:
        has_slot = places != _linear_checks.NO_SLOT
        pool[places[has_slot]] = own[has_slot]
    results = [_tensor.like(np.concatenate(outs, axis), q)]
    if state is not None:
        _tensor.count_writes((state,))
        results.append(state)
    elif _checks.flag("return_state", return_state):
        results.append(_tensor.like(own, q))
    kept = np.stack(snapshots, 1) if snapshots else np.zeros((sizes.b, 0, *sizes.state[1:]), own.dtype)
    return (*results, _tensor.like(kept, q))


class _Made(NamedTuple):
    """The kernel of calls of one form.

    Attributes:
      types: of its inputs that are no integers.
      accumulation: the type of the state.
      out: the shape of the result.
    """

    kernel: _kernel.Kernel
    sizes: _linear_checks.Sizes
    types: list[np.dtype[Any]]
    accumulation: np.dtype[Any]
    out: tuple[int, ...]

    @classmethod
    def of(
        cls,
        arrays: dict[str, Array],
        target: str,
        before: Any,
        scale: Any,
        normalize: Any,
        sequences: int | None,
        is_pool: bool,
        layout: Any,
        grad: tuple[str, ...] = (),
    ) -> _Made:
        """For calls with arrays like these, and these words; with grad for their gradients, that of state too."""
        _cuda.refuse_gpu("linear_attention", target, "linear attention has no GPU kernels yet")
        if layout not in LAYOUTS or (layout != LAYOUTS[0] and sequences is not None):
            raise ValueError(
                f'expected layout to be "bhsd" or "bshd", and left out beside cu_seqlens, found {layout!r}'
            )
        if is_pool and "state" not in arrays:
            raise ValueError(NO_POOL)
        is_swapped = layout == "bshd"
        shapes = {name: _swapped(x.shape) if is_swapped and name != "state" else x.shape for name, x in arrays.items()}
        before, epsilon = _checks.flag("before", before), _linear_checks.normalize(normalize)
        sizes = _linear_checks.sizes(shapes, sequences, is_pool=is_pool, before=before)
        rows = {name: arrays[name] for name in ("k", "v", "erase", "write") if name in arrays}
        dtype = _elements.element_type(arrays["q"], **rows)
        accumulation = np.dtype(np.float64 if dtype == "f64" else np.float32)
        types = [_type(name, x, accumulation) for name, x in arrays.items() if name != "state"]
        is_channel = "decay" in arrays and arrays["decay"].ndim == arrays["k"].ndim
        is_open = sizes.t > MAX_STEP or sequences is not None
        values: list[tuple[str, Any]] = [
            ("decay", None if "decay" not in arrays else "channel" if is_channel else "head"),
            *((name, name in arrays) for name in ("beta", "erase", "write")),
            ("before", before),
            ("normalize", None if epsilon is None else repr(epsilon)),
            ("scale", None if scale is None else repr(_checks.scale(scale, sizes.dk))),
            ("slots", "?" if is_pool or sequences is not None else None),
            ("layout", "varlen" if sequences is not None else "bshd" if is_swapped else None),
        ]
        words = [name if x is True else f"{name}={x}" for name, x in values if x is not None and x is not False]
        tokens = "?" if is_open else str(sizes.t)
        batch = "?" if sequences is None else _rounded(sequences)
        line = f"linear b{batch} hq{sizes.hv} hkv{sizes.hk} sq{tokens} d{sizes.dk} dv{sizes.dv} {dtype}"
        if grad:
            words.append(f"grad={','.join([*[x for x in grad if x != 'state'], 'state'])}")
        kernel = _running.compiled(" ".join([line, *words]), target, "linear_backward" if grad else None)
        return cls(kernel, sizes, types, accumulation, arrays["v"].shape)

    def with_empty_sequences(self, sums: Array, places: Array | None) -> tuple[Array, Array]:
        """Prefix sums and slots with sequences of no tokens and no slot behind them, as many as the kernel has."""
        count = self.sizes.b
        more = (0, _rounded(count) - count)
        places = np.arange(count) if places is None else places
        return np.pad(sums, more, "edge"), np.pad(places, more, constant_values=_linear_checks.NO_SLOT)

    def run(self, inputs: list[Array], state: Array, model: Any) -> Any:
        """The result of a call, whose state is written in place."""
        if 0 in self.out:
            return _tensor.like(np.zeros(self.out, inputs[0].dtype), model)
        given = [x.astype(y, copy=False) for x, y in zip(inputs, self.types, strict=False)]
        places = tuple([state if x["name"] == "state" else None for x in self.kernel.outputs])
        results = self.kernel.run([*given, *inputs[len(given) :]], model, places)
        return results if len(places) == 1 else results[[x is None for x in places].index(True)]


def _rounded(sequences: int) -> int:
    """For how many packed sequences there is a kernel: a power of two, so that a few serve all steps."""
    return 1 << (sequences - 1).bit_length()


def _swapped(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with heads in front of tokens."""
    return (shape[0], *shape[2:0:-1], *shape[3:])


def _type(name: str, array: Array, accumulation: np.dtype[Any]) -> np.dtype[Any]:
    """The type that a kernel takes an array of this name in.

    Raises:
      TypeError: it is no float, or wider than the state.
    """
    if name not in ("decay", "beta"):
        return array.dtype
    if _tensor.type_name(array.dtype) not in _elements.TYPE_NAMES or array.dtype.itemsize > accumulation.itemsize:
        raise TypeError(
            f"expected {name} in {accumulation}, the type of the state, or a narrower float, found {array.dtype}; "
            f"write {name}.astype(np.{accumulation})"
        )
    return accumulation


def _check_writable(state: Array, accumulation: np.dtype[Any]) -> None:
    """Raises where a kernel cannot write a state in place."""
    if state.dtype != accumulation:
        raise TypeError(f"expected state in {accumulation}, found {state.dtype}; write state.astype(np.{accumulation})")
    if not state.flags.c_contiguous:
        raise ValueError(f"expected state to be C-contiguous, as it is written in place, found strides {state.strides}")
    if not state.flags.writeable:
        raise ValueError("expected state to be writable, found a read-only array")
