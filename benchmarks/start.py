"""How long a new process takes to its first result: with nothing compiled, and with the kernel on disk.

    build/venv/bin/python benchmarks/start.py

Each round is two new processes with an empty folder: the first compiles, the second finds the kernels. Printed is the
best of all rounds, in milliseconds of wall time. --python names the interpreter of another environment, as one with the
wheel.
"""

import argparse
import json
import subprocess
import sys
import tempfile

STEPS = {
    "import numpy": "import numpy as np",
    "import attn": "import attn",
    "compile": "attn.compile('hq8 sq1024 d64 causal=top_left')",
    "first attn.sdpa": "attn.sdpa(x, x, x)",
    "second attn.sdpa": "attn.sdpa(x, x, x)",
}
# Between the steps, and not timed.
AFTER = {"import attn": "attn.set_cache(directory=sys.argv[1]); x = np.zeros((1, 8, 64, 64), np.float32)"}


def program() -> str:
    """What a process runs: each step with its time, as JSON; then how many kernels were found on disk."""
    lines = ["import json, sys, time", "times = []"]
    for name, code in STEPS.items():
        lines += ["start = time.perf_counter()", code, "times.append(time.perf_counter() - start)", AFTER.get(name, "")]
    return "\n".join([*lines, "print(json.dumps([times, attn.cache_info().hits]))"])


def measure(python: str, folder: str, hits: int) -> list[float]:
    """The milliseconds of each step of a new process, which finds `hits` kernels in the folder."""
    done = subprocess.run([python, "-c", program(), folder], capture_output=True, text=True, check=True)
    times, found = json.loads(done.stdout)
    assert found == hits, f"expected {hits} kernels on disk, found {found}"
    return [1e3 * x for x in times]


def main() -> None:
    """Prints a row a step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter to measure")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    rows: dict[int, list[list[float]]] = {0: [], 2: []}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for hits, times in rows.items():
                times.append(measure(arguments.python, f"{folder}/kernels", hits))
    print("| step, best of", arguments.rounds, "| first process, ms | second process, ms |\n| --- | --- | --- |")
    for name, *best in zip(STEPS, *(map(min, zip(*times, strict=True)) for times in rows.values()), strict=True):
        print(f"| {name} |", " | ".join(f"{x:.1f}" for x in best), "|")


if __name__ == "__main__":
    main()
