#!/usr/bin/env python3
"""Says which links of the Markdown pages lead nowhere: a file that is not there, or a heading that its page lacks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from contents import get_headings

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (".", "docs", "benchmarks/notes")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)


def get_anchors(page: Path) -> set[str]:
    """The headings, as GitHub writes them in addresses."""
    return {anchor for _, _, anchor in get_headings(page.read_text())}


def find_broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in get_anchors(target)):
            broken.append(link)
    return broken


def main() -> None:
    """Prints an error a link."""
    pages = [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]
    errors = [f"{page.relative_to(ROOT)}: link to {link} leads nowhere" for page in pages for link in find_broken(page)]
    print("\n".join(f"error: {error}" for error in errors), file=sys.stderr, end="\n" if errors else "")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
