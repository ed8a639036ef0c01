"""A process uses tiles (AMX) only if Linux grants them: the answer of a seccomp filter decides (tile_permission.c)."""

import subprocess
from pathlib import Path

import pytest

from helpers import C_COMPILER

SOURCE = Path(__file__).with_name("tile_permission.c")
REFUSED = "amx needs amx-tile, which the system refuses"
NO_SECCOMP = 77


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("permission") / "program"
    include = SOURCE.parents[2] / "include"
    subprocess.run([*C_COMPILER, "-Wno-unused-function", f"-I{include}", SOURCE, "-o", path], check=True)
    return path


@pytest.mark.parametrize(
    ("answer", "targets", "lines"),
    [
        ("granted", ["avx512", "amx"], ["amx"]),
        ("refused", ["avx512", "amx"], ["avx512", f"expected a target that this processor runs: {REFUSED}"]),
        (
            "refused",
            ["amx"],
            [
                f"expected a processor that runs a target of the kernel, found another: {REFUSED}",
                f"expected a target that this processor runs: {REFUSED}",
            ],
        ),
        # An object without tiles asks for none: the filter would end the process.
        ("never", ["avx512"], ["avx512", "expected one of avx512, found 'amx'"]),
    ],
)
def test_variant(program, answer, targets, lines):
    done = subprocess.run([program, answer, *targets], capture_output=True, text=True)
    if done.returncode == NO_SECCOMP:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stdout.splitlines()) == (0, lines)
