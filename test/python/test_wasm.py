"""Kernels for WebAssembly: in node, each against the reference on this machine; examples/web; what is refused.

Without node tests that execute kernels are skipped, and that of the page without Chromium.
"""

import functools
import http.server
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from cross import DECODE, FORWARD, GRADIENTS, expect_refused, expect_right, run
from paths import ATTNC, attnc

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "tools" / "attn-runner" / "attn-runner.mjs"
WEB = ROOT / "examples" / "web"
RELAXED = "wasm32+relaxed-simd"
CHROMIUM = shutil.which("chromium")
needs_node = pytest.mark.skipif(
    not shutil.which("node"), reason="expected node, found none; install nodejs 18 or later"
)


# Vectors of f16 on which LLVM 22 does not come to an end.
HALVES = "hq6 hkv3 sq1 sk17 d8 f16 kv=e5m2 kvscale=page paged=3 bias=1,1,1,17 mask=bool kv_lengths"


@needs_node
@pytest.mark.parametrize(
    ("line", "target"),
    [
        (FORWARD[1], "wasm32"),
        (FORWARD[4], RELAXED),
        (FORWARD[5], "wasm32"),
        (FORWARD[6], "wasm32"),
        (FORWARD[7], "wasm32"),
        (FORWARD[15], RELAXED),
        (FORWARD[16], "wasm32"),
        (DECODE[1], RELAXED),
        (DECODE[3], "wasm32"),
        (GRADIENTS[0], "wasm32"),
        (HALVES, "wasm32"),
    ],
)
def test_lines(line: str, target: str) -> None:
    """Of every kind; node refuses a module that is not valid."""
    expect_right(run(RUNNER, line, target))


MODULE = """
import { readFileSync } from "node:fs";
const module = new WebAssembly.Module(readFileSync(process.argv[1]));
const names = (list) => list.map(({ name }) => name).sort().join(" ");
console.log(names(WebAssembly.Module.imports(module)));
console.log(names(WebAssembly.Module.exports(module)));
const { exports } = new WebAssembly.Instance(module);
const [tensors, message] = [exports.malloc(8), exports.malloc(256)];
console.log(exports.kernel_checked(tensors, 3n, message, 256n));
const text = new Uint8Array(exports.memory.buffer, message, 256);
console.log(String.fromCharCode(...text.subarray(0, text.indexOf(0))));
"""


@needs_node
def test_module(tmp_path: Path) -> None:
    """It imports nothing; its exports are the entries, its memory, malloc and free, and what the linker adds."""
    file = tmp_path / "kernel.wasm"
    attnc("--problem=sq4 d8", "--target=wasm32", "--emit=wasm", "--name=kernel", "-o", file)
    command = ["node", "--input-type=module", "-e", MODULE, file]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == [
        "",
        "__stack_pointer free kernel kernel_checked malloc memory",
        "2",
        "expected 4 arguments (q, k, v, out), found 3",
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """examples/web with its modules, by the commands of docs/Targets.md."""
    folder = tmp_path_factory.mktemp("web")
    shutil.copytree(WEB, folder, dirs_exist_ok=True)
    line = re.search(r'problem = "([^"]*)"', (WEB / "attention.mjs").read_text())
    assert line
    for target in ("wasm32", RELAXED):
        options = [f"--target={target}", "--emit=wasm", "--parallel=none", "--name=attention"]
        attnc(f"--problem={line[1]}", *options, "-o", folder / f"{target}.wasm")
    return folder


def expect_equal(differences: list[str]) -> None:
    """Of JavaScript, which has none from itself, and of two modules."""
    assert len(differences) == 3
    assert float(differences[0]) == 0
    assert all(0 < float(difference) < 1e-6 for difference in differences[1:])


@needs_node
def test_page_in_node(page: Path) -> None:
    """The numbers of the plain loop in JavaScript."""
    modules = [page / "wasm32.wasm", page / f"{RELAXED}.wasm"]
    done = subprocess.run(["node", page / "compare.mjs", *modules], capture_output=True, text=True, check=True)
    expect_equal(re.findall(r"difference (\S+)", done.stdout))


@pytest.mark.skipif(not CHROMIUM, reason="expected chromium, found none")
def test_page_in_chromium(page: Path, tmp_path: Path) -> None:
    """The page itself, without a window."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=page)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_port}/"
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=60000",
            f"--user-data-dir={tmp_path}",
        ]
        command = [CHROMIUM, *options, "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env={**os.environ})
        server.shutdown()
    assert '<p id="state">done</p>' in done.stdout, done.stdout + done.stderr
    expect_equal(re.findall(r"<td>([0-9.]+e[+-]\d+)</td></tr>", done.stdout))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target=wasm64"], "expected wasm32 as target, found 'wasm64'; write wasm32"),
        (["--target=wasm32-wasi"], "other systems of WebAssembly, as Emscripten and WASI, link its objects"),
        (["--target=wasm32+simd256"], "expected relaxed-simd or no feature of wasm32"),
        (["--target=webassembly"], "write wasm32"),
        (["--target=wasm32,wasm32+relaxed-simd"], "compile each by a call of its own"),
        (["--target=wasm32", "--emit=shared"], "expected --emit=wasm for 'wasm32', found --emit=shared"),
        (["--target=rva23", "--emit=wasm"], "expected WebAssembly as target of --emit=wasm, found 'rva23'"),
        (["run", "--target=wasm32"], "found 'wasm32', which is WebAssembly"),
    ],
)
def test_refused(tmp_path: Path, options: list[str], message: str) -> None:
    """Nothing is written."""
    if options[0] == "run":
        done = subprocess.run([ATTNC, *options, "--problem=sq4 d8"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr
    else:
        expect_refused(tmp_path, options, message)
