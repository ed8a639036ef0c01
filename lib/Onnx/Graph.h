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

/// The result of planning: which nodes are covered.
struct GraphPlan {
  /// The function of all covered nodes, not finished yet.
  std::unique_ptr<GraphFunction> function;
  bool isWhole = false; ///< each node is covered, and each output is there
  /// Nodes of the parts that hold a softmax between products, where the graph is not covered; in the graph's order.
  std::vector<std::vector<size_t>> parts;
  /// Nodes without a rule for what they are, with the reason.
  std::vector<std::pair<size_t, std::string>> uncovered;
  /// Those of them that have a rule, but read values of uncovered nodes without a known type.
  std::vector<size_t> followers;
  /// Problems with inputs and outputs of the graph, with their names.
  std::vector<std::string> problems;
};

/// Those of the functions.
void loadDialects(mlir::MLIRContext &context);

/// Builds all nodes that it can. Types of values that the model leaves out are added to it, as far as they are known.
llvm::Expected<GraphPlan> planGraph(Model &model, mlir::MLIRContext &context, llvm::StringRef name);

/// The function of one part (GraphParts.cpp): its arguments are produced by other nodes, its results read by others.
/// Constants and sizes from outside are computed again.
llvm::Expected<mlir::func::FuncOp> buildPart(const Model &model, mlir::MLIRContext &context, const GraphFunction &whole,
                                             llvm::ArrayRef<size_t> nodes, llvm::StringRef name);

/// A value that each function can build without a node.
bool isConstant(const Value &value);
llvm::Error addInitializers(const Model &model, GraphFunction &function);

/// Whether there is a rule for the node's operator (GraphOps.cpp).
bool hasRule(const Node &node);

/// Softmax, or the exponentials of one by hand; and products.
bool isSoftmaxStep(const Node &node);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPH_H
