"""The checked entry of an object for one target names the features that the processor lacks, before it runs any."""

import ctypes
import re
import subprocess

import pytest

import processor
from paths import ATTNC

LINE = "hq2 sq9 sk17 d8 f32"
WRONG_PROCESSOR, WRONG_COUNT = 11, 1
# Targets with a feature that few processors have.
TARGETS = {
    "diamondrapids": "amx-fp16",
    "sapphirerapids": "amx-tile",
    "znver5": "avx512vp2intersect",
    "x86-64-v4": "avx512f",
}


def call(folder, target):
    path = folder / "kernel.so"
    subprocess.run([ATTNC, f"--problem={LINE}", f"--target={target}", "--emit=shared", "-o", path], check=True)
    message = ctypes.create_string_buffer(1024)
    return ctypes.CDLL(path).sdpa_checked(
        None, ctypes.c_int64(0), message, ctypes.c_int64(1024)
    ), message.value.decode()


@pytest.mark.parametrize("target", TARGETS)
def test_missing_features_are_named(target, tmp_path):
    if processor.has(TARGETS[target]):
        pytest.skip(f"a processor with {TARGETS[target]}")
    code, message = call(tmp_path, target)
    assert code == WRONG_PROCESSOR
    assert message.startswith(f"expected a processor that runs a target of the kernel, found another: {target} needs ")
    assert TARGETS[target] in message


def test_the_host_is_fine(tmp_path):
    code, message = call(tmp_path, "host")
    assert code == WRONG_COUNT
    assert message.startswith("expected an array of 4 arguments")


def test_the_host_is_named_where_another_processor_refuses_it(tmp_path):
    call(tmp_path, "host")
    assert re.search(rb"\0host \([\w-]+\)\0", (tmp_path / "kernel.so").read_bytes())
