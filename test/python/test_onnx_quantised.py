"""attn.from_onnx on products with weights of 4 and 8 bits, as ONNX Runtime's and ONNX's own quantisers write them."""

import numpy as np
import pytest

import attn
from graph_models import Graph

# Rows, depth, columns, block: few and many rows, depths that end in a block, columns that fill no panel.
SIZES = [
    (1, 1024, 1024, 32),
    (5, 1000, 256, 16),
    (113, 203, 128, 64),
    (8, 4096, 320, 128),
    (130, 64, 100, 32),
    (0, 96, 64, 32),
]


def close(found, rows, weights, *, bias=0.0):
    """Beside f64, as exact as a product of f32: the weights are exact."""
    expected = rows.astype(np.float64) @ weights + bias
    scale = (np.abs(rows).astype(np.float64) @ np.abs(weights)).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * scale)


def pack(numbers, bits):
    """Numbers along the last dimension in bytes, the first in the low bits."""
    if bits == 8:
        return numbers.astype(np.uint8)
    even = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, numbers.shape[-1] % 2)]).astype(np.uint8)
    return even[..., 0::2] | even[..., 1::2] << 4


def blocks_of(g, bits, depth, columns, block, *, has_zeros):
    """B, scales and zero points of MatMulNBits, and the matrix that they stand for."""
    count = -(-depth // block)
    middle = 1 << (bits - 1)
    # Of 8 bits and zero points: numbers whose differences fit in a byte.
    low, high = (60, 187) if bits == 8 and has_zeros else (0, 1 << bits)
    numbers = g.rng.integers(low, high, (columns, count, block))
    zeros = g.rng.integers(low, high, (columns, count)) if has_zeros else np.full((columns, count), middle)
    scales = g.rng.uniform(0.5, 2, (columns, count)).astype(np.float32)
    matrix = (numbers - zeros[..., None]) * scales[..., None].astype(np.float64)
    operands = [g.constant(pack(numbers, bits)), g.constant(scales.reshape(-1))]
    operands.append(g.constant(pack(zeros, bits).reshape(-1)) if has_zeros else "")
    return operands, matrix.reshape(columns, -1)[:, :depth].T


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("has_zeros", [False, True], ids=["middle", "zeros"])
@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "open"])
def test_matmul_nbits(size, bits, has_zeros, is_open):
    """The rows may be open, and a bias follows inside the node."""
    rows, depth, columns, block = size
    g = Graph()
    x = g.draw("x", rows, depth, symbols=["n", depth] if is_open else None)
    operands, matrix = blocks_of(g, bits, depth, columns, block, has_zeros=has_zeros)
    bias = g.rng.standard_normal(columns).astype(np.float32)
    words = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    y = g.MatMulNBits(x, *operands, "", g.constant(bias), domain="com.microsoft", **words)
    close(attn.from_onnx(g.finish(y))(*g.arrays), g.arrays[0], matrix, bias=bias)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["one", "columns", "blocks"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_dequantize_linear(size, kind, dtype):
    """DequantizeLinear in front of MatMul, with zero points, and an activation behind."""
    rows, depth, columns, block = size
    g = Graph()
    x = g.draw("x", rows, depth)
    shape = {"one": (), "columns": (columns,), "blocks": (-(-depth // block), columns)}[kind]
    info = np.iinfo(dtype)
    numbers = g.rng.integers(info.min + 60, info.max - 60, (depth, columns), endpoint=True).astype(dtype)
    middle = (info.min + info.max + 1) // 2
    zeros = g.rng.integers(middle - 9, middle + 9, shape).astype(dtype)
    scales = g.rng.uniform(0.01, 0.02, shape).astype(np.float32)
    words = {"axis": 0, "block_size": block} if kind == "blocks" else {"axis": 1}
    weights = g.DequantizeLinear(g.constant(numbers), g.constant(scales), g.constant(zeros), **words)
    y = g.Relu(g.MatMul(x, weights))
    spread = (lambda a: np.repeat(a, block, 0)[:depth]) if kind == "blocks" else (lambda a: a)
    matrix = (numbers - spread(zeros).astype(np.float64)) * spread(scales).astype(np.float64)
    found = attn.from_onnx(g.finish(y, opset=21))(*g.arrays)
    expected = np.maximum(g.arrays[0].astype(np.float64) @ matrix, 0)
    scale = (np.abs(g.arrays[0]).astype(np.float64) @ np.abs(matrix)).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * scale)


def test_refused():
    """What has no rule is named, and why."""
    g = Graph()
    x = g.draw("x", 1, 64)
    operands, _ = blocks_of(g, 4, 64, 64, 32, has_zeros=False)
    order = g.constant(np.arange(64, dtype=np.int32))
    y = g.MatMulNBits(x, *operands, order, domain="com.microsoft", K=64, N=64, bits=4, block_size=32)
    with pytest.raises(attn.CompileError, match="expected rows in their order, found g_idx"):
        attn.from_onnx(g.finish(y))
    g = Graph()
    numbers, scale, zero = (
        g.constant(np.zeros((64, 64), np.uint8)),
        g.constant(np.float32(1)),
        g.constant(np.uint8(200)),
    )
    y = g.MatMul(g.draw("x", 1, 64), g.DequantizeLinear(numbers, scale, zero))
    with pytest.raises(attn.CompileError, match="found a weight that no byte holds without one"):
        attn.from_onnx(g.finish(y, opset=21))
