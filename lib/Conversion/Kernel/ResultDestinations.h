//===- ResultDestinations.h - where a kernel computes its results -*- C++ -*-===//
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

/// What a value is another shape of.
mlir::Value skipViews(mlir::Value value);

/// A tensor.empty of the type of `value`.
mlir::Value createEmptyLike(mlir::OpBuilder &b, mlir::Value value);

/// The argument that is the destination of a result; also one that is an output and that loops carry, or in which both
/// branches compute the result. Null where there is none.
mlir::BlockArgument findArgumentOfResult(mlir::Value result, llvm::ArrayRef<KernelArgument> descriptions);

/// The tensor.empty of the result's own type that it is computed in, through reshapes that are views; null where there
/// is none, or where something else uses it.
mlir::tensor::EmptyOp findEmptyOfResult(mlir::Value result);

/// What a result is computed in becomes its own, back to the tensor.empty where it starts. A destination is a value and
/// no place: two ops may have the same one, or it may be returned as well. With a shared one, another value could be
/// computed in the argument that the result is bound to, and be overwritten when the result is materialised, which
/// bufferisation does not see: it is promised that nothing else is in that argument.
void ownDestination(mlir::OpBuilder &b, mlir::Value result);

/// Each result of `branch` gets a tensor.empty of its own to be computed in.
void splitBranchDestinations(mlir::OpBuilder &b, mlir::scf::IfOp branch);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_KERNEL_RESULTDESTINATIONS_H
