"""Fails where a ```cpp block of PAGE stands in no file of FOLDER: `fragments.py PAGE FOLDER`."""

import re
import sys
from pathlib import Path

page = Path(sys.argv[1]).read_text()
sources = [path.read_text() for path in Path(sys.argv[2]).rglob("*.cpp")]
fragments = re.findall(r"^```cpp\n(.*?)^```$", page, re.M | re.S)
for fragment in fragments:
    if not any(fragment in source for source in sources):
        sys.exit(f"expected this in a file of {sys.argv[2]}:\n{fragment}")
print(f"{len(fragments)} fragments")
