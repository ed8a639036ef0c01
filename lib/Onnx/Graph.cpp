//===- Graph.cpp - a graph as functions -----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Graph.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

bool attn::onnx::isSoftmaxStep(const Node &node) {
  return isStandardDomain(node.domain) && (node.opType == "Softmax" || node.opType == "Exp");
}

static bool isProduct(const Node &node) {
  return isStandardDomain(node.domain) && (node.opType == "MatMul" || node.opType == "Gemm");
}

bool attn::onnx::isConstant(const Value &value) {
  auto isNumber = [](const Size &size) { return size.number.has_value(); };
  return !value.ir && (value.data || (value.integers && llvm::all_of(*value.integers, isNumber)));
}

Error attn::onnx::addInitializers(const Model &model, GraphFunction &function) {
  for (const auto &entry : model.initializers) {
    // A tensor that no rule supports is an error when a node reads it.
    if (Error error = checkTensor(entry.second))
      llvm::consumeError(std::move(error));
    else
      function.addConstant(entry.first(), makeConstant(entry.second));
  }
  return Error::success();
}

namespace {

/// Visits the nodes in their order, which is topological.
class Planner {
public:
  Planner(Model &model, mlir::MLIRContext &context, StringRef name) : model(model), name(name) {
    plan.function = std::make_unique<GraphFunction>(model, context);
  }
  Expected<GraphPlan> run();

private:
  Error addNode(size_t index);
  const Value *findAlike(StringRef output) const;
  Error addOperand(StringRef operand);
  void addType(StringRef value);
  void cutParts();
  std::vector<size_t> getLevels(const std::vector<bool> &isCovered) const;

  Model &model;
  StringRef name;
  GraphPlan plan;
  bool readsUnknown = false;         ///< the current node reads a value of an uncovered node without a known type
  llvm::StringMap<size_t> producers; ///< the node of each value that a node makes
};

} // namespace

/// Operators without a rule whose output has the type of their first input, with a space on each side.
static constexpr llvm::StringLiteral kSameType =
    " Acos Acosh Asin Asinh Atan Atanh BatchNormalization Celu Clip Cosh CumSum Elu HardSigmoid "
    "GroupNormalization Hardmax HardSwish InstanceNormalization LRN LogSoftmax LpNormalization Mish PRelu Round "
    "Selu Shrink Sign Sinh Softplus Softsign Tan ThresholdedRelu ";

/// The input of an uncovered operator, which has the type of the output.
const Value *Planner::findAlike(StringRef output) const {
  auto producer = producers.find(output);
  if (producer == producers.end())
    return nullptr;
  const Node &node = model.nodes[producer->second];
  bool isAlike =
      isStandardDomain(node.domain) && kSameType.contains((" " + node.opType + " ").str()) && !node.inputs.empty();
  return isAlike && output == node.outputs.front() ? plan.function->find(node.inputs.front()) : nullptr;
}

/// An operand without a covered producer becomes an argument.
Error Planner::addOperand(StringRef operand) {
  if (operand.empty() || plan.function->find(operand))
    return Error::success();
  if (auto found = model.initializers.find(operand); found != model.initializers.end())
    return checkTensor(found->second);
  auto found = model.types.find(operand);
  TensorType type = found == model.types.end() ? TensorType() : found->second;
  if (const Value *alike = type.hasShape ? nullptr : findAlike(operand))
    return plan.function->addArgumentLike(operand, *alike);
  readsUnknown |= producers.contains(operand) && (type.elementType == 0 || !type.hasShape);
  return plan.function->addArgument(operand, type);
}

Error Planner::addNode(size_t index) {
  const Node &node = model.nodes[index];
  for (StringRef operand : node.inputs)
    if (Error error = addOperand(operand))
      return error;
  if (Error error = plan.function->addNode(node))
    return error;
  for (StringRef value : node.outputs)
    addType(value);
  return Error::success();
}

/// The type of a value that the model does not declare.
void Planner::addType(StringRef valueName) {
  const Value *value = valueName.empty() ? nullptr : plan.function->find(valueName);
  TensorType &type = model.types[valueName];
  if (!value || (type.hasShape && type.elementType != 0))
    return;
  type = {int64_t(value->element), true, {}};
  for (const Size &size : value->sizes)
    type.shape.push_back({size.number, ""});
}

Expected<GraphPlan> Planner::run() {
  if (Error error = addInitializers(model, *plan.function))
    return std::move(error);
  for (StringRef input : model.inputs) {
    auto found = model.types.find(input);
    if (model.initializers.contains(input) || plan.function->find(input))
      continue;
    if (Error error = plan.function->addArgument(input, found->second))
      plan.problems.push_back((name + ": " + llvm::toString(std::move(error))).str());
  }
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    readsUnknown = false;
    if (Error error = addNode(i)) {
      std::string reason = llvm::toString(std::move(error));
      if (readsUnknown && hasRule(model.nodes[i]))
        plan.followers.push_back(i);
      plan.uncovered.emplace_back(i, readsUnknown && !hasRule(model.nodes[i]) ? "" : reason);
    }
    for (StringRef value : model.nodes[i].outputs)
      producers[value] = i;
  }
  for (StringRef output : model.outputs)
    if (plan.uncovered.empty() && !plan.function->find(output))
      plan.problems.push_back(formatv("{0}: expected a node that makes {1}, found none", name, quote(output)));
  if (!plan.problems.empty() || !plan.uncovered.empty() || model.outputs.empty())
    cutParts();
  else
    plan.isWhole = true;
  return std::move(plan);
}

/// From a covered node to an uncovered one the level grows: nodes of one level have no uncovered node between them.
std::vector<size_t> Planner::getLevels(const std::vector<bool> &isCovered) const {
  std::vector<size_t> levels(model.nodes.size(), 0);
  for (auto [i, node] : llvm::enumerate(model.nodes))
    for (StringRef operand : node.inputs)
      if (auto found = producers.find(operand); found != producers.end() && found->second < i)
        levels[i] = std::max(levels[i], levels[found->second] + (isCovered[found->second] && !isCovered[i]));
  return levels;
}

/// Covered nodes of one level that pass values to each other are a part.
void Planner::cutParts() {
  std::vector<bool> isCovered(model.nodes.size(), true);
  for (const auto &[index, reason] : plan.uncovered)
    isCovered[index] = false;
  std::vector<size_t> levels = getLevels(isCovered);
  llvm::IntEqClasses classes(model.nodes.size());
  for (auto [i, node] : llvm::enumerate(model.nodes))
    for (StringRef operand : node.inputs) {
      auto found = producers.find(operand);
      if (found == producers.end() || found->second >= i)
        continue;
      const Value *value = plan.function->find(operand);
      size_t other = found->second;
      if (isCovered[i] && isCovered[other] && levels[i] == levels[other] && value && !isConstant(*value) &&
          !value->integers) // lists of sizes do not join parts
        classes.join(i, other);
    }
  classes.compress();
  std::vector<std::vector<size_t>> parts(classes.getNumClasses());
  for (size_t i = 0; i < model.nodes.size(); ++i)
    if (isCovered[i])
      parts[classes[i]].push_back(i);
  for (std::vector<size_t> &part : parts) {
    auto getNode = [&](size_t index) -> const Node & { return model.nodes[index]; };
    bool hasSoftmax = llvm::any_of(part, [&](size_t index) { return isSoftmaxStep(getNode(index)); });
    if (hasSoftmax && llvm::count_if(part, [&](size_t index) { return isProduct(getNode(index)); }) >= 2)
      plan.parts.push_back(std::move(part));
  }
}

/// ONNX requires that each value is produced before it is read: then there is no cycle.
static Error checkOrder(const Model &model, StringRef name) {
  auto getLabel = [&](size_t index) {
    const Node &node = model.nodes[index];
    return quote(node.name.empty() ? StringRef(std::to_string(index)) : node.name);
  };
  llvm::StringMap<size_t> producers;
  for (auto [i, node] : llvm::enumerate(model.nodes))
    for (StringRef value : node.outputs)
      if (auto [known, isNew] = producers.try_emplace(value, i); !isNew && !value.empty())
        return llvm::createStringError(formatv("{0}: node {1}: expected values that no other node makes, found {2}, "
                                               "which node {3} makes as well; give it another name",
                                               name, getLabel(i), quote(value), getLabel(known->second)));
  for (auto [i, node] : llvm::enumerate(model.nodes))
    for (StringRef operand : node.inputs)
      if (auto known = producers.find(operand); !operand.empty() && known != producers.end() && known->second >= i)
        return llvm::createStringError(formatv("{0}: node {1}: expected inputs that nodes before it make, found {2}, "
                                               "which node {3} makes; sort the nodes, of which none may need its own "
                                               "output",
                                               name, getLabel(i), quote(operand), getLabel(known->second)));
  return Error::success();
}

Expected<GraphPlan> attn::onnx::planGraph(Model &model, mlir::MLIRContext &context, StringRef name) {
  if (Error error = checkOrder(model, name))
    return std::move(error);
  return Planner(model, context, name).run();
}
