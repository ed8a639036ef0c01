"""The specification in NumPy and the product: neither knows the inside of the other."""

import ast
import subprocess
import sys
from pathlib import Path

import attn

PACKAGE = Path(attn.__file__).parent
REFERENCE = PACKAGE / "reference"
# What both may use: shapes and keywords of a call, what functions capture, and how these compute.
SHARED = {
    "call._checks",
    "call._linear_checks",
    "call._origins",
    "call._pages",
    "kernel._tensor",
    "trace._capture",
    "trace._wide",
}
SHARED |= {"words._signatures", "words._types", "words._words", "reference"}


def imports(file):
    """What a file imports of attn, as attn.module.name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{x.name}" for x in node.names if node.module.startswith("attn"))
        elif isinstance(node, ast.Import):
            yield from (x.name for x in node.names if x.name.startswith("attn."))


def is_shared(name):
    _, *parts = name.split(".")
    return not SHARED.isdisjoint({parts[0], ".".join(parts[:2])})


def test_the_product_uses_public_names_of_the_reference():
    files = [x for x in PACKAGE.rglob("*.py") if REFERENCE not in x.parents]
    inside = [(x.name, name) for x in files for name in imports(x) if name.startswith("attn.reference._")]
    assert files
    assert inside == []


def test_the_reference_uses_what_both_share():
    files = list(REFERENCE.glob("*.py"))
    others = [(x.name, name) for x in files for name in imports(x) if not is_shared(name)]
    assert files
    assert others == []


# As NumPy 2.5 has it from Python 3.12 on: an alias, which is no class.
WITH_ALIAS = """
import importlib, pkgutil, typing
import numpy as np, numpy.typing as npt, typing_extensions
T = typing.TypeVar("T", bound=np.generic)
npt.NDArray = typing_extensions.TypeAliasType("NDArray", np.ndarray[typing.Any, np.dtype[T]], type_params=(T,))
import attn
for module in pkgutil.walk_packages(attn.__path__, "attn."):
    if not module.name.split(".")[1].startswith(("__main__", "torch", "jax", "xla")):
        importlib.import_module(module.name)
"""


def test_arrays_may_have_an_alias_as_their_type():
    done = subprocess.run([sys.executable, "-c", WITH_ALIAS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
