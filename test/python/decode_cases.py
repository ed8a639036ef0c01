"""Few query rows against many keys: sizes around the ranges that keys are split into, one kernel for all lengths."""

import functools
from typing import Any, NamedTuple

import numpy as np

import attn
from attn import reference
from helpers import TYPES, Shape, compare, draw

SPLIT = 2048  # keys of a range that is folded on its own; see SelectDecodeSchedule.cpp
KEYS = [0, 1, SPLIT - 1, SPLIT, SPLIT + 1, 2 * SPLIT + 65]


class Case(NamedTuple):
    """What a kernel is compiled for, its batch and key length left open."""

    sq: int
    group: int
    hkv: int
    d: int
    dv: int
    element: str

    def __str__(self) -> str:
        """The words of the problem line."""
        words = f"sq{self.sq} hq{self.group * self.hkv} hkv{self.hkv} d{self.d} dv{self.dv} {self.element}"
        return words.replace(" ", "-")

    def shape(self, b: int, sk: int) -> Shape:
        """The sizes of one call."""
        return Shape(self.sq, sk, self.d, self.dv, b=b, hq=self.group * self.hkv, hkv=self.hkv)


# Sq 1 to 16 and groups of 1 to 16, key heads from one up, head sizes that are no multiple of a vector.
CASES = [
    Case(1, 1, 1, 64, 64, "f32"),
    Case(1, 4, 2, 128, 128, "bf16"),
    Case(1, 8, 1, 59, 80, "f16"),
    Case(1, 16, 3, 64, 40, "f32"),
    Case(2, 3, 2, 40, 59, "f64"),
    Case(3, 2, 1, 111, 64, "bf16"),
    Case(4, 8, 1, 64, 64, "f16"),
    Case(5, 1, 3, 16, 24, "f32"),
    Case(8, 2, 2, 80, 96, "bf16"),
    Case(10, 16, 1, 32, 32, "f32"),
    Case(11, 4, 1, 64, 64, "f64"),
    Case(16, 2, 1, 64, 1, "f16"),
    Case(1, 7, 1, 96, 144, "bf16"),
    Case(1, 2, 2, 72, 40, "bf16"),
    Case(2, 4, 1, 128, 100, "f32"),
]


@functools.cache
def kernel(case: Case, words: str, target: str = "host"):
    """The kernel of a case, causal and with lengths, for any batch and key length."""
    line = f"b? sk? {str(case).replace('-', ' ')} causal=bottom_right kv_lengths out=lse {words}"
    return attn.compile(line, target)


def lengths_of(b: int, sk: int) -> np.ndarray:
    """All keys, then fewer: none and one are among them."""
    return np.array([sk, sk // 3, 0, min(sk, 1)], np.int32)[:b]


def run(case: Case, b: int, sk: int, words: str = "", target: str = "host") -> tuple[Any, tuple, dict]:
    """What the kernel gives, and the arguments and options of the reference."""
    q, k, v = draw(case.shape(b, sk), TYPES[case.element], seed=sk)
    lengths = lengths_of(b, sk)
    given_k, given_v = k.copy(), v.copy()
    for i, length in enumerate(lengths):
        given_k[i, :, length:], given_v[i, :, length:] = np.nan, np.inf
    options: dict[str, Any] = dict(causal="bottom_right", kv_lengths=lengths)
    if "sink" in words:
        options["sink"] = np.linspace(-2, 2, q.shape[1])
    extra = [options["sink"].astype("f8" if case.element == "f64" else "f4")] if "sink" in words else []
    if "bshd" in words:
        q, k, v, given_k, given_v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v, given_k, given_v))
        options["layout"] = "bshd"
    return kernel(case, words, target)(q, given_k, given_v, *extra, lengths), (q, k, v), options


def check(case: Case, b: int, sk: int, words: str = "") -> None:
    """The kernel against the reference, by the rule of the type."""
    found, arguments, options = run(case, b, sk, words)
    compare(found, reference.sdpa, *arguments, return_lse=True, **options)
