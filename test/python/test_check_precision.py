"""`attnc run --check` prints the error against f64: every kind of input, compared with f64 computed in another way."""

import re
from pathlib import Path

import numpy as np
import pytest

import attn
from chain_ir import chain
from helpers import Shape, draw
from paths import attnc

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))
PHASES = ["input", "canonicalize", "fuse", "fallback", "analyze-mask", "select-schedule", "online", "tile"]
SHAPE = Shape(33, 57, 16, 40, b=2, hq=4, hkv=2)  # 1/√16 is a number of f32, as phases behind fuse write it


def run_checked(text: str, name: str, inputs, folder: Path, count: int = 1):
    """The `count` outputs of a kernel on these inputs, and the errors that --check prints."""
    words = []
    for i, array in enumerate(inputs):
        np.save(folder / f"in{i}.npy", array)
        words += ["--input", folder / f"in{i}.npy"]
    for i in range(count):
        words += ["--output", folder / f"out{i}.npy"]
    printed = attnc("run", "-", "--check", f"--kernel={name}", *words, text=text)
    errors = [float(x) for x in re.findall(r"largest error (\S+),", printed)]
    return [np.load(folder / f"out{i}.npy") for i in range(count)], errors


def assert_true_errors(outputs, errors, exact):
    assert len(outputs) == len(errors) == len(exact)
    for out, error, reference in zip(outputs, errors, exact, strict=True):
        finite = np.isfinite(reference)
        true = np.abs(out.astype(np.float64) - reference, where=finite, out=np.zeros(reference.shape)).max()
        assert error == pytest.approx(true, rel=0.03)


def draw_inputs(arguments, rng):
    """Normal floats; integers that are lengths, sums, tables and segments of the examples."""
    for argument in arguments:
        shape, dtype = argument["shape"], np.dtype(argument["dtype"])
        if dtype.kind == "f":
            yield rng.standard_normal(shape).astype(dtype)
        elif dtype.kind == "b":
            yield rng.random(shape) < 0.7
        else:
            yield None


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("source", ["chain", "unfused", "sdpa"])
def test_phases(source, phase, tmp_path):
    """A chain that fuses, one whose weights are returned, and one op, read back at every phase on tensors."""
    q, k, v = draw(SHAPE, np.float32)
    if source == "sdpa":
        text = attnc("--problem=b2 hq4 hkv2 sq33 sk57 d16 dv40 f32 causal=bottom_right", "--stop-after=input")
    else:
        text = chain(SHAPE, np.float32, causal="bottom_right", weights=source == "unfused")
    text = attnc("-", f"--stop-after={phase}", text=text)
    name = re.search(r"func\.func @(\w+)", text)[1]
    outputs, errors = run_checked(text, name, [q, k, v], tmp_path, 2 if source == "unfused" else 1)
    out = attn.reference.sdpa(q, k, v, causal="bottom_right")
    assert_true_errors(outputs[:1], errors[:1], [out])


def test_example_chain(tmp_path):
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, 8, 1024, 64)).astype(np.float32) for _ in range(3))
    text = (EXAMPLES[0].parent / "chain.mlir").read_text()
    outputs, errors = run_checked(text, "attention", [q, k, v], tmp_path)
    assert_true_errors(outputs, errors, [attn.reference.sdpa(q, k, v, causal="top_left")])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path, tmp_path):
    """Each example with float inputs beside itself written in f64, on the same numbers."""
    text = path.read_text()
    wide = re.sub(r"(?<![\w.])f32|xf32", lambda x: x[0].replace("f32", "f64"), text)
    for kernel in attn.compile(text).manifest["kernels"]:
        arguments = [x for x in kernel["arguments"] if x["role"] == "input"]
        if any(isinstance(size, str) for x in arguments for size in x["shape"]):
            continue
        inputs = list(draw_inputs(arguments, np.random.default_rng(4)))
        if any(x is None for x in inputs):
            continue
        count = len(kernel["arguments"]) - len(arguments)
        outputs, errors = run_checked(text, kernel["name"], inputs, tmp_path, count)
        exact = attn.compile(wide, name=kernel["name"])(
            *(x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs)
        )
        assert_true_errors(outputs, errors, list(exact) if isinstance(exact, tuple) else [exact])


AROUND = """
func.func @around(%q: tensor<1x2x9x16xf32>, %k: tensor<1x2x9x16xf32>, %v: tensor<1x2x9x16xf32>,
                  %x: tensor<1x2x9x16xf32>) -> tensor<1x2x9x16xf32> {
  %c = arith.constant 0.1 : f32
  %e = tensor.empty() : tensor<1x2x9x16xf32>
  %y = math.sin %x : tensor<1x2x9x16xf32>
  %q2 = arith.addf %q, %y : tensor<1x2x9x16xf32>
  %o = attn.sdpa ins(%q2, %k, %v : tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>)
      outs(%e : tensor<1x2x9x16xf32>) score_mod {
  ^bb0(%s: f32):
    %t = arith.mulf %s, %c : f32
    %r = math.tanh %t : f32
    attn.yield %r : f32
  } -> tensor<1x2x9x16xf32>
  %z = math.exp %o : tensor<1x2x9x16xf32>
  return %z : tensor<1x2x9x16xf32>
}
"""


def test_arithmetic_around(tmp_path):
    """What stands in front of, in and behind attention is f64 as well; a constant has the value that f32 gives it."""
    rng = np.random.default_rng(6)
    q, k, v, x = (rng.standard_normal((1, 2, 9, 16)).astype(np.float32) for _ in range(4))
    outputs, errors = run_checked(AROUND, "around", [q, k, v, x], tmp_path)
    wide = q.astype(np.float64) + np.sin(x.astype(np.float64))
    c = np.float64(np.float32(0.1))
    out = attn.reference.sdpa(wide, k, v, score_mod=lambda s, b, h, i, j: np.tanh(s * c))
    assert_true_errors(outputs, errors, [np.exp(out)])
