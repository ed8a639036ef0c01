//===- ValueChecks.h - conditions on a kernel's integers --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_KERNEL_VALUECHECKS_H
#define ATTN_LIB_CONVERSION_KERNEL_VALUECHECKS_H

#include "SizeClasses.h"
#include "attn/Conversion/Kernels.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Words.h"

namespace attn {

/// Looks through the op that reads a memref as a tensor.
mlir::Value lookThroughRead(mlir::Value value);

/// The integers with which the ops of a function index memory: lengths, prefix sums, block tables and positions that
/// are arguments, and their limits in terms of the caller's sizes.
class ValueChecks {
public:
  ValueChecks(mlir::func::FuncOp function, SizeClasses &classes);
  llvm::ArrayRef<ValueCheck> get(mlir::Value argument) const;

private:
  std::optional<SizePlace> findPlace(mlir::Value tensor, unsigned dim);
  std::optional<SizePlace> findPlace(mlir::Operation *op, DimKind kind);
  void add(mlir::Value argument, const ValueCheck &check);
  void addList(mlir::Operation *op, const WordInfo &word, mlir::Value list);
  void addLengths(mlir::Value argument, std::optional<SizePlace> limit);
  void addOp(GatherPagesOp op);
  void addOp(KvAppendOp op);
  void addLinear(mlir::Operation *op, mlir::Value sums, mlir::Value slots, mlir::Value state);
  /// The index of an argument that the caller passes, or nothing.
  static std::optional<int64_t> getArgument(mlir::Value value);

  mlir::func::FuncOp function;
  SizeClasses &classes;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ValueCheck, 0>> checks;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_VALUECHECKS_H
