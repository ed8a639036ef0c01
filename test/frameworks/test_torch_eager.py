"""attn.torch.sdpa outside of graphs: the plans by which it calls kernels, and who still sees the operator."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import attn.torch as at
from attn.torch import _eager, _functions, _ops

SHAPE = (2, 2, 9, 16)


def draw(grad=False):
    return [torch.randn(SHAPE, requires_grad=grad) for _ in range(3)]


@pytest.fixture
def operators(monkeypatch):
    """The calls of PyTorch's operators, forward and backward."""
    found, forward, backward = [], _functions.call, _ops.sdpa_backward
    monkeypatch.setattr(_functions, "call", lambda x: found.append("forward") or forward(x))
    monkeypatch.setattr(_ops, "sdpa_backward", lambda *x: found.append("backward") or backward(*x))
    return found


def test_a_call_needs_no_dispatcher_and_one_plan(operators):
    at.sdpa(*draw(True)).sum().backward()
    forms = len(_eager._forms)
    for _ in range(3):
        inputs = draw(True)
        out = at.sdpa(*inputs)
        dout = torch.randn(SHAPE)[:, :1].expand(SHAPE)  # copied, or not, as the plan of its strides says
        found = torch.autograd.grad(out, inputs, dout)
        expected = torch.autograd.grad(F.scaled_dot_product_attention(*inputs), inputs, dout)
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(x, y, atol=1e-5, rtol=1e-5)
    assert not operators
    assert len(_eager._forms) == forms


def test_a_tensor_that_is_not_aligned():
    inputs = draw()
    at.sdpa(*inputs)
    memory = bytearray(4 * inputs[0].numel() + 1)
    q = torch.frombuffer(memory, dtype=torch.float32, offset=1, count=inputs[0].numel()).view(SHAPE)
    q.copy_(inputs[0])
    torch.testing.assert_close(at.sdpa(q, *inputs[1:]), at.sdpa(*inputs))


def test_modes_profilers_and_autocast_see_the_operator(operators):
    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            names.append(str(function))
            return function(*arguments, **(keywords or {}))

    names = []
    with Names():
        at.sdpa(*draw())
    assert "attn.sdpa.default" in names
    with torch.profiler.profile() as profile:
        at.sdpa(*draw())
    assert any(x.key == "attn::sdpa" for x in profile.key_averages())
    with torch.autocast("cpu", torch.bfloat16):
        assert at.sdpa(*draw()).dtype == torch.bfloat16
    assert operators == ["forward"] * 3


def test_a_change_before_the_backward_is_an_error():
    inputs = draw(True)
    scaled = [x * 1 for x in inputs]
    out = at.sdpa(*scaled)
    scaled[1].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_threads_share_a_plan():
    inputs = [draw() for _ in range(4)]
    expected = [F.scaled_dot_product_attention(*x) for x in inputs]
    wrong = []

    def work(n):
        for _ in range(200):
            if not torch.allclose(at.sdpa(*inputs[n]), expected[n], atol=1e-5):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    assert not wrong
