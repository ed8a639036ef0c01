"""attn.from_onnx on scans, tiles, selections, rotations, einsums and normalisations."""

import numpy as np
import onnx
import pytest

import attn
from graph_models import Graph, check

SYMBOLS = ["batch", "length", 6]


def numbers(*values):
    return np.array(values, np.int64)


def follow(g, model, *sizes, tolerance=2e-5):
    """Checks at the sizes that the graph has, and at others of its symbols."""
    kernel = attn.from_onnx(model)
    check(g, model, kernel, tolerance)
    for shape in sizes:
        for i, array in enumerate(g.arrays):
            if array.ndim == len(shape):
                g.arrays[i] = np.resize(array, shape)
        check(g, model, kernel, tolerance)


def fold(g, y, axis):
    """One number that depends on the order of the elements: kernels return no size that they calculate."""
    sums = g.CumSum(y, g.constant(np.array(axis, np.int64)))
    return g.ReduceSum(g.Mul(y, sums), g.constant(numbers(axis)), keepdims=0)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cumsum(exclusive, reverse, axis):
    g = Graph()
    x = g.draw("x", 3, 7, 6, symbols=SYMBOLS)
    y = g.CumSum(x, g.constant(np.array(axis, np.int64)), exclusive=exclusive, reverse=reverse)
    follow(g, g.finish(y), (2, 1, 6), (1, 0, 6))


def test_cumsum_of_integers():
    g = Graph()
    x = g.input("x", g.rng.integers(0, 2, (3, 113)), ["batch", "length"])
    follow(g, g.finish(g.CumSum(x, g.constant(np.array(1, np.int32)))), (2, 5))


@pytest.mark.parametrize("repeats", [(1, 2, 1), (3, 1, 2), (2, 3, 4), (1, 1, 1), (2, 0, 1)])
@pytest.mark.parametrize("shape", [(3, 7, 6), (1, 5, 1)])
def test_tile(repeats, shape):
    g = Graph()
    x = g.draw("x", *shape)
    model = g.finish(g.Add(g.Tile(x, g.constant(numbers(*repeats))), g.constant(np.float32(1))))
    check(g, model, attn.from_onnx(model))


def test_tile_of_sizes_of_this_run():
    g = Graph()
    x = g.draw("x", 3, 7, 6, symbols=SYMBOLS)
    repeats = g.Concat(g.Shape(x, start=1, end=2), g.constant(numbers(2, 1)), axis=0)
    tiled = fold(g, fold(g, g.Tile(x, repeats), 1), 0)
    follow(g, g.finish(tiled), (2, 1, 6), tolerance=1e-3)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64, np.int64])
def test_arg(op, last, axis, dtype):
    g = Graph()
    x = g.input("x", g.rng.integers(-2, 3, (3, 7, 6)).astype(dtype), SYMBOLS)
    found = [getattr(g, op)(x, axis=axis, select_last_index=last, keepdims=keep) for keep in (0, 1)]
    follow(g, g.finish(*found), (2, 1, 6))


def test_arg_of_nan_and_infinities():
    g = Graph()
    rows = [[1, np.nan, 3, np.nan], [-np.inf] * 4, [0, np.inf, np.inf, 1]]
    x = g.input("x", np.array(rows, np.float32))
    model = g.finish(g.ArgMax(x, axis=-1, keepdims=0))
    assert attn.from_onnx(model).kernel(*g.arrays).tolist() == [1, 0, 1]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_log_softmax(axis):
    g = Graph()
    x = g.draw("x", 3, 7, 6, symbols=SYMBOLS)
    kernel = attn.from_onnx(g.finish(g.LogSoftmax(x, axis=axis)))
    for rows in (50 * g.arrays[0], g.arrays[0][:1, :2]):
        exact = rows.astype(np.float64) - rows.max(axis, keepdims=True)
        expected = exact - np.log(np.exp(exact).sum(axis, keepdims=True))
        np.testing.assert_allclose(kernel.kernel(np.ascontiguousarray(rows)), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bhid,bhjd->bhij", [(2, 3, 5, 8), (2, 3, 7, 8)]),
        ("bhij,bhjd->bhid", [(2, 3, 5, 7), (2, 3, 7, 8)]),
        ("bihd,bjhd->bhij", [(2, 5, 3, 8), (2, 7, 3, 8)]),
        ("bhij,bjhd->bihd", [(2, 3, 5, 7), (2, 7, 3, 8)]),
        ("bij, bjk", [(2, 3, 4), (2, 4, 5)]),
        ("zij,ajk->kzai", [(2, 3, 4), (5, 4, 6)]),
        ("...ij,...jk->...ik", [(1, 3, 5, 4), (2, 1, 4, 6)]),
        ("...ij,jk", [(2, 3, 5, 4), (4, 6)]),
        ("i,j->ij", [(3,), (5,)]),
        ("ij,ij->", [(3, 5), (3, 5)]),
        ("ijk,k->i", [(3, 5, 4), (4,)]),
        ("ijk->ki", [(3, 5, 4)]),
        ("ij->", [(3, 5)]),
    ],
)
def test_einsum(equation, shapes):
    g = Graph()
    names = [g.draw(f"x{i}", *shape) for i, shape in enumerate(shapes)]
    model = g.finish(g.Einsum(*names, equation=equation))
    check(g, model, attn.from_onnx(model))


def test_attention_of_einsums_is_flash():
    g = Graph()
    q, k, v = (g.draw(x, 2, 5, 3, 8, symbols=["batch", "length", 3, 8]) for x in "qkv")
    scores = g.Mul(g.Einsum(q, k, equation="bihd,bjhd->bhij"), g.constant(np.float32(8**-0.5)))
    model = g.finish(g.Einsum(g.Softmax(scores, axis=-1), v, equation="bhij,bjhd->bihd"))
    kernel = attn.from_onnx(model, fail_on_fallback=True)
    assert kernel.kernel.manifest["kernels"][0]["path"] == "flash"
    check(g, model, kernel)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ii,ij->j", [(3, 3), (3, 4)], "expected each label once"),
        ("ij,jk->iz", [(3, 4), (4, 5)], "expected labels of the result"),
        ("ijk,jk->i", [(3, 4), (4, 5)], "expected an operand of rank 3"),
        ("ij,jk->ik", [(3, 4), (5, 6)], "expected one size of 'j', found 4 and 5"),
        ("ij->i", [(3, 4), (5, 6)], "expected 2 terms"),
    ],
)
def test_einsum_refused(equation, shapes, message):
    g = Graph()
    names = [g.draw(f"x{i}", *shape) for i, shape in enumerate(shapes)]
    with pytest.raises(attn.CompileError, match=message):
        attn.from_onnx(g.finish(g.Einsum(*names, equation=equation)))


# Rotary embeddings by the formula, in f64.
def rotate(x, cos, sin, size, interleaved):
    """Of x (batch, heads, rows, head size); cos and sin are (batch, rows, size / 2)."""
    x = x.astype(np.float64)
    cos, sin = cos[:, None], sin[:, None]
    first, second = (
        (slice(0, size, 2), slice(1, size, 2)) if interleaved else (slice(size // 2), slice(size // 2, size))
    )
    y = x.copy()
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., first] * sin + x[..., second] * cos
    return y


@pytest.mark.parametrize(
    ("domain", "positions"), [("", "rows"), ("", "none"), ("com.microsoft", "rows"), ("com.microsoft", "start")]
)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("size", [0, 4])
def test_rotary_embedding(domain, interleaved, rank, positions, size):
    rng = np.random.default_rng(1)
    batch, heads, rows, width, half = 2, 3, 5, 10, (size or 10) // 2
    x = rng.standard_normal((batch, heads, rows, width)).astype(np.float32)
    shape = (batch, rows, half) if positions == "none" else (17, half)
    cos, sin = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    ids = rng.integers(0, 17, (batch, rows)) if positions == "rows" else np.array([4], np.int64)
    g = Graph()
    flat = x if rank == 4 else np.ascontiguousarray(x.swapaxes(1, 2)).reshape(batch, rows, -1)
    symbols = ["batch", heads, "rows", width] if rank == 4 else ["batch", "rows", heads * width]
    operands = [g.input("x", flat, symbols)]
    caches = [g.input("cos", cos, ["batch", "rows", half] if positions == "none" else None), g.input("sin", sin)]
    ids_name = [] if positions == "none" else [g.input("ids", ids)]
    operands += ids_name + caches if domain else caches + ids_name
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": size}
    if rank == 3:
        attributes["num_heads"] = heads
    model = g.finish(g.RotaryEmbedding(*operands, domain=domain, **attributes), opset=23)
    found = attn.from_onnx(model).kernel(*g.arrays)
    if positions == "rows":
        cos, sin = cos[ids], sin[ids]
    elif positions == "start":
        cos, sin = (np.repeat(c[None, 4 : 4 + rows], batch, 0) for c in (cos, sin))
    expected = rotate(x, cos, sin, size or width, interleaved)
    found = found if rank == 4 else found.reshape(batch, rows, heads, width).swapaxes(1, 2)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_rotary_embedding_refused():
    g = Graph()
    x, cache = g.draw("x", 2, 5, 30), g.draw("cos", 17, 5)
    ids = g.input("ids", np.zeros((2, 5), np.int64))
    with pytest.raises(attn.CompileError, match="expected num_heads that divides the last size"):
        attn.from_onnx(g.finish(g.RotaryEmbedding(x, cache, cache, ids, num_heads=4), opset=23))
    g.nodes.clear()
    with pytest.raises(attn.CompileError, match="expected caches of rank 3 without position_ids"):
        attn.from_onnx(g.finish(g.RotaryEmbedding(x, cache, cache, num_heads=3), opset=23))


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("skip", [(2, 5, 6), (1, 5, 6), (5, 6)])
def test_skip_normalizations(op, bias, skip):
    is_simplified = "Simplified" in op
    g = Graph()
    x = g.draw("x", 2, 5, 6)
    others = [g.draw("skip", *skip), g.draw("gamma", 6)]
    if not is_simplified:
        others.append(g.draw("beta", 6))
    if bias:
        others.append(g.draw("bias", 6))
    outputs = getattr(g, op)(x, *others, outputs=4, domain="com.microsoft", epsilon=1e-3)
    g.nodes[-1].output[1] = g.nodes[-1].output[2] = ""
    found, total = attn.from_onnx(g.finish(outputs[0], outputs[3])).kernel(*g.arrays)
    by_name = {i.name: a.astype(np.float64) for i, a in zip(g.inputs, g.arrays, strict=True)}
    s = by_name["x"] + by_name["skip"] + by_name.get("bias", 0)
    centered = s if is_simplified else s - s.mean(-1, keepdims=True)
    y = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-3) * by_name["gamma"] + by_name.get("beta", 0)
    np.testing.assert_allclose(total, s, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found, y, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_simplified_layer_normalization(domain):
    g = Graph()
    x = g.draw("x", 2, 5, 6)
    y = g.SimplifiedLayerNormalization(x, g.draw("scale", 6), domain=domain, axis=-1, epsilon=1e-3)
    found = attn.from_onnx(g.finish(y)).kernel(*g.arrays)
    a = g.arrays[0].astype(np.float64)
    expected = a / np.sqrt((a**2).mean(-1, keepdims=True) + 1e-3) * g.arrays[1]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("opset", [18, 21])
def test_channel_normalizations(opset):
    g = Graph()
    x = g.draw("x", 2, 6, 5, 7, symbols=["batch", 6, "height", 7])
    count = 6 if opset >= 21 else 3
    a = g.InstanceNormalization(x, g.weight(6), g.weight(6), epsilon=1e-3)
    b = g.GroupNormalization(x, g.weight(count), g.weight(count), num_groups=3)
    mean, variance = g.weight(6), g.constant(g.rng.uniform(0.5, 2, 6).astype(np.float32))
    c = g.BatchNormalization(x, g.weight(6), g.weight(6), mean, variance)
    follow(g, g.finish(a, b, c, opset=opset), (1, 6, 3, 7))


def test_half_precision():
    g = Graph()
    x = g.input("x", g.rng.standard_normal((2, 6, 13)).astype(np.float16))
    w = g.constant((0.2 * g.rng.standard_normal((6, 3, 3))).astype(np.float16))
    y = g.LogSoftmax(g.Conv(x, w, group=2), axis=1)
    model = g.finish(y, g.ArgMax(x, axis=1))
    check(g, model, attn.from_onnx(model), 5e-3)


def test_types_that_are_refused():
    g = Graph()
    x = g.input("x", np.ones((2, 3), bool))
    with pytest.raises(attn.CompileError, match="expected an input of numbers, found BOOL"):
        attn.from_onnx(g.finish(g.ArgMax(x)))


def save_external(folder, **options):
    """A product whose weights lie in the file w.bin, with their place as `options` have it."""
    g = Graph()
    x = g.draw("x", 5, 6)
    model = g.finish(g.MatMul(x, g.weight(6, 7)), opset=18)
    plain = onnx.ModelProto.FromString(model.SerializeToString())
    (tensor,) = model.graph.initializer
    (folder / "w.bin").write_bytes(bytes(64) + tensor.raw_data)
    place = {"location": "w.bin", "offset": "64", "length": str(6 * 7 * 4)} | options
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in place.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return g, plain


def test_external_data(tmp_path):
    g, model = save_external(tmp_path)
    check(g, model, attn.from_onnx(tmp_path / "model.onnx"))
    # Other weights are another kernel, also from the cache.
    data = np.fromfile(tmp_path / "w.bin", np.float32) * 2
    data.tofile(tmp_path / "w.bin")
    found = attn.from_onnx(tmp_path / "model.onnx").kernel(*g.arrays)
    np.testing.assert_allclose(found, 2 * attn.from_onnx(model).kernel(*g.arrays), rtol=1e-5)
    with pytest.raises(attn.CompileError, match="found them in another file; give the path of the model"):
        attn.from_onnx((tmp_path / "model.onnx").read_bytes())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"location": "../w.bin"}, "expected a location in the folder of the model, found '../w.bin'"),
        ({"location": "/etc/hostname"}, "expected a location in the folder of the model"),
        ({"location": "none.bin"}, "expected a file 'none.bin' in the folder of the model, found: No such file"),
        ({"location": "link.bin"}, "expected a file in the folder of the model, found 'link.bin', a link to"),
        ({"location": "sub"}, "expected a file, found 'sub', which is none"),
        ({"offset": "233"}, "expected an offset of at most 232"),
        ({"offset": "-1"}, "expected offset as a whole number"),
        ({"length": "169"}, "expected 169 bytes at 64 in 'w.bin', found 168"),
        ({"length": "164"}, "'w.bin': expected the 42 elements of a tensor, found 41"),
    ],
)
def test_external_data_refused(tmp_path, options, message):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "sub").mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(400))
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    save_external(folder, **options)
    with pytest.raises(attn.CompileError, match=message):
        attn.from_onnx(folder / "model.onnx")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scatter(depth):
    """Rows, parts of rows and elements that positions of the run name, one from the end; the last of two stays."""
    g = Graph()
    x = g.draw("x", 5, 4, 3, symbols=["length", 4, 3])
    places = np.array([[4, 3, 2], [0, 1, 0], [-3, -2, -1], [1, 0, 1], [0, 1, 0]])[:, :depth]
    updates = g.draw("updates", 5, *(5, 4, 3)[depth:], symbols=["count", *(5, 4, 3)[depth:]])
    y = g.ScatterND(g.Neg(x), g.input("places", places, ["count", depth]), updates)
    model = g.finish(g.Add(y, g.constant(np.float32(1))))
    check(g, model, attn.from_onnx(model))


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin"])
def test_reduction_of_integers(op):
    g = Graph()
    x = g.input("x", g.rng.integers(-100, 100, (3, 7, 5)), ["batch", "length", 5])
    follow(g, g.finish(getattr(g, op)(x, g.constant(numbers(1, 2)), keepdims=0)), (2, 1, 5))
