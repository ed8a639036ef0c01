"""Runs a call of the package by the kernel that is remembered for its forms, or by one that is made for all it has."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from attn.call import _call, _checks, _float8, _into, _scores
from attn.kernel import _compile, _cuda, _kernel, _tensor
from attn.kernel._cache import KernelCache, plans
from attn.words import _words

kernels = KernelCache()

RETURNED = ("return_lse", "return_weights", "return_max", "return_log_sum", "return_key_sums")
WHERE = ("target", "dynamic")  # and how a call runs, which is no part of it
RESULTS = ("out",)  # where results go
# What is an argument of the kernel or a part of its code, where it is there: nothing is remembered by it.
GIVEN = frozenset({*_words.ARRAYS, *_words.PRESENT, "score_mod", "mask_mod", "alibi_slopes", "dropout"}) - {
    "causal",
    "align",
}


class Kind:
    """A function of the package."""

    def __init__(
        self,
        function: Callable[..., Any],
        operands: tuple[str, ...],
        call: Callable[..., _call.Call],
        forms: Callable[..., tuple[list[Any], tuple[Any, ...]] | None],
    ) -> None:
        """For calls of this function.

        Args:
          function: it, whose other keywords are those of `_problem.Given`.
          operands: the names of what each call has.
          call: makes the call of operands for a target, with options.
          forms: what the kernel takes of operands for a target, of any sizes or not, and all that the problem depends
            on of them: no value counts. None for what is prepared each time.
        """
        self.function, self.operands, self.call, self.forms = function, operands, call, forms
        self.has_lengths = "kv_lengths" in operands
        others = {*operands, *WHERE, *RESULTS, *_float8.SCALES, *_words.FORMS}
        self.options = [x for x in inspect.signature(function).parameters if x not in others]
        self.constants = [x for x in self.options if x not in GIVEN]
        self.get_constants = operator.itemgetter(*self.constants)
        self.get_given = operator.itemgetter(*[x for x in self.options if x in GIVEN])


def run(kind: Kind, given: dict[str, Any]) -> Any:
    """What a function of this kind returns that was called with these arguments."""
    if _float8.is_needed(given["q"], given["q_scale"], given["out_dtype"], given["out_scale"]):
        q, words = given.pop("q"), given.pop("words")
        axis = {"bshd": 2, "bsd": None}.get(given.get("layout", ""), 1)
        return _float8.around(kind.function, q, axis, given | words)
    operands = {name: given[name] for name in kind.operands}
    into, target, dynamic, words, state = given["into"], given["target"], given["dynamic"], given["words"], None
    out = given.get("out")
    if out is not None:
        state = _into.place(out, into, sum(given.get(x) is True for x in RETURNED))
        if state is None:
            _into.check_apart(out, operands)
            return _into.copied(out, run(kind, given | {"out": None}))
    if into is None:
        given["into"] = ()
    else:
        returned, state = _into.of(into, {x: given[x] for x in RETURNED if x in given}, given["sink"], target)
        given |= returned
    if not [x for x in kind.get_given(given) if x is not None] and not _has_values(kind, given):
        # Of one type and value, since True is no number, though it has the hash of 1.
        constants = (dynamic, *kind.get_constants(given), *words.values())
        try:
            found = kind.forms(target, dynamic, **operands)
            if found is not None:
                inputs, form = found
                key = (kind, target, form, constants, tuple(map(type, constants)), *words)
                kernel = plans.get(key) or plans.keep(key, _made(kind, given)[0])
                return _into.result(into, kernel.run(inputs, operands["q"], state))
        except (TypeError, ValueError, IndexError):
            pass  # a constant is a list, which nothing can be remembered by; or an error, found again
    kernel, inputs = _made(kind, given)
    return _into.result(into, kernel.run(inputs, operands["q"], state))


def _has_values(kind: Kind, given: dict[str, Any]) -> bool:
    """Whether there are offsets, which may have a hash, a scale that is an argument of the kernel, or a word that is
    placed only where lengths are equal.
    """
    causal, align = given["causal"], given["align"]
    are_words = (causal is None or isinstance(causal, str)) and (align is None or isinstance(align, str))
    if not are_words or hasattr(given["scale"], "__dlpack__"):
        return True
    return kind.has_lengths and causal is align is None and bool(_checks.placed(given["words"]))


def _made(kind: Kind, given: dict[str, Any]) -> tuple[_kernel.Kernel, list[Any]]:
    """The kernel of a call with these arguments, and what it takes."""
    return prepared(
        kind.call, **{name: given[name] for name in (*kind.operands, *WHERE, *kind.options)}, **given["words"]
    )


def prepared(
    make: Callable[..., _call.Call],
    *operands: Any,
    target: str = "host",
    score_mod: Any = None,
    mask_mod: Any = None,
    dynamic: bool | None = False,
    **options: Any,
) -> tuple[_kernel.Kernel, list[Any]]:
    """The kernel of a call that is made of these operands and options, and what it takes."""
    scored = _scores.taken(options, score_mod, mask_mod)
    call = make(*operands, target=target, **options)
    source, traced = call.traced(scored(call.problem, target), mask_mod, dynamic=dynamic)
    return compiled(source, target), [*call.inputs, *traced.arrays]


def forms(target: str, dynamic: Any = None, **given: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """What a kernel takes of tensors, and their shapes, types, and whether they are views, whether sizes are open."""
    if _cuda.is_target(target):
        device = _cuda.device_of(given)
        return list(given.values()), tuple([(*device.form(name, x), device.is_view(x)) for name, x in given.items()])
    arrays = [_tensor.as_array(name, x) for name, x in given.items()]
    return arrays, tuple([(x.shape, x.dtype, _tensor.is_view(x)) for x in arrays])


def compiled(source: str, target: str, name: str | None = None) -> _kernel.Kernel:
    """The kernel of a problem or an IR file, that of this name or the first, from the cache."""
    return kernels.get((source, target, name), lambda: _compile.compile(source, target, name=name))
