"""Runs with the wheel installed, LLVM hidden or not: kernels against the reference, and where each library came from.

Usage: use_wheel.py FOLDER: the environment that the wheel is installed in.
"""

import platform
import re
import sys
from pathlib import Path

import numpy as np

import attn

folder = Path(sys.argv[1]).resolve()
assert Path(attn.__file__).resolve().is_relative_to(folder), attn.__file__
attn.set_cache(directory=folder / "kernels")


def check(out: np.ndarray, expected: np.ndarray, bound: float = 1e-5) -> None:
    error = np.abs(out - expected).max() / np.abs(expected).max()
    assert error <= bound, f"expected an error of at most {bound}, found {error}"


rng = np.random.default_rng(25)
q = rng.standard_normal((2, 8, 113, 64), np.float32)
k, v = rng.standard_normal((2, 2, 2, 203, 64), np.float32)
structure = {"causal": "bottom_right", "softcap": 20.0}
wide = [x.astype(np.float64) for x in (q, k, v)]
expected = attn.reference.sdpa(*wide, **structure)
check(attn.sdpa(q, k, v, **structure), expected)
slopes = np.float32([2.0**-i for i in range(8)])


def alibi(score, b, h, i, j):
    return score - slopes[h] * (i - j)


# Several threads, a traced function, a problem line, a function of libm (lse), and IR.
check(attn.sdpa(q, k, v, score_mod=alibi), attn.reference.sdpa(*wide, score_mod=alibi))
out, lse = attn.compile("b2 hq8 hkv2 sq113 sk203 d64 f32 softcap=20 causal=bottom_right out=lse")(q, k, v)
check(out, expected)
assert np.isfinite(lse).all()
lowest = "aarch64-linux-gnu" if platform.machine() == "aarch64" else "x86-64"
f16 = [x.astype(np.float16) for x in (q, k, v)]
check(attn.compile("b2 hq8 hkv2 sq113 sk203 d64 f16 softcap=20 causal=bottom_right", lowest)(*f16), expected, 1e-2)
ir = """
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %out = arith.addf %x, %x : tensor<4xf32>
  return %out : tensor<4xf32>
}
"""
np.testing.assert_array_equal(attn.compile(ir)(np.arange(4, dtype=np.float32)), [0, 2, 4, 6])
assert attn.compile("hq8 sq1024 d64 bf16", "sm_80").manifest["kernels"][0]["launches"]

loaded = set(re.findall(r"(/\S+\.so\S*)$", Path("/proc/self/maps").read_text(), re.M))
ours = [x for x in loaded if re.search(r"/lib(attn|LLVM|MLIR|lld|omp|gomp|iomp5|z3|zstd|xml2|edit|ffi)\b", x)]
outside = [x for x in ours if not Path(x).resolve().is_relative_to(folder)]
# ctypes itself loads libffi.
outside = [x for x in outside if "/libffi" not in x]
assert {Path(x).name.split("-")[0].split(".")[0] for x in ours} >= {"libattn", "libomp"}, ours
assert not outside, f"expected libraries of the wheel alone, found {outside}"
print(f"right; {attn.cache_info().misses} kernels compiled")
