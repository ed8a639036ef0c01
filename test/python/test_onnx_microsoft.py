"""attn.from_onnx on com.microsoft's MultiHeadAttention and GroupQueryAttention."""

import numpy as np
import onnx
import pytest

import attn
from graph_models import BATCH, HEADS, HIDDEN, LENGTH, SIZE, Graph
from node_models import make_symbolic


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


DEFAULTS = [
    dict(causal=1, sliding_window_cache=0, kv_cache_bit_width=8),
    dict(
        k_quant_type="NONE",
        v_quant_type="NONE",
        kv_cache_bit_width=0,
        qk_norm_epsilon=1e-6,
        smooth_softmax=-1,
        qk_output=0,
        scale=0.0,
        softcap=0.0,
        local_window_size=-1,
    ),
    dict(of_a_later_version=0, another=-1, mode="", kind="NONE", bound=0.0),
]


def draw_cached(rng, column=False, queries=LENGTH):
    operands = draw_rows(rng, 4, 2)
    operands = {name: np.ascontiguousarray(x[:, :queries]) for name, x in operands.items()}
    lengths = np.array([queries - 1, queries - 3], np.int32)
    return operands | dict(past_key=None, past_value=None, seqlens_k=lengths[:, None] if column else lengths)


@pytest.mark.parametrize("attributes", [*DEFAULTS, dict(causal=0)], ids=lambda x: "-".join(x))
def test_attributes_that_say_the_default(rng, attributes):
    operands = draw_cached(rng)
    model = microsoft("GroupQueryAttention", operands, num_heads=4, kv_num_heads=2, **attributes)
    q, k, v, lengths = (operands[x] for x in ("query", "key", "value", "seqlens_k"))
    found = attn.from_onnx(model).kernel(q, k, v, lengths)
    keeps = lengths[:, None, None, None] >= COLUMNS
    if attributes != dict(causal=0):
        keeps = keeps & (COLUMNS <= ROWS)
    expected = softmax_attention(q, k, v, keeps=keeps, heads=4, kv_heads=2)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_lengths_as_a_column(rng):
    operands = draw_cached(rng, column=True)
    model = microsoft("GroupQueryAttention", operands, num_heads=4, kv_num_heads=2)
    found = attn.from_onnx(model).kernel(*(operands[x] for x in ("query", "key", "value", "seqlens_k")))
    flat = operands | dict(seqlens_k=operands["seqlens_k"][:, 0])
    model = microsoft("GroupQueryAttention", flat, num_heads=4, kv_num_heads=2)
    np.testing.assert_array_equal(
        found, attn.from_onnx(model).kernel(*(flat[x] for x in ("query", "key", "value", "seqlens_k")))
    )


def append(operands, present, window=None):
    """Each sequence by itself: output, present_key and present_value as far as they mean something."""
    q, k, v, past_k, past_v, lengths = operands.values()
    queries = q.shape[1]
    outs, keys, values = np.zeros(q.shape), *(np.zeros((BATCH, 2, present, SIZE)) for _ in "kv")
    for b, total in enumerate(lengths.reshape(-1) + 1):
        start = max(total - queries, 0)
        for cache, past, new in ((keys, past_k, k), (values, past_v, v)):
            cache[b, :, :start] = past[b, :, :start]
            cache[b, :, start : start + queries] = new[b].reshape(queries, 2, SIZE).swapaxes(0, 1)
        i, j = start + np.arange(queries)[:, None], np.arange(total)
        keeps = (j <= i) & (j > i - (window or total + queries))
        rows = (x[b : b + 1, :, :total].swapaxes(1, 2).reshape(1, total, -1) for x in (keys, values))
        with np.errstate(invalid="ignore"):
            outs[b] = softmax_attention(q[b : b + 1], *rows, keeps=keeps, heads=4, kv_heads=2)[0]
    return outs, keys, values


@pytest.mark.parametrize("symbolic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize(
    ("queries", "past", "lengths", "outputs", "window"),
    [
        (1, 9, (9, 4), 1, None),  # a step; what follows a sequence's own past means nothing
        (1, 9, (9, 4), 1, 3),
        (3, 9, (11, 4), 1, None),  # several new tokens
        (4, 0, (3, 1), 1, None),  # the first prompt, padded on the right
        (2, 9, (7, 3), 3, None),  # into a buffer that past and present share
        (2, 9, (8, 8), 3, 4),
    ],
)
def test_a_cache_that_lengths_count(rng, symbolic, queries, past, lengths, outputs, window):
    if past == 0 and not symbolic:
        past = 1  # a fixed length of 0 is no cache; these rows nothing reads
    operands = draw_cached(rng, queries=queries)
    operands |= {x: rng.standard_normal((BATCH, 2, past, SIZE)).astype(np.float32) for x in ("past_key", "past_value")}
    operands["seqlens_k"] = np.array(lengths, np.int32)
    attributes = dict(num_heads=4, kv_num_heads=2) | (dict(local_window_size=window) if window else {})
    model = microsoft("GroupQueryAttention", operands, outputs=outputs, **attributes)
    present = past if outputs == 3 else past + queries
    if outputs == 3:
        for x in model.graph.output[1:]:
            x.CopyFrom(onnx.helper.make_tensor_value_info(x.name, 1, (BATCH, 2, "past" if symbolic else past, SIZE)))
    if symbolic:
        make_symbolic(model, {"past_key": {2: "past"}, "past_value": {2: "past"}})
    given = [operands[x] for x in ("query", "key", "value", "past_key", "past_value", "seqlens_k")]
    found = attn.from_onnx(model).kernel(*given)
    expected = append(operands, present, window)
    real = [np.arange(queries) < total + 1 for total in lengths]  # rows of padding mean nothing
    out = found if outputs == 1 else found[0]
    for b in range(BATCH):
        np.testing.assert_allclose(out[b][real[b]], expected[0][b][real[b]], rtol=2e-5, atol=2e-5)
    for x, y in zip(found[1:] if outputs == 3 else (), expected[1:], strict=False):
        for b, total in enumerate(lengths):
            np.testing.assert_array_equal(x[b, :, : total + 1], y[b, :, : total + 1])


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
            dict(a=None, b=None, n=(BATCH,)),
            dict(k_quant_type="PER_TENSOR"),
            "= NONE, found 'PER_T",
        ),
        ("GroupQueryAttention", dict(a=None, b=None, n=(BATCH,)), dict(later=2), "'later' .* or one that is off"),
        ("GroupQueryAttention", dict(a=None, b=None, n=(BATCH,)), dict(sliding_window_cache=1), "write a cache of all"),
        (
            "GroupQueryAttention",
            dict(a=None, b=None, n=(BATCH,)),
            dict(causal=0, local_window_size=3),
            "expected local_window_size = -1 with causal = 0, found 3",
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
