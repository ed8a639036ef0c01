"""Kernels for sm_100, sm_103 and sm_120: right in the emulator, and ptxas takes them."""

import shutil

import pytest

from paths import attnc
from test_gpu_emulated import RUN, call

TARGETS = ("sm_100", "sm_103", "sm_120")
LINES = [
    "b2 hq4 hkv2 sq113 sk203 d128 bf16 causal=bottom_right out=lse",
    "b2 hq4 hkv2 sq1 sk700 d64 f16 kv=fp8 kvscale=head kv_lengths",
    "b5 hq2 sq65 sk170 d64 bf16 layout=varlen causal=bottom_right softcap=20",
    "b1 hq2 sq65 sk70 d256 bf16 bias=1,1,65,70",
    "b1 hq1 sq33 sk65 d64 f32",
]
GRADIENTS = ["b2 hq4 hkv2 sq65 sk70 d128 bf16 causal=bottom_right grad=q,k,v", "b1 hq1 sq33 sk40 d64 f16 grad=q,k,v"]


@pytest.mark.parametrize("line", LINES + GRADIENTS)
def test_agrees_with_the_reference(line):
    kernel = ["--kernel=sdpa_backward"] if line in GRADIENTS else []
    text = call(RUN, f"--problem={line}", f"--target={','.join(TARGETS)}", *kernel)
    results = [each for each in text.splitlines() if "largest error" in each]
    assert len(results) >= 3 * len(TARGETS), text
    assert all(each.endswith(": ok") for each in results), text


@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_it(target, tmp_path):
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not ptxas:
        pytest.skip("no ptxas in PATH or /usr/local/cuda/bin")
    (tmp_path / "lines.txt").write_text("\n".join(LINES + GRADIENTS))
    attnc(f"--problems={tmp_path / 'lines.txt'}", f"--target={target}", "--emit=shared", f"--ptxas={ptxas}",
          "-o", tmp_path / "kernels.so")  # fmt: skip
    assert f".target {target}".encode() in (tmp_path / "kernels.so").read_bytes()
