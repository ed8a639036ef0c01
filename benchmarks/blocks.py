#!/usr/bin/env python3
"""Times transformer blocks through attn beside the same blocks in PyTorch eager, torch.compile and ONNX Runtime.

  . build/peers/bin/activate                                  # of setup_peers.sh
  PYTHONPATH=python:test/Frontends/generate python benchmarks/blocks.py [--threads=1,2] [--rows=128,512,2048]

Blocks of PyTorch (block_models.py) are modules that torch.onnx.export writes and attn.from_onnx compiles as whole
graphs; ONNX Runtime takes the same file. With --jax, blocks of JAX (block_functions.py), which iree-base-compiler
lowers to linalg, beside PyTorch eager. Results must agree. In the same rounds two parts of blocks of PyTorch are timed
alone: the products with weights, and attention with its RoPE. --frozen adds torch.compile with constant weights, which
inductor packs for a library.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import torch
from block_models import COLUMNS, HIDDEN, Llama, Products, Vit
from torch import nn

import attn

OPSET = 23  # the first with Attention
TOLERANCE = 2e-4
# Idle threads of an OpenMP library spin for so many seconds (libomp: 0.2), and would take the other's processors.
REST = 0.25
TORCH_BLOCKS = {"ViT-B-like": Vit, "Llama-like": Llama}
Call = Callable[[], object]
Times = dict[str, list[float]]


class Work(NamedTuple):
    """What is timed: a block or a part of one.

    Attributes:
      name: as the table has it.
      make: number of threads → the systems' calls by name, attn's first.
      flops: of its products with weights.
      seconds: what attn took to compile it.
    """

    name: str
    make: Callable[[int], dict[str, Call]]
    flops: float
    seconds: float


def draw(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Normal numbers."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def check(found: Any, expected: Any) -> None:
    """Raises AssertionError where results differ."""
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=TOLERANCE)


def start_runtime(model: bytes, arrays: list[np.ndarray], threads: int) -> Call:
    """A session of ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {node.name: array for node, array in zip(session.get_inputs(), arrays, strict=True)}
    return lambda: session.run(None, feeds)


def compile_torch(module: nn.Module, tensors: list[torch.Tensor], freezing: bool) -> Call:
    """Code of inductor."""
    with torch._inductor.config.patch(freezing=freezing):
        torch._dynamo.reset()
        compiled = torch.compile(module)
        compiled(*tensors)
    return lambda: compiled(*tensors)


def export(name: str, module: nn.Module, shapes: list[tuple[int, ...]], peers: list[str]) -> Work:
    """A module through ONNX, as one kernel of the whole graph."""
    arrays = draw(*shapes)
    tensors = [*map(torch.from_numpy, arrays)]
    program = torch.onnx.export(module.eval(), tuple(tensors), dynamo=True, opset_version=OPSET, verbose=False)
    model = program.model_proto
    begin = time.perf_counter()
    kernel = attn.from_onnx(model, model.graph.name, fail_on_fallback=True, cache=False)
    seconds = time.perf_counter() - begin
    expected = module(*tensors)
    check(kernel(*arrays), expected)

    def make(threads: int) -> dict[str, Call]:
        makers: dict[str, Callable[[], Call]] = {
            "PyTorch": lambda: lambda: module(*tensors),
            "torch.compile": lambda: compile_torch(module, tensors, freezing=False),
            "torch.compile, frozen": lambda: compile_torch(module, tensors, freezing=True),
            "ONNX Runtime": lambda: start_runtime(model.SerializeToString(), arrays, threads),
        }
        return {"attn": lambda: kernel(*arrays)} | {peer: makers[peer]() for peer in peers}

    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    flops = 2 * shapes[0][1] * sum(layer.in_features * layer.out_features for layer in layers)
    return Work(name, make, flops, seconds)


def make_torch(name: str, rows: int, peers: list[str], with_parts: bool) -> list[Work]:
    """A block of PyTorch, its products and its attention."""
    torch.manual_seed(0)
    block = TORCH_BLOCKS[name](rows)
    columns = block.k.out_features
    works = [export(f"{name}, {rows} rows", block, [(1, rows, COLUMNS)], peers)]
    if with_parts:
        qkv = [(1, rows, COLUMNS), (1, rows, columns), (1, rows, columns)]
        works.append(export("products", Products(block), [(1, rows, COLUMNS), (1, rows, HIDDEN)], peers[:1]))
        works.append(export("attention", block.attention, qkv, peers[:1]))
    return works


def make_jax(rows: int) -> Iterator[list[Work]]:
    """The blocks of JAX, their weights as arguments."""
    try:
        from block_functions import JAX_BLOCKS
        from to_linalg import lower_jax
    except ImportError as error:
        raise SystemExit(f"error: --jax: expected jax, and iree-base-compiler, which lowers it: {error}") from None
    for name, (of_jax, of_torch, shapes) in JAX_BLOCKS.items():
        x, *weights = draw((rows, COLUMNS), *shapes)
        arrays = [x, *(w * np.float32(w.shape[0] ** -0.5) for w in weights)]
        with tempfile.TemporaryDirectory() as folder:
            text = lower_jax(of_jax, arrays, Path(folder))
        begin = time.perf_counter()
        kernel = attn.compile(text, fail_on_fallback=True, cache=False)
        seconds = time.perf_counter() - begin
        tensors = [*map(torch.from_numpy, arrays)]
        check(kernel(*arrays), of_torch(*tensors))
        calls = {"attn": lambda k=kernel, a=arrays: k(*a), "PyTorch": lambda f=of_torch, t=tensors: f(*t)}
        flops = 2 * rows * sum(a * b for a, b in shapes)
        yield [Work(f"{name}, {rows} rows", lambda _, c=calls: c, flops, seconds)]


def run_rounds(works: list[Work], threads: int, rounds: int, seconds: float) -> list[Times]:
    """Milliseconds by system of each work. A turn is an untimed call and a timed one; rounds end after `seconds`."""
    attn.set_num_threads(threads)
    torch.set_num_threads(threads)
    calls = [work.make(threads) for work in works]
    times: list[Times] = [{name: [] for name in systems} for systems in calls]
    first = time.perf_counter()
    for _ in range(rounds):
        for systems, found in zip(calls, times, strict=True):
            for name, call in systems.items():
                time.sleep(REST if threads > 1 else 0)
                call()
                begin = time.perf_counter()
                call()
                found[name].append((time.perf_counter() - begin) * 1e3)
        if time.perf_counter() - first > seconds:
            break
    return times


def describe(times: list[float]) -> str:
    """The best and the median."""
    return f"{min(times):.1f} / {statistics.median(times):.1f} ms"


def describe_shares(block: list[float], products: list[float], attention: list[float]) -> str:
    """What the parts take of a block's time, by the best of each."""
    parts = [min(products) / min(block), min(attention) / min(block)]
    shares = [f"{share:.0%}".replace("%", " %") for share in (*parts, 1 - sum(parts))]
    return f"{shares[0]} products with weights, {shares[1]} attention, {shares[2]} the rest"


def parse_options() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default="128,512,2048")
    parser.add_argument("--blocks", default=",".join(TORCH_BLOCKS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=20, help="no further round of a line after so many")
    parser.add_argument("--parts", action=argparse.BooleanOptionalAction, default=True, help="time parts alone, too")
    parser.add_argument("--frozen", action="store_true", help="torch.compile with constant weights, too")
    parser.add_argument("--jax", action="store_true", help="blocks of JAX, too")
    return parser.parse_args()


def main() -> None:
    """Prints the table with its notes."""
    options = parse_options()
    load = os.getloadavg()[0]
    peers = ["PyTorch", "torch.compile", "ONNX Runtime", *(["torch.compile, frozen"] if options.frozen else [])]
    notes = [f"Versions: torch {torch.__version__}, onnxruntime {onnxruntime.__version__}."]
    print(f"| block | threads | attn best / median | {' | '.join(f'{peer} ÷ attn' for peer in peers)} |")
    print("| --- " * (3 + len(peers)) + "|")

    def report(works: list[Work]) -> None:
        notes.append(f"{works[0].name}: attn compiles it in {works[0].seconds:.1f} s.")
        for threads in map(int, options.threads.split(",")):
            times = run_rounds(works, threads, options.rounds, options.seconds)
            ours = times[0].pop("attn")
            cells = [works[0].name, str(threads), describe(ours)]
            cells += [f"{min(times[0][peer]) / min(ours):.2f} ×" if peer in times[0] else "–" for peer in peers]
            print(f"| {' | '.join(cells)} |", flush=True)
            of_block = {"attn": ours} | times[0]
            for system in ("attn", "PyTorch") if len(times) > 1 else ():
                parts = [of_part[system] for of_part in times[1:]]
                rate = works[1].flops / min(parts[0]) * 1e-6
                shares = describe_shares(of_block[system], *parts)
                notes.append(f"{works[0].name}, --threads={threads}, {system}: {shares}; products {rate:.0f} GFLOP/s.")

    with torch.no_grad():
        for rows in map(int, options.rows.split(",")):
            for name in options.blocks.split(","):
                report(make_torch(name, rows, peers, options.parts))
            if options.jax:
                for works in make_jax(rows):
                    report(works)
    notes.append(f"Load average before {load:.1f}, after {os.getloadavg()[0]:.1f}.")
    print("\n" + "\n".join(f"* {note}" for note in notes))


if __name__ == "__main__":
    main()
