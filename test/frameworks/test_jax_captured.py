"""attn.jax: arrays that JAX traces, captured by score_mod and mask_mod, are operands with gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import attn
import attn.jax as aj

jax.config.update("jax_enable_x64", True)

B, H, S, D = 2, 4, 7, 3
ROWS, KEYS = np.arange(S)[:, None], np.arange(S)[None, :]


@pytest.fixture
def qkv():
    rng = np.random.default_rng(20251126)
    return [jnp.asarray(rng.standard_normal((B, H, S, D))) for _ in "qkv"]


def slopes_of_alibi(x):
    return (lambda s, b, h, i, j: s - x[h] * (i - j)), (lambda s: s - x[:, None, None] * (ROWS - KEYS))


def table_of_t5(x):
    table = x.reshape(2, 2)
    return (
        lambda s, b, h, i, j: s + table[attn.clip(i - j, 0, 1), h % 2],
        lambda s: s + table[np.clip(ROWS - KEYS, 0, 1)][..., np.arange(H) % 2].transpose(2, 0, 1),
    )


def temperature(x):
    scale = x[1]
    return (lambda s, b, h, i, j: 2 * scale * s), (lambda s: 2 * scale * s)


def one_of_them(x):
    return (lambda s, b, h, i, j: s * x[2]), (lambda s: s * x[2])


def by_jax(x):
    scale = x[1]
    return (lambda s, b, h, i, j: s * jnp.exp(scale)), (lambda s: s * jnp.exp(scale))


def computed_inside(x):
    twice, last = 2 * x, jnp.exp(x)
    return (lambda s, b, h, i, j: (-twice)[h] * s + x[0] * i + last.sum() * (i < j) + (x + x)[h] * j), (
        lambda s: -2 * x[:, None, None] * (s - KEYS) + x[0] * ROWS + jnp.exp(x).sum() * (ROWS < KEYS)
    )


def given_to_capture(x):
    held = {"slopes": x}
    return (lambda s, b, h, i, j: s + attn.capture(held["slopes"])[h] * j), (lambda s: s + x[:, None, None] * KEYS)


FORMS = [slopes_of_alibi, table_of_t5, temperature, one_of_them, by_jax, computed_inside, given_to_capture]
X = jnp.asarray([0.7, -0.4, 1.2, 0.3])


def textbook(q, k, v, of_scores):
    s = of_scores(jnp.einsum("bhid,bhjd->bhij", q, k) * D**-0.5)
    return jnp.einsum("bhij,bhje->bhie", jax.nn.softmax(s), v)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("make", FORMS)
def test_gradients_are_those_of_the_textbook(make, is_compiled, qkv):
    jit = jax.jit if is_compiled else lambda f: f
    found = jit(jax.value_and_grad(lambda x, q, k, v: jnp.sin(aj.sdpa(q, k, v, score_mod=make(x)[0])).sum(), (0, 1, 3)))
    expected = jax.value_and_grad(lambda x, q, k, v: jnp.sin(textbook(q, k, v, make(x)[1])).sum(), (0, 1, 3))
    for x in (X, -2 * X):  # no value of the first call stays
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11), found(x, *qkv), expected(x, *qkv)
        )


def test_they_are_those_of_central_differences(qkv):
    check_grads(lambda x: aj.sdpa(*qkv, score_mod=slopes_of_alibi(x)[0]), (X,), order=1, modes=["rev"])


def test_a_gradient_has_the_type_of_what_is_captured(qkv):
    q, k, v = (x.astype(np.float32) for x in qkv)
    x = X.astype(jnp.bfloat16)
    found = jax.grad(lambda x: aj.sdpa(q, k, v, score_mod=slopes_of_alibi(x)[0]).sum())(x)
    assert found.dtype == jnp.bfloat16


def test_masks_of_traced_integers(qkv):
    @jax.jit
    def call(documents, kept):
        def mask_mod(b, h, i, j):
            return (documents[b, i] == documents[b, j]) & kept[j]

        return aj.sdpa(*qkv, mask_mod=mask_mod)

    for n in (2, 3):
        documents, kept = jnp.tile(jnp.arange(S) // n, (B, 1)), jnp.arange(S) != n + 2
        same = (documents[:, None, :, None] == documents[:, None, None, :]) & kept
        found = call(documents, kept)
        rows = np.asarray(same.any(-1, keepdims=True))
        expected = np.where(rows, textbook(*qkv, lambda s, same=same: jnp.where(same, s, -jnp.inf)), 0)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("where", ["the array", "the queries", "both"])
def test_vmap(where, qkv):
    """Each entry is a call with its own array; a gradient is that of the entry."""
    q, k, v = qkv
    xs = jnp.stack([X, 3 * X, -X]) if where != "the queries" else X
    qs = jnp.stack([q, -q, 2 * q]) if where != "the array" else q
    axes = (0 if where != "the queries" else None, 0 if where != "the array" else None)

    def loss(call):
        return jax.vmap(jax.grad(lambda x, q: jnp.sin(call(x, q)).sum(), (0, 1)), axes)(xs, qs)

    found = loss(lambda x, q: aj.sdpa(q, k, v, score_mod=slopes_of_alibi(x)[0]))
    expected = loss(lambda x, q: textbook(q, k, v, slopes_of_alibi(x)[1]))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11), found, expected)


def test_packed_sequences(qkv):
    q, k, v = (x.reshape(B * H * S, 1, D)[: 3 * S] for x in qkv)
    sums = jnp.asarray([0, 5, 3 * S])

    def loss(x):
        return jnp.sin(aj.varlen_sdpa(q, k, v, sums, sums, score_mod=lambda s, b, h, i, j: s * x[b] + x[h + 2])).sum()

    check_grads(loss, (X,), order=1, modes=["rev"])


def test_traced_positions_are_bounded_in_the_function(qkv):
    @jax.jit
    def call(x, bucket):
        return aj.sdpa(*qkv, score_mod=lambda s, b, h, i, j: s + x[bucket[j]])

    with pytest.raises(ValueError, match=r"expected positions from 0 to 3 .*; write attn\.clip"):
        call(X, jnp.arange(S) % 4)


def test_functions_of_jax_inside_are_refused_and_not_computed_with_zeros(qkv):
    with pytest.raises(TypeError, match=r"expected score_mod to compute with traced values, found jnp\.exp\(x\)"):
        jax.grad(lambda x: aj.sdpa(*qkv, score_mod=lambda s, b, h, i, j: s + jnp.exp(x)[h]).sum())(X)
