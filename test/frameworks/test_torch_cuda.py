"""attn.torch on CUDA tensors: what decides and launches, by a device whose memory is that of the emulated driver.

Numbers are compared with PyTorch's own attention, in float64 of the same inputs.
"""

import contextlib
import inspect
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from emulated_cuda import EmulatedDevice, is_built

import attn
import attn.torch as at
from attn.kernel import _device
from attn.kernel._cache import plans
from attn.torch import _eager

pytestmark = pytest.mark.skipif(not is_built, reason="the emulated driver is not built")
B, HQ, HKV, SQ, SK, D = 2, 4, 2, 17, 33, 16
TOLERANCES = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-4}


@pytest.fixture(autouse=True)
def on_device(monkeypatch):
    """The memory of the emulated device is the CPU's, but no tensor may be called so."""
    monkeypatch.setattr(_eager, "_are_plain", lambda tensors: False)


@pytest.fixture
def device(monkeypatch):
    """Tensors are on this device, but for those of float64, which have no kernels there."""
    made = EmulatedDevice()
    is_on = lambda x: isinstance(x, torch.Tensor) and x.dtype != torch.float64  # noqa: E731
    monkeypatch.setattr(_device, "of", lambda x: made if is_on(x) else None)
    return made


def draw(*shape, dtype=torch.float16, grad=True):
    return torch.randn(*shape).to(dtype).requires_grad_(grad)


def qkv(dtype=torch.float16, grad=True, sq=SQ, sk=SK):
    shapes = ((B, HQ, sq, D), (B, HKV, sk, D), (B, HKV, sk, D))
    return tuple(draw(*shape, dtype=dtype, grad=grad) for shape in shapes)


def doubles(*tensors):
    return [x.detach().double().requires_grad_(x.requires_grad) for x in tensors]


def gradients(out, inputs):
    weights = torch.cos(torch.arange(out.numel(), dtype=torch.float64)).view(out.shape)
    return torch.autograd.grad((out.double() * weights).sum(), inputs)


def close(found, expected, dtype, of=None):
    """In its own type, with the error of `of`, the type that its kernel rounds out to."""
    assert found.dtype == dtype
    tolerance = TOLERANCES[of or dtype] * max(1.0, float(expected.detach().abs().max()))
    torch.testing.assert_close(found.double(), expected.double(), rtol=0, atol=tolerance)


@pytest.fixture
def with_plans(monkeypatch, on_device, device):
    """The device, beside calls that PyTorch's dispatcher does not see."""
    monkeypatch.undo()
    monkeypatch.setattr(_device, "of", lambda x: device if isinstance(x, torch.Tensor) else None)
    plans.clear()
    return device


@pytest.mark.parametrize("lengths", [(SQ, SK), (1, 700)], ids=str)
def test_plans_of_forward_and_backward(with_plans, lengths):
    """Views are read in place, keys of a decode split: with a workspace."""
    for _ in range(2):
        rows, (k, v) = draw(B, lengths[0], HQ, D), qkv(sq=lengths[0], sk=lengths[1])[1:]
        inputs = (rows, k, v)
        out, lse = at.sdpa(rows.transpose(1, 2), k, v, is_causal=True, enable_gqa=True, return_lse=True)
        same = doubles(*inputs)
        expected = F.scaled_dot_product_attention(same[0].transpose(1, 2), *same[1:], is_causal=True, enable_gqa=True)
        close(out, expected, out.dtype)
        assert lse.shape == out.shape[:3]
        for found, wanted in zip(gradients(out, inputs), gradients(expected, same), strict=True):
            close(found, wanted, found.dtype)
    assert with_plans.started == 4
    assert bool(with_plans.views) == (lengths[0] > 1)


def test_plans_of_paged_steps(with_plans):
    """Prompts and single tokens on pages that are halves of one cache, in steps of two sizes; one kernel."""
    caches = draw(6, 2, 4, HKV, D, grad=False).unbind(1)
    for sums in ([0, 5, 6], [0, 1, 2], [0, 5, 6]):
        table, lengths = torch.tensor([[4, 1, 5], [0, 2, 0]], dtype=torch.int32), torch.tensor([11, 6]).int()
        q, starts = draw(sums[-1], HQ, D, grad=False), torch.tensor(sums).int()
        options = {"causal": "bottom_right", "return_lse": True}
        found = at.paged_sdpa(q, caches[0], caches[1], table, lengths, cu_seqlens_q=starts, dynamic=True, **options)
        arrays = [x.double().numpy() for x in (q, *caches)]
        given = (*arrays, table.numpy(), lengths.numpy())
        expected = attn.reference.paged_sdpa(*given, cu_seqlens_q=starts.numpy(), **options)
        close(found[0], torch.from_numpy(expected[0]), q.dtype)
        close(found[1], torch.from_numpy(expected[1]), torch.float32, of=q.dtype)
    assert with_plans.started == 3
    assert with_plans.views


@pytest.mark.parametrize("is_planned", [True, False])
def test_what_engines_write(request, device, is_planned):
    """A step with rows behind the last sum, a given out, pages that a window has freed, slots of padding."""
    if is_planned:
        request.getfixturevalue("with_plans")
    device.has_padding = True
    caches = draw(6, 2, 4, HKV, D, grad=False).unbind(1)
    sums, lengths = torch.tensor([0, 5, 6]).int(), torch.tensor([11, 6]).int()
    table = torch.tensor([[-1, 1, 5], [0, 2, 2**31 - 1]], dtype=torch.int32)
    q, out = draw(9, HQ, D, grad=False), torch.full((9, HQ, D), 7.0, dtype=torch.float16)
    options = {"causal": "bottom_right", "window": (2, 0)}
    call = lambda q, **more: at.paged_sdpa(q, *caches, table, lengths, cu_seqlens_q=sums, **options, **more)  # noqa: E731
    arrays = [x.double().numpy() for x in (q[:6], *caches)]
    known = torch.tensor([[0, 1, 5], [0, 2, 0]]).numpy()
    expected = attn.reference.paged_sdpa(*arrays, known, lengths.numpy(), cu_seqlens_q=sums.numpy(), **options)
    close(call(q)[:6], torch.from_numpy(expected), q.dtype)
    cache, new = torch.zeros(6, 4, HKV, D, dtype=torch.float16), draw(5, HKV, D, grad=False)
    at.kv_append(cache, new, slots=torch.tensor([3, -1, 17]))
    wanted = torch.zeros(24, HKV, D, dtype=torch.float16)
    wanted[[3, 17]] = new[[0, 2]]
    assert torch.equal(cache.flatten(0, 1), wanted)
    assert call(q, out=out) is out
    close(out[:6], torch.from_numpy(expected), q.dtype)
    assert (out[6:] == 7).all()


@pytest.mark.parametrize("layout", ["hn", "nh"])
def test_merges_of_packed_rows(device, layout):
    """One kernel for any number of rows; a part without keys."""
    for rows in (9, 5):
        outs, lses = draw(2, rows, HQ, D, grad=False), draw(2, rows, HQ, dtype=torch.float32, grad=False)
        lses[0, 1], outs[0, 1] = float("-inf"), float("nan")
        weights = (lses.double() - torch.logsumexp(lses.double(), 0)).exp()[..., None]
        wanted = torch.where(weights > 0, weights * outs.double(), 0).sum(0)
        if layout == "hn":
            lses = lses.mT.contiguous()
        out, lse = at.merge(outs[0], lses[0], outs[1], lses[1])
        close(out, wanted, outs.dtype)
        close(lse, torch.logsumexp(lses.double(), 0), torch.float32)


def test_what_no_plan_takes(with_plans):
    """A tensor that begins in the middle of 16 bytes."""
    q, k, v = qkv(grad=False)
    at.sdpa(q, k, v, enable_gqa=True)
    moved = torch.empty(q.numel() + 1, dtype=q.dtype)[1:].view(q.shape).copy_(q)
    close(at.sdpa(moved, k, v, enable_gqa=True), at.sdpa(q, k, v, enable_gqa=True).double(), q.dtype)
    assert with_plans.started == 2


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_out_and_gradients(device, dtype):
    """Causal, grouped heads, strides: the queries are a view (B, S, H, D)."""
    rows, k, v = draw(B, SQ, HQ, D, dtype=dtype), *qkv(dtype)[1:]
    out = at.sdpa(rows.transpose(1, 2), k, v, is_causal=True, enable_gqa=True)
    same = doubles(rows, k, v)
    expected = F.scaled_dot_product_attention(same[0].transpose(1, 2), *same[1:], is_causal=True, enable_gqa=True)
    close(out, expected, dtype)
    for found, wanted in zip(gradients(out, (rows, k, v)), gradients(expected, same), strict=True):
        close(found, wanted, dtype)
    assert device.streams == [77, 77]


def test_lengths_mask_and_bias(device):
    q, k, v = qkv(grad=False)
    bias, mask = draw(1, HQ, SQ, SK, grad=False), torch.rand(B, 1, SQ, SK) > 0.3
    lengths = torch.tensor([SK, 9])
    out = at.sdpa(q, k, v, mask, bias=bias, kv_lengths=lengths, enable_gqa=True)
    kept = mask & (torch.arange(SK) < lengths[:, None, None, None])
    added = bias.double().masked_fill(~kept, -torch.inf)
    close(out, F.scaled_dot_product_attention(*doubles(q, k, v), added, enable_gqa=True), torch.float16)


def test_compiled_it_is_the_same(device):
    q, k, v = qkv()

    def call(q, k, v):
        return at.sdpa(q * 2, k, v, causal="bottom_right", window=(8, None), enable_gqa=True)

    out, expected = torch.compile(call, fullgraph=True, backend="aot_eager")(q, k, v), call(q, k, v)
    assert torch.equal(out, expected)
    for found, wanted in zip(gradients(out, (q, k, v)), gradients(expected, (q, k, v)), strict=True):
        assert torch.equal(found, wanted)


def test_functions_with_tensors_of_the_device(device):
    q, k, v = qkv(grad=False)
    slopes, documents = torch.rand(HQ), torch.randint(2, (B, SK))

    def score_mod(s, b, h, i, j):
        return s - slopes[h] * (i - j)

    def mask_mod(b, h, i, j):
        return documents[b, i] == documents[b, j]

    out = at.flex_attention(q, k, v, score_mod, mask_mod, enable_gqa=True)
    distance = torch.arange(SQ)[:, None] - torch.arange(SK)
    added = (-slopes.double()[:, None, None] * distance).expand(B, HQ, SQ, SK)
    added = added.masked_fill((documents[:, :SQ, None] != documents[:, None])[:, None], -torch.inf)
    close(out, F.scaled_dot_product_attention(*doubles(q, k, v), added, enable_gqa=True), torch.float16)


def test_each_call_is_on_the_stream_that_is_current_then(device):
    """Of several streams: outputs and workspace are made inside of the guard of the call's own."""
    q, k, v = qkv(sq=1, grad=False)  # keys are split: there is a workspace
    results = []
    for stream in (5, 0, 6):
        device.current = stream or _device.LEGACY_STREAM
        results.append(at.sdpa(q, k, v, enable_gqa=True))
    assert device.streams == [5, 1, 6]
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    ("capability", "target"),
    [((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 7), "sm_86"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"),
     ((10, 0), "sm_100"), ((10, 3), "sm_103"), ((11, 0), "sm_103"), ((12, 0), "sm_120"), ((12, 1), "sm_120")],
)  # fmt: skip
def test_target_of_a_capability(capability, target):
    assert _device.target_of(capability) == target


def test_no_target_of_a_capability():
    with pytest.raises(RuntimeError, match=r"expected a device of compute capability 8.0 or higher, found 7.5; write"):
        _device.target_of((7, 5))


def test_it_compiles_for_the_device(monkeypatch):
    device = EmulatedDevice((9, 0))
    monkeypatch.setattr(_device, "of", lambda x: device if isinstance(x, torch.Tensor) else None)
    try:
        q, k, v = (draw(1, 1, 65, 64, grad=False) for _ in "qkv")
        close(at.sdpa(q, k, v), F.scaled_dot_product_attention(*doubles(q, k, v)), torch.float16)
    finally:
        device.driver.library.attn_emulator_set_capability(80)


def test_dropout_is_not_captured(device):
    device.is_capturing = True
    q, k, v = qkv(grad=False)
    with pytest.raises(RuntimeError, match="expected no dropout while a CUDA graph is captured, found dropout_p"):
        at.sdpa(q, k, v, dropout_p=0.5, enable_gqa=True)
    at.sdpa(q, k, v, enable_gqa=True)


def test_tensors_of_one_call_are_on_one_device():
    """Without memory: the error is that of a call and of what torch.compile traces."""
    with torch._subclasses.FakeTensorMode():
        q, k, v = (torch.empty(1, 2, 5, 16, dtype=torch.float16, device="cuda") for _ in "qkv")
        out, lse = at.sdpa(q, k, v, return_lse=True)
        assert (str(out.device), lse.dtype) == ("cuda:0", torch.float32)
        assert torch._C._dispatch_has_kernel_for_dispatch_key("attn::sdpa", "CUDA")
        with pytest.raises(
            TypeError, match=r'expected v on cuda:0, as query is, found it on cpu; write v.to\("cuda:0"\)'
        ):
            at.sdpa(q, k, v.cpu())
        with pytest.raises(TypeError, match="expected kv_lengths on cuda:0, as query is, found it on cpu"):
            at.sdpa(q, k, v, kv_lengths=torch.empty(1, dtype=torch.int64, device="cpu"))


@pytest.mark.parametrize("name", ["bias", "sink", "captured"])
def test_gradients_of_other_inputs(device, name):
    q, k, v = qkv()
    other = torch.randn((1, 1, SQ, SK) if name == "bias" else HQ).requires_grad_()

    def call(q, k, v, x):
        options = {"score_mod": lambda s, b, h, i, j: s * x[h]} if name == "captured" else {name: x}
        return at.sdpa(q, k, v, enable_gqa=True, causal="bottom_right", **options)

    given = other.detach().half().requires_grad_() if name == "bias" else other
    inputs, same = (q, k, v, given), doubles(q, k, v, given)
    found = gradients(call(*inputs), inputs)
    for x, y in zip(found, gradients(call(*same), same), strict=True):
        close(x, y, x.dtype, torch.float16)


def test_gradients_of_sinks_of_packed_sequences(device):
    q, k, v = (draw(SQ, heads, D) for heads in (HQ, HKV, HKV))
    rows, sink = torch.tensor([0, 5, SQ], dtype=torch.int32), torch.randn(HQ).requires_grad_()

    def call(q, k, v, x):
        return at.varlen_sdpa(q, k, v, rows, rows, sink=x)

    inputs, same = (q, k, v, sink), doubles(q, k, v, sink)
    found = gradients(call(*inputs), inputs)
    for x, y in zip(found, gradients(call(*same), same), strict=True):
        close(x, y, x.dtype, torch.float16)


@pytest.fixture
def cuda(monkeypatch):
    """What is asked of torch.cuda, in order, in the place of its answers; the current stream is 5."""
    asked = []

    def answer(name, result=None):
        original = getattr(torch.cuda, name)  # it is there

        def asks(*args, **options):
            inspect.signature(original).bind(*args, **options)
            asked.append((name, *args))
            return result

        monkeypatch.setattr(torch.cuda, name, asks)

    for name in ("device", "stream"):
        answer(name, contextlib.nullcontext())
    answer("get_device_capability", (9, 0))
    answer("current_stream", SimpleNamespace(cuda_stream=5))
    answer("ExternalStream", "a stream of another library")
    answer("is_current_stream_capturing", True)
    return asked


def test_what_is_asked_of_torch_cuda(cuda):
    one = torch.device("cuda", 1)
    device = _device.TorchDevice(one)
    assert (device.target, str(device), device.is_capturing, device.stream()) == ("sm_90a", "cuda:1", True, 5)
    cuda.clear()
    with device.guard(5):
        assert cuda == [("current_stream", one), ("device", one)]
    cuda.clear()
    with device.guard(_device.LEGACY_STREAM):
        assert cuda[1:] == [("ExternalStream", 0), ("stream", "a stream of another library")]


def test_memory_that_another_stream_uses_is_recorded(cuda, monkeypatch):
    """Else the allocator may give it away while the kernel runs. Copies are made of what is not aligned."""
    recorded = []
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda self, stream: recorded.append((self.data_ptr(), stream)))
    device, whole = _device.TorchDevice(torch.device("cuda", 0)), torch.arange(64.0)
    found = device.borrow("q", whole[:32], 5)
    assert (found.address, found.shape, str(found.dtype), recorded) == (whole.data_ptr(), (32,), "float32", [])
    found = device.borrow("q", whole[4:].view(15, 4).T, 7)
    assert recorded == [(found.address, "a stream of another library")]
    assert found.address % 16 == 0
    assert [found.tensor[0].strides[n] for n in range(2)] == [15, 1]
    assert device.borrow("q", whole[1:], 5).address % 16 == 0
    assert device.borrow("out", whole[1:], 5, is_written=True).address == whole.data_ptr() + 4  # the entry refuses it
