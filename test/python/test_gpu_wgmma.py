"""Kernels of sm_90a, whose products are wgmma: a sample of the lines of test_gpu_emulated.py, and faults in their PTX.

scripts/nightly.sh runs all lines for sm_90a.
"""

import re
import subprocess
from collections.abc import Callable

import pytest

from paths import ATTNC
from test_gpu_emulated import CASES, RUN, call, execute, expect_right

TARGET = "sm_90a"
# Of a matrix in panels: a swizzle of 128 bytes, eight rows 1024 bytes apart (in units of 16).
DESCRIPTOR = 1 << 62 | 64 << 32
# Head sizes that fill panels of 64 columns or do not, and each way in which rows come to shared memory, or scores are
# changed between the products.
LINES = [
    "b1 hq2 sq113 sk203 d64 bf16",
    "b1 hq2 sq65 sk130 d40 bf16",
    "b1 hq2 sq65 sk130 d96 bf16",
    "b1 hq2 sq65 sk130 d136 bf16",
    "b1 hq2 sq65 sk130 d192 dv128 bf16",
    "b1 hq2 sq65 sk130 d256 f16",
    "b1 hq2 sq113 sk0 d128 f16 causal=top_left",
    "b1 hq1 sq257 sk384 d128 f16 causal=bottom_right",
    "b2 hq4 hkv2 sq113 sk203 d64 bf16",
    "b1 hq2 sq113 sk203 d128 f16 softcap=2 causal=top_left",
    "b2 hq2 sq113 sk203 d64 bf16 window=31,9 align=offset",
    "b1 hq2 sq113 sk203 d64 f16 mask=bool bias=1,1,113,203",
    "b3 hq2 sq113 sk203 d64 bf16 q_lengths kv_lengths",
    "b2 hq2 sq33 sk203 d64 bf16 kv_lengths paged=16",
    "b1 hq2 sq113 sk203 d128 f16 kv=fp8 kvscale=token",
    "b3 hq4 hkv2 sq150 sk200 d64 f16 layout=varlen causal=bottom_right",
]


@pytest.mark.parametrize("line", LINES)
def test_agrees_with_the_reference(line):
    expect_right(execute(TARGET, CASES[line]))


def drop(pattern: str, which: int = 0) -> Callable[[str], str]:
    """Removes a line that has the pattern."""

    def change(text: str) -> str:
        found = [match for match in re.finditer(r".*\n", text) if re.search(pattern, match[0])]
        return text[: found[which].start()] + text[found[which].end() :]

    return change


def replace(pattern: str, substitute: str, which: int = 0) -> Callable[[str], str]:
    """Changes one place."""

    def change(text: str) -> str:
        match = list(re.finditer(pattern, text))[which]
        return text[: match.start()] + match.expand(substitute) + text[match.end() :]

    return change


# What is wrong with a kernel, and what is said of it.
FAULTS = {
    "scores are read before they are there": (drop(r"wgmma\.wait_group", 0), "wgmma-before-wait"),
    "acc is read before it is there": (drop(r"wgmma\.wait_group", 1), "wgmma-before-wait"),
    "no fence in front of scores": (drop(r"wgmma\.fence", 0), "missing-wgmma-fence"),
    "no fence in front of values": (drop(r"wgmma\.fence", 1), "missing-wgmma-fence"),
    "copies are not published": (drop(r"fence\.proxy\.async", 0), "missing-proxy-fence"),
    "nobody waits for copies": (drop(r"cp\.async\.wait_group", 0), "async-before-wait"),
    "K is written while it is read": (drop(r"bar(rier)?\.(cta\.)?sync", 1), "race"),
    "scores of another tile are added": (
        replace(r"(wgmma\.mma_async[^;]*\}, %rd\d+, %rd\d+, )0", r"\g<1>1", 0),
        "undefined-register|FAILED",
    ),
    "V along its rows": (replace(r"(wgmma\.mma_async[^;]*%rd\d+, 1, 1, 1, )1;", r"\g<1>0;", 0), "FAILED"),
    "weights in another order": (
        replace(r"(wgmma\.mma_async[^;]*\}, \{)(%r\d+), (%r\d+)(, %r\d+, %r\d+\})", r"\1\3, \2\4", 0),
        "FAILED",
    ),
    "Q and K exchanged": (replace(r"(wgmma\.mma_async[^;]*\}, )(%rd\d+), (%rd\d+)", r"\1\3, \2", 0), "FAILED"),
    # A tile of 64 keys has panels of 8192 bytes, which the descriptor of V says at bit 16 in units of 16.
    "panels of V too close": (replace(str(DESCRIPTOR | 512 << 16), str(DESCRIPTOR | 256 << 16), 0), "FAILED"),
    "rows of V too far": (
        replace(str(DESCRIPTOR | 512 << 16), str((DESCRIPTOR | 512 << 16) + (64 << 32)), 0),
        "FAILED|out-of-bounds|uninitialised-read",
    ),
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The PTX of a case of two tiles of keys."""
    ptx = tmp_path_factory.mktemp("wgmma") / "k.ptx"
    call(ATTNC, "--problem=b1 hq2 sq64 sk256 d128 bf16", f"--target={TARGET}", "--emit=ptx", "-o", ptx)
    return ptx


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(name, kernel, tmp_path):
    change, said = FAULTS[name]
    text = kernel.read_text()
    changed = change(text)
    assert changed != text
    (tmp_path / "k.ptx").write_text(changed)
    done = subprocess.run(
        [RUN, tmp_path / "k.ptx", "--problem=b1 hq2 sq64 sk256 d128 bf16"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert re.search(said, done.stdout + done.stderr), done.stdout + done.stderr
