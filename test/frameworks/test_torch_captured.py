"""Captured parameters of modules: copied, pickled, compiled, a gradient goes to the parameter of that very module."""

import copy
import functools
import pickle

import pytest
import torch

import attn
import attn.torch as at

H, S, D = 2, 9, 4
ROWS, KEYS = torch.arange(S)[:, None], torch.arange(S)[None, :]


def with_slopes(slopes, s, b, h, i, j):
    return s - slopes[h] * (i - j)


class _Layer(torch.nn.Module):
    """ALiBi that learns; `scores` is the same of all scores at once."""

    def __init__(self):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.rand(H) + 0.5)

    def forward(self, q, k, v):
        return at.flex_attention(q, k, v, self.function())

    def scores(self, s):
        return s - self.slopes[:, None, None] * (ROWS - KEYS)


class _Method(_Layer):
    """The form of docs/Training.md."""

    def score_mod(self, s, b, h, i, j):
        return s - self.slopes[h] * (i - j)

    def function(self):
        return self.score_mod


class _InForward(_Layer):
    def function(self):
        slopes, one = self.slopes, 1
        return lambda s, b, h, i, j: s - slopes[h] * (i - j) * one


class _OfSelf(_Layer):
    def function(self):
        return lambda s, b, h, i, j: s - self.slopes[h] * (i - j)


class _Computed(_Layer):
    def function(self):
        twice = self.slopes * 2
        return lambda s, b, h, i, j: s - twice[h] * 0.5 * (i - j)


class _Partial(_Layer):
    def __init__(self):
        super().__init__()
        self.score_mod = functools.partial(with_slopes, self.slopes)

    def function(self):
        return self.score_mod


class _Nested(_Layer):
    """Parameters of modules in it, without dimensions, in a list; a buffer of positions; a method that helps."""

    def __init__(self):
        super().__init__()
        self.inner = _Method()
        self.temperature = torch.nn.Parameter(torch.tensor(1.3))
        self.more = torch.nn.ParameterList([torch.rand(H)])
        self.register_buffer("bucket", torch.arange(S) % H)

    def distance(self, i, j):
        return i - j

    def score_mod(self, s, b, h, i, j):
        biased = s * self.temperature - self.inner.slopes[h] * self.distance(i, j)
        return biased + self.slopes[self.bucket[i]] * j + self.more[0][h]

    def function(self):
        return self.score_mod

    def scores(self, s):
        s = s * self.temperature - self.inner.slopes[:, None, None] * (ROWS - KEYS)
        return s + self.slopes[self.bucket][:, None] * KEYS + self.more[0][:, None, None]


KINDS = {x.__name__.strip("_"): x for x in (_Method, _InForward, _OfSelf, _Computed, _Partial, _Nested)}
COPIES = {"itself": lambda x: x, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_go_to_the_parameters_of_the_module(kind, is_compiled):
    """Inductor compiles what is around the operator, by a C++ compiler: for the kind that has most."""
    backend = "inductor" if kind == "Nested" else "aot_eager"
    original = KINDS[kind]()
    q, k, v = (torch.randn(1, H, S, D) for _ in "qkv")
    torch.compiler.reset()
    for how, make in COPIES.items():
        layer = make(original)
        call = torch.compile(layer, fullgraph=True, backend=backend) if is_compiled else layer
        for _ in range(2):  # the second reads what has changed
            expected = torch.softmax(layer.scores(q @ k.mT / D**0.5), -1) @ v
            dout, parameters = torch.randn_like(expected), list(layer.parameters())
            found = call(q, k, v)
            torch.testing.assert_close(found, expected, msg=how)
            torch.testing.assert_close(
                torch.autograd.grad(found, parameters, dout),
                torch.autograd.grad(expected, parameters, dout, allow_unused=True),
                rtol=1e-4,
                atol=1e-5,
            )
            with torch.no_grad():
                for x in parameters:
                    x *= -1.5


def test_a_number_of_a_module_is_guarded():
    class Window(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.window = 3

        def mask_mod(self, b, h, i, j):
            return i - j < self.window

        def forward(self, q, k, v):
            return at.flex_attention(q, k, v, None, self.mask_mod)

    layer = Window()
    compiled = torch.compile(layer, fullgraph=True)
    q, k, v = (torch.randn(1, H, S, D) for _ in "qkv")
    for layer.window in (3, 5):
        torch.testing.assert_close(compiled(q, k, v), attn.sdpa(q, k, v, window=(layer.window - 1, None)))


def test_an_input_of_a_compiled_function_is_captured():
    """Floats and integers; nothing of the first call is a constant of the graph."""

    def call(q, k, v, table, documents):
        def mask_mod(b, h, i, j):
            return documents[i] == documents[j]

        return at.flex_attention(q, k, v, lambda s, b, h, i, j: s + table[h, i], mask_mod)

    compiled = torch.compile(call, fullgraph=True)
    q, k, v = (torch.randn(1, H, S, D) for _ in "qkv")
    for n in (2, 3):
        arguments = torch.randn(H, S).T.contiguous().T, torch.arange(S) // n
        torch.testing.assert_close(compiled(q, k, v, *arguments), call(q, k, v, *arguments))


def test_a_mask_mod_refuses_parameters_in_a_graph_too():
    class Mask(_Layer):
        def forward(self, q, k, v):
            return at.flex_attention(q, k, v, None, lambda b, h, i, j: self.slopes[h] * i > j)

    layer = Mask()
    for call in (layer, torch.compile(layer, fullgraph=True)):
        with pytest.raises(Exception, match="expected mask_mod to read tensors that require no gradient, found"):
            call(*(torch.randn(1, H, S, D) for _ in "qkv"))


FUNCTIONS = {
    "where": lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")),
    "abs": lambda s, b, h, i, j: s - torch.abs(i - j),
    "tanh": lambda s, b, h, i, j: 20 * torch.tanh(s / 20),
    "clamp": lambda s, b, h, i, j: s + torch.clamp(i - j, max=4) + torch.clamp(j, 1, 3),
    "logical_and": lambda s, b, h, i, j: torch.where(torch.logical_and(i >= j, i - j < 5), s, -float("inf")),
    "minimum": lambda s, b, h, i, j: torch.minimum(s, s * 2) + torch.sigmoid(s) + torch.exp(-torch.square(s)),
}


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_torch_are_traced(name):
    from torch.nn.attention.flex_attention import flex_attention as flex

    q, k, v = (torch.randn(1, H, S, D) for _ in "qkv")
    torch.testing.assert_close(at.flex_attention(q, k, v, FUNCTIONS[name]), flex(q, k, v, FUNCTIONS[name]))


def test_other_functions_of_torch_are_refused_by_name():
    with pytest.raises(
        TypeError, match=r"expected a function that can be traced, found torch\.erf of <traced float score>"
    ):
        at.flex_attention(*(torch.randn(1, H, S, D) for _ in "qkv"), lambda s, b, h, i, j: torch.erf(s))
