"""Kernels for 64-bit Arm: under qemu-user, each against the reference on this machine; and what is refused.

scripts/setup.sh --arm installs qemu-user and a cross compiler. Without them the tests that execute kernels are skipped.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import ATTNC

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "build" / "arm" / "runner"
COMPILER, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"
SYSROOT = "/usr/aarch64-linux-gnu"

needs_qemu = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which(QEMU)),
    reason=f"expected {COMPILER} and {QEMU}, found none: scripts/setup.sh --arm installs them",
)

# Odd sizes, masks, groups, layouts, narrow types, empty rows, no keys, dynamic sizes.
FORWARD = (
    "b2 hq3 sq113 sk203 d64",
    "hq4 hkv2 sq113 sk203 d59 dv17 causal=bottom_right out=lse",
    "hq4 hkv2 sq203 sk113 d64 causal=bottom_right out=lse,max",
    "b2 hq2 sq7 sk0 d8 out=lse",
    "hq2 sq113 sk203 d64 window=15,3 align=top_left softcap=30 sink",
    "hq2 sq33 sk31 d40 f64 causal=top_left",
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 causal=bottom_right out=lse",
    "b2 hq4 hkv2 sq113 sk203 d96 f16 causal=top_left",
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 kv=int8 kvscale=token",
    "b2 hq4 hkv2 sq65 sk129 d64 kv=int8 kvscale=head",
    "hq2 sq113 sk203 d64 f16 kv=fp8",
    "b2 hq2 sq113 sk203 d64 mask=2,1,113,203 bias=1,2,113,203",
    "b2 hq4 hkv2 sq113 sk203 d64 layout=bshd dropout=0.3",
    "b3 hq4 hkv2 sq90 sk90 d64 layout=varlen causal=top_left",
    "b2 hq4 hkv2 sq113 sk203 d64 q_lengths kv_lengths",
    "b2 hq2 sq113 sk203 d64 strided kv_lengths",
    "b? hq2 sq? sk? d64 causal=top_left",
)
DECODE = (
    "b2 hq8 hkv2 sq1 sk1203 d128 kv_lengths",
    "b2 hq8 hkv2 sq1 sk1203 d128 bf16 kv_lengths out=lse",
    "b2 hq8 hkv2 sq1 sk603 d64 bf16 kv=int8 kvscale=token kv_lengths",
    "b2 hq8 hkv2 sq1 sk203 d64 f16 kv_lengths paged=16",
    "b2 hq4 hkv2 sq2 sk203 d59",
)
GRADIENTS = (
    "b2 hq4 hkv2 sq113 sk203 d59 causal=bottom_right grad=q,k,v",
    "hq2 sq65 sk33 d64 bf16 window=15,3 align=top_left grad=q,k,v",
    "hq2 sq33 sk65 d32 f16 softcap=2 grad=q,k,v",
)
# Of one level, a core with SVE2, and none with more than the first instructions.
TARGETS = ("neoverse-v2", "aarch64-linux-gnu")


@pytest.fixture(scope="module")
def runner() -> Path:
    """The command that runs a kernel, made once."""
    subprocess.run([ROOT / "scripts" / "build-arm-runner.sh"], check=True, timeout=120)
    return RUNNER


def run(runner: Path, line: str, target: str, cpu: str = "max", sizes: str = "") -> subprocess.CompletedProcess[str]:
    """`attnc run --check`, the kernel under qemu as that processor."""
    command = [ATTNC, "run", "--check", f"--problem={line}", f"--target={target}", f"--runner={runner}"]
    command += [f"--size={sizes}"] if sizes else []
    environment = {**os.environ, "QEMU_CPU": cpu, "OMP_NUM_THREADS": "2"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


def expect_right(done: subprocess.CompletedProcess[str]) -> None:
    """The kernel ran, and its outputs are those of the reference."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": ok" in done.stdout, done.stdout + done.stderr


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


MAIN = r"""
#include "kernel.h"
#include <stdio.h>
int main(void) {
  static float q[4][8], k[4][8], v[4][8], out[4][8];
  for (int i = 0; i < 32; ++i)
    q[0][i] = k[0][i] = i % 5, v[0][i] = i % 8;
  int64_t shape[] = {1, 1, 4, 8}, wrong[] = {1, 1, 3, 8};
  DLTensor t[4] = {{q, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, 0, 0}};
  void *data[] = {q, k, v, out};
  const DLTensor *arguments[4];
  for (int i = 0; i < 4; ++i)
    t[i] = t[0], t[i].data = data[i], arguments[i] = &t[i];
  char message[256] = "";
  int code = kernel_checked(arguments, 4, message, sizeof message);
  printf("%d '%s' %s %g\n", code, message, kernel_target(), out[3][7]);
  t[1].shape = wrong;
  code = kernel_checked(arguments, 4, message, sizeof message);
  printf("%d %s\n", code, message);
  return 0;
}
"""


@needs_qemu
def test_an_object_chooses(runner: Path, tmp_path: Path) -> None:
    """One object of two targets, with its header, linked by the cross compiler; each processor takes its own."""
    targets = "aarch64-linux-gnu,neoverse-n1"
    subprocess.run(
        [
            *[ATTNC, "--problem=sq4 d8", "--name=kernel", f"--target={targets}"],
            *["-o", tmp_path / "kernel.o", f"--header={tmp_path / 'kernel.h'}"],
        ],
        check=True,
    )
    (tmp_path / "main.c").write_text(MAIN)
    program = tmp_path / "main"
    libraries = [RUNNER.parent / "libattn_runtime.a", "-fopenmp", "-lm"]
    include = f"-I{RUNNER.parent / 'include'}"
    subprocess.run(
        [COMPILER, include, tmp_path / "main.c", tmp_path / "kernel.o", *libraries, "-o", program], check=True
    )
    for cpu, target in [("cortex-a57", "aarch64-linux-gnu"), ("neoverse-n1", "neoverse-n1"), ("max", "neoverse-n1")]:
        done = subprocess.run([QEMU, "-cpu", cpu, "-L", SYSROOT, program], capture_output=True, text=True, check=True)
        first, second = done.stdout.splitlines()
        assert first == f"0 '' {target} 7"
        # A message of several values: va_list is that of the target's ABI.
        assert second.startswith("4 argument 1 'k': expected shape [1, 1, 4, 8], found [1, 1, 3, 8]"), second


@needs_qemu
def test_example(runner: Path, tmp_path: Path) -> None:
    """The program of examples/c, by the commands of docs/Arm.md."""
    example, arm = ROOT / "examples" / "c", RUNNER.parent
    kernel, header, program = tmp_path / "attention.o", tmp_path / "attention.h", tmp_path / "call-attention"
    subprocess.run(
        [ATTNC, example / "attention.mlir", "--target=aarch64-linux-gnu", "-o", kernel, f"--header={header}"],
        check=True,
    )
    libraries = [arm / "libattn_runtime.a", "-fopenmp", "-lm"]
    includes = [f"-I{tmp_path}", f"-I{arm / 'include'}"]
    subprocess.run([COMPILER, *includes, example / "main.c", kernel, *libraries, "-o", program], check=True)
    done = subprocess.run([QEMU, "-L", SYSROOT, program], capture_output=True, text=True, check=True)
    assert done.stdout == ("out = 0.673344 0.670061\nrefused: argument 1 'k': expected shape [3, 4], found [2, 4]\n")


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


LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  float q[8] = {1}, k[8] = {2}, v[8] = {3, 4, 5, 6, 7, 8, 9, 10}, out[8] = {0};
  void *library = dlopen("./libattention.so", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return puts(dlerror()), 1;
  ((void (*)(const float *, const float *, const float *, float *))dlsym(library, "sdpa"))(q, k, v, out);
  printf("%g %g\n", out[0], out[7]);
  return 0;
}
"""


@needs_qemu
@pytest.mark.parametrize("targets", ["neoverse-n1", "aarch64-linux-gnu,neoverse-n1"])
def test_shared_library(runner: Path, tmp_path: Path, targets: str) -> None:
    """A program that links nothing loads it; the runtime of the parallel loop is beside it."""
    options = ["--problem=sq1 sk1 d8", f"--target={targets}", "--emit=shared"]
    subprocess.run([ATTNC, *options, "-o", tmp_path / "libattention.so"], check=True)
    shutil.copy(runner.parent / "libattn_runtime.so", tmp_path)
    (tmp_path / "main.c").write_text(LOADER)
    program = tmp_path / "main"
    subprocess.run([COMPILER, tmp_path / "main.c", "-ldl", "-o", program], check=True)
    done = subprocess.run([QEMU, "-L", SYSROOT, program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "3 10\n"


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
        (["--target=z80"], "or an x86-64 or 64-bit Arm processor that LLVM knows, as znver5 or neoverse-v2"),
    ],
)
def test_refused(tmp_path: Path, options: list[str], message: str) -> None:
    """Nothing is written."""
    command = [ATTNC, "--problem=sq4 d8", *options, "-o", tmp_path / "kernel.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run", "--target=neoverse-n1"], "expected a target that this machine runs, found 'neoverse-n1'"),
        (["run", "--target=neoverse-n1", "--emulated"], "expected a target that this machine runs"),
        (["bench", "--target=neoverse-n1"], "expected a target that this machine runs with attnc bench and attnc tune"),
        (["bench", "--target=neoverse-n1", "--roofline"], "write attnc bench --roofline=static, which runs nothing"),
        (["run", "--target=neoverse-n1", "--runner=no-such-program"], "expected a program that is there as --runner"),
        (["run", "--target=neoverse-n1", "--runner=true", "--time"], "expected --runner without --time"),
        (["run", "--target=sm_80", "--runner=true"], "expected a processor as target of --runner"),
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
    file = tmp_path / "kernel.o"
    subprocess.run([ATTNC, "--problem=sq4 d8", f"--target={target}", "-o", file], check=True)
    head = file.read_bytes()[:20]
    assert head[:4] == b"\x7fELF"
    assert int.from_bytes(head[18:20], "little") == 183  # EM_AARCH64
