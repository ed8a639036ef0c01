"""Ranks that cannot make a call: meshes, layouts, and a rank that dies. No rank waits for ever."""

import datetime
import os
import re
import time

import pytest
import ranks
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import attn.torch

S, D, TIMEOUT = 32, 16, 60
LAYOUTS = {
    "twice": torch.arange(S).clamp(max=S - 2),
    "short": torch.arange(S - 2),
    "pieces": torch.arange(8 * S).view(2, -1).T.flatten(),
}
MESSAGES = {
    "mesh": r'ValueError: expected a mesh of one dimension, found one of 2; write .*, as mesh\["cp"\]',
    "no mesh": "TypeError: expected a DeviceMesh or a process group, found str",
    "twice": f"ValueError: expected layout to be a permutation of {S} rows that 2 ranks divide, found a tensor of",
    "short": f"ValueError: expected layout to be a permutation of {S} rows",
    "pieces": "ValueError: expected layout to give a rank at most 64 pieces of consecutive rows, found 128.*zigzag",
    "word": "ValueError: expected layout .*contiguous.*, .*zigzag.* found 'stripes'",
    "other layouts": "RuntimeError: expected the ranks of a group to make the same call",
    "other methods": "RuntimeError: expected the ranks of a group to make the same call",
    "other heads": "RuntimeError: expected the ranks of a group to make the same call",
    "other key heads": "RuntimeError: expected the ranks of a group to make the same|ValueError: expected as many",
}


def on_ranks(rank, count):
    from torch.distributed.device_mesh import init_device_mesh

    q = torch.randn(1, 4, S // count, D)
    big = torch.randn(1, 4, 4 * S, D)
    call = lambda x=q, k=None, mesh=None, **y: lambda: attn.torch.sharded_sdpa(x, x if k is None else k, x, mesh, **y)  # noqa: E731
    attempts = {
        "mesh": call(mesh=init_device_mesh("cpu", (1, count), mesh_dim_names=("dp", "cp"))),
        "no mesh": call(mesh="cp"),
        "twice": call(layout=LAYOUTS["twice"]),
        "short": call(layout=LAYOUTS["short"]),
        "pieces": call(big, layout=LAYOUTS["pieces"]),
        "word": call(layout="stripes"),
        "other layouts": call(layout=("zigzag", "contiguous")[rank]),
        "other methods": call(method=("ring", "allgather")[rank]),
        "other heads": call(q[:, : 4 - 2 * rank]),
        "other key heads": call(k=q[:, : 4 - 2 * rank]),
    }
    return {name: ranks.error_of(attempt) for name, attempt in attempts.items()}


@pytest.fixture(scope="module")
def found():
    return ranks.run(on_ranks, 2)


@pytest.mark.parametrize("name", MESSAGES)
def test_each_rank_has_an_error(found, name):
    for errors in found:
        assert errors[name], f"no error of {name}"
        assert re.search(MESSAGES[name], errors[name])


def dying(rank, folder, at, method):
    """Rank 1 dies; what rank 0 has is written."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", 2)
    limit = datetime.timedelta(seconds=TIMEOUT)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=limit)
    q = torch.randn(1, 2, S // 2, D, requires_grad=True)
    if rank and at == "forward":
        os._exit(1)
    start = time.monotonic()

    def call():
        out = attn.torch.sharded_sdpa(q, q, q, method=method, is_causal=True)
        if rank:
            os._exit(1)
        out.sum().backward()

    torch.save((ranks.error_of(call), time.monotonic() - start), f"{folder}/found")
    os._exit(0)  # without waiting for the other


@pytest.mark.parametrize(("at", "method"), [("forward", "allgather"), ("backward", "ring")])
def test_a_rank_that_dies_is_an_error_of_the_other(tmp_path, at, method):
    mp.start_processes(dying, (tmp_path, at, method), 2, join=False, start_method=ranks.START)
    deadline = time.monotonic() + 5 * TIMEOUT
    while not (tmp_path / "found").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    error, seconds = torch.load(tmp_path / "found", weights_only=False)
    assert error, f"no error after {seconds:.1f} s"
    assert error.startswith("RuntimeError")
    assert "Connection" in error
    assert seconds < TIMEOUT / 2
