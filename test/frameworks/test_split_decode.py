"""The example of decoding over a cache whose pages are on several ranks."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/split_decode.py"


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_example_runs(ranks):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    found = subprocess.run([*torchrun, EXAMPLE], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert f"{ranks} ranks, pages dealt in turn: out differs by" in found.stdout
