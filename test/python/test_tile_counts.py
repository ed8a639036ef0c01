"""The tile counts that --remarks=all names, against a brute-force count over the predicate."""

import re
import subprocess

import numpy as np
import pytest

from paths import ATTNC

PREFIX = """
mask_mod {
  %i = attn.index query : index
  %j = attn.index key : index
  %n = arith.constant 100 : index
  %a = arith.cmpi slt, %j, %n : index
  %b = arith.cmpi sle, %j, %i : index
  %keep = arith.ori %a, %b : i1
  attn.yield %keep : i1
}"""
BLOCKS = """
mask_mod {
  %i = attn.index query : index
  %j = attn.index key : index
  %c = arith.constant 150 : index
  %x = arith.floordivsi %i, %c : index
  %y = arith.floordivsi %j, %c : index
  %keep = arith.cmpi eq, %x, %y : index
  attn.yield %keep : i1
}"""
CASES = {
    "causal=top_left": lambda i, j: j <= i,
    "causal=bottom_right": lambda i, j: j <= i + 90,
    "window=100,0 align=top_left": lambda i, j: (i - 100 <= j) & (j <= i),
    "window=70,30 align=bottom_right": lambda i, j: (i + 90 - 70 <= j) & (j <= i + 90 + 30),
    "causal=top_left window=200,": lambda i, j: (i - 200 <= j) & (j <= i),
    "causal=top_left chunk=128": lambda i, j: (j <= i) & (i // 128 == j // 128),
    "causal=top_left prefix=100": lambda i, j: (j < 100) | (j <= i),
    PREFIX: lambda i, j: (j < 100) | (j <= i),
    BLOCKS: lambda i, j: i // 150 == j // 150,
}


@pytest.mark.parametrize("words", CASES, ids=lambda words: words.strip().split("\n")[0])
def test_counts_agree_with_brute_force(words):
    rows, keys = 513, 603
    command = [ATTNC, f"--problem=sq{rows} sk{keys} d8 {words}", "--remarks=all", "--emit=llvm", "-o", "/dev/null"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"tiles of (\d+) queries and (\d+) keys: (\d+) full, (\d+) partial, (\d+) skipped", result.stderr)
    assert found, result.stderr
    assert "1 became key ranges" in result.stderr or "2 became key ranges" in result.stderr
    query_tile, key_tile, *counts = map(int, found.groups())
    i, j = np.ogrid[:rows, :keys]
    keep = np.broadcast_to(CASES[words](i, j), (rows, keys))
    expected = [0, 0, 0]
    for row in range(0, rows, query_tile):
        for key in range(0, keys, key_tile):
            tile = keep[row : row + query_tile, key : key + key_tile]
            expected[0 if tile.all() else 1 if tile.any() else 2] += 1
    assert counts == expected
