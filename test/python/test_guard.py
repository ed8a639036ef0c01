"""Fault injection: a kernel that touches one byte outside of its arguments, or writes to an input, ends its process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guard_cases import TARGETS, cases_of
from helpers import compile_library

FOLDER = Path(__file__).parent
FAULT = 3  # the exit status of guard_pages.c


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """guard_pages.c, compiled."""
    return compile_library("guard_pages.c", tmp_path_factory.mktemp("guard"))


def run(*arguments):
    """Python in a process that may die."""
    command = [sys.executable, *arguments]
    path = os.pathsep.join([str(FOLDER.parents[1] / "python"), str(FOLDER)])
    return subprocess.run(command, env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True, check=False)


# Of two levels the code lies between that of others.
NIGHTLY = {"x86-64-v2", "x86-64-v4"}


@pytest.mark.parametrize("target", [pytest.param(x, marks=pytest.mark.nightly) if x in NIGHTLY else x for x in TARGETS])
def test_no_access_outside_of_the_arguments(library, target):
    count, first, problems = len(cases_of(target)), 0, []
    while first < count:
        result = run(FOLDER / "guard.py", library, target, str(first))
        lines = result.stdout.splitlines()
        names = [line for line in lines if line.startswith("case ")]
        assert names, result.stderr
        problems += [f"{lines[i - 1]}: {line}" for i, line in enumerate(lines) if line not in names]
        if result.returncode not in (0, FAULT):
            problems.append(f"{names[-1]}: exit code {result.returncode}\n{result.stderr}")
        first += len(names)
    assert not problems, "\n".join(problems)


ACCESSES = {
    "behind, flush with its end": (
        "1, 13",
        "result = ctypes.string_at(x, 14)",
        "a read 1 bytes behind the last byte of x",
    ),
    "before, flush with its beginning": (
        "0, 13",
        "ctypes.memset(x - 9, 0, 1)",
        "a write 9 bytes before the first byte of x",
    ),
    "a sealed input": ("1, 13", "guard.guard_seal(); ctypes.memset(x + 5, 0, 1)", "a write to byte 5 of the input x"),
    "an empty buffer": ("1, 0", "ctypes.string_at(x, 1)", "a read 1 bytes behind the last byte of x"),
    "beside it, on the open side": (
        "1, 13",
        "ctypes.memset(x - 1, 0, 1); print(guard.guard_find_overwritten())",
        "b'x'",
    ),
    "nowhere": ("0, 13", "ctypes.memset(x, 0, 13); print(guard.guard_find_overwritten())", "None"),
}


@pytest.mark.parametrize("case", ACCESSES)
def test_what_the_guard_sees(library, case):
    (at_end, size), access, expected = (ACCESSES[case][0].split(", "), *ACCESSES[case][1:])
    place = f"x = guard.guard_allocate(b'x', {size}, {at_end})"
    code = f"import ctypes; from guard import load; guard = load({str(library)!r}); {place}; {access}"
    result = run("-c", code)
    assert result.returncode == (FAULT if "byte" in expected else 0)
    assert expected in result.stdout
