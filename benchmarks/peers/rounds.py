"""One problem on all systems: the same inputs, the same numbers, then rounds in which each system has a turn."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from peers.problem import Problem, make_inputs

BENCHMARKS = Path(__file__).resolve().parents[1]
ROOT = BENCHMARKS.parent
ATTNC = ROOT / "build" / "release" / "bin" / "attnc"
CAPPED_PROCESSOR = ROOT / "build" / "release" / "lib" / "libprocessor_x86-64-v3.so"
ISAS = ("host", "avx2")

TURN_SECONDS = 0.02  # a turn's calls are repeated for so long
LINE_SECONDS = 2.5  # a system that has used up so much of a line stays out of its further rounds
TURN_LIMIT = 8.0  # seconds; a system that takes longer for one turn is left out of the line
ANSWER_SECONDS = 60  # to prepare a problem: FlexAttention compiles C++
CEILING_EVERY = 2  # rounds
# Largest |difference| to attn's result, relative to the largest result: two kernels, each with its own rounding.
TOLERANCES = {"f32": 1e-4, "bf16": 4e-2, "f16": 5e-3}


class Worker:
    """The process of a system, stopped while it is not its turn: idle threads of its pools would spin."""

    def __init__(self, name: str, threads: int, log: Path, isa: str) -> None:
        """Starts it on the last processors of this process, with the instructions of `isa`."""
        self.name, self.threads, self.log, self.isa = name, threads, log, isa
        self._start()

    def _start(self) -> None:
        environment = {
            **hide_instructions(self.isa),
            "PYTHONPATH": os.pathsep.join([str(BENCHMARKS), str(ROOT / "python")]),
        }
        # Compiled code of FlexAttention and what systems cache besides lies in the build folder.
        environment |= {"TORCHINDUCTOR_CACHE_DIR": str(self.log.parent / "inductor"), "JAX_PLATFORMS": "cpu"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "peers.worker", self.name, str(self.threads), self.isa],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("a"),
            text=True,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, processors(self.threads)),
        )
        reply = self._read(ANSWER_SECONDS)
        self.missing: str | None = reply.get("failed")
        self.version: str = reply.get("version", "")
        if not self.missing:
            self._stop()

    def ask(self, command: str, seconds: float) -> dict[str, Any]:
        """Its answer; it runs only meanwhile. One that a problem has ended starts anew with the next problem."""
        if self.process.poll() is not None:
            self._start()
        os.killpg(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        reply = self._read(seconds)
        self._stop()
        return reply

    def close(self) -> None:
        """Ends it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _read(self, seconds: float) -> dict[str, Any]:
        has_answer, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if has_answer else ""
        if line:
            return json.loads(line)
        self.close()
        return {"failed": "its process ended" if has_answer else f"no answer within {seconds:.0f} s"}

    def _stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGSTOP)


def processors(threads: int) -> set[int]:
    """The last processors of this process."""
    return set(sorted(os.sched_getaffinity(0))[-threads:])


def hide_instructions(isa: str) -> dict[str, str]:
    """The environment of a process that sees no more than `isa` (test/lib/CappedProcessor)."""
    return dict(os.environ) if isa == "host" else {**os.environ, "LD_PRELOAD": str(CAPPED_PROCESSOR)}


def measure_ceilings(threads: int, environment: dict[str, str]) -> dict[str, float]:
    """GFLOP/s and GB/s by name, as `attnc bench --ceilings` prints them."""
    command = [ATTNC, "bench", "--ceilings", "--seconds=0", f"--threads={threads}"]
    result = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, processors(threads)),
    )
    return {name: float(rate) for name, rate in re.findall(r"^(.*), \d+ threads?: ([\d.]+) G", result.stdout, re.M)}


def write_inputs(folder: Path, inputs: dict[str, np.ndarray]) -> None:
    """As .npy files; bfloat16 as its bits."""
    (folder / "inputs").mkdir()
    for name, x in inputs.items():
        np.save(folder / "inputs" / f"{name}.npy", x.view(np.uint16) if x.dtype.name == "bfloat16" else x)


def prepare(problem: Problem, workers: list[Worker], folder: Path) -> tuple[list[Worker], dict[str, str]]:
    """Those that compute the problem, attn first, and why the others do not."""
    ready: list[Worker] = []
    left_out: dict[str, str] = {}
    reference = None
    for worker in workers:
        reply = worker.ask(f"prepare {folder} {problem.line}", ANSWER_SECONDS)
        if "failed" in reply:
            left_out[worker.name] = reply["failed"]
            continue
        result = np.load(folder / f"{worker.name}.npy")
        if reference is None:
            reference = result
        scale = np.abs(reference).max()
        error = np.abs(result - reference).max() / scale
        if error <= TOLERANCES[problem.dtype]:
            ready.append(worker)
        else:
            left_out[worker.name] = f"computes something else: differs by {error:.2g} of the largest result"
    return ready, left_out


def measure(
    workers: list[Worker], rounds: int, threads: int
) -> tuple[dict[str, list[float]], dict[str, float], dict[str, str]]:
    """Seconds of the best call of each turn, the ceilings, and why a system dropped out."""
    times: dict[str, list[float]] = {worker.name: [] for worker in workers}
    spent = dict.fromkeys(times, 0.0)
    ceilings: dict[str, float] = {}
    left_out: dict[str, str] = {}
    environment = hide_instructions(workers[0].isa)
    for number in range(rounds):
        if number % CEILING_EVERY == 0:
            for name, rate in measure_ceilings(threads, environment).items():
                ceilings[name] = max(rate, ceilings.get(name, 0.0))
        for worker in workers:
            if spent[worker.name] > LINE_SECONDS or worker.name in left_out:
                continue
            start = time.perf_counter()
            reply = worker.ask(f"turn {TURN_SECONDS}", TURN_LIMIT)
            if "failed" in reply:
                left_out[worker.name] = reply["failed"]
                continue
            times[worker.name].append(min(reply["times"]))
            spent[worker.name] += time.perf_counter() - start
    return {name: seconds for name, seconds in times.items() if name not in left_out}, ceilings, left_out


def run(problem: Problem, workers: list[Worker], rounds: int, threads: int) -> dict[str, Any]:
    """The results of one line, as they stand in the results file."""
    inputs = make_inputs(problem)
    with tempfile.TemporaryDirectory(prefix="compare-", dir=ROOT / "build") as name:
        folder = Path(name)
        write_inputs(folder, inputs)
        ready, left_out = prepare(problem, workers, folder)
        out_bytes = problem.b * problem.hq * problem.sq * problem.dv * inputs["q"].itemsize
        read_bytes = sum(x.nbytes for x in inputs.values()) + out_bytes
        del inputs
    times, ceilings, dropped = measure(ready, rounds, threads)
    # A decode step is memory's, the rest the multiply-adds'; of tiles, where the processor has them (f16 and f32 as
    # products of their parts), in bf16 else those of pairs.
    if "bf16 tiles" in ceilings:
        ceilings |= {f"bf16 tiles / {parts}": ceilings["bf16 tiles"] / parts for parts in (3, 6)}
        product = {"bf16": "bf16 tiles", "f16": "bf16 tiles / 3", "f32": "bf16 tiles / 6"}[problem.dtype]
    else:
        product = "bf16 dot" if problem.dtype == "bf16" and "bf16 dot" in ceilings else "f32 FMA"
    kind = "read" if problem.is_decode else product
    work, ceiling = read_bytes if problem.is_decode else problem.flops, ceilings[kind]
    systems = {
        name: {
            "best": min(seconds),
            "median": statistics.median(seconds),
            "rounds": len(seconds),
            "share": work / min(seconds) * 1e-9 / ceiling,
        }
        for name, seconds in times.items()
    }
    return {
        "line": problem.line,
        "title": problem.title,
        "ceiling": kind,
        "ceilings": ceilings,
        "systems": systems,
        "left_out": left_out | dropped,
    }
