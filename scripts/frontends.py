#!/usr/bin/env python3
"""Raises linalg that front ends wrote, counts, and compares.

  scripts/frontends.py                     test/Frontends; about a minute of one core
  scripts/frontends.py FILE|FOLDER…        others
  scripts/frontends.py --expected=FOLDER   results of the framework too, FOLDER/NAME.npz: in0…, out0…
  scripts/frontends.py --fused             after upstream's linalg-fuse-elementwise-ops, as other compilers run it

For each file: how many attentions attn-raise and attn-fuse make `attn.sdpa` ops of, or a chain where the weights are a
result too, and whether `attnc run --check` agrees with the same file, not raised, in f64. Where scores are so large
that f32 does not, the file compiled as it is (`--raise=false`) must be as far from f64. A file says how many
attentions it holds by a line `// attentions: N`; for another it is what was raised and what missed remarks name. Large
splats, which stand for weights, get random values first: they would hide a wrong mask or a wrong head. The folder of
--expected is what test/Frontends/generate/to_linalg.py --numbers writes.

The last line is `fused F of N, K failed`. The exit status is 1 where a number is wrong, a file fails, or a file without
attention was raised.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = (
    "builtin.module(func.func(attn-lower-tosa,convert-elementwise-to-linalg,attn-raise,attn-canonicalize,attn-fuse))"
)
FUSION = (
    "builtin.module(canonicalize,cse,"
    "func.func(linalg-generalize-named-ops,linalg-fuse-elementwise-ops),canonicalize,cse)"
)
SPLAT = re.compile(r"dense<1\.0+e-02> : tensor<([\dx]+)xf32>")
SMALLEST_SPLAT = 1000  # elements
DEVIATION = 0.12  # of weights: scores stay near 1
ILL_CONDITIONED = 1e-3  # errors of f32 that its rounding explains
TOLERANCE = {4: 2e-5, 2: 2e-2}  # relative to the largest element, by bytes


@dataclass
class Outcome:
    """What became of a file: attentions held, fused, and left as chains."""

    name: str
    expected: int
    fused: int
    chains: int
    problem: str = ""

    def __str__(self) -> str:
        """A line of the report."""
        kind = "chain" if self.chains else "fused" if self.fused else "left"
        status = self.problem or "ok"
        return f"{self.name:28} {kind:6} {self.fused + self.chains} of {self.expected}  {status}"


def randomize(text: str) -> str:
    """`text` with random weights instead of splats."""
    rng = np.random.default_rng(0)

    def draw(match: re.Match) -> str:
        shape = [int(x) for x in match[1].split("x")]
        if np.prod(shape) < SMALLEST_SPLAT:
            return match[0]
        values = (rng.standard_normal(shape) * DEVIATION).astype("<f4")
        return f'dense<"0x{values.tobytes().hex().upper()}"> : tensor<{match[1]}xf32>'

    return SPLAT.sub(draw, text)


# What every attnc gets.
OPTIONS: list[str] = []


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs `command` whatever its exit status is."""
    return subprocess.run([str(x) for x in command], capture_output=True, text=True)


def get_error(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says what went wrong."""
    lines = (
        [x for x in done.stderr.splitlines() if "error" in x] or done.stderr.splitlines() or done.stdout.splitlines()
    )
    return lines[0] if lines else f"exit status {done.returncode}"


def check_numbers(tools: Path, path: Path) -> str:
    """What is wrong with the numbers for random inputs; empty where nothing is."""

    def get_largest(done: subprocess.CompletedProcess[str]) -> float:
        errors = re.findall(r"relative to max \|ref\| (\S+)", done.stdout)
        return max(map(float, errors)) if errors else float("nan")

    done = run(tools / "attnc", "run", "--check", path, *OPTIONS)
    if not done.returncode:
        return ""
    as_written = run(tools / "attnc", "run", "--check", "--raise=false", path, *OPTIONS)
    is_same = get_largest(done) <= 2 * get_largest(as_written) and get_largest(done) < ILL_CONDITIONED
    return "" if is_same else get_error(done)


def compare(tools: Path, path: Path, numbers: Path, folder: Path) -> str:
    """What is wrong with the results for the framework's inputs; empty where nothing is."""
    stored = np.load(numbers)
    command: list[str | Path] = [tools / "attnc", "run", path, *OPTIONS]
    element = re.search(r"@\w+\((.*?)\) ->", path.read_text(), re.S)[1].split("tensor<")[1:]
    for i, kind in enumerate(element):
        values = stored[f"in{i}"]
        if re.match(r"[^>]*bf16>", kind):  # .npy has no such type: the upper half of f32
            values = (values.view("<u4") >> 16).astype("<u2").view("V2")
        np.save(folder / f"in{i}.npy", np.asarray(values, order="C"))
        command.append(f"--input={folder / f'in{i}.npy'}")
    names = [x for x in stored.files if x.startswith("out")]
    done = run(*command, *(f"--output={folder / x}.npy" for x in names))
    if done.returncode:
        return get_error(done)
    for name in names:
        found, expected = np.load(folder / f"{name}.npy"), stored[name].astype(np.float64)
        size = found.dtype.itemsize
        if found.dtype.kind == "V":
            found = (found.view("<u2").astype("<u4") << 16).view("<f4")
        wanted = ~np.isnan(expected)  # a softmax of a row without keys; zeros here
        error = np.abs(found.astype(np.float64) - expected)[wanted].max() / max(np.abs(expected[wanted]).max(), 1e-9)
        if error > TOLERANCE[size]:
            return f"{name} differs from the framework's by {error:.1e} of its largest element"
    return ""


def check(tools: Path, path: Path, numbers: Path | None, fused: bool) -> Outcome:
    """Raises the file, counts and compares."""
    with tempfile.TemporaryDirectory() as folder:
        text = path.read_text()
        if fused:
            done = run(tools / "attn-opt", path, f"--pass-pipeline={FUSION}")
            if done.returncode:
                return Outcome(path.stem, 0, 0, 0, get_error(done))
            text = "\n".join(re.findall(r"^// attentions: .*$", text, re.M)) + "\n" + done.stdout
            path = Path(folder) / "fused" / path.name
            path.parent.mkdir()
            path.write_text(text)
        copy = Path(folder) / path.name
        copy.write_text(randomize(text))
        raised = run(tools / "attn-opt", path, f"--pass-pipeline={PIPELINE}", "--remarks-filter-missed=.*")
        missed = raised.stderr.count("attention-not-raised")
        fused, chains = raised.stdout.count("attn.sdpa"), raised.stdout.count("attn.apply")
        stated = re.search(r"^// attentions: (\d+)$", text, re.M)
        outcome = Outcome(path.stem, int(stated[1]) if stated else fused + chains + missed, fused, chains)
        if raised.returncode:
            outcome.problem = get_error(raised)
        elif fused + chains > outcome.expected:
            outcome.problem = "raised though it is no attention"
        else:
            outcome.problem = check_numbers(tools, copy)
        file = numbers / f"{path.stem}.npz" if numbers else None
        if not outcome.problem and file and file.exists():
            whole = file.with_suffix(".mlir")  # with the weights of the framework's model
            outcome.problem = compare(tools, whole if whole.exists() else path, file, Path(folder))
        return outcome


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[ROOT / "test/Frontends"])
    parser.add_argument("--expected", type=Path, help="folder of NAME.npz with the framework's inputs and results")
    parser.add_argument("--fused", action="store_true", help="after linalg-fuse-elementwise-ops")
    parser.add_argument("--tools", type=Path, default=ROOT / "build/release/bin", help="folder of attn-opt and attnc")
    parser.add_argument("--object-cache", default="", help="attnc's: a folder where machine code is kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    OPTIONS.extend([f"--object-cache={options.object_cache}"] if options.object_cache else [])
    files = [x for path in options.files for x in (sorted(path.rglob("*.mlir")) if path.is_dir() else [path])]
    if not files:
        parser.error(f"expected .mlir files in {' '.join(map(str, options.files))}, found none")
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda x: check(options.tools, x, options.expected, options.fused), files))
    print(*outcomes, sep="\n")
    fused, failed = sum(x.fused + x.chains for x in outcomes), sum(bool(x.problem) for x in outcomes)
    print(f"{len(files)} files: fused {fused} of {sum(x.expected for x in outcomes)}, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
