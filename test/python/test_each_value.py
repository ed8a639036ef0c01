"""What test/conftest.py leaves of products of parameters at a landing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = """
import pytest

@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("b", ["x", "y"])
def test_product(a, b): pass

@pytest.mark.parametrize(("a", "b"), [(1, 2), (1, 3), (4, 2)])
def test_table(a, b): pass

@pytest.mark.nightly
def test_night(): pass
"""


COUNTS = {"--each-value": 6, "--each-value --products": 10, "": 10}


@pytest.mark.parametrize("options", COUNTS)
def test_values_of_products(options, tmp_path):
    (tmp_path / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-c", os.devnull, *options.split(), tmp_path]
    environment = dict(os.environ, PYTHONPATH=str(Path(__file__).parents[1]), PYTEST_ADDOPTS="")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert f"{COUNTS[options]} passed" in done.stdout, done.stdout + done.stderr
