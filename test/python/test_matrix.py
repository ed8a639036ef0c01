"""scripts/matrix.py, on its first lines: they hold the most features at once."""

import subprocess
import sys
from pathlib import Path

from paths import ATTNC, OBJECTS

MATRIX = Path(__file__).parents[2] / "scripts" / "matrix.py"


def test_first_lines_agree_with_the_reference():
    command = [sys.executable, MATRIX, "--count=40", "--seed=1", f"--attnc={ATTNC}", f"--object-cache={OBJECTS}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "40 lines, 39 passed, 1 refused, 0 failed"


def test_a_line_is_the_same_whichever_lines_are_asked_for():
    def lines(*options):
        return subprocess.run(
            [sys.executable, MATRIX, "--list", *options], capture_output=True, text=True, check=True
        ).stdout.splitlines()

    assert lines("--count=30")[20:25] == lines("--start=20", "--count=5")
