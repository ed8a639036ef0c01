"""Backward kernels of GPUs, executed: the emulator checks each access, and the outputs against the f64 reference.

attn-ptx-run takes out and lse from the forward pass of the same inputs. Rows that no query may read are NaN.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clock
import test_backward_capture_kernels as captures
from attn.trace import _trace
from helpers import BF16
from paths import ATTNC

RUN = ATTNC.with_name("attn-ptx-run")
DRIVER = ATTNC.parents[1] / "lib" / "libcuda_emulator.so"
# Odd sizes, empty rows, groups, two sums in one kernel and in two (D beyond 128), every kind of mask, packed sequences.
# Biases of every batch index and head, and shared by them, by queries; sinks; a scale.
LINES = """
b1 hq2 sq113 sk203 d64 bf16 grad=q,k,v
b2 hq4 hkv2 sq128 sk128 d64 causal=offset bf16 grad=q,k,v
b1 hq2 sq113 sk203 d64 causal=bottom_right f16 grad=q,k,v
b1 hq2 sq100 sk100 d128 causal=offset bf16 grad=q,k,v
b1 hq4 hkv1 sq70 sk90 d32 window=20,0 align=offset bf16 grad=q,k,v
b1 hq1 sq64 sk64 d64 f32 grad=q,k,v
b1 hq2 sq64 sk70 d256 bf16 grad=q,k,v
b1 hq2 sq64 sk70 d192 dv128 bf16 causal=offset grad=q,k,v
b1 hq2 sq40 sk70 d64 bf16 softcap=20 grad=q,k,v
b1 hq2 sq40 sk70 d64 bf16 dropout=0.2 grad=q,k,v
b1 hq4 hkv2 sq113 sk204 d64 bf16 dropout=0.3 causal=bottom_right grad=q,k,v
b2 hq2 sq40 sk70 d64 bf16 bias=1,1,40,70 grad=q,k,v
b2 hq2 sq40 sk70 d64 bf16 mask=1,1,40,70 grad=q,k,v
b3 hq2 sq40 sk70 d64 bf16 kv_lengths q_lengths grad=q,k,v
b2 hq2 sq? sk? d64 bf16 causal=offset grad=q,k,v
b2 hq4 hkv2 sq40 sk70 d64 bf16 layout=bshd causal=offset grad=q,k,v
b3 hq2 sq? sk? d64 bf16 layout=varlen grad=q,k,v
b3 hq4 hkv2 sq? sk? d64 bf16 layout=varlen causal=offset grad=q,k,v
b3 hq4 hkv1 sq? sk? d64 bf16 layout=varlen window=10,5 align=bottom_right grad=q,k,v
b1 hq2 sq64 sk64 d64 bf16 chunk=16 grad=q,k,v
b1 hq1 sq16 sk16 d32 bf16 causal=offset grad=q,k,v
b1 hq1 sq33 sk31 d64 f32 grad=v,k into=v
b1 hq1 sq31 sk20 d64 bf16 layout=varlen causal=bottom_right grad=q,k,v
b1 hq1 sq16 sk16 d8 dv256 bf16 softcap=2 layout=varlen grad=q q_origin
b2 hq? sq? sk? d64 bf16 causal=bottom_right chunk=64 layout=varlen grad=v,k
b40 hq2 hkv1 sq200 sk130 d64 bf16 causal=bottom_right layout=varlen grad=q,k,v
b1 hq1 sq16 sk16 d160 bf16 causal=offset grad=q,k,v
b1 hq1 sq33 sk40 d32 bf16 kv_lengths q_lengths causal=bottom_right grad=q,k,v
b2 hq2 sq64 sk1 d64 bf16 grad=q,k,v
b2 hq2 sq16 sk0 d64 bf16 grad=q,k,v
b1 hq4 hkv2 sq40 sk70 d64 bf16 causal=offset grad=q
b1 hq4 hkv2 sq40 sk70 d64 bf16 causal=offset grad=k
b1 hq4 hkv2 sq40 sk70 d64 bf16 causal=offset grad=v
b1 hq1 sq40 sk70 d160 bf16 grad=q,v
b1 hq1 sq16 sk16 d256 dv8 f32 kv=bf16 grad=v
b2 hq4 hkv2 sq70 sk90 d64 bf16 bias=2,4,70,90 grad=q,k,v,bias
b2 hq2 sq70 sk90 d64 f16 bias=2,1,1,90 grad=bias
b2 hq2 sq? sk? d64 bf16 bias=1,1,?,? causal=bottom_right grad=q,bias
b3 hq2 sq40 sk70 d64 f32 kv_lengths q_lengths bias=3,2,40,70 grad=bias
b1 hq2 sq70 sk70 d64 bf16 softcap=20 bias=1,2,70,70 dropout=0.2 grad=q,bias
b1 hq1 sq16 sk16 d64 bf16 bias=1,1,16,16 grad=q,k,v,bias
b2 hq2 sq64 sk0 d64 bf16 bias=1,1,64,0 grad=q,bias
b2 hq4 hkv2 sq70 sk64 d64 bf16 sink causal=bottom_right grad=q,k,v,sink
b3 hq2 sq? sk? d64 bf16 layout=varlen sink causal=offset grad=sink
b2 hq2 sq70 sk64 d64 f32 sink kv_lengths q_lengths grad=sink
b2 hq2 sq70 sk64 d64 bf16 scale=? grad=q,scale
b1 hq2 sq70 sk70 d64 bf16 kv=int8 grad=q,k_scale,v_scale causal=offset
b1 hq2 sq70 sk90 d64 bf16 result=f32 grad=q,k,v into=q,k,v
b2 hq4 hkv2 sq70 sk90 d64 f32 grad=q,k,v into=k causal=offset
""".strip().splitlines()

# By wgmma: panels of 64 columns and less, tiles of columns in part, keys and queries behind a length (a NaN), queries
# without keys, sums in one kernel and in two, what weights and their gradients are not computed apart for.
WGMMA_LINES = """
b1 hq2 sq113 sk203 d128 bf16 grad=q,k,v
b1 hq4 hkv2 sq140 sk90 d64 causal=bottom_right f16 grad=q,k,v
b1 hq1 sq40 sk70 d192 dv40 bf16 causal=offset grad=q,k,v
b1 hq1 sq70 sk130 d256 bf16 causal=top_left grad=q,k,v
b2 hq2 sq48 sk130 d64 bf16 kv_lengths q_lengths grad=q,k,v
b1 hq4 hkv1 sq70 sk90 d32 window=20,0 align=offset bf16 grad=q,k,v
b1 hq2 sq70 sk70 d64 bf16 chunk=16 grad=q,k,v
b1 hq2 sq40 sk70 d64 bf16 softcap=20 grad=q,k,v
b1 hq2 sq40 sk70 d64 bf16 dropout=0.2 grad=q,k,v
b1 hq4 hkv2 sq113 sk204 d64 bf16 dropout=0.3 causal=bottom_right grad=q,k,v
b1 hq2 sq70 sk132 d128 f16 dropout=0.4 grad=q,k,v
b2 hq2 sq40 sk70 d64 bf16 bias=1,1,40,70 grad=q,k,v
b2 hq2 sq40 sk70 d64 bf16 mask=1,1,40,70 grad=q,k,v
b1 hq2 sq70 sk90 d64 bf16 causal=offset q_origin k_origin grad=q,k,v
b2 hq4 hkv2 sq40 sk70 d64 bf16 layout=bshd causal=offset grad=q,k,v
b3 hq4 hkv2 sq? sk? d64 bf16 layout=varlen causal=offset grad=q,k,v
b1 hq2 sq? sk? d96 bf16 causal=bottom_right grad=q,k,v
b1 hq2 sq64 sk70 d64 bf16 sink grad=q,v
b1 hq3 hkv1 sq40 sk48 d64 f16 grad=k,v
b2 hq4 sq70 sk0 d96 bf16 grad=q bias=1,4,1,0 kv_lengths
b2 hq2 sq70 sk130 d64 bf16 bias=1,2,70,130 sink grad=q,k,v,bias,sink
""".strip().splitlines()
CASES = [("sm_80", line) for line in LINES] + [("sm_90a", line) for line in WGMMA_LINES]


def run(*words) -> subprocess.CompletedProcess:
    return subprocess.run(
        [RUN, "--kernel=sdpa_backward", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=clock.NO_END,
    )


@pytest.fixture(scope="module")
def runs():
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(
            zip(
                CASES,
                pool.map(lambda case: run(f"--problem={case[1]}", f"--target={case[0]}"), CASES),
                strict=True,
            )
        )


@pytest.mark.parametrize(("target", "line"), CASES)
def test_gradients_are_right(runs, target, line):
    done = runs[target, line]
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = re.search(r" grad=(\S+)", line)[1].split(",")
    assert set(wanted) <= set(re.findall(r"\bd(\w+): largest error .*: ok", done.stdout))


@pytest.mark.parametrize(("target", "group"), [("sm_80", "rows"), ("sm_80", "scattered"), ("sm_90a", "keys")])
def test_captured_tensors(monkeypatch, target, group):
    """Of a score_mod: elements that rows, heads or batch indices share, and those of positions in any order."""
    monkeypatch.setattr(captures, "SQ", 40)
    monkeypatch.setattr(captures, "SK", 50)
    mod, tables = captures.GROUPS[group](np.random.default_rng(5), np.float32)
    regions = _trace.trace(mod, None, (captures.B, captures.HQ, 40, 50), "f32").regions.text
    line = f"b{captures.B} hq{captures.HQ} hkv{captures.HKV} sq40 sk50 d64 dv80 bf16 grad=q,k,v,{','.join(tables)}"
    done = run(f"--problem={line}\n{regions}", f"--target={target}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"q", "k", "v", *tables} <= set(re.findall(r"\bd(\w+): largest error .*: ok", done.stdout))


def test_an_empty_row_beside_a_key_that_is_nan(tmp_path):
    """dq of a row without keys is 0, whatever the keys are that other rows of its tile keep."""
    rng = np.random.default_rng(0)
    q, k, v, out, dout = (rng.standard_normal((1, 1, n, 32)).astype(np.float32) for n in (20, 16, 16, 20, 20))
    k[0, 0, 0] = np.nan  # causal=bottom_right: rows 4 to 19 keep it, rows 0 to 3 keep nothing
    lse = np.where(np.arange(20) < 4, -np.inf, np.nan).astype(np.float32)[None, None]
    words = []
    for i, x in enumerate((q, k, v, out, lse, lse, dout)):  # max and log_sum
        np.save(tmp_path / f"{i}.npy", x)
        words.append(f"--input={tmp_path / f'{i}.npy'}")
    words += [f"--output={tmp_path / name}.npy" for name in ("dq", "dk", "dv")]
    line = "b1 hq1 sq20 sk16 d32 f32 causal=bottom_right grad=q,k,v"
    command = [ATTNC, "run", f"--problem={line}", "--kernel=sdpa_backward", "--target=sm_80", f"--cuda-driver={DRIVER}"]
    subprocess.run([*command, *words], check=True, timeout=clock.NO_END)
    dq = np.load(tmp_path / "dq.npy")[0, 0]
    assert not dq[:4].any()
    assert np.isnan(dq[4:]).all()


@pytest.mark.parametrize("line", ["d32 f32", "d32 f32 causal=top_left"])
def test_a_maximum_below_the_scores(tmp_path, line):
    """What rounding makes of large scores, made of small ones: no weight is more than 1 / l, and NaN stays."""
    rng = np.random.default_rng(0)
    q, k, v, dout = (rng.standard_normal((1, 1, 32, 32)).astype(np.float32) for _ in range(4))
    s = (q[0, 0].astype("f8") @ k[0, 0].T) * 32**-0.5
    s = np.where(np.tri(32, dtype=bool), s, -np.inf) if "causal" in line else s
    row_max = s.max(-1) - 2
    log_sum = np.log(np.exp(s - s.max(-1, keepdims=True)).sum(-1))
    expected = (np.exp(np.minimum(s - row_max[:, None], 0) - log_sum[:, None])).T @ dout[0, 0].astype("f8")
    found = []
    for first in (q[0, 0, 0, 0], np.nan):
        q[0, 0, 0, 0] = first
        words = [f"--output={tmp_path / 'dv'}.npy"]
        for i, x in enumerate((q, k, v, np.zeros_like(q), row_max[None, None], log_sum[None, None], dout)):
            np.save(tmp_path / f"{i}.npy", x.astype(np.float32))
            words.append(f"--input={tmp_path / f'{i}.npy'}")
        command = [ATTNC, "run", f"--problem=b1 hq1 sq32 sk32 {line} grad=v", "--kernel=sdpa_backward"]
        devices = ["--target=sm_80", f"--cuda-driver={DRIVER}"]
        subprocess.run([*command, *devices, *words], check=True, timeout=clock.NO_END)
        found.append(np.load(tmp_path / "dv.npy")[0, 0])
    np.testing.assert_allclose(found[0], expected, atol=2e-3 * np.abs(expected).max())
    assert np.isnan(found[1][0]).all()


@pytest.mark.parametrize("large", [1, 2**20])
def test_wgmma_beside_numpy(tmp_path, large):
    """In f64, by the formulas: heads that share K, queries without keys, and scores that an exponent would round."""
    rng = np.random.default_rng(1)
    # Multiples of 1/4, of which f32 has every product exactly.
    shapes = {"q": (1, 4, 190, 64), "dout": (1, 4, 190, 64), "k": (1, 2, 130, 64), "v": (1, 2, 130, 64)}
    q, dout, k, v = ((np.round(4 * rng.standard_normal(x)) / 4).astype(BF16) for x in shapes.values())
    q[:, :, ::5] = np.round(q[:, :, ::5].astype(np.float32)).astype(BF16) * BF16(large)
    wide = {name: x.astype(np.float64) for name, x in zip("qkvd", (q, k, v, dout), strict=True)}
    keys, values = (np.repeat(wide[name], 2, axis=1) for name in "kv")
    kept = np.arange(130) <= np.arange(190)[:, None] - 60  # causal=bottom_right
    scores = np.where(kept, wide["q"] @ keys.swapaxes(2, 3) / 8, -np.inf)
    lse = scores.max(-1)
    weights = np.exp(np.where(kept, scores - np.where(kept.any(-1), lse, 0)[..., None], -np.inf))
    sums = weights.sum(-1)
    weights /= np.where(sums, sums, 1)[..., None]
    out = weights @ values
    dscores = weights * (wide["d"] @ values.swapaxes(2, 3) - (wide["d"] * out).sum(-1)[..., None]) / 8
    expected = {
        "dq": dscores @ keys,
        "dk": (dscores.swapaxes(2, 3) @ wide["q"]).reshape(1, 2, 2, 130, 64).sum(2),
        "dv": (weights.swapaxes(2, 3) @ wide["d"]).reshape(1, 2, 2, 130, 64).sum(2),
    }
    log_sum = np.log(np.where(sums, sums, 1)).astype(np.float32)
    inputs = {"q": q, "k": k, "v": v, "out": out.astype(BF16), "m": lse.astype(np.float32), "l": log_sum, "dout": dout}
    line = "b1 hq4 hkv2 sq190 sk130 d64 bf16 causal=bottom_right grad=q,k,v"
    words = []
    for name, x in inputs.items():
        np.save(tmp_path / f"{name}.npy", x.view("V2") if x.dtype == BF16 else x)
        words.append(f"--input={tmp_path / name}.npy")
    words += [f"--output={tmp_path / name}.npy" for name in expected]
    command = [
        ATTNC,
        "run",
        f"--problem={line}",
        "--kernel=sdpa_backward",
        "--target=sm_90a",
        f"--cuda-driver={DRIVER}",
    ]
    subprocess.run([*command, *words], check=True, timeout=clock.NO_END)
    for name, x in expected.items():
        found = np.load(tmp_path / f"{name}.npy").view(BF16).astype(np.float64)
        assert np.linalg.norm(found - x) < 0.008 * np.linalg.norm(x), name
        assert np.abs(found - x).max() < 0.012 * np.abs(x).max(), name


CHECKERS = """b1 hq1 sq400 sk512 d64 bf16 grad=q,k,v
mask_mod {
  %size = arith.constant 128 : index
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %i = attn.index query : index
  %j = attn.index key : index
  %x = arith.divui %i, %size : index
  %y = arith.divui %j, %size : index
  %sum = arith.addi %x, %y : index
  %rest = arith.remui %sum, %two : index
  %keep = arith.cmpi eq, %rest, %zero : index
  attn.yield %keep : i1
}"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_map_says_which_tiles_are_visited(target):
    """Half of the tiles, which no range of rows tells: less work than of all of them without a mask."""

    def count(problem: str) -> int:
        done = run(f"--problem={problem}", f"--target={target}", "--magnitude=1")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(": ok\n") >= 3
        return sum(map(int, re.findall(r"(\d+) instructions of warps", done.stdout)[-2:]))  # dQ; dK and dV

    assert count(CHECKERS) < 0.9 * count(CHECKERS.splitlines()[0])
