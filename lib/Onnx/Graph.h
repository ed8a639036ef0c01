//===- Graph.h - a graph as functions ---------------------------*- C++ -*-===//
//
// The whole graph as one function, where there is a rule for each node, or the
// parts of it that hold attention.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPH_H
#define ATTN_LIB_ONNX_GRAPH_H

#include "GraphFunction.h"

#include <memory>

namespace attn::onnx {

/// What became of the nodes.
struct GraphPlan {
  /// The whole graph, printed but for its end; null where a node is not covered.
  std::unique_ptr<GraphFunction> whole;
  /// Nodes of the parts that hold a softmax between products, where the graph is not covered; in the graph's order.
  std::vector<std::vector<size_t>> parts;
  /// Nodes without a rule for what they are, with the reason.
  std::vector<std::pair<size_t, std::string>> uncovered;
  /// Of these the nodes that have a rule, and read values of others of these without a known type.
  std::vector<size_t> followers;
  /// What is wrong with inputs and outputs of the graph, with its name.
  std::vector<std::string> problems;
};

/// Prints all nodes that it can. Types of values that the model leaves out are added to it, as far as they are known.
llvm::Expected<GraphPlan> planGraph(Model &model, llvm::StringRef name);

/// The function of one part; its arguments are what other nodes make, its results what others read.
llvm::Expected<std::string> printPart(const Model &model, llvm::ArrayRef<size_t> nodes, llvm::StringRef name);

/// Whether there is a rule for the node's operator (GraphOps.cpp).
bool hasRule(const Node &node);

/// Softmax, or the exponentials of one by hand; and products.
bool isSoftmaxStep(const Node &node);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPH_H
