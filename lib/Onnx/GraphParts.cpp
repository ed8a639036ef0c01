//===- GraphParts.cpp - a part of a graph as a function --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

class PartBuilder {
public:
  PartBuilder(const Model &model, mlir::MLIRContext &context, const GraphFunction &whole, llvm::ArrayRef<size_t> nodes)
      : model(model), whole(whole), nodes(nodes), function(model, context) {}
  Expected<mlir::func::FuncOp> build(StringRef name);

private:
  std::vector<StringRef> getOperands() const;
  Error addArgument(StringRef operand);
  bool isList(StringRef operand) const;
  Error addOperand(StringRef operand);
  Error addList(StringRef operand);
  std::vector<StringRef> getResults() const;

  const Model &model;
  const GraphFunction &whole;
  llvm::ArrayRef<size_t> nodes;
  GraphFunction function;
  llvm::StringMap<size_t> producers; ///< the node of each value
};

} // namespace

/// The values that the part reads but does not produce, each once.
std::vector<StringRef> PartBuilder::getOperands() const {
  llvm::StringSet<> inside, seen;
  for (size_t index : nodes)
    for (StringRef value : model.nodes[index].outputs)
      inside.insert(value);
  std::vector<StringRef> operands;
  for (size_t index : nodes)
    for (StringRef operand : model.nodes[index].inputs)
      if (!operand.empty() && !inside.contains(operand) && seen.insert(operand).second)
        operands.push_back(operand);
  return operands;
}

/// Sizes that are equal in the whole graph are equal here.
Error PartBuilder::addArgument(StringRef operand) {
  if (const Value *value = whole.find(operand))
    return function.addArgument(operand, *value);
  auto found = model.types.find(operand);
  return function.addArgument(operand, found == model.types.end() ? TensorType() : found->second);
}

/// True for known integers, some of which are dynamic sizes.
bool PartBuilder::isList(StringRef operand) const {
  const Value *value = whole.find(operand);
  return value && value->integers && !value->ir && !isConstant(*value);
}

Error PartBuilder::addOperand(StringRef operand) {
  if (operand.empty() || function.find(operand))
    return Error::success();
  if (isList(operand))
    return addList(operand);
  if (const Value *value = whole.find(operand); value && isConstant(*value)) {
    function.addConstant(operand, *value);
    return Error::success();
  }
  return addArgument(operand);
}

/// Built from the sizes of arguments; otherwise by the nodes that compute it, from their operands.
Error PartBuilder::addList(StringRef operand) {
  if (function.addSizes(operand, *whole.find(operand), whole.getSizes()))
    return Error::success();
  const Node &node = model.nodes[producers.lookup(operand)];
  for (StringRef input : node.inputs)
    if (Error error = addOperand(input))
      return error;
  return function.addNode(node);
}

/// The values that other nodes or the graph's caller read, or nobody.
std::vector<StringRef> PartBuilder::getResults() const {
  std::vector<bool> isInside(model.nodes.size(), false);
  for (size_t index : nodes)
    isInside[index] = true;
  llvm::StringSet<> outside(llvm::from_range, model.outputs), read;
  for (auto [i, node] : llvm::enumerate(model.nodes))
    for (StringRef operand : node.inputs)
      (isInside[i] ? read : outside).insert(operand);
  std::vector<StringRef> results;
  for (size_t index : nodes)
    for (StringRef name : model.nodes[index].outputs) {
      const Value *value = name.empty() ? nullptr : function.find(name);
      // Known integers are recomputed by their readers.
      if (value && !value->integers && (outside.contains(name) || !read.contains(name)))
        results.push_back(name);
    }
  return results;
}

Expected<mlir::func::FuncOp> PartBuilder::build(StringRef name) {
  if (Error error = addInitializers(model, function))
    return std::move(error);
  for (auto [i, node] : llvm::enumerate(model.nodes))
    for (StringRef value : node.outputs)
      producers[value] = i;
  // First the arguments, which tell sizes.
  const std::vector<StringRef> operands = getOperands();
  for (bool areLists : {false, true})
    for (StringRef operand : operands)
      if (isList(operand) == areLists)
        if (Error error = addOperand(operand))
          return std::move(error);
  for (size_t index : nodes)
    if (Error error = function.addNode(model.nodes[index]))
      return std::move(error);
  return function.finish(name, "part", getResults());
}

Expected<mlir::func::FuncOp> attn::onnx::buildPart(const Model &model, mlir::MLIRContext &context,
                                                   const GraphFunction &whole, llvm::ArrayRef<size_t> nodes,
                                                   StringRef name) {
  return PartBuilder(model, context, whole, nodes).build(name);
}
