//===- Operands.h - queries, keys and values as tensors ---------*- C++ -*-===//
//
// Where a front end, or linalg-fuse-elementwise-ops, has put what makes Q, K or V
// (a bias, a rotation) into the body of the product, no tensor holds them.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_OPERANDS_H
#define ATTN_LIB_RAISE_OPERANDS_H

#include "Attention.h"

namespace attn::raise {

/// An operand of a product as a tensor of at most the width of `type`, or as what calculates one: its casts are part of
/// the product. The last one on the way back whose type is that, else the last of all; null where all are wider.
ExprRef findOperand(Elements &elements, ExprRef expr, mlir::Type type);

/// `expr` as a tensor with the dimensions `dims` of the match, then of others that it depends on, made by a
/// linalg.generic.
mlir::FailureOr<ExprRef> createTensor(mlir::RewriterBase &rewriter, mlir::Location loc, Elements &elements,
                                      ExprRef expr, llvm::ArrayRef<unsigned> dims = {});

/// Makes tensors, by a linalg.generic each, of queries, keys and values that are none.
mlir::LogicalResult createOperands(mlir::RewriterBase &rewriter, MatchContext &ctx, Attention &attention);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_OPERANDS_H
