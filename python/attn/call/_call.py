"""A call of `attn.sdpa` as its kernel has it: the problem, and the arrays and numbers in order."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attn.call import _checks, _elements, _lengths, _origins, _problem
from attn.call._problem import Given
from attn.kernel import _cuda, _device, _tensor
from attn.trace import _trace
from attn.words import _words

Array = npt.NDArray[Any]


class Call(NamedTuple):
    """A call that is ready for its kernel.

    Attributes:
      problem: what the kernel is compiled for, without functions, with the sizes of this call.
      scores: below what the indices of functions run, (B, Hq, Sq, Sk).
      inputs: what the kernel takes before captured arrays: NumPy arrays, or for a GPU arrays on a device.
      target: of the kernel.
      origins: where the indices of functions begin.
    """

    problem: _problem.Problem
    scores: tuple[int, ...]
    inputs: list[Any]
    target: str
    origins: _origins.Origins = _origins.Origins()

    def traced(self, score_mod: Any, mask_mod: Any, *, dynamic: bool | None) -> tuple[str, _trace.Traced]:
        """The source of the kernel, and its functions, traced.

        Args:
          score_mod, mask_mod: as in `sdpa`; or both together, traced before.
          dynamic: leave the sizes open; None where they change.
        """
        problem = self.problem
        is_view = _device.is_view if _cuda.is_target(self.target) else _tensor.is_view
        if any(is_view(x) for x in self.inputs):
            problem = dataclasses.replace(problem, strided=True)
        is_traced = isinstance(score_mod, _trace.Traced)  # as attn.torch and attn.jax have functions
        if problem.sizes.b == 0 or (dynamic is not None and _checks.flag("dynamic", dynamic)):
            if dynamic and problem.paged:
                _check_dynamic(problem)
            problem = problem.with_dynamic_sizes()  # no kernel is compiled for an empty batch alone
        elif dynamic is None:
            problem = _lengths.seen.serve(problem, self.target, score_mod.regions.form if is_traced else "")
        if is_traced:
            return problem.text(score_mod.regions.fill(problem.open_sizes())), score_mod
        result = _trace.trace(
            score_mod,
            mask_mod,
            self.scores,
            problem.score_dtype,
            open_indices=problem.open_indices(),
            is_on_device=_cuda.is_target(self.target),
            origins=self.origins,
        )
        return problem.text(result.regions.text), result


def dense(q: Any, k: Any, v: Any, target: str, **options: Any) -> Call:
    """A call of `sdpa`, which has these options, but for functions."""
    arrays, options, tensors = split(target, {"q": q, "k": k, "v": v}, options)
    given = Given(**options)
    problem, others = prepare(*arrays, given)
    inputs = [*arrays, *others] if tensors is None else [*tensors, *numbers_of(problem, others)]
    return Call(problem, problem.sizes.scores, inputs, target, origins_of(problem.sizes, given))


def split(
    target: str, operands: dict[str, Any], options: dict[str, Any], **behind: Any
) -> tuple[list[Array], dict[str, Any], list[Any] | None]:
    """Operands as arrays of NumPy, or stand-ins for what is on a device; options with what is behind them; and tensors.

    Tensors are all of a call on a device, in the order of its kernel: operands, options that are arrays, and `behind`.
    """
    named = operands | {name: options.get(name) for name in _words.ARRAYS} | behind
    named, tensors = _cuda.split(target, named)
    arrays = [_tensor.as_array(name, named.pop(name)) for name in operands]
    for name in ("bias", "mask", "sink"):
        named[name] = None if named[name] is None else _tensor.as_array(name, named[name])
    missing = next((name for name in ("k_scale", "v_scale") if named[name] is None), None)
    if tensors is not None and missing and _elements.KEY_NAMES.get(arrays[1].dtype.name) in _elements.FP8:
        raise TypeError(f"expected {missing} beside k and v of fp8 on a GPU, found none; write ones, one a key head")
    return arrays, options | named, tensors


def origins_of(sizes: _checks.Sizes, given: Given) -> _origins.Origins:
    """The origins of a call, which are checked already."""
    return _origins.of(sizes, None, {}, **given.places())


def prepare(
    q: Array, k: Array, v: Array, given: Given, sums: tuple[Array, ...] = (), **packed: Any
) -> tuple[_problem.Problem, list[Array]]:
    """The problem of a call, and what its kernel takes after q, k, v, in order: tensors, then numbers.

    `sums` are the prefix sums of packed sequences, and `packed` is as in `_problem.of`.
    """
    problem = _problem.of(q, k, v, given, **packed)
    dense = [x for x in (given.bias, given.mask) if x is not None]
    dense += [] if given.sink is None else [as_sink(given.sink, problem)]
    lengths = [x for x in (given.q_lengths, given.kv_lengths) if x is not None]
    shapes = _problem.scale_shapes(problem.sizes, given)
    scales, _ = _problem.key_scales(problem.kv, given.k_scale, given.v_scale, shapes)
    places = origins_of(problem.sizes, given)
    starts = [*offsets(given.causal, given.align), *[x for x in (places.q, places.k) if x is not None], *sums]
    integers = [*map(as_i32, lengths), *scales, *map(as_i32, starts)]
    words = [] if given.dropout is None else _checks.dropout(given.dropout)[1:]
    seeds = [np.asarray(word, np.uint64).view(np.int64) for word in words]
    seeds += [np.asarray(x, np.int64) for x in places.numbers]
    return problem, [*dense, *integers, *seeds, *as_scale(given.scale, problem)]


def as_i32(value: Any) -> Array:
    """Integers as kernels take them; their range is checked before."""
    return _tensor.as_numbers("integers", value).astype(np.int32)


def as_sink(sink: Any, problem: _problem.Problem) -> Array:
    """Sinks, checked, in the type of the scores, whatever float type they have."""
    array = _checks.sink(_tensor.as_array("sink", sink), problem.sizes.hq)
    return array.astype(np.float64 if problem.score_dtype == "f64" else np.float32)


def as_scale(scale: Any, problem: _problem.Problem) -> list[Array]:
    """A scale that is an argument, in the type of the scores; nothing where it is none."""
    array = _tensor.as_scalar("scale", scale)
    return [] if array is None else [array.astype(np.float64 if problem.score_dtype == "f64" else np.float32)]


def numbers_of(problem: _problem.Problem, others: list[Array]) -> list[Array]:
    """What a kernel takes by value, of what it takes after q, k and v."""
    return others[len(others) - problem.numbers :]


def offsets(*alignments: Any) -> list[Any]:
    """The one alignment that is an array of offsets, if any."""
    return [x for x in alignments if x is not None and not isinstance(x, str)]


def _check_dynamic(problem: _problem.Problem) -> None:
    """Raises where arrays of a paged call have a size for each key, as a kernel for any number of pages has not."""
    by_key = [name for name, x in (("a bias", problem.bias), ("a mask", problem.mask)) if x is not None and x[3] != 1]
    by_key += ["k_scale and v_scale a token"] if problem.kv_scale == "token" else []
    if by_key:
        raise ValueError(
            f"expected {by_key[0]} without dynamic=True: a kernel for any number of pages has no number of keys "
            "for it; leave dynamic out"
        )
