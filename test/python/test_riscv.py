"""Kernels for 64-bit RISC-V: under qemu-user, each against the reference on this machine; their loops; what is refused.

scripts/setup.sh --riscv installs qemu-user and a cross compiler. Without them tests that execute kernels are skipped.
"""

import re
import subprocess
from pathlib import Path

import pytest

import cross
from cross import DECODE, FORWARD, GRADIENTS, expect_right, run
from paths import ATTNC
from test_arm_loops import count, find_loops

RISCV = cross.Machine("riscv64", "riscv")
needs_qemu = RISCV.is_there


@pytest.fixture(scope="module")
def runner() -> Path:
    """The command that runs a kernel, made once."""
    return RISCV.build()


@needs_qemu
@pytest.mark.parametrize(
    ("line", "target", "cpu"),
    [
        (FORWARD[1], "rva23", "rva23u64"),
        (FORWARD[1], "rv64gcv+zvl512b", "rv64,v=true,vlen=512"),
        (FORWARD[4], "spacemit-x60", "max,vlen=256"),
        (FORWARD[5], "rv64gcv", "rv64,v=true"),
        (FORWARD[6], "rva23+zvl256b", "max,vlen=256"),
        (FORWARD[7], "rv64gcv+zvfh+zvl512b", "max,vlen=1024"),
        (FORWARD[8], "sifive-p670", "max"),
        (FORWARD[13], "rva23+zvl1024b", "max,vlen=1024"),
        (DECODE[2], "spacemit-x60", "max,vlen=256"),
        (DECODE[3], "rva23", "rva23u64"),
        (GRADIENTS[0], "rv64gcv+zvl256b", "rv64,v=true,vlen=256"),
        (GRADIENTS[2], "rva23", "rva23u64"),
        ("hq2 sq33 sk31 d16 bf16 causal=top_left", "riscv64-linux-gnu", "rv64"),
    ],
)
def test_lines(runner: Path, line: str, target: str, cpu: str) -> None:
    """On a processor that has the features of the target and no more, and on one with longer vectors."""
    expect_right(run(runner, line, target, cpu))


@needs_qemu
@pytest.mark.parametrize(
    ("target", "cpu", "missing"),
    [
        ("rv64gcv", "rv64", "rv64gcv needs v"),
        ("rv64gcv+zvl256b", "rv64,v=true,vlen=128", "rv64gcv+zvl256b needs zvl256b"),
        ("rva23", "rv64,v=true", "rva23 needs zvbb, zfhmin, zvfhmin, zicond"),
    ],
)
def test_wrong_processor_is_refused(runner: Path, target: str, cpu: str, missing: str) -> None:
    """By the checked entry, before any instruction of the target."""
    done = run(runner, "sq4 d8", target, cpu)
    assert done.returncode == 1
    assert "expected a processor that runs a target of the kernel" in done.stderr, done.stderr
    assert missing in done.stderr, done.stderr


@needs_qemu
def test_an_object_chooses(runner: Path, tmp_path: Path) -> None:
    """At its first call, by extensions and by the length of vectors; scalars where there are none."""
    targets = "riscv64-linux-gnu,rv64gcv,rva23,rva23+zvl256b"
    choices = [
        ("rv64", "riscv64-linux-gnu"),
        ("rv64,v=true", "rv64gcv"),
        ("rva23u64", "rva23"),
        ("max,vlen=512", "rva23+zvl256b"),
    ]
    cross.expect_choice(RISCV, tmp_path, targets, choices)


@needs_qemu
def test_example(runner: Path, tmp_path: Path) -> None:
    """By the commands of docs/Targets.md."""
    cross.expect_example(RISCV, tmp_path, "rva23")


@needs_qemu
def test_shared_library(runner: Path, tmp_path: Path) -> None:
    """Linked by attnc alone."""
    cross.expect_shared_library(RISCV, tmp_path, "rv64gcv,rva23")


SCALAR_TIMES_VECTOR = re.compile(r"^vfmacc\.vf\b")
VECTOR = re.compile(r"^v(?!set)")
STACK = re.compile(r"\bsp\b|^v[ls]\dr")


@pytest.mark.parametrize("target", ["rva23", "spacemit-x60"])
def test_multiply_adds_take_scalars(target: str) -> None:
    """Scores and values of prefill: 16 scalars of K or V times a vector of queries, without a copy or the stack."""
    loops = [x for x in find_loops("hq4 sq960 d64", target, "#") if count(x, SCALAR_TIMES_VECTOR) >= 8]
    assert [count(body, SCALAR_TIMES_VECTOR) for body in loops] == [16, 16]
    assert [count(body, VECTOR) for body in loops] == [17, 17]  # and a load: 94 % multiply-adds
    assert [count(body, STACK) for body in loops] == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target=rv64gcv+scalable"], "write zvl128b, or up to zvl1024b"),
        (
            ["--target=rv64gcv+zvl2048b"],
            "expected v with zvl128b to zvl1024b, found 'rv64gcv+zvl2048b'; write rv64gcv+zvl1024b",
        ),
        (["--target=rv64gc+zve32f"], "expected v with zvl128b to zvl1024b"),
        (["--target=rv64i"], "expected rv64gc with vectors or without, found 'rv64i'"),
        (["--target=rva23+avx2"], "expected extensions of 64-bit RISC-V, found 'rva23+avx2'"),
        (["--target=riscv32-linux-gnu"], "expected 64-bit little-endian RISC-V as target"),
        (
            ["--target=sifive-e20"],
            "expected a processor, a profile or an architecture of 64-bit RISC-V, found 'sifive-e20'",
        ),
        (["--target=riscv64-linux-gnu:znver5"], "expected a processor, a profile or an architecture of 64-bit RISC-V"),
        (["--target=riscv64-unknown-freebsd"], "expected Linux as the system of RISC-V"),
        (["--target=rva23,neoverse-v2"], "expected targets of one architecture in a list"),
        (["--target=rvv"], "write rva23, or rv64gcv+zvl256b for vectors of 256 bits"),
        (["--target=ppc64le"], "no code is made for other processors"),
        (["run", "--target=rva23"], "expected a target that this machine runs, found 'rva23', which is 64-bit RISC-V"),
        (["bench", "--target=rva23"], "'rva23', which is 64-bit RISC-V; write attnc bench --roofline=static"),
    ],
)
def test_refused(tmp_path: Path, options: list[str], message: str) -> None:
    """Nothing is written."""
    if options[0] in ("run", "bench"):
        done = subprocess.run([ATTNC, *options, "--problem=sq4 d8"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr
    else:
        cross.expect_refused(tmp_path, options, message)


@pytest.mark.parametrize(
    "target", ["sifive-x280", "riscv64-linux-gnu:rva22", "riscv64-linux-musl:tt-ascalon-d8", "rv64gcv_zvl256b"]
)
def test_names(tmp_path: Path, target: str) -> None:
    """An ELF object for RISC-V."""
    cross.expect_object(tmp_path, target, machine=243)  # EM_RISCV
