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


def delay(pattern: str, which: int, behind: str) -> Callable[[str], str]:
    """Moves a line that has the pattern behind the next line that has `behind`."""

    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        place = [i for i, line in enumerate(lines) if re.search(pattern, line)][which]
        target = next(i for i, line in enumerate(lines) if i > place and re.search(behind, line))
        lines.insert(target, lines.pop(place))
        return "".join(lines)

    return change


# What is wrong with a kernel, and what is said of it.
FAULTS = {
    "scores are read before they are there": (drop(r"wgmma\.wait_group", 0), "wgmma-before-wait"),
    "acc is read before it is there": (drop(r"wgmma\.wait_group", 1), "wgmma-before-wait"),
    "no fence in front of scores": (drop(r"wgmma\.fence", 0), "missing-wgmma-fence"),
    "no fence in front of values": (drop(r"wgmma\.fence", 1), "missing-wgmma-fence"),
    "copies are not published": (drop(r"fence\.proxy\.async", 0), "missing-proxy-fence"),
    "nobody waits for copies": (drop(r"cp\.async\.wait_group", 0), "async-before-wait"),
    "tiles are written while they are read": (drop(r"bar(rier)?\.(cta\.)?sync", 2), "race"),
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


# The same of a kernel whose K and V come from a producer.
PRODUCER_FAULTS = {
    "K is multiplied before it is there": (drop(r"mbarrier\.try_wait", 0), "race|uninitialised-read"),
    "V is multiplied before it is there": (drop(r"mbarrier\.try_wait", 1), "race|uninitialised-read"),
    "a stage is filled while it is read": (drop(r"mbarrier\.try_wait", -1), "race"),
    "a stage is never free": (drop(r"@p mbarrier\.arrive", 0), "deadlock"),
    "a wait for the phase before": (replace(r"(?s)(\[%r\d+\], )(%r\d+)(; @!p bra W)", r"\g<1>1\3", 0), "race|deadlock"),
    "fewer bytes are expected": (
        replace(r"(mbarrier\.arrive\.expect_tx[^;]*, )%r\d+", r"\g<1>1024", 0),
        "mbarrier|race|invalid",
    ),
    "barriers are not published": (drop(r"fence\.mbarrier_init", 0), "missing-proxy-fence"),
    "another row": (replace(r"(cp\.async\.bulk\.tensor[^{]*\{%r\d+, )%r\d+", r"\g<1>0", -1), "FAILED|invalid"),
    "another panel": (replace(r"(cp\.async\.bulk\.tensor[^;]*\], \[[^{]*\{)%r\d+", r"\g<1>0", 1), "FAILED"),
}


# The same of two groups of warps whose products run beside the softmax. In front of the loop the scores of the first
# round wait for themselves, in it scores, then values, and behind it the last values.
OVERLAP_FAULTS = {
    "scores are read before they are there": (replace(r"(wgmma\.wait_group\S*\s+)1", r"\g<1>2"), "wgmma-before-wait"),
    "acc is read before it is there": (replace(r"(wgmma\.wait_group\S*\s+)0", r"\g<1>1", 1), "wgmma-before-wait"),
    "K is free while scores are computed": (delay(r"wgmma\.wait_group", 1, r"@p mbarrier\.arrive"), "race"),
    "V is free while values are computed": (delay(r"wgmma\.wait_group", 2, r"@p mbarrier\.arrive"), "race"),
    "no fence in front of scores": (drop(r"wgmma\.fence", 1), "missing-wgmma-fence"),
    "no turn for others": (drop(r"bar\.arrive", -1), "deadlock"),
    "no first turn": (drop(r"bar\.arrive", 0), "deadlock"),
    "a turn of all": (replace(r"(bar\.sync\s+%r\d+, )256", r"\g<1>128"), "barrier-mismatch"),
    "the output is written while Q is read": (drop(r"bar\.sync\s+%r\d+, 128", -1), "race"),
}


def expect_seen(tmp_path, line: str, change: Callable[[str], str], said: str) -> None:
    """The change of the line's PTX is reported."""
    ptx = tmp_path / "k.ptx"
    call(ATTNC, f"--problem={line}", f"--target={TARGET}", "--emit=ptx", "-o", ptx)
    text = ptx.read_text()
    changed = change(text)
    assert changed != text
    ptx.write_text(changed)
    done = subprocess.run([RUN, ptx, f"--problem={line}"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert re.search(said, done.stdout + done.stderr), done.stdout + done.stderr


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(name, tmp_path):
    # Threads copy rows of K and V that are converted.
    expect_seen(tmp_path, "b1 hq1 sq64 sk256 d128 bf16 kv=int8", *FAULTS[name])


@pytest.mark.parametrize("name", PRODUCER_FAULTS)
def test_a_planted_fault_of_a_producer_is_seen(name, tmp_path):
    expect_seen(tmp_path, "b1 hq1 sq64 sk512 d128 bf16", *PRODUCER_FAULTS[name])


@pytest.mark.parametrize("name", OVERLAP_FAULTS)
def test_a_planted_fault_of_products_that_overlap_is_seen(name, tmp_path):
    expect_seen(tmp_path, "b1 hq1 sq128 sk512 d128 bf16", *OVERLAP_FAULTS[name])


@pytest.mark.parametrize("keys", [1, 64, 128, 129, 256, 257, 384])
@pytest.mark.parametrize("mask", ["", " causal=top_left", " causal=bottom_right", " window=31,9 align=offset"])
def test_any_number_of_rounds(keys, mask):
    """Loops of 0 to 3 rounds, of which the first is in front, and the last values are behind."""
    subprocess.run(
        [RUN, f"--problem=b1 hq1 sq129 sk{keys} d64 bf16{mask}", f"--target={TARGET}"], check=True, capture_output=True
    )
