"""attn.torch.linear_attention as an operator of PyTorch: numbers, gradients, graphs, states written in place."""

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import attn
import attn.torch as at
from attn.torch import _linear
from linear_families import FAMILIES, Sizes, draw_family
from test_reference_linear import packed

SIZES = Sizes(2, 2, 4, 11, 5, 3)
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")


def tensors(options, grad=True, dtype=torch.float64):
    """The arguments as tensors."""
    return {
        name: x if not isinstance(x, np.ndarray) else torch.tensor(x) if x.dtype.kind in "iu"
        else torch.tensor(x, dtype=dtype, requires_grad=grad)
        for name, x in options.items()
    }  # fmt: skip


def reset(options, value):
    """The arguments, with this decay at some tokens and channels."""
    where = np.random.default_rng(2).random(options["decay"].shape) < 0.1
    return options | {"decay": np.where(where, value, options["decay"])}


CASES = {name: lambda name=name: draw_family(name, SIZES).options for name in FAMILIES}
CASES |= {
    "chunks": lambda: draw_family("GDN", Sizes(1, 1, 2, 70, 6, 5)).options,
    "chunks of channels": lambda: draw_family("RWKV-7, DPLR", Sizes(1, 1, 2, 37, 6, 5)).options,
    "chunks packed": lambda: packed(draw_family("KDA", Sizes(3, 1, 2, 40, 6, 5)).options, [17, 40, 33]),
    "packed": lambda: packed(draw_family("GDN", Sizes(3, 2, 4, 9, 5, 3)).options, [9, 0, 4]),
    "normalised": lambda: draw_family("KDA", SIZES).options | {"normalize": 0.1},
    "scaled": lambda: draw_family("GDN", SIZES).options | {"scale": -0.4},
    "slots": lambda: (
        draw_family("GDN", Sizes(3, 1, 2, 4, 5, 3)).options
        | {"state": np.random.default_rng(1).standard_normal((5, 2, 5, 3)), "slots": np.array([4, -1, 0])}
    ),
    "resets": lambda: reset(draw_family("GDN", Sizes(1, 1, 2, 70, 6, 5)).options, -np.inf),
    "resets of channels": lambda: reset(draw_family("RWKV-7, DPLR", Sizes(1, 1, 2, 37, 6, 5)).options, -np.inf),
    "spikes": lambda: reset(draw_family("KDA", Sizes(1, 1, 2, 70, 6, 5)).options, -300),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_and_gradients_are_those_of_the_reference(name):
    options = CASES[name]()
    given = tensors(options)
    names = [x for x, y in given.items() if isinstance(y, torch.Tensor) and y.requires_grad]
    results = at.linear_attention(**given)
    expected = attn.reference.linear_attention(**options)
    for found, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), want, rtol=1e-11, atol=1e-11)
    dout, dstate = (torch.randn_like(x) for x in results)
    found = torch.autograd.grad(results, [given[x] for x in names], [dout, dstate])
    wanted = attn.reference.linear_attention_backward(**options, dout=dout.numpy(), dstate=dstate.numpy(), grad=names)
    for x, y in zip(found, wanted.values(), strict=True):
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["GDN", "RWKV-7, DPLR"])
def test_gradients_are_those_of_central_differences(name):
    given = tensors(draw_family(name, Sizes(1, 1, 2, 3, 2, 1)).options)
    names = [x for x in given if isinstance(given[x], torch.Tensor)]
    rest = {x: y for x, y in given.items() if x not in names}
    call = lambda *x: at.linear_attention(**dict(zip(names, x, strict=True)), **rest)  # noqa: E731
    assert torch.autograd.gradcheck(call, [given[x] for x in names])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_types_of_results_and_gradients(dtype):
    options = draw_family("GDN", SIZES).options
    given = {name: x.to(dtype).detach().requires_grad_() for name, x in tensors(options).items()}
    given |= {name: given[name].detach().float().requires_grad_() for name in ("state", "decay")}
    out, state = at.linear_attention(**given)
    assert (out.dtype, state.dtype) == (dtype, torch.float32)
    (out.float().sum() + state.sum()).backward()
    assert all(x.grad.dtype == x.dtype for x in given.values())


def test_only_what_is_asked_for_is_computed():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)
    given["beta"].requires_grad_()
    out, _ = at.linear_attention(**given)
    out.sum().backward()
    assert given["beta"].grad is not None
    assert given["k"].grad is None


def test_the_state_given_stays():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)
    before = given["state"].clone()
    _, state = at.linear_attention(**given)
    assert torch.equal(given["state"], before)
    assert not torch.equal(state, before)


def test_in_place():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)
    out, new = at.linear_attention(**given)
    found, state = at.linear_attention(**given, in_place=True)
    assert state is given["state"]
    assert torch.equal(found, out)
    assert torch.equal(state, new)
    given["k"].requires_grad_()
    with pytest.raises(TypeError, match="expected no gradient beside in_place=True"):
        at.linear_attention(**given, in_place=True)
    with torch.no_grad():
        at.linear_attention(**given, in_place=True)
    del given["state"]
    with pytest.raises(ValueError, match="expected state beside in_place=True"):
        at.linear_attention(**given, in_place=True)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("name", ["GDN", "KDA"])
def test_layouts(name, layout):
    given = tensors(draw_family(name, SIZES).options)
    expected = at.linear_attention(**given)
    dout = torch.randn_like(expected[0])
    wanted = torch.autograd.grad(expected[0], [given["k"], given["decay"]], dout)
    if layout == "bshd":
        turned = {x: y.transpose(1, 2) for x, y in given.items() if isinstance(y, torch.Tensor) and x != "state"}
        out, state = at.linear_attention(**given | turned, layout=layout)
        assert out.is_contiguous()
        out = out.transpose(1, 2)
    else:
        out, state = at.linear_attention(**given, layout=layout)
    found = torch.autograd.grad(out, [given["k"], given["decay"]], dout)
    for x, y in zip((out, state, *found), (*expected, *wanted), strict=True):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize("name", ["GDN", "packed", "slots"])
def test_opcheck(name):
    given = tensors(CASES[name]())
    call = _linear.Call(**given)
    torch.library.opcheck(_linear._operator, tuple(call))
    in_place = {x: y.detach() if isinstance(y, torch.Tensor) else y for x, y in given.items()}
    torch.library.opcheck(_linear._operator_in_place, (), in_place)


def test_a_graph_of_torch_compile_with_gradients():
    given = tensors(draw_family("KDA", SIZES).options)

    def loss(k, decay):
        out, state = at.linear_attention(**given | {"k": torch.tanh(k), "decay": decay})
        return out.sum() + state.square().sum()

    leaves = [given["k"], given["decay"]]
    expected = torch.autograd.grad(loss(*leaves), leaves)
    found = torch.autograd.grad(torch.compile(loss, fullgraph=True)(*leaves), leaves)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y)


def test_a_graph_that_writes_in_place():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)
    expected = at.linear_attention(**given)
    step = torch.compile(lambda q: at.linear_attention(**given | {"q": q}, in_place=True)[0] * 2, fullgraph=True)
    torch.testing.assert_close(step(given["q"]), 2 * expected[0])
    torch.testing.assert_close(given["state"], expected[1])


def test_an_exported_program():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)

    class Module(torch.nn.Module):
        def forward(self, q, k, v, decay, beta):
            return at.linear_attention(q, k, v, decay=decay, beta=beta, normalize=True)

    inputs = tuple(given[x] for x in ("q", "k", "v", "decay", "beta"))
    program = torch.export.export(Module(), inputs)
    torch.testing.assert_close(program.module()(*inputs), Module()(*inputs))


def test_vmap():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)
    q = torch.randn(3, *given["q"].shape, dtype=torch.float64)
    call = lambda x: at.linear_attention(**given | {"q": x})[0]  # noqa: E731
    torch.testing.assert_close(torch.func.vmap(call)(q), torch.stack([call(x) for x in q]))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # PyTorch, of dual numbers
def test_gradients_of_second_order_and_of_forward_mode_are_refused():
    given = tensors(draw_family("GDN", SIZES).options)
    (grad,) = torch.autograd.grad(at.linear_attention(**given)[0].sum(), given["q"], create_graph=True)
    with pytest.raises(RuntimeError, match="first order of attn::linear_attention, found one of second order"):
        torch.autograd.grad(grad.sum(), given["k"])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(given["q"].detach(), torch.ones_like(given["q"]))
        with pytest.raises(RuntimeError, match="reverse mode of attn::linear_attention, found forward mode"):
            at.linear_attention(**given | {"q": dual})


def test_mistakes():
    given = tensors(draw_family("GDN", SIZES).options, grad=False)
    with pytest.raises(ValueError, match=r"write decay.swapaxes\(1, 2\)"):
        at.linear_attention(**given | {"decay": given["decay"].transpose(1, 2)})
    with pytest.raises(TypeError, match="expected beta in float32, the type of the state"):
        at.linear_attention(
            **{x: y.float() if isinstance(y, torch.Tensor) and x != "beta" else y for x, y in given.items()}
        )
