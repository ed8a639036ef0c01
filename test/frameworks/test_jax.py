"""attn.jax: the custom call outside and inside of jit, gradients, vmap, and what it refuses."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.test_util import check_grads

import attn
import attn.jax as aj
from attn.xla import _xla
from linear_families import Sizes, draw_family
from test_reference_linear import packed

jax.config.update("jax_enable_x64", True)

SHAPES = ((2, 4, 5, 3), (2, 2, 7, 3), (2, 2, 7, 6))


@pytest.fixture
def rng():
    return np.random.default_rng(20251125)


def draw(rng, shapes=SHAPES, dtype=np.float64):
    return [jnp.asarray(rng.standard_normal(shape).astype(dtype)) for shape in shapes]


def textbook(q, k, v, bias=0.0, kept=True, scale=None):
    """Attention by jax.numpy: out and lse."""
    group = q.shape[1] // k.shape[1]
    k, v = (jnp.repeat(x, group, axis=1) for x in (k, v))
    s = jnp.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias
    s = jnp.where(kept, s, -jnp.inf)
    return jnp.einsum("bhij,bhje->bhie", jax.nn.softmax(s), v), jax.nn.logsumexp(s, axis=-1)


CASES = {
    "plain": lambda rng: {},
    "scale": lambda rng: {"scale": 0.3},
    "scale that is an array": lambda rng: {"scale": jnp.asarray(-0.4)},
    "causal": lambda rng: {"causal": "bottom_right"},
    "offsets": lambda rng: {"causal": jnp.asarray([1, 3])},
    "window": lambda rng: {"window": (2, 1), "align": "top_left"},
    "softcap": lambda rng: {"softcap": 2.0},
    "bias": lambda rng: {"bias": jnp.asarray(rng.standard_normal((1, 4, 5, 7)))},
    "sink": lambda rng: {"sink": jnp.asarray(rng.standard_normal(4))},
    "mask": lambda rng: {"mask": jnp.asarray(rng.random((2, 1, 5, 7)) > 0.4)},
    "lengths": lambda rng: {"q_lengths": jnp.asarray([5, 2]), "kv_lengths": jnp.asarray([7, 4])},
}


@pytest.fixture(params=CASES)
def case(request, rng):
    return CASES[request.param](rng)


def test_it_is_the_reference_with_and_without_jit(case, rng):
    inputs = draw(rng)
    call = lambda *x: aj.sdpa(*x, return_lse=True, **case)  # noqa: E731
    given = {n: np.asarray(x) if isinstance(x, jax.Array) else x for n, x in case.items()}
    expected = attn.reference.sdpa(*map(np.asarray, inputs), return_lse=True, **given)
    for found in (call(*inputs), jax.jit(call)(*inputs)):
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_other_types_and_layouts(dtype, rng):
    q, k, v = draw(rng, dtype=dtype)
    out, lse = jax.jit(lambda *x: aj.sdpa(*x, return_lse=True))(q, k, v)
    assert (out.dtype, lse.dtype) == (dtype, np.float32)
    np.testing.assert_array_equal(out, attn.sdpa(*map(np.asarray, (q, k, v))))
    swapped = aj.sdpa(*(x.swapaxes(1, 2) for x in (q, k, v)), layout="bshd")
    np.testing.assert_array_equal(swapped.swapaxes(1, 2), out)


def test_gradients_are_those_of_central_differences(case, rng):
    arrays = draw(rng)
    names = [n for n, x in case.items() if n in ("bias", "sink", "scale") and isinstance(x, jax.Array)]

    def call(q, k, v, *others):
        out, lse = aj.sdpa(q, k, v, return_lse=True, **{**case, **dict(zip(names, others, strict=True))})
        return out, jnp.where(jnp.isinf(lse), 0.0, lse)

    check_grads(call, (*arrays, *(case[n] for n in names)), order=1, modes=["rev"], rtol=1e-6, atol=1e-6)
    check_grads(jax.jit(call), (*arrays, *(case[n] for n in names)), order=1, modes=["rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_gradients_are_those_of_the_textbook(which, rng):
    """Of out, of lse, and of both; and no more is computed than is asked for."""
    q, k, v = draw(rng)
    bias = jnp.asarray(rng.standard_normal((1, 4, 5, 7)))

    def loss(function, q, bias):
        results = function(q, k, v, bias)
        return sum(jnp.sum(jnp.sin(results[n])) for n in which)

    found = jax.grad(lambda *x: loss(lambda q, k, v, b: aj.sdpa(q, k, v, bias=b, return_lse=True), *x), (0, 1))(q, bias)
    expected = jax.grad(lambda *x: loss(textbook, *x), (0, 1))(q, bias)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


VMAPPED = {
    "all": ((0, 0, 0, 0, None), {}),
    "queries alone, at the end": ((4, None, None, None, None), {}),
    "keys, and a bias of each": ((None, 1, None, 1, None), {}),
    "sinks": ((None, None, 0, None, 0), {}),
    "lengths": ((0, None, None, None, None), {"kv_lengths": jnp.asarray([3, 7])}),
    "mask": ((0, None, 0, None, None), {"mask": jnp.arange(35).reshape(1, 1, 5, 7) % 3 > 0}),
}


@pytest.mark.parametrize("name", VMAPPED)
def test_vmap_is_a_call_for_each_entry(name, rng):
    dims, options = VMAPPED[name]
    shapes = (*SHAPES, (1, 4, 5, 7), (4,))
    arrays = [
        rng.standard_normal(shape if dim is None else (3, *shape)) for shape, dim in zip(shapes, dims, strict=True)
    ]
    arrays = [jnp.asarray(x if not dim else np.moveaxis(x, 0, dim)) for x, dim in zip(arrays, dims, strict=True)]

    def call(q, k, v, bias, sink):
        return aj.sdpa(q, k, v, bias=bias, sink=sink, return_lse=True, **options)

    def gradients(*inputs):
        wanted = range(4 if dims[4] is None else 5)  # of sinks it is not one call
        return jax.grad(lambda *x: sum(jnp.sum(jnp.sin(y)) for y in call(*x)), wanted)(*inputs)

    for function in (call, gradients):
        each = [
            function(*(x if dim is None else jnp.take(x, n, axis=dim) for x, dim in zip(arrays, dims, strict=True)))
            for n in range(3)
        ]
        expected = [jnp.stack(x) for x in zip(*each, strict=True)]
        for mapped in (jax.vmap(function, dims), jax.jit(jax.vmap(function, dims))):
            for x, y in zip(mapped(*arrays), expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


def test_vmap_over_scales_is_a_call_for_each(rng):
    q, k, v = draw(rng)

    def loss(scale):
        return jnp.sum(jnp.sin(aj.sdpa(q, k, v, scale=scale)))

    scales = jnp.asarray([0.3, -0.5, 0.0])
    for function in (loss, jax.grad(loss)):
        mapped = jax.vmap(function)(scales)
        np.testing.assert_allclose(mapped, jnp.stack([function(x) for x in scales]), rtol=1e-11, atol=1e-12)


def test_a_region_that_reads_the_batch_is_called_for_each_entry(rng):
    q, k, v = draw(rng)
    table = np.arange(4.0)

    def call(q):
        return aj.sdpa(
            q, k, v, score_mod=lambda s, b, h, i, j: s + table[h] * b * j, mask_mod=lambda b, h, i, j: j <= i
        )

    queries = jnp.stack([q, 2 * q, -q])
    expected = jnp.stack([call(x) for x in queries])
    np.testing.assert_allclose(jax.vmap(call)(queries), expected, rtol=1e-12)
    j, i = np.arange(7), np.arange(5)[:, None]
    bias = table[:, None, None] * np.arange(2)[:, None, None, None] * j
    np.testing.assert_allclose(call(q), textbook(q, k, v, bias, j <= i)[0], rtol=1e-11)


@pytest.mark.parametrize(
    "shapes", [((0, 2, 3, 4),) * 3, ((2, 2, 3, 4), (2, 2, 0, 4), (2, 2, 0, 4)), ((1, 1, 0, 4),) * 3]
)
def test_nothing_in_a_dimension(shapes, rng):
    arrays = draw(rng, shapes)
    out, lse = jax.jit(lambda *x: aj.sdpa(*x, return_lse=True))(*arrays)
    assert out.shape == arrays[0].shape
    assert not np.asarray(out).any()
    assert (lse == -np.inf).all()


def test_it_is_one_custom_call_that_names_its_kernel(rng):
    arrays = draw(rng)
    lowered = jax.jit(lambda *x: aj.sdpa(*x)).lower(*arrays)
    assert lowered.as_text().count("stablehlo.custom_call") == 1
    assert f"custom_call @{_xla.TARGET}" in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(*arrays), aj.sdpa(*arrays))


def test_a_length_that_is_too_large_is_refused_when_it_runs(rng):
    q, k, v = draw(rng)
    with pytest.raises(Exception, match=r"expected .*kv_lengths|kv_lengths.* expected"):
        jax.block_until_ready(jax.jit(lambda n: aj.sdpa(q, k, v, kv_lengths=n))(jnp.asarray([3, 8])))


def test_a_kernel_of_another_process_is_an_error():
    """As a program that XLA kept on disk would name it."""
    call = jax.ffi.ffi_call(_xla.TARGET, [jax.ShapeDtypeStruct((1,), np.float32)])
    _xla.register()
    with pytest.raises(Exception, match="expected a kernel of attn that this process has compiled, found 'another'"):
        jax.block_until_ready(call(jnp.zeros(1, np.float32), kernel="another"))


def test_second_order_is_refused_with_the_reason(rng):
    q, k, v = draw(rng)
    first = jax.grad(lambda q: aj.sdpa(q, k, v).sum())
    with pytest.raises(NotImplementedError, match=r"expected a gradient of first order of attn\.jax\.sdpa"):
        jax.grad(lambda q: first(q).sum())(q)


MISTAKES = {
    "a keyword": ({"is_causal": True}, r"attn.jax.sdpa\(\) has no keyword 'is_causal'; write causal="),
    "a layout": ({"layout": "bsd"}, 'expected layout to be "bhsd" or "bshd", found \'bsd\''),
    "type of a bias": ({"bias": jnp.zeros((1, 1, 5, 7), np.float32)}, "expected bias to have the type of q"),
    "a window of lengths": ({"window": (2, 1), "kv_lengths": jnp.asarray([7, 4])}, "expected align for a window"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_says_what_to_write(name, rng):
    options, message = MISTAKES[name]
    with pytest.raises((TypeError, ValueError), match=message):
        jax.jit(lambda *x: aj.sdpa(*x, **options))(*draw(rng))


def test_other_platforms_are_refused_with_what_to_write(rng):
    """Programs are lowered for them here, though they run nowhere."""
    traced = jax.jit(jax.grad(lambda q, k, v: aj.sdpa(q, k, v).sum())).trace(*draw(rng))
    with pytest.raises(
        NotImplementedError, match=r"compiled for the platform cpu, found cuda: .*; move the arrays, as"
    ):
        traced.lower(lowering_platforms=("cuda",))
    assert "attn_call" in traced.lower(lowering_platforms=("cpu",)).as_text()


PACKED = {
    "plain": lambda: {},
    "causal": lambda: {"causal": "bottom_right", "sink": jnp.asarray([0.5, -1.0, 2.0, 0.0])},
    "offsets and a scale": lambda: {"causal": jnp.asarray([1, -2, 0]), "scale": jnp.asarray(0.3)},
    "a function": lambda: {"score_mod": lambda s, b, h, i, j: s - 0.1 * (i - j) * (b + 1)},
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_sequences(name, rng):
    q, k, v = draw(rng, ((11, 4, 3), (16, 2, 3), (16, 2, 6)))
    rows, keys, options = jnp.asarray([0, 5, 5, 11]), jnp.asarray([0, 7, 9, 16]), PACKED[name]()
    given = {n: np.asarray(x) if isinstance(x, jax.Array) else x for n, x in options.items()}
    numbers = [*map(np.asarray, (q, k, v, rows, keys))]

    def call(q, k, v, *others):
        named = dict(zip(names, others, strict=True))
        return aj.varlen_sdpa(q, k, v, rows, keys, return_lse=True, **{**options, **named})

    names = [n for n in ("sink", "scale") if n in options]
    arrays = (q, k, v, *(options[n] for n in names))
    expected = attn.reference.varlen_sdpa(*numbers, return_lse=True, **given)
    for function in (call, jax.jit(call)):
        (out, lse), pullback = jax.vjp(function, *arrays)
        np.testing.assert_allclose(out, expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(lse, expected[1], rtol=1e-12, atol=1e-12)
        dout, dlse = jnp.cos(out), jnp.where(jnp.isinf(lse), 0.0, jnp.sin(lse))
        backward = attn.reference.varlen_sdpa_backward(
            *numbers[:3], *expected, dout, *numbers[3:], dlse=dlse, grad=(*"qkv", *names), **given
        )
        for x, y in zip(pullback((dout, dlse)), backward.values(), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
def test_results_of_the_package_are_arrays_of_jax(rng, dtype):
    q, k, v = draw(rng, dtype=dtype)
    out, lse = attn.sdpa(q, k, v, return_lse=True)
    grads = attn.sdpa_backward(q, k, v, out, lse, out)
    merged = attn.merge(out, lse, out, lse)
    for x in (out, lse, *grads.values(), *merged):
        assert isinstance(x, jax.Array)
        assert x.devices() == q.devices()
    assert out.dtype == dtype
    expected = attn.sdpa(*map(np.asarray, (q, k, v)))
    assert isinstance(expected, np.ndarray)
    np.testing.assert_array_equal(np.asarray(out), expected)


def test_an_exported_program_is_refused_by_name(rng):
    q, k, v = draw(rng)
    function = jax.jit(lambda *x: aj.sdpa(*x))
    function(q, k, v)
    checks = [jax.export.DisabledSafetyCheck.custom_call(_xla.TARGET)]
    for disabled in ([], checks):
        with pytest.raises(NotImplementedError, match=r"expected attn.jax.sdpa in a program of this process"):
            jax.export.export(function, disabled_checks=disabled)(q, k, v)


@pytest.mark.parametrize("softcap_first", [False, True])
@pytest.mark.parametrize("form", ["head", "batch", None])
def test_alibi_and_a_softcap_in_front(form, softcap_first):
    """The numbers of the reference, traced or not, of lengths that end in front of all keys; slopes have a gradient."""
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((2, heads, n, 59), dtype="f4") for heads, n in ((4, 13), (2, 23), (2, 23)))
    slopes = None if form is None else rng.uniform(0.05, 0.5, 4 if form == "head" else (2, 4)).astype("f4")
    options = dict(softcap=3.0, softcap_first=softcap_first, score_mod=lambda s, b, h, i, j: s * 1.5 - 0.1 * h)
    lengths = dict(q_lengths=np.array([13, 5], "i4"), kv_lengths=np.array([20, 0], "i4"))
    call = lambda q, slopes: aj.sdpa(q, k, v, alibi_slopes=slopes, **options, **lengths)  # noqa: E731
    wanted = attn.reference.sdpa(q, k, v, alibi_slopes=slopes, **options, **lengths)
    for run in (call, jax.jit(call)):
        np.testing.assert_allclose(run(q, slopes), wanted, atol=1e-5)
    packed, sums = [x[0].swapaxes(0, 1) for x in (q, k, v)], [np.array(x, "i4") for x in ([0, 5, 13], [0, 0, 23])]
    found = aj.varlen_sdpa(*packed, *sums, alibi_slopes=slopes, **options)
    np.testing.assert_allclose(
        found, attn.reference.varlen_sdpa(*packed, *sums, alibi_slopes=slopes, **options), atol=1e-5
    )
    if form is None:
        return
    dout = rng.standard_normal(wanted.shape)
    grads = jax.grad(lambda q, slopes: (call(q, slopes) * dout).sum(), (0, 1))(q, slopes)
    names = dict(grad=("q", "alibi_slopes"), alibi_slopes=slopes)
    expected = attn.reference.sdpa_backward(q, k, v, None, None, dout, **names, **options, **lengths)
    for x, y in zip(grads, expected.values(), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4 * np.abs(y).max())


LINEAR = {name: lambda name=name: draw_family(name, Sizes(2, 1, 2, 19, 5, 3)).options for name in ("GDN", "Mamba-2")}
LINEAR |= {
    "channels": lambda: draw_family("RWKV-7, DPLR", Sizes(1, 1, 2, 37, 6, 5)).options | {"normalize": 0.1},
    "packed": lambda: packed(draw_family("KDA", Sizes(3, 1, 2, 40, 6, 5)).options, [17, 0, 40]),
    "slots": lambda: (
        draw_family("GDN", Sizes(3, 1, 2, 4, 5, 3)).options
        | {"state": np.random.default_rng(1).standard_normal((5, 2, 5, 3)), "slots": np.array([4, -1, 0])}
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_attention_and_its_gradients(name, rng):
    options = LINEAR[name]()
    is_float = lambda x: isinstance(x, np.ndarray) and x.dtype.kind == "f"  # noqa: E731
    arrays = {x: jnp.asarray(y) for x, y in options.items() if is_float(y)}
    rest = {x: y for x, y in options.items() if not is_float(y)}
    call = jax.jit(lambda x: aj.linear_attention(**x, **rest, return_state=True))
    results, back = jax.vjp(call, arrays)
    expected = attn.reference.linear_attention(**options, return_state=True)
    cotangents = [rng.standard_normal(x.shape) for x in results]
    (grads,) = back(tuple(map(jnp.asarray, cotangents)))
    wanted = attn.reference.linear_attention_backward(
        **options, dout=cotangents[0], dstate=cotangents[1], grad=list(arrays)
    )
    for x, y in zip((*results, *[grads[x] for x in arrays]), (*expected, *wanted.values()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def test_linear_attention_of_a_batch_of_calls_and_of_donated_states(rng):
    given = {x: jnp.asarray(y) for x, y in LINEAR["GDN"]().items()}
    many = jnp.stack([given["v"], 2 * given["v"]])
    call = lambda v, state: aj.linear_attention(**given | {"v": v, "state": state})  # noqa: E731
    expected = [call(v, given["state"]) for v in many]
    found = jax.vmap(call, (0, None))(many, given["state"])
    for x, y in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(x, jnp.stack(y), rtol=1e-12)
    total = lambda v: call(v, given["state"])[0].sum()  # noqa: E731
    np.testing.assert_allclose(jax.vmap(jax.grad(total))(many)[1], jax.grad(total)(many[1]), rtol=1e-12)
    old = given["state"] + 0
    place = old.unsafe_buffer_pointer()
    _, new = jax.jit(call, donate_argnums=1)(given["v"], old)
    np.testing.assert_array_equal(new, expected[0][1])
    assert new.unsafe_buffer_pointer() == place


def test_mistakes_of_linear_attention():
    given = {x: jnp.asarray(y) for x, y in LINEAR["GDN"]().items()}
    with pytest.raises(ValueError, match=r"write decay.swapaxes\(1, 2\)"):
        aj.linear_attention(**given | {"decay": given["decay"].swapaxes(1, 2)})
    with pytest.raises(TypeError, match="expected state in float64, found float32"):
        aj.linear_attention(**given | {"state": given["state"].astype(np.float32)})
    with pytest.raises(jax.errors.JaxRuntimeError, match="slots"):
        jax.block_until_ready(aj.linear_attention(**given, slots=jnp.asarray([0, 2])))
    with pytest.raises(NotImplementedError, match=r"first order of attn\.jax\.linear_attention"):
        jax.grad(lambda x: jax.grad(lambda y: aj.linear_attention(**given | {"q": y})[0].sum())(x).sum())(given["q"])
