#!/usr/bin/env python3
"""Whether two builds of attnc make the same code: PTX, assembly, and IR at `tile` and `steps`.

    scripts/same.py --write build/same build/release/bin/attnc     keeps what this attnc makes
    scripts/same.py build/same build/release/bin/attnc             compares with it
    scripts/same.py OTHER/bin/attnc build/release/bin/attnc --only=asm --every=5

A side is an attnc, or a folder that --write has made. Compared are the lines of benchmarks/problems/gpu_suite.txt and
test/python/gpu_regions.txt, which have every feature, and of gpu_backward.txt, for NVIDIA GPUs; the first two for one
processor, and compare.txt, backward.txt and prefill.txt for processors of four levels. Each text is identical, equal
after renaming (registers, labels and SSA names in the order in which they appear), or different. The exit status is 1
where one is different. What attnc refuses has the message as its text.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROBLEMS = ROOT / "benchmarks" / "problems"
FEATURE_FILES = (PROBLEMS / "gpu_suite.txt", ROOT / "test" / "python" / "gpu_regions.txt")
GPU_FILES = (*FEATURE_FILES, PROBLEMS / "gpu_backward.txt")
CPU_FILES = (PROBLEMS / "compare.txt", PROBLEMS / "backward.txt", PROBLEMS / "prefill.txt")
GPU_TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")
CPU_TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids")
IR_TARGETS = ("x86-64-v4", "sm_80", "sm_90a")
TIME_LIMIT = 600  # seconds a text
SHOWN = 20  # different texts that are named

# What has a name of its own in each kind of text.
NAMES = {
    "ptx": re.compile(r"%[a-z]+\d+|\$L__\w+"),
    "asm": re.compile(r"%[xyz]mm\d+|%k[0-7]|%r\w+|%e[a-ds]\w|\.L\w+"),
    "ir": re.compile(r"%[\w#]+|\^bb\d+|#map\d*"),
}


class Text(NamedTuple):
    """What one attnc writes: of a problem, for a target."""

    problem: str
    target: str
    kind: str  # of NAMES
    options: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name of its file."""
        return hashlib.sha256("\0".join((self.problem, self.target, *self.options)).encode()).hexdigest()[:24]

    def __str__(self) -> str:
        """One line."""
        return f"{' '.join(self.options)} --target={self.target}: {self.problem.splitlines()[0]}"


def read_problems(file: Path) -> list[str]:
    """Problems with their regions, without comments; a blank line is between those of more lines."""
    lines = [re.sub(r"\s*#( .*)?$", "", line) for line in file.read_text().splitlines()]
    if not any(line.startswith(("score_mod", "mask_mod", "captures", "weight_mod")) for line in lines):
        return [line for line in lines if line]
    return [block for block in re.split(r"\n\n+", "\n".join(lines)) if block.strip()]


def list_texts(only: str, every: int) -> Iterator[Text]:
    """All that is compared: of one kind where `only` says so, and one problem in `every`."""
    sides = [(GPU_FILES, GPU_TARGETS, "ptx"), (CPU_FILES, CPU_TARGETS, "asm"), (FEATURE_FILES, ("x86-64-v4",), "asm")]
    for files, targets, kind in sides:
        for problem in [x for file in files for x in read_problems(file)][::every]:
            for target in targets:
                if only in ("", kind):  # of PTX, one kernel a text
                    kernel = ("--kernel=sdpa_backward",) if kind == "ptx" and "grad=" in problem else ()
                    yield Text(problem, target, kind, (f"--emit={kind}", *kernel))
                phases = ("tile", "steps") if kind == "ptx" else ("tile",)
                for phase in phases if only in ("", "ir") and target in IR_TARGETS else ():
                    yield Text(problem, target, "ir", (f"--stop-after={phase}", "--emit=mlir"))


def make(attnc: Path, text: Text) -> str:
    """What attnc writes, or why not."""
    command = [str(attnc), f"--problem={text.problem}", f"--target={text.target}", *text.options, "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    return done.stdout if done.returncode == 0 else f"refused: {done.stderr}"


def get(side: Path, text: Text) -> str:
    """The text of one side."""
    if not side.is_dir():
        return make(side, text)
    file = side / f"{text.key}.gz"
    return gzip.decompress(file.read_bytes()).decode() if file.exists() else "not kept"


def rename(kind: str, text: str) -> str:
    """The text with names in the order in which they appear."""
    names: dict[str, str] = {}
    return NAMES[kind].sub(lambda found: names.setdefault(found[0], f"%{len(names)}"), text)


def compare(before: Path, after: Path, text: Text) -> str:
    """The verdict on one text."""
    old, new = get(before, text), get(after, text)
    if old == new:
        return "identical"
    return "equal after renaming" if rename(text.kind, old) == rename(text.kind, new) else "different"


def main() -> int:
    """Prints how many texts there are of each kind and verdict, and which are different."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, nargs="?", help="an attnc, or a folder of --write")
    parser.add_argument("after", type=Path, help="an attnc, or a folder of --write")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="keep what AFTER makes there")
    parser.add_argument("--only", choices=sorted(NAMES), default="", help="texts of one kind")
    parser.add_argument("--every", type=int, default=1, help="one problem in so many")
    options = parser.parse_args()
    if (options.before is None) == (options.write is None):
        parser.error("expected BEFORE and AFTER, or --write=FOLDER and an attnc")
    for side in (options.before, options.after):
        if side is not None and not side.exists():
            parser.error(f"expected an attnc or a folder of --write, found no {side}")
    texts = list(list_texts(options.only, options.every))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if options.write:
            options.write.mkdir(parents=True, exist_ok=True)
            for text, made in zip(texts, pool.map(lambda x: make(options.after, x), texts), strict=True):
                (options.write / f"{text.key}.gz").write_bytes(gzip.compress(made.encode(), 1))
            print(f"{len(texts)} texts kept in {options.write}")
            return 0
        verdicts = list(pool.map(lambda x: compare(options.before, options.after, x), texts))
    for (kind, verdict), count in sorted(
        collections.Counter((t.kind, v) for t, v in zip(texts, verdicts, strict=True)).items()
    ):
        print(f"{kind}: {count} {verdict}")
    different = [text for text, verdict in zip(texts, verdicts, strict=True) if verdict == "different"]
    for text in different[:SHOWN]:
        print(f"different: {text}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
