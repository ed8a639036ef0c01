"""The keywords of functions: which one takes, what its docstring says of words, and what to write for others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from attn.kernel import _tensor
from attn.words import _keywords, _words

P = ParamSpec("P")
R = TypeVar("R")  # one a line: pyright reads no other


def explains_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function; called with a keyword of another system, or what JAX traces with, the error says what to write."""
    return explains_options(())(function)


def explains_options(options: Iterable[str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same for a function with **options, which are these."""
    others = sorted(options)

    def explain(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        if parameters[-1].kind is inspect.Parameter.VAR_KEYWORD and not others:  # **words: those of the table
            kinds = _words.Words.__annotations__.items()
            parameters[-1:] = [
                inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=y) for x, y in kinds
            ]
        names = [x.name for x in parameters if x.kind is not inspect.Parameter.VAR_KEYWORD]
        all_names = list(dict.fromkeys([*names, *others]))

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            keywords(function.__name__, kwargs, all_names)
            try:
                return function(*args, **kwargs)
            except Exception:
                for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
                    for x in value if isinstance(value, tuple | list) else [value]:
                        _tensor.refuse_tracer(name, x)
                raise

        call.__doc__ = with_words(function.__doc__)
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return explain


def with_words(docstring: str | None) -> str:
    """The docstring with what each word of the table means in the place of {words}."""
    lines = "\n      ".join(f"{name}: {meaning}" for name, meaning in _words.MEANINGS.items())
    return (docstring or "").replace("{words}", lines)


def keywords(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuses a keyword that a function does not have, and says what to write in its place."""
    unknown = [name for name in given if name not in known]
    if unknown:
        raise _keywords.unknown(function, min(unknown), known)


def words(name: str, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuses what a function of this name with **words was given beside the words of the table."""
    if not given.keys() <= _words.FORMS.keys():
        keywords(name, given, known(function))


def known(function: Callable[..., Any]) -> list[str]:
    """The keywords of a function, with the words of the table where it has **words."""
    parameters = inspect.signature(function).parameters.values()
    has_words = any(x.kind is x.VAR_KEYWORD for x in parameters)
    return [x.name for x in parameters if x.kind is not x.VAR_KEYWORD] + (list(_words.FORMS) if has_words else [])
