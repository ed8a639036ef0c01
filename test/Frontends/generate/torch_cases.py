"""Attention as PyTorch users write it: the cases of test/Frontends/torch.

Each case is a module, its arguments and its dynamic dimensions. A name that ends in `_neg` holds something that only
resembles attention. `to_linalg.py` exports the modules as ONNX, opset 18, and lowers them (test/Frontends/README.md).
"""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import transformers as hf

torch.manual_seed(0)
B, H, S, T, D = 2, 4, 33, 49, 24
CASES: dict = {}
sdpa = F.scaled_dot_product_attention
normal = torch.randn
Q, K, V = normal(B, H, S, D), normal(B, H, T, D), normal(B, H, T, D)
KG, VG = normal(B, 2, T, D), normal(B, 2, T, D)
HALF = [x.half() for x in (Q, K, V)]
X = normal(B, S, H * D)
BATCH, ROWS, KEYS = (torch.export.Dim(n, min=2, max=4096) for n in ("b", "s", "t"))
LOWER = torch.ones(S, S, dtype=torch.bool).tril()


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def case(*arguments, dynamic=None):
    """Registers the decorated function under its own name."""

    def register(function):
        CASES[function.__name__] = (Function(function), arguments, dynamic)
        return function

    return register


def scores(q, k):
    return q @ k.transpose(-1, -2) / math.sqrt(D)


# F.scaled_dot_product_attention.
@case(Q, K, V)
def plain(q, k, v):
    return sdpa(q, k, v)


@case(Q, Q, Q)
def causal(q, k, v):
    return sdpa(q, k, v, is_causal=True)


@case(Q, K, V)
def causal_rectangle(q, k, v):
    return sdpa(q, k, v, is_causal=True)


@case(Q, K, V, normal(1, H, S, T))
def bias(q, k, v, b):
    return sdpa(q, k, v, attn_mask=b)


@case(Q, K, V, torch.rand(B, 1, S, T) > 0.3)
def boolean(q, k, v, m):
    return sdpa(q, k, v, attn_mask=m)


@case(Q, Q, Q)
def window(q, k, v):
    return sdpa(q, k, v, attn_mask=LOWER.triu(-7))


@case(Q, KG, VG)
def groups(q, k, v):
    return sdpa(q, k, v, enable_gqa=True)


@case(Q, KG, VG)
def groups_causal(q, k, v):
    return sdpa(q, k, v, is_causal=True, enable_gqa=True)


@case(Q, KG, VG)
def expanded_keys(q, k, v):
    return sdpa(q, *(x[:, :, None].expand(B, 2, 2, T, D).reshape(B, 4, T, D) for x in (k, v)))


@case(Q, K, V)
def scale(q, k, v):
    return sdpa(q, k, v, scale=0.3)


@case(*HALF)
def half(q, k, v):
    return sdpa(q, k, v)


@case(Q, Q, Q, dynamic=({2: ROWS},) * 3)
def dynamic_causal(q, k, v):
    return sdpa(q, k, v, is_causal=True)


@case(Q, K, V, dynamic=({0: BATCH, 2: ROWS}, {0: BATCH, 2: KEYS}, {0: BATCH, 2: KEYS}))
def dynamic_batch(q, k, v):
    return sdpa(q, k, v)


@case(normal(B, S, 3 * H * D))
def packed(x):
    q, k, v = x.reshape(B, S, 3, H, D).permute(2, 0, 3, 1, 4)
    return sdpa(q, k, v).transpose(1, 2).reshape(B, S, H * D)


@case(Q[:, :, :1], K, V, torch.tensor([10, 49]))
def lengths(q, k, v, n):
    return sdpa(q, k, v, attn_mask=torch.arange(T)[None, None, None] < n[:, None, None, None])


@case(Q[:, :, :1], K, V, normal(B, H, 1, D), normal(B, H, 1, D))
def longer_cache(q, kc, vc, k, v):
    return sdpa(q, torch.cat([kc, k], 2), torch.cat([vc, v], 2))


# The formula by hand.
@case(Q, K, V, dynamic=({0: BATCH, 2: ROWS}, {0: BATCH, 2: KEYS}, {0: BATCH, 2: KEYS}))
def by_hand(q, k, v):
    return torch.softmax(scores(q, k), -1) @ v


@case(Q.transpose(1, 2), K.transpose(1, 2), V.transpose(1, 2))
def einsum(q, k, v):
    p = torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) * 0.2, -1)
    return torch.einsum("bhqk,bkhd->bqhd", p, v)


@case(Q[0], K[0], V[0], normal(H, S, T))
def baddbmm(q, k, v, b):
    return torch.bmm(torch.softmax(torch.baddbmm(b, q, k.transpose(1, 2), beta=1, alpha=0.2), -1), v)


@case(Q, Q, Q)
def masked_fill(q, k, v):
    return torch.softmax(scores(q, k).masked_fill(~LOWER, float("-inf")), -1) @ v


@case(Q, Q, Q)
def where(q, k, v):
    return torch.softmax(torch.where(LOWER, scores(q, k), -1e9), -1) @ v


@case(Q, K, V)
def positions(q, k, v):
    return torch.softmax(scores(q, k).masked_fill(torch.arange(T)[None] > torch.arange(S)[:, None], -math.inf), -1) @ v


@case(Q, K, V, torch.rand(B, T) > 0.7)
def padding(q, k, v, m):
    return torch.softmax(scores(q, k).masked_fill(m[:, None, None, :], -math.inf), -1) @ v


@case(Q, K, V, torch.rand(B, T) > 0.3)
def padding_added(q, k, v, m):
    return torch.softmax(scores(q, k) + (1.0 - m[:, None, None, :].float()) * torch.finfo(torch.float32).min, -1) @ v


@case(Q, K, V, torch.rand(B, 1, S, T) > 0.7)
def zeros_by_mask(q, k, v, m):
    return torch.softmax(scores(q, k).masked_fill(m, -1e9), -1).masked_fill(m, 0.0) @ v


@case(*HALF)
def softmax_in_f32(q, k, v):
    return torch.softmax(scores(q, k), -1, dtype=torch.float32).to(q.dtype) @ v


@case(Q, K, V)
def log_sum_exp(q, k, v):
    s = scores(q, k)
    return torch.exp(s - torch.logsumexp(s, -1, keepdim=True)) @ v


@case(Q, K, V)
def alibi(q, k, v):
    slopes = 2.0 ** -torch.arange(1, H + 1)
    return (
        torch.softmax(scores(q, k) + slopes[:, None, None] * (torch.arange(T)[None] - torch.arange(S)[:, None]), -1) @ v
    )


@case(Q, K, V)
def softcap(q, k, v):
    return torch.softmax(30 * torch.tanh(scores(q, k) / 30), -1) @ v


@case(Q, K, V, normal(H))
def sink(q, k, v, s):
    s = torch.cat([scores(q, k), s.reshape(1, -1, 1, 1).expand(B, H, S, 1)], -1)
    return torch.softmax(s, -1)[..., :-1] @ v


@case(Q, K, V)
def silu_neg(q, k, v):
    return F.silu(scores(q, k)) @ v


@case(Q, K, V)
def relu_neg(q, k, v):
    a = F.relu(scores(q, k))
    return (a / (a.sum(-1, keepdim=True) + 1e-6)) @ v


# Layers of torch.nn.
LAYER = nn.MultiheadAttention(H * D, H, batch_first=True).eval()
CASES["decoder_layer"] = (
    nn.TransformerDecoderLayer(H * D, H, 2 * H * D, batch_first=True).eval(),
    (X, normal(B, T, H * D)),
    None,
)


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = LAYER

    def forward(self, x, m):
        return self.layer(x, x, x, key_padding_mask=m, need_weights=False)[0]


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = LAYER

    def forward(self, x):
        return self.layer(x, x, x)


CASES["layer_padding"] = (Padded(), (X, torch.rand(B, S) > 0.8), None)
CASES["layer_weights"] = (Weights(), (X,), None)


# Models of transformers: one layer, random weights.
class First(nn.Module):
    """The first result of a model that takes keywords."""

    def __init__(self, model, keys):
        super().__init__()
        self.model, self.keys = model, keys

    def forward(self, *arguments):
        options = {"use_cache": False} if hasattr(self.model.config, "use_cache") else {}
        return self.model(**dict(zip(self.keys, arguments, strict=True)), **options, return_dict=True)[0]


def model(name, cls, config, keys, arguments, kinds=("eager", "sdpa")):
    for kind in kinds:
        options = copy.deepcopy(config)
        options._attn_implementation = kind
        CASES[f"{name}_{kind}"] = (
            First(cls._from_config(options, attn_implementation=kind).eval(), keys),
            arguments,
            None,
        )


IDS, SEEN, IMAGE = torch.randint(0, 100, (1, 32)), torch.ones(1, 32, dtype=torch.long), normal(1, 3, 32, 32)
SEEN[0, 28:] = 0
SMALL = dict(vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4)
LANGUAGE = dict(max_position_embeddings=64, **SMALL)
GROUPED = dict(num_key_value_heads=2, **LANGUAGE)
BOTH, ONE = ("input_ids", "attention_mask"), ("input_ids",)
model("bert", hf.BertModel, hf.BertConfig(**LANGUAGE), BOTH, (IDS, SEEN))
model("gpt2", hf.GPT2Model, hf.GPT2Config(vocab_size=100, n_positions=64, n_embd=64, n_layer=1, n_head=4), ONE, (IDS,))
model("llama", hf.LlamaModel, hf.LlamaConfig(**GROUPED), BOTH, (IDS, SEEN))
model("mistral", hf.MistralModel, hf.MistralConfig(sliding_window=8, **GROUPED), ONE, (IDS,))
model("gemma2", hf.Gemma2Model, hf.Gemma2Config(head_dim=16, sliding_window=8, **GROUPED), ONE, (IDS,), ("eager",))
model(
    "t5",
    hf.T5EncoderModel,
    hf.T5Config(vocab_size=100, d_model=64, d_kv=16, d_ff=128, num_layers=1, num_heads=4),
    BOTH,
    (IDS, SEEN),
    ("eager",),
)
model(
    "swin",
    hf.SwinModel,
    hf.SwinConfig(image_size=32, patch_size=2, embed_dim=32, depths=[2], num_heads=[4], window_size=4),
    ("pixel_values",),
    (IMAGE,),
    ("eager",),
)
