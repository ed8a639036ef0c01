#!/usr/bin/env python3
"""What ptxas says of the kernels of benchmarks/problems/gpu.txt: registers, shared memory, blocks of a multiprocessor.

  scripts/ptxas-table.py                       writes benchmarks/problems/gpu_ptxas.txt
  scripts/ptxas-table.py --check --target=sm_80    compares with it; the exit status is 1 where it does not hold
  scripts/ptxas-table.py --counts              instructions of the main loop for each mma, of D 128, full

--check fails where a kernel spills, has a stack frame or a note of wgmma (C7508, C7510 to C7519), where it takes more
registers or shared memory than the table has, or fewer blocks fit on a multiprocessor. 77: there is no ptxas.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINES = ROOT / "benchmarks" / "problems" / "gpu.txt"
TABLE = ROOT / "benchmarks" / "problems" / "gpu_ptxas.txt"
CUDA_FOLDER = "/usr/local/cuda/bin"
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90")
NO_PTXAS = 77
TIME_LIMIT = 600  # seconds a tool
COUNTED = "b2 hq16 sq8192 d128 bf16"

# Of a multiprocessor: bytes of shared memory, threads, blocks (CUDA programming guide, compute capabilities).
MACHINES = {"sm_80": (164, 2048, 32), "sm_86": (100, 1536, 16), "sm_89": (100, 1536, 24), "sm_90": (228, 2048, 32)}
REGISTERS = 65536
REGISTERS_OF_WARP = 256  # registers of a warp are given out in so many
SYSTEM_SHARED_BYTES = 1024  # of each block
NOTES = re.compile(r"\bC75(?:08|1\d)\b")


@dataclass(order=True)
class Row:
    """A kernel of a line: what ptxas gives it."""

    line: str
    target: str
    kernel: str
    threads: int
    registers: int
    stack: int
    spills: int
    shared: int
    blocks: int  # of a multiprocessor
    notes: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What a row of the table is found by."""
        return self.line, self.target, self.kernel


def count_blocks(target: str, threads: int, registers: int, shared: int) -> int:
    """How many blocks a multiprocessor holds at once."""
    kib, most_threads, most_blocks = MACHINES[target]
    warp = -(-max(registers, 1) * 32 // REGISTERS_OF_WARP) * REGISTERS_OF_WARP
    by_registers = REGISTERS // warp // -(-threads // 32)
    return min(by_registers, kib * 1024 // (shared + SYSTEM_SHARED_BYTES), most_threads // threads, most_blocks)


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a tool that has to succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done


def read_number(text: str, pattern: str) -> int:
    """The number of the pattern's group; 0 where the text has none."""
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def compile_ptx(attnc: Path, line: str, target: str, folder: Path) -> tuple[Path, list[dict]]:
    """The PTX of a line, and its launches as the manifest has them."""
    ptx, manifest = folder / "k.ptx", folder / "k.json"
    words = [f"--problem={line}", f"--target={target}", "--fail-on-fallback", f"--manifest={manifest}"]
    # What the manifest would have from ptxas comes from measure, with its notes.
    call(attnc, *words, "--emit=ptx", f"--ptxas={shutil.which('true')}", "-o", ptx)
    return ptx, json.loads(manifest.read_text())["kernels"][0]["launches"]


def measure(attnc: Path, ptxas: str, line: str, target: str) -> list[Row]:
    """The rows of a line, a kernel each."""
    with tempfile.TemporaryDirectory() as name:
        ptx, launches = compile_ptx(attnc, line, target, Path(name))
        done = call(ptxas, "-v", f"-arch={target}", ptx, "-o", Path(name) / "k.cubin")
    sections = re.split(r"Compiling entry function '", done.stdout + done.stderr)[1:]
    said = {text.split("'")[0]: text for text in sections}
    rows = {}
    for launch in launches:
        text, threads = said[launch["kernel"]], launch["block"][0]
        shared = (launch["dynamic_shared_bytes"] or 0) + read_number(text, r"(\d+) bytes smem")
        registers = read_number(text, r"Used (\d+) registers")
        rows[launch["kernel"]] = Row(
            line=line,
            target=target,
            kernel=launch["kernel"],
            threads=threads,
            registers=registers,
            stack=read_number(text, r"(\d+) bytes stack frame"),
            spills=read_number(text, r"(\d+) bytes spill stores") + read_number(text, r"(\d+) bytes spill loads"),
            shared=shared,
            blocks=count_blocks(target, threads, registers, shared),
            notes=",".join(sorted(set(NOTES.findall(text)))) or "-",
        )
    return sorted(rows.values())


def write_table(rows: list[Row]) -> None:
    """A line for each kernel and target, in the order of the problems; columns as wide as their widest word."""
    names = [field.name for field in fields(Row)][1:]
    cells = [[str(asdict(row)[name]) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in [names, *cells]) for i in range(len(names))]
    text = [
        "# Written by scripts/ptxas-table.py: what ptxas says of the kernels of gpu.txt. Registers are of a thread;"
    ]
    text += ["# stack, spills and shared memory are bytes; blocks are what a multiprocessor holds at once."]

    def join(words: list[str]) -> str:
        numbers = [word.rjust(width) for word, width in zip(words[2:], widths[2:], strict=True)]
        return "  ".join([word.ljust(width) for word, width in zip(words[:2], widths, strict=False)] + numbers)

    text.append("# " + join(names))
    previous = ""
    for row, line in zip(rows, cells, strict=True):
        if row.line != previous:
            text += ["", previous := row.line]
        text.append("  " + join(line))
    TABLE.write_text("\n".join(text) + "\n")


def read_table() -> dict[tuple[str, str, str], Row]:
    """The rows of the table as it is checked in."""
    rows, line = {}, ""
    for text in TABLE.read_text().splitlines():
        if text.startswith("  "):
            target, kernel, *numbers, notes = text.split()
            row = Row(line, target, kernel, *map(int, numbers), notes)
            rows[row.key] = row
        elif text and not text.startswith("#"):
            line = text
    return rows


def find_faults(rows: list[Row], table: dict[tuple[str, str, str], Row]) -> list[str]:
    """What is wrong with these kernels, a sentence each."""
    faults = []
    for row in rows:
        place = f"{row.target}, {row.line}, {row.kernel}: "
        faults += [f"{place}{row.spills} bytes of spills"] * (row.spills > 0)
        faults += [f"{place}{row.stack} bytes of stack"] * (row.stack > 0)
        faults += [f"{place}ptxas notes {row.notes}"] * (row.notes != "-")
        planned = table.get(row.key)
        if not planned:
            faults.append(f"{place}not in {TABLE.name}; run scripts/ptxas-table.py")
            continue
        for name in ("registers", "shared"):
            if getattr(row, name) > getattr(planned, name):
                faults.append(f"{place}{getattr(row, name)} {name}, the table has {getattr(planned, name)}")
        if row.blocks < planned.blocks:
            faults.append(f"{place}{row.blocks} blocks of a multiprocessor, the table has {planned.blocks}")
    return faults


def find_main_loop(ptx: str) -> list[str]:
    """The instructions of the loop with the most mma that has no loop with mma within it."""
    # An instruction a line; mma is written over several of them.
    text = [line.strip() for line in re.sub(r",\s*\n|(mma\.sync\S*)\s*\n", r"\1 ", ptx).splitlines()]
    labels = {line.rstrip(":"): i for i, line in enumerate(text) if re.match(r"\$L\w+:", line)}
    loops = []
    for i, line in enumerate(text):
        target = re.search(r"\bbra(?:\.uni)?\s+(\$L\w+)", line)
        if target and labels[target[1]] <= i:
            loops.append((labels[target[1]], i))
    products = {loop: sum("mma.sync" in line for line in text[slice(*loop)]) for loop in loops}
    inner = [
        loop
        for loop in loops
        if products[loop]
        and not any(a >= loop[0] and b < loop[1] and products[a, b] for a, b in loops if (a, b) != loop)
    ]
    first, last = max(inner, key=lambda loop: products[loop])
    return [line for line in text[first : last + 1] if line.endswith(";")]


def print_counts(attnc: Path) -> None:
    """Instructions of the main loop by kind, for each mma."""
    with tempfile.TemporaryDirectory() as name:
        ptx, _ = compile_ptx(attnc, COUNTED, "sm_80", Path(name))
        loop = find_main_loop(ptx.read_text())
    kinds = {
        "mma": r"mma\.sync", "ldmatrix": r"ldmatrix", "cp.async": r"cp\.async\.c", "ex2": r"ex2", "fma": r"fma",
        "mul": r"mul\.(rn\.)?f32", "add": r"(add|sub)\.(rn\.)?f32", "max": r"max\.f32", "cvt": r"cvt\.",
        "shfl": r"shfl", "bar": r"bar",
    }  # fmt: skip
    left = [re.sub(r"^@!?%p\d+\s+", "", line) for line in loop]
    total, products = len(left), 0
    print(f"{COUNTED}, sm_80: the main loop of the PTX\n{'':10}{'count':>7}{'per mma':>9}")
    for kind, pattern in kinds.items():
        count = sum(bool(re.match(pattern, line)) for line in left)
        left = [line for line in left if not re.match(pattern, line)]
        products = products or count
        print(f"{kind:10}{count:7}{count / products:9.3f}")
    print(f"{'other':10}{len(left):7}{len(left) / products:9.3f}\n{'all':10}{total:7}{total / products:9.3f}")


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--attnc", type=Path, default=ROOT / "build" / "release" / "bin" / "attnc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.counts:
        print_counts(options.attnc)
        return 0
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=CUDA_FOLDER)
    if not ptxas:
        print(f"no ptxas in PATH or {CUDA_FOLDER}: nothing is checked")
        return NO_PTXAS
    lines = [line for text in LINES.read_text().splitlines() if (line := text.partition("#")[0].strip())]
    cases = [(line, target) for line in lines for target in options.target or TARGETS]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for found in pool.map(lambda case: measure(options.attnc, ptxas, *case), cases) for row in found]
    if not options.check:
        write_table(rows)
    faults = find_faults(rows, read_table())
    print("\n".join([*faults, f"{len(rows)} kernels, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
