//===- Shared.h - what rules of several families print ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_SHARED_H
#define ATTN_LIB_ONNX_SHARED_H

#include "GraphOps.h"

namespace attn::onnx {

using Names = std::vector<std::string>;

inline Values one(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

/// False where both are numbers, and differ.
inline bool canMeet(const Size &lhs, const Size &rhs) { return !lhs.number || !rhs.number || lhs.number == rhs.number; }

/// The first `count` inputs are floats of one type.
llvm::Error checkFloats(NodeView &view, size_t count);

/// The outputs of another node on these operands: a part of what `view` computes.
llvm::Expected<Values> printAs(NodeView &view, llvm::StringRef op, Values operands,
                               std::vector<Attribute> attributes = {});
Attribute makeAttribute(llvm::StringRef name, int64_t integer);
Attribute makeAttribute(llvm::StringRef name, float real);

/// The sum of lhs * rhs over `reductions`, the loops that the result's map leaves out.
Value addContraction(GraphText &text, const Sizes &sizes, const std::vector<std::string> &map,
                     llvm::ArrayRef<Operand> operands, size_t loops, llvm::ArrayRef<size_t> reductions);

/// `op` over some axes, from `start` on, of what `print` makes of each element.
struct Reduction {
  llvm::StringRef op;
  std::string start;
};
/// In the type that sums have. The result has size 1 where the operand is reduced.
Value addReduction(GraphText &text, const Value &value, llvm::ArrayRef<size_t> axes, const Reduction &reduction,
                   llvm::function_ref<std::string(Body &, const std::string &)> print = nullptr);
/// An infinity of f32 or f64 as MLIR has it.
std::string printInfinity(DataType type, bool isNegative);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_SHARED_H
