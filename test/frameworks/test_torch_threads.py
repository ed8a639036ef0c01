"""attn and PyTorch share one pool of threads, whichever is imported first.

Threads are counted in a process of its own: a test before may have started some.
"""

import subprocess
import sys

import pytest

ORDERS = {
    "attn, torch": "import attn\nimport torch",
    "torch, attn": "import torch\nimport attn",
    "a call, then torch": """
import attn
import numpy as np
attn.sdpa(*[np.ones((1, 2, 64, 32), np.float32)] * 3)
import torch
""",
}
COMMON = """
import os
import threading
import attn.torch

def tids():
    return set(os.listdir("/proc/self/task"))

def relu():
    torch.relu(torch.randn(1 << 20))

def draw(heads=8):
    return [torch.randn(1, heads, 256, 64, requires_grad=True) for _ in range(3)]

def train(tensors):
    attn.torch.sdpa(*tensors, is_causal=True).sum().backward()

attn.set_cache(**CACHE)
attn.set_num_threads(1)
train(draw())  # compiles, unless a program before has: the compiler may have threads
train(draw(1))
attn.set_num_threads(0)
torch.set_num_threads(4)
relu()
before = tids()
"""
PROGRAMS = {
    # Two pools take turns in spinning: 2 times PyTorch's own time, 0.6 with one.
    "no time is lost": """
import time
torch.set_num_threads(2)

def step(attention, tensors):
    begin = time.perf_counter()
    torch.autograd.grad(attention(*tensors, is_causal=True), tensors, tensors[0])
    relu()
    return time.perf_counter() - begin

ways = (attn.torch.sdpa, torch.nn.functional.scaled_dot_product_attention)
for attempt in range(3):  # neighbours
    rounds = [[step(way, tensors) for way in ways] for tensors in [draw()] * 30]
    mine, peers = (min(times) for times in zip(*rounds[3:]))
    if mine < 1.2 * peers:
        break
assert mine < 1.2 * peers, (mine, peers)
""",
    "no thread is made": """
for heads in (8, 1, 8):
    train(draw(heads))
    relu()
    # A team that is smaller than PyTorch's would have ended threads of it, and PyTorch made others.
    assert tids() == before, (len(before), len(tids()))
""",
    "work is shared": """
def time_of(tid):
    with open(f"/proc/self/task/{tid}/schedstat") as file:
        return int(file.read().split()[0])

tensors = draw()
times = {tid: time_of(tid) for tid in before}
for _ in range(20):
    train(tensors)
assert tids() == before
busy = [tid for tid in before if time_of(tid) > times[tid] + 100_000]
assert len(busy) >= 4, (len(busy), len(before))
""",
    "the number follows PyTorch": """
for threads in (1, 2, 3):
    torch.set_num_threads(threads)
    assert attn.get_num_threads() == threads
attn.set_num_threads(5)
assert attn.get_num_threads() == 5
torch.set_num_threads(2)
assert attn.get_num_threads() == 5
attn.set_num_threads(0)
assert attn.get_num_threads() == 2
seen = []
thread = threading.Thread(target=lambda: seen.append(attn.get_num_threads()))
thread.start()
thread.join()
assert seen == [2], seen
""",
    "several threads call": """
tensors = draw()
expected = torch.autograd.grad(attn.torch.sdpa(*tensors, is_causal=True).sum(), tensors)
failures = []

def call():
    for _ in range(10):
        found = torch.autograd.grad(attn.torch.sdpa(*tensors, is_causal=True).sum(), tensors)
        failures.extend(1 for a, b in zip(found, expected) if not torch.equal(a, b))

threads = [threading.Thread(target=call) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures
""",
    "a forked child": """
inputs = [tensor.detach().numpy() for tensor in draw()]
expected = attn.sdpa(*inputs)
child = os.fork()
if child == 0:
    # The threads of libgomp are not there: a region on them would not end.
    os._exit(0 if (attn.sdpa(*inputs) == expected).all() else 1)
assert os.waitpid(child, 0)[1] == 0
""",
}


def run(order, program, **cache):
    code = f"CACHE = {cache}\n" + ORDERS[order] + COMMON + PROGRAMS[program]
    subprocess.run([sys.executable, "-c", code], timeout=300, check=True)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return str(tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("order", ORDERS)
def test_one_pool_of_threads(order):
    run(order, "no thread is made", enabled=False)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "no thread is made"])
def test_on_the_pool_of_torch(kernels, program):
    run("torch, attn", program, directory=kernels)
