"""Linalg of front ends becomes attn.sdpa, and its numbers stay right (test/Frontends)."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paths import ATTNC, OBJECTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fused", [(), ("--fused",)], ids=["as_written", "fused"])
@pytest.mark.parametrize("folder", ["jax", "torch"])
def test_all_are_raised_and_right(folder, fused):
    command = [sys.executable, ROOT / "scripts/frontends.py", ROOT / "test/Frontends" / folder, *fused]
    command.append(f"--object-cache={OBJECTS}")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert re.fullmatch(rf"{len(lines)} files: fused \d+ of \d+, 0 failed", last)
    found = {x.split()[0]: x.split()[2:5:2] for x in lines}
    assert not {name for name, (raised, held) in found.items() if raised != held}


def test_a_wrong_count_is_seen(tmp_path):
    text = (ROOT / "test/Frontends/jax/one_head.mlir").read_text()
    (tmp_path / "one_head.mlir").write_text(text.replace("// attentions: 1", "// attentions: 0"))
    done = subprocess.run([sys.executable, ROOT / "scripts/frontends.py", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    assert "raised though it is no attention" in done.stdout


def test_angles_of_rotary_positions(tmp_path):
    (tmp_path / "angles.mlir").write_text("""
func.func @angles(%x: tensor<9216xf32>) -> (tensor<9216xf32>, tensor<9216xf32>) {
  %sine = math.sin %x : tensor<9216xf32>
  %cosine = math.cos %x : tensor<9216xf32>
  return %sine, %cosine : tensor<9216xf32>, tensor<9216xf32>
}
""")
    angles = np.linspace(-9000, 9000, 9216).astype(np.float32)
    np.save(tmp_path / "x.npy", angles)
    outputs = [f"--output={tmp_path / name}.npy" for name in ("sin", "cos")]
    command = [ATTNC, "run", tmp_path / "angles.mlir", f"--input={tmp_path / 'x.npy'}", *outputs]
    subprocess.run(command, check=True, capture_output=True)
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), function(angles.astype(np.float64)), atol=1e-6)


MISMATCHES = {
    "epsilon": ("one more term is the exponential of a score less the same maximum, a sink", "leave it out"),
    "one_more_unshifted": ("one more term is the exponential of a score", "leave it out"),
    "mask_behind_softmax": ("set to 0 only where the scores are masked", "put -inf in the place of the scores"),
    "over_heads": ("a denominator that is a sum over the keys", "take the softmax over that dimension"),
    "over_queries": ("a denominator that is a sum over the keys", "take the softmax over that dimension"),
    "part_of_the_sum": ("a denominator that is a sum over the keys", "take the softmax over that dimension"),
    "transposed_weights": ("a denominator that sums the same exponentials", "subtract one maximum"),
    "two_maxima": ("a denominator that sums the same exponentials", "subtract one maximum"),
    "two_temperatures": ("a denominator that sums the same exponentials", "subtract one maximum"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_what_is_left_names_the_step(name, tmp_path):
    expected, instead = MISMATCHES[name]
    file = ROOT / f"test/Frontends/jax/{name}_neg.mlir"
    command = [ATTNC, file, "--remarks=all", "--fail-on-fallback", "-o", tmp_path / "kernel.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(rf"error: attention not raised: expected .*{expected}.*{instead}", done.stderr), done.stderr
