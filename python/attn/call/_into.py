"""The keywords `into` and `out`: arrays that a call adds to, or writes, in place of making new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attn.kernel import _cuda, _device, _tensor

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


def place(out: Any, into: Any, others: int) -> tuple[Any, ...] | None:
    """Where the results of a call go whose first one is out, beside so many others; None where it has to be copied to.

    Raises:
      ValueError: it stands beside into.
    """
    if into is not None:
        raise ValueError("expected out or into, found both; into says where the results go")
    if _device.of(out) is None and not _tensor.as_array("out", out).flags.c_contiguous:
        return None
    return (out, *[None] * others)


def check_apart(out: Any, operands: Mapping[str, Any]) -> None:
    """For an array that is copied to, as entries of kernels test those that they write.

    Raises:
      ValueError: it shares memory with a tensor among the operands.
    """
    own = _tensor.as_array("out", out)
    for name, x in operands.items():
        if hasattr(x, "__dlpack__"):
            array = _tensor.as_array(name, x)
            if np.may_share_memory(own, array) and np.shares_memory(own, array):
                raise ValueError(f"expected out with memory of its own, found an overlap with {name}")


def copied(out: Any, results: Any) -> Any:
    """The results of a call, the first one copied to an array of other strides.

    Raises:
      TypeError, ValueError: its shape or type is another, or it cannot be written.
    """
    first, *rest = results if isinstance(results, tuple) else (results,)
    new, old = _tensor.as_array("out", first), _tensor.as_array("out", out)
    if old.shape != new.shape:
        raise ValueError(f"expected out of shape {new.shape}, found {old.shape}")
    if old.dtype != new.dtype:
        raise TypeError(f"expected out in {new.dtype}, found {old.dtype}")
    if not old.flags.writeable:
        raise ValueError("expected out to be writable, found a read-only array")
    old[...] = new
    _tensor.count_writes((out,))
    return (out, *rest) if rest else out


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
