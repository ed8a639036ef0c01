"""Machine code of a cubin: its loops with products, and their instructions by class, as nvdisasm shows them.

PTX does not say what is executed: ptxas adds moves where the operands of a product are not adjacent registers, and
merges or splits other instructions. nvdisasm is a package of PyPI, which `scripts/setup.sh --sass` installs; it needs
neither CUDA nor a GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "build" / "sass"
NO_NVDISASM = f"no nvdisasm in PATH or {PACKAGES.relative_to(ROOT)}: run scripts/setup.sh --sass"

# What stands first wins. A name is a column of the tables.
CLASSES = {
    "HMMA": r"HMMA|HGMMA", "LDSM": r"LDSM", "FFMA": r"FFMA", "FMUL": r"FMUL", "FADD": r"FADD", "FMNMX": r"FMNMX",
    "MUFU": r"MUFU", "F2FP": r"F2FP", "MOV": r"MOV|IMAD\.MOV|IMAD\.U32|UMOV|R2UR", "LDGSTS": r"LDGSTS",
    "spill": r"LDL|STL", "branch": r"BRA|BSSY|BSYNC|BREAK|CALL|RET|EXIT|YIELD|WARPSYNC",
    "integer": r"IMAD|IADD|LEA|LOP|SHF|ISETP|SEL|PRMT|IMNMX|PLOP|P2R|R2P|VOTE|U",
    "other": r"",
}  # fmt: skip


def find_nvdisasm() -> str | None:
    """Where the tool is, if it is there."""
    installed = next(PACKAGES.glob("lib/python*/site-packages/nvidia/*/bin/nvdisasm"), None)
    return shutil.which("nvdisasm") or (str(installed) if installed else None)


@dataclass
class Instruction:
    """One of a kernel: its opcode with modifiers, and where it may jump to."""

    opcode: str
    target: str | None
    is_predicated: bool

    @property
    def kind(self) -> str:
        """Its class."""
        return next(name for name, pattern in CLASSES.items() if re.match(pattern, self.opcode))

    @property
    def may_continue(self) -> bool:
        """False where the next instruction is not reached from here."""
        return self.is_predicated or (not re.match(r"BRA|EXIT|RET", self.opcode) and not self.jumps_by_call)

    @property
    def jumps_by_call(self) -> bool:
        """True for what ptxas may have at the end of a loop: a call of a label that never returns."""
        return self.opcode.startswith("CALL") and self.target is not None


@dataclass
class Block:
    """A basic block."""

    instructions: list[Instruction]
    successors: list[int]

    def has(self, *kinds: str) -> bool:
        """True if one of its instructions is of one of these classes."""
        return any(each.kind in kinds for each in self.instructions)


@dataclass
class Loop:
    """A loop with products and without a loop with products in it.

    Blocks that no round needs are those that a branch jumps over. The copy of the next tile is one, which all rounds
    but the last execute. The others are left out of `executed`: rows with large maxima, and the rescale of acc.
    """

    blocks: list[Block]
    skipped: list[Block]

    @property
    def executed(self) -> Counter[str]:
        """Instructions of a round in which no maximum moves, by class."""
        return count([block for block in self.blocks if block not in self.skipped])

    @property
    def rescaled(self) -> Counter[str]:
        """The same of a round that rescales acc: a block with powers of two, or with products alone."""
        rescales = [
            block
            for block in self.skipped
            if block.has("MUFU") or (block.has("FMUL") and not block.has("FADD", "FFMA"))
        ]
        return self.executed + count(rescales)

    @property
    def products(self) -> int:
        """HMMA, or HGMMA, of a round."""
        return self.executed["HMMA"]


def count(blocks: list[Block]) -> Counter[str]:
    """Instructions of these blocks by class."""
    return Counter(each.kind for block in blocks for each in block.instructions)


def read_functions(nvdisasm: str, cubin: Path) -> dict[str, list[Block]]:
    """The basic blocks of each kernel of a cubin."""
    done = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True)
    sections = re.split(r"^\.text\.(\S+):\n", done.stdout, flags=re.MULTILINE)[1:]
    return {name: split_blocks(text) for name, text in zip(sections[::2], sections[1::2], strict=True)}


def split_blocks(text: str) -> list[Block]:
    """Basic blocks of the text of a kernel; labels that no jump has do not end one."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = len(code)
        if found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);", line):
            jump = re.match(r"BRA|CALL", found[2]) and re.search(r"`\((\.L\w+)\)", found[3])
            code.append(Instruction(found[2], jump[1] if jump else None, bool(found[1])))
    ends = {i + 1 for i, each in enumerate(code) if each.target or not each.may_continue}
    starts = sorted({0, *ends, *(labels[each.target] for each in code if each.target)} - {len(code)})
    number = {start: i for i, start in enumerate(starts)}
    blocks = []
    for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
        last = code[end - 1]
        successors = [number[labels[last.target]]] if last.target else []
        if last.may_continue and end in number:
            successors.append(number[end])
        blocks.append(Block(code[start:end], successors))
    return blocks


def reach(blocks: list[Block], first: int, without: set[int]) -> set[int]:
    """What can be reached from a block by paths that avoid others."""
    found, left = set(), [first]
    while left:
        block = left.pop()
        if block not in found and block not in without:
            found.add(block)
            left += blocks[block].successors
    return found


def find_loops(blocks: list[Block]) -> list[Loop]:
    """The inner loops with products, those with the fewest instructions first."""
    inside: dict[int, set[int]] = {}
    ends: dict[int, set[int]] = {}
    for last, block in enumerate(blocks):
        for header in block.successors:
            # A loop is entered at its header alone.
            if header <= last and last not in reach(blocks, 0, {header}):
                body = {i for i in reach(blocks, header, set()) if last in reach(blocks, i, {header}) or i == last}
                inside.setdefault(header, set()).update(body, {header})
                ends.setdefault(header, set()).add(last)
    with_products = {h: body for h, body in inside.items() if any(blocks[i].has("HMMA") for i in body)}
    loops = []
    for header, body in with_products.items():
        if any(other < body for other in with_products.values()):
            continue
        optional = [i for i in body if i != header and reach(blocks, header, {i}) & ends[header] - {i}]
        skipped = [blocks[i] for i in sorted(optional) if not blocks[i].has("HMMA", "LDGSTS")]
        loops.append(Loop([blocks[i] for i in sorted(body)], skipped))
    return sorted(loops, key=lambda loop: loop.executed.total())
