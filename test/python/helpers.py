"""What the Python tests share: drawing inputs, running a case both ways, the tolerances of SPEC §4."""

import ctypes
import mmap
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import attn

TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
DTYPES = [np.float32, np.float64]
WALLS: list[mmap.mmap] = []


class Shape(NamedTuple):
    """One problem's sizes; those that are left out make it a single head."""

    sq: int
    sk: int
    d: int
    dv: int
    b: int = 1
    hq: int = 1
    hkv: int = 1

    @property
    def scores(self):
        """The shape of the score matrix."""
        return (self.b, self.hq, self.sq, self.sk)

    def __str__(self) -> str:
        """The problem line's words, which name the test."""
        return f"b{self.b}-hq{self.hq}-hkv{self.hkv}-sq{self.sq}-sk{self.sk}-d{self.d}-dv{self.dv}"


def draw(shape: Shape, dtype: Any = np.float32, seed: int = 0):
    """Normal q, k, v of this shape."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((shape.b, shape.hq, shape.sq, shape.d))
    k = rng.standard_normal((shape.b, shape.hkv, shape.sk, shape.d))
    v = rng.standard_normal((shape.b, shape.hkv, shape.sk, shape.dv))
    return tuple(x.astype(dtype) for x in (q, k, v))


def assert_close(actual, expected, dtype, what="out"):
    """The rule of SPEC §4: largest error relative to the largest finite |expected|; NaN and inf in the same places."""
    actual = np.asarray(actual, dtype=np.float64)
    assert actual.shape == expected.shape, f"{what}: expected shape {expected.shape}, found {actual.shape}"
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], err_msg=what)
    if finite.any():
        largest = np.abs(expected[finite]).max()
        error = np.abs(actual[finite] - expected[finite]).max()
        limit = TOLERANCE[np.dtype(dtype)] * largest
        assert error <= limit, f"{what}: expected an error of at most {limit:.3e}, found {error:.3e}"


def check(q, k, v, **options):
    """Runs attn.sdpa and the reference on the same inputs, with lse; compares, and returns what attn.sdpa gave."""
    found = attn.sdpa(q, k, v, return_lse=True, **options)
    options.pop("dynamic", None)
    expected = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    assert_results(found, expected, q.dtype)
    return found


def assert_results(found, expected, dtype):
    """Compares out and lse, and weights where they were asked for."""
    assert len(found) == len(expected)
    assert found[0].dtype == dtype
    assert_close(found[0], expected[0], dtype, "out")
    assert_lse(found[1], expected[1])
    if len(found) > 2:
        assert found[2].dtype == dtype
        assert_close(found[2], expected[2], dtype, "weights")


def assert_lse(found, expected):
    """The lse is a sum of numbers near it: its error is absolute where it passes through zero."""
    scale = np.append(np.abs(expected[np.isfinite(expected)]), 1.0).max()
    assert_close(found / scale, expected / scale, found.dtype, "lse")


def in_child(code: str) -> None:
    """Runs Python code in a process of its own, for kernels that a bug would let read outside of their arrays."""
    setup = "import numpy as np, attn\nfrom helpers import *\n"
    path = f"{Path(attn.__file__).parents[1]}:{Path(__file__).parent}"
    command = [sys.executable, "-c", setup + textwrap.dedent(code)]
    result = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stderr}"


def before_a_wall(array):
    """A copy of the array that ends where unmapped memory begins: a read behind it kills the process."""
    page = mmap.PAGESIZE
    pages = -(-array.nbytes // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).munmap(ctypes.c_void_p(address + pages * page), ctypes.c_size_t(page)) == 0
    WALLS.append(memory)  # never unmapped: Python would unmap the wall a second time
    copy = np.frombuffer(memory, array.dtype, array.size, pages * page - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy


class Exporter:
    """An object that only speaks DLPack, over a NumPy array; counts its exports."""

    def __init__(self, array, device=(1, 0)):
        """Exports `array`, claiming to lie on `device`."""
        self.array, self.device, self.exports = array, device, 0

    def __dlpack__(self, **kwargs):
        self.exports += 1
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.device
