"""Runs a kernel of attn.sdpa_backward and compares its gradients with those of the specification."""

import functools

import ml_dtypes
import numpy as np

import attn
from backward_ir import Sizes, backward
from helpers import assert_close, rounded_to

ODD = Sizes(2, 4, 2, 113, 203, 59, 80)


def causal(text):
    return f"causal = #attn.causal<{text}>", {"causal": text}


MASKS = {
    "full": ("", {}),
    "top_left": causal("top_left"),
    "bottom_right": causal("bottom_right"),
    "window": (
        "window = #attn.window<left = 20, right = 3>, align = #attn.causal<bottom_right>",
        {"window": (20, 3), "align": "bottom_right"},
    ),
    "chunk": ("causal = #attn.causal<top_left>, chunk = 32 : i64", {"causal": "top_left", "chunk": 32}),
    "prefix": ("causal = #attn.causal<top_left>, prefix = 40 : i64", {"causal": "top_left", "prefix": 40}),
}

TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}

FIELDS = "query_tile = 12, key_tile = 32, lanes = 8, block_rows = 6, block_vectors = 2, chunks = 3"
CHUNKS = f"schedule = #attn.backward<{FIELDS}>"


def problem(sizes, dtype=np.float32, **options):
    """q, k, v, out, lse, dout, and the options that the reference takes."""
    rng = np.random.default_rng(1)
    b, hq, hkv, sq, sk, d, dv = sizes
    shapes = [(b, hq, sq, d), (b, hkv, sk, d), (b, hkv, sk, dv), (b, hq, sq, dv)]
    q, k, v, dout = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    out, lse = attn.reference.sdpa(q, k, v, return_lse=True, **options)
    return q, k, v, out.astype(dtype), lse.astype(np.float64 if dtype == np.float64 else np.float32), dout


def check(
    sizes,
    attributes="",
    options=None,
    dtype="f32",
    grad=("q", "k", "v"),
    arrays=None,
    more=(),
    given=None,
    target="host",
    rounds_steps=False,
    **ir,
):
    """Compiles, runs, and compares all gradients. `given` is what the reference of the backward pass has besides.

    With `rounds_steps` the kernel's error may be twice that of the reference whose steps are rounded, without it twice
    that of a reference whose results are.
    """
    options = options or {}
    arrays = arrays or problem(sizes, TYPES[dtype], **options)
    reference = functools.partial(attn.reference.sdpa_backward, *arrays, grad=grad, **options, **(given or {}))
    expected = rounded = reference()
    if rounds_steps:
        with rounded_to(TYPES[dtype]):
            rounded = reference()
    text = backward(sizes, dtype, attributes=attributes, **ir)
    kernel = attn.compile(text, target, fail_on_fallback=True, cache=False)
    found = kernel(*arrays, *more)
    for name, array in zip(grad, found, strict=True):
        # Sums of f32 are rounded once: twice the error of that is what 16 bits may have.
        low = rounded[name].astype(TYPES[dtype]).astype(np.float64) if dtype in ("bf16", "f16") else None
        assert_close(array, expected[name], TYPES[dtype], f"d{name}", low)
    return found


def check_threads(kernel, arrays):
    """The same bits for every number of threads."""
    before = attn.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            attn.set_num_threads(threads)
            results.append([x.tobytes() for x in kernel(*arrays)])
    finally:
        attn.set_num_threads(before)
    assert all(x == results[0] for x in results)
