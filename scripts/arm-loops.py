#!/usr/bin/env python3
"""Innermost loops of a 64-bit Arm object with the most multiply-adds, as llvm-mca-22 sees them: a model, no time.

  attnc --problem="hq4 sq960 d64" --target=neoverse-v2 -o build/k.o
  scripts/arm-loops.py build/k.o neoverse-v2 [--count=6]

A line a loop: instructions, multiply-adds, loads, moves between registers, accesses of the stack; cycles of a round by
llvm-mca, and the share of the multiply-add peak. LLVM 22 has models of its own of the processors in PIPES; others
(Apple's, Cortex-A76) are older ones'. The models let an address that an access increments wait for its data, which no
manual says: such an access is taken as two instructions.
"""

import argparse
import re
import subprocess
from collections.abc import Iterator

# Multiply-adds of vectors that begin in a cycle.
PIPES = {"neoverse-n1": 2, "neoverse-n2": 2, "neoverse-n3": 2, "neoverse-v1": 4, "neoverse-v2": 4, "neoverse-v3": 4}
PIPES["a64fx"] = 2
MULTIPLY_ADD = re.compile(r"^(fmla|fmls|fmad|fmsb|bfdot|bfmmla|sdot|udot|smmla|ummla)\b")
BRANCH = re.compile(r"^(b\.\w+|b|cbn?z|tbn?z)\b.*?\b0x([0-9a-f]+)")
ROUNDS = 200
MIN_PRODUCTS = 4


def find_loops(path: str) -> Iterator[tuple[str, list[str]]]:
    """Function and address, and instructions, of each loop that has none inside."""
    command = ["llvm-objdump-22", "-d", "--no-show-raw-insn", "--mattr=+all", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    name, code = "", []
    for line in [*text.splitlines(), "0 <end>:"]:
        if start := re.match(r"^[0-9a-f]+ <(.*)>:", line):
            spans = [(int(m[2], 16), at) for at, text in code if (m := BRANCH.match(text)) and int(m[2], 16) <= at]
            for span in spans:
                if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans):
                    yield f"{name}+{span[0] - code[0][0]:#x}", [text for at, text in code if span[0] <= at <= span[1]]
            name, code = start[1], []
        elif found := re.match(r"^\s*([0-9a-f]+):\s+(\S.*)$", line):
            code.append((int(found[1], 16), re.sub(r"\s+", " ", found[2].split("//")[0].strip())))


def count_cycles(body: list[str], cpu: str) -> float:
    """Cycles of a round."""
    text = "Ltop:\n"
    for line in body:
        after = re.match(r"(.*\[(\w+)\]), (#-?\w+)$", line)
        before = re.match(r"(.*)\[(\w+), (#-?\w+)\]!$", line)
        if BRANCH.match(line):
            text += re.sub(r"0x[0-9a-f]+ <.*", "Ltop", line) + "\n"
        elif after:
            text += f"{after[1]}\nadd {after[2]}, {after[2]}, {after[3]}\n"
        elif before:
            text += f"add {before[2]}, {before[2]}, {before[3]}\n{before[1]}[{before[2]}]\n"
        else:
            text += line + "\n"
    command = ["llvm-mca-22", "-mtriple=aarch64", f"-mcpu={cpu}", "-mattr=+all", f"-iterations={ROUNDS}"]
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", out)[1]) / ROUNDS


def count_products(body: list[str]) -> int:
    """Multiply-adds of vectors."""
    return sum(bool(MULTIPLY_ADD.match(line)) for line in body)


def main() -> None:
    """Prints a line a loop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("object", help="an ELF object for 64-bit Arm")
    parser.add_argument("cpu", choices=sorted(PIPES), help="the model")
    parser.add_argument("--count", type=int, default=6, help="loops at most (6)")
    options = parser.parse_args()
    loops = sorted(find_loops(options.object), key=lambda loop: -count_products(loop[1]))
    for name, body in loops[: options.count]:
        products = count_products(body)
        if products < MIN_PRODUCTS:
            continue
        cycles = count_cycles(body, options.cpu)
        loads, stack = sum(line.startswith("ld") for line in body), sum("[sp" in line for line in body)
        moves = sum(line.startswith(("mov ", "dup", "movprfx")) for line in body)
        print(
            f"{name}: {len(body)} instructions: {products} multiply-adds, {loads} loads, {moves} moves, {stack} stack; "
            f"{cycles:.2f} cycles, {100 * products / cycles / PIPES[options.cpu]:.0f} % of the peak"
        )


if __name__ == "__main__":
    main()
