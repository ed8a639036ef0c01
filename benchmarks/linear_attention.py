"""Linear attention beside transformers' functions and ONNX Runtime's LinearAttention, in turn, one thread.

The gated delta rule with 16 key heads and 32 value heads, normalised rows, a state that goes from call to call. Seconds
are processor time of the thread, which others on the machine do not add to; of each rival the best round counts.
transformers is its own function of a prompt or of a step, ONNX Runtime com.microsoft.LinearAttention, whose rows are
normalised before. The share of the peak counts what the chunked form with chunks of 32 tokens needs, triangles
once, and products of a key head once.

    PYTHONPATH=python python benchmarks/linear_attention.py [gdn|kda|layer|backward] [--check]

`layer` is a linear layer of Qwen3-Next of its own sizes, with its projections and convolution, by attn and as it is.
`backward` is the gradients of all inputs of the gated delta rule by attn, which needs nothing of a forward call, beside
torch.autograd through transformers' function of a prompt, whose graph is made before.

Needs torch and transformers (scripts/setup.sh --frameworks) and onnxruntime 1.32 or later; whoever is not there has no
column. With --check, a ratio or share below its goal ends the program with status 1, after the table.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import attn

ATTNC = Path(__file__).parents[1] / "build" / "release" / "bin" / "attnc"
KEY_HEADS, VALUE_HEADS, CHUNK = 16, 32, 32
CASES = [(size, tokens) for size in (128, 64) for tokens in (1, 4, 256, 2048)]
ROUNDS = {1: 200, 4: 100, 256: 12, 2048: 3}
# Goals at 256 tokens and more: share of the peak by head size, and the time of each rival by attn's; and of one token.
SHARES = {128: 0.8, 64: 0.7}
LAYER = 1.3
BACKWARD = 3.0
PROMPT, STEP = {"transformers": 8.0, "ONNX Runtime": 4.0}, {"ONNX Runtime": 1.3}

Arrays = dict[str, Any]
Run = Callable[[], Any]


def draw(rule: str, size: int, tokens: int) -> Arrays:
    """Arrays (1, heads, T, ·), the gates as a new Qwen3-Next has them; for KDA between 0 and −5."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)  # noqa: E731
    heads = VALUE_HEADS if rule == "kda" else KEY_HEADS
    rates = rng.uniform(0, 16, (1, VALUE_HEADS, 1)).astype(np.float32)
    decay = -rates * np.log1p(np.exp(normal(1, VALUE_HEADS, tokens) + 1))
    if rule == "kda":
        decay = -5 / (1 + np.exp(-normal(1, VALUE_HEADS, tokens, size)))
    q, k = normal(1, heads, tokens, size), normal(1, heads, tokens, size)
    beta = 1 / (1 + np.exp(-normal(1, VALUE_HEADS, tokens)))
    state = 0.1 * normal(1, VALUE_HEADS, size, size)
    return {"q": q, "k": k, "v": normal(1, VALUE_HEADS, tokens, size), "decay": decay, "beta": beta, "state": state}


def own(rule: str, given: Arrays) -> Run:
    """attn, which writes the state in place."""
    return lambda: attn.linear_attention(**given, normalize=True)


def by_transformers(rule: str, given: Arrays) -> Run:
    """The function that a model of transformers calls without other packages."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    family = "kimi_linear" if rule == "kda" else "qwen3_next"
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    names = ("chunk_kimi_delta_attention", "recurrent_kimi_delta_attention")
    names = names if rule == "kda" else ("torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule")
    function = getattr(module, names[given["q"].shape[2] == 1])
    rows = [torch.from_numpy(np.ascontiguousarray(given[x].swapaxes(1, 2))) for x in ("q", "k", "v", "decay", "beta")]
    state, words = torch.from_numpy(given["state"].copy()), {"use_qk_l2norm_in_kernel": True}

    def run() -> Any:
        with torch.no_grad():
            out, new = function(
                *rows[:3], g=rows[3], beta=rows[4], initial_state=state, output_final_state=True, **words
            )
        return out.transpose(1, 2).numpy(), new.numpy()

    return run


def by_onnxruntime(rule: str, given: Arrays) -> Run:
    """com.microsoft.LinearAttention."""
    import onnxruntime
    from onnx import TensorProto, helper

    heads, tokens = given["q"].shape[1:3]
    rows = {name: x[0].swapaxes(0, 1) for name, x in given.items() if name != "state"}
    for name in ("q", "k"):
        rows[name] = rows[name] / np.sqrt((rows[name] ** 2).sum(-1, keepdims=True) + 1e-6)
    feeds = {name: np.ascontiguousarray(x.reshape(1, tokens, -1)) for name, x in rows.items()}
    feeds = {name: feeds[name] for name in ("q", "k", "v")} | {"state": given["state"].copy()} | feeds
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    node = helper.make_node(
        "LinearAttention", list(feeds), ["out", "new"], domain="com.microsoft", q_num_heads=heads,
        kv_num_heads=VALUE_HEADS, update_rule="gated_delta",
    )  # fmt: skip
    inputs, outputs = [value(name, x.shape) for name, x in feeds.items()], [value(x, None) for x in ("out", "new")]
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=sets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run() -> Any:
        out, new = session.run(None, feeds)
        return out.reshape(1, tokens, VALUE_HEADS, -1).swapaxes(1, 2), new

    return run


RIVALS: dict[str, Callable[[str, Arrays], Run]] = {"transformers": by_transformers, "ONNX Runtime": by_onnxruntime}


def best(calls: dict[str, Run], rounds: int) -> dict[str, float]:
    """Seconds of the fastest round of each, the rounds in turn."""
    seconds = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.thread_time()
            call()
            seconds[name] = min(seconds[name], time.thread_time() - begin)
    return seconds


def operations(heads: int, size: int, tokens: int) -> int:
    """Multiplications and additions of the chunked form."""
    total = 0
    for first in range(0, tokens, CHUNK):
        n = min(CHUNK, tokens - first)
        below, triangle = n * (n - 1) // 2, n * (n + 1) // 2
        total += 2 * (2 * heads * triangle * size + VALUE_HEADS * size * (3 * n * size + below + triangle))
    return total


def peak() -> float:
    """Multiplications and additions of f32 a second on one thread."""
    command = [ATTNC, "bench", "--ceilings", "--threads=1"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    match = re.search(r"f32 FMA, 1 thread: ([\d.]+) GFLOP/s", found)
    assert match
    return 1e9 * float(match[1])


def check(rule: str, given: Arrays, calls: dict[str, Run]) -> None:
    """Raises where a result is not that of the reference."""
    exact = {name: x.astype(np.float64) for name, x in given.items()}
    expected = attn.reference.linear_attention(**exact, normalize=True)
    for name, call in calls.items():
        for found, want in zip(call(), expected, strict=True):
            error = np.abs(found - want).max() / np.abs(want).max()
            if not error <= 1e-4:
                raise SystemExit(f"error: expected numbers of the reference, found {name} wrong by {error:.1e}")


def print_layer() -> bool:
    """A row a number of tokens; whether all of them meet their goal."""
    import torch
    import transformers

    import attn.torch

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    name = attn.torch.register_transformers()
    configuration = transformers.Qwen3NextConfig(
        vocab_size=64, hidden_size=2048, num_hidden_layers=1, linear_num_key_heads=KEY_HEADS,
        linear_num_value_heads=VALUE_HEADS, linear_key_head_dim=128, linear_value_head_dim=128, num_experts=2,
        moe_intermediate_size=16, num_experts_per_tok=1, shared_expert_intermediate_size=16,
        layer_types=["linear_attention"],
    )  # fmt: skip
    model = transformers.Qwen3NextModel._from_config(configuration, attn_implementation=name).eval()
    layer, is_met = model.layers[0].linear_attn, True

    def run(implementation: str, rows: Any) -> Any:
        model.config._attn_implementation = implementation
        with torch.no_grad():
            return layer(rows)

    print("| tokens | by attn | as it is | ratio |\n| --- | --- | --- | --- |")
    for tokens in (256, 1024):
        rows = torch.randn(1, tokens, 2048)
        torch.testing.assert_close(run(name, rows), run("eager", rows), rtol=1e-3, atol=1e-5)
        found = best({x: lambda x=x: run(x, rows) for x in (name, "eager")}, 6)  # noqa: B023
        ratio = found["eager"] / found[name]
        print(f"| {tokens} | {1e3 * found[name]:.0f} ms | {1e3 * found['eager']:.0f} ms | {ratio:.2f} |", flush=True)
        is_met &= ratio >= LAYER
    return is_met


def print_backward() -> bool:
    """A row a head size and number of tokens; whether all of them meet their goal."""
    import torch
    import transformers
    from transformers.models.qwen3_next import modeling_qwen3_next

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    is_met = True
    print("| D, tokens | attn | a token | torch.autograd / attn |\n| --- | --- | --- | --- |")
    for size, tokens in ((size, tokens) for size in (128, 64) for tokens in (256, 1024)):
        given, rng = draw("gdn", size, tokens), np.random.default_rng(1)
        dout, dstate = (rng.standard_normal(given[x].shape, dtype=np.float32) for x in ("v", "state"))
        leaves = {name: torch.tensor(x, requires_grad=True) for name, x in given.items()}
        rows = {name: x if name == "state" else x.transpose(1, 2) for name, x in leaves.items()}
        words = {"g": rows["decay"], "beta": rows["beta"], "initial_state": rows["state"], "output_final_state": True}
        out, new = modeling_qwen3_next.torch_chunk_gated_delta_rule(
            *(rows[x] for x in ("q", "k", "v")), **words, use_qk_l2norm_in_kernel=True
        )
        seeds = [torch.from_numpy(dout).transpose(1, 2), torch.from_numpy(dstate)]
        names = {"dout": dout, "dstate": dstate, "grad": list(given), "normalize": True}
        calls = {
            "attn": lambda: attn.linear_attention_backward(**given, **names),  # noqa: B023
            "torch": lambda: torch.autograd.grad((out, new), list(leaves.values()), seeds, retain_graph=True),  # noqa: B023
        }
        for (name, found), want in zip(calls["attn"]().items(), calls["torch"](), strict=True):
            error = np.abs(found - want.numpy()).max() / np.abs(found).max()
            if not error <= 1e-3:
                raise SystemExit(f"error: expected the gradients of torch.autograd, found {name} off by {error:.1e}")
        seconds = best(calls, ROUNDS[256])
        mine, ratio = seconds["attn"], seconds["torch"] / seconds["attn"]
        print(f"| {size}, {tokens} | {1e3 * mine:.2f} ms | {1e6 * mine / tokens:.1f} µs | {ratio:.2f} |", flush=True)
        is_met &= ratio >= BACKWARD
    return is_met


def print_rule(rule: str) -> bool:
    """A row a head size and number of tokens; whether all of them meet their goals."""
    rivals = {}
    for name, rival in RIVALS.items():
        try:
            rival(rule, draw(rule, 64, 1))
            rivals[name] = rival
        except ImportError as error:
            print(f"* without {name}: {error}")
    fastest, is_met = peak(), True
    print("| D, tokens | attn | a token | share of peak |" + "".join(f" {x} / attn |" for x in rivals))
    print("| --- | --- | --- | --- |" + " --- |" * len(rivals))
    for size, tokens in CASES:
        given = draw(rule, size, tokens)
        calls = {name: rival(rule, given) for name, rival in {"attn": own, **rivals}.items()}
        if tokens <= 256:
            check(rule, {name: x.copy() for name, x in given.items()}, calls)
        seconds = best(calls, ROUNDS[tokens])
        mine = seconds["attn"]
        share = operations(given["q"].shape[1], size, tokens) / mine / fastest
        ratios = {name: seconds[name] / mine for name in rivals}
        row = f"| {size}, {tokens} | {1e3 * mine:.3f} ms | {1e6 * mine / tokens:.1f} µs | {100 * share:.0f} % |"
        print(row + "".join(f" {x:.2f} |" for x in ratios.values()), flush=True)
        goals = PROMPT if tokens >= 256 else STEP if tokens == 1 else {}
        is_met &= all(ratios[name] >= goal for name, goal in goals.items() if name in ratios)
        is_met &= tokens < 256 or rule == "kda" or share >= SHARES[size]
    return is_met


def main() -> None:
    """Prints a table as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rule", choices=["gdn", "kda", "layer", "backward"], nargs="?", default="gdn")
    parser.add_argument("--check", action="store_true", help="status 1 where a goal is not met")
    options = parser.parse_args()
    attn.set_num_threads(1)
    tables = {"layer": print_layer, "backward": print_backward}
    is_met = tables.get(options.rule, lambda: print_rule(options.rule))()
    if options.check and not is_met:
        raise SystemExit("error: expected all goals to be met, found smaller ratios or shares")


if __name__ == "__main__":
    main()
