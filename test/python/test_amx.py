"""Products by AMX tiles, which no machine of ours has: an emulator (tile_emulator.c) does what its instructions do.

Where the processor lacks AVX-512 too, `--emulated` splits the vectors; the rest of the kernel runs as it is. `attnc run
--check` compares the result with the reference.
"""

import os
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

import processor
from helpers import compile_library
from paths import ATTNC

# Problem lines, and whether the policy multiplies them by tiles. Their code has no f16 instruction of the target, as
# copies of single elements may have: only processors with tiles have those as well.
PROBLEMS = {
    "hq2 sq203 sk113 d64 bf16": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 causal=bottom_right": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 causal=bottom_right window=150,0 softcap=2 out=lse": True,
    "sq40 sk300 d32 dv64 bf16": True,
    "sq70 sk64 d64 dv256 bf16": True,
    "sq500 sk640 d256 dv96 bf16 layout=bsd": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 bias=1,4,113,203 softcap=2 sink out=lse": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 mask=2,1,113,203": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 dropout=0.3 layout=bshd": True,
    "b2 hq4 hkv2 sq113 sk203 d128 bf16 q_lengths kv_lengths": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 kv_lengths paged=16,hnd": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 kv_lengths paged=64": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 kv=int8 kvscale=token": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 kv=int8 kvscale=head kv_lengths paged=16": True,
    # A last tile of one key; rows that keep none; fewer keys than a tile.
    "hq2 sq113 sk257 d64 bf16": True,
    "hq2 sq203 sk113 d64 bf16 causal=bottom_right out=lse": True,
    "sq100 sk33 d64 bf16": True,
    "b? hq2 sq? sk? d64 bf16 causal=top_left": True,
    "b2 hq4 hkv2 sq113 sk203 d64 dv128 bf16 kv=fp8 window=3,2 align=bottom_right": True,
    "b2 hq4 hkv2 sq113 sk203 d64 bf16 kv=e5m2 kvscale=token": True,
    # Scores that stay products until they are weights, and some that do not: a scale below 0, one that is too large.
    "hq2 sq113 sk257 d64 bf16 scale=0.6 out=lse": True,
    "hq2 sq113 sk257 d64 bf16 scale=-0.2 out=lse": True,
    "hq2 sq113 sk257 d64 bf16 scale=0.8 out=lse": True,
    # Units: one, two and four of them, of a dynamic number too; heads whose shares of the weights do not fit.
    "sq32 sk64 d64 bf16 out=lse,max": True,
    "hq2 sq64 sk96 d32 dv128 bf16 causal=top_left out=lse": True,
    "hq4 hkv2 sq128 sk256 d64 bf16 window=100,20 align=top_left": True,
    "hq2 sq128 sk128 d96 dv192 bf16 scale=?": True,
    "b2 hq2 sq128 sk256 d64 bf16 bias=1,2,128,256 mask=1,1,1,256 softcap=2 kv_lengths out=lse": True,
    "b? hq2 sq? sk256 d64 bf16": True,
    "b2 hq2 sq128 sk200 d64 bf16 layout=varlen causal=top_left": True,
    # Key tiles that are packed first: of packed sequences, one longer than a tile; a window that leaves some out;
    # heads that share V, and batch indices of their own lengths; K that is widened, also from pages.
    "b3 hq4 hkv2 sq300 sk300 d64 bf16 layout=varlen causal=top_left": True,
    "b3 hq2 sq? sk? d64 bf16 layout=varlen causal=bottom_right window=70,0 out=lse": True,
    "b2 hq4 hkv2 sq200 sk400 d64 bf16 layout=bshd window=50,60 align=bottom_right strided": True,
    "b2 hq4 hkv1 sq129 sk400 d64 bf16 kv_lengths q_lengths": True,
    "hq2 sq300 sk600 d64 bf16 chunk=200 causal=top_left": True,
    "b2 hq4 hkv2 sq200 sk300 d64 bf16 kv=fp8 kv_lengths paged=16 window=90,0 align=bottom_right": True,
    # Few queries of many heads on one of K: the rows of a decode tile.
    "hq16 hkv1 sq1 sk203 d64 bf16 out=lse": True,
    "b2 hq32 hkv2 sq1 sk113 d64 dv128 bf16 kv_lengths paged=16": True,
    "hq16 hkv2 sq4 sk203 d64 bf16 causal=bottom_right layout=bshd": True,
    "hq16 hkv1 sq2 sk2500 d32 bf16 kv=int8 kvscale=token": True,
    "hq16 hkv1 sq1 sk65 d64 bf16 kv=fp8 softcap=2": True,
    "hq16 hkv1 sq1 sk65 d64 bf16 kv=e5m2 kv_lengths paged=16": True,
    "hq16 hkv1 sq1 sk? d64 bf16": True,
    # Gradients: tails of rows and keys, groups, masks that rows differ in, one of them alone, both kinds of sums.
    "hq1 sq64 sk64 d64 bf16 grad=q,k,v": True,
    "b2 hq4 hkv2 sq40 sk75 d64 bf16 causal=bottom_right grad=q,k,v": True,
    "hq2 sq80 sk40 d32 dv96 bf16 window=20,3 align=top_left grad=q,k,v": True,
    "hq1 sq203 sk203 d32 bf16 window=20,3 align=top_left grad=q,k,v": True,
    "hq1 sq70 sk90 d64 bf16 bias=1,1,70,90 mask=1,1,70,90 softcap=2 grad=q,k,v,bias": True,
    "b2 hq2 sq70 sk90 d64 bf16 layout=varlen causal=top_left grad=q,k,v": True,
    "hq1 sq65 sk33 d64 bf16 dropout=0.3 grad=q,k,v": True,
    "hq2 sq65 sk33 d64 bf16 grad=q": True,
    "hq1 sq1024 sk1024 d32 bf16 causal=top_left grad=k,v": True,
    # Parts of f16 and f32: masks, a bias, modified weights, K and V that are widened, of a last tile and of pages.
    "b2 hq4 hkv2 sq113 sk203 d64 f16 causal=bottom_right window=150,0 softcap=2 out=lse": True,
    "b2 hq4 hkv2 sq113 sk203 d64 f16 kv=int8 kvscale=token": True,
    "b2 hq4 hkv2 sq113 sk203 d64 f16 kv_lengths paged=16,hnd": True,
    "hq2 sq64 sk96 d32 dv128 f16 causal=top_left out=lse": True,
    "hq2 sq203 sk113 d64 f32 causal=bottom_right out=lse": True,
    "b2 hq4 hkv2 sq113 sk203 d64 f32 bias=1,4,113,203 softcap=2 sink out=lse": True,
    "b2 hq4 hkv2 sq113 sk203 d64 f32 dropout=0.3 layout=bshd": True,
    "b2 hq4 hkv2 sq113 sk203 d64 f32 q_lengths kv_lengths paged=64": True,
    "b2 hq2 sq128 sk200 d64 f32 layout=varlen causal=top_left": True,
    "b? hq2 sq? sk? d64 f32 causal=top_left": True,
    "hq2 sq113 sk257 d64 f32 scale=-0.2 out=lse,max": True,
    "hq2 sq64 sk96 d64 f32 causal=top_left grad=q,k,v": True,
    # By other instructions: few rows, heads that are no whole tiles.
    "hq2 sq1 sk203 d64 bf16": False,
    "hq8 hkv1 sq1 sk203 d64 bf16": False,
    "hq2 sq113 sk203 d59 bf16": False,
    "hq2 sq113 sk203 d80 bf16": False,
    "hq2 sq113 sk0 d64 bf16": False,
}
SIZES = {"b?": "b=2", "sq?": "sq=113", "sk?": "sk=203"}


@pytest.fixture(scope="session")
def emulator(tmp_path_factory):
    """tile_emulator.c, compiled."""
    return compile_library("tile_emulator.c", tmp_path_factory.mktemp("tiles"))


def run(problem, emulator, *options):
    command = [ATTNC, "run", f"--problem={problem}", "--target=sapphirerapids", "--check", "--emulated", *options]
    if sizes := [size for token, size in SIZES.items() if token in problem.split()]:
        command.append("--size=" + ",".join(sizes))
    run = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(emulator)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert ": ok" in run.stdout
    return bool(re.search(r"tile emulator: (\d+) products", run.stderr))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_products_by_tiles(problem, emulator):
    processor.skip_unless("avx2", "fma", "f16c")
    emulated = run(problem, emulator)
    # A processor that has them needs no emulator.
    assert processor.has("amx-bf16") or emulated == PROBLEMS[problem]


TILES = [
    "query_tile = 16, key_tile = 32, overlap = false",
    "query_tile = 48, key_tile = 160, overlap = false",
    "query_tile = 64, key_tile = 64, overlap = true",
    "query_tile = 96, key_tile = 160, overlap = true",
    "overlap = false",
    "query_tile = 32, key_tile = 96, pack_first = false",
]


@pytest.mark.parametrize("tile", TILES)
def test_other_tiles(tile, emulator):
    processor.skip_unless("avx2", "fma", "f16c")
    run("b2 hq4 hkv2 sq113 sk203 d64 bf16 causal=bottom_right", emulator, f"--schedule=#attn.prefill<{tile}>")


def test_weights_are_rounded_to_nearest(emulator, tmp_path):
    """A V of ones is left as it is: the mean of weights that were cut off would be a step of bf16 below 1."""
    processor.skip_unless("avx2", "fma", "f16c")
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal((1, 2, rows, 64)).astype(ml_dtypes.bfloat16) for rows in (64, 200))
    words = []
    for i, x in enumerate((q, k, np.ones_like(k))):
        np.save(tmp_path / f"{i}.npy", x.view("V2"))
        words.append(f"--input={tmp_path / f'{i}.npy'}")
    run("b1 hq2 sq64 sk200 d64 bf16", emulator, *words, f"--output={tmp_path / 'out.npy'}")
    out = np.load(tmp_path / "out.npy").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(out.astype(np.float32), 1)


def test_a_sum_beside_its_maximum_has_no_part_of_it(emulator, tmp_path):
    """Of large scores, most rows keep one weight, which is 1: ln l is 0, and no weight of a backward pass is more."""
    processor.skip_unless("avx2", "fma", "f16c")
    rng = np.random.default_rng(0)
    words = [f"--output={tmp_path / name}.npy" for name in ("out", "max", "log_sum")]
    for i, rows in enumerate((64, 96, 96)):
        np.save(tmp_path / f"{i}.npy", (rng.standard_normal((1, 1, rows, 64)) * 300).astype(np.float16))
        words.append(f"--input={tmp_path / f'{i}.npy'}")
    run("sq64 sk96 d64 f16 out=max,log_sum", emulator, *words)
    assert not np.load(tmp_path / "log_sum.npy").any()
