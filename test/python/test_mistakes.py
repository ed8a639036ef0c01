"""Mistakes of people who come from other systems: refused, with what to write instead."""

import importlib
import sys

import numpy as np
import pytest

import attn
from helpers import Shape, draw

SHAPE = Shape(113, 203, 16, 16, b=2, hq=8, hkv=2)
MISTAKES = {
    "is_causal": (dict(is_causal=True), TypeError, "no keyword 'is_causal'; write causal=\"top_left\""),
    "attn_mask": (dict(attn_mask=None), TypeError, "no keyword 'attn_mask'; write mask=, a bool array, or bias="),
    "dropout_p": (dict(dropout_p=0.1), TypeError, r"no keyword 'dropout_p'; write dropout=\(p, seed, offset\)"),
    "misspelt": (dict(softcapp=30), TypeError, r"^sdpa\(\) has no keyword 'softcapp'$"),
    "window": (dict(window=4), ValueError, r"expected window to be a pair \(left, right\), found 4"),
    "lse": (dict(return_lse="yes"), TypeError, "expected return_lse to be True or False, found 'yes'"),
    "weights": (dict(return_weights=1), TypeError, "expected return_weights to be True or False, found 1"),
    "dynamic": (dict(dynamic="sq"), TypeError, "expected dynamic to be True or False, found 'sq'"),
    "mask": (dict(mask=np.ones((113, 203), bool)), ValueError, r"found shape \(113, 203\); write mask\[None, None\]$"),
    "transposed mask": (dict(mask=np.ones((203, 113), bool)), ValueError, r"write mask\.T\[None, None\]$"),
    "mask of a batch": (dict(mask=np.ones((2, 113, 203), bool)), ValueError, r"write mask\[:, None\]$"),
    "causal": (dict(causal=np.True_), TypeError, "expected causal to say its alignment, found True; write"),
    "other mask": (dict(mask=np.ones((5, 7), bool)), ValueError, r"found shape \(5, 7\)$"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_sdpa(name):
    options, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        attn.sdpa(*draw(SHAPE), **options)


def test_layout():
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in draw(SHAPE))
    with pytest.raises(ValueError, match=r"multiple of the 203 key heads, found 113; write layout=\"bshd\""):
        attn.sdpa(q, k, v)


def test_number_of_heads():
    # No hint at another layout where these are heads, as many as it takes.
    q, k, v = draw(Shape(113, 113, 16, 16, hq=5, hkv=2))
    with pytest.raises(ValueError, match=r"multiple of the 2 key heads, found 5$"):
        attn.sdpa(q, k, v)
    with pytest.raises(ValueError, match=r"multiple of the 2 key heads, found 5$"):
        attn.sdpa(*(x.swapaxes(1, 2) for x in (q, k, v)), layout="bshd")


def test_keywords_of_others():
    q, k, v = (x[0].swapaxes(0, 1) for x in draw(SHAPE))
    with pytest.raises(TypeError, match=r"^varlen_sdpa\(\) has no keyword 'is_causal'; write causal="):
        attn.varlen_sdpa(q, k, v, [0, 113], [0, 203], is_causal=True)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'v'$"):
        attn.sdpa(q, k)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kernels/causal.mlir", r"write attn\.compile\(pathlib\.Path\('kernels/causal\.mlir'\)\)"),
        ("model.onnx", r"write attn\.from_onnx\('model\.onnx'\)"),
    ],
)
def test_name_of_a_file(name, message):
    with pytest.raises(ValueError, match=f"expected a problem line or MLIR text, found the name of a file; {message}"):
        attn.compile(name)


def test_library_instead_of_its_manifest(tmp_path):
    path = tmp_path / "libattention.so"
    path.write_bytes(b"\x7fELF\xff\xfe")
    with pytest.raises(ValueError, match=r"expected a manifest, the \.json that attnc --manifest writes, found .*\.so"):
        attn.load_library(path)


@pytest.mark.parametrize(("module", "name"), [("torch", "PyTorch"), ("jax", "JAX")])
def test_a_framework_that_is_not_there(module, name, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)  # as if it was not installed
    monkeypatch.delitem(sys.modules, f"attn.{module}", raising=False)
    with pytest.raises(ImportError, match=f"expected {name} for attn.{module}, found none; write pip install {module}"):
        importlib.import_module(f"attn.{module}")
