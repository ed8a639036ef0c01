//===- OpsIntegers.cpp - shape arithmetic ---------------------------------===//
//
// Shapes, and integers that exporters compute from them, are lists of constants
// and dynamic sizes: only arithmetic on the latter is built. OpsLists.cpp moves
// lists.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Lists.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn::onnx;
using llvm::StringRef;
using Predicate = arith::CmpIPredicate;

/// A bound of a slice as in Python, clamped to [0, size].
static int64_t clampIndex(int64_t index, int64_t size) {
  return std::clamp(index < 0 ? index + size : index, int64_t(0), size);
}

static std::optional<Values> foldShape(NodeView &view) {
  if (!view.has(0))
    return std::nullopt;
  const Sizes &sizes = view.get(0).sizes;
  int64_t rank = int64_t(sizes.size());
  int64_t begin = clampIndex(view.getInteger("start", 0), rank), end = clampIndex(view.getInteger("end", rank), rank);
  Sizes integers;
  for (int64_t i = begin; i < end; ++i)
    integers.push_back(sizes[i]);
  return Values{makeIntegers(DataType::Int64, std::move(integers))};
}

static std::optional<Values> foldSize(NodeView &view) {
  if (!view.has(0))
    return std::nullopt;
  return Values{makeIntegers(DataType::Int64, {view.b.multiply(view.get(0).sizes)}, /*isScalar=*/true)};
}

/// False if an element type cannot represent the number.
static bool fits(DataType element, const Size &size) {
  return !size.number || element != DataType::Int32 || int32_t(*size.number) == *size.number;
}

static std::optional<Values> foldCast(NodeView &view) {
  DataType to = DataType(view.getInteger("to", 0));
  if (to != DataType::Int64 && to != DataType::Int32 && to != DataType::Bool)
    return std::nullopt;
  Sizes integers;
  for (const Size &size : *view.get(0).integers) {
    integers.push_back(size);
    if (to == DataType::Bool && view.get(0).element != DataType::Bool)
      integers.back() = view.b.subtract(fixed(1), view.b.test(Predicate::eq, size, fixed(0)));
    if (!fits(to, integers.back()))
      return std::nullopt;
  }
  return Values{makeList(to, view.get(0).sizes, std::move(integers))};
}

static std::optional<Size> calculate(NodeView &view, const Size &lhs, const Size &rhs) {
  StringRef op = view.getOp();
  GraphBuilder &b = view.b;
  // Numbers that are too large for sizes are computed at run time.
  bool isArithmetic = llvm::is_contained({"Add", "Sub", "Mul", "Div", "Mod"}, op);
  for (const Size &size : {lhs, rhs})
    if (size.number && (*size.number < -kMaxSize || *size.number > kMaxSize) && isArithmetic)
      return std::nullopt;
  if (op == "Add")
    return b.add(lhs, rhs);
  if (op == "Sub")
    return b.subtract(lhs, rhs);
  if (op == "Mul")
    return b.multiply(lhs, rhs);
  if (op == "Div" || op == "Mod") {
    if (!rhs.number || *rhs.number <= 0 || (op == "Mod" && !b.getSizes().isNatural(b.getSizes().get(lhs))))
      return std::nullopt;
    Size quotient = b.divide(lhs, rhs);
    return op == "Div" ? quotient : b.subtract(lhs, b.multiply(quotient, rhs));
  }
  if (op == "Equal")
    return b.test(Predicate::eq, lhs, rhs);
  if (op == "Less")
    return b.test(Predicate::slt, lhs, rhs);
  if (op == "Greater")
    return b.test(Predicate::slt, rhs, lhs);
  if (op == "LessOrEqual")
    return b.test(Predicate::sle, lhs, rhs);
  if (op == "GreaterOrEqual")
    return b.test(Predicate::sle, rhs, lhs);
  if (op == "And")
    return b.multiply(lhs, rhs);
  return op == "Min" || (op != "Or" && op != "Max") ? b.minimum(lhs, rhs) : b.maximum(lhs, rhs);
}

static std::optional<Values> foldBinary(NodeView &view) {
  if (view.operands.size() != 2 || !view.has(1) || !view.get(1).integers)
    return std::nullopt;
  const Value &lhs = view.get(0), &rhs = view.get(1);
  bool isTest = llvm::is_contained({"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}, view.getOp());
  bool isLogic = llvm::is_contained({"And", "Or"}, view.getOp());
  if ((!isTest && isLogic != (lhs.element == DataType::Bool)) || lhs.element != rhs.element)
    return std::nullopt;
  std::optional<Sizes> sizes = getCommonSizes({&lhs, &rhs});
  if (!sizes)
    return std::nullopt;
  Sizes integers, left = broadcastList(lhs, *sizes), right = broadcastList(rhs, *sizes);
  for (auto [a, b] : llvm::zip(left, right)) {
    std::optional<Size> size = calculate(view, a, b);
    if (!size || !fits(lhs.element, *size))
      return std::nullopt;
    integers.push_back(*size);
  }
  return Values{makeList(isTest ? DataType::Bool : lhs.element, *sizes, std::move(integers))};
}

static std::optional<Values> foldUnary(NodeView &view) {
  const Value &value = view.get(0);
  GraphBuilder &b = view.b;
  bool isNot = view.getOp() == "Not";
  if (isNot != (value.element == DataType::Bool))
    return std::nullopt;
  Sizes integers;
  for (const Size &size : *value.integers) {
    if (size.number && (*size.number < -kMaxSize || *size.number > kMaxSize))
      return std::nullopt;
    Size negative = b.subtract(fixed(isNot ? 1 : 0), size);
    integers.push_back(view.getOp() == "Abs" ? b.maximum(size, negative) : negative);
  }
  return Values{makeList(value.element, value.sizes, std::move(integers))};
}

static std::optional<Values> foldWhere(NodeView &view) {
  if (view.operands.size() != 3 || !view.has(1) || !view.has(2) || !view.get(1).integers || !view.get(2).integers)
    return std::nullopt;
  std::optional<Sizes> sizes = getCommonSizes({&view.get(0), &view.get(1), &view.get(2)});
  if (!sizes || view.get(1).element != view.get(2).element)
    return std::nullopt;
  Sizes conditions = broadcastList(view.get(0), *sizes), integers;
  Sizes lhs = broadcastList(view.get(1), *sizes), rhs = broadcastList(view.get(2), *sizes);
  for (auto [condition, left, right] : llvm::zip(conditions, lhs, rhs))
    integers.push_back(view.b.choose(condition, left, right));
  return Values{makeList(view.get(1).element, *sizes, std::move(integers))};
}

/// Reduces all elements, as exporters do to count them.
static std::optional<Values> foldReduce(NodeView &view) {
  const Value &value = view.get(0);
  auto axes = drop(view.getList("axes", 1));
  if (!axes)
    return std::nullopt;
  if (value.getRank() > 1 || value.integers->empty() || value.element == DataType::Bool)
    return std::nullopt;
  if ((!*axes || (*axes)->empty()) && view.getInteger("noop_with_empty_axes", 0) != 0)
    return Values{value};
  StringRef op = view.getOp();
  Size result = value.integers->front();
  for (const Size &size : llvm::drop_begin(*value.integers))
    result = op == "ReduceProd"  ? view.b.multiply(result, size)
             : op == "ReduceSum" ? view.b.add(result, size)
             : op == "ReduceMax" ? view.b.maximum(result, size)
                                 : view.b.minimum(result, size);
  if (!fits(value.element, result))
    return std::nullopt;
  bool keepsRank = value.getRank() == 1 && view.getInteger("keepdims", 1) != 0;
  return Values{makeIntegers(value.element, {result}, !keepsRank)};
}

/// A short list of one value: the shape that is all ones, as exporters write Expand.
static std::optional<Values> foldConstantOfShape(NodeView &view) {
  std::optional<std::vector<int64_t>> shape = view.getNumbers(0);
  const Attribute *attribute = view.node.findAttribute("value");
  if (!shape || shape->size() > 1 || !attribute || isFloat(DataType(attribute->tensor.type.elementType)))
    return std::nullopt;
  int64_t count = shape->empty() ? 1 : shape->front();
  if (llvm::Error error = checkTensor(attribute->tensor)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  std::vector<int64_t> elements = getIntegers(attribute->tensor);
  if (elements.size() != 1 || count < 0 || count > int64_t(kMaxList))
    return std::nullopt;
  return Values{makeList(DataType(attribute->tensor.type.elementType), *view.get(0).integers,
                         Sizes(count, fixed(elements.front())))};
}

std::optional<Values> attn::onnx::foldIntegers(NodeView &view) {
  StringRef op = view.getOp();
  if (op == "Shape")
    return foldShape(view);
  if (op == "Size")
    return foldSize(view);
  if (!view.has(0) || !view.get(0).integers)
    return std::nullopt;
  using Fold = std::optional<Values> (*)(NodeView &);
  Fold fold = llvm::StringSwitch<Fold>(op)
                  .Case("Cast", foldCast)
                  .Cases({"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "And", "Or"}, foldBinary)
                  .Cases({"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}, foldBinary)
                  .Cases({"Not", "Neg", "Abs"}, foldUnary)
                  .Cases({"ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"}, foldReduce)
                  .Case("Where", foldWhere)
                  .Case("ConstantOfShape", foldConstantOfShape)
                  .Default(nullptr);
  return fold ? fold(view) : moveList(view);
}
