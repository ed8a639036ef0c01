"""The records of `attnc bench --json`: `bench_records.py PROBLEMS.json FILE.json`."""

import json
import math
import sys
from pathlib import Path

prefill, decode, kernel = (record for path in sys.argv[1:] for record in json.loads(Path(path).read_text()))
assert prefill["problem"] == "b1 hq1 hkv1 sq64 sk64 d16 dv16 f32"
assert kernel["kernel"] == "two"
for record, unit in ((prefill, "GFLOP/s"), (decode, "GB/s"), (kernel, "GB/s")):
    assert 0 < record["best_ms"] <= record["median_ms"]
    assert record["ceiling_unit"] == unit
    rate = record["gflop_per_s" if unit == "GFLOP/s" else "gb_per_s"]
    assert math.isclose(record["share"], rate / record["ceiling"], rel_tol=1e-9)
    assert record["target"] == "host"
    assert record["threads"] == 1
    assert record["machine"]
    assert record["processor"]
# 4 * 64 * 64 * 16 FLOPs.
assert math.isclose(prefill["gflop_per_s"], 262144 / prefill["best_ms"] * 1e-6, rel_tol=1e-9)
assert prefill["ceiling_of"] in ("f32 FMA", "bf16 tiles / 6")
assert decode["ceiling_of"] == "read"
assert prefill["unfused_ms"] > 0
assert "unfused_ms" not in kernel
