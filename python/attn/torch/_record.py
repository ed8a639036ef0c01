"""What the arguments of attn's operators of PyTorch share: a call is a NamedTuple whose fields are the schema.

The words of the table stand last, as one field of a call and one by one in the operator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_type_hints

import torch

from attn.call import _checks
from attn.torch import _place
from attn.trace import _trace
from attn.words import _words

Tensor = torch.Tensor
KINDS = {"Bounds": "int[]?", "Integer": "int?", "Positive": "float?"}
NO_WORDS = (None,) * len(_words.FORMS)
NO_BOUND = _checks.UNBOUNDED  # of a window: None
CAPTURE = "captures."  # and a number: one of the tensors that functions of scores read
# Fields of calls that are no keywords of attn's functions: they stand for others, or say what is returned.
OTHERS = {"captures", "offsets", "seeds", "dropout", "regions", "captured", "with_sums", "words"}


def schema(cls: type[Any]) -> str:
    """The arguments of an operator whose calls are of this kind."""
    hints, defaults = get_type_hints(cls), cls._field_defaults
    parts = []
    for name in cls._fields[:-1]:
        kind = str(getattr(hints[name], "__name__", hints[name]) if hints[name] in (str, bool, Tensor) else hints[name])
        kind = kind.replace("torch.Tensor", "Tensor").replace(" | None", "?")
        kind = kind.replace("list[Tensor]", "Tensor[]").replace("list[int]", "int[]")
        default = defaults.get(name)
        value = json.dumps(default) if isinstance(default, str) else str(default)
        parts.append(f"{kind} {name}" + (f"={value}" if name in defaults else ""))
    return ", ".join([*parts, *[f"{KINDS[form]} {name}=None" for name, form in _words.FORMS.items()]])


def of(cls: type[Any], arguments: tuple[Any, ...]) -> Any:
    """The call that an operator is called with; PyTorch drops trailing defaults."""
    count = len(cls._fields) - 1
    given = tuple(arguments[count:])
    call = cls(*arguments[:count], words=given + NO_WORDS[len(given) :])
    # Of an empty list AOTInductor hands over none.
    return call._replace(captures=[]) if getattr(call, "captures", ()) is None else call


def flat(call: Any) -> tuple[Any, ...]:
    """The arguments of the operator, the words one by one."""
    return (*call[:-1], *(call.words or NO_WORDS))


def tensors(call: Any) -> dict[str, Tensor]:
    """The tensors by name; those that functions read by that of the function's argument."""
    found = {name: x for name, x in zip(call._fields, call, strict=True) if isinstance(x, Tensor)}
    captures = getattr(call, "captures", ())
    return found | (dict(zip(call.captured.split(","), captures, strict=True)) if captures else {})


def functions(call: Any) -> _trace.Regions:
    """The functions of a call that has captures, in whose sizes they are."""
    names = tuple(call.captured.split(",")) if call.captured else ()
    return _trace.sized(call.regions, names, tuple([tuple(x.shape) for x in call.captures]))


def input_of(call: Any, name: str) -> Tensor:
    """What has the gradient `name`: an argument, or a captured tensor by its number."""
    is_captured = name.startswith(CAPTURE)
    tensor: Tensor = call.captures[int(name.removeprefix(CAPTURE))] if is_captured else getattr(call, name)
    return tensor


def flat_words(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of words as operators take them; None of those that are not there."""
    words = {name: given.get(name) for name in _words.FORMS}
    for name, form in _words.FORMS.items():
        if form == "Bounds" and words[name] is not None:
            if words[name] == NO_BOUND:
                words[name] = (None, None)
            words[name] = [NO_BOUND if bound is None else bound for bound in words[name]]
    return tuple(words.values())


def words(call: Any) -> dict[str, Any]:
    """The words of a call that are there."""
    found = {name: x for name, x in zip(_words.FORMS, call.words, strict=True) if x is not None}
    for name, x in found.items():
        if _words.FORMS[name] == "Bounds":
            found[name] = tuple([None if bound == NO_BOUND else bound for bound in x])
    return found


def options(call: Any) -> dict[str, Any]:
    """The keywords of attn's function that run a call where its tensors are, beside its operands.

    Offsets and what dropout draws by are in their place, and functions; errors are those of `_place.options`.
    """
    fields = list(zip(call._fields, call, strict=True))[call.operands :]
    named = {name: x for name, x in fields if name not in OTHERS} | words(call)
    if call.offsets is not None:  # causal or align is a word for where they go
        named["causal" if call.causal is not None else "align"] = call.offsets
    if named.get("whole") is not None:
        named["whole"] = tuple(named["whole"])
    if getattr(call, "dropout", None) is not None:
        named["dropout"] = (call.dropout, *call.seeds.tolist())
    if getattr(call, "regions", ""):
        named["score_mod"] = _trace.Traced(functions(call), tuple(x.detach() for x in call.captures))
    given = {name: x for name, x in named.items() if x is not None} | {"dynamic": call.dynamic}
    return _place.options(call.tensors(), given)


def offsets(causal: Any, align: Any) -> tuple[Any, str | None, str | None]:
    """Offsets among both, and words for where a diagonal lies; of offsets any, to say whose they are."""
    given = next((x for x in (causal, align) if x is not None and not isinstance(x, str)), None)
    return given, *[x if x is None or isinstance(x, str) else "top_left" for x in (causal, align)]


def integers(value: Any, device: torch.device) -> Tensor | None:
    """Integers: a tensor where it is, numbers on the device of the queries."""
    return value if value is None or isinstance(value, Tensor) else torch.as_tensor(value, device=device)
