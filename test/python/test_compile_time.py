"""The time to compile grows as the source does: of n and 4n, in one run. Counted in CPU time of the compiler."""

import subprocess

import pytest

import clock
from paths import ATTNC

T = "tensor<1x2x64x64xf32>"
# Four times the source takes 4 times as long where time grows linearly, and 16 times where it grows quadratically.
RATIO = 8


def layers(count: int) -> str:
    """`count` attentions, each of the one before."""
    lines = [f"func.func @layers(%o0: {T}, %k: {T}, %v: {T}) -> {T} {{", f"  %e = tensor.empty() : {T}"]
    lines += [f"  %o{i + 1} = attn.sdpa ins(%o{i}, %k, %v : {T}, {T}, {T}) outs(%e : {T}) -> {T}" for i in range(count)]
    return "\n".join([*lines, f"  return %o{count} : {T}", "}"])


def seconds(text: str, folder) -> float:
    command = [ATTNC, "-", "--target=x86-64-v3", "-o", folder / "kernel.o"]
    return clock.child_seconds(*command, input=text, text=True)


def test_layers(tmp_path):
    """Equal layers are optimised once: twenty take less than ten would by themselves."""
    assert clock.ever(lambda: seconds(layers(20), tmp_path) < 10 * seconds(layers(1), tmp_path))
    assert clock.ever(lambda: seconds(layers(80), tmp_path) < RATIO * seconds(layers(20), tmp_path))


def test_layers_are_right(tmp_path):
    """One body for all layers, each on the buffers of its own."""
    result = subprocess.run(
        [ATTNC, "run", "-", "--check"], input=layers(7), text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stdout


def chain(count: int) -> str:
    """A score_mod of `count` chained functions."""
    lines = [f"func.func @chain(%o: {T}, %k: {T}, %v: {T}) -> {T} {{", f"  %e = tensor.empty() : {T}"]
    lines += [f"  %r = attn.sdpa ins(%o, %k, %v : {T}, {T}, {T}) outs(%e : {T}) score_mod {{", "  ^bb0(%s0: f32):"]
    lines += [f"    %s{i + 1} = math.tanh %s{i} : f32" for i in range(count)]
    return "\n".join([*lines, f"    attn.yield %s{count} : f32", f"  }} -> {T}", f"  return %r : {T}", "}"])


def test_chained_functions(tmp_path):
    assert clock.ever(lambda: seconds(chain(60), tmp_path) < RATIO * seconds(chain(15), tmp_path))


def test_gradients(tmp_path):
    """A pair of forward and backward, under a mask, beside the forward kernel: products of tiles are compiled once."""

    def of(words: str) -> float:
        line = f"b1 hq8 sq1024 sk1024 d128 f32 causal=top_left {words}"
        return clock.child_seconds(ATTNC, f"--problem={line}", "--target=x86-64-v4", "-o", tmp_path / "kernel.o")

    assert clock.ever(lambda: of("grad=q,k,v") < 4 * of("out=lse"))


def elementwise(count: int, form: str) -> str:
    """`count` additions of one tensor, each to the result of the one before, in a destination that all share.

    The forms: `chain`, no other use; `residual`, used twice; `stored`, each result is one of the function's.
    """
    add = f"linalg.add ins(%x{{0}}, %{{1}} : {T}, {T}) outs(%e : {T}) -> {T}"
    lines = [f"  %e = tensor.empty() : {T}"]
    for i in range(count):
        if form == "residual":
            lines.append(f"  %y{i} = linalg.exp ins(%x{i} : {T}) outs(%e : {T}) -> {T}")
        lines.append(f"  %x{i + 1} = " + add.format(i, f"y{i}" if form == "residual" else "y"))
    results = [f"%x{i + 1}" for i in range(0, count, 10 if form == "stored" else count)]
    if form != "stored":
        results = [f"%x{count}"]
    types = ", ".join([T] * len(results))
    head = f"func.func @elementwise(%x0: {T}, %y: {T}) -> ({types}) {{"
    return "\n".join([head, *lines, f"  return {', '.join(results)} : {types}", "}"])


@pytest.mark.parametrize("form", ["chain", "residual", "stored"])
def test_elementwise(tmp_path, form):
    """What bufferisation compares with each other stays few ops: its time grew with the third power."""
    count = {"chain": 200, "residual": 50, "stored": 50}[form]
    assert clock.ever(
        lambda: seconds(elementwise(4 * count, form), tmp_path) < RATIO * seconds(elementwise(count, form), tmp_path)
    )
