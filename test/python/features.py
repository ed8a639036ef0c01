"""Every feature of attn.sdpa by name, as options that fit a shape; what the tests of combinations draw from."""

import ml_dtypes
import numpy as np

from helpers import Shape, draw

LARGEST = {np.dtype(np.int8): 127.0, np.dtype(ml_dtypes.float8_e4m3fn): 448.0}
LARGEST |= {np.dtype(ml_dtypes.float8_e5m2): 57344.0}


def quantise(x, kind, scales):
    """Numbers of this kind and the scales, one a "head" or "token", that make them about x (B, Hkv, Sk, D)."""
    x, axes = np.asarray(x, np.float64), (0, 2, 3) if scales == "head" else 3
    scale = np.abs(x).max(axis=axes, keepdims=True, initial=1e-30) / LARGEST[np.dtype(kind)]
    numbers = (np.rint(x / scale) if kind is np.int8 else x / scale).astype(kind)
    return numbers, (scale[0, :, 0, 0] if scales == "head" else scale[..., 0]).astype(np.float32)


def broadcast(shape, rng):
    """A shape that broadcasts to the scores."""
    return tuple(size if rng.random() < 0.6 else 1 for size in shape.scores)


def bias(shape, dtype, rng):
    values = rng.standard_normal(broadcast(shape, rng)).astype(dtype)
    values[rng.random(values.shape) < 0.1] = -np.inf
    return dict(bias=values)


def alibi(shape, dtype, rng):
    slopes = 2.0 ** -np.arange(1.0, shape.hq + 1)
    return dict(score_mod=lambda s, b, h, i, j: s - slopes[h] * abs(i - j))


def documents(shape, dtype, rng):
    table = np.sort(rng.integers(0, 4, (shape.b, max(shape.sq, shape.sk))), axis=1)
    return dict(mask_mod=lambda b, h, i, j: table[b, i] == table[b, j])


FEATURES = {
    "scale": lambda shape, dtype, rng: dict(scale=rng.choice([0.0, -0.25, 1.0])),
    "top_left": lambda shape, dtype, rng: dict(causal="top_left"),
    "bottom_right": lambda shape, dtype, rng: dict(causal="bottom_right"),
    "offsets": lambda shape, dtype, rng: dict(causal=rng.integers(-shape.sq, shape.sk + 1, shape.b)),
    "window": lambda shape, dtype, rng: dict(window=(int(rng.integers(0, 40)), [None, 0, 9][rng.integers(3)])),
    "chunk": lambda shape, dtype, rng: dict(chunk=int(rng.choice([1, 7, 64]))),
    "softcap": lambda shape, dtype, rng: dict(softcap=rng.choice([0.5, 20.0])),
    "bias": bias,
    "mask": lambda shape, dtype, rng: dict(mask=rng.random(broadcast(shape, rng)) < 0.7),
    "sink": lambda shape, dtype, rng: dict(sink=rng.standard_normal(shape.hq)),
    "q_lengths": lambda shape, dtype, rng: dict(q_lengths=rng.integers(0, shape.sq + 1, shape.b)),
    "kv_lengths": lambda shape, dtype, rng: dict(kv_lengths=rng.integers(0, shape.sk + 1, shape.b)),
    "score_mod": alibi,
    "mask_mod": lambda shape, dtype, rng: dict(mask_mod=lambda b, h, i, j: (j < 5) | ((i - j) % 3 != 1)),
    "documents": documents,
    "dropout": lambda shape, dtype, rng: dict(dropout=(0.3, int(rng.integers(2**62)), 7)),
    "weights": lambda shape, dtype, rng: dict(return_weights=True),
    "int8": lambda shape, dtype, rng: dict(kind=np.int8, scales="head"),
    "fp8": lambda shape, dtype, rng: dict(kind=ml_dtypes.float8_e4m3fn, scales="token"),
    "e5m2": lambda shape, dtype, rng: dict(kind=ml_dtypes.float8_e5m2, scales="head"),
    "bshd": lambda shape, dtype, rng: dict(layout="bshd"),
    "bsd": lambda shape, dtype, rng: dict(layout="bsd", heads=(shape.hq, shape.hkv)),
    "dynamic": lambda shape, dtype, rng: dict(dynamic=True),
}
ALTERNATIVES = [
    {"top_left", "bottom_right", "offsets"},
    {"mask_mod", "documents"},
    {"int8", "fp8", "e5m2"},
    {"bshd", "bsd"},
]


def make(shape: Shape, dtype, names, seed=0):
    """Q, k, v and the options of these features; of alternatives the first one."""
    rng = np.random.default_rng(seed)
    options = {}
    for name in FEATURES:
        if name in names:
            options = FEATURES[name](shape, dtype, rng) | options
    if {"window", "chunk"} & options.keys() and "causal" not in options:
        options["align"] = "bottom_right"
    tensors = list(draw(shape, dtype, seed))
    if "kind" in options:
        how = options.pop("kind"), options.pop("scales")
        for i, name in ((1, "k_scale"), (2, "v_scale")):
            tensors[i], options[name] = quantise(tensors[i], *how)
    if "layout" in options:
        tensors = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in tensors]
    if options.get("layout") == "bshd":
        options.pop("heads", None)
    elif "layout" in options:
        tensors = [x.reshape(*x.shape[:2], x.shape[2] * x.shape[3]) for x in tensors]
    return tensors, options
