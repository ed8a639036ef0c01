//===- MaskOperands.h - masks as operands and attributes of attn.mask -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_RAISE_MASKOPERANDS_H
#define ATTN_LIB_RAISE_MASKOPERANDS_H

#include "Scalars.h"

namespace attn::raise {

struct MaskOperands {
  View mask; // null: none
  CausalAlignmentAttr causal;
  WindowAttr window;
  llvm::SmallVector<Predicate> predicates; // what is left for mask_mod: of positions, or a second mask
};

/// A constant triangle or band becomes `causal` and `window`, another tensor of booleans the mask.
mlir::FailureOr<MaskOperands> createMaskOperands(mlir::RewriterBase &rewriter, mlir::Location loc, MatchContext &ctx,
                                                 const Domain &domain, const Attention &attention);

/// Fills the mask_mod of `op` with the conjunction of `predicates`.
mlir::LogicalResult buildMaskMod(mlir::RewriterBase &rewriter, mlir::Location loc, MatchContext &ctx,
                                 const Domain &domain, llvm::ArrayRef<Predicate> predicates, mlir::Type type,
                                 MaskOp op);

/// A tensor of the type of `empty` from the elements of `input`, one by one.
mlir::Value mapElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, mlir::Value empty,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> function);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_MASKOPERANDS_H
