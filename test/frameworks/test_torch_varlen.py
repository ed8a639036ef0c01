"""attn.torch.varlen_sdpa as an operator of PyTorch, and jagged nested tensors, which it computes."""

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import attn
import attn.torch as at
from attn.call import _running
from attn.kernel._cache import plans
from attn.torch._varlen import Call, _operator, _operator_backward

HQ, HKV, D, DV = 4, 2, 3, 6
ROWS, KEYS = [0, 5, 5, 12], [0, 7, 9, 9]  # one sequence has no rows, one no keys
of_opcheck = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")


def sums(values):
    return torch.tensor(values, dtype=torch.int32)


def qkv(dtype=torch.float64, grad=True):
    shapes = ((ROWS[-1], HQ, D), (KEYS[-1], HKV, D), (KEYS[-1], HKV, DV))
    return [torch.randn(x, dtype=dtype, requires_grad=grad) for x in shapes]


CASES = {
    "plain": dict,
    "causal": lambda: {"causal": "bottom_right"},
    "window": lambda: {"window": (2, None), "causal": "top_left", "scale": 0.7},
    "window of both sides": lambda: {"window": (1, 2), "align": "bottom_right", "softcap": 2.0},
    "offsets": lambda: {"causal": torch.tensor([1, 0, 3])},
    "sink": lambda: {"sink": torch.randn(HQ, dtype=torch.float64, requires_grad=True)},
    "offsets in a list": lambda: {"align": [1, 0, 3], "window": (None, 1)},
    "dynamic": lambda: {"dynamic": True, "causal": "top_left"},
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def test_numbers_and_gradients_are_those_of_the_reference(case):
    inputs = qkv()
    sink = case.get("sink")
    out, lse, largest = at.varlen_sdpa(*inputs, sums(ROWS), sums(KEYS), return_lse=True, return_max=True, **case)
    plain = [x.detach().numpy() for x in inputs]
    options = {n: x.detach().numpy() if isinstance(x, torch.Tensor) else x for n, x in case.items() if n != "dynamic"}
    flags = {"return_lse": True, "return_max": True}
    expected = attn.reference.varlen_sdpa(*plain, ROWS, KEYS, **flags, **options)
    for x, y in zip((out, lse, largest), expected, strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y, rtol=1e-12, atol=1e-12)
    assert not largest.requires_grad
    dout, dlse = torch.randn_like(out), torch.randn_like(lse)
    names = ("q", "k", "v") + (("sink",) if sink is not None else ())
    reference = attn.reference.varlen_sdpa_backward(
        *plain, None, None, dout.numpy(), ROWS, KEYS, dlse=dlse.numpy(), grad=names, **options
    )
    wanted = [*inputs, *([sink] if sink is not None else [])]
    lse = lse.masked_fill(lse.isinf(), 0.0)
    for x, y in zip(torch.autograd.grad([out, lse], wanted, [dout, dlse]), reference.values(), strict=True):
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["plain", "sink", "dynamic"])
def test_gradients_are_those_of_central_differences(name):
    """Where what autograd is told of differs; masks have those of the reference, above. Of either result, of both."""
    case = CASES[name]()
    sink = case.pop("sink", None)

    def call(q, k, v, *others):
        given = {"sink": others[0]} if others else {}
        out, lse = at.varlen_sdpa(q, k, v, sums(ROWS), sums(KEYS), return_lse=True, **case, **given)
        results = out, lse.masked_fill(lse.isinf(), 0.0)
        return results if name == "sink" else torch.cat([x.flatten() for x in results])

    assert torch.autograd.gradcheck(call, [*qkv(), *([sink] if sink is not None else [])])


@of_opcheck
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_opcheck(dtype):
    """How the operator is traced depends on no type: all that opcheck does for two, schema and shapes for all."""
    tests = {} if dtype in (torch.float64, torch.bfloat16) else {"test_utils": ("test_schema", "test_faketensor")}
    sink = torch.randn(HQ, dtype=dtype, requires_grad=True)
    call = Call(*qkv(dtype), sums(ROWS), sums(KEYS), [], sink=sink, causal="bottom_right")
    torch.library.opcheck(_operator, call.flat(), rtol=1e-2, atol=1e-2, **tests)
    call = Call(*qkv(dtype, grad=False), sums(ROWS), sums(KEYS), [])
    out, lse, *terms = _operator(*call.flat())
    torch.library.opcheck(_operator_backward, (out, out, *terms, lse.nan_to_num(0, 0, 0), "q,v", *call.flat()), **tests)


def test_compiled_it_is_one_graph():
    inputs = qkv()
    function = lambda *x: at.varlen_sdpa(*x, sums(ROWS), sums(KEYS), causal="top_left").sin()  # noqa: E731
    expected = function(*inputs)
    found = torch.compile(function, fullgraph=True, backend="aot_eager")(*inputs)
    torch.testing.assert_close(found, expected)
    for x, y in zip(*(torch.autograd.grad(x.sum(), inputs) for x in (found, expected)), strict=True):
        torch.testing.assert_close(x, y)


def test_autocast_and_vmap():
    q, k, v = qkv(torch.float32, grad=False)
    with torch.autocast("cpu", torch.bfloat16):
        assert at.varlen_sdpa(q, k, v, sums(ROWS), sums(KEYS)).dtype == torch.bfloat16
    stacked = torch.stack([q, 2 * q])
    found = torch.vmap(lambda x: at.varlen_sdpa(x, k, v, sums(ROWS), sums(KEYS)))(stacked)
    torch.testing.assert_close(found[1], at.varlen_sdpa(2 * q, k, v, sums(ROWS), sums(KEYS)))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # PyTorch, of dual numbers
def test_what_it_refuses():
    q, k, v = qkv()
    with pytest.raises(TypeError, match=r"attn.torch.varlen_sdpa.*windw"):
        at.varlen_sdpa(q, k, v, sums(ROWS), sums(KEYS), windw=(1, 2))
    with pytest.raises(ValueError, match=r"expected cu_seqlens_q to go from 0 to the 12 packed rows"):
        at.varlen_sdpa(q, k, v, sums([0, 5, 5, 11]), sums(KEYS))
    out = at.varlen_sdpa(q, k, v, sums(ROWS), sums(KEYS))
    (dq,) = torch.autograd.grad(out.square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match=r"expected a gradient of first order of attn::varlen_sdpa"):
        dq.sum().backward()
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="forward mode"):
        at.varlen_sdpa(forward_ad.make_dual(q, q), k, v, sums(ROWS), sums(KEYS))


def jagged(lengths, heads, size):
    parts = [torch.randn(n, heads, size, dtype=torch.float64) for n in lengths]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)


def textbook(q, k, v, kept):
    """out and lse of one sequence (H, S, D); rows without keys are 0."""
    k, v = (x.repeat_interleave(HQ // HKV, 0) for x in (k, v))
    scores = (q @ k.mT / D**0.5).masked_fill(~kept, -torch.inf)
    empty = ~kept.any(-1, keepdim=True)
    return scores.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0) @ v, scores.detach().logsumexp(-1)


NESTED = [
    ({}, lambda i, j, offset: j >= 0 * i),
    ({"is_causal": True}, lambda i, j, offset: j <= i),
    ({"causal": "bottom_right", "window": (2, 1)}, lambda i, j, offset: (j <= i + offset) & (j >= i + offset - 2)),
]


@pytest.mark.parametrize(("options", "keeps"), NESTED, ids=["plain", "causal", "window"])
def test_nested_tensors(options, keeps):
    q, k, v = jagged([5, 2, 7], HQ, D), jagged([7, 4, 2], HKV, D), None
    v = torch.nested.nested_tensor_from_jagged(
        torch.randn(13, HKV, DV, dtype=torch.float64), k.offsets()
    ).requires_grad_()
    out, lse = at.sdpa(*(x.transpose(1, 2) for x in (q, k, v)), enable_gqa=True, return_lse=True, **options)
    assert (out.is_nested, out.layout) == (True, torch.jagged)
    assert out.transpose(1, 2).shape[:3] == q.shape[:3]
    total = []
    for n, parts in enumerate(zip(*(x.unbind() for x in (q, k, v)), strict=True)):
        sq, sk = (len(x) for x in parts[:2])
        kept = keeps(torch.arange(sq)[:, None], torch.arange(sk), sk - sq)
        part, rows = textbook(*(x.transpose(0, 1) for x in parts), kept)
        torch.testing.assert_close(out.unbind()[n], part)
        torch.testing.assert_close(lse.unbind()[n], rows)
        total.append(part.sin().sum())
    expected = torch.autograd.grad(sum(total), [q, k, v])
    for x, y in zip(torch.autograd.grad(out.values().sin().sum(), [q, k, v]), expected, strict=True):
        torch.testing.assert_close(x.values(), y.values())


def test_gradients_of_narrowed_tensors():
    """Whose sequences have holes between them: there the gradient is 0."""
    starts, lengths = torch.tensor([1, 0, 2]), torch.tensor([4, 6, 0])
    inputs = [torch.randn(3, 7, h, D, dtype=torch.float64, requires_grad=True) for h in (HQ, HKV, HKV)]
    narrowed = [torch.nested.narrow(x, 1, starts, lengths, layout=torch.jagged).transpose(1, 2) for x in inputs]
    out = at.sdpa(*narrowed, is_causal=True, enable_gqa=True)
    total = []
    for n, (start, rows) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        parts = (x[n, start : start + rows].transpose(0, 1) for x in inputs)
        part, _ = textbook(*parts, torch.arange(rows)[:, None] >= torch.arange(rows))
        torch.testing.assert_close(out.unbind()[n], part)
        total.append(part.sin().sum())
    expected = torch.autograd.grad(sum(total), inputs)
    torch.testing.assert_close(torch.autograd.grad(out.values().sin().sum(), inputs), expected)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")  # of its own function
def test_nested_tensors_beside_pytorch_s_function():
    q, k, v = (jagged([5, 2, 7], HQ, 8) for _ in "qkv")
    k, v = (torch.nested.nested_tensor_from_jagged(x.values(), q.offsets()) for x in (k, v))
    given = [x.transpose(1, 2) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*given)
    found = at.sdpa(*given)
    assert found.shape == expected.shape
    torch.testing.assert_close(found.values(), expected.values())


def test_what_nested_tensors_refuse():
    q = jagged([5, 2], HQ, D)
    t = q.transpose(1, 2)
    with pytest.raises(ValueError, match=r"write query.transpose\(1, 2\)"):
        at.sdpa(q, q, q)
    with pytest.raises(ValueError, match="expected no attn_mask with nested tensors"):
        at.sdpa(t, t, t, attn_mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match="that is not nested"):
        at.sdpa(t, torch.randn(2, HQ, 5, D), t)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        at.sdpa(t, *[jagged([5, 2], HKV, D).transpose(1, 2)] * 2)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_calls_of_one_form_share_a_plan(dtype, monkeypatch):
    """Other lengths of as many rows run the same kernel, forward and backward; results are those of a first call."""
    made = []
    prepared = _running.prepared
    monkeypatch.setattr(_running, "prepared", lambda *x, **named: made.append(1) or prepared(*x, **named))
    plans.clear()
    q, k, v = (torch.randn(n, 2, 16, requires_grad=True) for n in (7, 9, 9))
    for rows, keys in (([0, 3, 7], [0, 9, 9]), ([0, 0, 7], [0, 4, 9]), ([0, 6, 7], [0, 1, 9])):
        sums = [torch.tensor(x, dtype=dtype) for x in (rows, keys)]
        out, lse = at.varlen_sdpa(q, k, v, *sums, causal="bottom_right", return_lse=True)
        grads = torch.autograd.grad(out.sum(), (q, k, v))
        arrays = [x.detach().numpy() for x in (q, k, v)]
        wanted = attn.reference.varlen_sdpa(*arrays, *sums, causal="bottom_right", return_lse=True)
        for x, y in zip((out, lse), wanted, strict=True):
            np.testing.assert_allclose(x.detach(), y, atol=1e-5)
        options = dict(dout=np.ones(out.shape), causal="bottom_right")
        expected = attn.reference.varlen_sdpa_backward(
            *arrays, None, None, cu_seqlens_q=rows, cu_seqlens_k=keys, **options
        )
        for x, name in zip(grads, "qkv", strict=True):
            np.testing.assert_allclose(x, expected[name], atol=1e-4)
    assert len(made) == 1
    with pytest.raises(ValueError, match="expected cu_seqlens_q never to decrease"):
        at.varlen_sdpa(q, k, v, torch.tensor([0, 8, 7], dtype=dtype), sums[1], causal="bottom_right")
    # Of equal lengths the diagonal is elsewhere, which is another kernel.
    same = torch.tensor([0, 3, 7], dtype=dtype)
    at.varlen_sdpa(q, k[:7], v[:7], same, same.clone(), window=(2, 0))
    with pytest.raises(ValueError, match="expected align"):
        at.varlen_sdpa(q, k[:7], v[:7], same, torch.tensor([0, 4, 7], dtype=dtype), window=(2, 0))
