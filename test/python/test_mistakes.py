"""Mistakes of people who come from other systems: refused, with what to write instead."""

import importlib
import inspect
import re
import sys

import numpy as np
import pytest

import attn
from attn.call import _gradients
from attn.words import _keywords
from helpers import Shape, draw

SHAPE = Shape(113, 203, 16, 16, b=2, hq=8, hkv=2)
MISTAKES = {
    "is_causal": (dict(is_causal=True), TypeError, "no keyword 'is_causal'; write causal=\"top_left\""),
    "attn_mask": (
        dict(attn_mask=None),
        TypeError,
        "no keyword 'attn_mask'; write mask=, a bool array, true = attend, or bias=",
    ),
    "dropout_p": (dict(dropout_p=0.1), TypeError, r"no keyword 'dropout_p'; write dropout=\(p, seed, offset\)"),
    "misspelt": (dict(softcapp=30), TypeError, r"^sdpa\(\) has no keyword 'softcapp'; did you mean 'softcap'\?$"),
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


# The functions that take keywords, with what they need in front of these.
FUNCTIONS = {
    "sdpa": (attn.sdpa, 3),
    "varlen_sdpa": (attn.varlen_sdpa, 5),
    "paged_sdpa": (attn.paged_sdpa, 5),
    "kv_append": (attn.kv_append, 3),
    "merge": (attn.merge, 4),
    "multi_head": (attn.multi_head, 6),
    "linear_attention": (attn.linear_attention, 3),
    "sdpa_backward": (attn.sdpa_backward, 6),
    "varlen_sdpa_backward": (attn.varlen_sdpa_backward, 8),
    "vjp": (attn.vjp, 3),
    "varlen_vjp": (attn.varlen_vjp, 5),
    "reference.sdpa": (attn.reference.sdpa, 3),
    "reference.sdpa_backward": (attn.reference.sdpa_backward, 6),
    "compile": (attn.compile, 1),
    "from_onnx": (attn.from_onnx, 1),
}


def refusal(function, keyword):
    call, count = FUNCTIONS[function]
    with pytest.raises(TypeError) as error:
        call(*[np.zeros((1, 1, 1, 1), np.float32)] * count, **{keyword: None})
    return str(error.value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_keyword_of_others_is_answered(function):
    for keyword in _keywords.OTHERS:
        own = inspect.signature(FUNCTIONS[function][0]).parameters
        if keyword in (*_keywords.HOMES["attn.multi_head"], "name", *own):
            continue
        message = refusal(function, keyword)
        assert re.match(
            rf"{function.split('.')[-1]}\(\) has no keyword '{keyword}'; (write \w|attn\.\w+ has \w)", message
        )


@pytest.mark.parametrize(
    ("function", "keyword", "advice"),
    [
        ("sdpa", "cu_seqlens_q", "attn.varlen_sdpa has it"),
        ("sdpa", "kv_indptr", "attn.varlen_sdpa has cu_seqlens_k, the exclusive prefix sums of the lengths of keys"),
        ("sdpa", "max_seqlen_q", "write nothing: lengths are read from the arrays"),
        ("sdpa", "softmax_scal", "for 'softmax_scale' write scale="),
        ("sdpa", "retrun_lse", "did you mean 'return_lse'?"),
        ("varlen_sdpa", "attn_mask", "write mask_mod=lambda b, h, i, j: keep[b, h, i, j]"),
        ("varlen_sdpa", "kv_lengths", "write cu_seqlens_k, the exclusive prefix sums of the lengths of keys"),
        ("varlen_sdpa", "dropout_p", "attn.sdpa has dropout=(p, seed, offset)"),
        ("paged_sdpa", "block_tables", "write block_table, (batch, pages of a sequence)"),
        ("paged_sdpa", "seq_lens", "write kv_lengths=, the number of keys of each sequence"),
        ("multi_head", "num_heads", "write heads and kv_heads"),
        ("sdpa_backward", "return_lse", "attn.sdpa has it"),
        ("vjp", "bais", "did you mean 'bias'?"),
        ("varlen_vjp", "sm_scale", "write scale="),
        ("reference.sdpa", "is_causal", 'write causal="top_left", or causal="bottom_right"'),
        ("compile", "targets", "did you mean 'target'?"),
        ("compile", "opt_level", "write one of source, target, name, parallel, reference, fail_on_fallback, cache"),
    ],
)
def test_advice(function, keyword, advice):
    assert f"has no keyword {keyword!r}; {advice}" in refusal(function, keyword)


def test_table_of_keywords():
    own = {name for names in _keywords.HOMES.values() for name in names}
    rows = [row for rows in (*_keywords.OTHERS.values(), *_keywords.OWN.values()) for row in rows]
    assert {x.needs for x in rows if x.needs} <= own | {"query", "key", "value"}
    # Each keyword of a function has a home, and none is another system's that says the same.
    sdpa = {*_gradients.OPTIONS, "q", "k", "v", "return_lse", "return_weights"}
    assert sdpa <= own
    assert not sdpa & _keywords.OTHERS.keys()


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
