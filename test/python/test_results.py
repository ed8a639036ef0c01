"""benchmarks/record.py and tables.py: what a benchmark prints becomes a results file, and that the tables of a page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import record  # noqa: E402
import tables  # noqa: E402

PRINTED = "to begin with\n| goal | met |\n| --- | --- |\n| one | must |\n| two | below must |\n\n* a note\n| other |\n"
BENCH = (
    "b1 hq1 sq64 f32: best 0.012 ms, median 0.030 ms, 83.9 GFLOP/s, ceiling 118.2 GFLOP/s (f32 FMA, 1 thread), 71.0 %\n"
)


def test_the_first_table_of_an_output():
    assert record.parse_output(PRINTED) == (["goal", "met"], [["one", "must"], ["two", "below must"]])


def test_lines_of_attnc_bench():
    columns, rows = record.parse_output(BENCH)
    assert columns == ["problem", "best", "ceiling", "share"]
    assert rows == [["`b1 hq1 sq64 f32`", "0.012 ms", "f32 FMA, 1 thread", "71.0 %"]]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder of results."""
    for module in (record, tables):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    return tmp_path


def run_record(monkeypatch, title, text):
    """Records what a program prints, on machine `mine`."""
    command = [sys.executable, "-c", f"print({text!r})"]
    monkeypatch.setattr(sys, "argv", ["record.py", "mine", title, "--", *command])
    record.main()


def test_a_table_takes_the_place_of_the_one_of_its_title(results, monkeypatch):
    old = {"title": "Goals", "date": "2000-01-01", "about": "Kept.", "commands": [], "columns": [], "rows": []}
    (results / "mine.json").write_text(json.dumps({"machine": "A machine", "tables": [old]}))
    run_record(monkeypatch, "Goals", PRINTED)
    run_record(monkeypatch, "More", BENCH)
    goals, more = json.loads((results / "mine.json").read_text())["tables"]
    assert (goals["about"], goals["rows"], goals["notes"]) == (
        "Kept.",
        [["one", "must"], ["two", "below must"]],
        ["a note"],
    )
    assert goals["date"] > "2000-01-01"
    assert more["title"] == "More"
    page = tables.section(goals)
    assert page.startswith("### Goals\n\n" + goals["date"] + ". Kept.\n\n    " + goals["commands"][0])
    assert page.endswith("| goal | met |\n| --- | --- |\n| one | must |\n| two | below must |\n\n* a note")


def test_an_output_without_a_table_is_refused(results, monkeypatch):
    with pytest.raises(SystemExit, match="expected a table or lines of attnc bench"):
        run_record(monkeypatch, "Goals", "nothing")
    assert not list(results.iterdir())


def test_a_row_is_a_line_of_the_file():
    text = tables.to_text({"machine": "M", "tables": [{"rows": [["a", 'b "c", d'], ["e", "f"]]}]})
    assert '   ["a", "b \\"c\\", d"],\n' in text
    assert json.loads(text)["tables"][0]["rows"] == [["a", 'b "c", d'], ["e", "f"]]


def test_the_short_table_has_each_line_of_both_tables():
    table = tables.short_table().splitlines()
    assert len(table) == 2 + len(tables.SHORT)
    assert table[2].startswith(f"| {tables.SHORT[0]} | ")


def test_a_page_keeps_what_stands_around_its_region(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results: short -->\nold\n<!-- end of results -->\nafter\n")
    command = [sys.executable, BENCHMARKS / "tables.py", page]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text == f"before\n<!-- results: short -->\n{tables.short_table()}<!-- end of results -->\nafter\n"
