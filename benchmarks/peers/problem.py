"""Problem lines for other systems: what of a line they must know, and the arrays that all of them get."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np

# Arguments of a decode problem rotate over copies of as many bytes, so that no cache holds K and V.
STREAMED_BYTES = 256 << 20
# Rows of queries that share a row of K, at most, where memory is the limit; the same as in tools/attnc/Cost.cpp.
MAX_DECODE_ROWS = 16
KEPT_SHARE = 0.75  # of a boolean mask
QUANTISED_MAX = 127  # of int8
SIZES = ("b", "hq", "hkv", "sq", "sk", "d", "dv")
INPUT_NAMES = (
    "q",
    "k",
    "v",
    "mask",
    "bias",
    "k_scale",
    "v_scale",
    "dout",
)  # those of attn's arguments; systems that go by order go by this one
TYPES = ("f32", "f64", "bf16", "f16")


@dataclasses.dataclass(frozen=True)
class Problem:
    """One line of benchmarks/problems/compare.txt."""

    line: str
    title: str
    b: int
    hq: int
    hkv: int
    sq: int
    sk: int
    d: int
    dv: int
    dtype: str
    causal: bool
    window: tuple[int, int] | None
    mask: bool
    bias: bool
    kv: str  # the type of K and V; that of the queries where the line does not say. int8 has a scale a key head
    grad: tuple[str, ...] = ()  # inputs whose gradients a call computes, of the outputs of a forward pass before it

    @property
    def is_decode(self) -> bool:
        """Whether the rate to report is of bytes."""
        return self.sq * self.hq // self.hkv <= MAX_DECODE_ROWS

    @property
    def flops(self) -> float:
        """As docs/Performance.md counts them."""
        full = 2.0 * self.b * self.hq * self.sq * self.sk * (self.d + self.dv)
        if self.grad:
            full *= 2.5  # five products for two
        if self.window:
            return full * min(1.0, (sum(self.window) + 1) / self.sk)
        return full / 2 if self.causal and self.sq > 1 else full

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Of what `Peer.to_numpy` gives: the output, or all gradients one after the other."""
        return (-1,) if self.grad else (self.b, self.hq, self.sq, self.dv)

    def bias_shape(self) -> tuple[int, ...]:
        """Of a mask and a bias alike."""
        return (1, 1, self.sq, self.sk)


def parse(text: str) -> Problem:
    """A line of a problem file; other tokens than those of compare.txt are refused."""
    line, _, title = (part.strip() for part in text.partition("#"))
    sizes: dict[str, int] = {}
    values = {"causal": "", "window": "", "mask": "", "bias": "", "kv": "", "kvscale": "", "grad": ""}
    dtype = "f32"
    for word in line.split():
        name, is_value, value = word.partition("=")
        match = re.fullmatch(r"([a-z]+)(\d+)", word)
        if word in TYPES:
            dtype = word
        elif is_value and name in values:
            values[name] = value
        elif match and match[1] in SIZES:
            sizes[match[1]] = int(match[2])
        else:
            raise ValueError(f"expected sizes, a type, {', '.join(values)} in '{line}', found '{word}'")
    sizes.setdefault("b", 1)
    sizes.setdefault("hq", 1)
    sizes.setdefault("hkv", sizes["hq"])
    sizes.setdefault("sk", sizes["sq"])
    sizes.setdefault("dv", sizes["d"])
    if values["kv"] not in ("", "int8") or (values["kv"] and values["kvscale"] != "head"):
        raise ValueError(f"expected kv=int8 kvscale=head, or neither, in '{line}'")
    window = tuple(map(int, values["window"].split(","))) if values["window"] else None
    return Problem(
        line=" ".join(line.split()),
        title=title or line,
        dtype=dtype,
        causal=bool(values["causal"]),
        window=window,
        mask=bool(values["mask"]),
        bias=bool(values["bias"]),
        kv=values["kv"] or dtype,
        grad=tuple(values["grad"].split(",")) if values["grad"] else (),
        **sizes,
    )


def read(path: Path) -> list[Problem]:
    """The problems of a file."""
    lines = [line for line in path.read_text().splitlines() if line.partition("#")[0].strip()]
    return [parse(line) for line in lines]


def numpy_type(name: str) -> np.dtype:
    """The NumPy type of a token."""
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({"f32": "float32", "f64": "float64", "f16": "float16", "int8": "int8"}[name])


def make_inputs(problem: Problem) -> dict[str, np.ndarray]:
    """Arrays by the names of attn's arguments, from a fixed seed."""
    rng = np.random.default_rng(0)
    p = problem

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    inputs = {
        "q": normal(p.b, p.hq, p.sq, p.d),
        "k": normal(p.b, p.hkv, p.sk, p.d),
        "v": normal(p.b, p.hkv, p.sk, p.dv),
    }
    if p.bias:
        inputs["bias"] = normal(*p.bias_shape())
    if p.grad:
        inputs["dout"] = normal(p.b, p.hq, p.sq, p.dv)
    inputs = {name: x.astype(numpy_type(p.dtype)) for name, x in inputs.items()}
    if p.kv == "int8":
        for name in ("k", "v"):
            wide = inputs[name].astype(np.float32)
            scale = np.abs(wide).max(axis=(0, 2, 3)) / QUANTISED_MAX  # a head
            inputs[name] = np.rint(wide / scale[:, None, None]).astype(np.int8)
            inputs[f"{name}_scale"] = scale
    if p.mask:
        inputs["mask"] = rng.random(p.bias_shape()) < KEPT_SHARE
    return inputs


def num_copies(problem: Problem, inputs: dict[str, np.ndarray]) -> int:
    """How many copies of the inputs a system rotates over."""
    read_bytes = inputs["k"].nbytes + inputs["v"].nbytes
    return -(-STREAMED_BYTES // read_bytes) if problem.is_decode else 1


def kept_pairs(problem: Problem) -> np.ndarray:
    """Causal mask and window as a boolean (Sq, Sk), true = attend, for systems without a word for them."""
    i, j = np.arange(problem.sq)[:, None], np.arange(problem.sk)[None, :]
    keep = np.ones((problem.sq, problem.sk), bool)
    if problem.causal:
        keep &= j <= i
    if problem.window:
        left, right = problem.window
        keep &= (j >= i - left) & (j <= i + right)
    return keep
