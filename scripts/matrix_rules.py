"""What lib/Problem refuses of the cases of matrix_cases.py, as a table: a rule a message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


# How the compiler says that a line has no GPU kernel: by the name of what has none, and with what to write instead.
GPU_REFUSALS = (
    "no GPU kernel for",
    "KiB of shared memory for the smallest tile",
)
