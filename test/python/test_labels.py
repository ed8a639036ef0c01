"""The labels of ctest's tests: the layers of test/layers.txt, which a new test has without a line anywhere."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_has_a_layer():
    command = ["ctest", "--preset", "release", "--show-only=json-v1"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = {x.split()[0] for x in (ROOT / "test" / "layers.txt").read_text().splitlines() if not x.startswith("#")}
    tests, used = json.loads(listing)["tests"], set()
    for test in tests:
        labels = {y for x in test.get("properties", []) if x["name"] == "LABELS" for y in x["value"]}
        assert labels & rows, test["name"]
        used |= labels
    assert len(tests) > 100
    assert used - {"quick"} == rows
