//===- AttentionBuilder.h - what an Attention node computes -----*- C++ -*-===//
//
// For a node alone and a node between others alike: views and concatenations of
// the inputs, then attn.sdpa, or the chain if the scores are an output
// (AttentionBuilder.cpp). AttentionCache.cpp has the caches.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_ATTENTIONBUILDER_H
#define ATTN_LIB_ONNX_ATTENTIONBUILDER_H

#include "GraphBuilder.h"

namespace attn::onnx {

using AttentionInputs = std::array<mlir::Value, kNumInputs>;
using AttentionOutputs = std::array<Value, kNumOutputs>;

/// K or V as the attention op reads them: (batch, heads, rows, size), or with rows before heads.
struct Rows {
  Value tensor;
  bool isHeadMajor;
};

class AttentionBuilder {
public:
  AttentionBuilder(GraphBuilder &b, const AttentionNode &node, const AttentionInputs &inputs)
      : b(b), node(node), inputs(inputs) {}
  AttentionOutputs build();
  /// The input with dynamic sizes left open.
  Value getInput(Input input) const;

private:
  // Values.
  Size addSize(const Dimension &dimension, Input input, unsigned dim);
  Value withOwnSizes(Value mask);
  Value splitHeads(const Value &packed, int64_t heads, int64_t size);
  Rows takePrefix(const Rows &rows, int64_t count);
  Value addMask();
  Value padMask(const Value &mask);
  mlir::Value addWide(const Size &size);
  Value addCounts(mlir::Value added, mlir::Value limit);

  // Caches (AttentionCache.cpp).
  Rows addRows(Input input, Input past, Output present, int64_t size);
  Value addHeadMajor(const Rows &rows, const Value &target);
  Value addCache(const Rows &rows, Input past, int64_t size);
  void addStarts();
  Size addMinimum(const Size &lhs, const Size &rhs);
  Value addPastRows(Input past, DataType element, const Sizes &sizes);
  Value addAppended(const Rows &rows, Input past, int64_t size);

  // The computation.
  bool isLowerRight() const;
  template <typename Op> void setCausal(Op op);
  template <typename Op> void setMask(Op op, const Value &mask, mlir::Value lengths);
  mlir::Value addLengths(const Size &keys);
  mlir::AffineExpr getKeyHead();
  mlir::AffineMap mapRows(unsigned rank, unsigned row, mlir::AffineExpr head, unsigned column, bool isHeadMajor);
  mlir::Value addSdpa(const Value &q, Rows k, Rows v, const Value &y);
  mlir::Value addChain(const Value &q, const Rows &k, const Rows &v, const Value &y);

  GraphBuilder &b;
  const AttentionNode &node;
  const AttentionInputs &inputs;
  Size batch, heads, kvHeads, queries, newKeys, pastKeys, keys;
  Value starts; ///< of a node that appends at lengths: the position of the first query and new row
  AttentionOutputs outputs;
};

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_ATTENTIONBUILDER_H
