#!/usr/bin/env python3
"""Plants faults in the PTX of GPU kernels, one at a time, and says how many of them attn-ptx-run sees by default.

    scripts/plant-faults.py [--sample=N] [--count=N] [--kernel=NAME] [--kind=CLASS] [--seed=N] [--list]

A fault is one line of the text that is another one: fault_classes.py says which lines, and what they become. Each is
run by `attn-ptx-run KERNEL.ptx --problem=LINE` (docs/GPU.md). It is caught where the emulator reports a finding or an
output is off. What is not caught runs once more, on other inputs: of other sizes where they are the call's, of one
magnitude after the other, and of another seed. That says whether it is a fault:

  invalid    it is no PTX any more, or of instructions that are not emulated: nothing was planted
  unreached  no input of either run executes the line
  same       every thread writes the same bits to the same places of shared and global memory, and none is reported,
             on every input of both runs: an equivalent kernel, as far as inputs can tell
  output     something else is written on the way, but each launch leaves the same bits in global memory, on every input
             of both runs: rows of a tile that no query has, rows of removed keys
  unseen     a real fault that the default does not see

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

from fault_classes import CLASSES, Fault, find_faults, join_lines

ROOT = Path(__file__).resolve().parents[1]
CHUNK = 40  # faults a process


@dataclass
class Kernel:
    """A problem, sizes that the default run is given, and other ones: one and two beyond a multiple, few."""

    line: str
    size: str = ""
    more: tuple[str, ...] = ()
    name: str = "sdpa"  # of what the problem makes
    magnitudes: str = "1,8,128,2147483648"
    target: str = "sm_80"


# Gradients of scores of hundreds are those of few keys.
BACKWARD = {"name": "sdpa_backward", "magnitudes": "1,4"}
HOPPER = {"magnitudes": "1,128,2147483648", "target": "sm_90a"}
KERNELS = {
    "causal": Kernel(
        "b1 hq2 sq? sk? d64 bf16 causal=bottom_right", more=("sq=66,sk=129", "sq=34,sk=24", "sq=32,sk=96")
    ),
    "full": Kernel("b1 hq1 sq? sk? d40 f16 out=lse", more=("sq=33,sk=65", "sq=64,sk=32", "sq=1,sk=1")),
    "window": Kernel("b1 hq2 sq113 sk203 d64 f16 window=31,9 align=bottom_right out=lse"),
    "chunk": Kernel("b2 hq1 sq65 sk130 d64 bf16 chunk=16 align=offset softcap=20"),
    "bias": Kernel("b2 hq2 hkv1 sq33 sk130 d64 bf16 bias=1,2,33,130 mask=2,1,1,130 dropout=0.1"),
    "split": Kernel("b2 hq4 hkv1 sq1 sk? d64 bf16", more=("sk=1100", "sk=70", "sk=64")),
    "split lse": Kernel("b1 hq4 hkv1 sq1 sk1600 d64 f16 out=lse"),
    "decode": Kernel("b3 hq4 hkv2 sq1 sk203 d64 bf16 kv_lengths"),
    "paged": Kernel(
        "b8 hq4 hkv2 sq5 sk? d64 bf16 kv_lengths paged=16 causal=bottom_right",
        "pages=81,max_pages=9",
        ("pages=40,max_pages=4",),
    ),
    "dropout lengths": Kernel("b1 hq4 hkv2 sq33 sk65 d64 f16 dropout=0.25 kv_lengths"),
    "fp8": Kernel("b1 hq2 sq? sk? d64 bf16 kv=fp8 kvscale=token", more=("sq=33,sk=65", "sq=64,sk=32")),
    "int8 decode": Kernel("b2 hq4 hkv2 sq1 sk203 d128 bf16 kv=int8 kvscale=head"),
    "lengths": Kernel("b3 hq2 sq? sk? d64 bf16 q_lengths kv_lengths sink", more=("sq=33,sk=65", "sq=64,sk=32")),
    "varlen": Kernel(
        "b3 hq2 sq? sk? d64 bf16 layout=varlen causal=bottom_right", more=("sq=150,sk=200", "sq=34,sk=24")
    ),
    "bshd": Kernel("b2 hq4 hkv2 sq33 sk65 d64 f16 layout=bshd causal=bottom_right out=lse"),
    "f32": Kernel("b1 hq1 sq? sk? d32 f32 window=9, align=bottom_right", more=("sq=17,sk=33", "sq=18,sk=34")),
    "backward": Kernel(
        "b1 hq2 hkv1 sq? sk? d64 bf16 causal=bottom_right grad=q,k,v",
        more=("sq=130,sk=66", "sq=34,sk=24"),
        **BACKWARD,
    ),
    "backward varlen": Kernel(
        "b3 hq4 hkv2 sq? sk? d64 bf16 layout=varlen causal=offset grad=q,k,v",
        more=("sq=67,sk=131",),
        **BACKWARD,
    ),
    "backward bias": Kernel("b2 hq2 sq40 sk70 d64 bf16 bias=1,1,40,70 dropout=0.2 softcap=20 grad=q,k,v", **BACKWARD),
    # With a producer: a block has two tiles, and the last tile few queries. Few keys show how weights are rounded.
    "wgmma": Kernel("b1 hq4 sq? sk? d64 bf16", more=("sq=257,sk=300", "sq=65,sk=128", "sq=34,sk=44"), **HOPPER),
    "wgmma causal": Kernel(
        "b1 hq2 sq? sk? d40 f16 causal=bottom_right", more=("sq=257,sk=300", "sq=66,sk=129"), **HOPPER
    ),
    # Threads copy K and V, which are converted.
    "wgmma fp8": Kernel("b1 hq1 sq? sk? d64 bf16 kv=fp8", more=("sq=65,sk=130", "sq=34,sk=64"), **HOPPER),
    "wgmma lengths": Kernel("b3 hq2 sq150 sk256 d64 bf16 kv_lengths q_lengths", **HOPPER),
    "wgmma varlen": Kernel("b3 hq2 sq150 sk200 d64 f16 layout=varlen causal=bottom_right", **HOPPER),
    # Two groups of warps with the same rows, split keys.
    "wgmma latent": Kernel("b2 hq40 hkv1 sq1 sk600 d64 dv384 bf16 kv_lengths out=lse", **HOPPER),
    # Rotated, queries without keys; sums alone.
    "wgmma backward": Kernel(
        "b1 hq2 hkv1 sq300 sk250 d64 bf16 causal=bottom_right grad=q,k,v", **BACKWARD | {"target": "sm_90a"}
    ),
    "wgmma backward lengths": Kernel(
        "b2 hq1 sq150 sk200 d128 bf16 q_lengths kv_lengths grad=q,k,v", **BACKWARD | {"target": "sm_90a"}
    ),
}


def run_faults(tools: Path, folder: Path, name: str, faults: list[Fault], more: bool) -> list[str]:
    """The verdicts of the default, or on more inputs.

    A process that ends before its time has died of the first fault without a line.
    """
    kernel = KERNELS[name]
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", delete=False) as file:
        file.writelines(f"{fault.line}\t{fault.after}\n" for fault in faults)
    words = [tools / "attn-ptx-run", folder / f"{name}.ptx", f"--problem={kernel.line}", f"--kernel={kernel.name}"]
    words += [f"--size={kernel.size}"] if kernel.size else []
    if more:
        words += [f"--more-sizes={sizes}" for sizes in kernel.more]
        words += [f"--magnitude={kernel.magnitudes}", "--seed=1", "--multiprocessors=2"]
    done = subprocess.run([*words, f"--faults={file.name}"], capture_output=True, text=True, check=False)
    verdicts = done.stdout.splitlines()
    if done.returncode != 0 and not verdicts:
        sys.exit(f"{name}: {done.stderr}")
    if len(verdicts) < len(faults):
        verdicts.append("finding the emulator ends")
    rest = faults[len(verdicts) :]
    return verdicts + (run_faults(tools, folder, name, rest, more) if rest else [])


def is_caught(verdict: str) -> bool:
    """By a finding, or by an output."""
    return verdict.startswith(("finding", "wrong"))


def judge_faults(tools: Path, folder: Path, name: str, faults: list[Fault]) -> None:
    """Sets the verdicts."""
    for fault, verdict in zip(faults, run_faults(tools, folder, name, faults, more=False), strict=True):
        fault.verdict = verdict
    left = [fault for fault in faults if not is_caught(fault.verdict) and fault.verdict != "invalid"]
    # What says more of a fault, last.
    order = ["unreached", "same", "unseen, same bits", "unseen"]
    for fault, verdict in zip(left, run_faults(tools, folder, name, left, more=True) if left else [], strict=True):
        if is_caught(verdict):
            fault.verdict = f"unseen; on more inputs: {verdict}"
        elif verdict in order:
            fault.verdict = max(fault.verdict, verdict, key=order.index)


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


OUTCOMES = ["caught", "unseen", "output", "same", "unreached", "invalid"]


def outcome(fault: Fault) -> str:
    """The column that the fault counts in."""
    if is_caught(fault.verdict):
        return "caught"
    return "output" if fault.verdict == "unseen, same bits" else re.split("[ ,;]", fault.verdict)[0]


def print_table(faults: list[Fault], key: Callable[[Fault], str]) -> None:
    """How many of each outcome, by the key."""
    rows = collections.defaultdict(collections.Counter)
    for fault in faults:
        rows[key(fault)][outcome(fault)] += 1
    print(f"{'':28}{'planted':>10}" + "".join(f"{name:>10}" for name in OUTCOMES))
    for name in sorted(rows):
        planted = rows[name].total() - rows[name]["invalid"]
        print(f"{name:28}{planted:>10}" + "".join(f"{rows[name][column] or '':>10}" for column in OUTCOMES))
    print()


def main() -> int:
    """Plants, prints, and says whether enough is caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--sample", type=int, default=0, help="so many faults of each class and kernel (default: all)")
    parser.add_argument("--count", type=int, default=0, help="of these, so many of each kernel (default: all)")
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
            text = join_lines((folder / f"{name}.ptx").read_text())
            (folder / f"{name}.ptx").write_text(text)
            found = find_faults(name, text)
            wanted = [fault for fault in found if fault.kind in (options.kind or CLASSES)]
            drawn = draw(wanted, options.sample, options.seed)
            count = min(options.count or len(drawn), len(drawn))
            faults += random.Random(options.seed).sample(drawn, count) if count < len(drawn) else drawn
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            for name in names:
                own = [fault for fault in faults if fault.kernel == name]
                for i in range(0, len(own), CHUNK):
                    jobs.append(pool.submit(judge_faults, options.tools, folder, name, own[i : i + CHUNK]))
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
