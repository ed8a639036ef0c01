//===- Transforms.h - the steps of the passes, as functions -----*- C++ -*-===//
//
// The passes' functions on single ops; another compiler may call them directly.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_TRANSFORMS_H
#define ATTN_TRANSFORMS_TRANSFORMS_H

#include "attn/Schedule/Schedule.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace attn {

void populateCanonicalizePatterns(mlir::RewritePatternSet &patterns);
/// The patterns of attn-define-division.
void populateDefineDivisionPatterns(mlir::RewritePatternSet &patterns);
/// The author of an op's regions.
enum class PositionSource {
  User,    ///< a position of static sizes that may be out of bounds is an error
  Compiler ///< it is clamped
};
/// attn-bound-positions for one op: afterwards, the reads and accumulations of its regions are in bounds.
mlir::LogicalResult boundPositions(mlir::RewriterBase &rewriter, mlir::Operation *op, PositionSource source);

/// Turns a linalg.softmax between scores of a chain and attn.apply into attn.softmax.
void populateRaiseSoftmaxPatterns(mlir::RewritePatternSet &patterns);

/// Turns attn ops on memrefs into ops on tensors between reads and writes of these; an error where that is not
/// possible.
mlir::LogicalResult convertMemrefsToTensors(mlir::Operation *root);

/// Expands multi_head and projected scores on tensors into products around attn.sdpa and plain scores.
void expandLayers(mlir::RewriterBase &rewriter, mlir::Operation *root);

/// Replaces the chain that ends in `apply` by one sdpa. Changes nothing where that is not possible: `reason` says why.
mlir::FailureOr<SdpaOp> fuseChain(mlir::RewriterBase &rewriter, ApplyOp apply, std::string *reason = nullptr);
/// The same as a pattern on all attn.apply.
void populateFusePatterns(mlir::RewritePatternSet &patterns);

/// Replaces the words of `op` by regions (expandWords) and attaches its key ranges.
void analyzeMask(mlir::RewriterBase &rewriter, SdpaOp op);
/// The same, with the query ranges of a key tile.
void analyzeMask(mlir::RewriterBase &rewriter, SdpaBackwardOp op);

/// The schedule that the policy chooses for `op`; an error for an element type without kernels.
mlir::FailureOr<ScheduleAttr> selectSchedule(SdpaOp op, const TargetInfo &target);

/// The same for gradients.
mlir::FailureOr<ScheduleAttr> selectBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target);

/// The same for a GPU.
mlir::FailureOr<ScheduleAttr> selectGpuSchedule(SdpaOp op, const TargetInfo &target);
mlir::FailureOr<ScheduleAttr> selectGpuBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target);
/// True where the blocks of a kernel of all gradients, for a sdpa_backward or a backward_step, can add to dQ in the
/// order of the key tiles: each query tile meets a prefix of the key tiles, so a block's index is its turn.
bool addsInOrder(mlir::Operation *op, BlockAttr schedule);

/// The schedule of a decode kernel for `queries` queries, if `op` can have one. `isSideBySide` says whether key heads
/// are adjacent (hasHeadsSideBySide); by default the maps decide.
std::optional<DecodeAttr> selectDecodeSchedule(SdpaOp op, int64_t queries, const TargetInfo &target,
                                               std::optional<bool> isSideBySide = std::nullopt);

/// The largest number of queries for which a kernel with a dynamic number is a decode kernel, and the schedule for more
/// than one.
struct FewQueries {
  int64_t maxQueries;
  ScheduleAttr schedule;
};
/// None where `op` has no decode kernel, or its number of queries is static.
std::optional<FewQueries> selectFewQueries(SdpaOp op, const TargetInfo &target);

/// True where the rows of all heads of a key are adjacent: (…, key, head, column), or pages of it.
bool hasHeadsSideBySide(SdpaOp op);

/// The largest part of a page, of at most `keyTile` keys, that can be a tile; 0 where pages are too short, or gathered.
int64_t getPageTile(SdpaOp op, GatherPagesOp gather, int64_t keyTile);

/// The schedule of `op` overridden by `text`; an error where `op` cannot have it.
mlir::FailureOr<ScheduleAttr> overrideSchedule(SdpaOp op, llvm::StringRef text, const TargetInfo &target);

/// Replaces `op` by init_state, an online_step over all keys and finalize, which it returns; an error where it is on
/// memrefs, or has no scale.
mlir::FailureOr<FinalizeOp> convertToOnline(mlir::RewriterBase &rewriter, SdpaOp op);

/// Replaces `op` by row_delta and a backward_step over all queries and keys.
mlir::LogicalResult convertToOnline(mlir::RewriterBase &rewriter, SdpaBackwardOp op);

/// Tiles the online form that ends in `finalize`; returns the results of the loop that replaces it.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> tileOnlineForm(mlir::RewriterBase &rewriter, FinalizeOp finalize);

/// Replaces a backward_step over all queries and keys by tiles, for a CPU or for a GPU's kernels.
mlir::LogicalResult tileBackwardStep(mlir::RewriterBase &rewriter, BackwardStepOp step);
void tileBackwardBlocks(mlir::RewriterBase &rewriter, BackwardStepOp step);
/// Replaces a row_delta over all rows by a kernel with a block's rows at a time.
void tileRowDelta(mlir::RewriterBase &rewriter, RowDeltaOp row, BlockAttr schedule);

/// A remark of category attn, in the function around `op`.
enum class RemarkOutcome { Passed, Missed, Analysis };
mlir::remark::detail::InFlightRemark emitRemark(mlir::Operation *op, RemarkOutcome outcome, llvm::StringRef reason);

} // namespace attn

#endif // ATTN_TRANSFORMS_TRANSFORMS_H
