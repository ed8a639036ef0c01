"""What ptxas says of GPU kernels stays what benchmarks/problems/gpu_ptxas.txt has: no spills, no more registers."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ATTNC

SCRIPT = Path(__file__).parents[2] / "scripts" / "ptxas-table.py"
NO_PTXAS = 77


@pytest.fixture(scope="module")
def table():
    """scripts/ptxas-table.py."""
    sys.path.insert(0, str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("ptxas_table", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ptxas_table"] = module
    spec.loader.exec_module(module)
    return module


# The code of the others differs from that for sm_80 in few kernels.
NIGHTLY = [pytest.param(target, marks=pytest.mark.nightly) for target in ("sm_86", "sm_89", "sm_90")]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", *NIGHTLY])
def test_kernels_keep_their_resources(target):
    command = [sys.executable, SCRIPT, "--check", f"--target={target}", f"--attnc={ATTNC}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == NO_PTXAS:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


# KiB of a multiprocessor: 4.8 TB/s with a latency of 1 microsecond are 36 on each of 132.
LEAST_IN_FLIGHT = 36


def test_decode_has_enough_bytes_on_their_way(table):
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=table.CUDA_FOLDER)
    if not ptxas:
        pytest.skip(f"no ptxas in PATH or {table.CUDA_FOLDER}")
    for line in table.DECODE.values():
        assert table.count_bytes_in_flight(ATTNC, ptxas, line, "sm_90").kib >= LEAST_IN_FLIGHT, line
