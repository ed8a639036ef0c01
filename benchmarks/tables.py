"""Prints a page with its regions of results as the files of benchmarks/results have them.

    python3 benchmarks/tables.py docs/Performance.md

A region ends with `<!-- end of results -->`. It begins with `<!-- results: all -->`, for every table of every machine,
or with `<!-- results: short -->`, for a few lines of attn beside other systems. scripts/gen-docs.sh writes the pages,
and with --check compares them. benchmarks/record.py stores results.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
MACHINES = ("zen4", "zen5", "sapphire-rapids")  # in this order on the page; further files follow
REGION = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end of results -->)", re.S)
SHORT_MACHINE = "zen4"
SHORT_TABLES = ("Beside other systems, one thread", "Beside other systems, two threads")
SHORT = (
    "causal 1k, D 64",
    "full 4k, D 128",
    "bf16 full 1k, D 128",
    "decode B 8, 32/8 heads, 4k, D 128",
)
SHORT_HEAD = """| AMD Zen 4, {date}, 1 / 2 threads | share of the ceiling | PyTorch ÷ attn | nearest other ÷ attn |
| --- | --- | --- | --- |"""

Table = dict[str, Any]


def load(machine: str) -> dict[str, Any]:
    """The results of a machine; of a new one, its name and no table."""
    path = RESULTS / f"{machine}.json"
    return json.loads(path.read_text()) if path.exists() else {"machine": machine, "tables": []}


def to_text(results: dict[str, Any]) -> str:
    """A results file: JSON with a row of a table on a line."""
    text = json.dumps(results, indent=1, ensure_ascii=False)
    row = re.compile(r"\[\n\s+(\"(?:[^\"\\]|\\.)*\"(?:,\n\s+\"(?:[^\"\\]|\\.)*\")*)\n\s+\]")
    return row.sub(lambda found: "[" + re.sub(r"\n\s+", " ", found.group(1)) + "]", text) + "\n"


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def section(table: Table) -> str:
    """A table with its title, date, commands, what it shows, notes and chart."""
    parts = [f"### {table['title']}", f"{table['date']}. {table.get('about', '')}".strip()]
    parts.append("\n".join(f"    {command}" for command in table["commands"]))
    parts.append(markdown(table["columns"], table["rows"]))
    if "notes" in table:
        parts.append("\n".join(f"* {note}" for note in table["notes"]))
    if "image" in table:
        parts.append(f"![Shares of the ceiling]({table['image']}.png) ([SVG]({table['image']}.svg))")
    return "\n\n".join(parts)


def all_tables() -> str:
    """Every table, machine by machine."""
    others = sorted({path.stem for path in RESULTS.glob("*.json")} - set(MACHINES))
    parts = []
    for machine in [*MACHINES, *others]:
        results = load(machine)
        parts += [f"## {results['machine']}", *(section(table) for table in results["tables"])]
    return "\n" + "\n\n".join(parts) + "\n\n"


def pair(cells: list[str]) -> str:
    """Two cells as one: `88 %`, `90 %` are `88 / 90 %`, and `1.26 ×`, `1.26 ×` are `1.26 / 1.26 ×`."""
    number, unit = cells[0].split()
    return f"{number} / {cells[1].split()[0]} {unit}"


def nearest(row: dict[str, str]) -> tuple[str, str]:
    """The system that takes the least time, and how many times attn's that is."""
    found = {name: cell.split(" · ")[1] for name, cell in row.items() if " · " in cell}
    name = min(found, key=lambda name: float(found[name].split()[0]))
    return name, found[name]


def short_table() -> str:
    """The lines of SHORT, on one and two threads."""
    tables = {table["title"]: table for table in load(SHORT_MACHINE)["tables"]}
    lines = [SHORT_HEAD.format(date=tables[SHORT_TABLES[0]]["date"])]
    for title in SHORT:
        rows = []
        for table in (tables[name] for name in SHORT_TABLES):
            row = next(row for row in table["rows"] if row[0] == title)
            rows.append(dict(zip(table["columns"], row, strict=True)))
        peak = "`vdpbf16ps` peak" if title.startswith("bf16") else "FMA peak"
        ceiling = "read bandwidth" if title.startswith("decode") else peak
        names, ratios = zip(*(nearest(row) for row in rows), strict=True)
        share = pair([row["share"] for row in rows]) + f" of the {ceiling}"
        torch = pair([row["torch"].split(" · ")[1] for row in rows])
        lines.append(f"| {title} | {share} | {torch} | {pair(list(ratios))} ({', '.join(dict.fromkeys(names))}) |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the page."""
    if len(sys.argv) != 2:
        raise SystemExit("error: expected a page, as docs/Performance.md")
    regions = {"all": all_tables, "short": short_table}
    page = Path(sys.argv[1]).read_text()
    sys.stdout.write(REGION.sub(lambda found: found.group(1) + regions[found.group(2)]() + found.group(3), page))


if __name__ == "__main__":
    main()
