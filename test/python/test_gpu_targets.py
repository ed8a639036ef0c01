"""Objects and libraries with code for several GPUs, over the emulated driver: the device of a call chooses."""

import ctypes
import json
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

from attn import reference
from attn.kernel import _library
from fake_cuda import EMULATOR, Driver, FakeArray
from paths import ATTNC, attnc

pytestmark = pytest.mark.skipif(not EMULATOR.is_file(), reason="the emulated driver is not built")
TARGETS = "sm_80,sm_90a"
LINES = ["b2 hq4 hkv2 sq1 sk203 d64 bf16", "b1 hq2 sq33 sk40 d64 f16 causal=bottom_right", "b1 hq2 sq? sk? d64 f16"]
WRONG_DEVICE, LOAD_FAILED, NO_SUCH_KERNEL = 33, 35, 21


@pytest.fixture(scope="module")
def driver():
    return Driver()


@pytest.fixture
def capability(driver):
    """Sets the device's, and restores it."""
    yield driver.library.attn_emulator_set_capability
    driver.library.attn_emulator_set_capability(90)


class Code:
    """A shared library of GPU kernels, on the emulated driver."""

    def __init__(self, path) -> None:
        """Loads it."""
        self.library = ctypes.CDLL(str(path))
        assert self.library.attn_cuda_load_driver(str(EMULATOR).encode()) == 0

    def call(self, name: str, driver: Driver, arrays: list[FakeArray], features: bytes | None = None):
        """(code, message) of a checked entry, or of a library's call."""
        tensors = [ctypes.cast(_library.capsule_pointer(x.__dlpack__(stream=1), b"dltensor"), ctypes.c_void_p)
                   for x in arrays]  # fmt: skip
        pointers = (ctypes.c_void_p * len(tensors))(*tensors)
        message = ctypes.create_string_buffer(512)
        first = (pointers, len(tensors)) if features is None else (features, pointers, len(tensors))
        first = [ctypes.c_int64(x) if isinstance(x, int) else x for x in first]
        size = ctypes.c_int64(len(message))
        checked = "_checked" if features is None else ""
        of_bytes = getattr(self.library, f"{name}_workspace_bytes{checked}")
        of_bytes.restype = ctypes.c_int64
        needed = of_bytes(*first, message, size)
        if needed < 0:
            return -needed, message.value.decode()
        workspace = ctypes.c_void_p(driver.allocate(needed)) if needed else None
        entry = getattr(self.library, name + (checked or "_call"))
        code = entry(*first, workspace, ctypes.c_int64(needed), None, message, size)
        return code, message.value.decode()


def problem(driver, shape, dtype=np.float16):
    rng = np.random.default_rng(5)
    b, hq, hkv, sq, sk, d = shape
    arrays = [rng.standard_normal(x).astype(dtype) for x in ((b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, d))]
    on_device = [*(FakeArray.of(driver, x) for x in arrays), FakeArray(driver, (b, hq, sq, d), dtype)]
    return [x.astype(np.float64) for x in arrays], on_device


@pytest.fixture(scope="module")
def fat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fat")
    attnc(f"--problem={LINES[1]}", f"--target={TARGETS}", "--emit=shared", "-o", folder / "libfat.so",
          f"--manifest={folder / 'fat.json'}")  # fmt: skip
    return folder


@pytest.mark.parametrize("device", [80, 86, 90, 100])
def test_each_device_runs_its_code(fat, driver, capability, device):
    capability(device)
    arrays, on_device = problem(driver, (1, 2, 2, 33, 40, 64))
    assert Code(fat / "libfat.so").call("sdpa", driver, on_device) == (0, "")
    want = reference.sdpa(*arrays, causal="bottom_right")
    np.testing.assert_allclose(on_device[3].numpy(), want, atol=4e-3)


def test_code_of_other_targets_is_not_loaded(fat, driver, capability, tmp_path):
    """With the code of sm_80 made one for a later device, 9.0 runs as before, and 8.0 nothing."""
    changed = (fat / "libfat.so").read_bytes().replace(b".target sm_80", b".target sm_99")
    (tmp_path / "libchanged.so").write_bytes(changed)
    arrays, on_device = problem(driver, (1, 2, 2, 33, 40, 64))
    code = Code(tmp_path / "libchanged.so")
    capability(90)
    assert code.call("sdpa", driver, on_device) == (0, "")
    np.testing.assert_allclose(on_device[3].numpy(), reference.sdpa(*arrays, causal="bottom_right"), atol=4e-3)
    capability(80)
    assert code.call("sdpa", driver, on_device)[0] == LOAD_FAILED


def test_a_device_that_runs_none(fat, driver, capability):
    capability(75)
    _, on_device = problem(driver, (1, 2, 2, 33, 40, 64))
    assert Code(fat / "libfat.so").call("sdpa", driver, on_device) == (
        WRONG_DEVICE,
        "expected a device that runs code for one of sm_80, sm_90a, found compute capability 7.5; compile with "
        "--target=sm_75, if that is a target",
    )


def test_manifest_has_the_launches_of_each_target(fat):
    manifest = json.loads((fat / "fat.json").read_text())
    assert manifest["target"]["name"] == TARGETS
    assert [x["name"] for x in manifest["variants"]] == TARGETS.split(",")
    assert [x["target"] for x in manifest["kernels"][0]["launches"]] == TARGETS.split(",")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "lines.txt").write_text("\n".join(LINES))
    attnc(f"--problems={folder / 'lines.txt'}", f"--target={TARGETS}", "--emit=shared", "-o", folder / "libsmall.so",
          f"--manifest={folder / 'small.json'}", f"--header={folder / 'small.h'}")  # fmt: skip
    return folder


@pytest.mark.parametrize("device", [80, 90])
def test_library_finds_the_kernel_of_a_call(library, driver, capability, device):
    capability(device)
    code = Code(library / "libsmall.so")
    arrays, on_device = problem(driver, (1, 2, 2, 33, 40, 64))
    for features, options in ((b"causal=bottom_right", {"causal": "bottom_right"}), (b"", {})):
        assert code.call("small", driver, on_device, features) == (0, "")
        np.testing.assert_allclose(on_device[3].numpy(), reference.sdpa(*arrays, **options), atol=4e-3)


def test_library_with_a_workspace(library, driver):
    """The keys of one query are split: states of the parts are in the workspace."""
    arrays, on_device = problem(driver, (2, 4, 2, 1, 203, 64), ml_dtypes.bfloat16)
    assert Code(library / "libsmall.so").call("small", driver, on_device, b"") == (0, "")
    want = reference.sdpa(*arrays)
    np.testing.assert_allclose(on_device[3].numpy().astype(np.float64), want, atol=2e-2)


def test_library_without_a_kernel(library, driver):
    _, on_device = problem(driver, (1, 2, 2, 33, 40, 64), np.float32)
    status, message = Code(library / "libsmall.so").call("small", driver, on_device, b"")
    assert status == NO_SUCH_KERNEL
    assert "add the problem line" in message


def test_processors_and_gpus_are_no_one_object(tmp_path):
    command = [ATTNC, f"--problem={LINES[0]}", "--target=host,sm_80", "-o", tmp_path / "k.o"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = r"expected processors or GPUs alone in a list of targets, found 'host \(.+\)' and 'sm_80'"
    assert re.search(expected, found.stderr)
    assert list(tmp_path.iterdir()) == []
