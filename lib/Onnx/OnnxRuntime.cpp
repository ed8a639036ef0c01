//===- OnnxRuntime.cpp - a model whose attention nodes are kernels --------===//
//
// The file is copied field by field, but for its attention nodes. A custom
// operator of ONNX Runtime has no inference of types, so the outputs of the
// new nodes have an entry in value_info.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ExternalData.h"
#include "Graph.h"
#include "WireFormat.h"
#include "attn/Onnx/Onnx.h"
#include "attn/Onnx/OnnxAttention.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/LEB128.h"

using namespace attn;
using namespace attn::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
using llvm::raw_ostream;
using llvm::StringRef;

static constexpr llvm::StringLiteral kDomain = "attn", kOperator = "Kernel", kSource = "source";

//===----------------------------------------------------------------------===//
// Messages of onnx.proto, by field number
//===----------------------------------------------------------------------===//

static void writeTag(raw_ostream &os, uint64_t number, WireType wire) {
  llvm::encodeULEB128(number << 3 | uint64_t(wire), os);
}

static void writeNumber(raw_ostream &os, uint64_t number, uint64_t value) {
  writeTag(os, number, WireType::Varint);
  llvm::encodeULEB128(value, os);
}

static void writeBytes(raw_ostream &os, uint64_t number, StringRef bytes) {
  writeTag(os, number, WireType::Bytes);
  llvm::encodeULEB128(bytes.size(), os);
  os << bytes;
}

/// A message inside of another.
static void writeMessage(raw_ostream &os, uint64_t number, llvm::function_ref<void(raw_ostream &)> write) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  write(stream);
  writeBytes(os, number, bytes);
}

static void writeField(raw_ostream &os, const Field &field) {
  if (field.wire == WireType::Varint)
    return writeNumber(os, field.number, field.value);
  if (field.wire == WireType::Bytes)
    return writeBytes(os, field.number, field.bytes);
  writeTag(os, field.number, field.wire);
  os << field.bytes;
}

/// ValueInfoProto of a tensor.
static void writeValue(raw_ostream &os, StringRef name, DataType element, llvm::ArrayRef<Dimension> shape) {
  writeBytes(os, 1, name);
  auto writeDimension = [](raw_ostream &os, const Dimension &dimension) {
    if (dimension.size)
      writeNumber(os, 1, uint64_t(*dimension.size));
    else if (!dimension.symbol.empty())
      writeBytes(os, 2, dimension.symbol);
  };
  auto writeShape = [&](raw_ostream &os) {
    for (const Dimension &dimension : shape)
      writeMessage(os, 1, [&](raw_ostream &os) { writeDimension(os, dimension); });
  };
  auto writeTensor = [&](raw_ostream &os) {
    writeNumber(os, 1, uint64_t(element));
    writeMessage(os, 2, writeShape);
  };
  writeMessage(os, 2, [&](raw_ostream &os) { writeMessage(os, 1, writeTensor); });
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

namespace {

class Rewriter {
public:
  Rewriter(mlir::MLIRContext &context, Model &model, StringRef name) : context(context), model(model), name(name) {
    for (const auto &entry : model.types)
      if (entry.second.hasShape && entry.second.elementType != 0)
        declared.insert(entry.first());
  }
  Error collect();
  Error write(StringRef bytes, raw_ostream &os) const;
  std::vector<std::string> takeLeft() { return std::move(left); }

private:
  /// The new nodes, by place, and the types of their outputs as fields of the graph.
  std::string printSource(const AttentionNode &attention) const;
  void addNode(size_t index, const AttentionNode &attention);

  mlir::MLIRContext &context;
  Model &model;
  StringRef name;
  llvm::StringSet<> declared;
  std::map<size_t, std::string> nodes;
  std::string values;
  std::vector<std::string> left;
};

} // namespace

/// The node's function alone, as `attnc` and libattn read it.
std::string Rewriter::printSource(const AttentionNode &attention) const {
  GraphFunction function(model, context);
  function.addAttention(attention);
  llvm::SmallVector<StringRef> results;
  for (auto [output, isAsked] : llvm::zip_equal(kOutputNames, attention.asks))
    if (isAsked)
      results.push_back(output);
  mlir::OwningOpRef<mlir::func::FuncOp> built = cantFail(function.finish("attention", "node", results));
  std::string text;
  llvm::raw_string_ostream os(text);
  (*built)->print(os);
  return text;
}

void Rewriter::addNode(size_t index, const AttentionNode &attention) {
  const Node &node = model.nodes[index];
  llvm::raw_string_ostream os(nodes[index]), valuesOS(values);
  for (unsigned i = 0; i < kNumInputs; ++i)
    if (attention.has[i])
      writeBytes(os, 1, node.inputs[attention.places[i]]);
  for (unsigned i = 0; i < kNumOutputs; ++i) {
    if (!attention.asks[i])
      continue;
    writeBytes(os, 2, node.outputs[i]);
    DataType element = i == kPresentValue ? attention.elements.value : attention.elements.query;
    if (!declared.contains(node.outputs[i]))
      writeMessage(valuesOS, 13, [&](raw_ostream &os) {
        writeValue(os, node.outputs[i], element, attention.getOutputShape(Output(i)));
      });
  }
  writeBytes(os, 3, node.name);
  writeBytes(os, 4, kOperator);
  writeMessage(os, 5, [&](raw_ostream &os) {
    writeBytes(os, 1, kSource);
    writeBytes(os, 4, printSource(attention));
    writeNumber(os, 20, uint64_t(Attribute::Kind::String));
  });
  writeBytes(os, 7, kDomain);
}

/// Finds the attention nodes, with the types that the graph has of their values.
Error Rewriter::collect() {
  Expected<GraphPlan> plan = planGraph(model, context, name);
  if (!plan)
    return plan.takeError();
  for (auto [index, node] : llvm::enumerate(model.nodes)) {
    if (!node.opType.ends_with("Attention"))
      continue;
    std::string place =
        formatv("{0}: node {1}", name, node.name.empty() ? std::to_string(index) : quote(node.name)).str();
    if (!isAttention(node)) {
      left.push_back(formatv("{0}: expected Attention (opset 23), or MultiHeadAttention or GroupQueryAttention of "
                             "com.microsoft, found {1} of {2}",
                             place, node.opType, isStandardDomain(node.domain) ? "ai.onnx" : node.domain));
      continue;
    }
    Expected<AttentionNode> attention = checkAttention(node, model, place);
    if (attention)
      addNode(index, *attention);
    else
      left.push_back(llvm::toString(attention.takeError()));
  }
  if (!nodes.empty())
    return Error::success();
  if (!left.empty())
    return llvm::createStringError(llvm::join(left, "\n"));
  return llvm::createStringError(name + ": expected an attention node, found none; write torch.onnx.export(..., "
                                        "opset_version=23), where F.scaled_dot_product_attention is one, or compile "
                                        "the whole model with --emit=obj");
}

Error Rewriter::write(StringRef bytes, raw_ostream &os) const {
  WireReader reader(bytes, name);
  Error error = reader.readFields(bytes, "the model", [&](const Field &field) -> Error {
    if (field.number != 7) {
      writeField(os, field);
      return Error::success();
    }
    std::string graph;
    llvm::raw_string_ostream graphOS(graph);
    size_t index = 0;
    Error error = reader.readFields(field.bytes, "the graph", [&](const Field &part) -> Error {
      auto node = part.number == 1 ? nodes.find(index++) : nodes.end();
      if (node == nodes.end())
        writeField(graphOS, part);
      else
        writeBytes(graphOS, 1, node->second);
      return Error::success();
    });
    writeBytes(os, 7, graph + values);
    return error;
  });
  writeMessage(os, 8, [&](raw_ostream &os) {
    writeBytes(os, 1, kDomain);
    writeNumber(os, 2, 1);
  });
  return error;
}

Expected<OnnxRuntimeModel> attn::rewriteForOnnxRuntime(StringRef bytes, StringRef name, StringRef folder) {
  Expected<Model> model = readModel(bytes, name);
  if (!model)
    return model.takeError();
  if (Error error = loadExternalData(*model, folder, name))
    return std::move(error);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Rewriter rewriter(context, *model, name);
  OnnxRuntimeModel result;
  llvm::raw_string_ostream os(result.bytes);
  if (Error error = rewriter.collect())
    return std::move(error);
  if (Error error = rewriter.write(bytes, os))
    return std::move(error);
  result.left = rewriter.takeLeft();
  return result;
}
