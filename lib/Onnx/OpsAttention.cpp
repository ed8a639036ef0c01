//===- OpsAttention.cpp - Attention nodes between other nodes -------------===//
//
// What such a node computes alone (AttentionBuilder.h), on the graph's values.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AttentionBuilder.h"
#include "GraphOps.h"
#include "LinearNode.h"

#include "llvm/ADT/STLExtras.h"

using namespace attn::onnx;
using llvm::Expected;
using llvm::StringRef;

namespace {
/// The names of dynamic sizes in the node's types.
struct SizeNames {
  llvm::StringMap<Size> sizes;
  llvm::DenseMap<mlir::Value, StringRef> names;

  StringRef get(const Size &size) {
    if (size.number)
      return "";
    StringRef &name = names[size.value];
    if (name.empty())
      name = sizes.try_emplace("%v" + std::to_string(names.size()), size).first->first();
    return name;
  }
};
} // namespace

/// The declared types of the node's outputs, with the names of the operands' sizes instead of its symbols.
static void addDeclaredOutputs(const NodeView &view, SizeNames &sizes, Model &model) {
  llvm::StringMap<StringRef> symbols;
  for (auto [name, value] : llvm::zip(view.node.inputs, view.operands)) {
    auto declared = view.model.types.find(name);
    if (!value || declared == view.model.types.end() || declared->second.shape.size() != value.sizes.size())
      continue;
    for (auto [dimension, size] : llvm::zip(declared->second.shape, value.sizes))
      if (!dimension.symbol.empty() && !size.number)
        symbols[dimension.symbol] = sizes.get(size);
  }
  for (StringRef name : view.node.outputs) {
    auto declared = view.model.types.find(name);
    if (name.empty() || declared == view.model.types.end() || !declared->second.hasShape)
      continue;
    TensorType &type = model.types[name] = declared->second;
    for (Dimension &dimension : type.shape)
      dimension.symbol = symbols.lookup(dimension.symbol);
  }
}

/// The node's model as far as checkAttention reads it, with the types of the operands; symbols are names of sizes.
static Model getOperandTypes(const NodeView &view, SizeNames &sizes) {
  Model model;
  model.opset = view.model.opset;
  model.functions = view.model.functions;
  for (auto [name, value] : llvm::zip(view.node.inputs, view.operands)) {
    if (!value)
      continue;
    TensorType &type = model.types[name] = {int64_t(value.element), true, {}};
    for (const Size &size : value.sizes)
      type.shape.push_back({size.number, sizes.get(size)});
  }
  if (isMicrosoftAttention(view.node)) // whose cache may share a buffer
    addDeclaredOutputs(view, sizes, model);
  return model;
}

static Expected<Values> buildAttention(NodeView &view) {
  SizeNames sizes;
  Model model = getOperandTypes(view, sizes);
  Expected<AttentionNode> node = checkAttention(view.node, model, "the node");
  if (!node)
    return node.takeError();
  AttentionInputs inputs;
  AttentionBuilder builder(view.b, *node, inputs);
  for (unsigned i = 0; i < kNumInputs; ++i) {
    if (!node->has[i])
      continue;
    inputs[i] = view.b.get(view.get(node->places[i]));
    // A size that another operand determines.
    mlir::Type type = view.b.getType(builder.getInput(Input(i)));
    if (type != inputs[i].getType())
      inputs[i] = view.b.make<tensor::CastOp>(type, inputs[i]);
  }
  AttentionOutputs outputs = builder.build();
  Values results(outputs.begin(), outputs.end());
  for (unsigned i = 0; i < kNumOutputs; ++i) {
    if (!node->asks[i]) {
      results[i] = Value();
      continue;
    }
    // The graph's sizes.
    for (auto [size, dimension] : llvm::zip_equal(results[i].sizes, node->getOutputShape(Output(i))))
      size = dimension.size ? fixed(*dimension.size) : sizes.sizes.lookup(dimension.symbol);
  }
  return results;
}

llvm::ArrayRef<RuleRow> attn::onnx::getAttentionRules() {
  static constexpr RuleRow rows[] = {{"Attention", buildAttention, 0, SIZE_MAX},
                                     {"com.microsoft.GroupQueryAttention", buildAttention, 0, SIZE_MAX},
                                     {"com.microsoft.MultiHeadAttention", buildAttention, 0, SIZE_MAX},
                                     {"LinearAttention", buildLinearAttention, 3, 6},
                                     {"com.microsoft.LinearAttention", buildLinearAttention, 3, 6},
                                     {"CausalConvWithState", buildCausalConv, 2, 4},
                                     {"com.microsoft.CausalConvWithState", buildCausalConv, 2, 4}};
  return rows;
}
