"""`attn.torch.context_parallel` on two ranks: calls inside, models of transformers, errors on each rank."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import ranks
import torch
import torch.nn.functional as F

import attn
import attn.torch

S, D = 64, 16


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def reference(q, k, v):
    return F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True)


def model(implementation):
    import transformers

    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=64,
        attn_implementation=implementation,
    )
    return transformers.AutoModelForCausalLM.from_config(config)


def gradients(network, count=1):
    found = {name: x.grad.clone() for name, x in network.named_parameters()}
    for x in found.values():
        if count > 1:
            torch.distributed.all_reduce(x)
    return found


def on_ranks(rank, count):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    torch.set_grad_enabled(True)
    mesh, found = init_device_mesh("cpu", (count,)), {}
    whole = [draw(1, 4, S, D, seed=n) for n in range(3)]

    calls = {
        "attn": lambda q, k, v: attn.torch.sdpa(q, k, v, is_causal=True),
        "pytorch": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "packed": lambda q, k, v: attn.torch.varlen_sdpa(
            *(x[0].transpose(0, 1) for x in (q, k, v)), *[torch.tensor([0, S])] * 2, causal="top_left"
        ).transpose(0, 1)[None],
    }
    for name, call in calls.items():
        parts = [x.clone() for x in whole]
        with attn.torch.context_parallel(mesh, buffers=parts, buffer_seq_dims=[2] * 3, method="ring"):
            out = call(*parts)
        assert all(torch.equal(x, y) for x, y in zip(parts, whole, strict=True))
        found[name] = attn.torch.unshard(out, 2, mesh)
        assert torch.equal(found[name], context_parallel_unshard(mesh, [out], [2])[0])
    order = attn.torch.parallel._layout.layout_of("zigzag", S, count).indices()
    out = attn.torch.sharded_sdpa(
        *(x[:, :, order.chunk(count)[rank]] for x in whole), mesh.get_group(), layout=order, is_causal=True
    )
    found["permutation"] = attn.torch.unshard(out, 2, mesh, layout=order)

    attn.torch.register_transformers()
    for implementation, layout in (("attn", "zigzag"), ("sdpa", "contiguous")):
        network = model(implementation)
        tokens = torch.arange(S)[None] * 7 % 64
        labels, positions = tokens.roll(-1, 1), torch.arange(S)[None]
        buffers = [tokens, labels, positions]
        with attn.torch.context_parallel(mesh, buffers=buffers, buffer_seq_dims=[1] * 3, layout=layout):
            logits = network(input_ids=tokens, position_ids=positions, use_cache=False).logits
            loss = F.cross_entropy(logits[0], labels[0], reduction="sum")
            loss.backward()  # it reads the buffers
        found["model " + implementation] = attn.torch.unshard(logits, 1, mesh, layout=layout), gradients(network, count)

    q = draw(1, 4, S // count, D)
    sdpa = lambda *x, **y: lambda: attn.torch.sharded_sdpa(*x, mesh, **y)  # noqa: E731

    def inside(call, **options):
        def run():
            with attn.torch.context_parallel(mesh, **options):
                return call()

        return run

    attempts = {
        "bias": inside(lambda: attn.torch.sdpa(q, q, q, bias=torch.zeros(S // count, S // count))),
        "mask": inside(lambda: attn.torch.sdpa(q, q, q, attn_mask=torch.ones(S // count, S // count).bool())),
        "one rank": inside(lambda: attn.torch.sdpa(q, q, q, dropout_p=0.1 * rank)),
        "uneven": sdpa(*[q if rank else q[:, :, :-2]] * 3),
        "types": sdpa(*[q if rank else q.double()] * 3),
        "keys": sdpa(q, q[:, :, 1:], q[:, :, 1:]),
        "heads": sdpa(*[q[:, :3]] * 3, method="ulysses"),
        "ordered": sdpa(q, q, q, method="ring", ordered=2),
        "length": inside(lambda: None, buffers=[draw(1, 4, S - 2, D)], buffer_seq_dims=[2]),
        "positions": inside(
            lambda: None, buffers=[torch.cat([torch.arange(20), torch.arange(S - 20)])[None]], buffer_seq_dims=[1]
        ),
        "packed": sdpa(q, q, q, cu_seqlens=[0, S - 1]),
    }
    found["errors"] = {name: ranks.error_of(call) for name, call in attempts.items()}
    return found


@pytest.fixture(scope="module")
def found():
    return ranks.run(on_ranks, 2)


@pytest.mark.parametrize("name", ["attn", "pytorch", "packed", "permutation"])
def test_calls_inside_are_the_attention_of_the_whole(found, name):
    expected = reference(*(draw(1, 4, S, D, seed=n) for n in range(3)))
    torch.testing.assert_close(found[0][name].double(), expected, atol=2e-6, rtol=0)


@pytest.mark.parametrize("implementation", ["attn", "sdpa"])
def test_models_of_transformers(found, implementation):
    network = model("eager")
    tokens = torch.arange(S)[None] * 7 % 64
    logits = network(input_ids=tokens, use_cache=False).logits
    F.cross_entropy(logits[0], tokens.roll(-1, 1)[0], reduction="sum").backward()
    torch.testing.assert_close(found[0]["model " + implementation][0], logits.detach(), atol=2e-5, rtol=0)
    for name, x in gradients(network).items():
        torch.testing.assert_close(found[0]["model " + implementation][1][name], x, atol=1e-4, rtol=1e-4)


MESSAGES = {
    "bias": "expected no bias in a sequence on several ranks, found it; write score_mod, which counts from the start",
    "mask": "expected no attn_mask in a sequence on several ranks",
    "one rank": "expected the ranks of a group to make the same call",
    "uneven": "expected a length that 4 blocks|expected the ranks of a group to make the same call",
    "types": "expected the ranks of a group to make the same call, found .*float64|float32",
    "keys": "expected the same rows of query, key and value on a rank",
    "heads": 'expected method="ulysses" on ranks that divide the heads, found 2 ranks, 3 heads',
    "ordered": "expected ordered to be a power of two of blocks .* found 2",
    "length": r"expected a length that 4 blocks of layout='zigzag' divide, found 62 on 2 ranks; pad the sequence to 64",
    "positions": "expected cu_seqlens beside positions of packed documents",
    "packed": "expected cu_seqlens to end at the 64 rows of the whole",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_each_rank_has_an_error(found, name):
    for results in found:
        assert results["errors"][name], f"no error of {name}"
        assert re.search(MESSAGES[name], results["errors"][name], re.DOTALL)


def test_the_example_runs():
    example = Path(__file__).resolve().parents[2] / "examples/python/ranks.py"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    found = subprocess.run([*torchrun, example], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("2 ranks, ") == 4
