"""The manifest of a library, read and checked: every part that attnc writes is there and is of its kind.

A schema is a type, a tuple of the strings that there may be, `[schema]` for a list of any length, `{name: schema}` for
an object, which may have other names too, or a function from a value to what was expected, "" where it is fine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attn.kernel import _tensor

MAX_SIZE = 2**63 - 1
TYPES = {str: "a string", bool: "true or false", dict: "an object", list: "a list"}


def _size(value: Any) -> str:
    fits = isinstance(value, str) or (type(value) is int and 0 <= value <= MAX_SIZE)
    return "" if fits else "a size from 0 to 2^63 - 1, or the name of one"


def _dtype(value: Any) -> str:
    try:
        known = isinstance(value, str) and _tensor.dtype(value).kind in "biufV"
    except TypeError:  # NumPy has no such type
        known = False
    return "" if known else "the name of an element type"


def _index(value: Any) -> str:
    return "" if value is None or (type(value) is int and value >= 0) else "the number of a result, or null"


ARGUMENT = {"name": str, "role": ("input", "output"), "dtype": _dtype, "shape": [_size], "result": _index}
ARGUMENT |= {"passed_by": ("pointer", "value"), "updated": bool}
KERNEL = {"name": str, "problem": str, "features": str, "sizes": [str], "arguments": [ARGUMENT]}
LIBRARY = {"name": str, "file": str, "call_entry": str}
# Its other entry: of processors, of GPUs.
USE_TARGET, WORKSPACE = "use_target_entry", "workspace_bytes_entry"


def read(path: Path) -> dict[str, Any]:
    """The manifest of a library, with all that a `Library` reads.

    Raises:
      ValueError: the manifest is damaged: the message has the file, the place in it, what was expected and what was
        found.
      OSError: the file cannot be read.
    """
    try:
        manifest = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, or too deep
        found = "values that nest too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(
            f"expected a manifest, the .json that attnc --manifest writes, found {path}: {found}"
        ) from error
    for part, what in (("library", "a library"), ("kernels", "kernels"), ("variants", "variants")):
        if not isinstance(manifest, dict) or part not in manifest:
            raise ValueError(f"expected the manifest of attnc --problems, found one without {what} in {path}")
    library = manifest["library"]
    entry = WORKSPACE if isinstance(library, dict) and WORKSPACE in library else USE_TARGET
    schema = {"library": LIBRARY | {entry: str}, "kernels": [KERNEL], "variants": [{"name": str}]}
    _check(manifest, schema, "", path)
    return manifest


def _check(value: Any, schema: Any, place: str, path: Path) -> None:
    """Compares a value with its schema, and what is in it."""
    expected = _expected(value, schema)
    if expected:
        found = json.dumps(value)
        found = found if len(found) <= 60 else f"{found[:57]}..."
        raise ValueError(f"expected {expected} at {place or 'the top'} of the manifest {path}, found {found}")
    if isinstance(schema, list):
        for number, each in enumerate(value):
            _check(each, schema[0], f"{place}[{number}]", path)
    elif isinstance(schema, dict):
        for name, part in schema.items():
            if name not in value:
                raise ValueError(f"expected {name!r} at {place or 'the top'} of the manifest {path}, found none")
            _check(value[name], part, f"{place}.{name}" if place else name, path)


def _expected(value: Any, schema: Any) -> str:
    """What a value should have been; empty where it is that."""
    if isinstance(schema, tuple):
        return "" if value in schema and isinstance(value, str) else " or ".join(map(repr, schema))
    if isinstance(schema, type | dict | list):
        kind = schema if isinstance(schema, type) else type(schema)
        if type(value) is not kind:
            return TYPES[kind]
        # Names go to C: no zeros, and no halves of characters.
        is_text = kind is not str or ("\0" not in value and value.isprintable())
        return "" if is_text else "a string of printable characters"
    return str(schema(value))
