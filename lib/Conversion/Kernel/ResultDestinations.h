//===- ResultDestinations.h - the tensors in which results are computed -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_KERNEL_RESULTDESTINATIONS_H
#define ATTN_LIB_CONVERSION_KERNEL_RESULTDESTINATIONS_H

#include "attn/Conversion/Kernels.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace attn {

/// The source of a value through reshapes.
mlir::Value skipViews(mlir::Value value);

/// A tensor.empty of the type of `value`.
mlir::Value createEmptyLike(mlir::OpBuilder &b, mlir::Value value);

/// The argument that is the destination of a result; includes an output argument that loops carry, or in which both
/// branches compute the result. Null where there is none.
mlir::BlockArgument findArgumentOfResult(mlir::Value result, llvm::ArrayRef<KernelArgument> descriptions);

/// The tensor.empty of the result's own type in which it is computed, through reshapes that are views; null where there
/// is none, or it has other uses.
mlir::tensor::EmptyOp findEmptyOfResult(mlir::Value result);

/// Gives a result a destination of its own, back to the tensor.empty at its start. A destination is a value and not
/// memory: two ops may have the same one, or it may be returned as well. With a shared one, another value could be
/// computed in the argument to which the result is bound, and be overwritten when the result is materialised.
/// Bufferisation cannot see this: it is promised that the argument contains nothing else.
void ownDestination(mlir::OpBuilder &b, mlir::Value result);

/// Gives each result of `branch` a separate tensor.empty as its destination.
void splitBranchDestinations(mlir::OpBuilder &b, mlir::scf::IfOp branch);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_RESULTDESTINATIONS_H
