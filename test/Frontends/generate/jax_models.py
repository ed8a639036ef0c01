"""Attention as models, jax.nn and flax write it: more cases of test/Frontends/jax."""

import math

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax_cases import (
    COLUMN,
    KT,
    QT,
    ROW,
    SCALE,
    VT,
    B,
    D,
    H,
    K,
    Q,
    S,
    T,
    V,
    X,
    apply,
    attention,
    case,
    einsum,
    normal,
    on_scores,
    plain,
    product,
    softmax,
    some,
)

# As models write it.
on_scores(
    "t5_buckets",
    lambda s, t: s + t[jnp.clip((COLUMN - ROW) // 4 + 8, 0, 15)].transpose(2, 0, 1)[None],
    normal(16, H),
)
on_scores(
    "gpt2_tensorflow",
    lambda s: s * jnp.tril(jnp.ones((S, T)), T - S) - 1e10 * (1 - jnp.tril(jnp.ones((S, T)), T - S)),
)


@case(Q, K, V, normal(B, H, S, 8), normal(B, T, 8))
def deepseek_two_products(q, k, v, qp, kp):
    return plain(q, k, v, lambda s: (s + einsum("bhqd,bkd->bhqk", qp, kp)) * 0.15, scale=1.0)


@case(normal(B, S, 4, D), normal(B, T, 2, D), normal(B, T, 2, D), some(B, S, T).at[:, :, 0].set(True))
def gemma(q, k, v, m):
    s = einsum("BTKGH,BSKH->BTKGS", (q * 0.2).reshape(B, S, 2, 2, D), k)
    s = jnp.where(m[:, :, None, None, :], jnp.tanh(s / 50) * 50, -2.3819763e38)
    return einsum("BTKGS,BSKH->BTKGH", softmax(s, axis=-1), v).reshape(B, S, 4 * D)


@case(Q, K, V, normal(H, S + T - 1, D))
def transformer_xl(q, k, v, r):
    s = einsum("bhqd,hrd->bhqr", q, r)
    s = jnp.take_along_axis(s, jnp.broadcast_to((COLUMN - ROW + S - 1)[None, None], (B, H, S, T)), -1)
    return apply(softmax((product(q, k) + s) * SCALE), v)


@case(Q, K, V)
def differential(q, k, v):
    a, b = (softmax(product(q[..., part], k[..., part]) * SCALE) for part in (slice(0, 12), slice(12, 24)))
    return apply(a, v) - 0.3 * apply(b, v)


@case(normal(H, 11, D), K, V)
def queries_without_batch(q, k, v):
    return apply(softmax(einsum("hqd,bhkd->bhqk", q, k) * SCALE), v)


@case(normal(B, 10, 12, H, D), normal(B, 10, 12, H, D), normal(B, 10, 12, H, D))
def columns_of_images(q, k, v):
    return einsum("bhxqk,bkxhd->bqxhd", softmax(einsum("bqxhd,bkxhd->bhxqk", q, k) * SCALE), v)


@case(normal(S, B, H * D), normal(T, B, H * D), normal(T, B, H * D))
def fairseq(q, k, v):
    q, k, v = (x.reshape(-1, B * H, D).transpose(1, 0, 2) for x in (q * SCALE, k, v))
    return (softmax(q @ k.swapaxes(1, 2)) @ v).transpose(1, 0, 2).reshape(S, B, H * D)


# jax.nn and flax.
@case(QT, KT, VT, normal(B, H, S, T), some(B, 1, S, T))
def library_bias_mask(q, k, v, b, m):
    return attention(q, k, v, b, m)


@case(QT, KT, VT, jnp.asarray([33, 20], jnp.int32), jnp.asarray([40, 13], jnp.int32))
def library_lengths(q, k, v, a, b):
    return attention(q, k, v, query_seq_lengths=a, key_value_seq_lengths=b)


@case(QT, KT, VT, jnp.asarray([40, 13], jnp.int32))
def library_key_lengths(q, k, v, b):
    return attention(q, k, v, key_value_seq_lengths=b)


@case(QT, QT, QT)
def library_window(q, k, v):
    return attention(q, k, v, local_window_size=(5, 3))


@case(QT, QT, QT)
def library_window_causal(q, k, v):
    return attention(q, k, v, is_causal=True, local_window_size=(5, 0))


@case(QT, QT[:, :, :2], QT[:, :, :2])
def library_groups_causal(q, k, v):
    return attention(q, k, v, is_causal=True)


@case(QT, KT[:, :, :1], VT[:, :, :1])
def library_one_head_of_keys(q, k, v):
    return attention(q, k, v)


@case(QT[0], KT[0], VT[0])
def library_without_batch(q, k, v):
    return attention(q, k, v)


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x, mask=None):
        return nn.MultiHeadDotProductAttention(num_heads=H)(x, x, mask=mask)


PARAMETERS = Layer().init(jax.random.key(0), X)


@case(PARAMETERS, X)
def flax_layer(p, x):
    return Layer().apply(p, x)


@case(PARAMETERS, X)
def flax_layer_causal(p, x):
    return Layer().apply(p, x, nn.make_causal_mask(x[..., 0]))


@case(PARAMETERS, X, some(B, S, share=0.8))
def flax_layer_padding(p, x, a):
    return Layer().apply(p, x, nn.make_attention_mask(a, a))


@case(QT, KT, VT, normal(B, H, S, T))
def flax_bias(q, k, v, b):
    return nn.dot_product_attention(q, k, v, bias=b)


def normalize(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def rotate(x):
    angle = jnp.arange(x.shape[-2])[:, None] / (10000 ** (jnp.arange(0, D, 2) / D))
    a, b = x[..., ::2], x[..., 1::2]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


E = H * D


@case(
    X,
    *(normal(*shape) for shape in ((E, E), (E, 2 * D), (E, 2 * D), (E, E), (E, 4 * E), (4 * E, E), (E, 4 * E))),
)
def llama_block(x, wq, wk, wv, wo, w1, w2, w3):
    def heads(y):
        return y.reshape(B, S, -1, D).transpose(0, 2, 1, 3)

    # Of normal numbers, as `attnc run` draws them.
    wq, wk, wv, wo, w1, w2, w3 = (w * 0.1 for w in (wq, wk, wv, wo, w1, w2, w3))
    h = normalize(x)
    q, k, v = rotate(heads(h @ wq)), rotate(heads(h @ wk)), heads(h @ wv)
    k, v = jnp.repeat(k, 2, 1), jnp.repeat(v, 2, 1)
    i = jnp.arange(S)
    s = jnp.where(i[:, None] >= i[None], q @ k.swapaxes(-1, -2) / math.sqrt(D), -jnp.inf)
    x = x + (softmax(s) @ v).transpose(0, 2, 1, 3).reshape(B, S, E) @ wo
    h = normalize(x)
    return x + (jax.nn.silu(h @ w1) * (h @ w3)) @ w2
