"""What functions of scores cost on GPUs: instructions of PTX a score, beside those of a kernel without them.

Libraries divide by div.rn.f32, a subroutine with branches, and make functions of polynomials. The special function unit
has 2^x, log2 x and 1 / x. Counts are those of docs/GPU.md.
"""

import re
import subprocess

import pytest

from paths import ATTNC

LINE = "b1 hq1 sq1024 sk1024 d64 bf16"
SCORES = 32  # of a thread in a round: 16 rows of a warp by 64 keys

# By body, which makes %y of %x: instructions a score.
FUNCTIONS = {
    "%y = math.exp %x : f32": 2,
    "%y = math.exp2 %x : f32": 1,
    "%y = math.log %x : f32": 2,
    "%c = arith.constant 3.0 : f32\n%y = arith.divf %x, %c : f32": 1,
    "%c = arith.constant 1.0 : f32\n%y = arith.divf %c, %x : f32": 1,
    "%a = arith.mulf %x, %x : f32\n%y = arith.divf %x, %a : f32": 2,
    "%y = math.tanh %x : f32": 15,
    # 1 / (1 + exp -x)
    "%n = arith.negf %x : f32\n%e = math.exp %n : f32\n%c = arith.constant 1.0 : f32\n"
    "%s = arith.addf %c, %e : f32\n%y = arith.divf %c, %s : f32": 4,
}


def count(problem: str, tmp_path) -> dict[str, int]:
    """Instructions of a kernel by name."""
    ptx = tmp_path / "kernel.ptx"
    command = [ATTNC, f"--problem={problem}", "--target=sm_80", "--emit=ptx", "-o", ptx]
    subprocess.run(command, check=True, capture_output=True)
    names = re.findall(r"^\s+(?:@%p\d+\s+)?([a-z][\w.:]*)\s", ptx.read_text(), re.MULTILINE)
    return {name: names.count(name) for name in set(names)}


def sum_of(counts: dict[str, int], names: str) -> int:
    return sum(number for name, number in counts.items() if re.match(names, name))


def modify(body: str) -> str:
    return f"{LINE}\nscore_mod {{\n^bb0(%x: f32):\n{body}\nattn.yield %y : f32\n}}"


ARITHMETIC = r"(add|sub|mul|fma|neg|abs|div|rcp|ex2|lg2|tanh|min|max|selp|setp|mad)\S*\.(f32|bf16x2)|bra"


@pytest.mark.parametrize("body", FUNCTIONS)
def test_few_instructions_for_each_score(body, tmp_path):
    # One instruction a score.
    plain = count(modify("%c = arith.constant 3.0 : f32\n%y = arith.addf %x, %c : f32"), tmp_path)
    found = count(modify(body), tmp_path)
    slow = r"(div|rcp)\.rn|call"  # a plain kernel has one of these a row, 1 / l
    assert sum_of(found, slow) == sum_of(plain, slow)
    extra = (sum_of(found, ARITHMETIC) - sum_of(plain, ARITHMETIC)) / SCORES + 1
    assert extra <= FUNCTIONS[body] + 0.1, (extra, found, plain)


def test_a_cap_has_no_division(tmp_path):
    plain, capped = count(LINE, tmp_path), count(f"{LINE} softcap=30", tmp_path)
    assert sum_of(capped, r"div") == sum_of(plain, r"div")
    assert sum_of(capped, "bra") <= sum_of(plain, "bra")
