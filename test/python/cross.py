"""Kernels for another architecture: how tests compile them, run them under qemu-user and compare them."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from paths import ATTNC

ROOT = Path(__file__).parents[2]

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


@dataclass(frozen=True)
class Machine:
    """An architecture, as GNU names it, and as scripts/setup.sh does."""

    architecture: str
    kind: str

    @property
    def folder(self) -> Path:
        """Where scripts/build-runner.sh puts the runner, the runtime and qemu."""
        return ROOT / "build" / self.kind

    @property
    def compiler(self) -> str:
        """The cross compiler."""
        return f"{self.architecture}-linux-gnu-gcc"

    @property
    def is_there(self) -> pytest.MarkDecorator:
        """Skips a test that executes kernels where scripts/setup.sh has not installed what it needs."""
        return pytest.mark.skipif(
            not (shutil.which(self.compiler) and shutil.which(f"qemu-{self.architecture}")),
            reason=f"expected {self.compiler} and qemu-{self.architecture}, found none: "
            f"scripts/setup.sh --{self.kind} installs them",
        )

    def build(self) -> Path:
        """The command that runs a kernel."""
        subprocess.run([ROOT / "scripts" / "build-runner.sh", self.kind], check=True, timeout=120)
        return self.folder / "runner"

    def link(self, *arguments: str | Path) -> None:
        """Links a program with the runtime of a parallel loop."""
        libraries = [self.folder / "libattn_runtime.a", "-fopenmp", "-lm"]
        subprocess.run(
            [self.compiler, f"-I{self.folder / 'include'}", *arguments[:-1], *libraries, "-o", arguments[-1]],
            check=True,
        )

    def call(self, program: Path, cpu: str = "max", folder: Path | None = None) -> str:
        """What a program prints."""
        command = [self.folder / "qemu", "-cpu", cpu, "-L", f"/usr/{self.architecture}-linux-gnu", program]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout


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


def expect_refused(folder: Path, options: list[str], message: str) -> None:
    """attnc says so, and writes nothing."""
    command = [ATTNC, "--problem=sq4 d8", *options, "-o", folder / "kernel.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert not list(folder.iterdir())


def expect_object(folder: Path, target: str, machine: int) -> None:
    """An ELF object for the machine of that number."""
    file = folder / "kernel.o"
    subprocess.run([ATTNC, "--problem=sq4 d8", f"--target={target}", "-o", file], check=True)
    head = file.read_bytes()[:20]
    assert head[:4] == b"\x7fELF"
    assert int.from_bytes(head[18:20], "little") == machine


def expect_choice(machine: Machine, folder: Path, targets: str, choices: list[tuple[str, str]]) -> None:
    """One object of several targets, with its header, linked by the cross compiler; each processor takes its own."""
    options = [f"--target={targets}", "-o", folder / "kernel.o", f"--header={folder / 'kernel.h'}"]
    subprocess.run([ATTNC, "--problem=sq4 d8", "--name=kernel", *options], check=True)
    (folder / "main.c").write_text(MAIN)
    machine.link(folder / "main.c", folder / "kernel.o", folder / "main")
    for cpu, target in choices:
        first, second = machine.call(folder / "main", cpu).splitlines()
        assert first == f"0 '' {target} 7"
        # A message of several values: va_list is that of the target's ABI.
        assert second.startswith("4 argument 1 'k': expected shape [1, 1, 4, 8], found [1, 1, 3, 8]"), second


def expect_example(machine: Machine, folder: Path, target: str) -> None:
    """The program of examples/c, by the commands of the documents."""
    example = ROOT / "examples" / "c"
    options = [f"--target={target}", "-o", folder / "attention.o", f"--header={folder / 'attention.h'}"]
    subprocess.run([ATTNC, example / "attention.mlir", *options], check=True)
    machine.link(f"-I{folder}", example / "main.c", folder / "attention.o", folder / "call-attention")
    printed = machine.call(folder / "call-attention")
    assert printed == "out = 0.673344 0.670061\nrefused: argument 1 'k': expected shape [3, 4], found [2, 4]\n"


def expect_shared_library(machine: Machine, folder: Path, targets: str) -> None:
    """A program that links nothing loads it; the runtime of the parallel loop is beside it."""
    options = ["--problem=sq1 sk1 d8", f"--target={targets}", "--emit=shared"]
    subprocess.run([ATTNC, *options, "-o", folder / "libattention.so"], check=True)
    shutil.copy(machine.folder / "libattn_runtime.so", folder)
    (folder / "main.c").write_text(LOADER)
    subprocess.run([machine.compiler, folder / "main.c", "-ldl", "-o", folder / "main"], check=True)
    assert machine.call(folder / "main", folder=folder) == "3 10\n"
