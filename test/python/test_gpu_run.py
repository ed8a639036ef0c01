"""In the emulator, what the lines of test_gpu_emulated.py do not reach: one group a property.

attnc run --check where inputs are random; Python, which compiles a kernel once, where many inputs are of one kernel.
"""

import functools
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

import attn
import clock
from attn import reference
from fake_cuda import Driver, FakeArray
from paths import ATTNC

DRIVER = ATTNC.parents[1] / "lib" / "libcuda_emulator.so"


def run(*words, text: str | None = None) -> subprocess.CompletedProcess:
    command = [ATTNC, "run", *words, "--target=sm_80", f"--cuda-driver={DRIVER}", "--check"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=clock.NO_END)


def check(*words, text: str | None = None):
    done = run(*words, text=text)
    assert done.returncode == 0, done.stdout + done.stderr
    results = [line for line in done.stdout.splitlines() if "largest error" in line]
    assert results, done.stdout
    assert all(line.endswith(": ok") for line in results), done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "b1 hq2 sq2 sk64 d64 bf16 window=1,0 align=bottom_right",
        "b1 hq1 sq2 sk32 d32 f32 window=1,0 align=bottom_right",
        "b1 hq8 hkv2 sq2 sk203 d128 bf16 causal=bottom_right window=1,0 out=lse",
        "b1 hq1 sq4 sk5 d64 bf16 window=3,0 align=bottom_right",
    ],
)
def test_a_tile_of_one_key_before_others(line):
    check(f"--problem={line}")


def test_states_of_two_decode_kernels():
    """Each kernel that merges has a state of its own, though both begin with the same."""
    kinds = [f"tensor<1x{heads}x{rows}x64xbf16>" for heads, rows in ((16, 1), (1, 600))]
    q, kv = kinds
    sdpa = "attn.sdpa ins(%q, %k, %v{0} : {1}, {2}, {2}) outs(%o : {1}) -> {1}"
    check(
        "-",
        text=f"""func.func @two(%q: {q}, %k: {kv}, %v0: {kv}, %v1: {kv}) -> ({q}, {q}) {{
  %o = tensor.empty() : {q}
  %0 = {sdpa.format(0, q, kv)}
  %1 = {sdpa.format(1, q, kv)}
  return %0, %1 : {q}, {q}
}}""",
    )


@pytest.fixture(scope="module")
def driver():
    return Driver()


@functools.cache
def compiled(line: str) -> attn.Kernel:
    """Many inputs are of one kernel."""
    return attn.compile(line, target="sm_80", fail_on_fallback=True, cache=False)


def call(driver: Driver, line: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a problem on these inputs, in f64."""
    found = compiled(line)(*(FakeArray.of(driver, x) for x in inputs))
    return [x.numpy().astype(np.float64) for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("offset", [2**31 - 1, 2**31 - 20, 2**30, -(2**30), 1 - 2**31])
@pytest.mark.parametrize("window", [None, (5, 0), (2**31 - 1, 0)])
def test_offsets_beyond_all_keys(offset, window, driver):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 1, rows, 16)).astype(np.float32) for rows in (70, 40, 40))
    line = "b1 hq1 sq70 sk40 d16 f32 causal=offset" + (f" window={window[0]},{window[1]}" if window else "")
    (out,) = call(driver, line, q, k, v, np.array([offset], np.int32))
    expected = reference.sdpa(q, k, v, causal=[offset], window=window)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("type_", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("magnitude", [1e4, 1e12])
@pytest.mark.parametrize("words", ["", "scale=0.7 sink kv_lengths"])
def test_large_scores(type_, magnitude, words, driver):
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}[type_]
    factor = min(magnitude**0.5, 1e4) if type_ == "f16" else magnitude**0.5
    q, k, v = (rng.standard_normal((1, 2, rows, 64)) for rows in (17, 150, 150))
    # Rows of a fragment of all sizes, and keys that get larger with each tile.
    q *= factor * 10.0 ** -(np.arange(17) % 5)[:, None]
    k *= factor * 10.0 ** -(2 - np.arange(150) // 50)[:, None]
    q, k, v = inputs = [x.astype(dtype) for x in (q, k, v)]
    options = {}
    if words:
        options = {"sink": np.array([1e6, 0], np.float32), "kv_lengths": np.array([149], np.int32)}
    out, lse = call(driver, f"b1 hq2 sq17 sk150 d64 {type_} out=lse {words}", *inputs, *options.values())
    options |= {"scale": 0.7} if words else {}
    expected, expected_lse = reference.sdpa(*inputs, return_lse=True, **options)
    # What a score of 24 bits leaves open.
    nearby = q.astype(np.float64) * (1 + rng.uniform(-1, 1, q.shape) * 2.0**-19)
    doubt = np.abs(reference.sdpa(nearby, k, v, **options) - expected)
    assert (np.abs(out - expected) <= (1e-5 if type_ == "f32" else 3e-2) + 8 * doubt).all()
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-5)


ONE_TILE = """{line}
mask_mod {{
  %i = attn.index query : index
  %j = attn.index key : index
  %x = arith.xori %i, %j : index
  %p = arith.constant 3 : index
  %r = arith.cmpi ne, %x, %p : index
  attn.yield %r : i1
}}"""


@pytest.mark.parametrize(
    "line",
    [
        "b1 hq2 sq17 sk17 d64 bf16",
        "b1 hq4 sq17 sk16 d8 f32 kv_lengths",
        "b1 hq6 hkv2 sq17 sk70 d16 bf16 layout=varlen causal=bottom_right out=lse",
    ],
)
def test_the_map_of_one_tile_is_made_in_each_block(line):
    check(f"--problem={ONE_TILE.format(line=line)}")


@pytest.mark.parametrize(
    "problem",
    [ONE_TILE.format(line="b1 hq1 sq70 sk70 d32 bf16"), "b1 hq1 sq40 sk70 d64 bf16 causal=offset window=1073741829,"],
)
def test_the_map_of_one_block_is_in_the_workspace(problem, tmp_path):
    ptx = tmp_path / "k.ptx"
    subprocess.run([ATTNC, f"--problem={problem}", "--target=sm_80", "--emit=ptx", "-o", ptx], check=True)
    assert "malloc" not in ptx.read_text()
    check(f"--problem={problem}")


def test_constants_of_masks_beyond_32_bits():
    check(
        """--problem=b1 hq2 sq4 sk40 d16 f32 out=lse
mask_mod {
  %j = attn.index key : index
  %c = arith.constant 1099511627776 : index
  %d = arith.constant 1099511627779 : index
  %x = arith.addi %j, %c : index
  %r = arith.cmpi slt, %x, %d : index
  attn.yield %r : i1
}"""
    )


def test_tf32_of_rows_that_end_within_a_pair_of_blocks():
    done = run("--problem=b1 hq2 sq33 sk65 d40 f32", "--schedule=#attn.block<instruction = tf32>")
    error = re.search(r"relative to max \|ref\| (\S+)", done.stdout)
    assert error, done.stdout + done.stderr
    # Inputs of 11 bits: the tolerance of f32 is not theirs.
    assert float(error[1]) < 2**-9


FUNCTION = """b1 hq1 sq4 sk40 d16 {type}
score_mod {{
^bb0(%s: {score}):
  %a = math.absf %s : {score}
  %c = arith.constant 1.5 : {score}
  %m = arith.minimumf %a, %c : {score}
  %x = arith.mulf %m, {factor} : {score}
  %r = {function}
  attn.yield %r : {score}
}}"""


def in_region(function: str, factor: float = 1.0) -> str:
    """A problem whose score is a function of %x, between 0 and 1.5 times the factor."""
    text = FUNCTION.format(type="f32", score="f32", factor="%f", function=function)
    return text.replace("%x =", f"%f = arith.constant {factor} : f32\n  %x =")


@pytest.mark.parametrize(
    ("function", "factor"),
    [
        ("math.powf %x, %c : f32", 1.0),
        ("math.tan %x : f32", 0.9),
        ("math.sinh %x : f32", 1.0),
        ("math.cosh %x : f32", 1.0),
        ("math.asinh %x : f32", 1.0),
        ("math.atanh %x : f32", 0.5),
        ("math.clampf %x to [%f, %c] : f32", 1.0),
        ("math.tanh %x : f32", 1.0),
        ("math.exp2 %x : f32", 1.0),
        ("math.round %x : f32", 2.0),
        ("math.rsqrt %c : f32", 1.0),
    ],
)
def test_functions_of_regions(function, factor):
    check(f"--problem={in_region(function, factor)}")


@pytest.mark.parametrize(
    "function",
    ["math.log10 %x : f32", "arith.truncf %wide : f64 to f32"],
)
def test_functions_without_code_are_refused(function):
    problem = in_region(function).replace(
        "%r =", "%e = arith.extf %x : f32 to f64\n  %wide = math.sin %e : f64\n  %r ="
    )
    done = run(f"--problem={problem}")
    assert done.returncode == 1, done.stderr
    assert "expected a function with code for sm_80, found one of" in done.stderr


@pytest.mark.parametrize(
    ("type_", "widen", "narrow"),
    [
        ("i128", "fptosi", "sitofp"),
        ("i65", "fptosi", "sitofp"),
        ("f128", "extf", "truncf"),
        ("f80", "extf", "truncf"),
        ("f8E5M2", "truncf", "extf"),
    ],
)
def test_numbers_without_code_are_refused(type_, widen, narrow):
    product = "muli" if type_.startswith("i") else "mulf"
    problem = in_region(f"arith.{narrow} %product : {type_} to f32").replace(
        "%r =",
        f"%wide = arith.{widen} %x : f32 to {type_}\n  %product = arith.{product} %wide, %wide : {type_}\n  %r =",
    )
    done = run(f"--problem={problem}")
    assert done.returncode == 1, done.stderr
    assert f"expected numbers with code for sm_80, found '{type_}'; write integers of at most 64 bits" in done.stderr


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("rows", [70, 1])
def test_values_up_to_the_bound(dtype, rows, driver):
    """The largest number over the number of keys, as docs/Semantics.md has it: it is divided by the sum last."""
    keys, largest = 200, float(ml_dtypes.finfo(dtype).max)
    rng = np.random.default_rng(3)
    q, k = (rng.standard_normal((1, 1, n, 64)).astype(dtype) for n in (rows, keys))
    v = (0.99 * largest / keys * rng.choice([-1, 1], (1, 1, keys, 64))).astype(dtype)
    line = f"sq{rows} sk{keys} d64 {'f32' if dtype == np.float32 else 'bf16'}"
    (out,) = call(driver, line, q, k, v)
    size = float(np.abs(v.astype(np.float64)).max())
    exact = reference.sdpa(*(x.astype(np.float64) for x in (q, k)), v.astype(np.float64) / size)
    bound = 1e-5 if dtype == np.float32 else 0.012
    assert np.abs(out / size - exact).max() <= bound * np.abs(exact).max()
