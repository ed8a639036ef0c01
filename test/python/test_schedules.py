"""scripts/schedules.py, on its first schedules; and what it found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ATTNC, OBJECTS

SCHEDULES = Path(__file__).parents[2] / "scripts" / "schedules.py"
PACKED = "b4 hq4 hkv4 sq4 sk200 d64 f32 layout=varlen"


def test_each_is_refused_or_right():
    command = [sys.executable, SCHEDULES, "--count=60", "--seed=1", f"--attnc={ATTNC}", f"--object-cache={OBJECTS}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.fullmatch(r"60 schedules: right (\d+), refused (\d+), wrong 0", done.stdout.splitlines()[-1])
    assert counts, done.stdout
    assert min(map(int, counts.groups())) >= 15, "expected some of each"


# Sequences begin in the middle of Q, K and V: a decode tile would take rows 0 and on.
@pytest.mark.parametrize(
    "kernel",
    ["decode<query_tile = 4, key_tile = 64, lanes = 8, block_queries = 4>", "prefill<query_tile = 8>"],
)
def test_packed_sequences(kernel):
    command = [ATTNC, "run", "--check", f"--problem={PACKED}", "--target=x86-64-v3", f"--schedule=#attn.{kernel}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert (": ok" in output) == kernel.startswith("prefill"), output
    assert "FAILED" not in output
    assert ("write #attn.prefill" in output) == kernel.startswith("decode"), output
