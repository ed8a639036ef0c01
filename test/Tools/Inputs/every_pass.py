"""Sends IR with ops that nobody registered through each pass and pipeline: a pass may refuse them, and has to live.

every_pass.py SOURCE HANDWRITTEN FOLDER: SOURCE is the root of the source tree, whose Passes.td say which passes there
are; HANDWRITTEN is such IR. Beside it, the IR between the phases of attnc is sent, with such an op in each block.
"""

import pathlib
import re
import subprocess
import sys

PROBLEM = "hq4 hkv2 sq32 sk64 d64 bf16 causal=top_left"
PHASES = {
    "x86-64-v3": ["input", "canonicalize", "fuse", "analyze-mask", "online", "tile", "bufferize", "vector", "llvm"],
    "sm_80": ["tile", "bufferize", "gpu", "steps"],
    "sm_90a": ["gpu", "steps"],
}
PIPELINES = ["attn-to-flash", "attn-to-reference", "attn-to-llvm", "attn-to-gpu"]
# What a pass does with a module by default is not enough of it, or is nothing.
OPTIONS = {
    "attn-to-gpu": "target=sm_80",
    "attn-verify-phase": "phase=vector",
    "attn-override-schedule": "schedule=#attn.decode<>",
}
BLOCK = re.compile(r"^ *(?:%\S+ = )?(?:module|func\.func|gpu\.module|gpu\.func|scf\.for|scf\.forall|scf\.if) .*\{$")


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def get_phases(folder: pathlib.Path) -> list[str]:
    texts = []
    for target, phases in PHASES.items():
        for phase in phases:
            path = folder / f"{target}-{phase}.mlir"
            options = [f"--target={target}", f"--stop-after={phase}", "--emit=mlir", "-o", str(path)]
            done = run("attnc", f"--problem={PROBLEM}", *options)
            assert done.returncode == 0, (target, phase, done.stderr)
            lines = []
            for line in path.read_text().splitlines():
                lines.append(line)
                if BLOCK.match(line):
                    lines.append('"foreign.op"() : () -> ()')
            assert len(lines) > len(path.read_text().splitlines()), (target, phase)
            texts.append("\n".join(lines))
    return texts


def get_passes(source: pathlib.Path) -> list[str]:
    """Those of Passes.td, which have to be those that attn-opt knows."""
    declared = set(PIPELINES)
    for path in (source / "include/attn").rglob("*.td"):
        declared |= set(re.findall(r': Pass<"([\w-]+)"', path.read_text()))
    known = set(re.findall(r"^ +--(attn-[\w-]+)", run("attn-opt", "--help").stdout, re.M))
    assert declared <= known, declared - known
    assert {name for name in known if name.startswith("attn-to-")} == set(PIPELINES), known
    return sorted(declared)


def main(source: str, handwritten: str, folder: str) -> None:
    path = pathlib.Path(folder) / "all.mlir"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n// -----\n".join([pathlib.Path(handwritten).read_text(), *get_phases(path.parent)]))
    options = ["--split-input-file", "--allow-unregistered-dialect", "-o", "/dev/null"]
    assert run("attn-opt", str(path), *options).returncode == 0, "expected IR that parses"
    passes, crashed = get_passes(pathlib.Path(source)), []
    for name in passes:
        flag = f"--{name}" + (f"={OPTIONS[name]}" if name in OPTIONS else "")
        done = run("attn-opt", str(path), flag, *options)
        is_refused = done.returncode == 1 and "error: " in done.stderr
        print(f"{flag}: {'refused' if is_refused else 'ok' if done.returncode == 0 else done.returncode}")
        if done.returncode != 0 and not is_refused:
            crashed.append(flag)
            print(done.stderr[-3000:])
    print(f"{len(passes)} passes, {len(crashed)} crashed:", *crashed)


if __name__ == "__main__":
    main(*sys.argv[1:])
