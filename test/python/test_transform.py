"""Scripts of the transform dialect: what they leave computes what the linalg did, through attn-opt and mlir-opt."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import paths

ROOT = Path(__file__).parents[2]
SCRIPT = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %chains = transform.attn.raise %root : (!transform.any_op) -> !transform.any_op
    %sdpa = transform.attn.fuse %chains : (!transform.any_op) -> !transform.any_op
    transform.attn.set_schedule %sdpa {SCHEDULE} : !transform.any_op
    %finalize = transform.attn.convert_to_online %sdpa : (!transform.any_op) -> !transform.any_op
    %loop = transform.attn.tile %finalize : (!transform.any_op) -> !transform.op<"scf.forall">
    transform.yield
  }
}"""
BY_HAND = "schedule = #attn.prefill<query_tile = 12, key_tile = 5, lanes = 4, block_rows = 4, block_vectors = 2>"
TOOLS = {
    "attn-opt": [ROOT / "build/release/bin/attn-opt"],
    "mlir-opt": [
        shutil.which("mlir-opt-22") or "mlir-opt",
        f"--load-dialect-plugin={ROOT / 'build/release/lib/libAttnPlugin.so'}",
    ],
}


def run(tool, text, script, folder, *options):
    """What `script` leaves of `text`; and what the tool says."""
    (folder / "script.mlir").write_text(script)
    library = f"--transform-preload-library=transform-library-paths={folder / 'script.mlir'}"
    command = [*TOOLS[tool], *options, library, "--transform-interpreter"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def outputs(text, folder, *options):
    """What the function of `text` returns for random arguments."""
    paths.attnc("run", "-", *options, "--output", folder / "out.npy", text=text)
    return np.load(folder / "out.npy")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ["causal_top_left", "groups_causal", "bias", "window"])
def test_tiles_are_the_linalg(tool, name, tmp_path):
    text = (ROOT / f"test/Frontends/jax/{name}.mlir").read_text()
    for schedule, target in [('target_name = "host"', "host"), (BY_HAND + ', target_name = "x86-64"', "x86-64")]:
        tiled, _ = run(tool, text, SCRIPT.replace("SCHEDULE", schedule), tmp_path)
        assert "linalg.batch_matmul" not in tiled
        assert "scf.forall" in tiled
        expected = outputs(text, tmp_path, "--reference")
        np.testing.assert_allclose(outputs(tiled, tmp_path, f"--target={target}"), expected, atol=2e-5)


def test_keys_beyond_the_diagonal_are_not_visited(tmp_path):
    """Ranges of keys are found without a pass that the script would have to name."""
    text = (ROOT / "examples/transform/Inputs/attention.mlir").read_text()
    script = SCRIPT.replace("SCHEDULE", BY_HAND)
    _, remarks = run("attn-opt", text, script, tmp_path, "--remarks-filter-passed=.*")
    rows, keys, size = 12, 5, 64  # of a tile; queries and keys
    tiles = [
        (min(i + rows, size), i, j, min(j + keys, size)) for i in range(0, size, rows) for j in range(0, size, keys)
    ]
    full = sum(end <= first + 1 for _, first, _, end in tiles)
    skipped = sum(start >= last for last, _, start, _ in tiles)
    assert f"{full} full, {len(tiles) - full - skipped} partial, {skipped} skipped" in remarks, remarks


def test_what_is_no_attention_stays(tmp_path):
    """Of two functions, one of which holds a softmax over the queries."""
    text = (ROOT / "test/Frontends/jax/one_head.mlir").read_text()
    other = (ROOT / "test/Frontends/jax/over_queries_neg.mlir").read_text()
    both = text[: text.rindex("}")] + other[other.index("  func.func") :].replace("@model", "@other")
    script = SCRIPT[: SCRIPT.index("    %sdpa")] + "    transform.yield\n  }\n}"
    raised, _ = run("attn-opt", both, script, tmp_path)
    assert raised.count("attn.apply") == 1
    assert raised.count("linalg.batch_matmul") == other.count("linalg.batch_matmul")
