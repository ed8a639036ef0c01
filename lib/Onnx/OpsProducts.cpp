//===- OpsProducts.cpp - MatMul, Gemm -------------------------------------===//
//
// One contraction each, with sums in f32 for narrower floats.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

Error attn::onnx::checkFloats(NodeView &view, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!isFloat(view.get(i).element) || view.get(i).element != view.get(0).element)
      return view.fail("expected inputs of one type of floats, found " + getDataTypeName(int64_t(view.get(i).element)));
  return Error::success();
}

Value attn::onnx::addContraction(GraphBuilder &b, const Sizes &sizes, const Exprs &map,
                                 llvm::ArrayRef<Operand> operands, size_t loops, llvm::ArrayRef<size_t> reductions) {
  DataType element = operands[0].value->element, type = getComputeType(element);
  Value sum = b.addGeneric(b.addZeros(type, sizes), map, operands, loops, reductions, [&](Args x) {
    mlir::Value lhs = b.cast(x[0], x[2].getType()), rhs = b.cast(x[1], x[2].getType());
    return b.make<arith::AddFOp>(x[2], b.make<arith::MulFOp>(lhs, rhs));
  });
  return b.cast(sum, element);
}

/// The last two dimensions are matrices; the leading ones broadcast.
Expected<Value> attn::onnx::multiply(NodeView &view, Value lhs, Value rhs) {
  GraphBuilder &b = view.b;
  bool isRow = lhs.getRank() == 1, isColumn = rhs.getRank() == 1;
  if (lhs.getRank() == 0 || rhs.getRank() == 0)
    return view.fail("expected inputs of rank 1 or more, found rank 0");
  if (isRow)
    lhs = b.reshape(lhs, {fixed(1), lhs.sizes[0]});
  if (isColumn)
    rhs = b.reshape(rhs, {rhs.sizes[0], fixed(1)});
  Size inner = lhs.sizes.back(), rows = lhs.sizes[lhs.getRank() - 2], columns = rhs.sizes.back();
  if (!canMeet(inner, rhs.sizes[rhs.getRank() - 2]))
    return view.fail(formatv("expected as many columns of the first input as rows of the second, found {0} and {1}",
                             *inner.number, *rhs.sizes[rhs.getRank() - 2].number));
  Value before = lhs, after = rhs;
  before.sizes.resize(lhs.getRank() - 2);
  after.sizes.resize(rhs.getRank() - 2);
  std::optional<Sizes> batch = broadcastSizes({&before, &after});
  if (!batch)
    return view.fail("expected batches that broadcast to each other, found others");
  size_t count = batch->size();
  auto getMap = [&](const Value &value, size_t row, size_t column) {
    Exprs map;
    for (size_t i = 0; i + 2 < value.getRank(); ++i) {
      size_t dim = count - (value.getRank() - 2) + i;
      bool isRepeated = value.sizes[i].number == 1 && (*batch)[dim].number != 1;
      map.push_back(isRepeated ? b.getAffineConstantExpr(0) : b.dim(dim));
    }
    map.append({b.dim(row), b.dim(column)});
    return map;
  };
  Sizes sizes = *batch;
  sizes.push_back(rows);
  sizes.push_back(columns);
  Operand operands[] = {{&lhs, getMap(lhs, count, count + 2)}, {&rhs, getMap(rhs, count + 2, count + 1)}};
  Value product = addContraction(b, sizes, b.getDims(count + 2), operands, count + 3, {count + 2});
  if (isRow)
    sizes.erase(sizes.end() - 2);
  if (isColumn)
    sizes.pop_back();
  return b.reshape(product, sizes);
}

static Expected<Values> buildMatMul(NodeView &view) {
  if (Error error = checkFloats(view, 2))
    return std::move(error);
  Expected<Value> product = multiply(view, view.get(0), view.get(1));
  if (!product)
    return product.takeError();
  return one(*product);
}

/// alpha * A' * B' + beta * C
static Expected<Values> buildGemm(NodeView &view) {
  if (Error error = checkFloats(view, view.has(2) ? 3 : 2))
    return std::move(error);
  if (view.get(0).getRank() != 2 || view.get(1).getRank() != 2)
    return view.fail("expected matrices of rank 2, found others");
  Value lhs = view.get(0), rhs = view.get(1);
  if (view.getInteger("transA", 0))
    lhs = view.b.transpose(lhs, {1, 0});
  if (view.getInteger("transB", 0))
    rhs = view.b.transpose(rhs, {1, 0});
  Expected<Value> product = multiply(view, lhs, rhs);
  if (!product)
    return product.takeError();
  double alpha = view.getReal("alpha", 1.0), beta = view.has(2) ? view.getReal("beta", 1.0) : 0.0;
  std::vector<const Value *> operands = {&*product};
  if (view.has(2))
    operands.push_back(&view.get(2));
  std::optional<Sizes> sizes = broadcastSizes(operands);
  if (!sizes || sizes->size() != 2 || !canMeet((*sizes)[0], product->sizes[0]) ||
      !canMeet((*sizes)[1], product->sizes[1]))
    return view.fail("expected C that broadcasts to the product, found others");
  if (alpha == 1.0 && !view.has(2))
    return one(*product);
  return one(view.b.addComputed(product->element, product->sizes, operands, [&](Args x) {
    auto scale = [&](mlir::Value value, double factor) {
      return factor == 1.0 ? value : view.b.make<arith::MulFOp>(value, view.b.real(factor, value.getType()));
    };
    mlir::Value result = scale(x[0], alpha);
    return view.has(2) ? view.b.make<arith::AddFOp>(result, scale(x[1], beta)) : result;
  }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getProductRules() {
  static constexpr RuleRow rows[] = {{"Gemm", buildGemm, 2, 3}, {"MatMul", buildMatMul, 2, 2}};
  return rows;
}
