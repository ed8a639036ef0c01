"""scripts/changed.py, which chooses the tests that a change needs by their layers (test/layers.txt)."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "changed.py"
spec = importlib.util.spec_from_file_location("changed", SCRIPT)
changed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(changed)

TESTS = changed.list_tests()
SOURCES = changed.read_sources()


def choose(path):
    return changed.choose(path, TESTS, SOURCES)[1]


def test_every_layer_has_tests_and_sources_that_are_there():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    reasons = {changed.choose(x, {}, SOURCES)[0] for x in files}
    for label, _ in SOURCES:
        assert any(label in labels for labels in TESTS.values()), label
        assert f"layer {label}" in reasons


@pytest.mark.parametrize(
    ("path", "has", "lacks"),
    [
        ("lib/Onnx/Onnx.cpp", "python/test_onnx.py", "python/test_window.py"),
        ("include/attn/Onnx/Onnx.h", "python/test_model_kernels.py", "test/IR/ops.mlir"),
        ("lib/Conversion/NVVM/Warps/NarrowRegion.cpp", "python/test_gpu_emulated.py", "python/test_window.py"),
        ("lib/Conversion/NVVM/Warps/NarrowRegion.cpp", "attn_ptx_tests", "attn_unit_tests"),
        ("lib/Conversion/CPU/LaneCode.cpp", "python/test_window.py", "python/test_gpu_emulated.py"),
        ("lib/Raise/Raise.cpp", "test/Raise/raise.mlir", "python/test_window.py"),
        ("python/attn/kernel/_kernel.py", "python/test_calls.py", "test/IR/ops.mlir"),
        ("docs/Using.md", "test/Tools/using.test", "python/test_window.py"),
        ("test/python/test_window.py", "python/test_window.py", "python/test_sdpa.py"),
        ("test/python/helpers.py", "python/test_window.py", "test/IR/ops.mlir"),
        ("test/Tools/Inputs/new.mlir", "test/Tools/attnc-run.test", "test/IR/ops.mlir"),
        ("test/IR/ops.mlir", "test/IR/ops.mlir", "test/IR/maps.mlir"),
    ],
)
def test_a_path_asks_for_its_tests(path, has, lacks):
    assert {has, lacks} <= TESTS.keys()
    assert has in choose(path)
    assert lacks not in choose(path)


@pytest.mark.parametrize(
    "path",
    ["lib/IR/Ops.cpp", "include/attn/IR/AttnOps.td", "lib/Pipelines/Pipelines.cpp", "lib/New/New.cpp", "new"],
)
def test_what_all_depend_on_asks_for_all(path):
    assert choose(path) == TESTS.keys()


@pytest.mark.parametrize(
    "path", ["CMakeLists.txt", "cmake/AddAttn.cmake", "test/CMakeLists.txt", "test/lit.cfg.py", "runtime/ParallelFor.c"]
)
def test_so_does_what_builds_and_starts_tests(path):
    assert choose(path) == TESTS.keys()


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A repository of its own, whose main has one file."""

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-m", name)
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    return tmp_path, git


def test_changes_are_those_since_main_and_what_is_not_committed(copy):
    folder, git = copy
    assert changed.list_own_changes() == ["second"]  # no origin, nothing new: the last commit
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert changed.list_own_changes() == ["second"]
    git("mv", "first", "moved")
    git("commit", "-m", "move")
    (folder / "new").write_text("")
    (folder / "second").write_text("changed")
    assert changed.list_own_changes() == ["first", "moved", "new", "second"]
    assert changed.list_changes("HEAD") == ["new", "second"]


def test_the_script_says_what_it_chose_and_why(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, "no-such-commit"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: expected a commit, found what git refuses: ")
    # In a clone with the build of this one.
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--shared", ROOT, clone], check=True)
    (clone / "build").mkdir()
    (clone / "build" / "release").symlink_to(ROOT / "build" / "release")
    scripts = ["scripts/changed.py", "scripts/test.sh", "test/layers.txt"]
    for name in scripts:
        shutil.copy(ROOT / name, clone / name)
    subprocess.run(["git", "add", *scripts], cwd=clone, check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "commit", "-qm", "now", "--allow-empty"], cwd=clone, check=True)
    command = ["scripts/test.sh", "--changed=HEAD", "--dry-run"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "changed: nothing\n")
    (clone / "test" / "IR" / "ops.mlir").write_text("")
    (clone / "test" / "unit" / "New.cpp").write_text("")
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [
        "changed: the test itself (1): test/IR/ops.mlir",
        "changed: layer unit (5): test/unit/New.cpp",
        f"changed: 7 of {len(TESTS)} tests",
    ]
    programs = "attn_capi_tests attn_compiler_tests attn_cuda_tests attn_ptx_tests attn_unit_tests"
    assert done.stdout.splitlines()[0] == f"tests: ninja builds attn_test_tools {programs}"
    assert "Total Tests: 7" in done.stdout
