"""Every phase of the pipelines on numbers: its IR, printed by attnc, compiled again and run against the reference."""

import functools
import subprocess
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import attn
from attn.call import _problem
from chain_ir import chain
from helpers import Shape, assert_close, draw
from paths import ATTNC, attnc

PHASES = [
    "input",
    "canonicalize",
    "fuse",
    "fallback",
    "analyze-mask",
    "select-schedule",
    "online",
    "tile",
    "bufferize",
    "vector",
    "llvm",
]
GROUPED = Shape(113, 203, 59, 80, b=2, hq=4, hkv=2)


class Case(NamedTuple):
    """A problem with drawn inputs; `chain` says whether the file has the chain's ops or one sdpa."""

    shape: Shape
    dtype: Any = np.float32
    options: Mapping[str, Any] = MappingProxyType({})
    bias: tuple[int, ...] | None = None
    mask: tuple[int, ...] | None = None
    chain: bool = False

    def inputs(self):
        """q, k, v, then bias and mask where the case has them, by the names that `reference.sdpa` uses."""
        rng = np.random.default_rng(5)
        arrays = dict(zip("qkv", draw(self.shape, self.dtype), strict=True))
        if self.bias is not None:
            arrays["bias"] = rng.standard_normal(self.bias).astype(self.dtype)
            arrays["bias"][rng.random(self.bias) < 0.1] = -np.inf
        if self.mask is not None:
            arrays["mask"] = rng.random(self.mask) < 0.7
        return arrays

    def text(self) -> str:
        """The IR file."""
        if self.chain:
            return chain(self.shape, self.dtype, **self.options, bias=self.bias, mask=self.mask)
        empty = {"scale": None, "causal": None, "softcap": None, "bias": None, "mask": None}
        given = empty | self.options | self.inputs()
        problem = _problem.of(*[given.pop(x) for x in "qkv"], _problem.Given(**given, return_lse=True))
        return attnc("--problem", problem.line(), "--stop-after=input")


CASES = {
    "sdpa with everything": Case(
        GROUPED, options={"causal": "bottom_right", "softcap": 3.0}, bias=(1, 4, 113, 203), mask=(2, 1, 1, 203)
    ),
    "chain with everything": Case(
        GROUPED,
        options={"causal": "bottom_right", "softcap": 3.0},
        bias=(1, 4, 113, 203),
        mask=(2, 1, 1, 203),
        chain=True,
    ),
    "chain in f64": Case(Shape(33, 17, 5, 3, hq=2, hkv=2), np.float64, {"causal": "top_left"}, chain=True),
    "odd sizes": Case(Shape(113, 203, 59, 80), options={"scale": -0.25}),
    "f64": Case(Shape(113, 203, 64, 64, hq=2, hkv=1), np.float64, {"causal": "top_left"}, mask=(1, 1, 113, 203)),
    "one query": Case(Shape(1, 203, 64, 64, b=2, hq=4, hkv=1)),
    "no keys": Case(Shape(5, 0, 8, 4, hq=2, hkv=2)),
    "empty rows": Case(Shape(203, 113, 16, 16), options={"causal": "bottom_right"}),
    "one tile": Case(Shape(5, 1000, 8, 8), options={"causal": "bottom_right"}),
    "one tile, no keys": Case(Shape(1, 0, 8, 8)),
    "one by one": Case(Shape(1, 1, 1, 1), np.float64),
}


@functools.cache
def text_of(case: str) -> str:
    """Its IR file."""
    return CASES[case].text()


def run_and_compare(case: Case, kernel: attn.Kernel) -> None:
    inputs = case.inputs()
    found = kernel(*inputs.values())
    found = found if isinstance(found, tuple) else (found,)
    expected = attn.reference.sdpa(**inputs, **case.options, return_lse=True)
    assert_close(found[0], expected[0], case.dtype, "out")
    if len(found) > 1:
        # The lse passes through zero: its error counts against at least 1.
        scale = np.append(np.abs(expected[1][np.isfinite(expected[1])]), 1.0).max()
        assert_close(found[1] / scale, expected[1] / scale, found[1].dtype, "lse")


GPU_PHASES = ["gpu", "steps", "nvvm"]  # in front of the last one, for the host's side


def test_these_are_the_phases():
    result = subprocess.run([ATTNC, "-", "--stop-after=?"], input="", capture_output=True, text=True, check=False)
    assert result.stderr.rstrip().endswith("expected one of " + " ".join([*PHASES[:-1], *GPU_PHASES, PHASES[-1]]))


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("case", CASES)
def test_flash(case, phase):
    text = attnc("-", f"--stop-after={phase}", text=text_of(case))
    kernel = attn.compile(text, fail_on_fallback=True)
    assert kernel.manifest["kernels"][0]["path"] == "flash"
    run_and_compare(CASES[case], kernel)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("case", ["sdpa with everything", "chain in f64", "no keys"])
def test_reference(case, phase):
    text = attnc("-", "--reference", f"--stop-after={phase}", text=text_of(case))
    run_and_compare(CASES[case], attn.compile(text, reference=True))


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("case", CASES)
def test_targets(case, target):
    run_and_compare(CASES[case], attn.compile(text_of(case), target=target, parallel="none"))
