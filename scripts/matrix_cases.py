"""The cases of scripts/matrix.py: what a problem line may have, as a line, and in which order cases are drawn.

A case is one level of each axis in AXES. What lib/Problem refuses of it is in matrix_rules.py.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

from matrix_rules import Levels, broken_rules

REFUSED_EVERY = 25
REPAIRS = 60  # attempts to make a case legal
CANDIDATES = 40  # drawn for each case while pairs are missing

# A level is what stands in the line, or a word that Case turns into it. The first of each is the plainest one.
SHAPES = ("", "bhqk", "1hqk", "b1qk", "11qk", "b11k", "111k", "bh11", "1h1k", "b1q1", "1111")
ALIGNMENTS = ("", "top_left", "bottom_right", "offset")
AXES: dict[str, tuple[str, ...]] = {
    "size": ("5x7", "9x9", "64x64", "1x17", "1x203", "17x1", "33x31", "31x33", "7x0", "0x7", "113x203", "203x113"),
    "dynamic": ("", "b", "h", "q", "k", "qk", "bhqk"),
    "b": ("1", "2", "3"),
    "heads": ("1,1", "3,3", "4,2", "4,1", "6,3"),
    "d": ("8", "1", "3", "32", "40", "59", "64", "80", "96", "111", "128", "160", "192", "256"),
    "dv": ("", "1", "3", "16", "59", "64", "72", "128"),
    "element": ("f32", "f64", "bf16", "f16"),
    "kv": ("", "int8", "fp8", "e5m2", "bf16", "f16"),
    "kvscale": ("", "head", "token", "page", "slot"),
    "result": ("", "f32"),
    "causal": ALIGNMENTS,
    "window": ("", "0,0", "3,2", "15,0", "4,", ",4", ",", "100,100"),
    "chunk": ("", "1", "5", "64"),
    "prefix": ("", "1", "9", "100"),
    "align": ALIGNMENTS,
    "softcap": ("", "2", "30"),
    "scale": ("", "0", "-0.5", "0.3", "?"),
    "bias": SHAPES,
    "mask": ("", "bool", *SHAPES[1:]),
    "sink": ("", "sink"),
    "q_lengths": ("", "q_lengths"),
    "kv_lengths": ("", "kv_lengths"),
    "origin": ("", "q", "k", "q,k", "q,k,b,h", "q,k,b,h,whole", "whole"),
    "dropout": ("", "0", "0.1", "0.7", "1"),
    "layout": ("", "bshd", "bsd", "varlen"),
    "paged": ("", "1", "3", "16", "64", "3,hnd", "16,hnd"),
    "pages": ("", "9", "64"),
    "strided": ("", "strided"),
    "out": ("", "lse", "weights", "lse,weights", "max", "lse,max,log_sum", "key_sums", "lse,key_sums"),
    "grad": ("", "q", "v,k", "q,k,v", "bias", "sink,q", "q,k,v,bias,sink", "scale", "scale,q,v", "q,k_scale,v_scale"),
    "into": ("", "state", "q", "v", "q,k,v"),
}
# Levels of lines for GPUs: sizes around tiles, and what has kernels there for the most part.
GPU_AXES: dict[str, tuple[str, ...]] = {
    "size": ("64x64", "1x203", "17x1", "7x0", "16x16", "32x64", "33x31", "64x203", "128x64", "64x1024", "1x1600"),
    "d": ("64", "8", "32", "59", "80", "96", "128", "192", "256", "304", "512", "576"),
    "dv": ("", "16", "64", "72", "128", "256", "320", "512", "600"),
    "element": ("bf16", "f16", "f32"),
    "paged": ("", "16", "32", "64", "128", "3", "16,hnd"),
    "out": ("", "lse", "max", "lse,max,log_sum"),
    "grad": ("", "q", "v,k", "q,k,v"),
}
# How often an axis is drawn at another level than its first, against the others.
RARE = {
    "kvscale": 0.5,
    "result": 0.3,
    "dynamic": 0.5,
    "pages": 0.4,
    "chunk": 0.3,
    "prefix": 0.2,
    "origin": 0.3,
    "layout": 0.7,
    "out": 0.7,
    "paged": 0.7,
    "window": 0.7,
    "grad": 0.7,
    "into": 0.2,
}
LARGE_SIZE_SHARE = 0.3  # of draws of a size over 64 that stay: compile time counts, not run time


def print_problem(case: Levels) -> str:
    """The problem line of a case."""
    queries, keys = case["size"].split("x")
    q_heads, kv_heads = case["heads"].split(",")
    letters = {"b": case["b"], "h": q_heads, "q": queries, "k": keys}
    letters |= dict.fromkeys(case["dynamic"], "?")
    kv_heads = "?" if letters["h"] == "?" and kv_heads == q_heads else kv_heads
    words = [
        f"b{letters['b']}",
        f"hq{letters['h']}",
        f"hkv{kv_heads}" if kv_heads != letters["h"] else "",
        f"sq{letters['q']}",
        f"sk{letters['k']}",
    ]
    words += [f"d{case['d']}", f"dv{case['dv']}" if case["dv"] else "", case["element"]]
    for name in (
        "kv",
        "kvscale",
        "result",
        "causal",
        "window",
        "chunk",
        "prefix",
        "align",
        "softcap",
        "scale",
        "dropout",
        "layout",
        "paged",
        "pages",
        "out",
        "grad",
        "into",
    ):
        words.append(f"{name}={case[name]}" if case[name] else "")
    for name in ("bias", "mask"):
        shape = ",".join(letters.get(letter, letter) for letter in case[name])
        words.append("" if not case[name] else f"{name}=bool" if case[name] == "bool" else f"{name}={shape}")
    words += [case["sink"], case["q_lengths"], case["kv_lengths"], case["strided"]]
    words += [x if x in ("", "whole") else f"{x}_origin" for x in case["origin"].split(",")]
    return " ".join(word for word in words if word and word not in ("b1", "hq1", "f32"))


def print_sizes(case: Levels) -> str:
    """The --size option that gives dynamic sizes those of the case.

    Batches of packed sequences and keys in pages are no dimension of their own: attnc draws those. Packed queries on
    pages have a batch, that of the table.
    """
    queries, keys = case["size"].split("x")
    sizes = {"b": case["b"], "h": case["heads"].split(",")[0], "q": queries, "k": keys}
    names = {"b": "b", "h": "hq", "q": "sq", "k": "sk"}
    drawn = "k" if case["paged"] else "b" if case["layout"] == "varlen" else ""
    given = [f"{names[letter]}={sizes[letter]}" for letter in case["dynamic"] if letter not in drawn]
    return "--size=" + ",".join(given) if given else ""


class Generator:
    """Cases in an order that its seed alone decides."""

    def __init__(self, seed: int, needed: str = "") -> None:
        """Finds the pairs that the parser accepts; the axis `needed` is never at its first level."""
        self.random, self.needed = random.Random(seed), needed
        pairs = ((a, x, b, y) for a, b in combinations(AXES, 2) for x in AXES[a] for y in AXES[b])
        is_plain = (needed, AXES[needed][0]) if needed else None
        self.missing = {p: None for p in pairs if is_plain not in (p[:2], p[2:])}  # a dict keeps the order
        self.possible = self.missing.copy()
        for pair in self.missing:
            if not any(self.draw_legal(pair) for _ in range(3)):
                del self.possible[pair]
        self.missing = self.possible.copy()

    def draw_level(self, axis: str, density: float) -> str:
        """The level of an axis, other than the first with a probability of `density` or so."""
        plain, *others = AXES[axis]
        if axis == self.needed:
            return self.random.choice(others)
        always = axis in ("size", "b", "heads", "element")
        if not always and self.random.random() > density * RARE.get(axis, 1):
            return plain
        level = self.random.choice(AXES[axis] if always else others)
        is_large = axis == "size" and max(map(int, level.split("x"))) > 64
        return plain if is_large and self.random.random() > LARGE_SIZE_SHARE else level

    def draw(self) -> Levels:
        """Any case, refused or not."""
        density = self.random.uniform(0.05, 0.45)
        return {axis: self.draw_level(axis, density) for axis in AXES}

    def draw_legal(self, pair: tuple[str, str, str, str] | None = None) -> Levels | None:
        """A case that no rule refuses, with a given pair in it; None where repairs do not lead to one."""
        case = self.draw()
        pinned = {pair[0]: pair[1], pair[2]: pair[3]} if pair else {}
        case |= pinned
        for _ in range(REPAIRS):
            broken = broken_rules(case)
            if not broken:
                return case
            free = [axis for axis in broken[0].axes if axis not in (*pinned, self.needed)]
            if not free:
                return None
            axis = self.random.choice(free)
            case[axis] = self.random.choice(AXES[axis]) if self.random.random() < 0.5 else AXES[axis][0]
        return None

    def pairs_of(self, case: Levels) -> Iterator[tuple[str, str, str, str]]:
        """(axis, level, axis, level) of each two axes."""
        return ((a, case[a], b, case[b]) for a, b in combinations(AXES, 2))

    def cases(self) -> Iterator[Levels]:
        """Without an end."""
        number = 0
        while True:
            number += 1
            if number % REFUSED_EVERY == 0:
                yield next(case for case in iter(self.draw, None) if broken_rules(case))
                continue
            wanted = next(iter(self.missing), None)
            candidates = [self.draw_legal(wanted) for _ in range(CANDIDATES if wanted else REPAIRS)]
            legal = [case for case in candidates if case]
            case = max(legal, key=lambda case: sum(pair in self.missing for pair in self.pairs_of(case)))
            for pair in self.pairs_of(case):
                self.missing.pop(pair, None)
            yield case
