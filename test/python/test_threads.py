"""Bits do not depend on how many threads compute them, who calls, and how many call at once."""

import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import attn
import clock
import decode_cases
from features import make
from helpers import C_COMPILER, Shape, draw
from paths import ATTNC, attnc
from test_calls import projections
from test_paged import Pages

ROOT = Path(__file__).parents[2]
THREADS = [1, 2, 7]
SHAPE = Shape(203, 131, 40, 24, b=2, hq=4, hkv=2)
BF16 = ml_dtypes.bfloat16


@pytest.fixture(autouse=True)
def restored_threads():
    yield
    attn.set_num_threads(0)


def dense(*names, dtype=np.float32, shape=SHAPE):
    tensors, options = make(shape, dtype, names)
    return lambda: attn.sdpa(*tensors, return_lse=True, **options)


def paged(lengths=(70, 0, 129, 300), **options):
    pages = Pages(16, lengths=lengths, **options)
    return lambda: attn.paged_sdpa(*pages.arguments, causal="bottom_right", return_lse=True)


def packed():
    rng = np.random.default_rng(0)
    tensors = [rng.standard_normal(shape, np.float32) for shape in ((203, 4, 40), (131, 2, 40), (131, 2, 24))]
    return lambda: attn.varlen_sdpa(*tensors, [0, 0, 5, 140, 203], [0, 9, 64, 130, 131], return_lse=True)


def appended():
    rng = np.random.default_rng(0)
    cache, new = (rng.standard_normal((3, 4, rows, 40), np.float32) for rows in (50, 7))
    return lambda: attn.kv_append(cache.copy(), new, [0, 43, 11])


def multi_head():
    arrays = projections(np.random.default_rng(0), np.float32)
    return lambda: attn.multi_head(*arrays, 4, 2)


def merged():
    halves = [attn.sdpa(*draw(SHAPE, seed=seed), return_lse=True) for seed in (1, 2)]
    return lambda: attn.merge(*halves[0], *halves[1])


KINDS = {
    "full": lambda: dense(),
    "causal": lambda: dense("bottom_right"),
    "dynamic": lambda: dense("dynamic", "top_left", "bias", "kv_lengths"),
    "masked": lambda: dense("mask", "documents", "window", dtype=BF16),
    "scored": lambda: dense("score_mod", "softcap", "sink", "bshd", dtype=np.float64),
    "dropout": lambda: dense("dropout", "q_lengths", dtype=np.float16),
    "weights": lambda: dense("weights", "dropout"),
    "one query": lambda: dense("kv_lengths", shape=Shape(1, 2049, 64, 64, hq=8, hkv=2)),
    "one query, one key head": lambda: dense("bias", "sink", shape=Shape(1, 5000, 64, 64, hq=4, hkv=1), dtype=BF16),
    "int8 keys": lambda: dense("int8", "kv_lengths", shape=Shape(1, 3000, 64, 64, b=2, hq=4, hkv=2)),
    "few queries": lambda: dense("bottom_right", dtype=BF16, shape=Shape(5, 4100, 64, 80, hq=2, hkv=1)),
    "pages": paged,
    "pages of one query": lambda: paged(sq=1, lengths=(3000, 1024)),
    "heads side by side": lambda: dense("bshd", shape=Shape(1, 1500, 64, 64, b=2, hq=8, hkv=4)),
    "pages of heads side by side": lambda: paged(sq=1, lengths=(3000, 1024), sizes=(128, 128), layout="nhd"),
    "lengths at run time": lambda: lambda: decode_cases.run(decode_cases.CASES[7], 2, 3000)[0],
    "packed": packed,
    "append": appended,
    "multi_head": multi_head,
    "merge": merged,
}


def bits(results):
    """The bytes of the results, which are overwritten: the next call may get the same memory and must fill it again."""
    found = b""
    for x in results if isinstance(results, tuple) else (results,):
        found += x.tobytes()
        x.fill(-1)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_those_of_one_thread(kind):
    run, found = KINDS[kind](), {}
    for threads in THREADS:
        attn.set_num_threads(threads)
        found[threads] = {bits(run()) for _ in range(3)}
    assert all(each == found[1] and len(each) == 1 for each in found.values())


@pytest.mark.parametrize("kind", ["causal", "few queries", "pages of one query"])
def test_several_python_threads_at_once(kind):
    run, callers = KINDS[kind](), 5
    attn.set_num_threads(1)
    expected = bits(run())
    attn.set_num_threads(7)
    together = threading.Barrier(callers)

    def call(_):
        together.wait()
        return all(bits(run()) == expected for _ in range(20))

    with ThreadPoolExecutor(callers) as pool:
        assert all(pool.map(call, range(callers), timeout=clock.NO_END))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """call_in_parallel.c over a causal kernel and the runtime."""
    folder = tmp_path_factory.mktemp("threads")
    to = ["-o", folder / "kernel.o", f"--header={folder / 'kernel.h'}"]
    attnc("--problem=hq3 sq203 d40 f32 causal=top_left", *to)
    sources = [Path(__file__).with_name("call_in_parallel.c"), folder / "kernel.o"]
    runtime = ATTNC.parents[1] / "lib" / "libattn_runtime.a"
    flags = ["-O2", "-fopenmp", f"-DSIZE={3 * 203 * 40}"]
    places = [f"-I{folder}", f"-I{ROOT / 'include'}", "-o", folder / "program"]
    subprocess.run([*C_COMPILER, *flags, *sources, runtime, "-lm", *places], check=True)
    return folder / "program"


@pytest.mark.parametrize("levels", ["1", "3"])
@pytest.mark.parametrize("team", ["1", "3", "8"])
def test_calls_inside_a_parallel_region(program, team, levels):
    subprocess.run([program, team, levels], stdout=subprocess.DEVNULL, timeout=clock.NO_END, check=True)


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_the_setting_of_openmp_is_kept(program, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=threads)
    result = subprocess.run([program, "1", "1"], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == threads
