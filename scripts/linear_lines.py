#!/usr/bin/env python3
"""Random problem lines of linear attention, each with `attnc run --check`: those that fail, and how many.

scripts/linear_lines.py --count=1000
scripts/linear_lines.py --count=200 --seed=7 --target=x86-64-v3
scripts/linear_lines.py --count=100 --grad    the gradients too
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from pathlib import Path

ATTNC = Path(__file__).resolve().parents[1] / "build" / "release" / "bin" / "attnc"
TIME_LIMIT = 300  # seconds a line
AXES = {
    "b": (1, 1, 2, 3),
    "hkv": (1, 1, 2, 3),
    "group": (1, 2, 4),
    "sq": (0, 1, 1, 2, 5, 8, 9, 17, 31, 32, 33, 64, 65, 113, 203),
    "d": (1, 8, 16, 32, 40, 59, 64, 111, 128, 192),
    "dv": (1, 8, 20, 32, 59, 64, 96, 128, 160),
    "type": ("f32", "f32", "f64", "bf16", "f16"),
    "decay": ("", "decay=head", "decay=channel"),
    "erase": ("", "beta", "beta", "erase", "erase before", "erase write", "erase write before"),
    "normalize": ("", "normalize", "normalize=1e-4"),
    "scale": ("", "", "scale=0.7"),
    "slots": ("", "", "slots=3", "slots=9"),
    "layout": ("", "layout=bshd", "layout=varlen"),
}


# Of lines with gradients: a row of one number is ±1 when it is normalised, with a gradient of rounding errors.
OF_GRADIENTS = {"d": AXES["d"][1:]}


def draw(rng: random.Random, *, grad: bool) -> str:
    """A line with a value of each axis."""
    axes = AXES | (OF_GRADIENTS if grad else {})
    x = {name: rng.choice(values) for name, values in axes.items()}
    sizes = f"b{x['b']} hq{x['hkv'] * x['group']} hkv{x['hkv']} sq{x['sq']} d{x['d']} dv{x['dv']}"
    words = [x[name] for name in ("type", "decay", "erase", "normalize", "scale", "slots", "layout")]
    return " ".join(["linear", sizes, *filter(None, words)])


def main() -> int:
    """Runs the lines; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="host")
    parser.add_argument("--grad", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    failed = 0
    for i in range(options.count):
        line = draw(rng, grad=options.grad)
        command = [ATTNC, "run", f"--problem={line}", "--check", f"--seed={i}", f"--target={options.target}"]
        command += ["--grad"] if options.grad else []
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
        if run.returncode != 0:
            failed += 1
            print(f"{line}\n{run.stdout}{run.stderr}", flush=True)
    print(f"{options.count} lines, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
