#!/usr/bin/env python3
"""Compiles ONNX models and compares them with ONNX Runtime.

  scripts/onnx_models.py FILE|FOLDER…      .onnx and .onnx.gz

Each kernel is run on random inputs: the graph's against the model's outputs, those of Attention nodes and of parts
against the values that ONNX Runtime has there. Where onnxruntime is not installed, onnx.reference is asked instead,
which has no com.microsoft. Weights of floats get random values first: equal ones would hide a wrong mask or a wrong
head. Attention kernels are those with an attn.sdpa of a node, or with a chain that attn-raise has found.

The last line is `X of Y models compiled, Z attention kernels, W wrong`; the exit status is 1 where W is not 0.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx_values import count_attentions, evaluate, get_difference, get_functions, is_near

ROOT = Path(__file__).resolve().parents[1]
DEVIATION = 0.12  # of weights: scores stay near 1
FEWEST_WEIGHTS = 16  # elements; constants of fewer are scales and the like
SYMBOL = 24  # the size that stands for each symbol
LARGEST_TOKEN = 50


@dataclass
class Outcome:
    """What became of a model."""

    name: str
    kernels: int = 0
    attentions: int = 0
    error: float = 0.0
    problem: str = ""
    refusal: str = ""

    def __str__(self) -> str:
        """A line of the report."""
        status = self.refusal or self.problem or f"largest error {self.error:.1e}"
        return f"{self.name:36} {self.kernels} kernels, {self.attentions} with attention  {status}"


def randomize(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Replaces weights, but for masks."""
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype.kind != "f" or values.size < FEWEST_WEIGHTS or values.min() < -1e4:
            continue
        center = float((values == 1).all())  # scales of normalisations
        drawn = center + DEVIATION * rng.standard_normal(values.shape)
        tensor.CopyFrom(numpy_helper.from_array(drawn.astype(values.dtype), tensor.name))


def draw(model: onnx.ModelProto, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Inputs of the graph. Integers of rank 2 are tokens, or a mask of 0 and 1 behind them."""
    weights = {x.name for x in model.graph.initializer}
    arrays: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        kind = value.type.tensor_type
        shape = [x.dim_value if x.HasField("dim_value") else SYMBOL for x in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind == "f":
            arrays[value.name] = rng.standard_normal(shape).astype(dtype)
            continue
        is_mask = dtype.kind == "b" or any(x.dtype.kind == "i" for x in arrays.values())
        arrays[value.name] = rng.integers(0, 2 if is_mask else LARGEST_TOKEN, shape).astype(dtype)
        arrays[value.name][..., :1] = 1
    return arrays


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs `command` whatever its exit status is."""
    return subprocess.run([str(x) for x in command], capture_output=True, text=True)


def get_error(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says what went wrong."""
    return next((x for x in done.stderr.splitlines() if "error" in x), f"exit status {done.returncode}")


def get_operands(model: onnx.ModelProto, kernel: str, inputs: list[str], outputs: list[str]) -> list[list[str]]:
    """The values of the model that a kernel's arguments are."""
    for node in model.graph.node:
        if re.sub(r"\W", "_", node.name) == kernel and node.op_type == "Attention":
            return [[x for x in node.input if x], [x for x in node.output if x]]
        if re.sub(r"\W", "_", node.name) == kernel and node.domain == "com.microsoft":
            return [list(node.input[:3]), list(node.output[:1])]
    values = [x for node in model.graph.node for x in (*node.input, *node.output)]
    by_name = {re.sub(r"\W", "_", x): x for x in (*values, *(y.name for y in model.graph.input))}
    return [[by_name[x] for x in inputs], [by_name[x] for x in outputs]]


def compare(
    attnc: Path, path: Path, kernel: str, operands: list[list[str]], values: dict[str, np.ndarray]
) -> tuple[float, str]:
    """The largest error of a kernel's outputs, and what is wrong with them; empty where nothing is."""
    inputs, outputs = operands
    folder = path.parent
    for i, name in enumerate(inputs):
        np.save(folder / f"in{i}.npy", values[name])
    files = [f"--input={folder}/in{i}.npy" for i in range(len(inputs))]
    files += [f"--output={folder}/out{i}.npy" for i in range(len(outputs))]
    done = run(attnc, "run", path, f"--kernel={kernel}", *files)
    if done.returncode:
        return 0.0, get_error(done)
    largest = 0.0
    for i, name in enumerate(outputs):
        found = np.load(folder / f"out{i}.npy")
        error = get_difference(found, values[name])
        largest = max(largest, error)
        if not is_near(error, found):
            return largest, f"{kernel}: {name} differs by {error:.1e} of its largest element"
    return largest, ""


def check(attnc: Path, path: Path) -> Outcome:
    """Compiles a model and compares its kernels."""
    outcome = Outcome(path.name)
    rng = np.random.default_rng(0)
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rb") as file, tempfile.TemporaryDirectory() as folder:
        model = onnx.ModelProto.FromString(file.read())
        randomize(model, rng)
        copy = Path(folder) / "model.onnx"
        onnx.save(model, copy)
        raised = run(attnc, copy, "--emit=mlir", "--stop-after=canonicalize", "-o", "-")
        if raised.returncode:
            outcome.refusal = get_error(raised)
            return outcome
        arrays = draw(model, rng)
        for kernel, arguments, body in get_functions(raised.stdout):
            outcome.kernels += 1
            outcome.attentions += count_attentions(body) > 0
            pairs = re.findall(r'name = "(\w+)", output = (\w+)', arguments)
            inputs, outputs = ([x for x, y in pairs if y == kind] for kind in ("false", "true"))
            operands = get_operands(model, kernel, inputs, outputs)
            names = [x for x in dict.fromkeys([*operands[0], *operands[1]]) if x not in arrays]
            values = arrays | dict(zip(names, evaluate(model, arrays, names), strict=True))
            error, problem = compare(attnc, copy, kernel, operands, values)
            outcome.error = max(outcome.error, error)
            outcome.problem = outcome.problem or problem
    return outcome


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tools", type=Path, default=ROOT / "build/release/bin", help="folder of attnc")
    options = parser.parse_args()
    files = [x for path in options.files for x in (sorted(path.glob("*.onnx*")) if path.is_dir() else [path])]
    outcomes = []
    for path in files:
        outcomes.append(check(options.tools / "attnc", path))
        print(outcomes[-1], flush=True)
    compiled = sum(not x.refusal for x in outcomes)
    attentions, wrong = sum(x.attentions for x in outcomes), sum(bool(x.problem) for x in outcomes)
    print(f"{compiled} of {len(outcomes)} models compiled, {attentions} attention kernels, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
