#!/usr/bin/env python3
"""Makes test/Frontends/jax and test/Frontends/torch again, from the cases of jax_*.py and torch_cases.py.

  python to_linalg.py [--numbers=FOLDER] {jax,torch} [CASE…]

Needs jax and flax, or torch, transformers and onnxscript, and iree-base-compiler[onnx], which lowers StableHLO and ONNX
to linalg. `--numbers` stores inputs and results of the framework as FOLDER/CASE.npz, and the linalg with its weights as
FOLDER/CASE.mlir, for `scripts/frontends.py --expected=FOLDER`. In test/Frontends weights of models of more than 10 kB
become splats of 0.01, so that the files stay small; scripts/frontends.py gives them random values again.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
COMPILE = ("iree-compile", "--compile-to=input", "--mlir-print-elementsattrs-with-hex-if-larger=-1")
LARGE = 10_000  # characters of a constant
COUNTS = {"decoder_layer": 2, "swin_eager": 2, "differential": 2}  # cases of more than one attention


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lower_jax(function, arguments, folder: Path) -> str:
    import jax

    source = jax.jit(function).lower(*arguments).as_text()
    path = folder / "in.mlir"
    # The algorithm of dot_general is a hint that iree-compile refuses.
    path.write_text(re.sub(r", algorithm = <[^>]*>", "", source))
    text = run(*COMPILE, "--iree-input-type=stablehlo", str(path))
    text = text.replace("util.func public", "func.func").replace("util.func private", "func.func private")
    return re.sub(r"@main\b", "@model", text.replace("util.return", "return"))


def lower_torch(module, arguments, dynamic, folder: Path) -> str:
    import torch

    program = torch.onnx.export(
        module,
        arguments,
        dynamo=True,
        opset_version=18,
        dynamic_shapes={"arguments": dynamic} if dynamic else None,
        verbose=False,
    )
    program.save(folder / "in.onnx", external_data=False)
    run("iree-import-onnx", str(folder / "in.onnx"), "-o", str(folder / "in.mlir"))
    return take_function(run(*COMPILE, str(folder / "in.mlir")))


def take_function(text: str) -> str:
    """The function on tensors inside of IREE's entry on buffer views, which waits for and signals fences."""
    start = re.search(r"  util\.func public @(\w+)\$async\((.*?)\) -> .*?\{\n", text, re.S)
    end = text.index("\n  }\n", start.end())
    body = text[start.end() : end]
    types, names = {}, {}
    for name, view, shaped in re.findall(r"(%\w+) = hal\.tensor\.import .*?(%arg\d+) .*?-> (tensor<[^>]*>)", body):
        types[view], names[name] = shaped, view
    barrier = re.search(r"(%\w+)(?::\d+)? = hal\.tensor\.barrier join\((.*?) : (.*?)\) =>", body)
    values, shapes = barrier[2].split(", "), re.findall(r"tensor<[^>]*>", barrier[3])
    of_barrier = {barrier[1] + (f"#{i}" if len(values) > 1 else ""): i for i in range(len(values))}
    exports = {a: of_barrier[b] for a, b in re.findall(r"(%\w+) = hal\.tensor\.export (%[\w#]+) ", body)}
    order = [exports[x] for x in re.search(r"util\.return (.*?) :", body)[1].split(", ")]

    dims: set[str] = set()

    def read_size(match: re.Match) -> str:
        dims.add(match[3])
        return f"{match[1]} = tensor.dim {match[2]}, %size{match[3]} : {types[match[2]]}"

    body = re.sub(r"(%\w+) = hal\.buffer_view\.dim<(%\w+) : !hal\.buffer_view>\[(\d+)\] : index", read_size, body)
    body = "\n".join(x for x in body.split("\n") if "hal." not in x and "util.return" not in x)
    names.update({result: values[i] for result, i in of_barrier.items()})
    body = re.sub(r"%\w+\b(?:#\d+)?", lambda m: names.get(m[0], m[0]), body)
    constants = "".join(f"    %size{i} = arith.constant {i} : index\n" for i in sorted(dims))
    arguments = ", ".join(
        f"{view}: {types[view]}" for view, kind in re.findall(r"(%\w+): (\S+?)(?:,|$)", start[2]) if view in types
    )
    results = ", ".join(shapes[i] for i in order)
    function = f"  func.func @model({arguments}) -> ({results}) {{\n{constants}{body}\n"
    return (
        text[: start.start()] + function + f"    return {', '.join(values[i] for i in order)} : {results}\n  }}\n}}\n"
    )


def shorten(text: str) -> str:
    """Large constants of floats, but for masks, as splats."""

    def replace(match: re.Match) -> str:
        is_mask = len(set(re.findall(r"-?\d[\w.+-]*|0x\w+", match[1]))) <= 3
        return match[0] if len(match[0]) < LARGE or is_mask else f"dense<1.000000e-02> : {match[2]}"

    return re.sub(r"dense<(\[.*?\]|\"0x\w*\")> : (tensor<[\dx]*f32>)", replace, text)


def store(path: Path, arguments, results) -> None:
    import ml_dtypes

    def convert(values):
        arrays = [np.asarray(x) for x in values]
        return [x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x for x in arrays]

    named = {f"in{i}": x for i, x in enumerate(convert(arguments))}
    np.savez(path, **named, **{f"out{i}": x for i, x in enumerate(convert(results))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=("jax", "torch"))
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--numbers", type=Path)
    options = parser.parse_args()
    if options.framework == "jax":
        import jax
        from jax_cases import CASES

        for name in ("jax_models", "jax_negatives"):
            importlib.import_module(name)  # registers its cases
        version = f"jax {jax.__version__}"
    else:
        import torch
        from torch_cases import CASES

        version = f"torch {torch.__version__.split('+')[0]}, ONNX opset 18"
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            if options.framework == "jax":
                function, arguments = CASES[name]
                text, results = lower_jax(function, arguments, Path(folder)), function(*arguments)
                arguments, results = jax.tree.leaves(arguments), jax.tree.leaves(results)
            else:
                module, arguments, dynamic = CASES[name]
                with torch.no_grad():
                    results = module(*arguments)
                results = results if isinstance(results, tuple) else (results,)
                text = lower_torch(module, arguments, dynamic, Path(folder))
        count = 0 if name.endswith("_neg") else COUNTS.get(name, 1)
        header = f"// {options.framework} case {name}; {version}; iree-base-compiler\n// attentions: {count}\n"
        is_model = type(CASES[name][0]).__name__ not in ("function", "Function")
        (ROOT / options.framework / f"{name}.mlir").write_text(header + (shorten(text) if is_model else text))
        if options.numbers:
            options.numbers.mkdir(parents=True, exist_ok=True)
            (options.numbers / f"{name}.mlir").write_text(header + text)
            store(options.numbers / f"{name}.npz", arguments, results)
        print(name, flush=True)


if __name__ == "__main__":
    main()
