"""The time to compile grows as the source does: of n and 2n, in one run. Counted in CPU time of the compiler."""

import os
import subprocess

from paths import ATTNC

T = "tensor<1x2x64x64xf32>"
# The same source twice as long takes at most this much longer.
RATIO = 2.6


def layers(count: int) -> str:
    """`count` attentions, each of the one before."""
    lines = [f"func.func @layers(%o0: {T}, %k: {T}, %v: {T}) -> {T} {{", f"  %e = tensor.empty() : {T}"]
    lines += [f"  %o{i + 1} = attn.sdpa ins(%o{i}, %k, %v : {T}, {T}, {T}) outs(%e : {T}) -> {T}" for i in range(count)]
    return "\n".join([*lines, f"  return %o{count} : {T}", "}"])


def seconds(text: str, folder) -> float:
    before = os.times()
    subprocess.run([ATTNC, "-", "--target=x86-64-v3", "-o", folder / "kernel.o"], input=text, text=True, check=True)
    after = os.times()
    return after.children_user - before.children_user


def test_layers(tmp_path):
    """Equal layers are optimised once: forty take less than ten would by themselves, and eighty twice as long."""
    one, forty, eighty = (seconds(layers(n), tmp_path) for n in (1, 40, 80))
    assert forty < 10 * one
    assert eighty < RATIO * forty


def test_layers_are_right(tmp_path):
    """One body for all layers, each on the buffers of its own."""
    result = subprocess.run(
        [ATTNC, "run", "-", "--check"], input=layers(7), text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stdout
