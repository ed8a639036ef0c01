"""Kernels of sm_90a that have all gradients at once: blocks add their parts of dQ to memory, one after the other.

The emulator has several blocks alive and starts them in an order of its own (--turns); it reports where two blocks add
to one place with nothing between them that orders the two.
"""

import re
import subprocess

import pytest

from paths import ATTNC
from test_gpu_emulated import RUN, call
from test_gpu_wgmma import drop, plant, replace

TARGET = "sm_90a"
PROBLEMS = [
    "b1 hq1 sq200 sk300 d64 bf16 grad=q,k,v",
    "b1 hq4 hkv2 sq257 sk300 d128 bf16 causal=top_left grad=q,k,v",
    "b2 hq3 hkv1 sq150 sk129 d64 f16 causal=bottom_right grad=q,k,v",
    "b1 hq1 sq600 sk300 d48 bf16 causal=bottom_right sink grad=q,k,v",
    "b1 hq1 sq150 sk600 d32 bf16 causal=top_left grad=q,k,v",
    "b1 hq1 sq130 sk390 d16 dv64 f16 grad=q,k,v",
    "b1 hq1 sq170 sk640 d128 dv96 bf16 softcap=20 bias=1,1,170,640 grad=q,k,v",
    "b1 hq2 sq128 sk260 d64 bf16 layout=bshd dropout=0.2 grad=q,k,v",
    "b1 hq1 sq200 sk300 d64 bf16 mask=1,1,200,300 grad=q,k,v",
]
# No two blocks add to one tile, or not all gradients are wanted: kernels apart.
APART = [
    "b1 hq2 sq133 sk128 d64 bf16 grad=q,k,v",
    "b1 hq1 sq300 sk0 d128 bf16 grad=q,k,v",
    "b1 hq2 sq200 sk300 d64 bf16 grad=q,k",
]


# A mask that needs a block map: a block that skips a tile would not pass its turn on.
SUBSETS = """mask_mod {
  %i = attn.index query : index
  %j = attn.index key : index
  %both = arith.andi %i, %j : index
  %keep = arith.cmpi eq, %both, %j : index
  attn.yield %keep : i1
}"""


def get_words(line: str, key_tile: int = 64) -> list[str]:
    schedule = (
        f"#attn.block<query_tile = 128, key_tile = {key_tile}, warps = 8, warp_rows = 16, instruction = wgmma, "
        "stages = 2, producer = true, fused = true>"
    )
    return [f"--problem={line}", f"--schedule={schedule}"]


def run(line: str, *more, key_tile: int = 64) -> str:
    return call(RUN, f"--target={TARGET}", "--kernel=sdpa_backward", *get_words(line, key_tile), *more)


@pytest.mark.parametrize("line", PROBLEMS)
def test_right_in_any_order_of_blocks(line):
    text = run(line, "--turns=7")
    assert "of 384 threads" in text
    assert text.count("largest error") >= 6
    assert text.count("largest error") == text.count(": ok\n"), text


def test_the_order_of_blocks_changes_nothing():
    texts = [run(PROBLEMS[1], f"--turns={turns}") for turns in (0, 5, 11)]
    errors = [re.findall("largest error .*", text) for text in texts]
    assert len(errors[0]) >= 6
    assert errors[0] == errors[1] == errors[2]


@pytest.mark.parametrize("line", APART)
def test_kernels_apart(line):
    text = run(line)
    assert text.count("largest error") == text.count(": ok\n"), text


def test_a_group_has_rows_of_128_queries():
    text = run("b1 hq2 sq300 sk300 d64 bf16 causal=top_left grad=q,k,v", "--turns=3", key_tile=128)
    assert text.count("largest error") == text.count(": ok\n") >= 6, text


def test_open_sizes():
    text = run("b1 hq1 sq? sk? d64 bf16 grad=q,k,v", "--size=sq=140,sk=400", "--turns=5")
    assert text.count("largest error") == text.count(": ok\n") >= 6, text


def test_few_blocks_at_a_time():
    """A block waits for those that have started before it, and no launch of all of them is needed."""
    text = run("b1 hq2 sq130 sk700 d64 bf16 grad=q,k,v", "--resident=1", "--turns=9")
    assert text.count("largest error") == text.count(": ok\n") >= 6, text


def test_the_policy_counts_what_waits():
    """Many heads, all gradients, head sizes whose halves end with a panel: one kernel. Few heads wait too long."""

    def choose(line: str) -> bool:
        done = subprocess.run(
            [ATTNC, f"--problem={line}", f"--target={TARGET}", "--stop-after=tile", "-o", "-", "--remarks=analysis"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return "fused = true> [sdpa_backward]" in done.stderr

    assert choose("b4 hq32 hkv8 sq4096 sk4096 d128 bf16 causal=top_left grad=q,k,v")
    assert choose("b2 hq16 sq8192 sk8192 d128 bf16 grad=q,k,v")
    assert choose("b8 hq16 sq2048 sk2048 d64 f16 grad=q,k,v")
    assert not choose("b1 hq1 sq8192 sk8192 d128 bf16 grad=q,k,v")  # each of 132 blocks behind the one before
    assert not choose("b2 hq16 sq8192 sk8192 d96 bf16 grad=q,k,v")
    assert not choose("b2 hq16 sq8192 sk8192 d128 bf16 grad=k,v")
    assert not choose("b2 hq16 sq8192 sk8192 d128 bf16 window=512,0 grad=q,k,v")
    assert not choose("b2 hq16 sq8192 sk8192 d128 bf16 kv_lengths grad=q,k,v")
    assert not choose("b2 hq16 sq8192 sk8192 d128 bf16 layout=varlen grad=q,k,v")


@pytest.mark.parametrize(
    "line",
    [
        "b1 hq1 sq200 sk600 d64 bf16 kv_lengths grad=q,k,v",
        "b1 hq1 sq400 sk600 d64 bf16 window=100,0 align=top_left grad=q,k,v",
        f"b1 hq1 sq400 sk600 d64 bf16 grad=q,k,v\n{SUBSETS}",
    ],
)
def test_masks_that_keep_no_order_are_refused(line):
    done = subprocess.run(
        [ATTNC, *get_words(line), f"--target={TARGET}", "--emit=ptx", "-o", "-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "expected a mask with fused of which each tile of queries meets the first key tiles" in done.stderr


# What is wrong with the kernel, and what is said of it.
FAULTS = {
    "nobody waits for the turn": (
        replace(r"(ld\.acquire\.gpu\.global\.b32 r.*?; )@p bra W;", r"\1"),
        "unordered-add|race",
    ),
    "the turn is passed on before the sums": (
        replace(r"(?s)(setp\.eq\.u32 p, \$?[^;]*; @p )?fence\.acq_rel\.gpu; red\.release\.gpu", r"red.relaxed.gpu"),
        "unordered-add|race",
    ),
    "the count is not acquired": (replace(r"ld\.acquire\.gpu\.global", "ld.relaxed.gpu.global"), "unordered-add|race"),
    "dS is not published": (drop(r"fence\.proxy\.async", -1), "missing-proxy-fence"),
    "dS is read before all have written it": (plant("barrier removed", r"1, 256", -1), "race|uninitialised-read"),
    "dS is not transposed": (replace(r"x4\.trans\.shared", "x4.shared"), "FAILED"),
    "the part is added before it is there": (
        replace(r"(wgmma\.wait_group\S*\s+)1", r"\g<1>2", -1),
        "wgmma-before-wait",
    ),
    "a block has another's number": (
        replace(r"add\.u32 r, (\[[^\]]*\]), 1;", r"add.u32 r, \1, 0;"),
        "deadlock|FAILED|race",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(name, tmp_path):
    line = "b1 hq1 sq192 sk384 d64 bf16 grad=q,k,v"
    text = call(ATTNC, *get_words(line), f"--target={TARGET}", "--kernel=sdpa_backward", "--emit=ptx", "-o", "-")
    change, said = FAULTS[name]
    changed = change(text)
    assert changed != text
    ptx = tmp_path / "k.ptx"
    ptx.write_text(changed)
    said_of = ""
    for turns in (0, 7):
        done = subprocess.run(
            [RUN, ptx, "--kernel=sdpa_backward", *get_words(line), f"--turns={turns}"],
            capture_output=True,
            text=True,
            check=False,
        )
        said_of += done.stdout + done.stderr
        assert done.returncode in (0, 1)
    assert re.search(said, said_of), said_of
