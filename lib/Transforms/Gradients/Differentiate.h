//===- Differentiate.h - the parts of attn-differentiate --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_TRANSFORMS_DIFFERENTIATE_H
#define ATTN_LIB_TRANSFORMS_DIFFERENTIATE_H

#include "attn/IR/Derivative.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// What a tensor is a view of, through reshapes alone; the reshapes, the last one first.
struct View {
  mlir::Value root;
  llvm::SmallVector<mlir::Operation *> reshapes;
};
View getView(mlir::Value value);

/// `value`, of the shape of the result of `reshape`, in that of its source.
mlir::Value undoReshape(mlir::OpBuilder &b, mlir::Operation *reshape, mlir::Value value);

/// True for a tensor of floats that an op of the region reads.
bool isRead(mlir::Region &region, mlir::Value tensor);

/// The name that a user gave an argument, or what attention calls it where no other argument is called so, or one by
/// its number.
std::string getArgumentName(mlir::func::FuncOp function, mlir::BlockArgument argument);
/// The argument that an entry of attn.grad names: by getArgumentName, by what attention calls it where that is one
/// argument, or by its number; null where there is none.
mlir::BlockArgument findArgument(mlir::func::FuncOp function, mlir::Attribute entry);
/// The rule of these names, for errors.
constexpr llvm::StringLiteral kNameRule =
    "; write the attn.name of an argument, what the function's attention calls it (query or q, key or k, value or v, "
    "bias, sink, scale, k_scale, v_scale), or its number";

/// Rows of the forward function's strided arguments lie anywhere in the backward one, too; then so do those of the
/// cotangents, its last arguments.
void copyStrides(mlir::func::FuncOp forward, mlir::ArrayRef<mlir::BlockArgument> kept, mlir::func::FuncOp backward,
                 unsigned firstCotangent);

/// Renames the forward function, and marks both as a pair.
mlir::LogicalResult makePair(mlir::func::FuncOp forward, mlir::func::FuncOp backward, llvm::StringRef name);

/// "cannot be differentiated: "
mlir::InFlightDiagnostic refuseGradients(mlir::func::FuncOp function);

/// The forward and the backward function of one that is more than an attn.sdpa between reshapes: reverse mode over its
/// ops, each of which has a rule.
mlir::LogicalResult differentiateBody(mlir::func::FuncOp function, mlir::ArrayAttr wanted);

/// The rules of linalg ops and reshapes (LinalgGradients.cpp).
mlir::LogicalResult buildLinalgGradients(mlir::OpBuilder &builder, GradientFlow &flow,
                                         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_DIFFERENTIATE_H
