//===- Transforms.h - the steps of the passes, as functions -----*- C++ -*-===//
//
// Each pass is a loop over one of these; another compiler may call them alone.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_TRANSFORMS_H
#define ATTN_TRANSFORMS_TRANSFORMS_H

#include "attn/IR/Attn.h"
#include "attn/Target/TargetInfo.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace attn {

void populateCanonicalizePatterns(mlir::RewritePatternSet &patterns);

/// Replaces the chain that ends in `apply` by one sdpa, or emits a missed remark with the reason.
mlir::FailureOr<SdpaOp> fuseChain(mlir::RewriterBase &rewriter, ApplyOp apply);

/// Replaces the spelled-out masks of `op` by a mask_mod region and attaches its key ranges.
SdpaOp analyzeMask(mlir::RewriterBase &rewriter, SdpaOp op);

/// The schedule that the policy chooses for `op`; an error for an element type without kernels.
mlir::FailureOr<ScheduleAttr> selectSchedule(SdpaOp op, const TargetInfo &target);

/// True where the products of `op`, an sdpa or online_step, can be `product = dot`: pairs of bf16 that lie together.
bool canUseDotProducts(mlir::Operation *op);
/// That of the decode kernel, where few query rows make it the faster one.
std::optional<ScheduleAttr> selectDecodeSchedule(SdpaOp op, const TargetInfo &target);

/// Tiles the online form that ends in `finalize`.
mlir::LogicalResult tileOnlineForm(mlir::RewriterBase &rewriter, FinalizeOp finalize);

/// A remark of category attn, in the function around `op`.
enum class RemarkOutcome { Passed, Missed, Analysis };
mlir::remark::detail::InFlightRemark emitRemark(mlir::Operation *op, RemarkOutcome outcome, llvm::StringRef reason);

} // namespace attn

#endif // ATTN_TRANSFORMS_TRANSFORMS_H
