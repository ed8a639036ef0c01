"""The specification in NumPy and the product: neither knows the inside of the other."""

import ast
from pathlib import Path

import attn

PACKAGE = Path(attn.__file__).parent
REFERENCE = PACKAGE / "reference"
# What both may use: shapes and keywords of a call, what functions capture, and how these compute.
SHARED = {"_capture", "_checks", "_tensor", "_types", "_wide", "reference"}


def imports(file):
    """What a file imports of attn, as attn.module.name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{x.name}" for x in node.names if node.module.startswith("attn"))
        elif isinstance(node, ast.Import):
            yield from (x.name for x in node.names if x.name.startswith("attn."))


def test_the_product_uses_public_names_of_the_reference():
    files = [x for x in PACKAGE.rglob("*.py") if REFERENCE not in x.parents]
    inside = [(x.name, name) for x in files for name in imports(x) if name.startswith("attn.reference._")]
    assert files
    assert inside == []


def test_the_reference_uses_what_both_share():
    files = list(REFERENCE.glob("*.py"))
    others = [(x.name, name) for x in files for name in imports(x) if name.split(".")[1] not in SHARED]
    assert files
    assert others == []
