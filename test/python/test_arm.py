"""Kernels for 64-bit Arm: under qemu-user, each against the reference on this machine; and what is refused.

scripts/setup.sh --arm installs qemu-user and a cross compiler. Without them the tests that execute kernels are skipped.
"""

import re
import subprocess
from pathlib import Path

import pytest

import cross
from cross import DECODE, FORWARD, GRADIENTS, expect_right, run
from paths import ATTNC

ARM = cross.Machine("aarch64", "arm")
needs_qemu = ARM.is_there

# Of one level, a core with SVE2, and none with more than the first instructions.
TARGETS = ("neoverse-v2", "aarch64-linux-gnu")


@pytest.fixture(scope="module")
def runner() -> Path:
    """The command that runs a kernel, made once."""
    return ARM.build()


@needs_qemu
@pytest.mark.parametrize("line", FORWARD + DECODE + GRADIENTS)
def test_lines(runner: Path, line: str) -> None:
    """NEON on a core of today."""
    expect_right(run(runner, line, TARGETS[0], sizes="b=2,sq=113,sk=203" if "?" in line else ""))


@needs_qemu
@pytest.mark.parametrize("line", [FORWARD[1], FORWARD[6], FORWARD[7], DECODE[2], GRADIENTS[0]])
@pytest.mark.parametrize(("target", "cpu"), [("aarch64-linux-gnu", "cortex-a57"), ("neoverse-n1", "neoverse-n1")])
def test_levels(runner: Path, line: str, target: str, cpu: str) -> None:
    """On a processor that has no more than the target: no instruction of a later one."""
    expect_right(run(runner, line, target, cpu))


@needs_qemu
@pytest.mark.parametrize("line", [FORWARD[1], FORWARD[6], FORWARD[8], DECODE[1], GRADIENTS[0]])
@pytest.mark.parametrize(("target", "cpu"), [("neoverse-v1+sve256", "max,sve256=on,sve512=off"), ("a64fx", "a64fx")])
def test_sve(runner: Path, line: str, target: str, cpu: str) -> None:
    """Vectors in SVE registers of a fixed length."""
    expect_right(run(runner, line, target, cpu))


@needs_qemu
@pytest.mark.parametrize(
    ("target", "cpu", "missing"),
    [
        ("neoverse-n1", "cortex-a57", "neoverse-n1 needs lse, fullfp16, rdm, rcpc, dotprod"),
        ("neoverse-v2", "neoverse-n1", "jsconv, complxnum"),
        ("neoverse-v1+sve256", "max,sve128=on,sve256=off", "neoverse-v1+sve256 needs sve256"),
        ("neoverse-v1+sve256", "max,sve512=on", "neoverse-v1+sve256 needs sve256"),
    ],
)
def test_wrong_processor_is_refused(runner: Path, target: str, cpu: str, missing: str) -> None:
    """By the checked entry, in an object of one target, before any instruction of the target."""
    done = run(runner, "sq4 d8", target, cpu)
    assert done.returncode == 1
    assert "expected a processor that runs a target of the kernel" in done.stderr, done.stderr
    assert missing in done.stderr, done.stderr


@needs_qemu
def test_an_object_chooses(runner: Path, tmp_path: Path) -> None:
    """At its first call."""
    choices = [("cortex-a57", "aarch64-linux-gnu"), ("neoverse-n1", "neoverse-n1"), ("max", "neoverse-n1")]
    cross.expect_choice(ARM, tmp_path, "aarch64-linux-gnu,neoverse-n1", choices)


@needs_qemu
def test_example(runner: Path, tmp_path: Path) -> None:
    """By the commands of docs/Targets.md."""
    cross.expect_example(ARM, tmp_path, "aarch64-linux-gnu")


# Instructions of whole kernels, of which a pass may take a little more: for a multiply-add, or for a byte of K and V.
COUNTS = (
    ("hq4 sq320 d64", "multiply-add", 1.52),
    ("hq4 sq320 d128", "multiply-add", 1.44),
    ("hq8 hkv2 sq1 sk1024 d128", "byte", 0.6),
    ("hq8 hkv2 sq1 sk1024 d128 bf16", "byte", 0.8),
    ("hq8 hkv2 sq1 sk1024 d128 bf16 kv=int8 kvscale=token", "byte", 1.8),
)


@needs_qemu
@pytest.mark.parametrize(("line", "unit", "most"), COUNTS)
def test_counts(runner: Path, line: str, unit: str, most: float) -> None:
    """The plugin of qemu counts what the kernel executes; the kernel is right beside it."""
    done = run(runner.parent / "counting-runner", line, "neoverse-v2")
    expect_right(done)
    found = re.search(r"(\d+) instructions, (\d+) multiply-adds", done.stderr)
    assert found
    element_bytes = 1 if "int8" in line else 2 if "bf16" in line else 4
    units = int(found[2]) if unit == "multiply-add" else 2 * 2 * 1024 * 128 * element_bytes
    assert 0 < int(found[1]) / units <= most


@needs_qemu
@pytest.mark.parametrize("targets", ["neoverse-n1", "aarch64-linux-gnu,neoverse-n1"])
def test_shared_library(runner: Path, tmp_path: Path, targets: str) -> None:
    """Linked by attnc alone."""
    cross.expect_shared_library(ARM, tmp_path, targets)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target=x86-64-v3,neoverse-v2"], "expected targets of one architecture in a list, found 'x86-64-v3' and"),
        (["--target=neoverse-n1,sm_80"], "expected processors or GPUs alone in a list of targets"),
        (["--target=aarch64-linux-android"], "expected Linux, macOS or Windows as the system of 64-bit Arm, found"),
        (["--target=aarch64_be-linux-gnu"], "expected 64-bit little-endian Arm as target"),
        (
            ["--target=aarch64-linux-gnu:znver5"],
            "expected a processor or an architecture of 64-bit Arm after the triple",
        ),
        (["--target=neoverse-v1+sve384"], "expected sve256 or sve512 as length of SVE registers, found 'sve384'"),
        (["--target=neoverse-v1+avx2"], "expected a feature of 64-bit Arm after +, found 'avx2'"),
        (["--target=neoverse-v1+nosimd"], "expected a target with vectors"),
        (["--target=z80"], "or an x86-64, 64-bit Arm or RISC-V processor that LLVM knows"),
    ],
)
def test_refused(tmp_path: Path, options: list[str], message: str) -> None:
    """Nothing is written."""
    cross.expect_refused(tmp_path, options, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run", "--target=neoverse-n1"], "expected a target that this machine runs, found 'neoverse-n1'"),
        (["run", "--target=neoverse-n1", "--emulated"], "expected a target that this machine runs"),
        (["bench", "--target=neoverse-n1"], "expected a target that this machine runs with attnc bench and attnc tune"),
        (["bench", "--target=neoverse-n1", "--roofline"], "write attnc bench --roofline=static, which runs nothing"),
        (["run", "--target=neoverse-n1", "--runner=no-such-program"], "expected a program that is there as --runner"),
        (["run", "--target=neoverse-n1", "--runner=true", "--time"], "expected --runner without --time"),
        (
            ["run", "--target=sm_80", "--runner=true"],
            "expected a processor with Linux, or WebAssembly, as target of --runner",
        ),
        (
            ["run", "--target=neoverse-n1", "--runner=false"],
            "expected the runner to call 'sdpa_checked', found that it",
        ),
    ],
)
def test_run_is_refused(options: list[str], message: str) -> None:
    """What this machine cannot run, and a runner that does not."""
    done = subprocess.run([ATTNC, *options, "--problem=sq4 d8"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize("target", ["neoverse-v2", "aarch64-linux-gnu:neoverse-v2", "neoverse-v2+nosve", "grace"])
def test_names(tmp_path: Path, target: str) -> None:
    """An ELF object for Arm."""
    cross.expect_object(tmp_path, target, machine=183)  # EM_AARCH64
