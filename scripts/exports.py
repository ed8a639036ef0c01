#!/usr/bin/env python3
"""Exports small transformers to ONNX, compiles them whole, and compares them with ONNX Runtime.

  scripts/exports.py                       all models of dynamic sizes: 18, 23 and TorchScript
  scripts/exports.py --sizes=fixed         the same with the sizes of one call; --sizes=both: one after the other
  scripts/exports.py NAME…                 models whose names begin so
  scripts/exports.py --keep=FOLDER         the .onnx files, which a later run takes from there

Runs where torch, transformers, onnx, onnxscript, onnxruntime and NumPy can be imported. Each is a small configuration
of random weights, exported by torch.onnx.export with dynamo=True (opset 18, in which attention is decomposed, and 23,
which has Attention nodes) and with dynamo=False. Each kernel of a whole graph runs at three sizes of batch and
sequence, or of images.

The table has a line a model: attentions in one kernel, the largest difference, or what stops it. The last line is
`N of M compiled whole, A of B attentions fused, W wrong, C crashed`; the exit status is 1 where W or C is not 0.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from export_models import MODELS, MORE, SPREAD, WIDE, Model
from onnx_values import count_attentions, evaluate, get_difference, get_functions, is_near

ROOT = Path(__file__).resolve().parents[1]
EXPORTERS = {"18": {"opset_version": 18, "dynamo": True}, "23": {"opset_version": 23, "dynamo": True},
             "ts": {"opset_version": 17, "dynamo": False}}  # fmt: skip
LONGEST = 60  # sequence that an open length stands for
SIZES_OF_CALLS = [(2, 17), (1, 6), (3, 24)]  # batch, sequence; the first is that of the export
TIMEOUT_S = 400
SCALE = 0.12  # of weights: attention is far from uniform


@dataclass
class Outcome:
    """What became of an export."""

    name: str
    attentions: int = 0
    fused: int = 0
    error: float = 0.0
    problem: str = ""  # a wrong number
    crash: str = ""
    refusals: list[str] = field(default_factory=list)  # what stops the whole graph
    failure: str = ""  # of the exporter

    def __str__(self) -> str:
        """A line of the report."""
        status = self.failure or self.crash or self.problem or "; ".join(self.refusals)
        return f"{self.name:26} {self.fused} of {self.attentions} fused  {status or f'largest error {self.error:.1e}'}"


def make_arrays(model: Model, call: int) -> dict[str, np.ndarray]:
    """The inputs of a call."""
    return model.inputs(np.random.default_rng(call), *SIZES_OF_CALLS[call])


def export(model: Model, exporter: str, dynamic: bool, path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes the model, traced with these inputs."""
    import torch
    import transformers

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    configuration = getattr(transformers, model.config)(**SPREAD | model.options)
    torch.manual_seed(0)
    whole = getattr(transformers, model.model)._from_config(configuration, attn_implementation=model.attention).eval()
    with torch.no_grad():
        for x in whole.parameters():
            x.copy_(torch.randn_like(x) * SCALE if x.dim() > 1 else x + 0.02 * torch.randn_like(x))
    part = getattr(whole, model.part) if model.part else whole

    class Call(torch.nn.Module):
        """The part with arguments in one order and one result."""

        def __init__(self) -> None:
            super().__init__()
            self.part = part

        def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
            named = dict(zip(names, arguments, strict=True))
            return getattr(self.part(**named, **model.keywords), model.result)

    names = list(arrays)
    arguments = tuple(torch.from_numpy(x) for x in arrays.values())
    is_text = [x.dtype == np.int64 for x in arrays.values()]
    options: dict[str, Any] = dict(EXPORTERS[exporter], input_names=names, output_names=["result"])
    if options["dynamo"]:
        options |= {"external_data": False, "verbose": False, "optimize": True}
        if dynamic:
            longest = max(LONGEST, *(x.shape[-1] for x in arrays.values()))
            batch, length = torch.export.Dim("batch", max=64), torch.export.Dim("length", min=2, max=longest)
            options["dynamic_shapes"] = (tuple({0: batch, 1: length} if x else {0: batch} for x in is_text),)
    elif dynamic:
        axes = {n: {0: "batch", 1: "length"} if x else {0: "batch"} for n, x in zip(names, is_text, strict=True)}
        options["dynamic_axes"] = axes
    torch.onnx.export(Call().eval(), arguments, str(path), **options)


def count_held(model: onnx.ModelProto) -> int:
    """Attentions of a model: Attention nodes, and softmaxes."""
    return sum(x.op_type in ("Attention", "Softmax") for x in model.graph.node)


def get_refusals(text: str, path: Path) -> list[str]:
    """What attnc says of the nodes that stop the whole graph; without places."""
    lines = [x for x in text.splitlines() if "not covered" in x or "more node" in x or "error" in x]
    lines = [re.sub(r"^.*?(node '[^']*': |error: )", "", x.replace(f"{path}: ", "")) for x in lines]
    return [x.split(" [")[0].split("; write")[0] for x in lines] or ["no whole graph"]


def check(attnc: Path, path: Path, model: Model, dynamic: bool, outcome: Outcome) -> None:
    """Compiles the file and compares at each size."""
    proto = onnx.load(path)
    outcome.attentions = count_held(proto)
    done = subprocess.run([attnc, path, "--emit=mlir", "--stop-after=canonicalize", "--remarks=all", "-o", "-"],
                          capture_output=True, text=True, timeout=TIMEOUT_S)  # fmt: skip
    if done.returncode < 0 or done.returncode > 1:
        outcome.crash = f"attnc: exit status {done.returncode}"
        return
    graph = [body for name, _, body in get_functions(done.stdout) if name in (proto.graph.name, "main_graph")]
    if done.returncode or not graph:
        outcome.refusals = get_refusals(done.stderr, path)
        return
    outcome.fused = min(count_attentions(graph[0]), outcome.attentions)
    import attn

    kernel = attn.from_onnx(path, proto.graph.name, cache=False)
    names = [x.name for x in proto.graph.input]
    for call in range(len(SIZES_OF_CALLS) if dynamic else 1):
        arrays = {name: x for name, x in make_arrays(model, call).items() if name in names}
        (expected,) = evaluate(proto, arrays, ["result"])
        found = kernel.kernel(*(arrays[x] for x in names))
        difference = get_difference(found, expected)
        outcome.error = max(outcome.error, difference)
        if not is_near(difference, found):
            outcome.problem = f"WRONG: differs by {difference:.1e} at {SIZES_OF_CALLS[call]}"
            return


def work(options: argparse.Namespace, model: Model, exporter: str, dynamic: bool) -> Outcome:
    """Of one export, in this process."""
    outcome = Outcome(f"{model.name}.{exporter}{'' if dynamic else '.fixed'}")
    path = options.keep / f"{outcome.name}.onnx"
    if not path.exists():
        try:
            export(model, exporter, dynamic, path, make_arrays(model, 0))
        except Exception as failure:
            path.unlink(missing_ok=True)
            outcome.failure = f"not exported: {type(failure).__name__}: {str(failure).strip().splitlines()[0]}"
            return outcome
    try:
        check(options.tools / "attnc", path, model, dynamic, outcome)
    except Exception as failure:
        outcome.refusals = [f"{type(failure).__name__}: {str(failure).strip().splitlines()[0]}"]
    return outcome


def start(options: argparse.Namespace, name: str) -> Outcome:
    """Of one export, in a process of its own, which may end in any way."""
    command = [sys.executable, __file__, f"--one={name}", f"--keep={options.keep}", f"--tools={options.tools}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Outcome(name, crash=f"CRASHED: no end in {2 * TIMEOUT_S} s")
    lines = done.stdout.splitlines()
    if done.returncode or not lines or not lines[-1].startswith("{"):
        return Outcome(name, crash=f"CRASHED: exit status {done.returncode}: {done.stderr.strip()[-200:]!r}")
    return Outcome(**json.loads(lines[-1]))


def print_end(outcomes: list[Outcome]) -> bool:
    """What stops the models, how many each, and the counts; True where nothing is wrong."""
    stops = Counter(reason for x in outcomes for reason in set(x.refusals))
    for reason, count in stops.most_common():
        print(f"  {count:3} {reason}")
    exported = [x for x in outcomes if not x.failure]
    wrong, crashed = sum(bool(x.problem) for x in exported), sum(bool(x.crash) for x in exported)
    whole = sum(not (x.refusals or x.crash) for x in exported)
    print(
        f"{whole} of {len(exported)} compiled whole, {sum(x.fused for x in exported)} of "
        f"{sum(x.attentions for x in exported)} attentions fused, {wrong} wrong, {crashed} crashed"
    )
    return not (wrong or crashed)


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models, or how they begin")
    parser.add_argument("--sizes", choices=("dynamic", "fixed", "both"), default="dynamic")
    parser.add_argument("--exporters", default=",".join(EXPORTERS), help="some of 18, 23, ts, with commas")
    parser.add_argument("--more", action="store_true", help="further models too")
    parser.add_argument("--wide", action="store_true", help="architectures beyond these, alone unless --more is given")
    parser.add_argument("--keep", type=Path, help="folder of the .onnx files")
    parser.add_argument("--tools", type=Path, default=ROOT / "build/release/bin", help="folder of attnc")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    kinds = {"dynamic": [""], "fixed": [".fixed"], "both": ["", ".fixed"]}[options.sizes]
    if options.one:
        name, exporter, *fixed = options.one.split(".")
        outcome = work(options, next(x for x in MODELS + MORE + WIDE if x.name == name), exporter, not fixed)
        print(json.dumps(outcome.__dict__))
        return
    offered = MODELS * (not options.wide) + MORE * options.more + WIDE * options.wide
    offered = MODELS + MORE + WIDE if options.names else offered
    chosen = [x.name for x in offered if not options.names or x.name.startswith(tuple(options.names))]
    if not chosen:
        parser.error(
            f"expected some of {', '.join(x.name for x in MODELS + MORE + WIDE)}, found {' '.join(options.names)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        options.keep = options.keep or Path(folder)
        options.keep.mkdir(parents=True, exist_ok=True)
        outcomes = []
        for name in [f"{x}.{y}{z}" for z in kinds for x in chosen for y in options.exporters.split(",")]:
            outcomes.append(start(options, name))
            print(outcomes[-1], flush=True)
    sys.exit(not print_end(outcomes))


if __name__ == "__main__":
    main()
