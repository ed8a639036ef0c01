"""score_mod and mask_mod through attn.torch: beside PyTorch's FlexAttention, compiled, with captured tensors."""

import warnings

import pytest
import torch
from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, create_block_mask
from torch.nn.attention.flex_attention import flex_attention as flex

import attn
import attn.torch as at
from attn.torch import _flex

B, H, HKV, S, D = 2, 4, 2, 37, 8
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
DOCUMENTS = torch.tensor([[0] * 17 + [1] * 20, [0] * 30 + [1] * 7])
SCORE_MODS = {
    "none": None,
    "ALiBi": lambda s, b, h, i, j: s - SLOPES[h] * (i - j),
    "a score alone": lambda s, b, h, i, j: s * 0.5 + 1,
}
MASK_MODS = {
    "causal": lambda b, h, i, j: j <= i,
    "documents": lambda b, h, i, j: (DOCUMENTS[b, i] == DOCUMENTS[b, j]) & (j <= i),
    "window": lambda b, h, i, j: (i - j < 5) & (j - i < 3),
}


def draw():
    return torch.randn(B, H, S, D), torch.randn(B, HKV, S, D), torch.randn(B, HKV, S, D)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("score_mod", SCORE_MODS)
@pytest.mark.parametrize("mask_mod", MASK_MODS)
def test_it_is_flex_attention(score_mod, mask_mod):
    q, k, v = draw()
    block_mask = create_block_mask(MASK_MODS[mask_mod], B, H, S, S, device="cpu")
    expected = flex(q, k, v, SCORE_MODS[score_mod], block_mask, enable_gqa=True)
    found = at.flex_attention(q, k, v, SCORE_MODS[score_mod], MASK_MODS[mask_mod], enable_gqa=True)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


def test_compiled_it_is_the_same_and_reads_captures_when_it_runs():
    table = torch.randn(H)

    def score_mod(s, b, h, i, j):
        return s + table[h] * j

    def call(q, k, v):
        return at.flex_attention(q, k, v, score_mod, MASK_MODS["causal"], enable_gqa=True)

    q, k, v = draw()
    compiled = torch.compile(call, fullgraph=True)
    first = call(q, k, v)
    torch.testing.assert_close(compiled(q, k, v), first)
    table *= -2
    torch.testing.assert_close(compiled(q, k, v), call(q, k, v))
    assert not torch.allclose(call(q, k, v), first)


def test_exported_the_graph_has_the_text_of_the_functions():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v):
            return at.flex_attention(q, k, v, SCORE_MODS["ALiBi"], MASK_MODS["causal"], enable_gqa=True)

    q, k, v = draw()
    program = torch.export.export(Layer(), (q, k, v))
    (node,) = [x for x in program.graph.nodes if x.target is torch.ops.attn.sdpa.default]
    assert any("score_mod {" in str(x) for x in node.args)
    torch.testing.assert_close(program.module()(q, k, v), Layer()(q, k, v))


def test_the_log_sum_exp_comes_with_it():
    q, k, v = draw()
    out, lse = at.flex_attention(q, k, v, None, MASK_MODS["window"], enable_gqa=True, return_lse=True)
    expected = attn.sdpa(q, k, v, window=(4, 2), return_lse=True)
    torch.testing.assert_close((out, lse), tuple(expected))


AUXILIARY = [AuxRequest(), AuxRequest(lse=True), AuxRequest(max_scores=True), AuxRequest(lse=True, max_scores=True)]


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("request_", AUXILIARY, ids=["none", "lse", "max", "both"])
def test_auxiliary_results_are_those_of_flex_attention(request_, is_compiled):
    """Of rows without keys, too. FlexAttention has no largest scores on the CPU."""
    q, k, v = draw()
    mask_mod = lambda b, h, i, j: (j <= i) & (i != 3)  # noqa: E731
    mask = create_block_mask(mask_mod, B, H, S, S, device="cpu")
    arguments = (q, k, v, SCORE_MODS["ALiBi"], mask, 0.3, True)
    expected, of_flex = flex(*arguments, return_aux=AuxRequest(lse=request_.lse))
    scores = q @ k.repeat_interleave(H // HKV, 1).mT * 0.3 - SLOPES[:, None, None] * (ROWS - KEYS)
    largest = scores.masked_fill((KEYS > ROWS) | (ROWS == 3), -torch.inf).amax(-1)
    call = torch.compile(at.flex_attention, fullgraph=True) if is_compiled else at.flex_attention
    found, auxiliary = call(*arguments, return_aux=request_)
    torch.testing.assert_close(found, expected)
    assert isinstance(auxiliary, AuxOutput)
    for x, y in zip(auxiliary, (of_flex.lse, largest if request_.max_scores else None), strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)


def test_the_log_sum_exp_of_auxiliary_results_has_a_gradient():
    q, k, v = (x.double().requires_grad_() for x in draw())
    both = AuxRequest(lse=True, max_scores=True)
    _, auxiliary = at.flex_attention(q, k, v, mask_mod=MASK_MODS["causal"], enable_gqa=True, return_aux=both)
    assert not auxiliary.max_scores.requires_grad
    scores = q @ k.repeat_interleave(H // HKV, 1).mT / D**0.5
    expected = scores.masked_fill(KEYS > ROWS, -torch.inf).logsumexp(-1)
    found = torch.autograd.grad(auxiliary.lse.square().sum(), (q, k))
    torch.testing.assert_close(found, torch.autograd.grad(expected.square().sum(), (q, k)))
    with pytest.raises(ValueError, match="expected one of return_lse and return_aux, found both"):
        at.flex_attention(q, k, v, enable_gqa=True, return_lse=True, return_aux=both)


def test_options_of_other_kernels_are_ignored_with_a_warning_once(monkeypatch):
    monkeypatch.setattr(_flex, "_ignored", set())
    q, k, v = draw()
    options = {"BLOCK_M": 64, "num_warps": 4}
    with pytest.warns(RuntimeWarning, match="kernel_options BLOCK_M, num_warps are of PyTorch's kernels and ignored"):
        found = at.flex_attention(q, k, v, None, MASK_MODS["causal"], None, True, False, options)
    assert torch.equal(found, at.flex_attention(q, k, v, mask_mod=MASK_MODS["causal"], enable_gqa=True))
    call = torch.compile(
        lambda q, k, v: at.flex_attention(q, k, v, enable_gqa=True, kernel_options=options), fullgraph=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at.flex_attention(q, k, v, enable_gqa=True, kernel_options=options)
        call(q, k, v)
    monkeypatch.setattr(_flex, "_ignored", set())
    torch.compiler.reset()
    with pytest.warns(RuntimeWarning, match="kernel_options BLOCK_M, num_warps"):
        call(q, k, v)


def test_captures_that_are_views():
    """Slices, reversed and read-only arrays have no other order in the graph than in the function."""
    q, k, v = draw()
    wide = torch.randn(2 * S, H)
    view, dense = wide[::2].T, wide[::2].T.clone()
    found = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + view[h, j], enable_gqa=True)
    expected = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + dense[h, j], enable_gqa=True)
    torch.testing.assert_close(found, expected)
    backwards, read_only = dense.numpy()[:, ::-1], torch.ones(S).expand(H, S).numpy()
    read_only.flags.writeable = False
    found = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + read_only[h, j] * backwards[h, j], enable_gqa=True)
    expected = at.flex_attention(q, k, v, lambda s, b, h, i, j: s + dense[h, S - 1 - j], enable_gqa=True)
    torch.testing.assert_close(found, expected)


# A captured tensor of float64 whose gradient is asked for, the functions, and the same of all scores at once.
ROWS, KEYS = torch.arange(S)[:, None], torch.arange(S)[None, :]
SAME = DOCUMENTS[:, None, :, None] == DOCUMENTS[:, None, None, :]


def buckets(d):
    """Of a distance, as T5 has them."""
    return (d.clip if isinstance(d, torch.Tensor) else lambda lo, hi: attn.clip(d, lo, hi))(-6, 6) + 6


def learned_documents(x):
    return (lambda s, b, h, i, j: s * x[h]), lambda b, h, i, j: DOCUMENTS[b, i] == DOCUMENTS[b, j]


LEARNED = {
    "slopes of ALiBi": (
        (H,),
        lambda x: (lambda s, b, h, i, j: s - x[h] * (i - j), MASK_MODS["causal"]),
        lambda s, x: (s - x[:, None, None] * (ROWS - KEYS)).masked_fill(KEYS > ROWS, -torch.inf),
    ),
    "table of T5": (
        (13, H),
        lambda x: (lambda s, b, h, i, j: s + x[buckets(i - j), h], None),
        lambda s, x: s + x[buckets(ROWS - KEYS)].permute(2, 0, 1),
    ),
    "a bias of each key": (
        (B, S),
        lambda x: (lambda s, b, h, i, j: s + x[b, j], None),
        lambda s, x: s + x[:, None, None],
    ),
    "a temperature of documents": (
        (H,),
        learned_documents,
        lambda s, x: (s * x[:, None, None]).masked_fill(~SAME, -torch.inf),
    ),
}


def draw_learned(shape):
    inputs = [x.double().requires_grad_() for x in draw()]
    return *inputs, torch.rand(shape, dtype=torch.float64).add_(0.5).requires_grad_()


@pytest.mark.parametrize("name", LEARNED)
def test_captured_tensors_have_gradients(name):
    """Those of the formula, and of differences of the function itself."""
    shape, make, scores = LEARNED[name]

    def call(q, k, v, x):
        return at.flex_attention(q, k, v, *make(x), enable_gqa=True)

    def formula(q, k, v, x):
        k, v = (y.repeat_interleave(H // HKV, 1) for y in (k, v))
        return torch.softmax(scores(q @ k.mT / D**0.5, x), -1) @ v

    arguments = draw_learned(shape)
    found, expected = call(*arguments), formula(*arguments)
    dout = torch.randn_like(found)
    gradients = torch.autograd.grad(found, arguments, dout)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, arguments, dout), rtol=1e-10, atol=1e-10)
    x = arguments[3]
    torch.autograd.gradcheck(lambda x: call(*(y.detach() for y in arguments[:3]), x), (x,), fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_module_with_a_captured_parameter_compiles_without_breaks(dtype):
    """Its gradient has the type of the parameter."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            slopes = self.slopes = torch.nn.Parameter(SLOPES.to(dtype))
            self.score_mod = lambda s, b, h, i, j: s - slopes[h] * (i - j)

        def forward(self, q, k, v):
            return at.flex_attention(q, k, v, self.score_mod, MASK_MODS["causal"], enable_gqa=True)

    layer = Layer()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager" if dtype == torch.float32 else "inductor")
    q, k, v = (x.to(dtype).requires_grad_() for x in draw())
    dout = torch.randn(B, H, S, D).to(dtype)
    for _ in range(2):
        gradients = [torch.autograd.grad(f(q, k, v), (q, k, v, layer.slopes), dout) for f in (layer, compiled)]
        torch.testing.assert_close(*gradients)
        assert gradients[0][3].dtype == dtype
        with torch.no_grad():
            layer.slopes *= -2  # the graph reads the parameter when it runs


def test_of_views_and_other_types_the_gradient_is_in_their_order():
    q, k, v = draw()
    wide = torch.randn(2 * S, H, dtype=torch.float64, requires_grad=True)
    view = wide[::2].T

    def call(x):
        return at.flex_attention(q, k, v, lambda s, b, h, i, j: s + x[h, j], enable_gqa=True).square().sum()

    (found,) = torch.autograd.grad(call(view), wide)
    dense = view.detach().float().contiguous().requires_grad_()
    (expected,) = torch.autograd.grad(call(dense), dense)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found[::2].T.float(), expected)
    assert not found[1::2].any()


def test_what_is_not_needed_is_not_computed():
    slopes = SLOPES.clone().requires_grad_()
    out = at.flex_attention(*draw(), lambda s, b, h, i, j: s - slopes[h] * (i - j), enable_gqa=True)
    (node,) = [x for x in [out.grad_fn] if x is not None]
    assert "sdpa" in node.name().lower()
    out.sum().backward()
    assert slopes.grad is not None
    with torch.no_grad():
        assert not at.flex_attention(*draw(), lambda s, b, h, i, j: s - slopes[h], enable_gqa=True).requires_grad


def both(x, y):
    return (lambda s, b, h, i, j: s * x[h] + y[h]), None


REFUSED = {
    "mask_mod": (
        lambda x: (None, lambda b, h, i, j: x[h] * i > j),
        "expected mask_mod to read tensors that require no gradient, found x",
    ),
    "both": (lambda x: both(x, x.detach()), "expected functions to read x with or without a gradient, found both"),
    "a view": (lambda x: (lambda s, b, h, i, j: s + x[::-1][h], None), "expected x to be read by position, as it"),
    "arithmetic": (lambda x: (lambda s, b, h, i, j: s + (x * 2)[h], None), "expected x to be read by position, as it"),
    "its sum": (lambda x: (lambda s, b, h, i, j: s + x.sum(), None), "expected x to be read by position, as it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_captured_tensors_without_gradient_are_refused(name):
    make, message = REFUSED[name]
    x = SLOPES.clone().requires_grad_()
    with pytest.raises(TypeError, match=message):
        at.flex_attention(*draw(), *make(x), enable_gqa=True)


def of_argument(slopes, q, k, v):
    return at.flex_attention(q, k, v, lambda s, b, h, i, j: s - slopes[h] * (i - j), enable_gqa=True).sin().sum()


class _OfModule(torch.nn.Module):
    """What torch.func.functional_call takes: functions read a parameter and a number as attributes."""

    def __init__(self):
        super().__init__()
        self.slopes, self.factor = torch.nn.Parameter(SLOPES), torch.tensor(1.5)

    def score_mod(self, s, b, h, i, j):
        return s * self.factor - self.slopes[h] * (i - j)

    def forward(self, q, k, v):
        return at.flex_attention(q, k, v, self.score_mod, enable_gqa=True).sin().sum()


def of_module(slopes, q, k, v):
    return torch.func.functional_call(_OfModule(), {"slopes": slopes}, (q, k, v))


@pytest.mark.parametrize(("loss", "factor"), [(of_argument, 1), (of_module, 1.5)])
def test_transforms_record_captured_tensors(loss, factor):
    q, k, v = draw()

    def expected(slopes, q, k, v):
        k, v = (x.repeat_interleave(H // HKV, 1) for x in (k, v))
        distances = torch.arange(S)[:, None] - torch.arange(S)
        return ((q @ k.mT / D**0.5 * factor - slopes[:, None, None] * distances).softmax(-1) @ v).sin().sum()

    def check(transform, *arguments):
        torch.testing.assert_close(transform(loss)(*arguments), transform(expected)(*arguments), rtol=1e-4, atol=1e-4)

    entries, of_entries = torch.stack([SLOPES, -SLOPES]), {"in_dims": (0, None, None, None)}
    check(lambda x: torch.func.grad(x, argnums=(0, 1)), SLOPES, q, k, v)
    check(lambda x: torch.func.grad(x, argnums=1), SLOPES.clone().requires_grad_(), q, k, v)
    check(lambda x: torch.func.vmap(torch.func.grad(x), **of_entries), entries, q, k, v)
    check(lambda x: torch.func.grad(lambda *y: torch.func.vmap(x, **of_entries)(*y).sum()), entries, q, k, v)
    check(lambda x: lambda *y: torch.func.vjp(x, *y)[0], SLOPES.bfloat16(), q, k, v)


def test_of_a_mask_vmap_has_the_values_of_each_entry():
    q, k, v = draw()

    def call(documents):
        return at.flex_attention(q, k, v, None, lambda b, h, i, j: documents[b, i] == documents[b, j], enable_gqa=True)

    entries = torch.stack([DOCUMENTS, 1 + 0 * DOCUMENTS])
    torch.testing.assert_close(torch.func.vmap(call)(entries), torch.stack([call(x) for x in entries]))


@pytest.mark.parametrize(("transform", "shape"), [(torch.func.grad, (H,)), (torch.func.vmap, (2, H))])
def test_transforms_refuse_what_is_made_of_captured_tensors_inside(transform, shape):
    q, k, v = draw()

    def call(x):
        return at.flex_attention(q, k, v, lambda s, b, h, i, j: s - (SLOPES * x)[h], enable_gqa=True).sum()

    with pytest.raises(TypeError, match="to be read by position, as it requires a gradient or"):
        transform(call)(torch.ones(shape))
