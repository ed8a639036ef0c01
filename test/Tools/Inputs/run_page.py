"""Runs the blocks of a page: ```mlir``` blocks are the files that their first line names; in ```console``` blocks each
`$ command` has to succeed and print the lines below it, in order, where `…` stands for anything. `$ export NAME=…`
holds for all commands of the page. A session of `$ python` is a doctest.
"""

import re
import subprocess
import sys
from pathlib import Path


def expect(command: str, printed: str, lines: list[str]) -> None:
    """Fails where a line is missing."""
    rest = printed.splitlines()
    for line in lines:
        pattern = ".*".join(map(re.escape, line.split("…")))
        while rest and not re.search(pattern, rest[0]):
            rest.pop(0)
        if not rest:
            sys.exit(f"$ {command}\nexpected a line like\n{line}\nfound\n{printed}")
        rest.pop(0)


page = Path(sys.argv[1]).read_text()
exports = re.findall(r"^\$ (export .*)$", page, re.M)
num_files = num_commands = 0
for language, text in re.findall(r"^```(mlir|console)\n(.*?)^```$", page, re.M | re.S):
    if language == "mlir":
        Path(re.match(r"// ([^:\n]*)", text)[1]).write_text(text)
        num_files += 1
        continue
    for block in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *lines = block.splitlines()
        if lines and lines[0].startswith(">>> "):
            Path("session.txt").write_text("\n".join(lines))
            command, lines = f"{command} -m doctest session.txt", []
        script = "\n".join([*exports, command])
        done = subprocess.run(script, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"$ {command}\n{done.stdout}")
        expect(command, done.stdout, lines)
        num_commands += 1
print(f"{num_files} files, {num_commands} commands")
