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

/// The root of a tensor through reshapes, and the reshapes, the last one first.
struct View {
  mlir::Value root;
  llvm::SmallVector<mlir::Operation *> reshapes;
};
View getView(mlir::Value value);

/// Reshapes `value` from the shape of the result of `reshape` to that of its source.
mlir::Value undoReshape(mlir::OpBuilder &b, mlir::Operation *reshape, mlir::Value value);

/// True for a float tensor that an op of the region reads.
bool isRead(mlir::Region &region, mlir::Value tensor);

/// The user's name of an argument, or its role in attention if no other argument has the same, or a name with its
/// index.
std::string getArgumentName(mlir::func::FuncOp function, mlir::BlockArgument argument);
/// The argument that an entry of attn.grad names: by getArgumentName, by a unique role in attention, or by its index;
/// null where there is none.
mlir::BlockArgument findArgument(mlir::func::FuncOp function, mlir::Attribute entry);
/// The rule of these names, for diagnostics.
constexpr llvm::StringLiteral kNameRule =
    "; write the attn.name of an argument, what the function's attention calls it (query or q, key or k, value or v, "
    "bias, sink, scale, k_scale, v_scale), or its number";

/// Gives the backward arguments the strided layout of the forward ones; the cotangents, its last arguments, then have
/// it too.
void copyStrides(mlir::func::FuncOp forward, mlir::ArrayRef<mlir::BlockArgument> kept, mlir::func::FuncOp backward,
                 unsigned firstCotangent);

/// Renames the forward function, and marks both as a pair.
mlir::LogicalResult makePair(mlir::func::FuncOp forward, mlir::func::FuncOp backward, llvm::StringRef name);

/// "cannot be differentiated: "
mlir::InFlightDiagnostic refuseGradients(mlir::func::FuncOp function);

/// The forward and backward functions of a function that is more than one attn.sdpa between reshapes: reverse mode over
/// its ops, each with a rule.
mlir::LogicalResult differentiateBody(mlir::func::FuncOp function, mlir::ArrayAttr wanted);

/// The attn.linear that a function is; null where it is more, or another one.
LinearOp findOnlyLinear(mlir::func::FuncOp function);
/// The forward and backward functions of it (LinearGradient.cpp).
mlir::LogicalResult differentiateLinear(mlir::func::FuncOp function, LinearOp op, mlir::ArrayAttr wanted);

/// The rules of linalg ops and reshapes (LinalgGradients.cpp).
mlir::LogicalResult buildLinalgGradients(mlir::OpBuilder &builder, GradientFlow &flow,
                                         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace attn

#endif // ATTN_LIB_TRANSFORMS_DIFFERENTIATE_H
