"""A sample of scripts/plant-faults.py, which scripts/nightly.sh runs as a whole."""

import re
import subprocess
import sys
from pathlib import Path

from paths import ATTNC

SCRIPT = Path(__file__).parents[2] / "scripts" / "plant-faults.py"


def test_a_sample_is_caught():
    # Of so few, one that is not seen is some percent.
    words = [
        "--sample=1",
        "--least=0.95",
        "--kernel=causal",
        "--kernel=paged",
        "--kernel=varlen",
        f"--tools={ATTNC.parent}",
    ]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) of (\d+) real faults caught", done.stdout)
    assert found, done.stdout
    assert int(found[2]) >= 30, done.stdout


def test_too_few_are_an_error():
    words = ["--sample=1", "--kernel=causal", "--least=1.1", f"--tools={ATTNC.parent}"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
