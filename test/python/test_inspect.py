"""What a kernel becomes, from Python: IR after a phase, assembly, remarks; and attnc, by `python -m attn`."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn
from attn.kernel import _kernel, _onnx
from graph_models import BATCH, HEADS, LENGTH, SIZE, Graph, attend
from helpers import C_COMPILER
from paths import attnc

LINE = "hq2 sq32 d16 f32 causal=top_left"
PHASES = "input, canonicalize, fuse, fallback, analyze-mask, select-schedule, online, tile, bufferize, "
CHAIN = """
func.func @chain(%q: tensor<1x32x16xf32>, %k: tensor<1x32x16xf32>) -> tensor<1x32x32xf32> {
  %e = tensor.empty() : tensor<1x32x32xf32>
  %r = attn.scores ins(%q, %k : tensor<1x32x16xf32>, tensor<1x32x16xf32>) outs(%e : tensor<1x32x32xf32>)
      -> tensor<1x32x32xf32>
  return %r : tensor<1x32x32xf32>
}
"""


@pytest.fixture(scope="module")
def kernel():
    return attn.compile(LINE, "x86-64-v3")


@pytest.mark.parametrize("phase", ["input", "fuse", "tile", "vector", "llvm"])
def test_ir_is_that_of_attnc(kernel, phase):
    expected = attnc(f"--problem={LINE}", "--target=x86-64-v3", f"--stop-after={phase}")
    assert kernel.ir(phase) == expected.rstrip()
    if phase == "llvm":
        assert kernel.ir() == kernel.ir(phase)


def test_ir_of_a_phase_is_compiled_to_the_same_kernel(kernel):
    q, k, v = np.random.default_rng(3).standard_normal((3, 1, 2, 32, 16), np.float32)
    again = attn.compile(kernel.ir("tile"), "x86-64-v3")
    np.testing.assert_array_equal(again(q, k, v), kernel(q, k, v))


def test_asm_is_that_of_the_target(kernel):
    assert "vfmadd" in kernel.asm
    assert "sdpa_checked:" in kernel.asm
    assert "vfmadd" not in attn.compile(LINE, "x86-64").asm


def test_a_gpu_has_its_phases_and_ptx():
    kernel = attn.compile("hq2 sq128 d64 f16", "sm_80")
    assert "gpu.module" in kernel.ir("steps")
    assert ".target sm_80" in kernel.asm
    assert "mma.sync" in kernel.asm
    with pytest.raises(ValueError, match=r"expected a phase of the way to 'sm_80', .*gpu, steps, nvvm, llvm, found"):
        kernel.ir("vector")


def test_phases(kernel):
    with pytest.raises(ValueError, match=f"'x86-64-v3', one of {PHASES}vector, llvm, found 'schedule'$"):
        kernel.ir("schedule")
    with pytest.raises(ValueError, match=r"found 'steps'$"):
        kernel.ir("steps")
    with pytest.raises(TypeError, match="expected phase to be the name of one, found 3"):
        kernel.ir(3)


def test_remarks_name_what_was_done_and_what_was_not(kernel):
    assert any("remark: analysis" in x and x.endswith("[sdpa]") for x in kernel.remarks), kernel.remarks
    missed = attn.compile(CHAIN).remarks
    assert any(x.startswith("input.mlir:4:") and "remark: missed" in x for x in missed), missed


def test_a_kernel_from_the_disk_has_them_too(tmp_path):
    hits = attn.cache_info().hits
    attn.set_cache(enabled=True, directory=tmp_path / "kernels")
    try:
        texts = [attn.compile(LINE, "x86-64-v3").ir("fuse") for _ in range(2)]
        assert attn.cache_info().hits == hits + 1
    finally:
        attn.set_cache(enabled=False)
    assert texts[0] == texts[1]
    assert "attn.sdpa" in texts[0]


def test_onnx():
    g = Graph()
    q, k, v = (g.draw(x, BATCH, HEADS, LENGTH, SIZE) for x in "qkv")
    model = g.finish(g.Hardmax(attend(g, q, k, v)))
    kernel = attn.from_onnx(model)
    assert "attn.sdpa" in kernel.ir("fuse")
    assert "func.func" in kernel.ir("input")
    assert kernel.asm.count("_checked:") == 1
    assert any("node-skipped" in x and "operator 'Hardmax' is not covered" in x for x in kernel.remarks), kernel.remarks


def test_the_page_writes_calls_with_brackets_and_properties_without():
    page = (Path(__file__).parents[2] / "docs" / "Python.md").read_text(encoding="utf-8")
    classes = {"Kernel": attn.Kernel, "OnnxKernel": _onnx.OnnxKernel, "Library": attn.Library}
    written = re.findall(r"^(\w*Kernel|Library)\.(\w+)([(:])", page, re.M)
    assert {owner for owner, _, _ in written} >= set(classes)
    for owner, name, mark in written:
        if owner in classes:
            assert callable(getattr(classes[owner], name)) == (mark == "("), f"{owner}.{name}"


def test_what_has_no_source():
    made = attn.compile(LINE)
    bare = _kernel.Kernel.__new__(_kernel.Kernel)
    vars(bare).update(vars(made), _source=None)
    with pytest.raises(ValueError, match=r"expected the source of <attn.Kernel sdpa.*, found its code alone"):
        bare.ir("fuse")


def run(*arguments):
    result = subprocess.run([sys.executable, "-m", "attn", *arguments], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def test_the_module_is_attnc():
    code, out, err = run(f"--problem={LINE}", "--stop-after=input")
    assert (code, out, err) == (0, attnc(f"--problem={LINE}", "--stop-after=input"), "")
    code, out, err = run("--problem=sq64 causal", "--stop-after=input")
    assert (code, out) == (1, "")
    assert err.startswith("attnc: error: problem line")


def test_the_module_says_where_the_headers_are(tmp_path):
    code, out, err = run("--include")
    assert (code, out, err) == (0, attn.get_include() + "\n", "")
    program = tmp_path / "version.c"
    program.write_text("#include <attn-c/attn.h>\n#include <attn-c/attn_runtime.h>\n")
    subprocess.run([*C_COMPILER, f"-I{attn.get_include()}", "-fsyntax-only", program], check=True)


def test_the_module_without_arguments_is_its_help():
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "attnc [subcommand] [options]" in out
    assert "--problem" in out
