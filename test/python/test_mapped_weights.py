"""attnc --weights: constants in a file that the program maps, beside the same kernel with its constants inside."""

import ctypes
import json
import subprocess

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from graph_models import Graph
from paths import ATTNC, attnc

DEPTH, INNER, ROWS = 96, 160, 50
NO_WEIGHTS = 13


def make_model(seed):
    """Two blocks: a product, a GELU, a product and a residual."""
    g = Graph(seed)
    x = g.draw("x", ROWS, DEPTH)
    y = x
    for _ in range(2):
        hidden = g.Gelu(g.Add(g.MatMul(y, g.weight(DEPTH, INNER)), g.weight(INNER)))
        y = g.Add(y, g.MatMul(hidden, g.weight(INNER, DEPTH)))
    return g.finish(y, opset=20), g.arrays[0]


class Compiled:
    """A shared library of the model, with the file of its weights or with them inside."""

    def __init__(self, folder, name, seed, *, maps):
        """Compiles and loads it."""
        self.model, self.x = make_model(seed)
        path, self.library = folder / f"{name}.onnx", folder / f"{name}-{maps}.so"
        path.write_bytes(self.model.SerializeToString())
        self.weights, manifest = folder / f"{name}.weights", folder / f"{name}.json"
        to = ["--emit=shared", "-o", self.library, f"--manifest={manifest}", "--parallel=none"]
        attnc(path, *to, *([f"--weights={self.weights}"] if maps else []))
        (self.kernel,) = json.loads(manifest.read_text())["kernels"]
        self.code = ctypes.CDLL(str(self.library))

    def map(self, path):
        """The code and the message of the function that maps."""
        message = ctypes.create_string_buffer(512)
        function = getattr(self.code, self.kernel["weights"]["map"])
        status = function(str(path).encode() if path else None, message, ctypes.c_int64(512))
        return status, message.value.decode()

    def check(self):
        """The code and the message of the checked entry without arguments."""
        message = ctypes.create_string_buffer(512)
        function = getattr(self.code, self.kernel["name"] + "_checked")
        return function(None, ctypes.c_int64(0), message, ctypes.c_int64(512)), message.value.decode()

    def __call__(self):
        """The kernel's output."""
        out = np.full_like(self.x, np.nan)
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (self.x, out))
        getattr(self.code, self.kernel["name"])(*pointers)
        return out


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    return Compiled(tmp_path_factory.mktemp("mapped"), "model", 0, maps=True)


def test_numbers(mapped):
    """Those of ONNX's evaluator, and to the bit those of the kernel with its constants inside."""
    assert mapped.map(mapped.weights) == (0, "")
    (expected,) = ReferenceEvaluator(mapped.model).run(None, {"x": mapped.x})
    np.testing.assert_allclose(mapped(), expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())
    inside = Compiled(mapped.library.parent, "model", 0, maps=False)
    np.testing.assert_array_equal(mapped(), inside())
    constants = 4 * 2 * 2 * DEPTH * INNER
    assert mapped.weights.stat().st_size == mapped.kernel["weights"]["bytes"] >= constants
    assert mapped.library.stat().st_size < inside.library.stat().st_size - constants / 2


def test_before_and_after(mapped):
    """The checked entry refuses a call before the file is mapped, and when it is no longer."""
    mapped.map(None)
    expected = (NO_WEIGHTS, "expected weights that are mapped, found none; call the kernel's function NAME_map_weights "
                "first")  # fmt: skip
    assert mapped.check() == expected
    assert mapped.map(mapped.weights) == (0, "")
    assert mapped.check()[0] not in (0, NO_WEIGHTS)  # it has no arguments
    assert mapped.map(mapped.weights) == (0, "")  # again
    assert mapped.map(None) == (0, "")
    assert mapped.check() == expected


def test_refused_files(mapped, tmp_path):
    """What is no file of these weights; what is mapped stays."""
    whole = mapped.weights.read_bytes()
    other = Compiled(tmp_path, "other", 1, maps=True)
    files = {
        "none that can be read": None,
        "a part of it": whole[:-1],
        "more than it": whole + b"\0",
        "a file of another kind": b"x" * len(whole),
        "the weights of another object": other.weights.read_bytes(),
    }
    assert mapped.map(mapped.weights) == (0, "")
    before = mapped()
    for number, (found, data) in enumerate([*files.items(), ("a part of it", whole[:40]), ("a part of it", b"")]):
        path = tmp_path / f"{number}"
        if data is not None:
            path.write_bytes(data)
        expected = "expected the file of weights that attnc --weights has written with this object, found "
        assert mapped.map(path) == (NO_WEIGHTS, f"{expected}{found}: '{path}'")
    np.testing.assert_array_equal(mapped(), before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problem=sq5 sk7 d8 f32"], "expected constants of at least 4096 bytes for a file of weights, found none"),
        (["--problem=sq5 sk7 d8 f32", "--target=sm_80"], "expected one file and one processor with --weights, found "),
        (["--problem=sq5 sk7 d8 f32", "--target=x86-64-v2,x86-64-v3"], "found several kernels or targets"),
        (["--problem=sq5 sk7 d8 f32", "--stop-after=tile"], "expected --stop-after=llvm with --weights"),
    ],
)
def test_refused_commands(tmp_path, arguments, message):
    command = [ATTNC, *arguments, "-o", tmp_path / "kernel.o", f"--weights={tmp_path / 'kernel.weights'}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert message in result.stderr
    assert not list(tmp_path.iterdir())
