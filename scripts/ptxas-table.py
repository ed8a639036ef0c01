#!/usr/bin/env python3
"""What ptxas says of the kernels of gpu.txt and gpu_backward.txt (benchmarks/problems): registers, shared memory,
blocks of a multiprocessor.

  scripts/ptxas-table.py                       writes benchmarks/problems/gpu_ptxas.txt
  scripts/ptxas-table.py --check --target=sm_80    compares with it; the exit status is 1 where it does not hold
  scripts/ptxas-table.py --counts              executed instructions of the main loops for each HMMA, of machine code
  scripts/ptxas-table.py --counts --target=sm_90a    the same for each tile of keys; --line=LINE: of other problems,
                                               --line=FILE.mlir:KERNEL: of a source
  scripts/ptxas-table.py --bounds              cycles of a round of lines of gpu.txt, by what bounds them (bounds.py)
  scripts/ptxas-table.py --in-flight           bytes of K and V that decode kernels have on their way

--check fails where a kernel spills, has a stack frame or a note of wgmma (C7508, C7510 to C7519), where it takes more
registers or shared memory than the table has, or fewer blocks fit on a multiprocessor. The exit status is 77 where
there is no ptxas, or no nvdisasm for --counts (sass.py).
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

import bounds
import sass

ROOT = Path(__file__).resolve().parents[1]
PROBLEMS = ROOT / "benchmarks" / "problems"
LINES = [PROBLEMS / "gpu.txt", PROBLEMS / "gpu_backward.txt"]
TABLE = PROBLEMS / "gpu_ptxas.txt"
CUDA_FOLDER = "/usr/local/cuda/bin"
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")
MISSING = 77
TIME_LIMIT = 600  # seconds a tool

# What --counts counts.
COUNTED = {
    "D 64 full": "b2 hq16 sq8192 d64 bf16",
    "D 64 causal": "b2 hq16 sq8192 d64 bf16 causal=top_left",
    "D 128 full": "b2 hq16 sq8192 d128 bf16",
    "D 128 causal": "b2 hq16 sq8192 d128 bf16 causal=top_left",
    "D 256 full": "b2 hq8 sq4096 d256 bf16",
    "D 256 causal": "b2 hq8 sq4096 d256 bf16 causal=top_left",
}
# The loops of FlashAttention-2 (vllm-flash-attn 2.6.2, sm_80), disassembled once: HMMA, all, and some of the classes.
# Each round rescales.
FA2_CLASSES = ("FFMA", "FMUL", "FADD", "FMNMX", "MUFU", "LDSM", "F2FP", "MOV", "spill")
FA2 = {
    "D 64 full": (256, 1174, 132, 72, 128, 136, 132, 72, 64, 28, 58),
    "D 128 full": (256, 925, 68, 136, 64, 72, 68, 80, 32, 57, 12),
    "D 128 causal": (256, 923, 68, 136, 64, 72, 68, 80, 32, 50, 15),
    "D 256 full": (256, 762, 34, 132, 32, 36, 34, 144, 16, 9, 0),
}

# What --in-flight is of: decode of one sequence.
DECODE = {
    "D 128": "b1 hq32 hkv8 sq1 sk8192 d128 bf16",
    "D 64": "b1 hq32 hkv8 sq1 sk8192 d64 bf16",
    "D 256": "b1 hq32 hkv8 sq1 sk8192 d256 bf16",
    "D 128, lengths": "b1 hq32 hkv8 sq1 sk8192 d128 bf16 kv_lengths",
    "D 128, pages": "b1 hq32 hkv8 sq1 sk8192 d128 bf16 kv_lengths paged=16",
    "D 128, fp8": "b1 hq32 hkv8 sq1 sk8192 d128 bf16 kv=fp8 kvscale=head",
}
# So many there are (TargetInfo.cpp).
MULTIPROCESSORS = {"sm_80": 108, "sm_86": 84, "sm_89": 142, "sm_90": 132, "sm_90a": 132}

# Of a multiprocessor: bytes of shared memory, threads, blocks (CUDA programming guide, compute capabilities).
MACHINES = {
    "sm_80": (164, 2048, 32),
    "sm_86": (100, 1536, 16),
    "sm_89": (100, 1536, 24),
    "sm_90": (228, 2048, 32),
    "sm_90a": (228, 2048, 32),
}
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
    """The PTX of a line, or of FILE.mlir:KERNEL, and its launches as the manifest has them."""
    ptx, manifest = folder / "k.ptx", folder / "k.json"
    file, _, kernel = line.partition(":")
    name = kernel or ("sdpa_backward" if "grad=" in line else "sdpa")
    words = [file if kernel else f"--problem={line}", f"--target={target}", f"--kernel={name}"]
    words += [f"--manifest={manifest}", "--fail-on-fallback"]
    # What the manifest would have from ptxas comes from measure, with its notes.
    call(attnc, *words, "--emit=ptx", f"--ptxas={shutil.which('true')}", "-o", ptx)
    kernels = json.loads(manifest.read_text())["kernels"]
    return ptx, next(kernel["launches"] for kernel in kernels if kernel["name"] == name)


def measure(attnc: Path, ptxas: str, line: str, target: str) -> list[Row]:
    """The rows of a line, a kernel each."""
    with tempfile.TemporaryDirectory() as name:
        return assemble(ptxas, line, target, *compile_ptx(attnc, line, target, Path(name)))


def assemble(ptxas: str, line: str, target: str, ptx: Path, launches: list[dict]) -> list[Row]:
    """The rows of the PTX of a line."""
    done = call(ptxas, "-v", f"-arch={target}", ptx, "-o", ptx.with_suffix(".cubin"))
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


def read_titles(file: Path) -> dict[str, str]:
    """The lines of a file, by the text behind them."""
    texts = [text.partition("#") for text in file.read_text().splitlines()]
    return {title.strip(): line.strip() for line, _, title in texts if line.strip()}


def write_table(rows: list[Row]) -> None:
    """A line for each kernel and target, in the order of the problems; columns as wide as their widest word."""
    names = [field.name for field in fields(Row)][1:]
    cells = [[str(asdict(row)[name]) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in [names, *cells]) for i in range(len(names))]
    text = [
        "# Written by scripts/ptxas-table.py: what ptxas says of the kernels of gpu.txt and gpu_backward.txt. Registers"
    ]
    text += [
        "# are of a thread; stack, spills and shared memory are bytes; blocks are what a multiprocessor holds at once."
    ]

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


def read_loops(attnc: Path, ptxas: str, nvdisasm: str, line: str, target: str) -> list[sass.Loop]:
    """The main loops of the kernel of a line, without masks first."""
    with tempfile.TemporaryDirectory() as name:
        ptx, launches = compile_ptx(attnc, line, target, Path(name))
        cubin = Path(name) / "k.cubin"
        call(ptxas, f"-arch={target}", ptx, "-o", cubin)
        return sass.find_loops(sass.read_functions(nvdisasm, cubin)[launches[0]["kernel"]])


def print_counts(attnc: Path, ptxas: str, nvdisasm: str, target: str, lines: dict[str, str]) -> None:
    """Executed instructions of the main loops by class, as a table of Markdown: for each HMMA, or wgmma tile."""
    is_whole = target == "sm_90a"
    heads = [f"{target}, bf16", "HGMMA" if is_whole else "HMMA", *list(sass.CLASSES)[1:], "all", "with rescale"]
    print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")

    def show(title: str, products: int, numbers: list[float | None]) -> None:
        cells = ["" if number is None else f"{number:.2f}".removesuffix(".00") for number in numbers]
        print("| " + " | ".join([title, str(products), *cells]) + " |")

    for shape, line in lines.items():
        for loop, title in zip(read_loops(attnc, ptxas, nvdisasm, line, target), ("", ", with mask"), strict=False):
            numbers = [loop.executed[kind] for kind in list(sass.CLASSES)[1:]]
            numbers += [loop.executed.total(), loop.rescaled.total()]
            show(shape + title, loop.products, [n / (1 if is_whole else loop.products) for n in numbers])
        if shape in FA2 and not is_whole:
            products, total, *counts = FA2[shape]
            named = dict(zip(FA2_CLASSES, counts, strict=True))
            numbers = [named.get(kind) for kind in list(sass.CLASSES)[1:]] + [None, total]
            show(f"{shape}, FA2", products, [None if number is None else number / products for number in numbers])


def measure_round(attnc: Path, ptxas: str, nvdisasm: str, line: str) -> bounds.Round | None:
    """What bounds a round of a line on sm_90a."""
    with tempfile.TemporaryDirectory() as name:
        ptx, launches = compile_ptx(attnc, line, "sm_90a", Path(name))
        cubin = Path(name) / "k.cubin"
        call(ptxas, "-arch=sm_90a", ptx, "-o", cubin)
        functions = sass.read_functions(nvdisasm, cubin)
    steps = call(attnc, f"--problem={line}", "--target=sm_90a", "--stop-after=steps", "-o", "-").stdout
    kernels = {launch["kernel"]: functions[launch["kernel"]] for launch in launches}
    return bounds.count_round(line, steps, kernels, attnc.parent / "attn-ptx-run", "sm_90a")


@dataclass
class InFlight:
    """What a decode kernel has on its way while it waits."""

    block: int  # bytes of a block, behind the tile that it waits for, or with it where a step copies its own
    blocks: float  # of a multiprocessor, on average
    most_blocks: int  # that fit one

    @property
    def kib(self) -> float:
        """Of a multiprocessor."""
        return self.block * self.blocks / 1024


def count_bytes_in_flight(attnc: Path, ptxas: str, line: str, target: str) -> InFlight:
    """Of K and V there are 2 stages - 1 tiles behind the one that a block waits for.

    With one stage, as pages have, these are K and V of one step.
    """
    with tempfile.TemporaryDirectory() as name:
        ptx, launches = compile_ptx(attnc, line, target, Path(name))
        rows = assemble(ptxas, line, target, ptx, launches)
    steps = call(attnc, f"--problem={line}", f"--target={target}", "--stop-after=steps", "-o", "-").stdout
    schedule = re.search(r"attn\.schedule = (#attn\.block<[^>]*>)", steps)[1]
    stages = read_number(schedule, r"stages = (\d+)") or 1
    tile = read_number(schedule, r"key_tile = (\d+)") * read_number(line, r" d(\d+)") * (1 if "kv=" in line else 2)
    tiles = 2 * stages - 1 if stages > 1 else 2
    row = next(row for row in rows if row.kernel == launches[0]["kernel"])
    return InFlight(tiles * tile, min(launches[0]["grid"][0] / MULTIPROCESSORS[target], row.blocks), row.blocks)


def print_in_flight(attnc: Path, ptxas: str) -> None:
    """KiB of a multiprocessor, as a table of Markdown."""
    print("| decode of one sequence, KiB | " + " | ".join(TARGETS) + " |\n" + "| --- " * (len(TARGETS) + 1) + "|")
    for title, line in DECODE.items():
        found = [count_bytes_in_flight(attnc, ptxas, line, target) for target in TARGETS]
        print(f"| {title} | " + " | ".join(f"{each.kib:.0f}" for each in found) + " |")


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--in-flight", action="store_true")
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--line", action="append", default=[], help="count this problem line")
    parser.add_argument("--attnc", type=Path, default=ROOT / "build" / "release" / "bin" / "attnc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=CUDA_FOLDER)
    if not ptxas:
        print(f"no ptxas in PATH or {CUDA_FOLDER}: nothing is checked")
        return MISSING
    if options.in_flight:
        print_in_flight(options.attnc, ptxas)
        return 0
    if options.counts or options.bounds:
        nvdisasm = sass.find_nvdisasm()
        if not nvdisasm:
            print(sass.NO_NVDISASM)
            return MISSING
        lines = {line: line for line in options.line}
        if options.bounds:
            lines = lines or read_titles(LINES[0])
            with ThreadPoolExecutor(options.jobs) as pool:
                rounds = pool.map(lambda line: measure_round(options.attnc, ptxas, nvdisasm, line), lines.values())
                bounds.print_rounds(dict(zip(lines, rounds, strict=True)))
            return 0
        lines = lines or COUNTED
        print_counts(options.attnc, ptxas, nvdisasm, (options.target or ["sm_80"])[0], lines)
        return 0
    texts = [text for file in LINES for text in file.read_text().splitlines()]
    lines = [line for text in texts if (line := text.partition("#")[0].strip())]
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
