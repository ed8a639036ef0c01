//===- GraphOps.cpp - a rule an operator ----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Graph.h"
#include "Places.h"
#include "Shared.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

/// The largest rank of tensors between nodes.
static constexpr size_t kMaxRank = 8;

//===----------------------------------------------------------------------===//
// Attributes and operands
//===----------------------------------------------------------------------===//

static const Attribute *find(const Node &node, StringRef name, Attribute::Kind kind) {
  const Attribute *attribute = node.findAttribute(name);
  return attribute && attribute->kind == int64_t(kind) ? attribute : nullptr;
}

int64_t NodeView::getInteger(StringRef name, int64_t other) const {
  const Attribute *attribute = find(node, name, Attribute::Kind::Int);
  return attribute ? attribute->integer : other;
}

double NodeView::getReal(StringRef name, double other) const {
  const Attribute *attribute = find(node, name, Attribute::Kind::Float);
  return attribute ? attribute->real : other;
}

StringRef NodeView::getString(StringRef name, StringRef other) const {
  const Attribute *attribute = find(node, name, Attribute::Kind::String);
  return attribute ? attribute->string : other;
}

std::optional<std::vector<int64_t>> NodeView::getIntegers(StringRef name) const {
  const Attribute *attribute = find(node, name, Attribute::Kind::Ints);
  return attribute ? std::optional(attribute->integers) : std::nullopt;
}

std::optional<std::vector<int64_t>> NodeView::getNumbers(size_t index) const {
  if (!has(index) || !get(index).integers)
    return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Size &size : *get(index).integers) {
    if (!size.number)
      return std::nullopt;
    numbers.push_back(*size.number);
  }
  return numbers;
}

Expected<std::optional<std::vector<int64_t>>> NodeView::getList(StringRef name, size_t operand) const {
  if (!has(operand))
    return getIntegers(name);
  if (std::optional<std::vector<int64_t>> numbers = getNumbers(operand))
    return numbers;
  return fail("expected " + name + " as a constant, found a value of the run");
}

Expected<size_t> NodeView::getAxis(int64_t axis, size_t rank) const {
  int64_t limit = int64_t(rank);
  if (axis < -limit || axis >= limit)
    return fail(formatv("expected an axis from {0} to {1}, found {2}", -limit, limit - 1, axis));
  return axis < 0 ? axis + limit : axis;
}

Expected<std::vector<size_t>> NodeView::getAxes(llvm::ArrayRef<int64_t> axes, size_t rank) const {
  std::vector<size_t> result;
  for (int64_t axis : axes) {
    Expected<size_t> found = getAxis(axis, rank);
    if (!found)
      return found.takeError();
    if (llvm::is_contained(result, *found))
      return fail(formatv("expected each axis once, found {0} again", axis));
    result.push_back(*found);
  }
  llvm::sort(result);
  return result;
}

Error attn::onnx::checkOperands(const NodeView &view, size_t least, size_t most) {
  size_t found = view.operands.size();
  if (found < least || found > most)
    return view.fail(formatv("expected {0} to {1} inputs, found {2}", least, most, found));
  for (size_t i = 0; i < least; ++i)
    if (!view.has(i))
      return view.fail(formatv("expected input {0}, found it left out", i));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static const llvm::StringMap<RuleRow> &getRules() {
  static const llvm::StringMap<RuleRow> rules = [] {
    llvm::StringMap<RuleRow> table;
    for (llvm::ArrayRef<RuleRow> family :
         {getElementwiseRules(), getMovementRules(), getIndexingRules(), getProductRules(), getQuantisedRules(),
          getConvolutionRules(), getEinsumRules(), getPoolRules(), getRepeatRules(), getSelectionRules(),
          getResizeRules(), getRotaryRules(), getReductionRules(), getNormalisationRules(), getAttentionRules()})
      for (const RuleRow &row : family)
        table.try_emplace(row.op, row);
    return table;
  }();
  return rules;
}

static std::string getRuleName(const Node &node) {
  return isStandardDomain(node.domain) ? node.opType.str() : (node.domain + "." + node.opType).str();
}

bool attn::onnx::hasRule(const Node &node) {
  std::string name = getRuleName(node);
  return getRules().contains(name) || name == "Shape" || name == "Size"; // only foldIntegers handles these two
}

Error attn::onnx::checkValue(const Value &value) {
  TensorType type = {int64_t(value.element), true, {}};
  for (const Size &size : value.sizes)
    type.shape.push_back({size.number.value_or(1), ""});
  if (value.getRank() > kMaxRank)
    return llvm::createStringError(formatv("expected tensors of rank 0 to {0}, found {1}", kMaxRank, value.getRank()));
  if (!getNumElements(type))
    return llvm::createStringError(
        formatv("expected sizes from 0 to {0} and at most {1} elements, found others", kMaxSize, kMaxElements));
  return Error::success();
}

Expected<Values> attn::onnx::buildNode(NodeView &view) {
  for (const Function &function : view.model.functions)
    if (function.name == view.getOp() && function.domain == view.node.domain)
      return view.fail("expected ONNX's own operator, found a function of the model; write onnx.inliner."
                       "inline_local_functions");
  for (const Attribute &attribute : view.node.attributes)
    if (!attribute.reference.empty())
      return view.fail("expected values of attributes, found a reference to " + quote(attribute.reference));
  if (!isStandardDomain(view.node.domain) && view.node.domain != kMicrosoftDomain)
    return view.fail("expected an operator of ONNX or com.microsoft, found the domain " + quote(view.node.domain));
  auto rule = getRules().find(getRuleName(view.node));
  auto holdsBytes = [](const Value &value) {
    return llvm::is_contained({DataType::Int8, DataType::UInt8}, value.element);
  };
  if (auto bytes = llvm::find_if(view.operands, holdsBytes);
      bytes != view.operands.end() && rule != getRules().end() && !rule->second.takesBytes)
    return view.fail("expected operands of 16 bits or more, or BOOL, found " +
                     getDataTypeName(int64_t(bytes->element)));
  std::optional<Values> results;
  if (isStandardDomain(view.node.domain))
    results = foldIntegers(view);
  if (!results) {
    if (rule == getRules().end())
      return view.fail("");
    if (Error error = checkOperands(view, rule->second.least, rule->second.most))
      return std::move(error);
    Expected<Values> built = rule->second.rule(view);
    if (!built)
      return built.takeError();
    results = std::move(*built);
    notePlaces(view, *results);
  }
  for (const Value &value : *results)
    if (Error error = checkValue(value))
      return std::move(error);
  for (size_t i = results->size(); i < view.node.outputs.size(); ++i)
    if (view.asks(i))
      return view.fail(formatv("expected {0} outputs, found output {1}", results->size(), i));
  return std::move(*results);
}

Expected<Values> attn::onnx::buildAs(NodeView &view, StringRef op, Values operands, std::vector<Attribute> attributes) {
  Node node;
  node.name = view.node.name;
  node.opType = op;
  node.attributes = std::move(attributes);
  NodeView part(node, std::move(operands), view.model, view.b);
  return buildNode(part);
}

Attribute attn::onnx::makeAttribute(StringRef name, int64_t integer) {
  Attribute attribute;
  attribute.name = name;
  attribute.kind = int64_t(Attribute::Kind::Int);
  attribute.integer = integer;
  return attribute;
}

Attribute attn::onnx::makeAttribute(StringRef name, float real) {
  Attribute attribute;
  attribute.name = name;
  attribute.kind = int64_t(Attribute::Kind::Float);
  attribute.real = real;
  return attribute;
}
