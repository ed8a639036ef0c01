//===- Transforms.h - the steps of the passes, as functions -----*- C++ -*-===//
//
// What the passes on single ops do; another compiler may call them alone.
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
/// Of attn-define-division.
void populateDefineDivisionPatterns(mlir::RewritePatternSet &patterns);
/// Who has written the regions of an op.
enum class PositionSource {
  User,    ///< a position of static sizes that may be outside is an error
  Compiler ///< it is clamped
};
/// Of attn-bound-positions: what the regions of `op` read, and what they add to, lies inside of its tensors afterwards.
mlir::LogicalResult boundPositions(mlir::RewriterBase &rewriter, mlir::Operation *op, PositionSource source);

/// A linalg.softmax between scores of a chain and attn.apply becomes attn.softmax.
void populateRaiseSoftmaxPatterns(mlir::RewritePatternSet &patterns);

/// Attn ops on memrefs become ops on tensors between reads and writes of these; an error where that cannot be.
mlir::LogicalResult convertMemrefsToTensors(mlir::Operation *root);

/// multi_head and projected scores on tensors become products around attn.sdpa and plain scores.
void expandLayers(mlir::RewriterBase &rewriter, mlir::Operation *root);

/// Replaces the chain that ends in `apply` by one sdpa. Nothing is changed where that cannot be: `reason` says why.
mlir::FailureOr<SdpaOp> fuseChain(mlir::RewriterBase &rewriter, ApplyOp apply, std::string *reason = nullptr);
/// The same as a pattern on all attn.apply.
void populateFusePatterns(mlir::RewritePatternSet &patterns);

/// Replaces the spelled-out masks of `op` by a mask_mod region and attaches its key ranges.
void analyzeMask(mlir::RewriterBase &rewriter, SdpaOp op);
/// The same, with the ranges of queries of a key tile.
void analyzeMask(mlir::RewriterBase &rewriter, SdpaBackwardOp op);

/// The schedule that the policy chooses for `op`; an error for an element type without kernels.
mlir::FailureOr<ScheduleAttr> selectSchedule(SdpaOp op, const TargetInfo &target);

/// That of the gradients.
mlir::FailureOr<ScheduleAttr> selectBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target);

/// Those for a GPU.
mlir::FailureOr<ScheduleAttr> selectGpuSchedule(SdpaOp op, const TargetInfo &target);
mlir::FailureOr<ScheduleAttr> selectGpuBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target);
/// True where the blocks of a kernel of all gradients, of a sdpa_backward or a backward_step, can add to dQ in the
/// order of the key tiles: each tile of queries meets the first ones, so that a block's number is that of its turn.
bool addsInOrder(mlir::Operation *op, BlockAttr schedule);

/// That of the decode kernel of so many queries, where `op` can have one. `isSideBySide` says where the heads of K lie
/// (hasHeadsSideBySide); by default the maps do.
std::optional<DecodeAttr> selectDecodeSchedule(SdpaOp op, int64_t queries, const TargetInfo &target,
                                               std::optional<bool> isSideBySide = std::nullopt);

/// Up to which number of queries a kernel of a dynamic number is a decode kernel, and the schedule of more than one.
struct FewQueries {
  int64_t maxQueries;
  ScheduleAttr schedule;
};
/// None where `op` has no decode kernel, or its number of queries is static.
std::optional<FewQueries> selectFewQueries(SdpaOp op, const TargetInfo &target);

/// True where the rows of all heads of a key lie between those of one head: (…, key, head, column), or pages of it.
bool hasHeadsSideBySide(SdpaOp op);

/// The largest part of a page, of at most `keyTile` keys, that is a tile; 0 where pages are too short, or gathered.
int64_t getPageTile(SdpaOp op, GatherPagesOp gather, int64_t keyTile);

/// The schedule that `text` writes over that of `op`; an error where `op` cannot have it.
mlir::FailureOr<ScheduleAttr> overrideSchedule(SdpaOp op, llvm::StringRef text, const TargetInfo &target);

/// Replaces `op` by init_state, an online_step over all keys and finalize, which it returns; an error where it is on
/// memrefs, or has no scale.
mlir::FailureOr<FinalizeOp> convertToOnline(mlir::RewriterBase &rewriter, SdpaOp op);

/// Replaces `op` by row_delta and a backward_step over all queries and keys.
mlir::LogicalResult convertToOnline(mlir::RewriterBase &rewriter, SdpaBackwardOp op);

/// Tiles the online form that ends in `finalize`; returns the results of the loop that has taken its place.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> tileOnlineForm(mlir::RewriterBase &rewriter, FinalizeOp finalize);

/// Replaces a backward_step over all queries and keys by tiles: of a CPU, or of the kernels of a GPU.
mlir::LogicalResult tileBackwardStep(mlir::RewriterBase &rewriter, BackwardStepOp step);
void tileBackwardBlocks(mlir::RewriterBase &rewriter, BackwardStepOp step);
/// Replaces a row_delta over all rows by a kernel with `tileRows` rows a block.
void tileRowDelta(mlir::RewriterBase &rewriter, RowDeltaOp row, int64_t tileRows);

/// A remark of category attn, in the function around `op`.
enum class RemarkOutcome { Passed, Missed, Analysis };
mlir::remark::detail::InFlightRemark emitRemark(mlir::Operation *op, RemarkOutcome outcome, llvm::StringRef reason);

} // namespace attn

#endif // ATTN_TRANSFORMS_TRANSFORMS_H
