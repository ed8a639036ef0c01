//===- Onnx.cpp - ONNX models as IR ---------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Onnx/Onnx.h"
#include "OnnxPrinter.h"
#include "attn/Support/CNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attn;
using namespace attn::onnx;
using llvm::formatv;
using llvm::StringRef;

/// The function's name: the node's as C writes it, if C can call that and no other has it, or its number. The name of
/// the checked entry is taken as well.
static std::string makeFunctionName(const Node &node, size_t number, llvm::StringSet<> &names) {
  auto isTaken = [&](const std::string &name) { return names.contains(name) || names.contains(getCheckedName(name)); };
  std::string name = makeCName(node.name);
  if (node.name.empty() || !isCFunctionName(name) || isTaken(name))
    name = formatv("attention_{0}", number);
  while (isTaken(name))
    name += "_";
  names.insert(name);
  names.insert(getCheckedName(name));
  return name;
}

llvm::Expected<std::string> attn::onnxToMLIR(StringRef bytes, StringRef name) {
  llvm::Expected<Model> model = readModel(bytes, name);
  if (!model)
    return model.takeError();
  if (model->nodes.empty())
    return llvm::createStringError(name + ": expected a model with an Attention node, found no node");
  std::string text;
  llvm::StringSet<> names;
  for (auto [i, node] : llvm::enumerate(model->nodes)) {
    std::string label = node.name.empty() ? std::to_string(i) : quote(node.name);
    std::string title = formatv("{0}: node {1}", name, label);
    llvm::Expected<AttentionNode> attention = checkAttention(node, *model, title);
    if (!attention)
      return attention.takeError();
    std::string function = makeFunctionName(node, i, names);
    text += formatv("// node {0}, opset {1}\n", label, model->opset);
    text += FunctionPrinter(*attention, function).print();
  }
  return text;
}
