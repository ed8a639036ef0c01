"""What ptxas says of GPU kernels stays what benchmarks/problems/gpu_ptxas.txt has: no spills, no more registers."""

import subprocess
import sys
from pathlib import Path

import pytest

from paths import ATTNC

SCRIPT = Path(__file__).parents[2] / "scripts" / "ptxas-table.py"
NO_PTXAS = 77


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_kernels_keep_their_resources(target):
    command = [sys.executable, SCRIPT, "--check", f"--target={target}", f"--attnc={ATTNC}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == NO_PTXAS:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
