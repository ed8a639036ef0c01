"""benchmarks/gpu builds what runs on a machine with a GPU; here it runs over the emulated driver."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ATTNC

ROOT = Path(__file__).parents[2]
LIBRARIES = ATTNC.parents[1] / "lib"
LINES = """
b1 hq4 hkv2 sq65 sk130 d64 bf16 causal=bottom_right window=40,0 softcap=20  # window
b2 hq2 sq33 sk65 d64 f16 bias=1,2,33,65 sink dropout=0.3 out=lse            # bias, dropout
b2 hq4 hkv2 sq1 sk203 d64 bf16 kv_lengths paged=16                          # pages
b? hq4 sq? sk? d64 bf16                                                     # open sizes
b3 hq4 hkv2 sq60 sk90 d64 bf16 layout=varlen causal=bottom_right out=lse    # packed
b2 hq4 hkv2 sq33 sk65 d64 dv32 bf16 layout=bsd                              # heads side by side
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "lines.txt").write_text(LINES)
    command = [ROOT / "benchmarks" / "gpu" / "build.sh", folder, "sm_80", folder / "lines.txt"]
    settings = {"ATTNC": str(ATTNC), "LAUNCHER": str(LIBRARIES / "libattn_runtime.a"), "PATH": "/usr/bin:/bin"}
    subprocess.run(command, env=settings, check=True, capture_output=True)
    return folder


def run(folder):
    options = [f"--driver={LIBRARIES / 'libcuda_emulator.so'}", "--repeat=1", "--seconds=0", "--size=65", "--rows=16"]
    return subprocess.run([sys.executable, folder / "run.py", *options], capture_output=True, text=True, check=False)


def test_kernels_are_right_and_repeat_their_bits(bundle):
    done = run(bundle)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "6 lines, 0 failed"
    results = json.loads((bundle / "results.json").read_text())["results"]
    names = ["window", "bias, dropout", "pages", "open sizes", "packed", "heads side by side"]
    assert [result["label"] for result in results] == names


def test_wrong_numbers_are_seen(bundle):
    manifest = bundle / "kernels" / "000.json"
    wrong = json.loads(manifest.read_text())
    wrong["kernels"][0]["conventions"]["window_left"] = 39
    manifest.write_text(json.dumps(wrong))
    done = run(bundle)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "6 lines, 1 failed"
