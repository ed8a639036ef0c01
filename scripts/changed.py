#!/usr/bin/env python3
"""Which tests a change needs, by the table of test/layers.txt: for `scripts/test.sh --changed[=REF]`.

Says on stderr what it chose and why. Prints a line with what ninja builds and a line with the names of tests, as a
regular expression for ctest; nothing where no test is needed.

A changed path asks for the tests of its layer. A test's own file asks for that test, another file in a folder of tests
for those of that folder. All tests run for a path that is neither.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "test" / "layers.txt"
# It compares generated pages with nearly all sources, in seconds.
ALWAYS = "docs"
# What tests run, beside the programs that are tests, whose targets have their names.
TOOLS = "attn_test_tools"


def run(*command: str) -> str:
    """The output of a command in the repository."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def read_sources(table: Path = TABLE) -> list[tuple[str, str]]:
    """Each layer with the expression of its sources, in the order of the table."""
    rows = [x.split() for x in table.read_text().splitlines() if x and not x.startswith("#")]
    return [(label, sources) for label, _, _, sources in rows if sources != "-"]


def list_tests() -> dict[str, set[str]]:
    """The labels of each test of build/release."""
    found = {}
    for test in json.loads(run("ctest", "--preset", "release", "--show-only=json-v1"))["tests"]:
        labels = [x["value"] for x in test.get("properties", []) if x["name"] == "LABELS"]
        found[test["name"]] = {y for x in labels for y in x}
    return found


def list_changes(reference: str) -> list[str]:
    """Paths that differ from a commit, those not committed and new ones too."""
    # A file that was renamed counts at both places.
    changed = run("git", "diff", "--name-only", "--no-renames", "-z", reference, "--")
    new = run("git", "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({x for x in (changed + new).split("\0") if x})


def list_own_changes() -> list[str]:
    """Those since the merge base with origin/main; where there are none, those of the last commit."""
    try:
        base = run("git", "merge-base", "HEAD", "origin/main").strip()
    except subprocess.CalledProcessError:  # a clone without that branch
        base = "HEAD"
    return list_changes(base) or list_changes("HEAD~1")


def choose(path: str, tests: dict[str, set[str]], sources: list[tuple[str, str]]) -> tuple[str, set[str]]:
    """Why, and which tests, for one path."""
    own = {path, path.removeprefix("test/")} & tests.keys()
    for label, expression in sources:
        if re.match(expression, path):
            return f"layer {label}", own | {x for x, labels in tests.items() if label in labels}
    if own:
        return "the test itself", own
    for folder in [str(x) for x in Path(path).parents if path.startswith("test/")][:-2]:
        inside = {x for x in tests if x.startswith((f"{folder}/", f"{folder.removeprefix('test/')}/"))}
        if inside:
            return f"tests in {folder}", inside
    return "all tests", set(tests)


def main() -> None:
    """Prints what to build and what to run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reference", nargs="?", help="a commit; else the merge base with origin/main, or HEAD~1 there")
    reference = parser.parse_args().reference
    try:
        paths = list_own_changes() if reference is None else list_changes(reference)
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: expected a commit, found what git refuses: {error.stderr.strip()}")
    if not paths:
        print("changed: nothing", file=sys.stderr)
        return
    tests, sources = list_tests(), read_sources()
    chosen: set[str] = set()
    why: dict[str, list[str]] = {}
    for path in paths:
        reason, needed = choose(path, tests, sources)
        why.setdefault(f"{reason} ({len(needed)})", []).append(path)
        chosen |= needed
    for reason, because in why.items():
        shown = ", ".join(because[:4]) + (f" and {len(because) - 4} others" if len(because) > 4 else "")
        print(f"changed: {reason}: {shown}", file=sys.stderr)
    chosen |= {ALWAYS} & tests.keys()
    print(f"changed: {len(chosen)} of {len(tests)} tests", file=sys.stderr)
    programs = [x for x in sorted(chosen) if x.startswith("attn_")]
    is_all = len(chosen) == len(tests)
    print("all" if is_all else " ".join([TOOLS, *programs]))
    print("." if is_all else "^(" + "|".join(map(re.escape, sorted(chosen))) + ")$")


if __name__ == "__main__":
    main()
