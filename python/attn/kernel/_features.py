"""What kernels of a library are found by: words of a problem line that tensors do not show, and forms of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from attn.call import _problem
from attn.kernel import _cuda, _tensor

# What kernels are found by: the words of a problem line that tensors do not show, as pairs of a name and a value.
Features = frozenset[tuple[str, str | float]]
Form = tuple[tuple[int, ...], np.dtype[Any]]
SIZE_WORDS = 8  # of a problem line: b, hq, hkv, sq, sk, d, dv, and the element type


def words(problem: _problem.Problem) -> list[str]:
    """The features of a problem, as the manifest spells them."""
    words = problem.line().split()[SIZE_WORDS:]
    words = [word for word in words if not word.startswith("pages=") and word != "kvscale=head"]
    words = [word.partition("=")[0] if word.startswith(("bias=", "mask=")) else word for word in words]
    # (batch, row, head * column) does not say how many heads there are.
    packed = problem.layout == "bsd"
    return words + ([f"hq{problem.sizes.hq}", f"hkv{problem.sizes.hkv}"] if packed else [])


def canonical(words: list[str]) -> Features:
    """Features in no order; numbers may be written in several ways."""
    return frozenset(_parse(*word.partition("=")) for word in words)


def _parse(name: str, _: str, value: str) -> tuple[str, str | float]:
    if name == "grad":  # in any order
        return (name, ",".join(sorted(value.split(","))))
    try:
        return (name, float(value))
    except ValueError:
        return (name, value)


def forms(inputs: list[Any]) -> list[Form]:
    """Shapes and types of arrays on a device; of scalars, which are on the host."""
    device = _cuda.device_of({f"input {i}": x for i, x in enumerate(inputs) if not _is_scalar(x)})
    return [
        (np.shape(x), np.asarray(x).dtype) if _is_scalar(x) else device.form(f"input {i}", x)
        for i, x in enumerate(inputs)
    ]


def _is_scalar(value: Any) -> bool:
    return isinstance(value, int | float | np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)


def match(arguments: list[dict[str, Any]], forms: list[Form]) -> dict[str, int] | None:
    """The dynamic sizes by name where a kernel takes inputs of these forms, otherwise None."""
    if len(arguments) != len(forms):
        return None
    sizes: dict[str, int] = {}
    for argument, (shape, dtype) in zip(arguments, forms, strict=True):
        if _tensor.type_name(dtype) != argument["dtype"] or len(shape) != len(argument["shape"]):
            return None
        for expected, size in zip(argument["shape"], shape, strict=True):
            if (sizes.setdefault(expected, size) if isinstance(expected, str) else expected) != size:
                return None
    return sizes
