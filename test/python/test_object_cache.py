"""Machine code kept by the LLVM IR that it is made of: `attnc --object-cache`, `attn.set_cache(objects=…)`."""

import os
import resource
import subprocess
import time

import numpy as np
import pytest

import attn
from helpers import Shape, draw
from paths import ATTNC

LINE = "b1 hq2 sq9 sk17 d8 f32 causal=bottom_right"
WEEK = 7 * 24 * 3600


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "objects"


def attnc(folder, *options, line=LINE, target="x86-64-v3", **settings):
    """The output of a compilation with the folder as its cache; it may say nothing else."""
    command = [ATTNC, f"--problem={line}", f"--target={target}", "-o", "-", *options]
    command += [] if folder is None else [f"--object-cache={folder}"]
    done = subprocess.run(command, capture_output=True, check=True, **settings)
    assert done.stderr == b""
    return done.stdout


def entries(folder):
    """The files, and what changes where one is written anew."""
    return {x: (x.stat().st_ino, x.stat().st_mtime_ns) for x in folder.glob("llvmcache-*")}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target": "x86-64-v4"},
        {"target": "neoverse-v2"},
        {"target": "sm_80"},
        {"line": LINE + " grad=q,k,v"},
        {"line": LINE + " window=3,0"},
    ],
)
def test_the_second_compilation_takes_the_bytes_of_the_first(folder, options):
    alone = attnc(None, **options)
    assert attnc(folder, **options) == alone
    kept = entries(folder)
    assert kept
    assert attnc(folder, **options) == alone
    assert entries(folder) == kept


def test_a_library_finds_its_parts(folder, tmp_path):
    (tmp_path / "problems").write_text(f"{LINE}\nsq9 sk9 d8\n")
    command = [ATTNC, f"--problems={tmp_path / 'problems'}", "--target=x86-64,x86-64-v3", "-o", tmp_path / "library.o"]
    files, kept = [], []
    for option in ([], [f"--object-cache={folder}"], [f"--object-cache={folder}"]):
        subprocess.run([*command, *option], check=True)
        files.append((tmp_path / "library.o").read_bytes())
        kept.append(entries(folder))
    assert files[0] == files[1] == files[2]
    assert kept[1] == kept[2]
    assert len(kept[2]) == 4  # two kernels, two processors


def test_the_bytes_are_those_of_the_file(folder):
    """An entry of another content is found where it is whole: nothing is compiled beside it."""
    first, other = attnc(folder, "--emit=asm"), attnc(folder / "other", "--emit=asm", line=LINE + " window=3,0")
    (path,), (another,) = entries(folder), entries(folder / "other")
    path.write_bytes(another.read_bytes())
    assert attnc(folder, "--emit=asm") == other != first


def test_stack_is_known_of_what_is_found(folder, tmp_path):
    manifests = []
    for name in ("first", "second"):
        attnc(folder, f"--manifest={tmp_path / name}")
        manifests.append((tmp_path / name).read_text())
    assert manifests[0] == manifests[1]
    assert '"stack_bytes": ' in manifests[0]


def test_another_module_target_or_file_is_another_entry(folder):
    seen = [attnc(folder)]
    variants = [
        {"target": "x86-64-v4"},
        {"target": "skylake"},
        {"target": "x86-64"},
        {"line": LINE.replace("17", "18")},
    ]
    variants += [{"line": LINE + " softcap=2"}]
    for count, variant in enumerate(variants, 2):
        seen.append(attnc(folder, **variant))
        assert len(entries(folder)) == count, variant
    for option in ("--emit=asm", "--parallel=none", "--reference"):
        seen.append(attnc(folder, option))
        assert len(entries(folder)) == len(seen), option
    assert len(set(seen)) == len(seen)


def test_a_damaged_entry_is_compiled_again_and_replaced(folder):
    expected = attnc(folder)
    (path,) = entries(folder)
    data = path.read_bytes()
    damaged = [data[:n] for n in (0, 1, 17, 60, len(data) // 2, len(data) - 1)] + [data + b"\0"]
    damaged += [data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :] for n in (0, 20, len(data) // 2, len(data) - 1)]
    for bad in damaged:
        path.write_bytes(bad)
        assert attnc(folder) == expected
        assert path.read_bytes() == data
    path.unlink()
    path.mkdir()
    assert attnc(folder) == expected


def test_processes_at_once(folder):
    command = [ATTNC, f"--problem={LINE}", "--target=x86-64-v3", "-o", "-", f"--object-cache={folder}"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert len({x.communicate()[0] for x in processes}) == 1
    assert not any(x.returncode for x in processes)
    assert sorted(x.name.partition("-")[0] for x in folder.iterdir()) == ["llvmcache", "llvmcache.timestamp"]


def test_what_was_not_read_for_a_week_goes(folder):
    attnc(folder)
    (path,) = entries(folder)
    attnc(folder, target="x86-64")
    killed = folder / (path.name + ".tmp-12345678")  # of a process that was killed
    foreign = folder / "notes.txt"
    old = time.time() - WEEK - 60
    for file in (path, killed, foreign):
        file.touch()
        os.utime(file, (old, old))
    os.utime(folder / "llvmcache.timestamp", (old, old))  # when it was looked for last
    attnc(folder, target="x86-64-v4")
    assert (path.exists(), killed.exists(), foreign.exists()) == (False, False, True)
    assert len(entries(folder)) == 2


def test_a_folder_or_disk_that_takes_nothing_is_no_error(folder, tmp_path):
    expected = attnc(None)
    folder.mkdir(mode=0o700)
    limits = (1000, 1000)  # bytes of a file; standard output is a pipe
    assert attnc(folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)) == expected
    assert list(entries(folder)) == []
    (tmp_path / "file").write_text("")
    command = [ATTNC, f"--problem={LINE}", "-o", "-", f"--object-cache={tmp_path / 'file'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = f"expected a folder after --object-cache, or one that can be made, found '{tmp_path / 'file'}'"
    assert done.stderr == f"attnc: error: {found}; write another, or leave it out\n"


def test_the_folder_is_this_users_alone(folder):
    old = os.umask(0)
    try:
        attnc(folder)
    finally:
        os.umask(old)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def objects(folder):
    before = attn.kernel._disk_cache._state.objects
    attn.set_cache(objects=folder)
    yield folder
    attn.set_cache(objects=before or "")


def test_compile_finds_it_too(objects):
    q, k, v = draw(Shape(9, 17, 8, 8, b=1, hq=2, hkv=2))
    expected = attn.reference.sdpa(*(x.astype(np.float64) for x in (q, k, v)), causal="bottom_right")
    kept = None
    for _ in range(2):
        kernel = attn.compile(LINE)
        assert np.abs(kernel(q, k, v) - expected).max() < 1e-5
        assert kept in (None, entries(objects))
        kept = entries(objects)
    assert len(kept) == 1
    attn.compile(LINE, parallel="none", cache=False)  # asks for no cache
    assert entries(objects) == kept
    attn.set_cache(objects="")
    attn.compile(LINE, parallel="none")
    assert entries(objects) == kept
    attn.set_cache(objects=objects)
    attn.compile(LINE, parallel="none")
    assert len(entries(objects)) == 2


def test_quick_code_is_other_code(objects, monkeypatch):
    """That of LLVM's few passes, which tests in test/frameworks run: right, and not found where -O3 is wanted."""
    q, k, v = draw(Shape(9, 17, 8, 8, b=1, hq=2, hkv=2))
    kernel = attn.compile(LINE)
    monkeypatch.setattr(attn.kernel._compile, "is_quick", True)
    assert np.abs(attn.compile(LINE)(q, k, v) - kernel(q, k, v)).max() < 1e-6
    texts = {path.read_bytes() for path in entries(objects)}
    assert len(texts) == 2


def test_the_setting_is_checked(objects):
    with pytest.raises(ValueError, match="expected objects to be a path"):
        attn.set_cache(objects="a\0b")
    with pytest.raises(TypeError):
        attn.set_cache(objects=3)
    assert attn.kernel._disk_cache._state.objects == objects
