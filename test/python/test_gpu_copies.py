"""What copies of K and V cost decode on GPUs: sectors of memory, bank conflicts, copies and look-ups of pages a tile.

The emulator counts them. Counts are those of docs/GPU.md.
"""

import json

import pytest

from paths import ATTNC, call

KEYS, HEADS = 512, 2
SECTOR, COPY = 32, 512  # bytes; a copy of a warp has 16 of each lane


def measure(problem: str, tmp_path, target="sm_80") -> dict:
    """The report of the kernel that reads K and V, executed once."""
    path = tmp_path / "report.json"
    call(
        ATTNC.with_name("attn-ptx-run"),
        f"--problem={problem}",
        f"--target={target}",
        "--magnitude=1",
        f"--report={path}",
    )
    return json.loads(path.read_text())[0]


def count(report: dict, name: str) -> tuple[int, int]:
    """Accesses of global memory by instructions of this name, and their sectors."""
    of_name = [i for i in report["global"]["instructions"] if i["opcode"].startswith(name)]
    return sum(i["accesses"] for i in of_name), sum(i["sectors"] for i in of_name)


def conflicts(report: dict) -> int:
    return next(loop for loop in report["loops"] if loop["main"])["bankConflicts"]


@pytest.mark.parametrize("d", [40, 72, 80, 96, 112, 128, 136, 192])
def test_rows_that_follow_each_other_are_copied_whole(d, tmp_path):
    report = measure(f"b1 hq8 hkv{HEADS} sq1 sk{KEYS} d{d} {'f16' if d % 16 else 'bf16'}", tmp_path)
    copies, sectors = count(report, "cp.async")
    bytes_ = 2 * HEADS * KEYS * d * 2
    # And those of Q.
    assert bytes_ / SECTOR <= sectors <= 1.05 * bytes_ / SECTOR
    assert bytes_ / COPY <= copies <= 1.08 * bytes_ / COPY
    assert conflicts(report) == 0


@pytest.mark.parametrize("layout", ["layout=bshd", "kv_lengths paged=16", "kv_lengths paged=16,hnd"])
def test_rows_apart_and_pages(layout, tmp_path):
    report = measure(f"b1 hq8 hkv{HEADS} sq1 sk{KEYS} d136 bf16 {layout}", tmp_path)
    copies, sectors = count(report, "cp.async")
    # A page has 8.5 copies, and the last one of a sequence may be in part.
    assert sectors / copies >= 13
    assert conflicts(report) == 0


@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("order", ["", ",hnd"])
def test_few_look_ups_for_each_page(d, order, tmp_path):
    report = measure(f"b1 hq8 hkv{HEADS} sq1 sk{KEYS} d{d} bf16 kv_lengths paged=16{order}", tmp_path)
    loads, _ = count(report, "ld.global")
    copies, _ = count(report, "cp.async")
    copies_of_page = 16 * d * 2 // COPY
    # K and V of a step read the length as well.
    assert loads <= 2 * copies / copies_of_page


# Instructions of PTX that widen an element on sm_90a, and the scales; `and` and `or` are one of the machine.
WIDENING = {"int8 bf16": 3.2, "int8 f16": 1.6, "fp8 bf16": 2.7, "e5m2 f16": 0.8}


@pytest.mark.parametrize("types", WIDENING)
def test_bytes_are_copied_as_they_are(types, tmp_path):
    kv, dtype = types.split()
    d = 128
    line = f"b1 hq8 hkv{HEADS} sq1 sk{KEYS} d{d}"
    report = measure(f"{line} {dtype} kv={kv}", tmp_path, "sm_90a")
    copies, sectors = count(report, "cp.async")
    bytes_ = 2 * HEADS * KEYS * d
    assert bytes_ / SECTOR <= sectors <= 1.05 * bytes_ / SECTOR
    assert bytes_ / COPY <= copies <= 1.08 * bytes_ / COPY
    loads, _ = count(report, "ld.global")
    assert loads <= HEADS * KEYS / 32 * 2  # scales
    # The same kernel of 16 bits has the rest: the main loop of each has 32 keys.
    plain = measure(f"{line} {dtype}", tmp_path, "sm_90a")
    names = ("mma", "ldmatrix", "ld.shared", "cp.async", "bra", "add.s", "mov", "sel", "setp")
    widening = other(report, names) - other(plain, names)
    assert widening / (2 * 32 * d / 32) <= WIDENING[types]


def other(report: dict, names: tuple[str, ...]) -> float:
    """Instructions of a round of the main loop that do not have these names."""
    loop = next(loop for loop in report["loops"] if loop["main"])
    return sum(n for name, n in loop["mix"].items() if not name.startswith(names)) / loop["iterations"]
