//===- OpsAttention.cpp - Attention nodes between other nodes -------------===//
//
// The function of such a node alone (OnnxPrinter.h), on the graph's values.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The text with other names for its values: those of `known`, or `prefix` in front.
static std::string renameValues(StringRef text, const llvm::StringMap<std::string> &known, StringRef prefix) {
  std::string result;
  while (!text.empty()) {
    auto [before, after] = text.split('%');
    result += before;
    if (before.size() == text.size())
      break;
    StringRef name = after.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    auto found = known.find(name);
    result += found != known.end() ? found->second : (prefix + name).str();
    text = after.drop_front(name.size());
  }
  return result;
}

/// What the model says of the node's outputs, with the operands' names of sizes in the place of its symbols.
static void addDeclaredOutputs(const NodeView &view, Model &model) {
  llvm::StringMap<StringRef> symbols;
  for (auto [name, value] : llvm::zip(view.node.inputs, view.operands)) {
    auto declared = view.model.types.find(name);
    if (!value || declared == view.model.types.end() || declared->second.shape.size() != value.sizes.size())
      continue;
    for (auto [dimension, size] : llvm::zip(declared->second.shape, value.sizes))
      if (!dimension.symbol.empty() && !size.number)
        symbols[dimension.symbol] = size.value;
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
static Model getOperandTypes(const NodeView &view) {
  Model model;
  model.opset = view.model.opset;
  model.functions = view.model.functions;
  for (auto [name, value] : llvm::zip(view.node.inputs, view.operands)) {
    if (!value)
      continue;
    TensorType &type = model.types[name] = {int64_t(value.element), true, {}};
    for (const Size &size : value.sizes)
      type.shape.push_back({size.number, size.value});
  }
  if (isMicrosoftAttention(view.node)) // which may share the buffer of a cache
    addDeclaredOutputs(view, model);
  return model;
}

static Expected<Values> printAttention(NodeView &view) {
  Model model = getOperandTypes(view);
  Expected<AttentionNode> node = checkAttention(view.node, model, "the node");
  if (!node)
    return node.takeError();
  FunctionPrinter printer(*node, "");
  std::string body = printer.printBody(), prefix = view.text.makeName() + "_";
  llvm::StringMap<std::string> known;
  for (unsigned i = 0; i < kNumInputs; ++i) {
    if (!node->has[i])
      continue;
    const Value &value = view.get(node->places[i]);
    std::string name = view.text.getName(value), type = FunctionPrinter::printType(printer.getInput(Input(i)));
    // A size that another operand tells.
    if (type != printType(value)) {
      std::string cast = view.text.makeName();
      view.text.line("{0} = tensor.cast {1} : {2} to {3}", cast, name, printType(value), type);
      name = cast;
    }
    known[kInputNames[i]] = name;
  }
  view.text.append(renameValues(body, known, prefix));
  Values results;
  for (unsigned i = 0; i < kNumOutputs; ++i) {
    Value &value = results.emplace_back();
    if (!node->asks[i])
      continue;
    DataType element = view.get(node->places[i == kPresentValue ? kV : kQ]).element;
    value = {element, {}, renameValues(printer.getOutput(Output(i)).value, known, prefix)};
    for (const Dimension &dimension : node->getOutputShape(Output(i)))
      value.sizes.push_back({dimension.size, dimension.size ? "" : dimension.symbol.str()});
  }
  return results;
}

llvm::ArrayRef<RuleRow> attn::onnx::getAttentionRules() {
  static constexpr RuleRow rows[] = {{"Attention", printAttention},
                                     {"com.microsoft.GroupQueryAttention", printAttention},
                                     {"com.microsoft.MultiHeadAttention", printAttention}};
  return rows;
}
