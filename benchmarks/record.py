"""Runs a benchmark, and stores the table that it prints with date and command in benchmarks/results/MACHINE.json.

    build/venv/bin/python benchmarks/record.py zen5 Goals -- build/venv/bin/python benchmarks/goals.py
    build/venv/bin/python benchmarks/record.py zen5 Prefill -- attnc bench --problems=benchmarks/problems/prefill.txt

The table takes the place of the one of the same title; what that says of itself (`about`) stays. Lines of `attnc bench`
become a table too, and lines that start with `* ` its notes. Then scripts/gen-docs.sh writes the pages.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shlex
import subprocess
import sys

from tables import RESULTS, Table, load, to_text

BENCH = re.compile(r"^(.+): best ([\d.]+ ms), .*\((.+)\), ([\d.]+ %)", re.M)


def parse_output(text: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the first Markdown table, or of the lines of `attnc bench`."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    if rows:
        return rows[0], rows[2:]
    return ["problem", "best", "ceiling", "share"], [
        [f"`{problem}`", best, ceiling, share] for problem, best, ceiling, share in BENCH.findall(text)
    ]


def replace(tables: list[Table], table: Table) -> list[Table]:
    """The tables with this one in the place of the one of its title, or behind them."""
    titles = [other["title"] for other in tables]
    if table["title"] not in titles:
        return [*tables, table]
    place = titles.index(table["title"])
    kept = {key: tables[place][key] for key in ("about", "image") if key in tables[place]}
    return [*tables[:place], {**table, **kept}, *tables[place + 1 :]]


def main() -> None:
    """Runs, prints and stores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", help="name of the results file")
    parser.add_argument("title")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    arguments = parser.parse_args()
    done = subprocess.run(arguments.command, check=True, stdout=subprocess.PIPE, text=True)
    sys.stdout.write(done.stdout)
    columns, rows = parse_output(done.stdout)
    if not rows:
        raise SystemExit("error: expected a table or lines of attnc bench, found neither")
    table = {
        "title": arguments.title,
        "date": datetime.date.today().isoformat(),
        "commands": [shlex.join(arguments.command)],
        "columns": columns,
        "rows": rows,
    }
    if notes := [line[2:] for line in done.stdout.splitlines() if line.startswith("* ")]:
        table["notes"] = notes
    results = load(arguments.machine)
    results["tables"] = replace(results["tables"], table)
    (RESULTS / f"{arguments.machine}.json").write_text(to_text(results))


if __name__ == "__main__":
    main()
