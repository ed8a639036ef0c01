"""benchmarks/compare.py: problem lines as the other systems see them, and a run of attn alone."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn
from attn import reference
from attn.kernel import _tensor

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from peers import MODULES, problem, report, rounds  # noqa: E402

COMPARED = problem.read(BENCHMARKS / "problems" / "compare.txt")


@pytest.mark.parametrize("case", COMPARED, ids=lambda case: case.title)
def test_inputs_are_those_of_the_kernel(case):
    small = problem.parse(
        case.line.replace("4096", "64").replace("32768", "64").replace("1024", "64").replace("b16", "b2")
    )
    kernel = attn.compile(small.line, fail_on_fallback=True)
    inputs = problem.make_inputs(small)
    expected = {x["name"]: (tuple(x["shape"]), _tensor.dtype(x["dtype"])) for x in kernel.inputs}
    assert {name: (x.shape, x.dtype) for name, x in inputs.items()} == expected


def test_kept_pairs_are_those_of_the_reference():
    case = problem.parse("sq40 d8 causal=top_left window=7,0")
    inputs = problem.make_inputs(case)
    masked = reference.sdpa(*(inputs[name] for name in "qkv"), mask=problem.kept_pairs(case)[None, None])
    windowed = reference.sdpa(*(inputs[name] for name in "qkv"), causal="top_left", window=(7, 0))
    np.testing.assert_array_equal(masked, windowed)


def test_work():
    full, decode = problem.parse("b2 hq4 sq20 sk30 d8 dv6"), problem.parse("hq8 hkv2 sq1 sk4096 d64")
    assert full.flops == 2 * 2 * 4 * 20 * 30 * (8 + 6)
    assert not full.is_decode
    assert decode.is_decode
    # 2 heads of 4096 keys, K and V of 64 floats: 4 MiB, so 64 copies are 256 MiB.
    assert problem.num_copies(decode, problem.make_inputs(decode)) == 64


def test_gradients_are_five_products():
    forward, backward = problem.parse("hq4 hkv2 sq20 d8"), problem.parse("hq4 hkv2 sq20 d8 grad=q,k,v")
    assert backward.flops == 2.5 * forward.flops
    assert backward.grad == ("q", "k", "v")
    assert problem.make_inputs(backward)["dout"].shape == (1, 4, 20, 8)
    assert "dout" not in problem.make_inputs(forward)


def test_unknown_tokens_are_refused():
    with pytest.raises(ValueError, match=r"found 'softcap=30'"):
        problem.parse("sq64 d8 softcap=30")


class FakeWorker:
    """A system whose result is attn's plus an error."""

    def __init__(self, name, error):
        """`error` is added to every number."""
        self.name, self.error = name, error

    def ask(self, command, _):
        """Writes its result, as a worker does."""
        _, folder, _ = command.split(maxsplit=2)
        np.save(Path(folder) / f"{self.name}.npy", np.full((1, 1, 64, 8), 0.5 + self.error, np.float32))
        return {"failed": "no such thing"} if self.name == "unable" else {}


def test_a_system_that_computes_something_else_is_left_out(tmp_path):
    workers = [FakeWorker("attn", 0), FakeWorker("near", 1e-6), FakeWorker("far", 0.1), FakeWorker("unable", 0)]
    ready, left_out = rounds.prepare(problem.parse("sq64 d8"), workers, tmp_path)
    assert [worker.name for worker in ready] == ["attn", "near"]
    assert left_out == {
        "far": "computes something else: differs by 0.2 of the largest result",
        "unable": "no such thing",
    }


def test_run_of_attn_alone(tmp_path):
    lines = tmp_path / "problems.txt"
    lines.write_text("sq64 d8  # small\n# nothing\nhq8 hkv2 sq1 sk512 d64 bf16  # decode\n")
    command = [sys.executable, BENCHMARKS / "compare.py", "--peers=", "--rounds=2", f"--problems={lines}"]
    result = subprocess.run(
        [*command, f"--output={tmp_path}"], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    results = json.loads((tmp_path / "threads-1.json").read_text())
    assert [row["title"] for row in results["rows"]] == ["small", "decode"]
    assert [row["ceiling"] for row in results["rows"]] in (["f32 FMA", "read"], ["bf16 tiles / 6", "read"])
    for row in results["rows"]:
        assert row["systems"]["attn"]["rounds"] == 2
        assert 0 < row["systems"]["attn"]["share"] < 2
    assert "| small |" in result.stdout
    assert (tmp_path / "threads-1.png").stat().st_size > 0
    assert (tmp_path / "threads-1.svg").read_text().count("decode") >= 1


def test_table():
    timing = {"best": 0.001, "median": 0.002, "rounds": 3, "share": 0.5}
    rows = [
        {"title": "one", "systems": {"attn": timing, "JAX": {**timing, "best": 0.004, "share": 0.125}}, "left_out": {}},
        {"title": "two", "systems": {"attn": timing}, "left_out": {"JAX": "no such thing"}},
    ]
    results = {
        "threads": 2,
        "versions": {"attn": "1", "JAX": "2"},
        "rows": [{**row, "ceiling": "read"} for row in rows],
    }
    assert report.summary(results).splitlines()[2:] == ["| one | 1 ms | 50 % (read) | JAX, 4.00 × the time |"]
    text = report.table(results)
    assert text.splitlines()[2:] == [
        "| one | 1 / 2 ms | 50 % | 12 % · 4.00 × |",
        "| two | 1 / 2 ms | 50 % | – |",
    ]


def test_modules_exist():
    assert next(iter(MODULES)) == "attn"
    for module in MODULES.values():
        assert (BENCHMARKS / "peers" / f"{module}.py").exists()
