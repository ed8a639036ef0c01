//===- BackwardSignature.h - arguments of a backward pass -------*- C++ -*-===//
//
// A backward pass takes the arguments of the forward pass, its results, its other saved values, and the cotangents of
// the results. Both passes use the same names for a value.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_BACKWARDSIGNATURE_H
#define ATTN_LIB_TRANSFORMS_BACKWARDSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace attn {

/// True for an argument that results are written into: it is not an input of the backward pass.
bool isDestination(mlir::BlockArgument argument);

/// A value of the forward pass that the backward pass takes as an argument.
struct SavedValue {
  mlir::Value value; ///< as it is returned, possibly a view
  unsigned place;    ///< argument index
};

class BackwardSignature {
public:
  /// `active`: the tensors of `function` that have gradients, once createBackward is called.
  BackwardSignature(mlir::func::FuncOp function, const llvm::SetVector<mlir::Value> &active)
      : function(function), active(active) {}

  /// Names the arguments and results of `function`, and creates the backward pass after it, without a body, for the
  /// gradients of `wanted`.
  mlir::func::FuncOp createBackward(mlir::OpBuilder &b, llvm::ArrayRef<mlir::BlockArgument> wanted);

  /// True where the backward pass has a cotangent of a result: the returned max and log_sum of attn.sdpa have no
  /// gradient.
  bool hasCotangent(mlir::Value result) const;

  /// The forward arguments that the backward pass takes, first and in this order.
  llvm::ArrayRef<mlir::BlockArgument> getKept() const { return kept; }
  llvm::ArrayRef<SavedValue> getSaved() const { return saved; }
  llvm::ArrayRef<SavedValue> getSavedBesideResults() const { return getSaved().drop_front(numReturned); }
  unsigned getFirstCotangent() const { return firstCotangent; }
  llvm::StringRef getName(unsigned place) const { return names[place]; }

private:
  mlir::ValueRange getResults() const { return function.front().getTerminator()->getOperands(); }
  std::string makeUnique(std::string stem);
  void add(mlir::Type type, llvm::StringRef name);
  void nameValues(mlir::OpBuilder &b);
  void addArguments();

  mutable mlir::func::FuncOp function;
  const llvm::SetVector<mlir::Value> &active;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<std::string> resultNames; ///< of the forward pass
  llvm::StringSet<> taken;
  llvm::SmallVector<mlir::BlockArgument> kept;
  llvm::SmallVector<SavedValue> saved; ///< results of the function come first
  unsigned numReturned = 0, firstCotangent = 0;
};

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_BACKWARDSIGNATURE_H
