#!/usr/bin/env python3
"""Prints a page with a table of contents in front of its first section, where the page is long; without one otherwise.

    scripts/contents.py docs/GPU.md

scripts/gen-docs.sh writes the pages of docs so, and with --check compares them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A page of more lines than this, the table apart, has one.
LONG = 300
TABLE = re.compile(r"<!-- contents -->\n.*?<!-- end of contents -->\n\n", re.S)
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
DEEPEST = 3


def get_headings(text: str) -> list[tuple[int, str, str]]:
    """Level, title and address of each heading, the address as GitHub writes it: equal ones are numbered."""
    found = []
    seen: dict[str, int] = {}
    for marks, title in re.findall(r"^(#+) (.*)$", FENCED.sub("", text), re.M):
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.append((len(marks), title, f"{anchor}-{count}" if count else anchor))
    return found


def write_contents(text: str) -> str:
    """The page with its table of contents as its headings are now."""
    text = TABLE.sub("", text).replace("[TOC]\n\n", "")  # mlir-tblgen's, which GitHub shows as it is
    sections = [heading for heading in get_headings(text) if 1 < heading[0] <= DEEPEST]
    if text.count("\n") <= LONG or not sections:
        return text
    highest = min(level for level, _, _ in sections)
    lines: list[str] = []
    for level, title, anchor in sections:
        link = f"[{title.split(' (::')[0]}](#{anchor})"  # of an op without its class
        if level == highest:
            lines.append(f"* {link}")
        else:
            lines[-1] += f"{' · ' if ': ' in lines[-1] else ': '}{link}"
    table = "\n".join(["<!-- contents -->", *lines, "<!-- end of contents -->", "", ""])
    place = re.search(rf"^#{{{sections[0][0]}}} ", text, re.M)
    assert place, "expected a heading"
    return text[: place.start()] + table + text[place.start() :]


if __name__ == "__main__":
    sys.stdout.write(write_contents(Path(sys.argv[1]).read_text()))
