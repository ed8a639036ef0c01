"""A sample of scripts/plant-faults.py, which scripts/nightly.sh runs as a whole."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ATTNC

SCRIPT = Path(__file__).parents[2] / "scripts" / "plant-faults.py"


def test_a_sample_is_caught():
    # Of so few, one that is not seen is some percent.
    words = [
        "--sample=1",
        "--count=30",
        "--least=0.97",
        "--kernel=causal",
        "--kernel=paged",
        "--kernel=varlen",
        "--kernel=wgmma causal",
        f"--tools={ATTNC.parent}",
    ]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) of (\d+) real faults caught", done.stdout)
    assert found, done.stdout
    assert int(found[2]) >= 90, done.stdout


def test_branches_for_rows_of_some_sizes():
    """The warp's votes, and masks whose keys have large weights: scores of one size do not reach or show them."""
    words = ["--kernel=causal", "--kind=all for any", "--kind=and for or", "--least=1", f"--tools={ATTNC.parent}"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) of (\d+) real faults caught", done.stdout)
    assert found, done.stdout
    assert int(found[2]) >= 6, done.stdout


@pytest.mark.parametrize(("kernel", "least"), [("backward", 6), ("split", 12)])
def test_waits_and_barriers(kernel, least):
    """Each wait for copies and each barrier of kernels whose tiles have stages: who leaves one out has a race."""
    words = [
        f"--kernel={kernel}",
        "--kind=wait removed",
        "--kind=barrier removed",
        "--kind=wait for one less",
        "--least=1",
    ]
    done = subprocess.run([sys.executable, SCRIPT, *words, f"--tools={ATTNC.parent}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) of (\d+) real faults caught", done.stdout)
    assert found, done.stdout
    assert int(found[2]) >= least, done.stdout


def test_transpositions_of_the_last_tile():
    """Of a length in few: V must not be its own transposition, and lengths must nearly fill a tile."""
    words = ["--kernel=dropout lengths", "--kind=transposition", "--least=1", f"--tools={ATTNC.parent}"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) of (\d+) real faults caught", done.stdout)
    assert found, done.stdout
    assert int(found[2]) >= 16, done.stdout


@pytest.mark.parametrize("kernel", ["wgmma", "wgmma backward"])
def test_waits_and_fences_of_wgmma(kernel):
    """One of each class of faults that only kernels of sm_90a have."""
    kinds = ["proxy fence removed", "wgmma fence removed", "wgmma wait removed", "phase not waited for", "parity",
             "arrival removed", "bytes expected", "initial count", "box removed", "box coordinate"]  # fmt: skip
    words = [f"--kernel={kernel}", "--sample=1", "--least=1", *(f"--kind={kind}" for kind in kinds)]
    done = subprocess.run([sys.executable, SCRIPT, *words, f"--tools={ATTNC.parent}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) of (\d+) real faults caught", done.stdout)
    assert found, done.stdout
    assert int(found[2]) >= 8, done.stdout


def test_too_few_are_an_error():
    words = ["--sample=1", "--kernel=causal", "--least=1.1", f"--tools={ATTNC.parent}"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
