"""What the Python tests share: drawing inputs, running a case both ways, the tolerances of docs/Semantics.md."""

import contextlib
import ctypes
import functools
import mmap
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import ml_dtypes
import numpy as np

import attn
from attn.reference import _backward, _chain, _forward

BF16, F16 = ml_dtypes.bfloat16, np.float16
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
LSE_ERROR = 1e-4  # absolute, of bf16 and f16, whose exp may be that of their P
DTYPES = [np.float32, np.float64]
NARROW = {"bf16": BF16, "f16": F16}
TYPES = {"f32": np.float32, "f64": np.float64, **NARROW}
WALLS: list[mmap.mmap] = []
# What programs that call kernels are compiled with.
C_COMPILER = [shutil.which("clang-22") or "cc", "-std=c11", "-Wall", "-Wextra", "-Werror"]


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


def compile_library(source: str, folder: Path) -> Path:
    """A C file of this folder as a shared library in `folder`."""
    path = folder / Path(source).with_suffix(".so")
    flags = ["-O2", "-shared", "-fPIC"]
    subprocess.run([*C_COMPILER, *flags, Path(__file__).with_name(source), "-o", path], check=True)
    return path


def draw(shape: Shape, dtype: Any = np.float32, seed: int = 0):
    """Normal q, k, v of this shape."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((shape.b, shape.hq, shape.sq, shape.d))
    k = rng.standard_normal((shape.b, shape.hkv, shape.sk, shape.d))
    v = rng.standard_normal((shape.b, shape.hkv, shape.sk, shape.dv))
    return tuple(x.astype(dtype) for x in (q, k, v))


def is_narrow(dtype) -> bool:
    """True for bf16 and f16."""
    return np.dtype(dtype).itemsize == 2


@contextlib.contextmanager
def rounded_to(dtype):
    """The reference meanwhile rounds the result of each step to a narrow type."""

    def rounded(step):
        def call(*arguments, **options):
            result = step(*arguments, **options)
            return tuple(map(narrow, result)) if isinstance(result, tuple) else narrow(result)

        return functools.wraps(step)(call)

    def narrow(x):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(x).astype(dtype).astype(np.float64)

    steps = {
        _forward: ("scores", "softmax_terms", "apply"),
        _chain: ("scale", "softcap", "mask", "dropout"),
        _backward: ("apply_backward", "scale_backward", "scores_backward"),
    }
    with contextlib.ExitStack() as stack:
        for module, names in steps.items():
            for name in names:
                stack.enter_context(mock.patch.object(module, name, rounded(getattr(module, name))))
        yield


def assert_close(actual, expected, dtype, what="out", low=None):
    """The rule of docs/Semantics.md; NaN and inf in the same places.

    f32 and f64: the largest error relative to the largest finite |expected|. bf16 and f16: at most twice the largest
    error of `low`, the same maths in the narrow type.
    """
    finite = np.isfinite(expected)
    if not finite.any():
        limit = 0.0
    elif low is None:
        limit = TOLERANCE[np.dtype(dtype)] * np.abs(expected[finite]).max()
    else:
        limit = 2 * np.abs(low[finite] - expected[finite]).max()
    assert_within(limit, actual, expected, what)


def assert_within(limit, actual, expected, what="out"):
    """Errors of at most `limit`; NaN and inf in the same places."""
    actual = np.asarray(actual, dtype=np.float64)
    assert actual.shape == expected.shape, f"{what}: expected shape {expected.shape}, found {actual.shape}"
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], err_msg=what)
    error = np.abs(actual[finite] - expected[finite]).max(initial=0)
    assert error <= limit, f"{what}: expected an error of at most {limit:.3e}, found {error:.3e}"


def check(q, k, v, **options):
    """Runs attn.sdpa and the reference on the same inputs, with lse; compares, and returns what attn.sdpa gave."""
    found = attn.sdpa(q, k, v, return_lse=True, **options)
    options.pop("dynamic", None)
    compare(found, attn.reference.sdpa, q, k, v, return_lse=True, **options)
    return found


def compare(found, reference, *arguments, **options):
    """Compares out and lse, and weights or key_sums where they were asked for, with the reference of the arguments."""
    dtype = arguments[0].dtype
    expected, low = reference(*arguments, **options), [None] * len(found)
    if is_narrow(dtype):
        with rounded_to(dtype):
            low = [x.astype(dtype).astype(np.float64) for x in reference(*arguments, **options)]
    assert len(found) == len(expected)
    assert found[0].dtype == dtype
    if options.get("return_key_sums"):
        *found, sums = found
        assert sums.dtype == found[1].dtype
        largest = np.abs(expected[-1]).max(initial=0)
        # The sums add up rounded scores: a narrow type has the error of its lse in each.
        assert_within((LSE_ERROR if is_narrow(dtype) else TOLERANCE[sums.dtype]) * largest, sums, expected[-1], "sums")
    assert_close(found[0], expected[0], dtype, "out", low[0])
    assert_lse(found[1], expected[1], LSE_ERROR if is_narrow(dtype) else 0.0)
    if len(found) > 2:
        assert found[2].dtype == dtype
        assert_close(found[2], expected[2], dtype, "weights", low[2])


def assert_lse(found, expected, error=0.0):
    """As the other results, in the lse's own type; `error` may be added."""
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    assert_within(error + TOLERANCE[found.dtype] * largest, found, expected, "lse")


def in_child(code: str) -> None:
    """Runs Python code in a process of its own, for kernels that a bug would let read outside of their arrays."""
    setup = "import numpy as np, attn\nfrom helpers import *\n"
    path = f"{Path(attn.__file__).parents[1]}:{Path(__file__).parent}"
    command = [sys.executable, "-c", setup + textwrap.dedent(code)]
    result = subprocess.run(command, env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True, check=False)
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
