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
  llvm::SmallVector<Predicate> predicates; // the rest, for mask_mod: of positions, or a second mask
};

/// Turns a constant triangle or band into `causal` and `window`, and another boolean tensor into the mask.
mlir::FailureOr<MaskOperands> createMaskOperands(mlir::RewriterBase &rewriter, mlir::Location loc, MatchContext &ctx,
                                                 const Domain &domain, const Attention &attention);

/// Fills the mask_mod of `op` with the conjunction of `predicates`.
mlir::LogicalResult buildMaskMod(mlir::RewriterBase &rewriter, mlir::Location loc, MatchContext &ctx,
                                 const Domain &domain, llvm::ArrayRef<Predicate> predicates, mlir::Type type,
                                 MaskOp op);

/// Applies `function` to each element of `input`; the result has the type of `empty`.
mlir::Value mapElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, mlir::Value empty,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> function);

} // namespace attn::raise

#endif // ATTN_LIB_RAISE_MASKOPERANDS_H
