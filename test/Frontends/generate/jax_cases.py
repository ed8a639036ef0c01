"""Attention as JAX users write it: the cases of test/Frontends/jax.

Each case is a function and its arguments. A name that ends in `_neg` holds something that only resembles attention.
`to_linalg.py` lowers the functions and compares nothing; see test/Frontends/README.md. Here is the formula in other
spellings; jax_models.py has what models and libraries make of it, jax_negatives.py what is no attention.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
B, H, S, T, D = 2, 4, 33, 49, 24
SCALE = D**-0.5
CASES: dict = {}
softmax = jax.nn.softmax
attention = jax.nn.dot_product_attention
einsum = jnp.einsum
ROW, COLUMN = jnp.arange(S)[:, None], jnp.arange(T)[None, :]
LOWEST = jnp.finfo(jnp.float32).min


def normal(*shape, dtype=jnp.float32):
    return jnp.asarray(rng.standard_normal(shape), dtype)


def some(*shape, share=0.7):
    """Booleans, of which about `share` are true."""
    return jnp.asarray(rng.random(shape) < share)


Q, K, V = normal(B, H, S, D), normal(B, H, T, D), normal(B, H, T, D)
QT, KT, VT = normal(B, S, H, D), normal(B, T, H, D), normal(B, T, H, D)  # (batch, sequence, head, size)
KG, VG = normal(B, 2, T, D), normal(B, 2, T, D)  # two heads of keys
BF16 = [x.astype(jnp.bfloat16) for x in (Q, K, V)]
F16 = [x.astype(jnp.float16) for x in (Q, K, V)]
X = normal(B, S, H * D)


def case(*arguments):
    """Registers the decorated function under its own name."""

    def register(function):
        CASES[function.__name__] = (function, arguments)
        return function

    return register


def product(q, k):
    return einsum("bhqd,bhkd->bhqk", q, k)


def apply(p, v):
    return einsum("bhqk,bhkd->bhqd", p, v)


def plain(q, k, v, scores=lambda s: s, scale=SCALE):
    return apply(softmax(scores(product(q, k) * scale), axis=-1), v)


def on_scores(name, scores, *others, args=(Q, K, V)):
    """A case of the plain formula with `scores(s, *others)` in front of the softmax."""
    CASES[name] = (lambda q, k, v, *more: plain(q, k, v, lambda s: scores(s, *more)), (*args, *others))


# Masks.
on_scores("causal_top_left", lambda s: jnp.where(ROW >= COLUMN, s, -jnp.inf))
on_scores("causal_bottom_right", lambda s: jnp.where(ROW + (T - S) >= COLUMN, s, -1e9))
on_scores("causal_lowest", lambda s: jnp.where(ROW + (T - S) >= COLUMN, s, LOWEST))
on_scores("causal_constant", lambda s: s + np.where(np.tril(np.ones((S, T), bool)), 0, -np.inf).astype(np.float32))
on_scores("window", lambda s: jnp.where((ROW >= COLUMN) & (ROW - COLUMN < 7), s, LOWEST))
on_scores("window_both_sides", lambda s: jnp.where(jnp.abs(ROW - COLUMN) <= 5, s, LOWEST))
on_scores(
    "window_bottom_right", lambda s: jnp.where((ROW + (T - S) >= COLUMN) & (ROW + (T - S) - COLUMN < 9), s, -1e10)
)
on_scores("chunks", lambda s: jnp.where((ROW >= COLUMN) & (ROW // 8 == COLUMN // 8), s, -jnp.inf))
on_scores("prefix", lambda s: jnp.where((ROW >= COLUMN) | (COLUMN < 5), s, -jnp.inf))
on_scores("padding", lambda s, m: jnp.where(m[:, None, None, :], s, -1e9), some(B, T))
on_scores("padding_added", lambda s, m: s + (1.0 - m[:, None, None, :]) * -1e9, some(B, T).astype(jnp.float32))
on_scores("padding_infinite", lambda s, m: jnp.where(m[:, None, None, :], s, -jnp.inf), some(B, T))
on_scores(
    "padding_and_causal",
    lambda s, m: jnp.where(m[:, None, None, :] & (ROW >= COLUMN), s, -jnp.inf),
    some(B, T, share=0.9).at[:, 0].set(True),
)
on_scores(
    "segments",
    lambda s, a, b: jnp.where(a[:, None, :, None] == b[:, None, None, :], s, -jnp.inf),
    jnp.asarray(rng.integers(0, 3, (B, S)), jnp.int32),
    jnp.asarray(rng.integers(0, 3, (B, T)), jnp.int32),
)
on_scores(
    "lengths",
    lambda s, n: jnp.where(jnp.arange(T) < n[:, None, None, None], s, -jnp.inf),
    jnp.asarray([40, 13], jnp.int32),
)
on_scores("rows_without_keys", lambda s, m: jnp.where(m, s, -1e4), some(B, 1, S, T).at[0, 0, 3].set(False))
on_scores("first_row_without_keys", lambda s: jnp.where(ROW > COLUMN, s, LOWEST))
on_scores(
    "first_row_without_keys_constant",
    lambda s: jnp.where(np.tril(np.ones((S, T), bool), -1), s, LOWEST),
)
on_scores("select_of_four", lambda s: jnp.where(ROW >= COLUMN, s, -4.0))


@case(Q, K, V, some(B, 1, S, T))
def softmax_where(q, k, v, m):
    return apply(softmax(product(q, k) * 0.2, where=m, axis=-1), v)


@case(Q, K, V, some(B, 1, S, T))
def not_a_number_guard(q, k, v, m):
    p = softmax(jnp.where(m, product(q, k) * 0.2, -jnp.inf), axis=-1)
    return apply(jnp.where(jnp.isnan(p), 0.0, p), v)


@case(Q, K, V, some(B, 1, S, T))
def weights_times_mask(q, k, v, m):
    return apply(softmax(jnp.where(m, product(q, k) * 0.2, -1e30), axis=-1) * m, v)


# Biases, scales and softcaps.
on_scores("bias", lambda s, b: s + b, normal(1, H, S, T))
on_scores("bias_of_keys", lambda s, b: s + b[:, None, None, :], normal(B, T))
on_scores("alibi", lambda s: s - (2.0 ** (-2.0 * jnp.arange(1, H + 1)))[None, :, None, None] * jnp.abs(ROW - COLUMN))
on_scores("bias_table", lambda s, t: s + t[:, jnp.clip(COLUMN - ROW + 16, 0, 31)], normal(H, 32))
on_scores("scale_of_heads", lambda s, c: s * c[None, :, None, None], normal(H))
on_scores("temperature", lambda s, c: s / c, jnp.float32(0.7))
on_scores("softcap_causal", lambda s: jnp.where(ROW >= COLUMN, 30 * jnp.tanh(s / 30), -jnp.inf))


@case(Q, K, V)
def scale_on_queries(q, k, v):
    return plain(q * SCALE, k, v, scale=1.0)


@case(Q, K, V)
def scale_on_keys(q, k, v):
    return plain(q, k / math.sqrt(D), v, scale=1.0)


@case(Q, K, V, jnp.float32(0.3))
def scale_operand(q, k, v, c):
    return plain(q, k, v, scale=c)


@case(Q, K, V)
def normalized_queries(q, k, v):
    def norm(x):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    return plain(norm(q), norm(k), v)


# Softmax in other spellings.
@case(Q, K, V)
def powers_of_two(q, k, v):
    s = product(q, k) * (SCALE * math.log2(math.e))
    e = jnp.exp2(s - s.max(-1, keepdims=True))
    return apply(e / e.sum(-1, keepdims=True), v)


@case(Q, K, V)
def log_sum_exp(q, k, v):
    s = product(q, k) * 0.2
    return apply(jnp.exp(s - jax.nn.logsumexp(s, -1, keepdims=True)), v)


@case(Q, K, V)
def log_softmax(q, k, v):
    return apply(jnp.exp(jax.nn.log_softmax(product(q, k) * 0.2)), v)


def exponentials(q, k):
    s = product(q, k) * 0.2
    return jnp.exp(s - s.max(-1, keepdims=True))


@case(Q, K, V)
def reciprocal(q, k, v):
    e = exponentials(q, k)
    return apply(e * (1 / e.sum(-1, keepdims=True)), v)


@case(Q, K, V)
def division_after_values(q, k, v):
    e = exponentials(q, k)
    return apply(e, v) / e.sum(-1)[..., None]


@case(Q, K, V)
def no_maximum(q, k, v):
    e = jnp.exp(product(q, k) * 0.17)
    return apply(e, v) / e.sum(-1)[..., None]


# Heads and layouts.
@case(Q, KG, VG)
def repeated_keys(q, k, v):
    return plain(q, jnp.repeat(k, 2, 1), jnp.repeat(v, 2, 1))


@case(Q, KG, VG)
def tiled_keys(q, k, v):
    return plain(q, jnp.tile(k, (1, 2, 1, 1)), jnp.tile(v, (1, 2, 1, 1)))


@case(Q, K[:, 0], V[:, 0])
def one_head_of_keys(q, k, v):
    return einsum("bhqk,bkd->bhqd", softmax(einsum("bhqd,bkd->bhqk", q, k) * 0.2), v)


@case(Q, K[:, :1], V[:, :1])
def broadcast_keys(q, k, v):
    return plain(q, jnp.broadcast_to(k, (B, H, T, D)), jnp.broadcast_to(v, (B, H, T, D)))


@case(Q, KG, VG)
def groups(q, k, v):
    s = einsum("bgrqd,bgkd->bgrqk", q.reshape(B, 2, 2, S, D), k) * 0.2
    return einsum("bgrqk,bgkd->bgrqd", softmax(s), v).reshape(B, 4, S, D)


@case(Q, KG, VG)
def groups_causal(q, k, v):
    s = einsum("bgrqd,bgkd->bgrqk", q.reshape(B, 2, 2, S, D), k) * 0.2
    return einsum("bgrqk,bgkd->bgrqd", softmax(jnp.where(ROW >= COLUMN, s, -jnp.inf)), v).reshape(B, 4, S, D)


@case(QT, KT, VT)
def sequence_first(q, k, v):
    return einsum("bhqk,bkhd->bqhd", softmax(einsum("bqhd,bkhd->bhqk", q, k) * 0.2), v)


@case(normal(B, S, H * D), normal(B, T, H * D), normal(B, T, H * D))
def heads_in_columns(q, k, v):
    q, k, v = (x.reshape(B, -1, H, D) for x in (q, k, v))
    return sequence_first(q, k, v).reshape(B, S, H * D)


@case(normal(B, S, 3, H, D))
def packed(x):
    return sequence_first(x[:, :, 0], x[:, :, 1], x[:, :, 2])


@case(normal(B, S, 3 * H * D))
def split(x):
    return sequence_first(*(part.reshape(B, S, H, D) for part in jnp.split(x, 3, -1)))


@case(QT, KT, VT)
def keys_first(q, k, v):
    return einsum("bkhq,bkhd->bqhd", softmax(einsum("bkhd,bqhd->bkhq", k, q) * 0.2, axis=1), v)


@case(Q[0, 0], K[0, 0], V[0, 0])
def transposed(q, k, v):
    return (v.T @ softmax(k @ q.T * 0.2, axis=0)).T


@case(Q[0], K[0, 0], V[0, 0])
def mapped(q, k, v):
    return jax.vmap(lambda q, k, v: softmax(q @ k.T / math.sqrt(D)) @ v, in_axes=(0, None, None))(q, k, v)


@case(Q, K, normal(B, H, T, 17))
def values_of_other_size(q, k, v):
    return plain(q, k, v)


@case(Q[:1, :1], K[:1, :1], V[:1, :1])
def one_head(q, k, v):
    return plain(q, k, v)


# Decoding.
@case(Q[:, :, 0], K, V)
def one_query_without_dimension(q, k, v):
    return einsum("bhk,bhkd->bhd", softmax(einsum("bhd,bhkd->bhk", q, k) * 0.2), v)


@case(Q[:, :, :1], K, V, jnp.int32(17))
def one_length(q, k, v, n):
    return plain(q, k, v, lambda s: jnp.where(jnp.arange(T)[None, :] < jnp.maximum(n, 1), s, -jnp.inf))


@case(normal(B, 4, D), normal(B, T, 2, D), normal(B, T, 2, D), jnp.asarray([17, 49], jnp.int32))
def groups_with_lengths(q, k, v, n):
    s = einsum("bgrd,bkgd->bgrk", q.reshape(B, 2, 2, D), k) * 0.2
    s = jnp.where(jnp.arange(T)[None, None, None, :] < n[:, None, None, None], s, -1e30)
    return einsum("bgrk,bkgd->bgrd", softmax(s), v).reshape(B, 4, D)


@case(Q[:, :, :1], K, V, normal(B, H, 1, D), normal(B, H, 1, D), jnp.int32(20))
def updated_cache(q, kc, vc, k, v, position):
    kc, vc = (jax.lax.dynamic_update_slice(c, x, (0, 0, position, 0)) for c, x in ((kc, k), (vc, v)))
    return plain(q, kc, vc, lambda s: jnp.where(jnp.arange(T) <= position, s, -jnp.inf))


@case(Q[:, :, :1], K, V, normal(B, H, 1, D), normal(B, H, 1, D))
def longer_cache(q, kc, vc, k, v):
    return plain(q, jnp.concatenate([kc, k], 2), jnp.concatenate([vc, v], 2))


# Sixteen bits.
@case(*BF16)
def bfloat16(q, k, v):
    return plain(q, k, v)


@case(*BF16)
def bfloat16_softmax_in_f32(q, k, v):
    s = (product(q, k) * jnp.bfloat16(0.2)).astype(jnp.float32)
    return apply(softmax(s).astype(jnp.bfloat16), v)


@case(*F16)
def float16_softmax_in_f32(q, k, v):
    s = (product(q, k) * jnp.float16(0.2)).astype(jnp.float32)
    return apply(softmax(s).astype(jnp.float16), v)


@case(*BF16)
def bfloat16_preferred(q, k, v):
    s = einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * 0.2
    p = softmax(s).astype(jnp.bfloat16)
    return einsum("bhqk,bhkd->bhqd", p, v, preferred_element_type=jnp.float32).astype(jnp.bfloat16)


@case(*BF16)
def bfloat16_to_f32(q, k, v):
    s = einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * 0.2
    return apply(softmax(s), v.astype(jnp.float32))


# A sink: one more score of the row, which has no weight.
@case(Q, K, V)
def sink_of_zero(q, k, v):
    s = product(q, k) * 0.2
    m = jnp.maximum(s.max(-1, keepdims=True), 0)
    return apply(jnp.exp(s - m) / (jnp.exp(-m) + jnp.exp(s - m).sum(-1, keepdims=True)), v)


def with_sink(s, c):
    return jnp.concatenate([s, jnp.broadcast_to(c[None, :, None, None], (B, H, S, 1))], -1)


@case(Q, K, V, normal(H))
def sink_last(q, k, v, c):
    return apply(softmax(with_sink(product(q, k) * SCALE, c))[..., :-1], v)


@case(Q, K, V, normal(H))
def sink_first(q, k, v, c):
    s = jnp.concatenate([jnp.broadcast_to(c[None, :, None, None], (B, H, S, 1)), product(q, k) * SCALE], -1)
    return apply(softmax(s)[..., 1:], v)


@case(Q, K, V, normal(H))
def sink_causal(q, k, v, c):
    s = with_sink(jnp.where(ROW + (T - S) >= COLUMN, product(q, k) * SCALE, -jnp.inf), c)
    return apply(softmax(s - s.max(-1, keepdims=True))[..., :-1], v)


@case(Q, KG, VG, normal(H))
def sink_in_the_sum(q, k, v, c):
    s, c = product(q, jnp.repeat(k, 2, 1)) * SCALE, c[None, :, None, None]
    m = jnp.maximum(s.max(-1, keepdims=True), c)
    e = jnp.exp(s - m)
    return apply(e / (e.sum(-1, keepdims=True) + jnp.exp(c - m)), jnp.repeat(v, 2, 1))


# Masks on the exponentials, and guards of rows that they leave empty.
@case(Q, K, V, some(B, 1, S, T))
def exponentials_times_mask(q, k, v, m):
    e = exponentials(q, k) * m
    return apply(e / e.sum(-1, keepdims=True), v)


@case(Q, K, V, some(B, 1, S, T))
def exponentials_selected(q, k, v, m):
    e = jnp.where(m, exponentials(q, k), 0)
    return apply(e, v) / e.sum(-1, keepdims=True)


@case(Q, K, V, some(B, 1, S, T).at[0, 0, 3].set(False))
def any_key_guard(q, k, v, m):
    p = softmax(jnp.where(m, product(q, k) * SCALE, LOWEST))
    return apply(jnp.where(m.any(-1, keepdims=True), p, 0.0), v)


@case(Q, K, V, some(B, 1, S, T))
def nan_to_num(q, k, v, m):
    return apply(jnp.nan_to_num(softmax(jnp.where(m, product(q, k) * SCALE, -jnp.inf))), v)


@case(Q, K, V, normal(1, H, S, T))
def powers_of_two_bias(q, k, v, b):
    s = (product(q, k) * SCALE + b) * math.log2(math.e)
    e = jnp.exp2(s - s.max(-1, keepdims=True))
    return apply(e, v) / e.sum(-1, keepdims=True)
