"""Results as a Markdown table and as bar charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Results = dict[str, Any]


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1f} %"


def times(ratio: float) -> str:
    """How many times as long."""
    return f"{ratio:.2f} ×" if ratio < 10 else f"{ratio:.0f} ×"


def systems_of(results: Results) -> list[str]:
    """Every system that has a figure, in the order of the run."""
    return [name for name in results["versions"] if any(name in row["systems"] for row in results["rows"])]


def table(results: Results) -> str:
    """A row a problem: attn's time, share of the ceiling, and how many times as long every other system takes."""
    names = systems_of(results)
    others = [name for name in names if name != "attn"]
    lines = [
        f"| {results['threads']} thread{'s' if results['threads'] > 1 else ''} | attn best / median | share | "
        + " | ".join(others)
        + " |",
        "| --- " * (3 + len(others)) + "|",
    ]
    for row in results["rows"]:
        ours = row["systems"].get("attn")
        if not ours:
            lines.append(f"| {row['title']} | – | – |" + " – |" * len(others))
            continue
        cells = [
            row["title"],
            f"{ours['best'] * 1e3:.3g} / {ours['median'] * 1e3:.3g} ms",
            f"{100 * ours['share']:.0f} %",
        ]
        for name in others:
            theirs = row["systems"].get(name)
            cells.append(f"{percent(theirs['share'])} · {times(theirs['best'] / ours['best'])}" if theirs else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def line(row: Results) -> str:
    """One row for the terminal, as soon as it is there."""
    cells = [f"{name} {x['best'] * 1e3:.3f} ms ({100 * x['share']:.1f} %)" for name, x in row["systems"].items()]
    return f"{row['title']}: " + ", ".join(cells)


def summary(results: Results) -> str:
    """A row a problem, attn beside the nearest of the others: for a page that has little room."""
    threads = f"{results['threads']} thread{'s' if results['threads'] > 1 else ''}"
    lines = [f"| {threads} | attn | share of the ceiling | nearest other |", "| --- | --- | --- | --- |"]
    for row in results["rows"]:
        systems = dict(row["systems"])
        ours = systems.pop("attn", None)
        if not ours or not systems:
            continue
        name, theirs = min(systems.items(), key=lambda item: item[1]["best"])
        cells = [
            row["title"],
            f"{ours['best'] * 1e3:.3g} ms",
            f"{percent(ours['share'])} ({row['ceiling']})",
            f"{name}, {times(theirs['best'] / ours['best'])} the time",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def notes(results: Results) -> str:
    """Versions, ceilings, and who was left out where."""
    lines = ["Versions: " + ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "."]
    for name in ("f32 FMA", "bf16 dot", "bf16 tiles", "read"):
        rates = [row["ceilings"][name] for row in results["rows"] if row["ceiling"].partition(" / ")[0] == name]
        unit = "GB/s" if name == "read" else "GFLOP/s"
        if rates:
            lines.append(f"Ceiling {name}: {min(rates):.1f} to {max(rates):.1f} {unit} over the lines.")
    lines += [f"Without {name}: {why}." for name, why in results["missing"].items()]
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in results["rows"]:
        for name, why in row["left_out"].items():
            reasons.setdefault((name, why), []).append(row["title"])
    lines += [f"{name} left out of {'; '.join(titles)}: {why}." for (name, why), titles in reasons.items()]
    return "\n".join(f"* {line}" for line in lines) + "\n"


def chart(results: Results, stem: Path) -> None:
    """Shares of the ceiling as bars, STEM.png and STEM.svg."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "attn"  # the same bytes for the same results
    from matplotlib import pyplot

    names = systems_of(results)
    rows = [row for row in results["rows"] if row["systems"]]
    colors = dict(zip(results["versions"], pyplot.get_cmap("tab10").colors, strict=False))
    height = 0.8 / len(names)
    figure, axes = pyplot.subplots(figsize=(9, 0.9 + 0.13 * len(names) * len(rows)), layout="constrained")
    for place, name in enumerate(names):
        found = [(i, row["systems"][name]["share"]) for i, row in enumerate(rows) if name in row["systems"]]
        heights = [i + (place - (len(names) - 1) / 2) * height for i, _ in found]
        axes.barh(heights, [100 * share for _, share in found], height, label=name, color=colors[name])
    axes.set_yticks(range(len(rows)), [row["title"] for row in rows], fontsize=8)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    threads = f"{results['threads']} thread" + ("s" if results["threads"] > 1 else "")
    axes.set_xlabel(f"% of the ceiling of the same run, {threads}: FMA peak, for decode read bandwidth", fontsize=8)
    axes.legend(loc="lower right", fontsize=8)
    for suffix in (".png", ".svg"):
        figure.savefig(stem.with_suffix(suffix), dpi=110, metadata={"Date": None} if suffix == ".svg" else None)
    pyplot.close(figure)
