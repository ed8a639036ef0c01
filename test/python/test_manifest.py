"""Damaged manifests of libraries: a ValueError that says where, whatever was damaged and however."""

import copy
import json
import random

import numpy as np
import pytest

import attn
from helpers import Shape, draw
from paths import attnc

LINES = """
b2 hq4 hkv2 sq5 sk7 d16 dv8 f32
b? hq4 hkv2 sq? sk? d16 dv8 f32 kv_lengths out=lse
"""
Q, K, V = draw(Shape(5, 7, 16, 8, b=2, hq=4, hkv=2))
EXPECTED = attn.reference.sdpa(Q, K, V)
OTHERS = [None, True, -1, 1.5, 10**400, "", "no such", "\0", "\ud800", [], [[]], {}, {"name": 3}]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manifest")
    (folder / "lines.txt").write_text(LINES)
    to = ["--emit=shared", "-o", folder / "libsmall.so", f"--manifest={folder / 'small.json'}"]
    attnc(f"--problems={folder / 'lines.txt'}", "--target=x86-64", "--parallel=none", *to)
    return folder / "small.json"


def nodes(value, place=()):
    """The places of all values inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in items:
        yield (*place, name)
        yield from nodes(each, (*place, name))


def damaged(manifest, place, change):
    """A copy with one node changed."""
    result = copy.deepcopy(manifest)
    parent = result
    for name in place[:-1]:
        parent = parent[name]
    change(parent, place[-1])
    return result


def use(path):
    """Loads the library and calls it; a manifest with another meaning may have no kernel for the call."""
    library = attn.load_library(path)
    repr(library)
    assert np.abs(library.sdpa(Q, K, V) - EXPECTED).max() < 1e-5
    library.sdpa(Q, K, V, kv_lengths=[7, 3], return_lse=True)


def test_every_node_removed_or_of_another_kind(path):
    """What the library does not read may be anything; what it reads is refused with the file."""
    manifest = json.loads(path.read_text())
    rng, refused = random.Random(0), 0
    other = path.with_name("damaged.json")
    for place in nodes(manifest):
        changes = {"removed": lambda parent, name: parent.pop(name)}
        changes |= {repr(x)[:20]: lambda parent, name, x=x: parent.__setitem__(name, x) for x in rng.sample(OTHERS, 4)}
        for what, change in changes.items():
            other.write_text(json.dumps(damaged(manifest, place, change)))
            try:
                use(other)
            except ValueError:
                refused += 1
            except Exception as error:
                raise AssertionError(f"{'.'.join(map(str, place))}, {what}: {error!r}") from error
    assert refused > 200


def test_every_cut_of_the_file_and_changed_bytes(path):
    text, rng = path.read_bytes(), random.Random(0)
    other = path.with_name("cut.json")
    for cut in range(0, len(text) - 3, 97):
        other.write_bytes(text[:cut])
        with pytest.raises(ValueError, match=r"cut\.json"):
            attn.load_library(other)
    for _ in range(300):
        changed = bytearray(text)
        changed[rng.randrange(len(text))] = rng.randrange(256)
        other.write_bytes(changed)
        try:
            use(other)
        except ValueError:
            continue


PLACES = {
    "argument": (("kernels", 1, "arguments", 0, "dtype"), "float99", "the name of an element type at kernels[1].arg"),
    "shape": (("kernels", 0, "arguments", 0, "shape", 2), -5, "a size .* at kernels[0].arguments[0].shape[2] of"),
    "role": (("kernels", 0, "arguments", 0, "role"), "both", "'input' or 'output' at kernels[0].arguments[0].role of"),
    "features": (("kernels", 0, "features"), 3, "a string at kernels[0].features of the manifest .*, found 3$"),
    "kernels": (("kernels",), {}, "a list at kernels of the manifest .*, found {}$"),
    "kernel": (("kernels", 0), "q", 'an object at kernels[0] of the manifest .*, found "q"$'),
    "library": (("library", "call_entry"), None, "a string at library.call_entry of the manifest .*, found null$"),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_message_has_the_place(path, name):
    place, value, expected = PLACES[name]
    other = path.with_name("place.json")
    other.write_text(json.dumps(damaged(json.loads(path.read_text()), place, lambda x, y: x.__setitem__(y, value))))
    pattern = expected.replace("[", r"\[").replace("{}", r"\{\}")
    with pytest.raises(ValueError, match=f"expected {pattern}") as error:
        attn.load_library(other)
    assert "place.json" in str(error.value)


def test_a_missing_part_is_named(path):
    other = path.with_name("missing.json")
    manifest = json.loads(path.read_text())
    other.write_text(json.dumps(damaged(manifest, ("kernels", 0, "arguments", 1, "name"), lambda x, y: x.pop(y))))
    with pytest.raises(ValueError, match=r"expected 'name' at kernels\[0\]\.arguments\[1\] of .*found none"):
        attn.load_library(other)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_is_refused(path, text):
    other = path.with_name("deep.json")
    other.write_text(text)
    with pytest.raises(ValueError, match=r"expected a manifest, .*deep\.json: values that nest too deeply"):
        attn.load_library(other)


def test_a_byte_order_mark_is_read_over(path):
    other = path.with_name("marked.json")
    other.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    use(other)
