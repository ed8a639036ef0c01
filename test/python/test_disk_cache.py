"""Compiled kernels on disk: found by later processes, never run where they are damaged or another's, no noise."""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import attn
import processor
from attn.kernel import _disk_cache, _library
from helpers import Shape, draw

LINE = "b1 hq2 sq9 sk17 d8 f32 causal=bottom_right"
# A function that is compiled in no time.
QUICK = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}"""
OTHER = "b1 hq2 sq9 sk17 d8 f32"  # as many inputs of the same shapes
Q, K, V = draw(Shape(9, 17, 8, 8, b=1, hq=2, hkv=2))
EXPECTED = attn.reference.sdpa(*(x.astype(np.float64) for x in (Q, K, V)), causal="bottom_right")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_disk_cache, "_state", _disk_cache._State(directory=tmp_path / "kernels"))
    return tmp_path / "kernels"


def files(folder):
    return sorted(folder.glob("*.kernel"), key=lambda x: x.stat().st_mtime_ns)


def check(line=LINE, **options):
    """Compiles and runs; whether the kernel was found on disk."""
    hits = attn.cache_info().hits
    kernel = attn.compile(line, **options)
    if line == LINE:
        assert np.abs(kernel(Q, K, V) - EXPECTED).max() < 1e-5
    return attn.cache_info().hits > hits


def run(program, folder, **options):
    """The lines that another process prints; it may not write anything to stderr."""
    source = f"import attn, numpy as np\nattn.set_cache(directory={str(folder)!r})\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


SDPA = """
x = np.arange(2 * 33 * 8, dtype=np.float32).reshape(1, 2, 33, 8) / 100
print(attn.sdpa(x, x, x, causal="top_left", softcap=3).tobytes().hex())
print(attn.cache_info().hits, attn.cache_info().misses)
"""


def test_the_second_process_compiles_nothing(folder):
    first, second = run(SDPA, folder), run(SDPA, folder)
    assert (first[1], second[1]) == ("0 1", "1 0")
    assert first[0] == second[0]


def test_processes_at_once(folder):
    program = f"import attn, numpy as np\nattn.set_cache(directory={str(folder)!r})\n{SDPA}"
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(4)]
    outputs = {x.communicate()[0].split()[0] for x in processes}
    assert len(outputs) == 1
    assert not any(x.returncode for x in processes)
    assert len(list(folder.iterdir())) == 1
    assert run(SDPA, folder)[1] == "1 0"


def test_every_call_of_compile_is_a_new_kernel_from_the_same_file(folder):
    assert [check(), check(), check()] == [False, True, True]
    assert len(files(folder)) == 1
    info = attn.cache_info()
    assert info == (folder, info.limit, 1, files(folder)[0].stat().st_size, 2, 1, None)


def test_a_manifest_is_that_of_the_compiled_kernel(folder):
    compiled, loaded = attn.compile(LINE), attn.compile(LINE)
    assert compiled.manifest == loaded.manifest
    assert attn.cache_info().hits == 1


def test_functions_that_are_traced_and_models_are_found_too(folder):
    for hits in (0, 1):
        attn.call._running.kernels.clear()
        attn.sdpa(Q, K, V, score_mod=lambda score, b, h, i, j: score * 2)
        assert (attn.cache_info().hits, attn.cache_info().misses) == (hits, 1)


def damages(data):
    """Files that a crash, a full disk or a bad one leave: each part with one bit changed, too short, too long."""
    places = {0, 63, 64, 72, 80, 88, 96, 104, 111, 112, 200, len(data) // 2, len(data) - 1}
    for place in sorted(places):
        yield data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    for length in (0, 1, 63, 64, 65, 100, len(data) // 2, len(data) - 1):
        yield data[:length]
    yield data + b"\0"
    yield bytes(len(data))


def test_a_damaged_file_is_compiled_again_and_replaced(folder):
    check(QUICK)
    (path,) = files(folder)
    data = path.read_bytes()
    for damaged in damages(data):
        path.write_bytes(damaged)
        assert not check(QUICK), damaged[:120]
        assert path.read_bytes() == data
    assert check(QUICK)


def test_the_file_of_another_kernel_is_not_taken(folder):
    check()
    (path,) = files(folder)
    check(OTHER)
    (other,) = set(files(folder)) - {path}
    path.write_bytes(other.read_bytes())
    assert not check()
    assert check()


def test_what_is_no_file_is_not_opened(folder):
    check(QUICK)
    (path,) = files(folder)
    data = path.read_bytes()
    elsewhere = folder.parent / "elsewhere"
    elsewhere.write_bytes(data)
    path.unlink()
    path.symlink_to(elsewhere)
    assert not check(QUICK)
    assert not path.is_symlink()
    path.unlink()
    os.mkfifo(path)
    assert not check(QUICK)
    path.unlink()
    path.mkdir()
    assert not check(QUICK)
    path.rmdir()
    path.write_bytes(data)
    path.chmod(0o666)
    assert not check(QUICK)


@pytest.mark.parametrize(
    "options", [{"target": "x86-64"}, {"target": "x86-64-v2"}, {"parallel": "none"}, {"reference": True}]
)
def test_other_options_are_other_kernels(folder, options):
    check()
    assert not check(**options)
    assert check(**options)
    assert len(files(folder)) == 2


def key(library, target, line=LINE):
    source = line.encode()
    options = _library.CompileOptions(target.encode(), None, 0, 0)
    digits = ctypes.create_string_buffer(_library.KEY_SIZE)
    assert library.attn_compile_key(1, source, len(source), ctypes.byref(options), digits, None) == 0
    return digits.value


def test_keys_tell_processors_and_sources_apart():
    library = _library.load()
    keys = [key(library, x) for x in ("host", "x86-64", "x86-64-v3", "x86-64-v4", "znver4", "znver5", "sm_80", "sm_90")]
    keys += [key(library, "host", x) for x in ("", "\0", LINE + " ", LINE + "\0")]
    assert len(set(keys)) == len(keys)
    assert key(library, "host") == keys[0]


def test_another_build_takes_nothing_of_this_one(folder, tmp_path):
    check()
    (path,) = files(folder)
    image = path.read_bytes()[64:]
    library = bytearray(pathlib.Path(_library.load()._name).read_bytes())
    (note,) = re.finditer(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", library)
    library[note.end()] ^= 1
    other = tmp_path / "libattn.so"
    other.write_bytes(library)
    program = f"""
    import ctypes
    import attn
    from attn.kernel import _library
    _library.load.cache_clear()
    _library.candidates = lambda: [__import__("pathlib").Path({str(other)!r})]
    attn.set_cache(directory={str(folder)!r})
    attn.compile({LINE!r})
    print(attn.cache_info().hits, attn.cache_info().files)
    image, module, message = {image!r}, ctypes.c_void_p(), ctypes.c_void_p()
    print(_library.load().attn_module_load(image, len(image), ctypes.byref(module), ctypes.byref(message)))
    print(module.value, ctypes.string_at(message.value).decode())
    """
    script = tmp_path / "other.py"
    script.write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    expected = ["0 2", "10", "None expected an image that this build has made, found one of another"]
    assert done.stdout.splitlines() == expected


LESSER = pathlib.Path(_library.load()._name).parent / "libprocessor_x86-64-v2.so"
# Whether a call of a kernel whose image lies in the folder is refused.
LOAD = """
import ctypes, pathlib
from attn.kernel import _kernel, _library
(path,) = pathlib.Path({folder!r}).glob("*.kernel")
image, module = path.read_bytes()[64:], ctypes.c_void_p()
assert _library.load().attn_module_load(image, len(image), ctypes.byref(module), None) == 0
manifest = __import__("json").loads(_library.load().attn_module_manifest(module))
x = np.ones((1, 2, 33, 8), np.float32)
try:
    print(_kernel.Kernel(module.value, manifest, manifest["kernels"][0])(x, x, x).shape)
except RuntimeError as error:
    print(error)
"""


@pytest.mark.skipif(not LESSER.exists(), reason="built with the tests")
def test_another_processor_takes_nothing_of_this_one(folder):
    processor.skip_unless("avx2")
    lesser = os.environ | {"LD_PRELOAD": str(LESSER)}
    trapped = subprocess.run(["true"], env=lesser, capture_output=True, text=True)
    if trapped.returncode:  # some processors and hypervisors have no faults of CPUID
        pytest.skip(trapped.stderr.strip())
    assert run(SDPA, folder)[1] == "0 1"
    load = LOAD.format(folder=str(folder))
    assert run(load, folder) == ["(1, 2, 33, 8)"]
    assert run(load, folder, env=lesser)[0].startswith("sdpa: expected the processor that the code was made for, ")
    assert run(SDPA, folder, env=lesser)[1] == "0 1"
    assert run(SDPA, folder, env=lesser)[1] == "1 0"
    assert run(SDPA, folder)[1] == "1 0"
    assert len(files(folder)) == 2


def test_those_used_least_recently_go_first(folder):
    lines = [f"sq9 sk{17 + i} d8" for i in range(4)]
    for line in lines[:3]:
        check(line)
    assert check(lines[0])
    size = attn.cache_info().bytes
    attn.set_cache(limit=size)
    check(lines[3])
    assert attn.cache_info().bytes <= size
    assert check(lines[3])
    assert check(lines[0])
    assert not check(lines[1])


def test_a_kernel_beyond_the_limit_is_not_kept(folder):
    attn.set_cache(limit=100)
    assert not check()
    assert not check()
    assert files(folder) == []


def test_files_of_killed_processes_go_after_an_hour(folder):
    check()
    old, young, foreign = (folder / x for x in ("a.1.b.tmp", "a.2.b.tmp", "notes.txt"))
    for path in (old, young, foreign):
        path.write_text("")
    os.utime(old, (time.time() - 4000,) * 2)
    os.utime(foreign, (0, 0))
    check(OTHER)
    assert (old.exists(), young.exists(), foreign.exists()) == (False, True, True)
    attn.clear_cache()
    assert [x.name for x in folder.iterdir()] == ["notes.txt"]
    assert not check()


def test_off_means_off(folder):
    attn.set_cache(enabled=False)
    assert not check()
    assert not folder.exists()
    assert attn.cache_info()[:4] == (None, attn.cache_info().limit, 0, 0)
    attn.clear_cache()
    attn.set_cache(enabled=True)
    assert not check(cache=False)
    assert not folder.exists()
    check()
    assert not check(cache=False)


def test_the_folder_and_files_are_this_users_alone(folder):
    old = os.umask(0)
    try:
        check()
    finally:
        os.umask(old)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [x.stat().st_mode & 0o777 for x in files(folder)] == [0o600]


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o710, 0o702])
def test_a_folder_that_others_may_enter_is_not_used(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    assert not check()
    assert not check()
    assert list(folder.iterdir()) == []
    assert attn.cache_info().problem.endswith(f"with mode 0700, found user {os.geteuid()} and mode {mode:04o}")


def test_a_folder_of_another_user_is_not_used(folder):
    foreign = pathlib.Path("/proc/1" if os.geteuid() else folder)
    if os.geteuid() == 0:
        folder.mkdir(mode=0o700)
        os.chown(folder, 65534, 65534)
    attn.set_cache(directory=foreign)
    assert not check()
    assert not check()
    assert "expected" in attn.cache_info().problem or "denied" in attn.cache_info().problem


@pytest.mark.parametrize("place", ["/proc/self/attn", "/dev/null/attn", "/dev/null"])
def test_where_nothing_can_be_written_it_is_compiled(place):
    # The process fails on anything in stderr.
    assert run(SDPA, place)[1] == run(SDPA, place)[1] == "0 1"


def test_a_folder_that_is_read_only_is_read(folder):
    check()
    folder.chmod(0o500)
    for path in folder.iterdir():
        path.chmod(0o400)
    assert check()
    assert not check(OTHER)
    folder.chmod(0o700)


def test_a_full_disk_leaves_nothing(folder):
    program = f"""
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    attn.compile({LINE!r})
    print(attn.cache_info().misses)
    """
    assert run(program, folder) == ["1"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "{0}/home"}, "home/.cache/attn"),
        ({"HOME": "{0}/home", "XDG_CACHE_HOME": ""}, "home/.cache/attn"),
        ({"HOME": "{0}/home", "XDG_CACHE_HOME": "relative"}, "home/.cache/attn"),
        ({"HOME": "{0}/home", "XDG_CACHE_HOME": "{0}/xdg"}, "xdg/attn"),
    ],
)
def test_the_default_is_the_platforms(tmp_path, environment, expected):
    variables = {name: value.format(tmp_path) for name, value in environment.items()}
    program = f"import attn; attn.compile({LINE!r}); print(attn.cache_info().directory, attn.cache_info().files)"
    kept = {x: y for x, y in os.environ.items() if x not in ("HOME", "XDG_CACHE_HOME")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=kept | variables, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == [str(tmp_path / expected), "1"]


def test_a_refusal_is_not_kept(folder):
    for _ in range(2):
        with pytest.raises(attn.CompileError, match="z80"):
            attn.compile(LINE, target="z80")
        with pytest.raises(attn.CompileError):
            attn.compile("func.func @f() {")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"enabled": 1}, TypeError, "expected enabled to be True or False, found 1"),
        ({"limit": -1}, ValueError, "expected a limit of at least 0 bytes, found -1"),
        ({"limit": 1.5}, TypeError, "expected limit to be a number of bytes, found 1.5"),
        ({"limit": True}, TypeError, "expected limit to be a number of bytes, found True"),
        ({"directory": 3}, TypeError, "int"),
        ({"directory": "a\0b"}, ValueError, "expected directory to be a path"),
    ],
)
def test_settings_are_checked(folder, options, kind, message):
    before = attn.cache_info()
    with pytest.raises(kind, match=message):
        attn.set_cache(**options)
    assert attn.cache_info() == before
