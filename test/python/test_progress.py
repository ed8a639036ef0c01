"""How far attnc tune and library builds are: a bar on a terminal, lines in a log, on standard error alone."""

import os
import pty
import re
import subprocess

import pytest

from paths import ATTNC

PROBLEMS = "".join(f"hq2 sq{size} sk{size} d32 causal=top_left\n" for size in range(40, 52))


@pytest.fixture(params=["tune", "library"])
def command(request, tmp_path):
    problems = tmp_path / "lib.problems"
    problems.write_text(PROBLEMS)
    if request.param == "library":
        return [ATTNC, f"--problems={problems}", "-j", "1", "-o", tmp_path / "lib.o"]
    return [ATTNC, "tune", "--problem=hq2 sq65 sk70 d16", "--budget=2", "-o", tmp_path / "tuned.json"]


def test_lines_in_a_log(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"attnc: +\d+ %, \d+ (schedules timed|of 12 compiled), .*", line)


def test_a_bar_on_a_terminal_is_gone_in_the_end(command):
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the end of a terminal
            pass
        output = process.communicate()[0]
    os.close(ours)
    assert process.returncode == 0
    assert b"[" not in output
    assert re.search(rb"\r\x1b\[K\[#*\.*\] +\d+ % \d+ ", text)
    assert b"\n" not in text
    assert text.endswith(b"\r\x1b[K")
