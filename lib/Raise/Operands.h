//===- Operands.h - queries, keys and values as tensors ---------*- C++ -*-===//
//
// A front end, or linalg-fuse-elementwise-ops, may fuse the computation of Q, K or V (a bias, a rotation) into the body
// of the product. Then no tensor contains them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_OPERANDS_H
#define ATTN_LIB_RAISE_OPERANDS_H

#include "Attention.h"

namespace attn::raise {

/// An operand of a product as a tensor at most as wide as `type`, or as the expression that computes one: its casts are
/// part of the product. Returns the last one on the way back with that type, else the last of all; null where all are
/// wider.
ExprRef findOperand(Elements &elements, ExprRef expr, mlir::Type type);

/// Materialises `expr` by a linalg.generic, with the dimensions `dims` of the match, then others that it depends on.
mlir::FailureOr<ExprRef> createTensor(mlir::RewriterBase &rewriter, mlir::Location loc, Elements &elements,
                                      ExprRef expr, llvm::ArrayRef<unsigned> dims = {});

/// Materialises queries, keys and values that are not tensors, by a linalg.generic each.
mlir::LogicalResult createOperands(mlir::RewriterBase &rewriter, MatchContext &ctx, Attention &attention);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_OPERANDS_H
