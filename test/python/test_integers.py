"""Integers of score_mod and mask_mod: they are those of int64, which wrap, in kernels and in the reference alike."""

import ml_dtypes
import numpy as np
import pytest

import attn
from helpers import Shape, check, draw, in_child
from paths import ATTNC, call

MIN, MAX = -(2**63), 2**63 - 1
PREFILL, DECODE = Shape(41, 83, 16, 16, b=2, hq=4, hkv=2), Shape(1, 83, 16, 16, b=2, hq=4, hkv=2)
KERNELS = {"prefill": (PREFILL, False), "decode": (DECODE, False), "dynamic": (PREFILL, True)}
RNG = np.random.default_rng(5)
TABLE = RNG.standard_normal(64).astype(np.float32)
# Every pair of them is divided.
ENDS = np.array([MIN, MIN + 1, -3, -1, 0, 1, 2, 7, MAX - 1, MAX])
DIVIDENDS, DIVISORS = (x.reshape(-1)[:83].copy() for x in np.meshgrid(ENDS, ENDS))

parametrize_kernel = pytest.mark.parametrize("kernel", KERNELS)


def fraction(x):
    """A float between −1 and 1 of every bit of an integer, exact in f32: a score must not be large."""
    return (x % 65521) / 65536.0 - (x // 65521 % 4093) / 4096.0


@parametrize_kernel
@pytest.mark.parametrize("first", [6364136223846793005, -7046029254386353131, 2**61 + 1])
def test_a_hash_stays_in_its_table(kernel, first):
    in_child(f"import test_integers\ntest_integers.check_hash({kernel!r}, {first})")


def check_hash(kernel, first):
    shape, dynamic = KERNELS[kernel]
    table = TABLE

    def hashed(s, b, h, i, j):
        return s + table[(i * first + j * 1442695040888963407 + b) % 64] + table[(h - j * first) % len(table)]

    check(*draw(shape), dynamic=dynamic, score_mod=hashed)


@parametrize_kernel
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
def test_division_at_the_ends_of_a_type(kernel, dtype):
    in_child(f"import test_integers, numpy\ntest_integers.check_division({kernel!r}, numpy.{dtype.__name__})")


def check_division(kernel, dtype):
    """Of the smallest integer by −1, and of all by 0, in score_mod and mask_mod; by lanes and by scalars."""
    shape, dynamic = KERNELS[kernel]
    ends = np.iinfo(dtype)
    x, y = (np.clip(values, ends.min, ends.max).astype(dtype) for values in (DIVIDENDS, DIVISORS))
    check(
        *draw(shape),
        dynamic=dynamic,
        score_mod=lambda s, b, h, i, j: s + fraction(x[j] // y[j]) + fraction(x[i] % y[h]) + fraction(x[h] // y[b]),
        mask_mod=lambda b, h, i, j: (x[j] % y[j] <= 2) | (x[i] // y[j] < i),
    )


GPU_REGIONS = """b3 hq2 sq17 sk33 d16 f32
score_mod {
^bb0(%score: f32):
POSITIONS
  %first = arith.OP %j, %b : TYPE
  %second = arith.OP %h, %i : TYPE
  %sum = arith.addi %first, %second : TYPE
  %float = arith.sitofp %sum : TYPE to f32
  %small = arith.constant 0.015625 : f32
  %term = arith.mulf %float, %small : f32
  %result = arith.addf %score, %term : f32
  attn.yield %result : f32
}
mask_mod {
POSITIONS
  %limit = arith.constant 3 : TYPE
  %number = arith.OP %i, %j : TYPE
  %keep = arith.cmpi slt, %number, %limit : TYPE
  attn.yield %keep : i1
}"""


@pytest.mark.parametrize("dtype", ["i64", "i32", "i8"])
@pytest.mark.parametrize("op", ["floordivsi", "remsi", "remui"])
def test_division_on_a_gpu(op, dtype):
    """By positions from -1 on, 0 among them."""
    lines = [f"  %one = arith.constant 1 : {dtype}"]
    for name, position in zip("bhij", ("batch", "head", "query", "key"), strict=True):
        lines += [f"  %{name}0 = attn.index {position} : index"]
        lines += [f"  %{name}1 = arith.index_cast %{name}0 : index to {dtype}"]
        lines += [f"  %{name} = arith.subi %{name}1, %one : {dtype}"]
    problem = GPU_REGIONS.replace("POSITIONS", "\n".join(lines)).replace("OP", op).replace("TYPE", dtype)
    assert "out: " in call(ATTNC.with_name("attn-ptx-run"), f"--problem={problem}")


NARROW = {
    "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32,
    "uint64": np.uint64, "bool": np.bool_, "f16": np.float16, "f32": np.float32, "bf16": ml_dtypes.bfloat16,
    "fp8": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "int4": ml_dtypes.int4,
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("element", [np.float32, np.float64])
def test_captured_numbers_are_widened(name, element):
    """Arithmetic of theirs would wrap or round in NumPy; of predicates it would be one predicate."""
    dtype = np.dtype(NARROW[name])
    largest = 7.0 if name == "int4" else 100.0
    if dtype.kind in "iu":
        largest = float(min(np.iinfo(dtype).max, 2**20))
    table = (RNG.random(83) * largest).astype(np.float64).astype(dtype)
    weight = np.asarray(table[0])
    check(
        *draw(PREFILL, element),
        score_mod=lambda s, b, h, i, j: (
            s + (table[j] * table[i] + table[j]) * (table[h] + weight) / (1 + 4 * largest**3)
        ),
        mask_mod=lambda b, h, i, j: table[j] + table[i] >= table[h],
    )


def test_arithmetic_on_whole_arrays_and_constants_is_widened():
    table, other, scalar = np.full(83, 100, np.int8), np.array([100, 27], np.int8), np.uint8(200)
    check(
        *draw(PREFILL),
        score_mod=lambda s, b, h, i, j: (
            s + ((table + 100) * 2)[j] / 500.0 + (other[0] + other[1] + other.max()) / 300.0 + scalar * i / 1e4
        ),
        mask_mod=lambda b, h, i, j: (i * np.int8(100) * np.int8(2) >= j) | ((i > 3) + (j > 5) == 2),
    )


def test_integer_powers_wrap():
    powers = np.array([0, 1, 2, 63, 64, 70])
    check(
        *draw(PREFILL),
        score_mod=lambda s, b, h, i, j: s + fraction(i**20) + fraction(j**3 - i**64) + fraction(3 ** powers[h]),
        mask_mod=lambda b, h, i, j: (2 ** powers[h] != i) & ((-2) ** h <= j) & (i**0 == 1),
    )


TABLES = [attn.capture(x) for x in (DIVIDENDS, DIVISORS, DIVIDENDS.astype(np.int8), np.arange(83, dtype=np.uint8))]
LIMITS, LOWER, NEAR = np.array([MAX, 5]), np.array([MIN, 5]), np.array([MAX - 3, MIN + 3])
FACTOR = 1_000_003
# Masks that become key ranges, with numbers of 64 bits in them: an end that wraps, arithmetic that does.
MASKS = [
    lambda b, h, i, j: j <= LIMITS[b],
    lambda b, h, i, j: j > LIMITS[b],
    lambda b, h, i, j: ~(j >= LOWER[b]) | (j == 3),
    lambda b, h, i, j: i - j < LOWER[b],
    lambda b, h, i, j: i + LIMITS[b] >= j,
    lambda b, h, i, j: i + NEAR[b] >= j,
    lambda b, h, i, j: j < i - NEAR[b],
    lambda b, h, i, j: i + NEAR[b] <= j + NEAR[b],
    lambda b, h, i, j: i < LIMITS[b] + 1,
    lambda b, h, i, j: j < i * FACTOR * FACTOR * FACTOR * FACTOR,
    lambda b, h, i, j: j <= (i * FACTOR * FACTOR * FACTOR * FACTOR) // 7,
    lambda b, h, i, j: j <= (i + LIMITS[b]) // 3,
    lambda b, h, i, j: j < attn.where(i < 7, LIMITS[b], NEAR[b]) + 4,
]


@pytest.mark.parametrize("number", range(len(MASKS)))
def test_ranges_of_keys_know_where_a_predicate_wraps(number):
    for shape in (Shape(130, 203, 16, 16, b=2), Shape(1, 203, 16, 16, b=2)):
        check(*draw(shape), mask_mod=MASKS[number])


CONSTANTS = [0, 1, -1, 2, 3, -7, 64, 4096, 2**31 - 1, -(2**31), 2**32, 1_000_003, 6364136223846793005, MIN, MAX]
UNARY = [lambda x: -x, attn.abs, lambda x: x**3, lambda x: attn.where(x < 0, x, 5)]
BINARY = [
    *2 * [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x // y, lambda x, y: x % y],
    attn.minimum, attn.maximum, lambda x, y: attn.where(x <= y, x, y + 1), lambda x, y: (x == y) + (x > y),
]  # fmt: skip


def draw_expression(rng, depth):
    """A function of (b, h, i, j) to an integer, at random; of tables too, at places that a modulus holds inside."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.3:
            constant = CONSTANTS[rng.integers(len(CONSTANTS))]
            return lambda *positions: positions[0] * 0 + constant
        place = rng.integers(4)
        return lambda *positions: positions[place]
    first, second = draw_expression(rng, depth - 1), draw_expression(rng, depth - 1)
    kind = rng.random()
    if kind < 0.15:
        function = UNARY[rng.integers(len(UNARY))]
        return lambda *positions: function(first(*positions))
    if kind < 0.35:
        table = TABLES[rng.integers(4)]
        return lambda *positions: table[first(*positions) % len(table)]
    function = BINARY[rng.integers(len(BINARY))]
    return lambda *positions: function(first(*positions), second(*positions))


def check_random(kernel, seed):
    shape, dynamic = KERNELS[kernel]
    rng = np.random.default_rng(seed)
    scores = [draw_expression(rng, 3) for _ in range(4)]
    masks = [draw_expression(rng, 2) for _ in range(4)]

    def score_mod(s, *positions):
        return s + sum(fraction(x(*positions) + positions[0]) for x in scores)

    def mask_mod(*positions):
        first, second, third, fourth = (x(*positions) + positions[0] for x in masks)
        return (first <= second) | (third > positions[3] + fourth)

    check(*draw(shape), dynamic=dynamic, score_mod=score_mod, mask_mod=mask_mod)


@parametrize_kernel
@pytest.mark.parametrize("seed", range(2))
def test_random_expressions(kernel, seed):
    in_child(f"import test_integers\ntest_integers.check_random({kernel!r}, {seed})")


REFUSED = {
    "an index that may wrap": (
        lambda s, b, h, i, j: s + TABLE[i * MAX + j], r"may leave int64; write attn.clip\(…, 0, 63\) or \(…\) % 64"
    ),
    "a modulus that may be negative": (lambda s, b, h, i, j: s + TABLE[i % (h - 9)], "found -8 to 0 possible"),
    "a constant beyond int64": (
        lambda s, b, h, i, j: s + i * 0x9E3779B97F4A7C15,
        "64 bits.*found 11400714819323198485; write -7046029254386353131"
    ),
    "a power below 0": (lambda s, b, h, i, j: s + 2 ** (h - 1), "from 0 on, found -1 to 2 possible; write a float"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_to_write(name):
    function, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        attn.sdpa(*draw(PREFILL), score_mod=function)
