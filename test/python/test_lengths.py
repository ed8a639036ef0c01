"""Lengths, offsets and sinks: effective lengths and causal offsets by batch, scores that only add to the sum."""

import numpy as np
import pytest

import attn
from helpers import TYPES, Shape, check, draw

SHAPE = Shape(113, 203, 32, 24, b=4, hq=4, hkv=2)
Q_LENGTHS, KV_LENGTHS = [113, 0, 64, 50], [203, 100, 0, 65]
OFFSETS = np.array([90, -20, 0, 300])

parametrize_type = pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)

STRUCTURES = {
    "plain": {},
    "top_left": dict(causal="top_left"),
    "bottom_right": dict(causal="bottom_right"),
    "offsets": dict(causal=OFFSETS),
    "window": dict(causal="bottom_right", window=(40, 0)),
    "aligned window": dict(align="bottom_right", window=(40, 7)),
    "window by offsets": dict(align=OFFSETS, window=(40, 7)),
    "sink": dict(sink=np.array([0.5, -2.0, 8.0, 0.0])),
    "sink and window": dict(causal="bottom_right", window=(40, 0), sink=np.array([0.5, -2.0, 8.0, 0.0])),
}
LENGTHS = {
    "keys": dict(kv_lengths=KV_LENGTHS),
    "queries": dict(q_lengths=Q_LENGTHS),
    "both": dict(q_lengths=Q_LENGTHS, kv_lengths=KV_LENGTHS),
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_lengths_of_both(structure):
    check(*draw(SHAPE), **STRUCTURES[structure], **LENGTHS["both"])


@pytest.mark.parametrize("lengths", ["keys", "queries"])
@pytest.mark.parametrize("structure", ["plain", "bottom_right", "sink and window"])
def test_lengths_of_one(structure, lengths):
    check(*draw(SHAPE), **STRUCTURES[structure], **LENGTHS[lengths])


@parametrize_type
@pytest.mark.parametrize("structure", ["offsets", "window by offsets", "sink", "sink and window"])
def test_without_lengths(structure, dtype):
    check(*draw(SHAPE, dtype), **STRUCTURES[structure])


@parametrize_type
@pytest.mark.parametrize("structure", ["plain", "bottom_right", "sink and window"])
def test_what_lies_beyond_the_lengths_is_not_used(structure, dtype):
    q, k, v = draw(SHAPE, dtype)
    expected = check(q, k, v, **LENGTHS["both"], **STRUCTURES[structure])
    for b, (rows, keys) in enumerate(zip(Q_LENGTHS, KV_LENGTHS, strict=True)):
        q[b, :, rows:], k[b, :, keys:], v[b, :, keys:] = np.nan, np.nan, np.nan
        k[b, :, keys + 1 :: 2], v[b, :, keys + 1 :: 2] = np.inf, -np.inf
    found = attn.sdpa(q, k, v, return_lse=True, **LENGTHS["both"], **STRUCTURES[structure])
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_rows_beyond_the_length_are_empty_even_with_a_sink():
    out, lse = check(*draw(SHAPE), sink=np.ones(4), q_lengths=Q_LENGTHS)
    for b, rows in enumerate(Q_LENGTHS):
        assert (out[b, :, rows:] == 0).all()
        assert (lse[b, :, rows:] == -np.inf).all()
        assert np.isfinite(lse[b, :, :rows]).all()


def test_a_row_without_keys_has_the_sink_as_lse():
    sink = np.array([0.75, -1.0, 30.0, 0.0], np.float32)
    out, lse = check(*draw(SHAPE), sink=sink, kv_lengths=[0, 0, 0, 0])
    assert (out == 0).all()
    np.testing.assert_allclose(lse, np.broadcast_to(sink[:, None], lse.shape), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [dict(kv_lengths=[0]), dict(causal=[3]), dict(sink=np.ones(2)), dict(q_lengths=[2])]
)
def test_no_keys(options):
    check(*draw(Shape(5, 0, 16, 8, hq=2, hkv=1)), **options)


@pytest.mark.parametrize("lengths", [[1, 203, 7, 64], [0, 0, 0, 0]])
def test_one_query(lengths):
    check(*draw(Shape(1, 203, 64, 64, b=4, hq=8, hkv=2)), kv_lengths=lengths, causal="bottom_right")


@pytest.mark.parametrize("value", [-np.inf, 1e4, -1e4])
def test_extreme_sinks(value):
    check(*draw(Shape(33, 65, 16, 16, hq=2, hkv=2)), sink=np.array([value, 0.0]))


@pytest.mark.parametrize("layout", ["bshd", "bsd"])
def test_layouts(layout):
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in draw(SHAPE))
    options = dict(layout=layout, causal="bottom_right", sink=np.ones(4), **LENGTHS["both"])
    if layout == "bsd":
        q, k, v = (x.reshape(*x.shape[:2], -1) for x in (q, k, v))
        options["heads"] = (4, 2)
    out, _ = check(q, k, v, **options)
    assert out.shape == ((4, 113, 4, 24) if layout == "bshd" else (4, 113, 96))


def test_dense_masks_with_lengths(rng):
    bias = rng.standard_normal((4, 1, 113, 203)).astype(np.float32)
    bias[rng.random(bias.shape) < 0.1] = -np.inf
    mask = rng.random((1, 4, 1, 203)) < 0.8
    check(*draw(SHAPE), bias=bias, mask=mask, softcap=3.0, causal=OFFSETS, **LENGTHS["both"])


def test_a_window_without_alignment_where_all_lengths_are_equal():
    lengths = [50, 0, 113, 64]
    check(*draw(SHAPE), window=(9, 3), q_lengths=lengths, kv_lengths=lengths)


def chain(mask, softmax, sink):
    """An unfused chain whose mask and softmax may have lengths, %m or %n, and whose softmax may have a sink."""
    lengths = {None: "", "m": "q_lengths(%m : tensor<2xi32>)", "n": "q_lengths(%n : tensor<2xi32>)"}
    masked = (
        f"attn.mask ins(%s : tensor<2x3x17x5xf32>) {lengths[mask]} outs(%e : tensor<2x3x17x5xf32>)"
        " {causal = #attn.causal<bottom_right>} -> tensor<2x3x17x5xf32>"
    )
    words = f"{'sink(%sink : tensor<3xf32>)' if sink else ''} {lengths[softmax]}"
    return f"""func.func @f(%q: tensor<2x3x17x8xf32>, %k: tensor<2x3x5x8xf32>, %m: tensor<2xi32>, %n: tensor<2xi32>,
        %sink: tensor<3xf32>) -> tensor<2x3x17x8xf32> {{
      %e = tensor.empty() : tensor<2x3x17x5xf32>
      %o = tensor.empty() : tensor<2x3x17x8xf32>
      %s = attn.scores ins(%q, %k : tensor<2x3x17x8xf32>, tensor<2x3x5x8xf32>) outs(%e : tensor<2x3x17x5xf32>)
          -> tensor<2x3x17x5xf32>
      %t = {masked}
      %p = attn.softmax ins(%t : tensor<2x3x17x5xf32>) {words}
          outs(%e : tensor<2x3x17x5xf32>) -> tensor<2x3x17x5xf32>
      %r = attn.apply ins(%p, %k : tensor<2x3x17x5xf32>, tensor<2x3x5x8xf32>) outs(%o : tensor<2x3x17x8xf32>)
          -> tensor<2x3x17x8xf32>
      return %r : tensor<2x3x17x8xf32>
    }}"""


@pytest.mark.parametrize("sink", [False, True], ids=["", "sink"])
@pytest.mark.parametrize("softmax", [None, "m", "n"])
@pytest.mark.parametrize("mask", [None, "m"])
def test_lengths_of_chains(mask, softmax, sink):
    # Those of attn.mask empty a row, those of attn.softmax take its sink away.
    q, k, _ = draw(Shape(17, 5, 8, 8, b=2, hq=3, hkv=3))
    lengths = [np.array([4, 14], np.int32), np.array([9, 2], np.int32)]
    inputs = [q, k, *lengths, np.array([0.5, -2.0, 8.0], np.float32)]
    source = chain(mask, softmax, sink)
    expected = attn.compile(source, reference=True)(*inputs)
    np.testing.assert_allclose(attn.compile(source)(*inputs), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("columns", [(0, 8), (8, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("queries", [1, 33])
def test_without_columns(queries, columns):
    # All scores are 0 without columns of Q and K; without those of V there is lse alone.
    (d, dv), scores = columns, f"2x4x{queries}"
    types = [f"tensor<{scores}x{d}xf32>", f"tensor<2x4x40x{d}xf32>", f"tensor<2x4x40x{dv}xf32>"]
    out, lse = f"tensor<{scores}x{dv}xf32>", f"tensor<{scores}xf32>"
    kernel = attn.compile(f"""func.func @f(%q: {types[0]}, %k: {types[1]}, %v: {types[2]}) -> ({out}, {lse}) {{
      %o = tensor.empty() : {out}
      %l = tensor.empty() : {lse}
      %r:2 = attn.sdpa ins(%q, %k, %v : {", ".join(types)}) outs(%o, %l : {out}, {lse}) {{scale = 0.5 : f64}}
          -> {out}, {lse}
      return %r#0, %r#1 : {out}, {lse}
    }}""")
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(x, np.float32) for x in ((2, 4, queries, d), (2, 4, 40, d), (2, 4, 40, dv)))
    found, sums = kernel(q, k, v)
    scores = np.einsum("bhid,bhjd->bhij", q, k) * 0.5
    weights = np.exp(scores)
    np.testing.assert_allclose(sums, np.log(weights.sum(-1)), rtol=0, atol=1e-5)
    np.testing.assert_allclose(found, weights / weights.sum(-1, keepdims=True) @ v, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["q_lengths", "kv_lengths", "causal", "align"])
@pytest.mark.parametrize("empty", [[], (), np.zeros(0, np.int32)])
def test_no_batch_has_no_lengths(name, empty):
    """NumPy has a list of nothing hold floats."""
    q = np.zeros((0, 2, 5, 8), np.float32)
    options = {name: empty} | ({"window": (1, 1)} if name == "align" else {})
    assert attn.sdpa(q, q, q, **options).shape == attn.reference.sdpa(q, q, q, **options).shape == q.shape


def test_lengths_of_one_batch_are_not_none():
    q = np.zeros((1, 2, 5, 8), np.float32)
    with pytest.raises(ValueError, match=r"kv_lengths of shape \(1,\), one a batch, found \(0,\)"):
        attn.sdpa(q, q, q, kv_lengths=[])
