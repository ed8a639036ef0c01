"""The cases of scripts/matrix.py: what a problem line may have, what the parser refuses of it, and in which order.

A case is one level of each axis in AXES. A rule of RULES says what lib/Problem refuses, with which message.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

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

Levels = dict[str, str]


@dataclass(frozen=True)
class Rule:
    """What lib/Problem/ProblemChecks.cpp refuses: where it holds, its message, and the axes that may undo it."""

    message: str
    axes: tuple[str, ...]
    holds: Callable[[Levels], bool]


def is_dynamic(case: Levels, size: str) -> bool:
    """True where the batch, heads, query or key size (its letter) is `?`."""
    return size in case["dynamic"]


def is_quantised(case: Levels) -> bool:
    """True where K and V go with scales."""
    return case["kv"] in ("int8", "fp8", "e5m2")


def has_origin(case: Levels) -> bool:
    """True where rows or keys begin at an origin."""
    return "q" in case["origin"].split(",") or "k" in case["origin"].split(",")


def lacks_alignment(case: Levels) -> bool:
    """A window or chunks whose diagonal the line does not place."""
    queries, keys = case["size"].split("x")
    may_differ = case["q_lengths"] or case["kv_lengths"] or case["layout"] == "varlen"
    may_differ = may_differ or has_origin(case) or is_dynamic(case, "q") or is_dynamic(case, "k") or queries != keys
    has_diagonal = case["window"] or case["chunk"]
    return bool(has_diagonal and not case["causal"] and not case["align"] and may_differ)


def has_keys(case: Levels, name: str) -> bool:
    """True where the bias or mask does not broadcast over keys."""
    return case[name] == "bool" or case[name].endswith("k")


def has_short_page(case: Levels) -> bool:
    """True where the keys, a number, do not fill the last page."""
    page, keys = int(case["paged"].split(",")[0]), int(case["size"].split("x")[1])
    return not is_dynamic(case, "k") and keys % page != 0


def has_state_outputs(case: Levels) -> bool:
    """True where the outputs say what state a row is in."""
    names = case["out"].split(",")
    return "lse" in names or {"max", "log_sum"} <= set(names)


ALIGNED = ("window", "chunk", "causal", "align", "size", "dynamic", "layout", "origin")
RULES = (
    Rule(
        "layout=bsd, which has no dimension for them",
        ("layout", "dynamic"),
        lambda case: case["layout"] == "bsd" and is_dynamic(case, "h"),
    ),
    Rule(
        "both numbers of heads to be dynamic",
        ("heads", "dynamic"),
        lambda case: is_dynamic(case, "h") and case["heads"] in ("4,2", "4,1", "6,3"),
    ),
    Rule("kvscale only with kv=int8", ("kv", "kvscale"), lambda c: bool(c["kvscale"] and not is_quantised(c))),
    Rule(
        "16-bit keys and values beside f32",
        ("kv", "element"),
        lambda case: case["kv"] in ("bf16", "f16") and case["element"] not in ("f32", case["kv"]),
    ),
    Rule(
        "a scale a head with layout=varlen",
        ("kvscale", "layout", "paged"),
        lambda case: case["kvscale"] == "token" and case["layout"] == "varlen" and not case["paged"],
    ),
    Rule(
        "a number of keys with kvscale=token and paged",
        ("kvscale", "paged", "dynamic"),
        lambda case: bool(case["kvscale"] == "token" and case["paged"] and is_dynamic(case, "k")),
    ),
    Rule(
        "kvscale=page and kvscale=slot only with paged",
        ("kvscale", "paged"),
        lambda case: case["kvscale"] in ("page", "slot") and not case["paged"],
    ),
    Rule(
        "result=f32 beside f32 or 16-bit q",
        ("result", "element"),
        lambda case: bool(case["result"] and case["element"] == "f64"),
    ),
    Rule(
        "no result=f32 with weights", ("result", "out"), lambda case: bool(case["result"] and "weights" in case["out"])
    ),
    Rule("align only without causal", ("align", "causal"), lambda case: bool(case["align"] and case["causal"])),
    Rule(
        "align only with a window or chunk",
        ("align", "window", "chunk"),
        lambda case: bool(case["align"] and not case["window"] and not case["chunk"]),
    ),
    Rule("expected an alignment of the ", ALIGNED, lacks_alignment),
    Rule(
        "expected prefix beside causal, window or chunk",
        ("prefix", "causal", "window", "chunk"),
        lambda case: bool(case["prefix"] and not (case["causal"] or case["window"] or case["chunk"])),
    ),
    *(
        Rule(
            f"expected no {name} with layout=varlen",
            ("layout", name),
            lambda case, name=name: bool(case[name] and case["layout"] == "varlen"),
        )
        for name in ("q_lengths", "bias", "mask")
    ),
    Rule(
        "expected no kv_lengths with layout=varlen",
        ("layout", "kv_lengths", "paged"),
        lambda case: bool(case["kv_lengths"] and case["layout"] == "varlen" and not case["paged"]),
    ),
    Rule(
        "no weights with layout=varlen",
        ("layout", "out"),
        lambda case: "weights" in case["out"] and case["layout"] == "varlen",
    ),
    Rule(
        "no dropout with layout=varlen", ("layout", "dropout"), lambda c: bool(c["dropout"] and c["layout"] == "varlen")
    ),
    Rule(
        "a number of sequences with layout=varlen and offsets",
        ("layout", "dynamic", "causal", "align", "paged"),
        lambda case: (
            case["layout"] == "varlen"
            and is_dynamic(case, "b")
            and "offset" in (case["causal"], case["align"])
            and not case["paged"]
        ),
    ),
    Rule(
        "a number of sequences with layout=varlen and origins",
        ("layout", "dynamic", "origin", "paged"),
        lambda case: (
            case["layout"] == "varlen"
            and is_dynamic(case, "b")
            and has_origin(case)
            and "offset" not in (case["causal"], case["align"])
            and not case["paged"]
        ),
    ),
    Rule(
        "expected no bottom_right beside",
        ("origin", "causal", "align"),
        lambda case: has_origin(case) and "bottom_right" in (case["causal"], case["align"]),
    ),
    Rule(
        "expected whole beside dropout and",
        ("origin", "dropout"),
        lambda case: bool(case["dropout"] and case["origin"] and "whole" not in case["origin"]),
    ),
    Rule(
        "expected whole beside dropout, which",
        ("origin", "dropout"),
        lambda case: bool("whole" in case["origin"] and not case["dropout"]),
    ),
    Rule(
        "no weights beside origins",
        ("origin", "out"),
        lambda case: bool("weights" in case["out"] and {"b", "whole"} & set(case["origin"].split(","))),
    ),
    Rule("numbers of heads with paged", ("paged", "dynamic"), lambda c: bool(c["paged"] and is_dynamic(c, "h"))),
    Rule("pages only with paged", ("pages", "paged"), lambda case: bool(case["pages"] and not case["paged"])),
    Rule("kv_lengths with paged", ("paged", "kv_lengths"), lambda c: bool(c["paged"] and not c["kv_lengths"])),
    Rule(
        "no weights with paged and 'sk?'",
        ("paged", "out", "dynamic"),
        lambda case: bool(case["paged"] and is_dynamic(case, "k") and "weights" in case["out"]),
    ),
    Rule("no grad with key_sums", ("grad", "out"), lambda case: bool(case["grad"] and "key_sums" in case["out"])),
    Rule(
        "a number of keys in whole pages with paged and key_sums",
        ("paged", "out", "dynamic", "size"),
        lambda case: bool(case["paged"] and "key_sums" in case["out"] and has_short_page(case)),
    ),
    Rule("no weights with grad", ("grad", "out"), lambda case: bool(case["grad"] and "weights" in case["out"])),
    Rule("no pages with grad", ("grad", "paged"), lambda case: bool(case["grad"] and case["paged"])),
    Rule(
        "which has no gradient here",
        ("grad", "kv"),
        lambda case: is_quantised(case) and bool({"k", "v"} & set(case["grad"].split(","))),
    ),
    *(
        Rule("which has no gradient here", ("grad", name), lambda c, name=name: name in c["grad"] and not c[name])
        for name in ("bias", "sink")
    ),
    Rule(
        "scale, which has no gradient here; write scale=?",
        ("grad", "scale"),
        lambda case: "scale" in case["grad"].split(",") and case["scale"] != "?",
    ),
    Rule(
        "which has no gradient here", ("grad", "kv"), lambda case: "k_scale" in case["grad"] and not is_quantised(case)
    ),
    *(
        Rule(
            f"size 1 in the key dimension of {name} with paged and sk?",
            ("paged", "dynamic", name),
            lambda case, name=name: bool(case["paged"] and is_dynamic(case, "k") and has_keys(case, name)),
        )
        for name in ("bias", "mask")
    ),
    Rule(
        "results of the type of the sums beside into",
        ("into", "element", "result"),
        lambda case: bool(case["into"] and case["element"] in ("bf16", "f16") and not case["result"]),
    ),
    Rule(
        "heads as a dimension of out and of gradients beside into",
        ("into", "layout"),
        lambda case: bool(case["into"] and case["layout"] == "bsd"),
    ),
    Rule(
        "expected the gradient of ",
        ("into", "grad"),
        lambda case: (
            case["into"] not in ("", "state") and not set(case["into"].split(",")) <= set(case["grad"].split(","))
        ),
    ),
    Rule(
        "into=q alone beside kv=",
        ("into", "kv", "element"),
        lambda case: (
            case["into"] not in ("", "state", "q") and case["kv"] in ("bf16", "f16") and case["kv"] != case["element"]
        ),
    ),
    Rule(
        "no gradient of a scale beside into",
        ("into", "grad", "kv"),
        lambda case: case["into"] not in ("", "state") and ("scale" in case["grad"] or is_quantised(case)),
    ),
    Rule("no grad beside into=state", ("into", "grad"), lambda case: case["into"] == "state" and bool(case["grad"])),
    *(
        Rule(
            f"no {name} beside into=state",
            ("into", "out"),
            lambda case, name=name: case["into"] == "state" and name in case["out"],
        )
        for name in ("weights", "key_sums")
    ),
    Rule(
        "max and log_sum together beside into=state",
        ("into", "out"),
        lambda case: case["into"] == "state" and "max" in case["out"] and "log_sum" not in case["out"],
    ),
    Rule(
        "lse beside into=state",
        ("into", "out"),
        lambda case: case["into"] == "state" and not has_state_outputs(case),
    ),
    Rule("no sink beside into=state", ("into", "sink"), lambda case: case["into"] == "state" and bool(case["sink"])),
)


def broken_rules(case: Levels) -> list[Rule]:
    """The rules for which the parser refuses a case; any of their messages may come first."""
    return [rule for rule in RULES if rule.holds(case)]


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
