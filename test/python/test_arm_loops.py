"""The innermost loops of kernels for 64-bit Arm: which instructions multiply, and that none of them copies a factor."""

import re
import subprocess

import pytest

from paths import ATTNC

LABEL = re.compile(r"^(\.LBB\w+):")
BRANCH = re.compile(r"^(?:b\.\w+|b\w*|cbn?z|tbn?z|j)\b.*?(\.LBB\w+)$")
COPY = re.compile(r"^(dup|ld1r|ins|mov\s+v|zip|uzp|trn|tbl)\b|\bsp\b")
BY_ELEMENT = re.compile(r"^fmla\s+v\d+\.4s, v\d+\.4s, v\d+\.s\[\d\]$")


def find_loops(problem: str, target: str, comment: str = "//") -> list[list[str]]:
    """The instructions of each loop that has none inside, in the order of the assembly."""
    done = subprocess.run(
        [ATTNC, f"--problem={problem}", f"--target={target}", "--emit=asm", "-o", "-"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [re.sub(r"\s+", " ", line.split(comment)[0].strip()) for line in done.stdout.splitlines()]
    places = {found[1]: i for i, line in enumerate(lines) if (found := LABEL.match(line))}
    spans = [
        (places[found[1]], i)
        for i, line in enumerate(lines)
        if (found := BRANCH.match(line)) and places.get(found[1], i) < i
    ]
    inner = [
        (first, last)
        for first, last in spans
        if not any(span != (first, last) and first <= span[0] and span[1] <= last for span in spans)
    ]
    return [[line for line in lines[first:last] if line and not line.startswith(".")] for first, last in sorted(inner)]


def count(body: list[str], pattern: re.Pattern[str]) -> int:
    """Instructions of a kind."""
    return sum(bool(pattern.search(line)) for line in body)


@pytest.mark.parametrize(("target", "products"), [("neoverse-v2", [80, 80]), ("neoverse-n1", [64, 64])])
def test_multiply_adds_take_lanes(target: str, products: list[int]) -> None:
    """Scores and values: four steps of 4 x 5 or 4 x 4 sums. A factor is a lane of a load."""
    loops = [body for body in find_loops("hq4 sq960 d64", target) if count(body, BY_ELEMENT) >= 16]
    assert [count(body, BY_ELEMENT) for body in loops] == products
    assert [count(body, COPY) for body in loops] == [0, 0]


def test_sve_has_no_lanes_to_take() -> None:
    """Of SVE registers a multiply-add takes a lane of each 128 bits, which is none of four scalars."""
    assert not any(count(body, BY_ELEMENT) for body in find_loops("hq4 sq960 d64", "neoverse-v1+sve256"))


@pytest.mark.parametrize(("target", "products", "most"), [("neoverse-n1", 5, 4), ("neoverse-v2", 2, 2)])
def test_powers(target: str, products: int, most: int) -> None:
    """2^x by a polynomial of degree 5 with three copies; by a table, of degree 2 with one copy; below, one maximum."""
    exponentials = [
        body
        for body in find_loops("hq4 sq960 d64", target)
        if count(body, re.compile(r"^shl v\d+\.4s, v\d+\.4s, #23|^fexpa")) >= 2
    ]
    body = exponentials[0]
    vectors = count(body, re.compile(r"^shl v\d+\.4s, v\d+\.4s, #23|^fexpa"))
    assert count(body, re.compile(r"^fml[as] |^fmad|^fmla")) == products * vectors
    assert count(body, re.compile(r"^mov v|^fmov v|^mov z|^movprfx")) <= most * vectors
    assert count(body, re.compile(r"^fmax v")) == vectors
    assert count(body, re.compile(r"^(fcm|cm|fac|bif|bit|bsl|csel|sel)")) == 0


def test_pairs_are_matrices() -> None:
    """bf16: 2 x 2 sums of products of quads, and no copies of factors."""
    pattern = re.compile(r"^bfmmla ")
    loops = [body for body in find_loops("hq4 sq960 d64 bf16", "neoverse-v2") if count(body, pattern) >= 8]
    assert len(loops) == 2
    for body in loops:
        assert count(body, COPY) == 0
        assert count(body, re.compile("^fmla ")) == 0


def test_bytes_are_dots() -> None:
    """int8 K and V of a decode kernel, as they are."""
    loops = find_loops("hq8 hkv2 sq1 sk1024 d128 bf16 kv=int8 kvscale=token", "neoverse-v2")
    assert sum(count(body, re.compile(r"^sdot ")) for body in loops) > 0
