//===- ForeignAttention.h - semantics of foreign attention ops --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_FOREIGNATTENTION_H
#define ATTN_LIB_RAISE_FOREIGNATTENTION_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::raise {

/// Shared by all of them. Queries, keys, values and the result may have different types.
struct ForeignAttention {
  mlir::Value query, key, value, mask, output;
  mlir::AffineMap queryMap, keyMap, valueMap, maskMap, outputMap; // over (batch…, query, key, head, value)
  mlir::Value scaleValue;
  std::optional<double> scale; // none, and no value: 1 / sqrt(head)
  bool causal = false;
  mlir::Region *scoreMod = nullptr;
  mlir::AffineMap lseMap; // null: the log-sum-exp has no uses
};

/// The result, with the type of `output`, and the log-sum-exp, in the accumulation type.
struct SdpaValues {
  mlir::Value output, lse;
};

/// Builds the attn.sdpa before `op`, in the widest type of its operands and results: nothing is rounded in between.
mlir::FailureOr<SdpaValues> createSdpa(mlir::OpBuilder &b, mlir::Operation *op, ForeignAttention a);

/// Converts `tensor`, of floats, to another element type.
mlir::Value convertElements(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::Type element);

/// A property or an attribute of an op of an unlinked dialect.
mlir::Attribute getForeignAttribute(mlir::Operation *op, llvm::StringRef name);

// torch-mlir (ImportTorch.cpp).

/// True for the attention ops of the torch dialect, also as torch.operator.
bool isTorchAttention(mlir::Operation *op);
mlir::LogicalResult importTorch(mlir::OpBuilder &b, mlir::Operation *op);
mlir::LogicalResult importTmTensor(mlir::OpBuilder &b, mlir::Operation *op);
/// Arguments of torch's tensor types become builtin tensors; at the end, so do results and constants.
void convertTorchArguments(mlir::func::FuncOp function);
void finishTorchFunction(mlir::func::FuncOp function);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_FOREIGNATTENTION_H
