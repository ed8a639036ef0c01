"""The process of one system: reads a command a line on standard input, answers with a line of JSON.

Systems have thread pools of their own, which fight for the processors when they are in one process; so each is in one
of its own, on the processors that it was started on, and the parent says whose turn it is.

    prepare FOLDER LINE    loads the inputs of a problem, calls once and writes FOLDER/NAME.npy
    turn SECONDS           calls for so long or once, where calls are shorter than that once untimed before; the times
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from peers import MODULES, Inputs, Peer, UnsupportedError
from peers.problem import INPUT_NAMES, num_copies, numpy_type, parse

# What PyTorch and JAX align their own tensors to. NumPy's are aligned to 16 bytes: there every load of 64 bytes takes
# two lines of the cache.
ALIGNMENT = 64
# What systems that have a switch are told, beside what CPUID tells all of them (rounds.hide_instructions).
AVX2_SWITCHES = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Rotation:
    """Calls on copies of the inputs in turn."""

    def __init__(self, calls: list[Callable[[], Any]], copies: list[Inputs]) -> None:
        """Starts at the first; the copies live as long as the calls, which may hold bare addresses."""
        self.calls, self.copies = calls, copies
        self.place = 0
        self.seconds = 0.0

    def call(self) -> Any:
        """What the next call returns; `seconds` is how long it took."""
        call = self.calls[self.place % len(self.calls)]
        self.place += 1
        start = time.perf_counter()
        result = call()
        self.seconds = time.perf_counter() - start
        return result


def load_inputs(folder: Path, dtype: str) -> dict[str, np.ndarray]:
    """The inputs that the parent wrote; bfloat16 lies there as its bits."""
    paths = {name: folder / "inputs" / f"{name}.npy" for name in INPUT_NAMES}
    inputs = {name: np.load(path) for name, path in paths.items() if path.exists()}
    return {name: x.view(numpy_type(dtype)) if x.dtype == np.uint16 else x for name, x in inputs.items()}


def align(x: np.ndarray) -> np.ndarray:
    """A copy that starts at a multiple of ALIGNMENT."""
    memory = np.empty(x.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    copy = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


def prepare(peer: Peer, name: str, folder: Path, line: str) -> Rotation:
    """Makes the calls of a problem and writes what the first returns."""
    problem = parse(line)
    inputs = load_inputs(folder, problem.dtype)
    copies = [{n: align(x) for n, x in inputs.items()} for _ in range(num_copies(problem, inputs))]
    calls = [peer.prepare(problem, copy) for copy in copies]
    rotation = Rotation(calls, copies)
    result = peer.to_numpy(rotation.call(), problem).astype(np.float32)
    np.save(folder / f"{name}.npy", result.reshape(problem.result_shape))
    return rotation


def turn(rotation: Rotation, seconds: float) -> list[float]:
    """The times of a turn."""
    times: list[float] = []
    if rotation.seconds < seconds:
        rotation.call()
    while not times or sum(times) < seconds:
        rotation.call()
        times.append(rotation.seconds)
    return times


def answer(reply: dict[str, Any], stream: Any) -> None:
    """One line to the parent."""
    stream.write(json.dumps(reply) + "\n")
    stream.flush()


def main() -> None:
    """Serves until standard input ends."""
    name, threads, isa = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    # Systems print; the parent reads the original standard output.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    if isa == "avx2":
        os.environ |= AVX2_SWITCHES
    try:
        peer = importlib.import_module(f"peers.{MODULES[name]}").load(threads)
    except (ImportError, OSError) as error:
        return answer({"failed": str(error).splitlines()[0]}, replies)
    answer({"version": peer.version}, replies)
    rotation = None
    for command in sys.stdin:
        words = command.split(maxsplit=2)
        if words[0] == "turn":
            answer({"times": turn(rotation, float(words[1]))}, replies)
            continue
        rotation = None
        try:
            rotation = prepare(peer, name, Path(words[1]), words[2])
            answer({}, replies)
        except UnsupportedError as error:
            answer({"failed": str(error)}, replies)
        except Exception as error:  # whatever a system throws at a problem that it does not take
            text = str(error).strip().splitlines() or [""]
            answer({"failed": f"{type(error).__name__}: {text[0][:160]}"}, replies)
    return None


if __name__ == "__main__":
    main()
