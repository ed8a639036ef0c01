"""Many keys: errors that each tile or range adds stay below what a type allows."""

import re
import subprocess

import numpy as np
import pytest

import attn
from paths import ATTNC


def run(line: str, *options: str) -> str:
    """What `attnc run --check` prints of a problem."""
    result = subprocess.run([ATTNC, "run", f"--problem={line}", "--check", *options], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_ranges_that_keep_nothing_change_nothing():
    """Merged a thousand times with empty states, the value of the only key that is kept is still that."""
    schedule = "--schedule=#attn.decode<key_tile = 2, split_keys = 2>"
    assert re.search(r"largest error 0,", run("hq2 sq1 sk2000 d16 f32 causal=top_left", schedule))


@pytest.mark.parametrize("sq", [1, 40])
def test_a_maximum_that_stays_keeps_the_sum(sq):
    """A factor of 2^0 is exactly 1, of all tiles together as well."""
    k = np.zeros((1, 1, 100_000, 8), np.float32)
    _, lse = attn.sdpa(np.ones((1, 1, sq, 8), np.float32), k, k, return_lse=True)
    np.testing.assert_allclose(lse, np.log(100_000), rtol=0, atol=3e-6)


@pytest.mark.parametrize("line", ["sq64 sk131072 d64 f32 out=lse", "hq4 sq1 sk500000 d64 f32 out=lse"])
def test_many_keys(line):
    """The sum of a tile is added to that of all keys, not each product."""
    run(line)
