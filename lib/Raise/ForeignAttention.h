//===- ForeignAttention.h - what attention ops of others say ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_FOREIGNATTENTION_H
#define ATTN_LIB_RAISE_FOREIGNATTENTION_H

#include "attn/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::raise {

/// What all of them say. Queries, keys, values and the result may each have a type of its own.
struct ForeignAttention {
  mlir::Value query, key, value, mask, output;
  mlir::AffineMap queryMap, keyMap, valueMap, maskMap, outputMap; // over (batch…, query, key, head, value)
  mlir::Value scaleValue;
  std::optional<double> scale; // none, and no value: 1 / sqrt(head)
  bool causal = false;
  mlir::Region *scoreMod = nullptr;
  mlir::AffineMap lseMap; // null: nobody reads the log-sum-exp
};

/// The result, of the type of `output`, and the log-sum-exp, of the type of the accumulation.
struct SdpaValues {
  mlir::Value output, lse;
};

/// The attn.sdpa in front of `op`, in the widest type of what it reads and makes: nothing is rounded on the way.
mlir::FailureOr<SdpaValues> createSdpa(mlir::OpBuilder &b, mlir::Operation *op, ForeignAttention a);

/// `tensor`, of floats, in another element type.
mlir::Value convertElements(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::Type element);

/// A property or an attribute of an op that no linked dialect has.
mlir::Attribute getForeignAttribute(mlir::Operation *op, llvm::StringRef name);

// torch-mlir (ImportTorch.cpp).

/// True for the attention ops of the torch dialect, also as torch.operator.
bool isTorchAttention(mlir::Operation *op);
mlir::LogicalResult importTorch(mlir::OpBuilder &b, mlir::Operation *op);
mlir::LogicalResult importTmTensor(mlir::OpBuilder &b, mlir::Operation *op);
/// Arguments of torch's tensor types become builtin tensors, and at the end results and constants with them.
void convertTorchArguments(mlir::func::FuncOp function);
void finishTorchFunction(mlir::func::FuncOp function);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_FOREIGNATTENTION_H
