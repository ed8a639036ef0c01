"""attn beside other systems on the same problems: a table, and a chart as PNG and SVG.

Each system runs in a process of its own on as many processors as threads are asked for, and is stopped while it is not
its turn. In a round every system has one turn: an untimed call, then calls for 20 ms or one, of which the fastest
counts. The share is that of the ceiling measured between the rounds: the FMA peak, for decode the read bandwidth. Every
system gets the layout that it takes without a copy, and its result is compared with attn's once.

    benchmarks/setup_peers.sh
    build/peers/bin/python benchmarks/compare.py --threads 1 --output build/compare

With --backward it is the backward pass alone, on benchmarks/problems/backward.txt, beside the systems that have one on
CPUs: five products, 2.5 times the operations of the forward pass. What the forward pass saves is made before.

With --isa=avx2 all systems, attn and the ceilings included, see a processor of x86-64-v3, where CPUID
can trap (test/lib/CappedProcessor).

Results are kept in OUTPUT/threads-N.json, or [avx2-][backward-]threads-N.json: with --only, the other lines stay as an
earlier run left them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

from peers import DIFFERENTIABLE, MODULES, report, rounds
from peers.problem import Problem, read

PROBLEMS = Path(__file__).resolve().parent / "problems"


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", choices=rounds.ISAS, default="host", help="instructions that all systems may use")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", metavar="REGEX", default="", help="lines whose text or name matches")
    parser.add_argument("--peers", metavar="NAMES", default=",".join(MODULES), help="beside attn, with commas between")
    parser.add_argument("--backward", action="store_true", help="the backward pass")
    parser.add_argument("--problems", type=Path, help="a file; compare.txt or backward.txt")
    parser.add_argument("--output", type=Path, default=rounds.ROOT / "build" / "compare", help="a folder")
    parser.add_argument("--report", action="store_true", help="no run: table and chart of the results that are there")
    arguments = parser.parse_args()
    arguments.problems = arguments.problems or PROBLEMS / ("backward.txt" if arguments.backward else "compare.txt")
    systems = DIFFERENTIABLE if arguments.backward else MODULES
    arguments.peers = [name for name in systems if name == "attn" or name in arguments.peers.split(",")]
    return arguments


def load_results(path: Path, threads: int) -> dict[str, Any]:
    """What earlier runs left, or nothing."""
    if path.exists():
        return json.loads(path.read_text())
    return {"threads": threads, "versions": {}, "missing": {}, "rows": []}


def store(results: dict[str, Any], row: dict[str, Any], problems: list[Problem], path: Path) -> None:
    """Puts a row in its place, and writes the file."""
    order = {problem.line: i for i, problem in enumerate(problems)}
    rows = [other for other in results["rows"] if other["line"] != row["line"] and other["line"] in order]
    results["rows"] = sorted([*rows, row], key=lambda row: order[row["line"]])
    path.write_text(json.dumps(results, indent=1) + "\n")


def start_workers(arguments: argparse.Namespace, results: dict[str, Any]) -> list[rounds.Worker]:
    """One a system that is installed; the others are named."""
    workers = []
    results["missing"] = {}
    for name in arguments.peers:
        log = arguments.output / f"{name.replace(' ', '-')}.log"
        worker = rounds.Worker(name, arguments.threads, log, arguments.isa)
        if worker.missing:
            print(f"without {name}: {worker.missing}", file=sys.stderr)
            results["missing"][name] = worker.missing
            worker.close()
            continue
        results["versions"][name] = worker.version
        workers.append(worker)
    return workers


def main() -> None:
    """Runs the lines and prints the table."""
    arguments = parse_arguments()
    arguments.output.mkdir(parents=True, exist_ok=True)
    kind = ("" if arguments.isa == "host" else arguments.isa + "-") + ("backward-" if arguments.backward else "")
    stem = arguments.output / f"{kind}threads-{arguments.threads}"
    results = load_results(stem.with_suffix(".json"), arguments.threads)
    problems = read(arguments.problems)
    chosen = [p for p in problems if re.search(arguments.only, f"{p.line} # {p.title}")]
    workers: list[rounds.Worker] = []
    try:
        if not arguments.report:
            workers = start_workers(arguments, results)
            if not workers or workers[0].name != "attn":
                raise SystemExit("compare: expected attn among the systems that load, found it missing")
            results["versions"] = {name: results["versions"][name] for name in MODULES if name in results["versions"]}
        for problem in [] if arguments.report else chosen:
            row = rounds.run(problem, workers, arguments.rounds, arguments.threads)
            row["date"] = datetime.date.today().isoformat()
            store(results, row, problems, stem.with_suffix(".json"))
            print(report.line(row), file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.close()
    print(report.table(results))
    print(report.notes(results))
    print(report.summary(results))
    if results["rows"]:
        report.chart(results, stem)


if __name__ == "__main__":
    main()
