"""Containment as a property: what lies beyond lengths reaches nothing, whatever masks stand beside them.

A seed draws a call: sizes, groups, masks, functions that read b, h, i, j and captured arrays. Its inputs hold random
numbers beyond the lengths, then NaN: all outputs and gradients have equal bits, and agree with attn.reference. So it is
with dout of rows that keep no key.
"""

import dataclasses
import subprocess

import ml_dtypes
import numpy as np
import pytest

import attn
import processor
from attn.reference import _forward
from helpers import assert_within
from paths import ATTNC

MASKS = {
    "parity of the head": lambda b, h, i, j: (j + h) % 2 != 0,
    "window of the head": lambda b, h, i, j: abs(i - j) <= 2 * h + 1,
    "batch and row": lambda b, h, i, j: (i + j + b) % 3 != 0,
    "head or near": lambda b, h, i, j: (h % 2 == 0) | (j <= i + 2),
    "key": lambda b, h, i, j: j != 1,
    "no head": lambda b, h, i, j: h < 0,
}


@dataclasses.dataclass
class Call:
    """A call with the arrays that it takes, and what of them lies beyond the lengths."""

    arrays: dict
    options: dict
    captured: dict
    lengths: dict

    @classmethod
    def draw(cls, seed: int) -> "Call":
        """The call of a seed."""
        rng = np.random.default_rng(seed)
        choose = lambda *choices: choices[rng.integers(len(choices))]  # noqa: E731
        b, (hq, hkv) = choose(1, 2, 3), choose((1, 1), (2, 1), (4, 2), (3, 3))
        sq, sk = choose((1, 4), (1, 70), (5, 7), (33, 20), (20, 40), (17, 17))
        d, dv = choose((8, 8), (16, 8), (5, 3))
        dtype = choose(np.float32, np.float32, np.float64)
        lengths = {"q": rng.integers(0, sq + 1, b), "k": rng.integers(0, sk + 1, b)}
        which = choose("k", "k", "qk", "qk", "q")
        options = {f"{name}_lengths": lengths[x] for x, name in (("q", "q"), ("k", "kv")) if x in which}
        lengths = {x: lengths[x] if x in which else np.full(b, {"q": sq, "k": sk}[x]) for x in "qk"}
        alignment = choose("top_left", "bottom_right", rng.integers(-3, 20, b))
        kind = choose("", "", "causal", "window", "chunk")
        options |= {"": {}, "causal": {"causal": alignment}}.get(kind, {"align": alignment})
        options |= {"window": {"window": (3, 2)}, "chunk": {"chunk": 5}}.get(kind, {})
        if kind and choose(True, False):
            options["prefix"] = 2
        arrays = {"q": (b, hq, sq, d), "k": (b, hkv, sk, d), "v": (b, hkv, sk, dv), "dout": (b, hq, sq, dv)}
        if choose(True, False, False):
            arrays["bias"] = (choose(1, b), choose(1, hq), choose(1, sq), sk)
        if choose(True, False):
            arrays["dlse"] = (b, hq, sq)
        arrays = {name: rng.standard_normal(shape).astype(dtype) for name, shape in arrays.items()}
        if choose(True, False, False):
            options["sink"] = rng.standard_normal(hq).astype(dtype)
        if choose(True, False, False):
            options["mask"] = rng.random((choose(1, b), 1, choose(1, sq), sk)) < 0.7
        if choose(True, False, False):
            options["softcap"] = 2.0
        if choose(True, True, False):
            options["mask_mod"] = MASKS[choose(*MASKS)]
        captured = {}
        if choose(True, False):
            table, rows = (rng.standard_normal(shape).astype(dtype) for shape in ((b, sk), (b, sq)))
            captured = {"table": table, "rows": rows}
            options["score_mod"] = lambda s, b, h, i, j: s * table[b, j] + rows[b, i] + 0.25 * h
        return cls(arrays, options, captured, lengths)

    def poison(self) -> None:
        """NaN in what lies beyond the lengths."""
        shared = {x: np.full(1, max(n)) for x, n in self.lengths.items()}
        for name, array in {**self.arrays, **self.captured}.items():
            dims = {"k": "..k.", "v": "..k.", "bias": "..qk", "dlse": "..q", "table": ".k", "rows": ".q"}
            for dim, axis in enumerate(dims.get(name, "..q.")):
                size = {"q": "q", "k": "k"}.get(axis)
                if size is None or (array.shape[dim] == 1 and self.full(axis) != 1):
                    continue
                ends = self.lengths[axis] if array.shape[0] == len(self.lengths[axis]) else shared[axis]
                for part, end in zip(array, ends, strict=True):
                    part[(slice(None),) * (dim - 1) + (slice(end, None),)] = np.nan

        at = _forward.steps(*(np.nan_to_num(self.arrays[name]) for name in "qkv"), **self.given())
        self.arrays["dout"][(at.s == -np.inf).all(-1)] = np.nan

    def given(self) -> dict:
        """The options with the bias."""
        return {**self.options, **{name: x for name, x in self.arrays.items() if name == "bias"}}

    def full(self, axis: str) -> int:
        """How many queries or keys there are."""
        return self.arrays[axis].shape[2]

    def run(self, target: str) -> dict:
        """Outputs and gradients by name."""
        q, k, v, dout, dlse = (self.arrays.get(name) for name in ("q", "k", "v", "dout", "dlse"))
        options = self.given()
        out, lse = attn.sdpa(q, k, v, return_lse=True, target=target, **options)
        saved = out.copy()
        for part, end in zip(saved, self.lengths["q"], strict=True):
            part[:, end:] = np.nan  # not read
        grad = ("q", "k", "v", *(x for x in ("bias", "sink") if x in options), *self.captured)
        grads = attn.sdpa_backward(q, k, v, saved, lse, dout, dlse=dlse, grad=grad, target=target, **options)
        expected = attn.reference.sdpa_backward(q, k, v, None, None, dout, dlse=dlse, grad=grad, **options)
        largest = max(np.abs(x).max(initial=0) for x in expected.values())
        for name, x in grads.items():
            assert_within((1e-10 if q.dtype == np.float64 else 1e-4) * max(largest, 1), x, expected[name], f"d{name}")
        return {"out": out, "lse": lse, **grads}


def check(seed: int, target: str = "host") -> None:
    call = Call.draw(seed)
    expected = call.run(target)
    call.poison()
    for name, x in call.run(target).items():
        np.testing.assert_array_equal(x, expected[name], err_msg=f"seed {seed}: {name}")


@pytest.mark.parametrize("seed", [1, 15, 16, 26, 33, 38, *range(50, 66)])
def test_of_this_processor(seed):
    check(seed)


@pytest.mark.parametrize("seed", [33, 70, 71])
@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_of_lesser_processors(seed, target):
    processor.skip_unless_it_runs(target)
    check(seed, target)


def test_a_mask_of_heads_that_share_keys():
    """The heads of a group may keep different keys; none keeps one beyond the length."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, h, n, 8)).astype(np.float32) for h, n in ((2, 1), (1, 4), (1, 4)))
    k[:, :, 2:], v[:, :, 2:] = np.nan, np.nan
    options = {"mask_mod": MASKS["parity of the head"], "kv_lengths": [2]}
    out, lse = attn.sdpa(q, k, v, return_lse=True, **options)
    grads = attn.sdpa_backward(q, k, v, out, lse, np.ones_like(out), **options)
    assert all(np.isfinite(x).all() for x in (out, *grads.values()))


# A mask that reads the head, heads that share keys, lengths: random inputs of a problem line are NaN beyond them.
LINE = """b2 hq2 hkv1 sq20 sk40 d32 f32 kv_lengths q_lengths bias=2,1,20,40 grad=q,k,v
mask_mod {
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %h = attn.index head : index
  %j = attn.index key : index
  %sum = arith.addi %j, %h : index
  %rest = arith.remsi %sum, %two : index
  %keep = arith.cmpi ne, %rest, %zero : index
  attn.yield %keep : i1
}"""


@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_problem_line(target):
    command = [ATTNC, "run", "--check"]
    if target != "host":
        command = [ATTNC.with_name("attn-ptx-run"), f"--target={target}", "--kernel=sdpa_backward"]
    done = subprocess.run([*command, f"--problem={LINE}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dq: largest error" in done.stdout


# Rows without keys that lie before the length: by a mask, by a length of 0, by both ends of a window.
SINKS = {
    "mask": ("mask=1,1,20,16", {"mask": np.arange(20)[None, None, :, None] % 5 + np.zeros(16) > 0}),
    "length": ("kv_lengths", {"kv_lengths": np.zeros(1, np.int32)}),
    "window": ("window=1,0 align=top_left kv_lengths", {"kv_lengths": np.full(1, 6, np.int32)}),
}


@pytest.mark.parametrize(
    ("target", "dtype"),
    [("host", "f32"), ("host", "bf16"), ("reference", "f32"), ("x86-64-v2", "f32"), ("sm_80", "bf16")],
)
@pytest.mark.parametrize("name", SINKS)
def test_dout_of_a_row_that_has_only_its_sink(name, dtype, target, tmp_path):
    """It is not read: the row's out is 0 whatever the inputs are. Its dlse goes to the sink."""
    words, arrays = SINKS[name]
    rng, element = np.random.default_rng(0), {"f32": np.float32, "bf16": ml_dtypes.bfloat16}[dtype]
    q, k, v, dout = (rng.standard_normal((1, 2, n, 32)).astype(element) for n in (20, 16, 16, 20))
    sink, dlse = np.float32([0.5, -3]), rng.standard_normal((1, 2, 20)).astype(np.float32)
    options = {**arrays, "sink": sink, **({"window": (1, 0), "align": "top_left"} if name == "window" else {})}
    out, lse = (
        x.astype(y)
        for x, y in zip(attn.reference.sdpa(q, k, v, return_lse=True, **options), (element, np.float32), strict=True)
    )
    alone = (out == 0).all(-1)
    assert alone.any()
    dout[alone] = np.nan
    dout[0, 1, alone[0, 1].argmax()] = np.inf
    grad = ("q", "k", "v") if target == "sm_80" else ("q", "k", "v", "sink")
    given = {"dlse": dlse} if target == "host" else {}
    expected = attn.reference.sdpa_backward(q, k, v, out, lse, dout, grad=grad, **given, **options)
    if target == "host":
        found = attn.sdpa_backward(q, k, v, out, lse, dout, grad=grad, **given, **options)
    else:
        line = f"hq2 sq20 sk16 d32 {dtype} {words} sink grad={','.join(grad)}"
        inputs = [q, k, v, *(x for y, x in arrays.items() if y == "mask"), sink]
        inputs += [*(x for y, x in arrays.items() if y != "mask"), out, lse, np.zeros_like(lse), dout]
        found = dict(zip(grad, by_attnc(line, target, inputs, len(grad), tmp_path), strict=True))
    for x in grad:
        assert np.isfinite(expected[x]).all()
        limit = (2e-5 if dtype == "f32" else 0.03) * np.abs(expected[x]).max()
        assert_within(limit, found[x], expected[x], f"d{x}")


def by_attnc(line: str, target: str, inputs: list, count: int, folder) -> list:
    """The gradients of a problem line by attnc run."""
    words = ["--reference"] if target == "reference" else [f"--target={target}"]
    if target == "sm_80":
        words.append(f"--cuda-driver={ATTNC.parents[1] / 'lib' / 'libcuda_emulator.so'}")
    for i, x in enumerate(inputs):
        np.save(folder / f"{i}.npy", x.view("V2") if x.dtype == ml_dtypes.bfloat16 else x)
        words.append(f"--input={folder / f'{i}.npy'}")
    outputs = [folder / f"d{i}.npy" for i in range(count)]
    words += [f"--output={path}" for path in outputs]
    subprocess.run([ATTNC, "run", f"--problem={line}", "--kernel=sdpa_backward", *words], check=True)
    found = map(np.load, outputs)
    return [x.view(ml_dtypes.bfloat16) if x.dtype.kind == "V" else x for x in found]
