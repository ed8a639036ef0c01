//===- Onnx.cpp - ONNX models as IR ---------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/Onnx/Onnx.h"
#include "ExternalData.h"
#include "Graph.h"
#include "attn/IR/Attn.h"
#include "attn/Support/CNames.h"
#include "attn/Support/Nesting.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace attn;
using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// The functions of a model, and the remarks on nodes without one.
class Importer {
public:
  Importer(mlir::MLIRContext &context, Model &model, StringRef name)
      : context(context), model(model), name(name), module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))) {}
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> run();

private:
  std::string getLabel(size_t index) const;
  std::string makeFunctionName(StringRef wanted, const std::string &other);
  void addAttention(size_t index);
  Error addGraph();
  void addStops(const GraphPlan &plan);
  void addParts(const GraphPlan &plan);
  Error explain() const;

  void setNotes(StringRef attribute, llvm::ArrayRef<std::string> notes);

  mlir::MLIRContext &context;
  Model &model;
  StringRef name;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringSet<> names;
  std::vector<std::string> skipped;
  bool isCovered = false;                                   ///< each node has a rule: no other operators would help
  std::vector<std::pair<std::string, std::string>> refused; ///< the reason, and the message with the node
};

} // namespace

std::string Importer::getLabel(size_t index) const {
  return model.nodes[index].name.empty() ? std::to_string(index) : quote(model.nodes[index].name);
}

/// " (and 2 more of this kind)", or nothing.
static std::string printMore(size_t count, StringRef what) {
  return count > 1 ? formatv(" (and {0} more {1})", count - 1, what).str() : "";
}

static std::string getOperator(const Node &node) {
  return quote(isStandardDomain(node.domain) ? node.opType.str() : (node.domain + "." + node.opType).str());
}

/// A valid C name that no other function has: the given name, or one made of `other`. It also reserves the name of the
/// checked entry.
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
  GraphFunction function(model, context);
  function.addAttention(*attention);
  llvm::SmallVector<StringRef> results;
  for (auto [output, isAsked] : llvm::zip_equal(kOutputNames, attention->asks))
    if (isAsked)
      results.push_back(output);
  module->push_back(
      cantFail(function.finish(makeFunctionName(node.name, formatv("attention_{0}", index)), "node", results)));
}

/// Advice for a model with attention but without a kernel.
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

/// The error for a model without a function: each obstacle once, and a way out.
Error Importer::explain() const {
  // Nodes that are refused for one reason are one line.
  llvm::MapVector<StringRef, std::pair<size_t, StringRef>> reasons;
  for (const auto &[reason, message] : refused) {
    auto &[count, first] = reasons[reason];
    first = count++ == 0 ? message : first;
  }
  std::vector<std::string> lines;
  for (const auto &[reason, entry] : reasons)
    lines.push_back(entry.second.str() + printMore(entry.first, "of this kind"));
  llvm::append_range(lines, skipped);
  if (lines.empty())
    return llvm::createStringError(name + ": expected outputs of the graph, found none");
  return llvm::createStringError(llvm::join(lines, "\n") + (refused.empty() && !isCovered ? getAdvice(model) : ""));
}

Error Importer::addGraph() {
  Expected<GraphPlan> plan = planGraph(model, context, name);
  if (!plan)
    return plan.takeError();
  for (auto [index, node] : llvm::enumerate(model.nodes))
    if (isAttention(node))
      addAttention(index);
  skipped = std::move(plan->problems);
  isCovered = plan->isWhole;
  if (isCovered) {
    std::string function = makeFunctionName(model.graphName, "graph");
    Expected<mlir::func::FuncOp> built = plan->function->finish(function, "graph", model.outputs);
    if (built)
      module->push_back(*built);
    else
      skipped.push_back((name + ": " + llvm::toString(built.takeError())).str());
    return Error::success();
  }
  addStops(*plan);
  addParts(*plan);
  return Error::success();
}

namespace {
/// An obstacle that several nodes share.
struct Stop {
  std::string reason;
  size_t first, count; ///< the first node
};
} // namespace

static void addStop(std::vector<Stop> &stops, const std::string &reason, size_t index) {
  auto known = llvm::find_if(stops, [&](const Stop &stop) { return stop.reason == reason; });
  if (known == stops.end())
    known = stops.insert(stops.end(), {reason, index, 0});
  ++known->count;
}

/// One remark per operator and reason: the first node, the count, and why.
void Importer::addStops(const GraphPlan &plan) {
  std::vector<Stop> stops;
  for (const auto &[index, reason] : plan.uncovered) {
    const Node &node = model.nodes[index];
    if (isAttention(node) || llvm::binary_search(plan.followers, index))
      continue;
    addStop(stops, "operator " + getOperator(node) + " is not covered" + (reason.empty() ? "" : ": ") + reason, index);
  }
  for (const Stop &stop : stops)
    skipped.push_back(formatv("{0}: node {1}: {2}{3}", name, getLabel(stop.first), stop.reason,
                              printMore(stop.count, "of this operator")));
  if (size_t count = plan.followers.size())
    skipped.push_back(formatv("{0}: {1} more {2} of these, of which the model has no types; write "
                              "onnx.shape_inference.infer_shapes(model), or export with value_info",
                              name, count, count > 1 ? "nodes read values" : "node reads values"));
}

void Importer::addParts(const GraphPlan &plan) {
  std::vector<Stop> refusals;
  for (llvm::ArrayRef<size_t> part : plan.parts) {
    size_t index = *llvm::find_if(part, [&](size_t i) { return isSoftmaxStep(model.nodes[i]); });
    std::string function = makeFunctionName(model.nodes[index].name, formatv("attention_{0}", index));
    Expected<mlir::func::FuncOp> built = buildPart(model, context, *plan.function, part, function);
    if (built)
      module->push_back(*built);
    else
      addStop(refusals, llvm::toString(built.takeError()), index);
  }
  for (const Stop &stop : refusals)
    skipped.push_back(formatv("{0}: node {1}: the nodes around it are not covered: {2}{3}", name, getLabel(stop.first),
                              stop.reason, printMore(stop.count, "of this kind")));
}

void Importer::setNotes(StringRef attribute, llvm::ArrayRef<std::string> notes) {
  (*module)->setAttr(attribute, mlir::Builder(&context).getStrArrayAttr(llvm::to_vector_of<StringRef>(notes)));
}

/// True if the graph is a single Attention node with the same names: then one function serves both.
static bool isOneNode(const Model &model) {
  auto isNamed = [](StringRef name) { return !name.empty(); };
  auto areEqual = [&](llvm::ArrayRef<StringRef> ofNode, llvm::ArrayRef<StringRef> ofGraph) {
    return llvm::equal(llvm::make_filter_range(ofNode, isNamed), ofGraph);
  };
  return model.nodes.size() == 1 && isAttention(model.nodes[0]) && areEqual(model.nodes[0].inputs, model.inputs) &&
         areEqual(model.nodes[0].outputs, model.outputs);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> Importer::run() {
  if (model.nodes.empty())
    return llvm::createStringError(name + ": expected a model with an Attention node, found no node");
  if (isOneNode(model))
    addAttention(0);
  else if (Error error = addGraph())
    return std::move(error);
  if (module->getBody()->empty())
    return explain();
  if (!skipped.empty() || !refused.empty()) {
    setNotes(kSkippedAttr, skipped);
    setNotes(kRefusedAttr, llvm::to_vector(llvm::make_second_range(refused)));
  }
  return std::move(module);
}

void attn::onnx::loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<AttnDialect, arith::ArithDialect, mlir::bufferization::BufferizationDialect,
                      mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                      mlir::scf::SCFDialect, tensor::TensorDialect>();
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> attn::importOnnx(mlir::MLIRContext &context, StringRef bytes,
                                                             StringRef name, std::optional<StringRef> folder) {
  Expected<Model> model = readModel(bytes, name);
  if (!model)
    return model.takeError();
  if (folder)
    if (Error error = loadExternalData(*model, *folder, name))
      return std::move(error);
  loadDialects(context);
  return Importer(context, *model, name).run();
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> attn::onnxToMLIR(StringRef bytes, StringRef name,
                                                               std::optional<StringRef> folder, bool isText) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = importOnnx(context, bytes, name, folder);
  if (!module)
    return module.takeError();
  llvm::SmallVector<char, 0> file;
  llvm::raw_svector_ostream os(file);
  if (isText)
    (*module)->print(os);
  else if (failed(mlir::writeBytecodeToFile(**module, os, mlir::BytecodeWriterConfig(kReaderProducer))))
    return llvm::createStringError(name + ": expected IR that has a bytecode, found none");
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(file), (name + " as IR").str());
}
