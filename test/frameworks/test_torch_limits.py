"""What PyTorch would make something else of, without a word, is an error; and shapes broadcast as in PyTorch."""

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.masked import masked_tensor
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.testing._internal.two_tensor import TwoTensor

import attn
import attn.torch as at

B, H, S, D = 2, 2, 5, 4
FORWARD_MODE = r"expected a gradient of reverse mode of attn::sdpa, found forward mode .* write backward\(\)"


def draw(*shape):
    return torch.randn(shape, dtype=torch.float64)


def qkv():
    return tuple(draw(B, H, S, D) for _ in "qkv")


def dual(call, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(call(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def jvp(call, x):
    return torch.func.jvp(call, (x,), (torch.ones_like(x),))[1]


FORWARD_MODES = {
    "make_dual": dual,
    "jvp": jvp,
    "jacfwd": lambda call, x: torch.func.jacfwd(call)(x),
    "jacobian": lambda call, x: torch.autograd.functional.jacobian(call, x, strategy="forward-mode", vectorize=True),
    "jvp of grad": lambda call, x: jvp(torch.func.grad(lambda x: call(x).sum()), x),
    "compiled make_dual": lambda call, x: torch.compile(lambda x: dual(call, x))(x),
    "compiled jvp": lambda call, x: torch.compile(lambda x: jvp(call, x))(x),
    "jvp of a compiled function": lambda call, x: jvp(torch.compile(call), x),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")
@pytest.mark.parametrize("mode", FORWARD_MODES)
def test_forward_mode_is_refused(mode):
    q, k, v = qkv()
    with pytest.raises(RuntimeError, match=FORWARD_MODE):
        FORWARD_MODES[mode](lambda q: at.sdpa(q, k, v), q)


@pytest.mark.parametrize("name", ["key", "bias", "sink", "flex_attention", "operator", "transformers"])
def test_forward_mode_is_refused_by_any_tensor_and_entry(name):
    q, k, v = qkv()
    transformers = at._transformers._attention
    calls = {
        "key": (lambda x: at.sdpa(q, x, v), k),
        "bias": (lambda x: at.sdpa(q, k, v, bias=x), draw(1, 1, S, S)),
        "sink": (lambda x: at.sdpa(q, k, v, sink=x), draw(H)),
        "flex_attention": (lambda x: at.flex_attention(x, k, v, lambda s, b, h, i, j: s * 2), q),
        "operator": (lambda x: torch.ops.attn.sdpa(x, k, v, [])[0], q),
        "transformers": (lambda x: transformers(torch.nn.Module(), x, k, v, None)[0], q),
    }
    with pytest.raises(RuntimeError, match=FORWARD_MODE):
        dual(*calls[name])


STEP = {
    "paged_sdpa": lambda x: at.paged_sdpa(
        x[:1, 0], x, x, torch.zeros(1, 1).int(), torch.tensor([S]).int(), cu_seqlens_q=torch.tensor([0, 1]).int()
    ),
    "paged_sdpa, dense": lambda x: at.paged_sdpa(
        x[:1].transpose(1, 2), x, x, torch.zeros(1, 1).int(), torch.tensor([S])
    ),
    "kv_append, rows": lambda x: at.kv_append(torch.zeros(1, S, H, D), x[0, :1].float(), slots=torch.tensor([1])),
    "kv_append, cache": lambda x: at.kv_append(x * 1, torch.zeros(1, H, D).double(), slots=torch.tensor([1])),
    "kv_append, positions": lambda x: at.kv_append(x * 1, torch.zeros(B, S, 1, D).double(), torch.tensor([0, 1])),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")
@pytest.mark.parametrize("mode", ["make_dual", "jvp", "compiled make_dual"])
@pytest.mark.parametrize("name", STEP)
def test_forward_mode_is_refused_in_serving(name, mode):
    with pytest.raises(RuntimeError, match=r"expected tensors without a tangent, found one of forward mode .* write "):
        FORWARD_MODES[mode](STEP[name], draw(B, S, H, D))


def test_what_has_no_tangent_is_computed_beside_it():
    q, k, v = qkv()
    expected = at.sdpa(q, k, v)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(q, q)
        assert torch.equal(at.sdpa(forward_ad.unpack_dual(x).primal, k, v), expected)


@pytest.fixture(scope="module")
def mesh():
    from torch.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_context_parallel_is_refused(mesh, is_compiled):
    """Also by what was compiled outside of it."""
    from torch.distributed.tensor.experimental import context_parallel

    call = torch.compile(at.sdpa, fullgraph=True) if is_compiled else at.sdpa
    tensors = [x.float() for x in qkv()]
    expected = call(*tensors)
    with (
        context_parallel(mesh, buffers=list(tensors), buffer_seq_dims=[2, 2, 2]),
        pytest.raises(Exception, match=r"expected a call outside of torch\.distributed's context_parallel, found one"),
    ):
        call(*tensors)
    torch.testing.assert_close(call(*tensors), expected)


def test_a_sequence_on_ranks_is_outside_of_graphs(mesh):
    """Also in a graph that is compiled before the first call."""

    def call(q):
        return at.sharded_sdpa(q.sin(), q, q, is_causal=True).cos()

    x = draw(B, H, 8, D).float()
    with pytest.raises(Exception, match=r"skip.*_run"):
        torch.compile(call, backend="eager", fullgraph=True)(x)
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(call, backend="eager")(x), call(x))


@pytest.mark.parametrize("call", [at.sdpa, at.flex_attention])
def test_distributed_rows_and_keys_are_refused(mesh, call):
    from torch.distributed.tensor import Shard, distribute_tensor

    tensors = [distribute_tensor(x, mesh, [Shard(2)]) for x in qkv()]
    with pytest.raises(ValueError, match=r"expected query with placements of Shard\(0\), .* write x.redistribute"):
        call(*tensors)


ROADS = {
    "sdpa": at.sdpa,
    "compiled": lambda q, k, v, mask: torch.compile(at.sdpa, backend="eager", fullgraph=True)(q, k, v, mask),
    "flex_attention": lambda q, k, v, mask: at.flex_attention(q, k, v, attn_mask=mask),
    "transformers": lambda q, k, v, mask: at._transformers._attention(_CAUSAL, q, k, v, mask)[0].transpose(1, 2),
}
_CAUSAL = torch.nn.Module()


@pytest.mark.parametrize("make", [causal_upper_left, causal_lower_right])
def test_causal_masks_without_matrix_are_words(mesh, make):
    """Of tensors of this class the memory is nobody's."""
    q, k, v = draw(B, H, S, D), draw(B, H, 7, D), draw(B, H, 7, D)
    mask = make(S, 7)
    expected = F.scaled_dot_product_attention(q, k, v, mask)
    for name, call in ROADS.items():
        torch.testing.assert_close(call(q, k, v, mask), expected, msg=name)
    position_bias = draw(B, H, S, 7)
    found, _ = at._transformers._attention(_CAUSAL, q, k, v, mask, position_bias=position_bias)
    bias = position_bias.masked_fill(~mask._materialize(), -torch.inf)
    torch.testing.assert_close(found.transpose(1, 2), F.scaled_dot_product_attention(q, k, v, bias))
    q, k, v = (draw(B, H, 4, D) for _ in "qkv")
    with at.context_parallel(mesh):
        for call in (at.sdpa, F.scaled_dot_product_attention):
            found = call(q, k, v, make(4, 4))
            torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, is_causal=True))


def test_causal_masks_without_matrix_refuse_other_words_and_sizes():
    q, k, v = qkv()
    for words in ({"is_causal": True}, {"causal": "top_left"}):
        with pytest.raises(ValueError, match="without is_causal and causal, found both"):
            at.sdpa(q, k, v, causal_upper_left(S, S), **words)
    with pytest.raises(ValueError, match='found a CausalBias of 4 and 9; write causal="bottom_right"'):
        at.sdpa(q, k, v, causal_lower_right(4, 9))
    with pytest.raises(TypeError, match=r"found the subclass CausalBias, .* give it as attn_mask"):
        attn.sdpa(q, k, v, mask=causal_upper_left(S, S))


class Own(torch.Tensor):
    """A class that PyTorch's functions ask what it is; its memory is anything."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        return super().__torch_function__(function, types, arguments, keywords or {})


def freed(x):
    x = x.clone()
    x.untyped_storage().resize_(0)
    return x


OTHERS = {
    "a class": (lambda x: x.as_subclass(Own), "found the subclass Own"),
    "masked": (lambda x: masked_tensor(x, x > 0), "found the subclass MaskedTensor"),
    "fake": (lambda x: FakeTensorMode().from_tensor(x), "FakeTensor"),
    "sparse": (lambda x: x.to_sparse(), "found layout torch.sparse_coo"),
    "quantised": (lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8), "found torch.quint8"),
    "nested": (lambda x: torch.nested.nested_tensor([x, x]), "nested"),
    "meta": (lambda x: x.to("meta"), "on meta|meta, as query is"),
    "freed": (freed, "found: one without memory"),
}
ARGUMENTS = {
    "q": lambda x: at.sdpa(x(draw(B, H, S, D)), *qkv()[1:]),
    "v": lambda x: at.sdpa(*qkv()[1:], x(draw(B, H, S, D))),
    "attn_mask": lambda x: at.sdpa(*qkv(), x(draw(B, H, S, S))),
    "bias": lambda x: at.sdpa(*qkv(), bias=x(draw(B, H, S, S))),
    "sink": lambda x: at.sdpa(*qkv(), sink=x(draw(H))),
    "kv_lengths": lambda x: at.sdpa(*qkv(), kv_lengths=x(torch.tensor([5, 3]))),
    "a capture": lambda x: captured(x(draw(H))),
    "of attn.sdpa": lambda x: attn.sdpa(x(draw(B, H, S, D)), *qkv()[1:]),
    "lengths of attn.sdpa": lambda x: attn.sdpa(*qkv(), kv_lengths=x(torch.tensor([5, 3]))),
    "cu_seqlens": lambda x: at.varlen_sdpa(*(y[0] for y in qkv()), x(torch.tensor([0, 2])), torch.tensor([0, 2])),
    "slots": lambda x: at.kv_append(draw(2, 4, H, D), draw(2, H, D), slots=x(torch.tensor([1, 2]))),
}


def captured(table):
    return at.flex_attention(*qkv(), lambda s, b, h, i, j: s + table[h])


@pytest.mark.filterwarnings("ignore")  # of prototypes of PyTorch
@pytest.mark.parametrize("kind", OTHERS)
def test_tensors_whose_memory_is_not_their_elements_are_refused(kind):
    make, found = OTHERS[kind]
    for call in ARGUMENTS.values():
        with pytest.raises(TypeError, match=found):
            call(make)


def test_classes_that_leave_elements_alone_are_tensors():
    class Named(torch.Tensor):
        pass

    q, k, v = qkv()
    for make in (torch.nn.Parameter, torch.nn.Buffer, lambda x: x.as_subclass(Named)):
        torch.testing.assert_close(at.sdpa(*map(make, (q, k, v))).data, at.sdpa(q, k, v), check_dtype=False)


def test_classes_that_dispatch_see_the_operator():
    """In the place of q, and captured."""
    (q, k, v), table = qkv(), draw(H)

    def call(q, table):
        return at.flex_attention(q, k, v, lambda s, b, h, i, j: s + table[h] * i * j)

    found = call(q, TwoTensor(table, 2 * table))
    torch.testing.assert_close((found.a, found.b), (call(q, table), call(q, 2 * table)))
    found = call(TwoTensor(q, 2 * q), table)
    torch.testing.assert_close((found.a, found.b), (call(q, table), call(2 * q, table)))


def steps():
    """Calls, and the tensors that they read, write and return."""
    leaves = [x.requires_grad_() for x in qkv()]
    table, mask, lengths = draw(H).bfloat16(), torch.ones(S, dtype=torch.int32), torch.tensor([S, S])
    out = at.sdpa(*leaves, score_mod=lambda s, b, h, i, j: s + table[h] * mask[i], kv_lengths=lengths)
    found = torch.autograd.grad(out.sum(), leaves)
    yield "sdpa", [*leaves, table, mask, lengths, out, *found]
    cache, new, slots, sums = draw(2, 4, H, D), draw(3, H, D), torch.tensor([4, 5, 6]), torch.tensor([0, 3])
    pages, counts = torch.tensor([[1]]), torch.tensor([3])
    at.kv_append(cache, new, slots=slots)
    given = (draw(3, H, D), cache, cache, pages, counts)
    yield "paged_sdpa", [at.paged_sdpa(*given, cu_seqlens_q=sums, dynamic=x) for x in (False, True)] + [sums, *given]
    at.kv_append(more := draw(2, 4, H, D), row := draw(1, H, 1, D), at_ := torch.tensor([3]), block_table=pages)
    yield "kv_append", [new, slots, more, row, at_]
    given = [*(x[0] for x in qkv()), sums := torch.tensor([0, 2]), torch.tensor([0, 2])]
    yield "varlen_sdpa", [at.varlen_sdpa(*given), *given]
    given = [x.bfloat16() for x in qkv()]
    yield "attn.sdpa", [attn.sdpa(*given, kv_lengths=lengths), *given]


def test_storages_are_resized_afterwards():
    """FSDP frees parameters so, and others the results of layers that they compute again."""
    for name, tensors in list(steps()):
        for n, x in enumerate(tensors):
            try:
                x.untyped_storage().resize_(0)
            except RuntimeError as error:
                pytest.fail(f"{name}: tensor {n}: {error}")


def test_captured_tensors_are_read_where_they_are_in_the_backward_pass():
    """Their memory may be another one by then, as that of FSDP's parameters."""
    table, (q, k, v) = draw(H), qkv()

    def call(q):
        return at.flex_attention(q, k, v, lambda s, b, h, i, j: s + table[h] * j).sin().sum()

    (expected,) = torch.autograd.grad(call(q.requires_grad_()), q)
    loss, values = call(q), table.clone()
    table.untyped_storage().resize_(0)
    blocker = [torch.full_like(values, 7) for _ in range(8)]  # where it was
    table.untyped_storage().resize_(values.nbytes)
    with torch.autograd._unsafe_preserve_version_counter(table):
        table.copy_(values)
    torch.testing.assert_close(torch.autograd.grad(loss, q)[0], expected)
    assert blocker


# Shapes of query, key and value without the last dimension but one and the last.
SHAPES = {
    "a batch of queries": ((1, 3), (2, 3), (2, 3)),
    "queries without a batch": ((3,), (2, 3), (2, 3)),
    "a batch of keys": ((2, 3), (1, 3), (1, 3)),
    "one head of keys and values": ((2, 3), (1, 1), (1, 1)),
    "one head of queries": ((2, 1), (2, 3), (2, 3)),
    "one head of values": ((2, 3), (2, 3), (2, 1)),
    "several batches": ((2, 1, 3), (4, 3), (2, 4, 1)),
    "no heads": ((), (2, 3), (3,)),
    "no batches": ((), (), ()),
}


@pytest.mark.parametrize("name", SHAPES)
def test_batches_and_heads_broadcast(name):
    q, k, v = (draw(*shape, length, D).requires_grad_() for shape, length in zip(SHAPES[name], (S, 7, 7), strict=True))
    out, lse = at.sdpa(q, k, v, return_lse=True)
    expected = (q @ k.mT / D**0.5).softmax(-1) @ v
    torch.testing.assert_close(out, expected)
    assert lse.shape == out.shape[:-1]
    dout = torch.randn_like(out)
    torch.testing.assert_close(
        torch.autograd.grad(out, (q, k, v), dout), torch.autograd.grad(expected, (q, k, v), dout)
    )
    torch.testing.assert_close(out, F.scaled_dot_product_attention(q, k, v).expand_as(out))


def test_a_mask_broadcasts_beside_batches():
    q, k, v = draw(2, 1, H, S, D), draw(1, 3, H, S, D), draw(H, S, D)
    mask = torch.rand(3, 1, S, S) > 0.3
    mask[..., 0] = True
    expected = F.scaled_dot_product_attention(*(x.expand(2, 3, H, S, D) for x in (q, k, v)), attn_mask=mask)
    torch.testing.assert_close(at.sdpa(q, k, v, attn_mask=mask), expected)


def test_gradients_of_packed_sequences_take_tensors_of_pytorch():
    """Not of attn.torch: `attn.varlen_sdpa_backward` and `attn.varlen_vjp`."""
    q, k, v, dout = (draw(7, H, D) for _ in range(4))
    sums = torch.tensor([0, 3, 7], dtype=torch.int32)
    out, lse = attn.varlen_sdpa(q, k, v, sums, sums, causal="top_left", return_lse=True)
    found = attn.varlen_sdpa_backward(q, k, v, out, lse, dout, sums, sums, causal="top_left")
    pulled = attn.varlen_vjp(q, k, v, sums, sums, causal="top_left")[1](dout)
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    at.varlen_sdpa(*leaves, sums, sums, causal="top_left").backward(dout)
    for name, x in zip("qkv", leaves, strict=True):
        torch.testing.assert_close(found[name], x.grad)
        torch.testing.assert_close(pulled[name], x.grad)
