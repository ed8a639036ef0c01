//===- OpsIntegers.cpp - shape arithmetic ---------------------------------===//
//
// Shapes, and what exporters calculate from them, are lists of numbers and of
// sizes that the run knows: nothing is printed for them but the arithmetic on
// such sizes.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn::onnx;
using llvm::StringRef;

using Sizes64 = std::vector<Size>;

/// Lists of at most this many elements.
static constexpr size_t kMaxIntegers = 256;

/// From `begin` to `end` as Python has them, both within 0 and size.
static int64_t clampIndex(int64_t index, int64_t size) {
  return std::clamp(index < 0 ? index + size : index, int64_t(0), size);
}

static Values one(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

static std::optional<Values> foldShape(NodeView &view) {
  if (!view.has(0))
    return std::nullopt;
  const Sizes &sizes = view.get(0).sizes;
  int64_t rank = int64_t(sizes.size());
  int64_t begin = clampIndex(view.getInteger("start", 0), rank), end = clampIndex(view.getInteger("end", rank), rank);
  Sizes64 integers;
  for (int64_t i = begin; i < end; ++i)
    integers.push_back(sizes[i]);
  return one(makeIntegers(DataType::Int64, std::move(integers)));
}

static std::optional<Values> foldSize(NodeView &view) {
  if (!view.has(0))
    return std::nullopt;
  Size product = fixed(1);
  for (const Size &size : view.get(0).sizes)
    product = view.text.multiply(product, size);
  return one(makeIntegers(DataType::Int64, {product}, /*isScalar=*/true));
}

static std::optional<Values> foldGather(NodeView &view) {
  std::optional<std::vector<int64_t>> indices = view.getNumbers(1);
  const Sizes64 &source = *view.get(0).integers;
  if (!indices || view.get(0).getRank() != 1 || view.get(1).getRank() > 1 || view.getInteger("axis", 0) > 0)
    return std::nullopt;
  Sizes64 integers;
  for (int64_t index : *indices) {
    int64_t place = index < 0 ? index + int64_t(source.size()) : index;
    if (place < 0 || place >= int64_t(source.size()))
      return std::nullopt;
    integers.push_back(source[place]);
  }
  return one(makeIntegers(view.get(0).element, std::move(integers), view.get(1).getRank() == 0));
}

static std::optional<Values> foldConcat(NodeView &view) {
  Sizes64 integers;
  for (const Value &value : view.operands) {
    if (!value || !value.integers || value.getRank() != 1 || integers.size() + value.integers->size() > kMaxIntegers)
      return std::nullopt;
    llvm::append_range(integers, *value.integers);
  }
  return one(makeIntegers(view.get(0).element, std::move(integers)));
}

static std::optional<Values> foldSlice(NodeView &view) {
  std::optional<std::vector<int64_t>> begins = view.getNumbers(1), ends = view.getNumbers(2), steps;
  steps = view.has(4) ? view.getNumbers(4) : std::vector<int64_t>{1};
  if (view.get(0).getRank() != 1 || !begins || !ends || !steps || begins->size() != 1 || ends->size() != 1 ||
      steps->size() != 1 || steps->front() != 1)
    return std::nullopt;
  const Sizes64 &source = *view.get(0).integers;
  int64_t begin = clampIndex(begins->front(), source.size()), end = clampIndex(ends->front(), source.size());
  return one(makeIntegers(view.get(0).element, Sizes64(source.begin() + begin, source.begin() + std::max(begin, end))));
}

/// Reshape, Squeeze, Unsqueeze, Identity: the same elements, of rank 0 or 1.
static std::optional<Values> foldView(NodeView &view) {
  const Value &source = view.get(0);
  StringRef op = view.getOp();
  if (op == "Reshape") {
    bool isScalar = view.has(1) && view.get(1).integers && view.get(1).integers->empty();
    std::optional<std::vector<int64_t>> sizes = view.getNumbers(1);
    if (!sizes || sizes->size() > 1 || source.getRank() > 1)
      return std::nullopt;
    bool isWhole = isScalar ? source.integers->size() == 1
                            : sizes->front() == -1 || sizes->front() == int64_t(source.integers->size());
    return isWhole ? std::optional(one(makeIntegers(source.element, *source.integers, isScalar))) : std::nullopt;
  }
  if (op == "Identity")
    return one(source);
  if (op == "Unsqueeze" ? source.getRank() != 0 : source.getRank() != 1 || source.integers->size() != 1)
    return std::nullopt;
  llvm::Expected<std::optional<std::vector<int64_t>>> axes = view.getList("axes", 1);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return std::nullopt;
  }
  if (*axes && (*axes)->size() != 1)
    return std::nullopt;
  return one(makeIntegers(source.element, *source.integers, /*isScalar=*/op == "Squeeze"));
}

static std::optional<Values> foldCast(NodeView &view) {
  DataType to = DataType(view.getInteger("to", 0));
  if (view.get(0).getRank() > 1 || (to != DataType::Int64 && to != DataType::Int32))
    return std::nullopt;
  for (const Size &size : *view.get(0).integers)
    if (to == DataType::Int32 && size.number && int32_t(*size.number) != *size.number)
      return std::nullopt;
  return one(makeIntegers(to, *view.get(0).integers, view.get(0).getRank() == 0));
}

static std::optional<Size> calculate(NodeView &view, const Size &lhs, const Size &rhs) {
  StringRef op = view.getOp();
  // Numbers far from what sizes are stay with the run.
  bool isComparison = llvm::is_contained({"Min", "Max", "Equal", "Less", "Greater"}, op);
  for (const Size &size : {lhs, rhs})
    if (size.number && (*size.number < -kMaxSize || *size.number > kMaxSize) && !isComparison)
      return std::nullopt;
  if (op == "Add")
    return view.text.add(lhs, rhs);
  if (op == "Sub")
    return view.text.subtract(lhs, rhs);
  if (op == "Mul")
    return view.text.multiply(lhs, rhs);
  if (op == "Div" && rhs.number && *rhs.number > 0) {
    if (lhs.number)
      return fixed(*lhs.number / *rhs.number);
    return view.text.divide(lhs, rhs);
  }
  if (op == "Mod" && lhs.number && *lhs.number >= 0 && rhs.number && *rhs.number > 0)
    return fixed(*lhs.number % *rhs.number);
  if (!lhs.number || !rhs.number)
    return op == "Equal" && isSame(lhs, rhs) ? std::optional(fixed(1)) : std::nullopt;
  return llvm::StringSwitch<std::optional<Size>>(op)
      .Case("Equal", fixed(*lhs.number == *rhs.number))
      .Case("Less", fixed(*lhs.number < *rhs.number))
      .Case("Greater", fixed(*lhs.number > *rhs.number))
      .Case("And", fixed(*lhs.number & *rhs.number))
      .Case("Or", fixed(*lhs.number | *rhs.number))
      .Case("Min", fixed(std::min(*lhs.number, *rhs.number)))
      .Case("Max", fixed(std::max(*lhs.number, *rhs.number)))
      .Default(std::nullopt);
}

/// Elements side by side, or one with each of a list.
static std::optional<Values> foldBinary(NodeView &view) {
  if (view.operands.size() != 2 || !view.has(1) || !view.get(1).integers || view.get(0).getRank() > 1 ||
      view.get(1).getRank() > 1)
    return std::nullopt;
  const Sizes64 &lhs = *view.get(0).integers, &rhs = *view.get(1).integers;
  if (lhs.empty() || rhs.empty() || (lhs.size() != rhs.size() && lhs.size() != 1 && rhs.size() != 1))
    return std::nullopt;
  Sizes64 integers;
  for (size_t i = 0, count = std::max(lhs.size(), rhs.size()); i < count; ++i) {
    std::optional<Size> size = calculate(view, lhs[lhs.size() == 1 ? 0 : i], rhs[rhs.size() == 1 ? 0 : i]);
    if (!size || (size->number && view.get(0).element == DataType::Int32 && int32_t(*size->number) != *size->number))
      return std::nullopt;
    integers.push_back(*size);
  }
  bool isCompare = llvm::is_contained({"Equal", "Less", "Greater"}, view.getOp());
  bool isLogic = llvm::is_contained({"And", "Or"}, view.getOp());
  if (!isCompare && isLogic != (view.get(0).element == DataType::Bool))
    return std::nullopt;
  return one(makeIntegers(isCompare ? DataType::Bool : view.get(0).element, std::move(integers),
                          view.get(0).getRank() == 0 && view.get(1).getRank() == 0));
}

static std::optional<Values> foldNot(NodeView &view) {
  std::optional<std::vector<int64_t>> numbers = view.getNumbers(0);
  if (!numbers || view.get(0).getRank() > 1 || view.get(0).element != DataType::Bool)
    return std::nullopt;
  Sizes64 integers;
  for (int64_t number : *numbers)
    integers.push_back(fixed(number == 0));
  return one(makeIntegers(DataType::Bool, std::move(integers), view.get(0).getRank() == 0));
}

static std::optional<Values> foldWhere(NodeView &view) {
  std::optional<std::vector<int64_t>> conditions = view.getNumbers(0);
  if (view.operands.size() != 3 || !conditions || !view.has(1) || !view.has(2) || !view.get(1).integers ||
      !view.get(2).integers)
    return std::nullopt;
  Sizes64 integers;
  for (size_t i = 0; i < conditions->size(); ++i) {
    const Value &chosen = view.get((*conditions)[i] ? 1 : 2);
    if (chosen.getRank() > 1 || (chosen.integers->size() != conditions->size() && chosen.integers->size() != 1))
      return std::nullopt;
    integers.push_back((*chosen.integers)[chosen.integers->size() == 1 ? 0 : i]);
  }
  if (view.get(0).getRank() != 1)
    return std::nullopt;
  return one(makeIntegers(view.get(1).element, std::move(integers)));
}

/// A short list of one value: the shape that is all ones, as exporters write Expand.
static std::optional<Values> foldConstantOfShape(NodeView &view) {
  std::optional<std::vector<int64_t>> sizes = view.getNumbers(0);
  const Attribute *attribute = view.node.findAttribute("value");
  if (!sizes || sizes->size() != 1 || sizes->front() < 0 || sizes->front() > int64_t(kMaxIntegers) || !attribute ||
      isFloat(DataType(attribute->tensor.type.elementType)))
    return std::nullopt;
  if (llvm::Error error = checkTensor(attribute->tensor)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  std::vector<int64_t> elements = getIntegers(attribute->tensor);
  if (elements.size() != 1)
    return std::nullopt;
  return one(
      makeIntegers(DataType(attribute->tensor.type.elementType), Sizes64(sizes->front(), fixed(elements.front()))));
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
  Fold fold =
      llvm::StringSwitch<Fold>(op)
          .Case("Gather", foldGather)
          .Case("Concat", foldConcat)
          .Case("Slice", foldSlice)
          .Cases({"Reshape", "Squeeze", "Unsqueeze", "Identity"}, foldView)
          .Case("Cast", foldCast)
          .Cases({"Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "Greater", "Min", "Max", "And", "Or"}, foldBinary)
          .Case("Not", foldNot)
          .Case("Where", foldWhere)
          .Case("ConstantOfShape", foldConstantOfShape)
          .Default(nullptr);
  return fold ? fold(view) : std::nullopt;
}
