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

Value attn::onnx::addContraction(GraphText &text, const Sizes &sizes, const std::vector<std::string> &map,
                                 llvm::ArrayRef<Operand> operands, size_t loops, llvm::ArrayRef<size_t> reductions) {
  DataType element = operands[0].value->element, type = getComputeType(element);
  Value zeros = text.addFilled(type, sizes, "0.0");
  Value sum = text.addGeneric(zeros, map, operands, loops, reductions, [&](Body &body, const Names &names) {
    std::string name = getElementName(type).str(), lhs = body.cast(names[0], element, type);
    std::string rhs = body.cast(names[1], element, type);
    std::string product = body.add("arith.mulf " + lhs + ", " + rhs + " : " + name);
    return body.add("arith.addf " + names[2] + ", " + product + " : " + name);
  });
  return text.cast(sum, element);
}

/// The last two dimensions are matrices; those in front broadcast.
static Expected<Value> multiply(NodeView &view, Value lhs, Value rhs) {
  GraphText &text = view.text;
  bool isRow = lhs.getRank() == 1, isColumn = rhs.getRank() == 1;
  if (lhs.getRank() == 0 || rhs.getRank() == 0)
    return view.fail("expected inputs of rank 1 or more, found rank 0");
  if (isRow)
    lhs = text.reshape(lhs, {fixed(1), lhs.sizes[0]});
  if (isColumn)
    rhs = text.reshape(rhs, {rhs.sizes[0], fixed(1)});
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
    std::vector<std::string> map;
    for (size_t i = 0; i + 2 < value.getRank(); ++i) {
      size_t dim = count - (value.getRank() - 2) + i;
      map.push_back(value.sizes[i].number == 1 && (*batch)[dim].number != 1 ? "0" : "d" + std::to_string(dim));
    }
    map.push_back("d" + std::to_string(row));
    map.push_back("d" + std::to_string(column));
    return map;
  };
  Sizes sizes = *batch;
  sizes.push_back(rows);
  sizes.push_back(columns);
  Operand operands[] = {{&lhs, getMap(lhs, count, count + 2)}, {&rhs, getMap(rhs, count + 2, count + 1)}};
  Value product = addContraction(text, sizes, getDims(count + 2), operands, count + 3, {count + 2});
  if (isRow)
    sizes.erase(sizes.end() - 2);
  if (isColumn)
    sizes.pop_back();
  return text.reshape(product, sizes);
}

static Expected<Values> printMatMul(NodeView &view) {
  if (Error error = checkOperands(view, 2, 2))
    return std::move(error);
  if (Error error = checkFloats(view, 2))
    return std::move(error);
  Expected<Value> product = multiply(view, view.get(0), view.get(1));
  if (!product)
    return product.takeError();
  return one(*product);
}

/// alpha * A' * B' + beta * C
static Expected<Values> printGemm(NodeView &view) {
  if (Error error = checkOperands(view, 2, 3))
    return std::move(error);
  if (Error error = checkFloats(view, view.has(2) ? 3 : 2))
    return std::move(error);
  if (view.get(0).getRank() != 2 || view.get(1).getRank() != 2)
    return view.fail("expected matrices of rank 2, found others");
  Value lhs = view.get(0), rhs = view.get(1);
  if (view.getInteger("transA", 0))
    lhs = view.text.transpose(lhs, {1, 0});
  if (view.getInteger("transB", 0))
    rhs = view.text.transpose(rhs, {1, 0});
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
  DataType element = product->element, type = getComputeType(element);
  return one(view.text.addElementwise(element, product->sizes, operands, [&](Body &body, const Names &names) {
    std::string name = getElementName(type).str();
    auto scale = [&](std::string value, double factor) {
      value = body.cast(value, element, type);
      if (factor == 1.0)
        return value;
      std::string constant = body.add(formatv("arith.constant {0:e17} : {1}", factor, name).str());
      return body.add("arith.mulf " + value + ", " + constant + " : " + name);
    };
    std::string result = scale(names[0], alpha);
    if (view.has(2))
      result = body.add("arith.addf " + result + ", " + scale(names[1], beta) + " : " + name);
    return body.cast(result, type, element);
  }));
}

llvm::ArrayRef<RuleRow> attn::onnx::getProductRules() {
  static constexpr RuleRow rows[] = {{"Gemm", printGemm}, {"MatMul", printMatMul}};
  return rows;
}
