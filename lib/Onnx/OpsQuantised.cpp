//===- OpsQuantised.cpp - DequantizeLinear, MatMulNBits -------------------===//
//
// Constant weights of 4 and 8 bits, times scales of blocks. They become bytes
// without a zero point, and a product of them and the scales, which
// attn-tile-matmul moves into the products that read it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/Support/MathExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

/// The sizes of a tensor of larger blocks might overflow.
static constexpr int64_t kMaxBlock = 65536;

namespace {
/// A matrix of weights (row, column), and scales (block of rows, column).
struct Weights {
  int64_t rows, columns, block;
  std::vector<int8_t> numbers;
  std::vector<float> scales;
};
} // namespace

static bool isByte(const Value &value) { return value.element == DataType::Int8 || value.element == DataType::UInt8; }

static std::vector<float> getFloats(GraphBuilder &b, const Value &value) {
  std::vector<float> floats;
  auto elements = mlir::cast<mlir::DenseElementsAttr>(getElements(*value.data, b.getType(value)));
  for (llvm::APFloat element : elements.getValues<llvm::APFloat>()) {
    bool isRounded;
    element.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &isRounded);
    floats.push_back(element.convertToFloat());
  }
  return floats;
}

/// Stores number - zero; false if a byte does not hold it.
static bool store(int8_t &byte, int64_t number, int64_t zero) {
  byte = int8_t(number - zero);
  return byte == number - zero;
}

/// numbers[k][n] * scales[k / block][n] in f32
static Value addScaled(GraphBuilder &b, const Weights &weights) {
  auto getConstant = [&](DataType element, int64_t rows, auto &elements) {
    Value value = {element, {fixed(rows), fixed(weights.columns)}};
    value.ir = b.constant(mlir::DenseElementsAttr::get(b.getType(value), llvm::ArrayRef(elements)));
    return value;
  };
  Value numbers = getConstant(DataType::Int8, weights.rows, weights.numbers),
        scales = getConstant(DataType::Float, llvm::divideCeil(weights.rows, weights.block), weights.scales);
  Operand operands[] = {{&numbers, b.getDims(2)}, {&scales, {b.dim(0).floorDiv(weights.block), b.dim(1)}}};
  return b.addGeneric(b.addEmpty(DataType::Float, numbers.sizes), b.getDims(2), operands, 2, {}, [&](Args x) {
    return b.make<arith::MulFOp>(b.make<arith::SIToFPOp>(b.getF32Type(), x[0]), x[1]);
  });
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

/// The operands but the first are constants of the sizes that the attributes say.
static Error checkBlocks(NodeView &view, int64_t bits, int64_t depth, int64_t columns, int64_t block) {
  if (bits != 4 && bits != 8)
    return view.fail(formatv("expected weights of 4 or 8 bits, found {0}", bits));
  if (depth <= 0 || columns <= 0 || block < 16 || block > kMaxBlock || !llvm::isPowerOf2_64(block) ||
      depth > kMaxSize || columns > kMaxSize)
    return view.fail(formatv("expected K and N of at least 1 and a block_size of a power of 2 from 16 to 65536, found "
                             "{0}, {1} and {2}",
                             depth, columns, block));
  for (size_t i : {1, 2, 3})
    if (view.has(i) && !view.get(i).data)
      return view.fail(formatv("expected input {0} to be constant, found a value of the run", i));
  if (view.has(4))
    return view.fail("expected rows in their order, found g_idx; export it without act_order");
  int64_t blocks = llvm::divideCeil(depth, block);
  auto count = [&](size_t i) { return *getNumElements(view.get(i).data->type); };
  if (view.get(1).element != DataType::UInt8 || count(1) != columns * blocks * (block * bits / 8))
    return view.fail(formatv("expected {0} bytes of weights in UINT8, found {1} of {2}",
                             columns * blocks * (block * bits / 8), count(1),
                             getDataTypeName(int64_t(view.get(1).element))));
  if (!isFloat(view.get(2).element) || count(2) != columns * blocks)
    return view.fail(formatv("expected {0} scales in floats, found {1}", columns * blocks, count(2)));
  if (view.has(3) &&
      (view.get(3).element != DataType::UInt8 || count(3) != columns * int64_t(llvm::divideCeil(blocks * bits, 8))))
    return view.fail("expected zero points in UINT8, of as many bits as weights, found others");
  return Error::success();
}

/// Y = A * W + bias, W of bits along the rows of B, with scales and zero points of blocks.
static Expected<Values> buildMatMulNBits(NodeView &view) {
  GraphBuilder &b = view.b;
  int64_t bits = view.getInteger("bits", 4), depth = view.getInteger("K", 0), columns = view.getInteger("N", 0),
          block = view.getInteger("block_size", 32);
  if (!isFloat(view.get(0).element))
    return view.fail("expected rows of floats, found others");
  if (Error error = checkBlocks(view, bits, depth, columns, block))
    return std::move(error);
  int64_t blocks = llvm::divideCeil(depth, block);
  /// Element `i` of row `n` of bytes.
  auto getBits = [&](const Value &value, int64_t rowBytes, int64_t n, int64_t i) -> int64_t {
    auto byte = uint8_t(value.data->integers.empty() ? value.data->bytes[n * rowBytes + i * bits / 8]
                                                     : value.data->integers[n * rowBytes + i * bits / 8]);
    return bits == 8 ? byte : byte >> (i % 2 * 4) & 15;
  };
  Weights weights = {depth, columns, block, std::vector<int8_t>(depth * columns), std::vector<float>(blocks * columns)};
  std::vector<float> scales = getFloats(b, view.get(2));
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k) {
      int64_t zero = view.has(3) ? getBits(view.get(3), llvm::divideCeil(blocks * bits, 8), n, k / block)
                                 : int64_t(1) << (bits - 1);
      if (!store(weights.numbers[k * columns + n], getBits(view.get(1), blocks * block * bits / 8, n, k), zero))
        return view.fail("expected zero points of 8 bits near 128, found a weight that no byte holds without one");
      weights.scales[k / block * columns + n] = scales[n * blocks + k / block];
    }
  Expected<Value> product = multiply(view, view.get(0), addScaled(b, weights));
  if (!product || !view.has(5))
    return product ? Expected<Values>(one(*product)) : product.takeError();
  std::vector<const Value *> operands = {&*product, &view.get(5)};
  std::optional<Sizes> sizes = broadcastSizes(operands);
  if (!sizes || sizes->size() != product->getRank())
    return view.fail("expected a bias of N elements, found another");
  return one(b.addComputed(product->element, product->sizes, operands,
                           [&](Args x) { return b.make<arith::AddFOp>(x[0], x[1]); }));
}

//===----------------------------------------------------------------------===//
// DequantizeLinear
//===----------------------------------------------------------------------===//

/// (x - zero_point) * scale of a constant matrix; scales of columns, of blocks of rows, or one for all.
static Expected<Values> buildDequantizeLinear(NodeView &view) {
  const Value &matrix = view.get(0), &scale = view.get(1);
  if (!isByte(matrix) || !matrix.data || matrix.getRank() != 2 || !scale.data || (view.has(2) && !view.get(2).data))
    return view.fail("expected a constant matrix of INT8 or UINT8, with constant scales, found another");
  if (scale.element != DataType::Float)
    return view.fail("expected scales of FLOAT, found " + getDataTypeName(int64_t(scale.element)));
  int64_t rows = *matrix.sizes[0].number, columns = *matrix.sizes[1].number, count = *getNumElements(scale.data->type);
  Expected<size_t> axis = view.getAxis(view.getInteger("axis", 1), 2);
  if (!axis)
    return axis.takeError();
  int64_t block = view.getInteger("block_size", 0);
  bool isBlocked = block > 0 && *axis == 0 && scale.getRank() == 2;
  if (!isBlocked)
    block = std::max<int64_t>(rows, 1);
  int64_t blocks = llvm::divideCeil(rows, block);
  bool isOne = count == 1 && !isBlocked;
  if (!isOne && (isBlocked ? count != blocks * columns : scale.getRank() != 1 || *axis != 1 || count != columns))
    return view.fail("expected one scale, one a column, or one a column and block of rows, found others");
  if (view.has(2) && (*getNumElements(view.get(2).data->type) != count || view.get(2).element != matrix.element))
    return view.fail("expected as many zero points as scales, of the type of the weights, found others");
  Weights weights = {rows, columns, block, std::vector<int8_t>(rows * columns), std::vector<float>(blocks * columns)};
  std::vector<float> scales = getFloats(view.b, scale);
  std::vector<int64_t> numbers = getIntegers(*matrix.data), zeros(count);
  if (view.has(2))
    zeros = getIntegers(*view.get(2).data);
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t n = 0; n < columns; ++n) {
      int64_t at = isOne ? 0 : k / block * columns + n, place = k * columns + n;
      weights.scales[k / block * columns + n] = scales[at];
      if (!store(weights.numbers[place], numbers[place], zeros[at]))
        return view.fail("expected zero points near the middle, found a weight that no byte holds without one");
    }
  return one(addScaled(view.b, weights));
}

llvm::ArrayRef<RuleRow> attn::onnx::getQuantisedRules() {
  static constexpr RuleRow rows[] = {
      {"DequantizeLinear", buildDequantizeLinear, 2, 3, /*takesBytes=*/true},
      {"com.microsoft.DequantizeLinear", buildDequantizeLinear, 2, 3, /*takesBytes=*/true},
      {"com.microsoft.MatMulNBits", buildMatMulNBits, 3, 6, /*takesBytes=*/true}};
  return rows;
}
