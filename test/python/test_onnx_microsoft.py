"""attn.from_onnx on com.microsoft's MultiHeadAttention and GroupQueryAttention."""

import numpy as np
import pytest

import attn
from graph_models import BATCH, HEADS, HIDDEN, LENGTH, SIZE, Graph


def softmax_attention(q, k, v, *, scale=None, keeps=None, bias=0.0, heads=HEADS, kv_heads=HEADS):
    """In f64, of (batch, rows, heads · size)."""

    def split(x, count):
        return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2).astype(np.float64)

    q, k, v = split(q, heads), *(np.repeat(split(x, kv_heads), heads // kv_heads, 1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[-1] ** -0.5) + bias
    if keeps is not None:
        scores = np.where(keeps, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights / weights.sum(-1, keepdims=True) @ v
    return out.swapaxes(1, 2).reshape(out.shape[0], out.shape[2], -1)


def microsoft(op, operands, outputs=1, **attributes):
    g = Graph()
    names = [g.input(k, v) if v is not None else "" for k, v in operands.items()]
    results = getattr(g, op)(*names, outputs=outputs, domain="com.microsoft", name="node", **attributes)
    return g.finish(*([results] if outputs == 1 else results), opset=21)


def draw_rows(rng, heads=HEADS, kv_heads=HEADS):
    q, k, v = (rng.standard_normal((BATCH, LENGTH, x * SIZE)).astype(np.float32) for x in (heads, kv_heads, kv_heads))
    return dict(query=q, key=k, value=v)


ROWS, COLUMNS = np.arange(LENGTH)[:, None], np.arange(LENGTH)


@pytest.mark.parametrize("case", ["plain", "scale", "unidirectional", "key_padding_mask", "attention_bias"])
def test_multi_head_attention(rng, case):
    operands = draw_rows(rng)
    attributes, options, extra = {}, {}, []
    if case == "scale":
        attributes = options = dict(scale=0.5)
    elif case == "unidirectional":
        attributes, options = dict(unidirectional=1), dict(keeps=COLUMNS <= ROWS)
    elif case == "key_padding_mask":
        extra = [np.array([5, LENGTH], np.int32)]
        options = dict(keeps=extra[0][:, None, None, None] > COLUMNS)
        operands |= dict(bias=None, key_padding_mask=extra[0])
    elif case == "attention_bias":
        extra = [rng.standard_normal((1, HEADS, LENGTH, LENGTH)).astype(np.float32)]
        options = dict(bias=extra[0])
        operands |= dict(bias=None, key_padding_mask=None, attention_bias=extra[0])
    kernel = attn.from_onnx(microsoft("MultiHeadAttention", operands, num_heads=HEADS, **attributes))
    q, k, v = (operands[x] for x in ("query", "key", "value"))
    found = kernel.kernel(q, k, v, *extra)
    np.testing.assert_allclose(found, softmax_attention(q, k, v, **options), rtol=2e-5, atol=2e-5)


def test_group_query_attention(rng):
    operands = draw_rows(rng, 4, 2)
    lengths = np.array([LENGTH - 1, 6], np.int32)
    operands |= dict(past_key=None, past_value=None, seqlens_k=lengths, total=np.array(LENGTH, np.int32))
    model = microsoft(
        "GroupQueryAttention", operands, outputs=3, num_heads=4, kv_num_heads=2, local_window_size=4, do_rotary=0
    )
    q, k, v = (operands[x] for x in ("query", "key", "value"))
    found, keys, values = attn.from_onnx(model).kernel(q, k, v, lengths)
    keeps = (COLUMNS <= ROWS) & (COLUMNS > ROWS - 4) & (lengths[:, None, None, None] >= COLUMNS)
    rows = slice(0, 7)  # what lies behind the length of the second sequence means nothing
    with np.errstate(invalid="ignore"):
        expected = softmax_attention(q, k, v, keeps=keeps, heads=4, kv_heads=2)
    np.testing.assert_allclose(found[:, rows], expected[:, rows], rtol=2e-5, atol=2e-5)
    for cache, x in ((keys, k), (values, v)):
        np.testing.assert_array_equal(cache, x.reshape(BATCH, LENGTH, 2, SIZE).swapaxes(1, 2))


@pytest.mark.parametrize(
    ("op", "extra", "attributes", "message"),
    [
        ("MultiHeadAttention", dict(bias=(3 * HIDDEN,)), {}, "expected no bias, found it; add the bias with Add nodes"),
        ("MultiHeadAttention", dict(key=None, value=None), {}, "found them packed in one input; write a Split"),
        ("MultiHeadAttention", dict(bias=None, mask=(BATCH, LENGTH)), {}, "of rank 1 .* write a mask of keys as"),
        ("GroupQueryAttention", {}, {}, "expected seqlens_k, found none"),
        (
            "GroupQueryAttention",
            dict(a=None, b=None, n=(BATCH,)),
            dict(do_rotary=1),
            "do_rotary = 0, found 1; apply Rot",
        ),
        (
            "GroupQueryAttention",
            dict(a=(BATCH, HEADS, 5, SIZE), b=(BATCH, HEADS, 5, SIZE), n=(BATCH,)),
            {},
            "expected no past_key, or one without rows.*write Attention with past_key and past_value",
        ),
    ],
)
def test_com_microsoft_that_is_refused(rng, op, extra, attributes, message):
    operands = draw_rows(rng)
    for name, shape in extra.items():
        kind = np.int32 if name in ("mask", "n") else np.float32
        operands[name] = None if shape is None else np.zeros(shape, kind)
    heads = dict(num_heads=HEADS) if op == "MultiHeadAttention" else dict(num_heads=HEADS, kv_num_heads=HEADS)
    with pytest.raises(attn.CompileError, match=message):
        attn.from_onnx(microsoft(op, operands, **heads, **attributes))
