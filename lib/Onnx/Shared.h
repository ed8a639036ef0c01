//===- Shared.h - what rules of several families build ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_ONNX_SHARED_H
#define ATTN_LIB_ONNX_SHARED_H

#include "GraphOps.h"

namespace attn::onnx {

/// False for two constants that differ.
inline bool canMeet(const Size &lhs, const Size &rhs) { return !lhs.number || !rhs.number || lhs.number == rhs.number; }

/// The first `count` inputs are floats of one type.
llvm::Error checkFloats(NodeView &view, size_t count);

/// The outputs of another node on these operands, as a part of `view`.
llvm::Expected<Values> buildAs(NodeView &view, llvm::StringRef op, Values operands,
                               std::vector<Attribute> attributes = {});
Attribute makeAttribute(llvm::StringRef name, int64_t integer);
Attribute makeAttribute(llvm::StringRef name, float real);

/// The product of matrices as MatMul has it (OpsProducts.cpp).
llvm::Expected<Value> multiply(NodeView &view, Value lhs, Value rhs);

/// The sum of lhs * rhs over `reductions`, the loops that the result's map leaves out.
Value addContraction(GraphBuilder &b, const Sizes &sizes, const Exprs &map, llvm::ArrayRef<Operand> operands,
                     size_t loops, llvm::ArrayRef<size_t> reductions);

/// Joins the result so far and an element.
using Join = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
/// Reduces the result of `map` for each element over some axes, from `start` on, in the type of sums. Reduced
/// dimensions have size 1 in the result.
Value addReduction(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> axes, mlir::Value start, Join join,
                   llvm::function_ref<mlir::Value(mlir::Value)> map = nullptr);
Value addSum(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> axes,
             llvm::function_ref<mlir::Value(mlir::Value)> map = nullptr);
/// The largest element, or the smallest.
Value addExtreme(GraphBuilder &b, const Value &value, llvm::ArrayRef<size_t> axes, bool isMax);

} // namespace attn::onnx

#endif // ATTN_LIB_ONNX_SHARED_H
