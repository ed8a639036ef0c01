//===- Onnx.cpp - ONNX models as IR ---------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Onnx/Onnx.h"
#include "ExternalData.h"
#include "Graph.h"
#include "attn/Support/CNames.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attn;
using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// The functions of a model, and what is said of the nodes without one.
class Importer {
public:
  Importer(Model &model, StringRef name) : model(model), name(name) {}
  Expected<std::string> run();

private:
  std::string getLabel(size_t index) const;
  std::string makeFunctionName(StringRef wanted, const std::string &other);
  void addAttention(size_t index);
  Error addGraph();
  Error explain() const;

  Model &model;
  StringRef name;
  std::string text;
  llvm::StringSet<> names;
  std::vector<std::string> skipped;
  std::vector<std::pair<std::string, std::string>> refused; ///< the reason, and the message with the node
};

} // namespace

std::string Importer::getLabel(size_t index) const {
  return model.nodes[index].name.empty() ? std::to_string(index) : quote(model.nodes[index].name);
}

static std::string getOperator(const Node &node) {
  return quote(isStandardDomain(node.domain) ? node.opType.str() : (node.domain + "." + node.opType).str());
}

/// The name as C writes it, if C can call that and no other has it, or another. The name of the checked entry is taken
/// as well.
std::string Importer::makeFunctionName(StringRef wanted, const std::string &other) {
  auto isTaken = [&](const std::string &taken) {
    return names.contains(taken) || names.contains(getCheckedName(taken));
  };
  std::string function = makeCName(wanted);
  if (wanted.empty() || !isCFunctionName(function) || isTaken(function))
    function = other;
  while (isTaken(function))
    function += "_";
  names.insert(function);
  names.insert(getCheckedName(function));
  return function;
}

/// A function of the node alone.
void Importer::addAttention(size_t index) {
  const Node &node = model.nodes[index];
  std::string label = getLabel(index);
  std::string place = formatv("{0}: node {1}", name, label);
  Expected<AttentionNode> attention = checkAttention(node, model, place);
  if (!attention) {
    std::string message = llvm::toString(attention.takeError());
    refused.emplace_back(StringRef(message).starts_with(place) ? message.substr(place.size()) : message, message);
    return;
  }
  std::string function = makeFunctionName(node.name, formatv("attention_{0}", index));
  text += formatv("// node {0}, opset {1}\n", label, model.opset).str();
  text += FunctionPrinter(*attention, function).print();
}

/// What the user may write where there is attention and no kernel.
static StringRef getAdvice(const Model &model) {
  auto hasOp = [&](StringRef op) {
    return llvm::any_of(model.nodes, [&](const Node &node) { return node.opType == op; });
  };
  bool isMicrosoft = llvm::any_of(model.nodes, [](const Node &node) { return node.domain == kMicrosoftDomain; });
  if (isMicrosoft)
    return "; of com.microsoft MultiHeadAttention and GroupQueryAttention are taken: write the model before "
           "onnxruntime's optimizer has fused it";
  if (hasOp("Softmax") && hasOp("MatMul") && model.opset < kFirstOpset)
    return "; write torch.onnx.export(..., opset_version=23): then F.scaled_dot_product_attention is an Attention node";
  if (hasOp("Softmax") && hasOp("MatMul"))
    return "; a softmax by hand is no Attention node: write F.scaled_dot_product_attention in its place, or a model of "
           "covered operators";
  return "; write a model with Attention nodes (opset 23), or of covered operators (docs/Frontends.md)";
}

/// A model without a function: all that stands in the way, each once, and a way out.
Error Importer::explain() const {
  // Nodes that are refused for one reason are one line.
  llvm::MapVector<StringRef, std::pair<size_t, StringRef>> reasons;
  for (const auto &[reason, message] : refused) {
    auto &[count, first] = reasons[reason];
    first = count++ == 0 ? message : first;
  }
  std::vector<std::string> lines;
  for (const auto &[reason, entry] : reasons)
    lines.push_back(entry.second.str() +
                    (entry.first > 1 ? formatv(" (and {0} more of this kind)", entry.first - 1).str() : ""));
  llvm::append_range(lines, skipped);
  if (lines.empty())
    return llvm::createStringError(name + ": expected outputs of the graph, found none");
  return llvm::createStringError(llvm::join(lines, "\n") + (refused.empty() ? getAdvice(model) : ""));
}

Error Importer::addGraph() {
  Expected<GraphPlan> plan = planGraph(model, name);
  if (!plan)
    return plan.takeError();
  for (auto [index, node] : llvm::enumerate(model.nodes))
    if (isAttention(node))
      addAttention(index);
  if (plan->whole) {
    std::string function = makeFunctionName(model.graphName, "graph");
    text += formatv("// the graph, opset {0}\n", model.opset).str();
    text += plan->whole->finish(function, model.outputs);
    return Error::success();
  }
  skipped = std::move(plan->problems);
  // A remark an operator: where it stands first, how often, and why.
  llvm::MapVector<std::pair<StringRef, StringRef>, std::pair<size_t, std::string>> operators;
  for (const auto &[index, reason] : plan->uncovered) {
    const Node &node = model.nodes[index];
    if (isAttention(node) || llvm::binary_search(plan->followers, index))
      continue;
    auto &[count, message] = operators[{node.domain, node.opType}];
    if (count++ == 0)
      message = formatv("{0}: node {1}: operator {2} is not covered{3}{4}", name, getLabel(index), getOperator(node),
                        reason.empty() ? "" : ": ", reason);
  }
  for (auto &[op, entry] : operators)
    skipped.push_back(entry.second +
                      (entry.first > 1 ? formatv(" (and {0} more of this operator)", entry.first - 1).str() : ""));
  if (size_t count = plan->followers.size())
    skipped.push_back(formatv("{0}: {1} more {2} of these, of which the model has no types; write "
                              "onnx.shape_inference.infer_shapes(model), or export with value_info",
                              name, count, count > 1 ? "nodes read values" : "node reads values"));
  for (llvm::ArrayRef<size_t> part : plan->parts) {
    size_t index = *llvm::find_if(part, [&](size_t i) { return isSoftmaxStep(model.nodes[i]); });
    std::string function = makeFunctionName(model.nodes[index].name, formatv("attention_{0}", index));
    Expected<std::string> printed = printPart(model, part, function);
    if (!printed) {
      skipped.push_back(formatv("{0}: node {1}: the nodes around it are not covered: {2}", name, getLabel(index),
                                llvm::toString(printed.takeError())));
      continue;
    }
    text += formatv("// {0} nodes around {1}, opset {2}\n", part.size(), getLabel(index), model.opset).str() + *printed;
  }
  return Error::success();
}

static std::string printNotes(StringRef attribute, llvm::ArrayRef<std::string> notes) {
  std::string list;
  llvm::raw_string_ostream os(list);
  os << attribute << " = [";
  llvm::interleaveComma(notes, os, [&](const std::string &note) {
    os << '"';
    llvm::printEscapedString(note, os);
    os << '"';
  });
  os << "]";
  return list;
}

Expected<std::string> Importer::run() {
  if (model.nodes.empty())
    return llvm::createStringError(name + ": expected a model with an Attention node, found no node");
  if (llvm::all_of(model.nodes, isAttention)) {
    for (size_t i = 0; i < model.nodes.size(); ++i)
      addAttention(i);
  } else if (Error error = addGraph()) {
    return std::move(error);
  }
  if (text.empty())
    return explain();
  if (skipped.empty() && refused.empty())
    return text;
  return "module attributes {" + printNotes("attn.skipped", skipped) + ", " +
         printNotes("attn.refused", llvm::to_vector(llvm::make_second_range(refused))) + "} {\n" + text + "}\n";
}

Expected<std::string> attn::onnxToMLIR(StringRef bytes, StringRef name, std::optional<StringRef> folder) {
  Expected<Model> model = readModel(bytes, name);
  if (!model)
    return model.takeError();
  if (folder)
    if (Error error = loadExternalData(*model, *folder, name))
      return std::move(error);
  return Importer(*model, name).run();
}
