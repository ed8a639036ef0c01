"""attn.torch.sdpa outside of graphs: the plans by which it calls kernels, and who still sees the operator."""

import subprocess
import sys
import threading

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import attn.torch as at
from attn.kernel import _cache
from attn.kernel._cache import plans
from attn.torch import _eager, _functions, _ops, _planned

SHAPE = (2, 2, 9, 16)


def draw(grad=False):
    return [torch.randn(SHAPE, requires_grad=grad) for _ in range(3)]


@pytest.fixture
def operators(monkeypatch):
    """The calls of PyTorch's operators, forward and backward."""
    found, forward, backward = [], _functions.call, _ops.sdpa_backward
    monkeypatch.setattr(_functions, "call", lambda x: found.append("forward") or forward(x))
    by_operator = staticmethod(lambda *x: found.append("backward") or backward(*x))
    monkeypatch.setattr(_ops.Call, "differentiate", by_operator)
    monkeypatch.setattr(_ops, "sdpa_backward", by_operator.__func__)  # of transforms
    return found


def test_a_call_needs_no_dispatcher_and_one_plan(operators):
    at.sdpa(*draw(True)).sum().backward()
    forms = [x for x in plans.values() if isinstance(x, _eager._Form)]
    for _ in range(3):
        inputs = draw(True)
        out = at.sdpa(*inputs)
        dout = torch.randn(SHAPE)[:, :1].expand(SHAPE)  # copied, or not, as the plan of its strides says
        found = torch.autograd.grad(out, inputs, dout)
        expected = torch.autograd.grad(F.scaled_dot_product_attention(*inputs), inputs, dout)
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(x, y, atol=1e-5, rtol=1e-5)
    assert not operators
    assert [x for x in plans.values() if isinstance(x, _eager._Form)] == forms


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


def gradients(call, inputs):
    out = call(*inputs)
    return [out, *torch.autograd.grad(out.square().sum(), [x for x in inputs if x.requires_grad])]


def check(inputs, call=at.sdpa, expected=F.scaled_dot_product_attention):
    for x, y in zip(gradients(call, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(x, y, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("wanted", [(True, False, False), (False, True, True), (False, False, True)])
def test_gradients_of_some(operators, wanted):
    for _ in range(2):
        check([x.requires_grad_(is_wanted) for x, is_wanted in zip(draw(), wanted, strict=True)])
    assert not operators


def test_constants_are_told_apart():
    inputs = draw()
    for _ in range(2):
        for options in ({}, {"scale": 1.0}, {"scale": 0.5}, {"is_causal": True}, {"is_causal": True, "scale": 1.0}):
            expected = F.scaled_dot_product_attention(*inputs, **options)
            torch.testing.assert_close(at.sdpa(*inputs, **options), expected, atol=1e-5, rtol=1e-5)
        out, lse = at.sdpa(*inputs, return_lse=True)
        assert lse.shape == out.shape[:3]
        _, row_max = at.sdpa(*inputs, return_max=True)
        assert not torch.equal(lse, row_max)
    with pytest.raises(ValueError, match="enable_gqa"):
        at.sdpa(inputs[0], *[x[:, :1].expand(2, 3, 9, 16)[:, :3] for x in inputs[1:]])


def test_a_mask_is_part_of_a_form(operators):
    inputs = draw(True)
    for mask in (
        torch.rand(2, 1, 9, 9) > 0.4,
        torch.rand(2, 1, 9, 9) > 0.4,
        torch.randn(2, 1, 9, 9),
        torch.randn(9, 9),
    ):
        options = {"attn_mask": mask}
        check(inputs, lambda *x: at.sdpa(*x, **options), lambda *x: F.scaled_dot_product_attention(*x, **options))  # noqa: B023
    bias = torch.randn(2, 1, 9, 9, requires_grad=True)
    check([*inputs, bias])
    assert not operators


def test_rows_that_keep_nothing_and_numbers_that_are_none(operators):
    inputs, mask = draw(True), torch.ones(2, 1, 9, 9, dtype=torch.bool)
    mask[:, :, 3] = False
    for _ in range(2):
        out, lse = at.sdpa(*inputs, mask, return_lse=True)
        assert (out[:, :, 3] == 0).all()
        assert (lse[:, :, 3] == -torch.inf).all()
        (out.sum() + lse[:, :, :3].sum()).backward()
        assert all(x.grad.isfinite().all() for x in inputs)
    with torch.no_grad():
        inputs[2][0, 0, 4] = torch.nan
        assert at.sdpa(*inputs)[0, 0].isnan().any()
        assert at.sdpa(*inputs)[1].isfinite().all()
    assert not operators


@pytest.mark.parametrize(
    "view",
    [
        lambda: torch.randn(2, 9, 2, 16).transpose(1, 2),
        lambda: torch.randn(2, 2, 9, 40)[..., 8:24],
        lambda: torch.randn(2, 2, 16, 9).transpose(2, 3),
        lambda: torch.randn(1, 1, 9, 16).expand(SHAPE),
        lambda: torch.randn(2, 2, 9, 32)[..., ::2],
    ],
)
def test_views_have_forms_of_their_own(operators, view):
    for _ in range(2):
        check([view().requires_grad_() for _ in range(3)])
        check(draw(True))
    assert not operators


def test_sizes_of_zero():
    for rows, keys in ((0, 9), (9, 0), (9, 9)) * 2:
        q, k, v = (torch.randn(2, 2, n, 16, requires_grad=True) for n in (rows, keys, keys))
        out = at.sdpa(q, k, v)
        assert out.shape == q.shape
        out.sum().backward()
        assert q.grad.shape == q.shape


class Refusing(torch.Tensor):
    """A tensor that operators cannot take."""

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        raise TypeError(f"{function} is seen")


def test_subclasses_and_tensors_of_transforms_see_the_operator(operators):
    q, k, v = draw()
    at.sdpa(q, k, v)
    with pytest.raises(TypeError, match=r"attn\.sdpa\.default is seen"):
        at.sdpa(torch.Tensor._make_subclass(Refusing, q), k, v)
    assert operators == ["forward"]
    kept = []
    torch.func.grad(lambda x: (kept.append(x), x.sum())[1])(q)
    torch.testing.assert_close(at.sdpa(kept[0], k, v), at.sdpa(q, k, v))  # the transform is over
    torch.testing.assert_close(at.sdpa(torch._neg_view(q), k, v), at.sdpa(-q, k, v))
    found = torch.vmap(at.sdpa)(*[torch.stack([x, x]) for x in (q, k, v)])
    torch.testing.assert_close(found[1], at.sdpa(q, k, v))
    found = torch.func.grad(lambda x: at.sdpa(x, k, v).sum())(q)
    held = draw(True)  # no tensors of the transform, which records them nonetheless
    torch.func.grad(lambda x: (at.sdpa(*held) * x).sum())(k)
    assert operators == ["forward"] * 5 + ["backward", "forward"]
    torch.testing.assert_close(found, torch.autograd.grad(at.sdpa(q.requires_grad_(), k, v).sum(), q)[0])


def test_graphs_hold_the_operator():
    inputs = draw()
    at.sdpa(*inputs)
    for pre_dispatch in (False, True):
        assert "attn.sdpa" in make_fx(lambda *x: at.sdpa(*x), pre_dispatch=pre_dispatch)(*inputs).code
    assert "attn.sdpa" in str(torch.export.export(Module(), tuple(inputs)).graph)
    compiled = torch.compile(at.sdpa, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*inputs), at.sdpa(*inputs))


class Module(torch.nn.Module):
    """What torch.export takes."""

    def forward(self, q, k, v):
        """The attention alone."""
        return at.sdpa(q, k, v)


def test_devices_without_memory_are_no_form():
    inputs = draw()
    at.sdpa(*inputs)
    assert at.sdpa(*[x.to("meta") for x in inputs]).device.type == "meta"
    with pytest.raises(TypeError, match="found it on meta"):
        at.sdpa(inputs[0], inputs[1].to("meta"), inputs[2])
    assert not _eager._are_plain([torch.empty(2, device="meta")])
    with torch.device("meta"):  # a mode, in which new tensors are on another device
        assert at.sdpa(*inputs).device.type == "cpu"


def test_without_gradients(operators):
    inputs = draw(True)
    with torch.no_grad():
        assert not at.sdpa(*inputs).requires_grad
    with torch.inference_mode():
        out = at.sdpa(*inputs)
        assert out.is_inference()
        made = draw()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        at.sdpa(inputs[0], *made[1:])
    assert not operators


def test_hooks_of_saved_tensors(operators):
    packed = []
    for unpack in (lambda x: x.clone(), lambda x: x.clone().transpose(1, 2).contiguous().transpose(1, 2), lambda x: x):
        inputs = draw(True)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x: packed.append(x.shape) or x, lambda x, u=unpack: u(x) if x.dim() == 4 else x.clone()
        ):
            out = at.sdpa(*inputs)
        found = torch.autograd.grad(out, inputs, out)
        expected = torch.autograd.grad(F.scaled_dot_product_attention(*inputs), inputs, out)
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(x, y, atol=1e-5, rtol=1e-5)
    assert SHAPE in packed
    inputs = draw(True)
    out = torch.utils.checkpoint.checkpoint(lambda *x: at.sdpa(*[y * 1 for y in x]), *inputs, use_reentrant=False)
    found = torch.autograd.grad(out, inputs, out)
    expected = torch.autograd.grad(F.scaled_dot_product_attention(*inputs), inputs, out)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y, atol=1e-5, rtol=1e-5)
    assert not operators


def test_memory_that_is_swapped_before_the_backward():
    """As weights are by `x.data = …`, which autograd does not count as a change: the backward reads what is there."""
    inputs = draw(True)
    out = at.sdpa(*inputs)
    inputs[1].data = torch.zeros(2, 2, 3, 16)
    with pytest.raises((RuntimeError, ValueError)):
        out.sum().backward()


def test_second_order_is_refused_by_name():
    inputs = draw(True)
    at.sdpa(*inputs).sum().backward()
    grad = torch.autograd.grad(at.sdpa(*inputs).sum(), inputs[0], create_graph=True)[0]
    with pytest.raises(RuntimeError, match="expected a gradient of first order of attn::sdpa"):
        grad.sum().backward()


def test_gradients_in_batches_are_refused_by_pytorch():
    inputs = draw(True)
    out = at.sdpa(*inputs)
    with pytest.raises(RuntimeError, match="attn::sdpa_backward"):
        torch.autograd.grad(out, inputs, torch.randn(3, *SHAPE), is_grads_batched=True)


def test_modes_see_the_backward(operators):
    inputs = draw(True)
    at.sdpa(*inputs).sum().backward()
    out = at.sdpa(*inputs).sum()
    assert not operators
    with FlopCounterMode(display=False) as counter:
        out.backward()
    assert operators == ["backward"]
    assert counter.get_total_flops() > 0


def test_the_compiler_is_imported_by_those_that_compile():
    """It and sympy would take longer than all else of the package, in each process of each rank."""
    code = """
import sys
import attn.torch, torch
attn.set_cache(enabled=False)
x = torch.randn(1, 1, 3, 2, requires_grad=True)
attn.torch.sdpa(x, x, x).sum().backward()
print([name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_old_forms_go(monkeypatch):
    plans.clear()
    monkeypatch.setattr(_cache, "MAX_PLANS", 3)
    for rows in (1, 2, 3, 4, 5, 1, 2):
        q, k, v = (torch.randn(2, 2, n, 16) for n in (rows, 9, 9))
        for _ in range(2):
            torch.testing.assert_close(at.sdpa(q, k, v), F.scaled_dot_product_attention(q, k, v), atol=1e-5, rtol=1e-5)
    assert len(plans) == 3


def test_results_that_nobody_reads_may_be_large(monkeypatch):
    monkeypatch.setattr(_planned, "MAX_SCRATCH_BYTES", 0)
    plans.clear()
    for _ in range(2):
        check(draw(True))
        with torch.no_grad():
            inputs = draw()
            expected = F.scaled_dot_product_attention(*inputs)
            torch.testing.assert_close(at.sdpa(*inputs), expected, atol=1e-5, rtol=1e-5)
