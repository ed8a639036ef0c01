"""What bounds a round of a kernel's main loop on an H100: cycles of a multiprocessor, counted and not measured.

A round is one tile of keys of one block. The products of its rows and keys keep the tensor cores busy, and what it
reads from memory its share of the bandwidth, for so many cycles at least. Its instructions take as many to issue as
four schedulers need, one in a cycle each; powers of two, logarithms and reciprocals have 16 lanes, and ldmatrix reads
128 bytes in a cycle. K and V of a prefill come from the second-level cache, which others have filled.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import sass

# Of a multiprocessor, in a cycle: multiply-adds of 16 bits by wgmma and by mma.sync; bytes of memory, of 3.35 TB/s for
# 132 at 1.755 GHz; instructions; lanes of the special functions.
MULTIPLY_ADDS = {"wgmma": 2048, "mma": 1024}
MEMORY_BYTES = 14.5
SCHEDULERS = 4
SPECIAL_LANES = 16
LDSM_CYCLES = 4
LANES = 32
# Columns of V that the registers of four warps hold.
MOST_COLUMNS = 256
# The emulator executes as many tiles of rows, and at most so many keys.
EMULATED_TILES, EMULATED_KEYS = 2, 1024


@dataclass
class Round:
    """A round of a line: cycles of a multiprocessor by what they are spent on."""

    rows: int
    keys: int
    sass: int  # instructions of a warp, by the machine code of a round without masks
    executed: float  # the same of PTX, all of a kernel's instructions over its rounds, by the emulator
    tensor: float
    memory: float
    issue: float
    special: float
    ldmatrix: float
    warps: int

    @property
    def bound(self) -> float:
        """What no code could be faster than."""
        return max(self.tensor, self.memory)

    @property
    def all_issue(self) -> float:
        """Cycles to issue all instructions, with those in front of the loops and behind them."""
        return self.executed * self.warps / SCHEDULERS

    @property
    def binds(self) -> str:
        """What takes the most cycles."""
        cycles = {name: getattr(self, name) for name in ("tensor", "memory", "issue", "special", "ldmatrix")}
        return max(cycles, key=lambda name: cycles[name])


def read(line: str, name: str, default: int = 0) -> int:
    """The number of a token of a problem line."""
    found = re.search(rf"\b{name}(\d+)\b", line)
    return int(found[1]) if found else default


def read_schedule(steps: str) -> dict[str, str]:
    """The parameters of the schedule of the first kernel."""
    text = re.search(r"attn\.schedule = #attn\.block<([^>]*)>", steps)[1]
    return dict(part.split(" = ") for part in text.split(", "))


def shrink(line: str, rows: int) -> list[str]:
    """Words of a line with fewer rows, keys and heads for the emulator, whose rounds are those of the line."""
    heads, shared = read(line, "hq"), read(line, "hkv", read(line, "hq"))
    queries = min(read(line, "sq", EMULATED_TILES * rows), EMULATED_TILES * rows)
    keys = min(read(line, "sk", read(line, "sq", EMULATED_KEYS)), EMULATED_KEYS)
    sizes = [f"--size={name}={size}" for name, size in (("b", 1), ("sq", queries), ("sk", keys)) if f"{name}?" in line]
    small = re.sub(r"\b(b\d+|hq\d+|hkv\d+|sq\d+|sk\d+) ?", "", line)
    small = re.sub(r"(bias|mask)=\S+", rf"\1=1,1,{queries},{keys}", small)
    fixed = "" if sizes else f"b1 sq{queries} sk{keys} "
    open_sizes = " ".join(re.findall(r"\b\w+\?", line))
    small = re.sub(r"\b\w+\? ?", "", small)
    return [f"--problem={fixed}{open_sizes} hq{heads // shared} hkv1 {small}", *sizes]


def execute(run: Path, words: list[str], schedule: str, target: str, products: dict[str, int]) -> float:
    """Instructions of a warp that the emulator executes for each round of these kernels, whose rounds have products."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = [f"--schedule={schedule}", f"--target={target}", "--magnitude=1", f"--report={report}"]
        subprocess.run([run, *words, *options], capture_output=True, text=True, check=True)
        launches = json.loads(report.read_text())
    total = 0.0
    for kernel, each in products.items():
        ran = [launch for launch in launches if launch["kernel"] == kernel]
        mixes = [launch["mix"] for launch in ran]
        done = sum(n for mix in mixes for name, n in mix.items() if re.match(r"wgmma\.mma|mma\.sync", name))
        total += sum(sum(mix.values()) for mix in mixes) / (done / each)
    return total


def count_round(line: str, steps: str, functions: dict[str, list[sass.Block]], run: Path, target: str) -> Round | None:
    """The round of a line; nothing where its products are no instructions of the tensor cores."""
    schedule = read_schedule(steps)
    loops = {name: found[0] for name, blocks in functions.items() if (found := sass.find_loops(blocks))}
    if not loops:
        return None
    keys, warps = int(schedule["key_tile"]), int(schedule["warps"])
    head, value = read(line, "d"), read(line, "dv", read(line, "d"))
    # Several kernels, or groups of warps with the same rows, have a part of the columns of V each, and compute the
    # scores again.
    shares_rows = schedule["instruction"] == "wgmma" and "shared_keys" in schedule
    groups = -(-value // MOST_COLUMNS) if shares_rows else 1
    rows = warps * int(schedule["warp_rows"]) // groups
    depth = sum(-(-size // 16) * 16 for size in [head] * max(len(loops), groups) + [value])
    one = 1 if "kv=" in line else 2
    read_bytes = keys * (head + value) * one if read(line, "sq", EMULATED_KEYS) * read(line, "hq") < 8192 else 0
    for name, element in (("bias", 2), ("mask", 1)):
        if found := re.search(rf"\b{name}=\d+,(\d+),", line):
            # Heads that share it read it from the second-level cache.
            read_bytes += rows * keys * element * int(found[1]) / read(line, "hq")
    counts = [loop.executed for loop in loops.values()]
    text = re.search(r"attn\.schedule = (#attn\.block<[^>]*>)", steps)[1]
    return Round(
        rows=rows,
        keys=keys,
        sass=sum(count.total() for count in counts),
        executed=execute(run, shrink(line, rows), text, target, {name: loop.products for name, loop in loops.items()}),
        tensor=rows * keys * depth / MULTIPLY_ADDS[schedule["instruction"]],
        memory=read_bytes / MEMORY_BYTES,
        issue=sum(count.total() for count in counts) * warps / SCHEDULERS,
        special=sum(count["MUFU"] for count in counts) * warps * LANES / SPECIAL_LANES,
        ldmatrix=sum(count["LDSM"] for count in counts) * warps * LDSM_CYCLES,
        warps=warps,
    )


def print_rounds(rounds: dict[str, Round | None]) -> None:
    """A table of Markdown; the last columns are shares of what bounds any code."""
    names = ["", "rows × keys", "SASS", "executed", "tensor", "memory", "issue", "special", "ldmatrix", "most"]
    names += ["issue / bound", "with all"]
    print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
    for title, each in rounds.items():
        if not each:
            print(f"| {title} | multiply-adds |" + " |" * (len(names) - 2))
            continue
        cycles = [each.tensor, each.memory, each.issue, each.special, each.ldmatrix]
        cells = [title, f"{each.rows} × {each.keys}", str(each.sass), f"{each.executed:.0f}"]
        cells += [f"{number:.0f}" for number in cycles] + [each.binds]
        cells += [f"{each.issue / each.bound:.2f}", f"{each.all_issue / each.bound:.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
