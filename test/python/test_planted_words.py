"""A mask word and a score function that attn does not have, planted in a copy in parts: the parts alone do not compile.

test/planted/words.patch follows the recipes of CONTRIBUTING.md. The files that it changes are those that know the words
by name. scripts/planted.sh builds the whole copy, as long as a build of attn, and tries the words on every road.
"""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from attn.words import _words
from paths import ATTNC

ROOT = Path(__file__).parents[2]
BUILD = ATTNC.parents[1]
# The parts, each on top of those in front of it: what it changes, and what does not compile then.
PARTS = {
    "rows": (
        "include/attn/Support/*",
        {
            "Words": "expected attn.sdpa to have the attribute every",
            "ScoreWords": "4 elements, but only 3 names were provided",
            "Predicate": "6 elements, but only 5 names were provided",
        },
    ),
    "attributes": (
        "include/attn/IR/*.td",
        {
            "ScoreWords": "4 elements, but only 3 names were provided",
            "Predicate": "6 elements, but only 5 names were provided",
        },
    ),
    "formulas": ("lib/*", {}),
}


def run(command: list, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def make_ops(copy: Path) -> None:
    """The C++ of the ops, as the build makes it."""
    upstream = run(["llvm-config-22", "--includedir"], copy).stdout.strip()
    table = copy / "include/attn/IR/AttnOps.td"
    command = ["mlir-tblgen-22", f"-I{copy}/include", f"-I{upstream}", table]
    for kind, suffix in (("decls", ".h.inc"), ("defs", ".cpp.inc")):
        result = run([*command, f"-gen-op-{kind}", "-o", table.with_suffix(suffix)], copy)
        assert result.returncode == 0, result.stderr


def command_of(name: str) -> tuple[Path, list[str]]:
    """The source of that name, and the compiler of the build with its options, but for precompiled headers."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    entry = next(x for x in entries if x["file"].endswith(f"/{name}.cpp") and "lib/Support/" not in x["file"])
    words = shlex.split(entry["command"])
    end = words.index("-Winvalid-pch") if "-Winvalid-pch" in words else words.index("-o")
    return Path(entry["file"]), words[next(i for i, x in enumerate(words) if "clang++" in x) : end]


@pytest.fixture(scope="module")
def mlir(tmp_path_factory):
    """MLIR's headers, precompiled: those of the build have the ops too."""
    header = tmp_path_factory.mktemp("mlir") / "mlir.h"
    lines = (ROOT / "lib/PrecompiledIR.h").read_text().splitlines(keepends=True)
    header.write_text("".join(x for x in lines if "attn/" not in x))
    made = header.with_suffix(".pch")
    options = command_of("Words")[1]
    result = run([*options, "-fpch-instantiate-templates", "-x", "c++-header", header, "-o", made], BUILD)
    assert result.returncode == 0, result.stderr
    return made


def errors_of(copy: Path, name: str, mlir: Path) -> str:
    """What the compiler says of a file of the copy."""
    source, options = command_of(name)
    options = [x.replace(f"-I{ROOT}/include", f"-I{copy}/include") for x in options]
    result = run([*options, "-include-pch", mlir, "-fsyntax-only", copy / source.relative_to(ROOT)], BUILD)
    assert (result.returncode == 0) == ("error:" not in result.stderr)
    return result.stderr if result.returncode else ""


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_a_word_do_not_compile(tmp_path, mlir, part):
    for name in ("include", "lib"):
        shutil.copytree(ROOT / name, tmp_path / name)
    parts = list(PARTS)[: list(PARTS).index(part) + 1]
    chosen = [f"--include={PARTS[x][0]}" for x in parts]
    result = run(["git", "apply", *chosen, ROOT / "test/planted/words.patch"], tmp_path)
    assert result.returncode == 0, result.stderr
    if "attributes" in parts:
        make_ops(tmp_path)
    if part == "formulas":
        names = sorted({name for _, faults in PARTS.values() for name in faults})
        assert {name: errors_of(tmp_path, name, mlir) for name in names} == dict.fromkeys(names, "")
    for name, fault in PARTS[part][1].items():
        assert fault in errors_of(tmp_path, name, mlir)


@pytest.mark.parametrize("word", _words.MASKS)
def test_mask_words_have_no_name_in_other_files(word):
    """A list of them by hand would lack the next one."""
    names = re.compile(rf'"{word}"|[.>]get{word.title()}\b|Word::{word}\b')
    found = {x.name for x in (ROOT / "lib").rglob("*.[ch]*") if names.search(x.read_text())}
    assert found <= {"MaskVerifiers.cpp", "ProblemChecks.cpp"}
