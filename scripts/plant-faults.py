#!/usr/bin/env python3
"""Plants faults in the PTX of GPU kernels, one at a time, and says how many of them the emulator's tests see.

    scripts/plant-faults.py [--sample=N] [--kernel=NAME] [--kind=CLASS] [--seed=N] [--list]

A fault is one line of the text that is another one: a class below says which lines, and what they become. Each is run
by attn-ptx-run (docs/GPU.md) on the inputs that test_gpu_emulated.py uses, in several sizes. It is caught where the
emulator reports a finding or an output is off. The others are no faults, or were not seen:

  invalid    it is no PTX any more, or of instructions that are not emulated: nothing was planted
  unreached  no input executes the line; test_gpu_emulated.py prints how many such lines the suite has
  same       every thread writes the same bits to the same places of shared and global memory, and none is reported,
             for every size and magnitude of scores: an equivalent kernel, as far as inputs can tell
  harmless   something else is written, but each launch leaves the same bits in global memory, as it must: HARMLESS has
             the argument
  unseen     a real fault that the tests do not see

Exits with 1 where fewer than --least of the real faults (caught and unseen ones) are caught.
"""

import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fault_classes import CLASSES, Fault, find_faults

ROOT = Path(__file__).resolve().parents[1]
CHUNK = 40  # faults a process


@dataclass
class Kernel:
    """A problem with sizes of each call, so that one text runs on several: one and two beyond a multiple, few."""

    line: str
    sizes: list[str]
    name: str = "sdpa"  # of what the problem makes
    magnitudes: str = "1,128,2147483648"
    target: str = "sm_80"


KERNELS = {
    "causal": Kernel(
        "b1 hq2 sq? sk? d64 bf16 causal=bottom_right", ["sq=65,sk=130", "sq=66,sk=129", "sq=34,sk=24", "sq=32,sk=96"]
    ),
    "full": Kernel("b1 hq1 sq? sk? d40 f16 out=lse", ["sq=33,sk=65", "sq=34,sk=130", "sq=64,sk=32", "sq=1,sk=1"]),
    "split": Kernel("b12 hq4 hkv1 sq1 sk? d64 bf16", ["sk=1025", "sk=70", "sk=64"]),
    "paged": Kernel(
        "b8 hq4 hkv2 sq5 sk? d64 bf16 kv_lengths paged=16 causal=bottom_right",
        ["pages=40,max_pages=4", "pages=81,max_pages=9"],
    ),
    "fp8": Kernel("b1 hq2 sq? sk? d64 bf16 kv=fp8 kvscale=token", ["sq=33,sk=65", "sq=34,sk=130", "sq=64,sk=32"]),
    "lengths": Kernel(
        "b3 hq2 sq? sk? d64 bf16 q_lengths kv_lengths sink", ["sq=33,sk=130", "sq=66,sk=65", "sq=64,sk=32"]
    ),
    "varlen": Kernel(
        "b3 hq2 sq? sk? d64 bf16 layout=varlen causal=bottom_right", ["sq=150,sk=200", "sq=67,sk=131", "sq=34,sk=24"]
    ),
    "f32": Kernel("b1 hq1 sq? sk? d32 f32 window=9, align=bottom_right", ["sq=17,sk=33", "sq=18,sk=34"]),
    # Gradients of scores of hundreds are those of few keys.
    "backward": Kernel(
        "b1 hq2 hkv1 sq? sk? d64 bf16 causal=bottom_right grad=q,k,v",
        ["sq=65,sk=130", "sq=130,sk=66", "sq=34,sk=24"],
        name="sdpa_backward",
        magnitudes="1",
    ),
    # With a producer: a block has two tiles, and the last tile few queries. Few keys show how weights are rounded.
    "wgmma": Kernel(
        "b1 hq1 sq? sk? d64 bf16", ["sq=257,sk=300", "sq=65,sk=128", "sq=34,sk=44"], "sdpa", "1,128", "sm_90a"
    ),
    "wgmma causal": Kernel(
        "b1 hq1 sq? sk? d40 f16 causal=bottom_right",
        ["sq=257,sk=300", "sq=66,sk=129"],
        magnitudes="1,128",
        target="sm_90a",
    ),
    # Threads copy K and V, which are converted.
    "wgmma fp8": Kernel(
        "b1 hq1 sq? sk? d64 bf16 kv=fp8", ["sq=65,sk=130", "sq=34,sk=64"], magnitudes="1,128", target="sm_90a"
    ),
}

# Faults that change nothing that a call gives, where each launch leaves the same bits in global memory on all inputs:
# (kernels, class, pattern of the line, why).
HARMLESS: list[tuple[str, str, str, str]] = [
    (
        "lengths|paged",
        "zero fill dropped",
        "cp.async",
        "what is copied in place of zeros is NaN in these inputs, rows beyond the lengths: of K, whose scores a select "
        "removes, or of Q, whose rows are not stored. Of V it would show.",
    ),
    (
        ".",
        "copy removed",
        "cp.async",
        "a row stays what an earlier tile of the same head left there, as shared memory starts as NaN that may not be "
        "read. It is one of removed keys, and docs/Semantics.md, Containment, lets such rows be any of the tiles read.",
    ),
]


def is_harmless(fault: Fault) -> bool:
    """Whether the same bits are left, and one of HARMLESS says why."""
    return fault.verdict.endswith("same bits") and any(
        re.search(kernel, fault.kernel) and kind == fault.kind and re.search(pattern, fault.before)
        for kernel, kind, pattern, _ in HARMLESS
    )


def run_faults(tools: Path, folder: Path, name: str, faults: list[Fault]) -> None:
    """Sets the verdicts. A process that ends before its time has died of the first fault without a line."""
    kernel = KERNELS[name]
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", delete=False) as file:
        file.writelines(f"{fault.line}\t{fault.after}\n" for fault in faults)
    words = [tools / "attn-ptx-run", folder / f"{name}.ptx", f"--problem={kernel.line}", f"--kernel={kernel.name}"]
    words += [f"--magnitude={kernel.magnitudes}", "--multiprocessors=2"]
    words += [f"--size={kernel.sizes[0]}", *(f"--more-sizes={sizes}" for sizes in kernel.sizes[1:])]
    done = subprocess.run([*words, f"--faults={file.name}"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0 and not lines:
        sys.exit(f"{name}: {done.stderr}")
    for fault, verdict in zip(faults, lines, strict=False):
        fault.verdict = verdict
    if len(lines) < len(faults):
        faults[len(lines)].verdict = "finding the emulator ends"
        if faults[len(lines) + 1 :]:
            run_faults(tools, folder, name, faults[len(lines) + 1 :])


def draw(faults: list[Fault], sample: int, seed: int) -> list[Fault]:
    """So many of each class of each kernel."""
    groups = collections.defaultdict(list)
    for fault in faults:
        groups[fault.kernel, fault.kind].append(fault)
    generator = random.Random(seed)
    drawn = []
    for group in groups.values():
        drawn += group if sample == 0 or len(group) <= sample else generator.sample(group, sample)
    return drawn


OUTCOMES = ["caught", "unseen", "harmless", "same", "unreached", "invalid"]


def outcome(fault: Fault) -> str:
    """The column that the fault counts in."""
    word = re.split("[ ,]", fault.verdict)[0]
    if word in ("finding", "wrong"):
        return "caught"
    return "harmless" if word == "unseen" and is_harmless(fault) else word


def print_table(faults: list[Fault], key: Callable[[Fault], str]) -> None:
    """How many of each outcome, by the key."""
    rows = collections.defaultdict(collections.Counter)
    for fault in faults:
        rows[key(fault)][outcome(fault)] += 1
    print(f"{'':24}" + "".join(f"{name:>11}" for name in OUTCOMES))
    for name in sorted(rows):
        print(f"{name:24}" + "".join(f"{rows[name][column] or '':>11}" for column in OUTCOMES))
    print()


def main() -> int:
    """Plants, prints, and says whether enough is caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--sample", type=int, default=0, help="so many faults of each class and kernel (default: all)")
    parser.add_argument("--kernel", choices=KERNELS, action="append", help="only these (default: all)")
    parser.add_argument("--target", help="only kernels of this one (default: of sm_80 and sm_90a)")
    parser.add_argument("--kind", choices=CLASSES, action="append", help="only these classes of faults (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--least", type=float, default=0.98, help="share of the real faults that must be caught")
    parser.add_argument("--list", action="store_true", help="print every fault with its verdict")
    options = parser.parse_args()
    names = [name for name in options.kernel or KERNELS if options.target in (None, KERNELS[name].target)]
    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in names:
            words = [options.tools / "attnc", f"--problem={KERNELS[name].line}", "--emit=ptx"]
            words += [f"--target={KERNELS[name].target}"]
            subprocess.run([*words, f"--kernel={KERNELS[name].name}", "-o", folder / f"{name}.ptx"], check=True)
            found = find_faults(name, (folder / f"{name}.ptx").read_text())
            wanted = [fault for fault in found if fault.kind in (options.kind or CLASSES)]
            faults += draw(wanted, options.sample, options.seed)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            for name in names:
                own = [fault for fault in faults if fault.kernel == name]
                for i in range(0, len(own), CHUNK):
                    jobs.append(pool.submit(run_faults, options.tools, folder, name, own[i : i + CHUNK]))
            for job in jobs:
                job.result()
    for fault in faults:
        if options.list or outcome(fault) == "unseen":
            print(f"{outcome(fault)}: {fault.kernel}, line {fault.line}, {fault.kind}: {fault.verdict}")
            print(f"    {fault.before}\n    {fault.after.strip()}")
    print_table(faults, lambda fault: fault.kind)
    print_table(faults, lambda fault: fault.kernel)
    counts = collections.Counter(map(outcome, faults))
    real = counts["caught"] + counts["unseen"]
    share = counts["caught"] / max(real, 1)
    print(f"{counts['caught']} of {real} real faults caught ({share:.1%}); beside them", end=" ")
    print(", ".join(f"{counts[name]} {name}" for name in OUTCOMES[2:]))
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
