"""What only resembles attention, and attention whose weights are results: more cases of test/Frontends/jax."""

import jax
import jax.numpy as jnp
from jax_cases import B, H, K, Q, S, T, V, apply, case, einsum, exponentials, normal, product, softmax, some


# Weights that are results stay a chain.
@case(Q, K, V)
def weights(q, k, v):
    p = softmax(product(q, k) * 0.2)
    return apply(p, v), p


# No attention, however alike.
@case(Q, K, V, normal(H, H))
def mixed_heads(q, k, v, w):
    return apply(softmax(einsum("bgqk,gh->bhqk", product(q, k) * 0.2, w)), v)


@case(Q, K, V)
def sigmoid_neg(q, k, v):
    return apply(jax.nn.sigmoid(product(q, k) * 0.2), v)


@case(Q, K, V)
def silu_neg(q, k, v):
    return apply(jax.nn.silu(product(q, k) * 0.2), v)


@case(Q, K, V)
def linear_neg(q, k, v):
    s = product(jnp.exp(q), jnp.exp(k))
    return apply(s, v) / s.sum(-1, keepdims=True)


@case(Q, K, V)
def over_queries_neg(q, k, v):
    return apply(softmax(product(q, k) * 0.2, axis=2), v)


@case(Q, K, V)
def over_heads_neg(q, k, v):
    return apply(softmax(product(q, k) * 0.2, axis=1), v)


@case(Q, Q, Q)
def transposed_weights_neg(q, k, v):
    return einsum("bhkq,bhkd->bhqd", softmax(product(q, k) * 0.2), v)


@case(Q, K, V)
def epsilon_neg(q, k, v):
    e = exponentials(q, k)
    return apply(e / (e.sum(-1, keepdims=True) + 1e-3), v)


@case(Q, K, V)
def part_of_the_sum_neg(q, k, v):
    e = exponentials(q, k)
    return apply(e / e[..., :20].sum(-1, keepdims=True), v)


@case(Q, K, V)
def two_maxima_neg(q, k, v):
    s = product(q, k) * 0.2
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return apply(e / jnp.exp(s - s[..., :7].max(-1, keepdims=True)).sum(-1, keepdims=True), v)


@case(Q, K, V)
def two_temperatures_neg(q, k, v):
    s = product(q, k) * 0.2
    return apply(jnp.exp(s) / jnp.exp(1.5 * s).sum(-1, keepdims=True), v)


@case(Q, K, V, some(B, 1, S, T))
def mask_behind_softmax_neg(q, k, v, m):
    return apply(jnp.where(m, softmax(product(q, k) * 0.2), 0), v)


@case(Q, K, V)
def one_more_unshifted_neg(q, k, v):
    s = product(q, k) * 0.2
    m = jnp.maximum(s.max(-1, keepdims=True), 0)
    return apply(jnp.exp(s - m) / (1 + jnp.exp(s - m).sum(-1, keepdims=True)), v)
