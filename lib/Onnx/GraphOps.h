//===- GraphOps.h - a rule an operator --------------------------*- C++ -*-===//
//
// A rule builds the linalg of a node and returns the node's outputs, or says
// why the node is not covered. One file holds the rules of a family.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_GRAPHOPS_H
#define ATTN_LIB_ONNX_GRAPHOPS_H

#include "GraphBuilder.h"

#include <numeric>

namespace attn::onnx {

/// A node with its operands, and the builder of the function that the node's ops go to.
class NodeView {
public:
  NodeView(const Node &node, Values operands, const Model &model, GraphBuilder &b)
      : node(node), operands(std::move(operands)), model(model), b(b) {}

  const Node &node;
  const Values operands;
  const Model &model;
  GraphBuilder &b;

  llvm::StringRef getOp() const { return node.opType; }
  bool has(size_t index) const { return index < operands.size() && operands[index]; }
  const Value &get(size_t index) const { return operands[index]; }
  /// True if the output is requested.
  bool asks(size_t index) const { return index < node.outputs.size() && !node.outputs[index].empty(); }

  int64_t getInteger(llvm::StringRef name, int64_t other) const;
  double getReal(llvm::StringRef name, double other) const;
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef other) const;
  std::optional<std::vector<int64_t>> getIntegers(llvm::StringRef name) const;
  /// The elements of an operand, if they are constants.
  std::optional<std::vector<int64_t>> getNumbers(size_t index) const;
  /// Axes and the like: an attribute in old opsets, an operand in later ones; an error if they are not constants.
  llvm::Expected<std::optional<std::vector<int64_t>>> getList(llvm::StringRef name, size_t operand) const;
  /// The non-negative index of an axis that may count from the end; an error if it is outside `rank`.
  llvm::Expected<size_t> getAxis(int64_t axis, size_t rank) const;
  llvm::Expected<std::vector<size_t>> getAxes(llvm::ArrayRef<int64_t> axes, size_t rank) const;

  llvm::Error fail(const llvm::Twine &reason) const { return llvm::createStringError(reason); }
};

inline Values one(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

/// The value, or nothing for an error, about which a rule will say more.
template <typename T> std::optional<T> drop(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

/// 0, 1, … below `count`.
inline std::vector<int64_t> countUp(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

using Rule = llvm::Expected<Values> (*)(NodeView &);
struct RuleRow {
  llvm::StringRef op;
  Rule rule;
  size_t least, most;      ///< operands; the first `least` are required
  bool takesBytes = false; ///< constants of INT8 and UINT8
};

// The families.
llvm::ArrayRef<RuleRow> getElementwiseRules();   ///< OpsElementwise.cpp
llvm::ArrayRef<RuleRow> getMovementRules();      ///< OpsMovement.cpp: views, copies, parts
llvm::ArrayRef<RuleRow> getIndexingRules();      ///< OpsIndexing.cpp: elements by computed positions
llvm::ArrayRef<RuleRow> getProductRules();       ///< OpsProducts.cpp
llvm::ArrayRef<RuleRow> getQuantisedRules();     ///< OpsQuantised.cpp: weights of 4 and 8 bits
llvm::ArrayRef<RuleRow> getConvolutionRules();   ///< OpsConvolution.cpp
llvm::ArrayRef<RuleRow> getPoolRules();          ///< OpsPools.cpp
llvm::ArrayRef<RuleRow> getResizeRules();        ///< OpsResize.cpp
llvm::ArrayRef<RuleRow> getEinsumRules();        ///< OpsEinsum.cpp
llvm::ArrayRef<RuleRow> getRepeatRules();        ///< OpsRepeats.cpp: running sums, tiles
llvm::ArrayRef<RuleRow> getSelectionRules();     ///< OpsSelection.cpp
llvm::ArrayRef<RuleRow> getRotaryRules();        ///< OpsRotary.cpp
llvm::ArrayRef<RuleRow> getReductionRules();     ///< OpsReductions.cpp: sums, softmax, normalisations
llvm::ArrayRef<RuleRow> getAttentionRules();     ///< OpsAttention.cpp
llvm::ArrayRef<RuleRow> getNormalisationRules(); ///< OpsNormalisations.cpp: of more inputs, of channels

/// The outputs of a node on shapes and other short integers, if they are known at compile time (OpsIntegers.cpp).
std::optional<Values> foldIntegers(NodeView &view);

/// Builds a node of a standard or com.microsoft operator. The error has no text where there is no rule.
llvm::Expected<Values> buildNode(NodeView &view);

/// Invariants of every rule: the rank, each size and the number of elements are limited.
llvm::Error checkValue(const Value &value);
/// Checks the number of operands, and that the first `least` are given.
llvm::Error checkOperands(const NodeView &view, size_t least, size_t most);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_GRAPHOPS_H
