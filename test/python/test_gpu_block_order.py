"""Which tile a block of a causal grid computes: the longest ones start first, so no multiprocessor waits for another.

Blocks start in the order of their numbers. The IR of the phase gpu says how many key tiles each visits; list scheduling
says when the grid is done: a block goes to the multiprocessor that is free first.
"""

import heapq
import math
import re
import subprocess

import pytest

import clock
from paths import ATTNC

OPERATIONS = {
    "arith.addi": lambda x, y: x + y, "arith.subi": lambda x, y: x - y, "arith.muli": lambda x, y: x * y,
    "arith.divui": lambda x, y: x // y, "arith.divsi": lambda x, y: x // y, "arith.remui": lambda x, y: x % y,
    "arith.ceildivui": lambda x, y: -(-x // y), "arith.ceildivsi": lambda x, y: -(-x // y),
    "arith.minsi": min, "arith.minui": min, "arith.maxsi": max, "arith.maxui": max,
    "arith.index_castui": lambda x: x, "arith.index_cast": lambda x: x,
}  # fmt: skip


class Grid:
    """The first kernel of a problem: its blocks, and the key tiles of each."""

    def __init__(self, line: str, target: str):
        """Compiles it."""
        command = [ATTNC, f"--problem={line}", f"--target={target}", "--stop-after=gpu", "-o", "-"]
        text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=clock.NO_END).stdout
        self.maps = dict(re.findall(r"^(#map\d*) = affine_map<(.*)>$", text, re.MULTILINE))
        self.rows = int(re.search(r"query_tile = (\d+)", text)[1])
        self.kernel = text[text.index("gpu.func") :].partition("gpu.return")[0].splitlines()

    def apply(self, name: str, operands: list[int]) -> int:
        """An affine map of one result, or the least of several."""
        inputs, result = self.maps[name].split("->")
        names = re.findall(r"[ds]\d+", inputs)
        result = result.replace("floordiv", "//").strip()[1:-1]
        return min(eval(f"[{result}]", dict(zip(names, operands, strict=True))))

    def count_tiles(self, block: int) -> int:
        """The steps of a block."""
        values: dict[str, int] = {}
        tiles = 0
        for text in self.kernel:
            line = text.strip()
            if found := re.match(r"(%\S+) = arith.constant (-?\d+) : (?:index|i\d+)", line):
                values[found[1]] = int(found[2])
            elif found := re.match(r"(%\S+) = nvvm.read.ptx.sreg.ctaid.x", line):
                values[found[1]] = block
            elif found := re.match(r"(%\S+) = affine.(?:apply|min) (#map\d*)\((.*?)\)(?:\[(.*)\])?$", line):
                operands = re.findall(r"%[\w-]+", found[3]) + re.findall(r"%[\w-]+", found[4] or "")
                if all(name in values for name in operands):
                    values[found[1]] = self.apply(found[2], [values[name] for name in operands])
            elif found := re.match(r"(?:%\S+ = )?scf.for %\S+ = (%[\w-]+) to (%[\w-]+) step (%[\w-]+)", line):
                first, end, step = (values[name] for name in found.groups())
                tiles += max(0, -((first - end) // step))
            elif (found := re.match(r"(%\S+) = (arith\.\w+) (%[^:]*) :", line)) and found[2] in OPERATIONS:
                operands = re.findall(r"%[\w-]+", found[3])
                if all(name in values for name in operands):
                    values[found[1]] = OPERATIONS[found[2]](*(values[name] for name in operands))
        return tiles


def schedule(costs: list[int], multiprocessors: int) -> int:
    """When the last block is done."""
    free = [0] * multiprocessors
    for cost in costs:
        heapq.heappush(free, heapq.heappop(free) + cost)
    return max(free)


@pytest.mark.parametrize(
    ("line", "heads", "target", "multiprocessors"),
    [
        ("b1 hq8 sq4096 d128 bf16 causal=top_left", 8, "sm_90", 132),
        ("b1 hq8 sq4096 d128 bf16 causal=top_left", 8, "sm_80", 108),
        ("b1 hq32 sq4096 d128 bf16 causal=top_left", 32, "sm_80", 108),
        ("b4 hq16 sq2048 d64 bf16 causal=top_left", 64, "sm_90", 132),
        ("b1 hq16 sq16384 d128 bf16 causal=top_left", 16, "sm_90", 132),
    ],
)
def test_a_causal_grid_ends_together(line, heads, target, multiprocessors):
    rows = int(re.search(r"sq(\d+)", line)[1])
    grid = Grid(line, target)
    costs = [grid.count_tiles(block) for block in range(heads * math.ceil(rows / grid.rows))]
    ideal = sum(costs) / multiprocessors
    assert min(costs) > 0
    assert len(set(costs)) > 1
    assert ideal / schedule(costs, multiprocessors) >= 0.9


def give_rounds(costs: list[int], blocks: int) -> list[int]:
    """The work of each of so many persistent blocks (attn-make-persistent): odd rounds go backwards."""
    sums = [0] * blocks
    for tile, cost in enumerate(costs):
        turn, place = divmod(tile, blocks)
        sums[blocks - 1 - place if turn % 2 else place] += cost
    return sums


@pytest.mark.parametrize("multiprocessors", [132, 114, 78])
@pytest.mark.parametrize(
    ("line", "heads"),
    [
        ("b1 hq8 sq4096 d128 bf16 causal=top_left", 8),
        ("b1 hq32 sq4096 d128 bf16 causal=top_left", 32),
        ("b4 hq16 sq2048 d64 bf16 causal=top_left", 64),
        ("b1 hq16 sq16384 d128 bf16 causal=top_left", 16),
        ("b16 hq16 sq1024 d128 bf16 causal=top_left", 256),
        ("b1 hq13 sq8192 d128 bf16 causal=top_left", 13),
    ],
)
def test_persistent_blocks_end_together(line, heads, multiprocessors):
    """Without a counter in memory, each has about as much to do. In the order of other kernels it would be 0.77."""
    rows = int(re.search(r"sq(\d+)", line)[1])
    grid = Grid(line, "sm_90a")
    costs = [grid.count_tiles(tile) for tile in range(heads * math.ceil(rows / grid.rows))]
    assert all(costs.count(cost) == heads for cost in set(costs))
    assert sum(costs) / multiprocessors / max(give_rounds(costs, multiprocessors)) >= 0.9


def test_each_tile_is_computed_once():
    """Groups of an odd number of heads, the last one smaller."""
    grid = Grid("b1 hq13 sq4096 d128 bf16 causal=top_left", "sm_86")
    costs = [grid.count_tiles(block) for block in range(13 * 32)]
    assert all(costs.count(cost) == 13 for cost in set(costs))
    assert len(set(costs)) == 32


def test_tiles_of_a_head_follow_each_other_where_all_take_as_long():
    grid = Grid("b1 hq4 sq1024 d64 bf16", "sm_80")
    assert not any("ceildiv" in line or "minui" in line for line in grid.kernel)
