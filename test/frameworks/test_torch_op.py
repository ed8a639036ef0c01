"""attn.torch as an operator of PyTorch: opcheck, gradcheck, compile, export, vmap, autocast, and what it refuses."""

import warnings
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

import attn.torch as at
from attn.call import _gradients
from attn.torch import _ops
from attn.torch._ops import Call, sdpa, sdpa_backward

B, HQ, HKV, SQ, SK, D, DV = 2, 4, 2, 5, 7, 3, 6


def draw(*shape, dtype=torch.float64, grad=True):
    return torch.randn(*shape, dtype=dtype, requires_grad=grad)


def qkv(dtype=torch.float64, grad=True):
    return (
        draw(B, HQ, SQ, D, dtype=dtype, grad=grad),
        draw(B, HKV, SK, D, dtype=dtype, grad=grad),
        draw(B, HKV, SK, DV, dtype=dtype, grad=grad),
    )


def gradients(results, inputs):
    """Of a fixed combination of the results."""
    total = sum((x * torch.cos(torch.arange(x.numel(), dtype=x.dtype)).view(x.shape)).sum() for x in results)
    return torch.autograd.grad(total, inputs)


def assert_same(found, expected, tolerance=1e-12):
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance)


# opcheck asks its own copies of the inputs for gradients, and is told that they have none.
of_opcheck = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
BIAS = lambda: {"bias": draw(1, HQ, SQ, SK)}  # noqa: E731
CASES = {
    "plain": dict,
    "bias": BIAS,
    "bias of a row": lambda: {"bias": draw(B, 1, 1, SK)},
    "sink": lambda: {"sink": draw(HQ)},
    "softcap": lambda: {"softcap": 2.0, "scale": 0.7},
    "causal": lambda: {"is_causal": True},
    "window": lambda: {"window": (3, None), "causal": "bottom_right"},
    "offsets": lambda: {"causal": torch.tensor([1, 3])},
    "aligned by offsets": lambda: {"window": (1, 2), "align": torch.tensor([1, 3])},
    "lengths": lambda: {"q_lengths": [5, 2], "kv_lengths": torch.tensor([7, 0])},
    "mask": lambda: {"attn_mask": torch.rand(SQ, SK) > 0.5},
    "all": lambda: {**BIAS(), "sink": draw(HQ), "attn_mask": torch.rand(SQ, SK) > 0.3, "kv_lengths": [6, 4]},
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def wanted(q, k, v, options):
    return [q, k, v, *[x for x in options.values() if isinstance(x, torch.Tensor) and x.requires_grad]]


def test_gradients_of_out_and_lse_are_those_of_central_differences(case):
    """Of both; of either alone where all inputs have one, and in `test_either_result_alone_has_a_gradient`."""
    inputs, names = (
        wanted(*qkv(), case),
        [n for n, x in case.items() if isinstance(x, torch.Tensor) and x.requires_grad],
    )

    def call(q, k, v, *others):
        given = {**case, **dict(zip(names, others, strict=True))}
        out, lse = at.sdpa(q, k, v, enable_gqa=True, return_lse=True, **given)
        results = out, lse.masked_fill(lse.isinf(), 0.0)
        return results if len(names) == 2 else torch.cat([x.flatten() for x in results])

    assert torch.autograd.gradcheck(call, inputs)


@of_opcheck
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_opcheck_of_the_forward(dtype):
    """How the operator is traced depends on no type: all that opcheck does for two, schema and shapes for all."""
    tests = {} if dtype in (torch.float64, torch.bfloat16) else {"test_utils": ("test_schema", "test_faketensor")}
    q, k, v = qkv(dtype)
    call = Call(q, k, v, [], bias=draw(1, HQ, SQ, SK, dtype=dtype), sink=draw(HQ, dtype=dtype), causal="bottom_right")
    torch.library.opcheck(sdpa, call.flat(), rtol=1e-2, atol=1e-2, **tests)
    lengths = Call(q, k, v, [], kv_lengths=torch.tensor([3, 7]), mask=torch.rand(1, 1, SQ, SK) > 0.2)
    torch.library.opcheck(sdpa, lengths.flat(), rtol=1e-2, atol=1e-2, **tests)


def test_rows_of_a_mask_of_the_lowest_number():
    """Their scores are all one large number: gradients are those of uniform rows, as in PyTorch."""
    inputs = qkv()
    mask = torch.zeros(1, 1, SQ, SK)
    mask[..., : SQ // 2, :] = torch.finfo(torch.float32).min
    found, expected = (
        gradients([f(*inputs, attn_mask=mask, enable_gqa=True)], inputs)
        for f in (at.sdpa, torch.nn.functional.scaled_dot_product_attention)
    )
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_the_largest_score_of_a_row():
    q, k, v = qkv()
    out, lse, largest = at.sdpa(q, k, v, enable_gqa=True, return_lse=True, return_max=True)
    group = q.shape[1] // k.shape[1]
    scores = q.detach() @ k.detach().repeat_interleave(group, 1).mT / q.shape[-1] ** 0.5
    torch.testing.assert_close(largest, scores.amax(-1), rtol=1e-4, atol=1e-4)
    assert lse.requires_grad
    assert not largest.requires_grad
    compiled = torch.compile(lambda *x: at.sdpa(*x, enable_gqa=True, return_max=True), fullgraph=True)(q, k, v)
    torch.testing.assert_close(compiled, (out, largest))
    compiled[0].sum().backward()


@of_opcheck
def test_opcheck_of_the_backward():
    call = Call(*qkv(grad=False), [], bias=draw(1, HQ, SQ, SK, grad=False))
    out, lse, *terms = sdpa(*call.flat())
    saved = (torch.randn_like(out), out, *terms)
    torch.library.opcheck(sdpa_backward, (*saved, None, "q,v,bias", *call.flat()))
    torch.library.opcheck(sdpa_backward, (*saved, torch.randn_like(lse), "k", *call.flat()))


def test_compiled_without_breaks_and_warnings_it_is_the_same(request, case):
    """Inductor compiles what is around the operator, by a C++ compiler: for one case that has all."""
    inputs = wanted(*qkv(), case)
    backend = "inductor" if request.node.callspec.params["case"] == "all" else "aot_eager"

    def call(q, k, v):
        return at.sdpa(q * 2, k, v, enable_gqa=True, return_lse=True, **case)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = torch.compile(call, fullgraph=True, backend=backend)(*inputs[:3])
    expected = call(*inputs[:3])
    assert_same(compiled, expected)
    assert_same(
        gradients([x.masked_fill(x.isinf(), 0) for x in compiled], inputs),
        gradients([x.masked_fill(x.isinf(), 0) for x in expected], inputs),
    )


def test_compiled_for_any_shape():
    call = torch.compile(lambda q, k, v: at.sdpa(q, k, v, is_causal=True, dynamic=True), fullgraph=True, dynamic=True)
    for s in (5, 9, 113):
        q, k, v = (draw(2, 3, s, 8) for _ in "qkv")
        out, expected = call(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True)
        assert_same([out], [expected])
        assert_same(gradients([out], (q, k, v)), gradients([expected], (q, k, v)))


def test_exported_it_is_one_node():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v):
            return at.sdpa(q, k, v, is_causal=True, enable_gqa=True)

    q, k, v = qkv(torch.float32, grad=False)
    program = torch.export.export(Layer(), (q, k, v))
    assert [x.target for x in program.graph.nodes if "attn" in str(x.target)] == [torch.ops.attn.sdpa.default]
    assert_same([program.module()(q, k, v)], [Layer()(q, k, v)])


def test_fake_tensors_have_the_shapes_and_types():
    with torch._subclasses.FakeTensorMode():
        q, k, v = qkv(torch.bfloat16)
        out, lse = at.sdpa(q, k, v, enable_gqa=True, return_lse=True)
        assert (out.shape, out.dtype) == ((B, HQ, SQ, DV), torch.bfloat16)
        assert (lse.shape, lse.dtype) == ((B, HQ, SQ), torch.float32)
        dq, dk, dv = torch.autograd.grad(out.sum(), (q, k, v))
        assert (dq.shape, dk.shape, dv.shape) == (q.shape, k.shape, v.shape)


def test_inference_mode_and_no_grad():
    q, k, v = qkv()
    expected = at.sdpa(q, k, v, enable_gqa=True).detach()
    with torch.inference_mode():
        assert_same([at.sdpa(q, k, v, enable_gqa=True)], [expected])
    with torch.no_grad():
        assert not at.sdpa(q, k, v, enable_gqa=True).requires_grad


VMAPPED = {
    "all": ((0, 0, 0, 0, None), dict),
    "queries alone, at the end": ((3, None, None, None, None), dict),
    "keys, and a bias of each": ((None, 1, None, 1, None), dict),
    "sinks": ((None, None, 0, None, 0), dict),
    "lengths": ((0, None, None, None, None), lambda: {"kv_lengths": torch.tensor([3, 7])}),
    "mask": ((0, None, 0, None, None), lambda: {"attn_mask": torch.rand(B, 1, SQ, SK) > 0.2}),
    "region": ((0, 0, 0, None, None), lambda: {"score_mod": lambda s, b, h, i, j: s + b * (i - j)}),
}


@pytest.mark.parametrize("name", VMAPPED)
def test_vmap_is_a_call_for_each_entry(name):
    dims, options = VMAPPED[name][0], VMAPPED[name][1]()
    shapes = [(B, HQ, SQ, D), (B, HKV, SK, D), (B, HKV, SK, DV), (1, HQ, SQ, SK), (HQ,)]
    inputs = [
        torch.randn(3, *shape, dtype=torch.float64).movedim(0, dim) if dim is not None else torch.randn(shape).double()
        for shape, dim in zip(shapes, dims, strict=True)
    ]

    def call(q, k, v, bias, sink):
        return at.sdpa(q, k, v, bias=bias, sink=sink, enable_gqa=True, return_lse=True, **options)

    def loss(*arguments):
        out, lse = call(*arguments)
        return (out**2).sum() + lse.sum()

    def looped(function):
        each = [[x if d is None else x.select(d, n) for x, d in zip(inputs, dims, strict=True)] for n in range(3)]
        return [torch.stack(x) for x in zip(*(function(*x) for x in each), strict=True)]

    assert_same(torch.func.vmap(call, in_dims=dims)(*inputs), looped(call))
    if "score_mod" in options:
        return
    grad = torch.func.grad(loss, argnums=tuple(range(4 if dims[4] is None else 5)))  # of sinks it is not one call
    assert_same(torch.func.vmap(grad, in_dims=dims)(*inputs), looped(grad))


def test_vmap_of_the_operator_of_the_backward_keeps_the_shape_of_a_bias():
    """Autograd would sum what is too large; who calls the operator has no autograd."""
    call = Call(*qkv(grad=False), [], bias=draw(1, HQ, SQ, SK, grad=False))
    out, _, *terms = sdpa(*call.flat())
    douts = torch.randn(3, *out.shape, dtype=out.dtype)

    def backward(dout):
        return sdpa_backward(dout, out, *terms, None, "q,bias", *call.flat())

    expected = [torch.stack(x) for x in zip(*map(backward, douts), strict=True)]
    assert_same(torch.func.vmap(backward)(douts), expected)


def test_vmap_of_the_backward_alone_is_a_jacobian():
    q, k, v = qkv(grad=False)
    jacobian = torch.func.jacrev(lambda q: at.sdpa(q, k, v, enable_gqa=True))(q)
    grouped = [x.repeat_interleave(2, 1) for x in (k, v)]
    expected = torch.func.jacrev(lambda q: (q @ grouped[0].mT / D**0.5).softmax(-1) @ grouped[1])(q)
    assert_same([jacobian], [expected])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_takes_the_type_of_autocast(dtype):
    q, k, v = qkv(torch.float32)
    bias, sink = draw(1, HQ, SQ, SK, dtype=torch.float32), draw(HQ, dtype=torch.float32)
    with torch.autocast("cpu", dtype=dtype):
        out, lse = at.sdpa(q, k, v, bias=bias, sink=sink, enable_gqa=True, return_lse=True)
    assert (out.dtype, lse.dtype) == (dtype, torch.float32)
    expected = at.sdpa(*(x.to(dtype) for x in (q, k, v)), bias=bias.to(dtype), sink=sink, enable_gqa=True)
    assert_same([out], [expected])
    found = torch.autograd.grad(out.sum(), (q, k, v, bias, sink))
    assert [x.dtype for x in found] == [torch.float32] * 5
    with torch.autocast("cpu", dtype=dtype):
        assert at.sdpa(*qkv(), enable_gqa=True).dtype == torch.float64


@pytest.mark.parametrize("first", [0, 1])
def test_either_result_alone_has_a_gradient(first):
    q, k, v = qkv()
    results = at.sdpa(q, k, v, enable_gqa=True, return_lse=True)
    grouped = [x.repeat_interleave(2, 1) for x in (k, v)]
    scores = q @ grouped[0].mT / D**0.5
    expected = (scores.softmax(-1) @ grouped[1], scores.logsumexp(-1))
    assert_same(gradients(results[first : first + 1], (q, k)), gradients(expected[first : first + 1], (q, k)))


def test_only_what_is_asked_for_is_computed(monkeypatch):
    asked = []
    made = _gradients._kernel_of
    monkeypatch.setattr(_gradients, "_kernel_of", lambda *x, **y: asked.append(x[2]) or made(*x, **y))
    q, k, v = qkv(grad=False)
    at.sdpa(q, k.requires_grad_(), v, enable_gqa=True).sum().backward()
    assert asked == [("k",)]
    assert q.grad is None


def test_arguments_that_are_not_passed_on_have_no_gradient():
    """PyTorch leaves out those behind the last one that is not its default; before 2.12 it counts the gradients."""
    q, k, v = qkv()
    call, dout = Call(q, k, v, []), torch.ones(B, HQ, SQ, DV, dtype=q.dtype)
    inputs = call.flat()
    results = _ops.Results(*sdpa(*inputs))
    needs = (True, False, False, [], False)
    ctx = SimpleNamespace(
        saved_tensors=(results.out, results.max, results.log_sum, q, k, v),
        names=["q", "k", "v"],
        constants=call._replace(captures=[], q=None, k=None, v=None),
        captures=0,
        needs_input_grad=needs,
    )
    found = _ops.differentiate(sdpa_backward, ctx, dout, None, None, None)
    assert [x is None for x in found] == [False, True, True, False, True]
    assert found[Call._fields.index("captures")] == []


def test_second_order_is_refused_with_the_reason():
    q, k, v = qkv()
    (dq,) = torch.autograd.grad(at.sdpa(q, k, v, enable_gqa=True).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="expected a gradient of first order of attn::sdpa, found one of second"):
        torch.autograd.grad(dq.sum(), q)


def test_dropout_draws_from_the_generator_of_torch():
    q, k, v = qkv()
    torch.manual_seed(1)
    first, second = (at.sdpa(q, k, v, dropout_p=0.5, enable_gqa=True) for _ in range(2))
    torch.manual_seed(1)
    again = at.sdpa(q, k, v, dropout_p=0.5, enable_gqa=True)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)

    def fixed(q, k, v):
        torch.manual_seed(2)
        return at.sdpa(q, k, v, dropout_p=0.5, enable_gqa=True)

    assert torch.autograd.gradcheck(fixed, (q, k, v))


MISTAKES = {
    "heads": (lambda q, k, v: at.sdpa(q, k, v), "found 4 and 2; write enable_gqa=True"),
    "is_causal and a mask": (
        lambda q, k, v: at.sdpa(q, k, v, torch.ones(SQ, SK, dtype=torch.bool), is_causal=True, enable_gqa=True),
        r'expected is_causal without attn_mask, found both; write causal="top_left"',
    ),
    "is_causal and causal": (
        lambda q, k, v: at.sdpa(q, k, v, is_causal=True, causal="bottom_right", enable_gqa=True),
        "expected is_causal without causal, found both",
    ),
    "two biases": (
        lambda q, k, v: at.sdpa(q, k, v, draw(SQ, SK), bias=draw(1, 1, SQ, SK), enable_gqa=True),
        "expected one of bias and an attn_mask of floats, found both; add them",
    ),
    "a keyword": (
        lambda q, k, v: at.sdpa(q, k, v, enable_gqa=True, window_size=(1, 1)),
        r"attn.torch.sdpa\(\) has no keyword 'window_size'; write window=",
    ),
    "rank": (lambda q, k, v: at.sdpa(q[0, 0, 0], k, v), r"expected query of rank 2 or more .*, found shape \(3,\)"),
    "batches": (
        lambda q, k, v: at.sdpa(q[:, :2], k.repeat(3, 1, 1, 1)[:5], v),
        r"expected batches of query, key and value that broadcast, found \(2,\), \(5,\), \(2,\)",
    ),
    "type of a mask": (
        lambda q, k, v: at.sdpa(q, k, v, torch.ones(1, 1, SQ, SK, dtype=torch.int32), enable_gqa=True),
        r"expected attn_mask of bool or floats, found torch.int32; write attn_mask.bool\(\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_says_what_to_write(name):
    call, message = MISTAKES[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call(*qkv(grad=False))
