"""Kernels of sm_90a, whose products are wgmma, beside test_gpu_emulated.py: how they copy, and faults in their PTX."""

import functools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paths import ATTNC
from test_gpu_emulated import RUN, call, execute, expect_right
from test_gpu_views import K, V, part, sdpa, transposed

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from fault_classes import find_faults

TARGET = "sm_90a"
# Of a matrix in panels: a swizzle of 128 bytes, eight rows 1024 bytes apart (in units of 16).
DESCRIPTOR = 1 << 62 | 64 << 32
# Why all threads copy K and V; nothing where a producer does.
NO_PRODUCER = {
    "b3 hq2 sq113 sk203 d64 bf16 q_lengths kv_lengths": "",
    "b3 hq4 hkv2 sq150 sk200 d64 f16 layout=varlen causal=bottom_right": "",
    "b1 hq2 sq33 sk65 d40 dv56 bf16 layout=bsd": "",
    "b? hq2 sq? sk? d64 bf16 layout=bsd": "",
    "b2 hq2 sq33 sk203 d64 bf16 kv_lengths paged=16": "rows come from pages",
    "b1 hq2 sq113 sk203 d128 f16 kv=fp8 kvscale=token": "rows are converted",
    "b1 hq2 sq113 sk203 d128 f16 kv=e5m2 kvscale=token": "rows are converted",
    "b1 hq2 sq65 sk130 d256 f16": "",
}
# Slices of longer rows, whose map has strides; every other element, which no map describes.
VIEWS = {
    "columns of longer rows": ({"k": part(K, 192, 64), "v": part(V, 192, 128)}, ""),
    "rows of 68": ({"k": part(K, 68)}, "rows do not lie as one of five dimensions, at multiples of 16 bytes"),
    "transposed": ({"v": transposed(V)}, "rows do not lie as one of five dimensions, at multiples of 16 bytes"),
}


def find_obstacle(*words) -> str:
    """What the remark no-producer of a compilation says."""
    done = subprocess.run(
        [ATTNC, *words, f"--target={TARGET}", "--emit=ptx", "-o", "-", "--remarks=missed"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.findall(r"missed no-producer: (.*) \[", done.stderr)
    assert ("cp.async.bulk.tensor" in done.stdout) == (not found), done.stderr
    return "".join(found)


@pytest.mark.parametrize("line", NO_PRODUCER)
def test_which_kernels_have_a_producer(line):
    assert find_obstacle(f"--problem={line}") == NO_PRODUCER[line]


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, tmp_path):
    views, obstacle = VIEWS[name]
    ir = tmp_path / "k.mlir"
    ir.write_text(sdpa("bf16", **views))
    assert find_obstacle(ir) == obstacle
    assert call(RUN, f"--target={TARGET}", f"--ir={ir}").count(": ok\n") == 3


@pytest.mark.parametrize("line", ["b1 hq2 sq113 sk512 d64 bf16", "b3 hq1 sq113 sk512 d64 bf16 kv_lengths"])
@pytest.mark.parametrize("stages", [1, 3])
def test_stages(stages, line):
    schedule = f"#attn.block<key_tile = 64, stages = {stages}, producer = {str(stages > 1).lower()}>"
    expect_right(execute(TARGET, [f"--problem={line}", f"--schedule={schedule}"]))


def plant(kind: str, pattern: str = "", which: int = 0) -> Callable[[str], str]:
    """One of the faults of scripts/plant-faults.py: of this class, of lines with the pattern."""

    def change(text: str) -> str:
        found = [fault for fault in find_faults("", text) if fault.kind == kind and re.search(pattern, fault.before)]
        lines = text.splitlines()
        lines[found[which].line - 1] = found[which].after
        return "\n".join(lines) + "\n"

    return change


def replace(pattern: str, substitute: str, which: int = 0) -> Callable[[str], str]:
    """Changes one place."""

    def change(text: str) -> str:
        match = list(re.finditer(pattern, text))[which]
        return text[: match.start()] + match.expand(substitute) + text[match.end() :]

    return change


def drop(pattern: str, which: int) -> Callable[[str], str]:
    """Removes a line that has the pattern."""
    return replace(rf"(?m)^.*{pattern}.*\n", "", which)


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
V_DESCRIPTOR = str(DESCRIPTOR | 512 << 16)  # a tile of 64 keys has panels of 8192 bytes
FAULTS = {
    "scores are read before they are there": (plant("wgmma wait removed", "wait", 0), "wgmma-before-wait"),
    "acc is read before it is there": (plant("wgmma wait removed", "wait", 1), "wgmma-before-wait"),
    "no fence in front of scores": (plant("wgmma fence removed", which=0), "missing-wgmma-fence"),
    "no fence in front of values": (plant("wgmma fence removed", which=1), "missing-wgmma-fence"),
    "copies are not published": (plant("proxy fence removed"), "missing-proxy-fence"),
    "nobody waits for copies": (plant("wait removed"), "async-before-wait"),
    "tiles are written while they are read": (plant("barrier removed", which=2), "race"),
    "scores of another tile are added": (plant("wgmma scale"), "undefined-register|FAILED"),
    "V along its rows": (plant("wgmma transposition", ", 1;$"), "FAILED"),
    "weights in another order": (plant("wgmma operands", r"\}, \{"), "FAILED"),
    "Q and K exchanged": (plant("wgmma operands", r"\}, %rd"), "FAILED"),
    "rows of V too far": (plant("descriptor stride", V_DESCRIPTOR, 0), "FAILED|out-of-bounds|uninitialised-read"),
    "panels of V too close": (plant("descriptor stride", V_DESCRIPTOR, 1), "FAILED"),
}


# The same of a kernel whose K and V come from a producer.
PRODUCER_FAULTS = {
    "K is multiplied before it is there": (plant("phase not waited for", which=0), "race|uninitialised-read"),
    "V is multiplied before it is there": (plant("phase not waited for", which=1), "race|uninitialised-read"),
    "a stage is filled while it is read": (plant("phase not waited for", which=-1), "race"),
    "a stage is never free": (plant("arrival removed", "@p"), "deadlock"),
    "a wait for the phase before": (plant("parity", which=1), "race|deadlock"),
    "fewer bytes are expected": (plant("bytes expected"), "mbarrier|race|invalid"),
    "barriers are not published": (plant("proxy fence removed", "mbarrier_init"), "missing-proxy-fence"),
    "another row": (plant("box coordinate", "cluster", -1), "FAILED|invalid"),
    "another panel": (plant("box coordinate", "cluster", 2), "FAILED|invalid"),
    "a box too few": (plant("box removed", "cluster"), "deadlock|mbarrier"),
    "a consumer too many": (plant("initial count", which=3), "deadlock|mbarrier"),
}


# The same of two groups of warps whose products run beside the softmax. In front of the loop the scores of the first
# round wait for themselves, in it scores, then values, and behind it the last values.
OVERLAP_FAULTS = {
    "scores are read before they are there": (replace(r"(wgmma\.wait_group\S*\s+)1", r"\g<1>2"), "wgmma-before-wait"),
    "acc is read before it is there": (replace(r"(wgmma\.wait_group\S*\s+)0", r"\g<1>1", 1), "wgmma-before-wait"),
    "K is free while scores are computed": (delay(r"wgmma\.wait_group", 1, r"@p mbarrier\.arrive"), "race"),
    "V is free while values are computed": (delay(r"wgmma\.wait_group", 2, r"@p mbarrier\.arrive"), "race"),
    "no fence in front of scores": (plant("wgmma fence removed", which=1), "missing-wgmma-fence"),
    "no turn for others": (plant("barrier removed", "arrive", -1), "deadlock"),
    "no first turn": (plant("barrier removed", "arrive"), "deadlock"),
    "a turn of all": (replace(r"(bar\.sync\s+%r\d+, )256", r"\g<1>128"), "barrier-mismatch"),
}


def read_early(text: str) -> str:
    """The bias of the first step is read in front of the wait for it."""
    reads = text.index("ldmatrix")
    wait = text.rindex("mbarrier.try_wait", 0, reads)
    start, end = text.rindex("\n", 0, wait) + 1, text.index("\n", wait) + 1
    return text[:start] + text[end:]


def copy_early(text: str) -> str:
    """The producer does not wait until the place of the next Q is free."""
    wait = text.rindex("mbarrier.try_wait", 0, text.index("expect_tx"))
    start, end = text.rindex("\n", 0, wait) + 1, text.index("\n", wait) + 1
    return text[:start] + text[end:]


# The same of blocks with several tiles, whose Q comes from the producer, and of one whose threads copy it.
QUERY_LINE, OWN_QUERY_LINE = "b1 hq1 sq1100 sk128 d128 bf16", "b1 hq1 sq128 sk512 d256 bf16"
QUERY_FAULTS = {
    "Q is multiplied before it is there": (QUERY_LINE, plant("phase not waited for", which=0), "race|uninit"),
    "the next Q is copied while this one is read": (QUERY_LINE, copy_early, "race"),
    "the output is written while Q is read": (OWN_QUERY_LINE, plant("barrier removed", r"%r\d+, 128", -1), "race"),
}


def store_beyond_end(text: str) -> str:
    """Boxes are stored whether a sequence ends in them or not."""
    start = text.rindex("and.pred", 0, text.index("global.shared"))
    end = text.index("\n", start)
    return text[:start] + re.sub(r"(%p\d+), %p\d+;", r"\1, \1;", text[start:end]) + text[end:]


# The same of outputs that a warp stores as boxes: of whole tiles, and of packed sequences, whose ends lanes store.
PACKED_LINE = "b3 hq1 sq400 sk300 d64 bf16 layout=varlen"
STORE_FAULTS = {
    "an output is staged while the last one is read": (QUERY_LINE, plant("wait removed", "bulk", 0), "race"),
    "lanes stage an output before one of them has waited": (QUERY_LINE, drop(r"bar\.warp\.sync", 0), "race"),
    "an output is not published": (QUERY_LINE, plant("proxy fence removed", "async"), "missing-proxy-fence"),
    "a box is stored before lanes have staged it": (QUERY_LINE, drop(r"bar\.warp\.sync", 1), "race"),
    "nobody waits for the last box": (QUERY_LINE, plant("wait removed", "bulk", -1), "async-before-wait"),
    "a box of no group": (QUERY_LINE, plant("commit removed", "bulk"), "race|async-before-wait"),
    "another panel": (QUERY_LINE, plant("box coordinate", "global.shared"), "written|race|FAILED"),
    "a box too few": (QUERY_LINE, plant("box removed", "global.shared"), "written"),
    "rows of the next sequence": (PACKED_LINE, store_beyond_end, "race|FAILED"),
}


def read_late(text: str) -> str:
    """A part of the bias of the first step is read once more, behind its arrival."""
    read = text.index("ldmatrix")
    line = text[text.rindex("\n", 0, read) + 1 : text.index("\n", read) + 1]
    end = text.index("\n", text.index("@p mbarrier.arrive", read)) + 1
    return text[:end] + line + text[end:]


# The same of a kernel whose producer copies a bias.
OPERAND_FAULTS = {
    "a bias is read before it is there": (read_early, "race|uninitialised-read"),
    "a bias is read once it is free": (read_late, "race"),
    "lanes do not wait for each other": (drop(r"bar\.warp\.sync", 0), "race"),
    "two rows exchanged": (replace(r"(ldmatrix\S*\s+\{)(%r\d+), (%r\d+)", r"\1\3, \2"), "FAILED"),
    "another row": (plant("box coordinate", "cluster", 3), "FAILED|invalid"),
}


# The same of a kernel whose last tiles have rows behind a length.
LENGTH_FAULTS = {
    "rows of V behind a length stay": (drop(r"st\.shared\.v4\.b32.*\{0, 0, 0, 0\}", 0), "FAILED"),
    "other rows become 0": (
        replace(r"(st\.shared\.v4\.b32\s+\[%r\d+)\+\d+(\], \{0, 0, 0, 0\})", r"\1\2"),
        "FAILED|race",
    ),
    "zeros are not published": (drop(r"fence\.proxy\.async", 0), "missing-proxy-fence"),
    "nobody waits for zeros": (drop(r"bar(rier)?\.(cta\.)?sync\s+1,", 0), "race"),
}


@functools.cache
def compile_ptx(line: str) -> str:
    """Many faults are of one text."""
    return call(ATTNC, f"--problem={line}", f"--target={TARGET}", "--emit=ptx", "-o", "-")


def expect_seen(tmp_path, line: str, change: Callable[[str], str], said: str) -> None:
    """The change of the line's PTX is reported."""
    ptx = tmp_path / "k.ptx"
    text = compile_ptx(line)
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


@pytest.mark.parametrize("name", OPERAND_FAULTS)
def test_a_planted_fault_of_a_bias_in_stages_is_seen(name, tmp_path):
    expect_seen(tmp_path, "b1 hq1 sq64 sk512 d64 bf16 bias=1,1,64,512", *OPERAND_FAULTS[name])


@pytest.mark.parametrize("name", QUERY_FAULTS)
def test_a_planted_fault_of_queries_is_seen(name, tmp_path):
    expect_seen(tmp_path, *QUERY_FAULTS[name])


@pytest.mark.parametrize("name", STORE_FAULTS)
def test_a_planted_fault_of_stores_is_seen(name, tmp_path):
    expect_seen(tmp_path, *STORE_FAULTS[name])


KEYS = [1, 64, 128, 129, 256, 257, 384]


@pytest.mark.parametrize("mask", ["", " causal=top_left", " causal=bottom_right", " window=31,9 align=offset"])
def test_any_number_of_rounds(mask):
    """Loops of 0 to 3 rounds, of which the first is in front, and the last values are behind.

    The size is that of the call: loops that are known to have few rounds do not overlap.
    """
    sizes = [f"--size=sk={KEYS[0]}", *(f"--more-sizes=sk={keys}" for keys in KEYS[1:])]
    text = call(RUN, f"--problem=b1 hq1 sq129 sk? d64 bf16{mask}", *sizes, f"--target={TARGET}")
    for keys in KEYS:
        expect_right("\n".join(line for line in text.splitlines() if line.startswith(f"sk{keys} ")))


@pytest.mark.parametrize("name", LENGTH_FAULTS)
@pytest.mark.parametrize("words", ["kv_lengths", "layout=varlen"])
def test_a_planted_fault_behind_a_length_is_seen(name, words, tmp_path):
    expect_seen(tmp_path, f"b3 hq1 sq150 sk256 d64 bf16 {words}", *LENGTH_FAULTS[name])
