"""The keyword `into`: arrays that a call adds to in place of making new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attn.kernel import _cuda, _tensor

OF_SUMS = ("float32", "float64")


def of(into: Any, returned: dict[str, Any], sink: Any, target: str) -> tuple[dict[str, Any], tuple[Any, ...] | None]:
    """What a call of `sdpa` returns, as options of its problem, and the arrays that hold it before; None without into.

    Args:
      into: as in `sdpa`.
      returned: the keywords return_… of the call.
      sink, target: of the call.

    Raises:
      TypeError, ValueError: into holds something else, or stands beside what has no meaning there.
    """
    if into is None:
        return returned, None
    is_pair = isinstance(into, tuple | list) and len(into) == 2
    if not is_pair or (isinstance(into[1], tuple | list) and len(into[1]) != 2):
        raise TypeError(f"expected into to be (out, lse) or (out, (max, log_sum)), found {_named(into)}")
    asked = next((name for name, x in returned.items() if x), None)
    if asked is not None:
        raise ValueError(f"expected no {asked} beside into, which says what is returned; leave it out")
    if sink is not None:
        raise ValueError("expected no sink beside into, where it would count again; give it to the call of the state")
    has_terms = isinstance(into[1], tuple | list)
    names = ("max", "log_sum") if has_terms else ("lse",)
    state = (into[0], *(into[1] if has_terms else into[1:]))
    for name, x in zip(("out", *names), state, strict=True):
        _check(f"{name} of into", x, target)
    return {**returned, **{f"return_{name}": True for name in names}, "into": ("state",)}, state


def result(into: Any, results: Any) -> Any:
    """What a call returns: the objects of into, where it stands."""
    return results if into is None else tuple(into)


def gradients(into: Any, names: Sequence[str], target: str) -> dict[str, Any]:
    """The arrays that gradients are added to, by the names of their arguments.

    Raises:
      TypeError, ValueError: there is something else, or no gradient of this name is asked for.
    """
    if into is None:
        return {}
    if not isinstance(into, Mapping):
        raise TypeError(f'expected into to be arrays by name, as {{"k": dk, "v": dv}}, found {_named(into)}')
    for name, x in into.items():
        if name not in ("q", "k", "v") or name not in names:
            raise ValueError(f"expected into to hold some of q, k, v that grad={tuple(names)} names, found {name!r}")
        _check(f"into[{name!r}]", x, target)
    return dict(into)


def _check(name: str, x: Any, target: str) -> None:
    is_on_device = _cuda.is_target(target)
    array = _cuda.stand_in(name, x, _cuda.device_of({name: x})) if is_on_device else _tensor.as_array(name, x)
    if array.dtype.name not in OF_SUMS:
        raise TypeError(f"expected {name} in float32, or float64 beside float64, as sums are, found {array.dtype}")
    if is_on_device:  # the kernel's entry tests the layout
        return
    if not array.flags.c_contiguous:
        raise ValueError(
            f"expected {name} to be C-contiguous, as it is written in place, found strides {array.strides}"
        )
    if not array.flags.writeable:
        raise ValueError(f"expected {name} to be writable, found a read-only array")


def _named(x: Any) -> str:
    return f"{len(x)} of them" if isinstance(x, tuple | list) else type(x).__name__
