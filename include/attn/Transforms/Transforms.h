//===- Transforms.h - the steps of the passes, as functions -----*- C++ -*-===//
//
// What the passes on single ops do; another compiler may call them alone.
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
/// Of attn-define-division.
void populateDefineDivisionPatterns(mlir::RewritePatternSet &patterns);
/// A linalg.softmax between scores of a chain and attn.apply becomes attn.softmax.
void populateRaiseSoftmaxPatterns(mlir::RewritePatternSet &patterns);

/// Attn ops on memrefs become ops on tensors between reads and writes of these; an error where that cannot be.
mlir::LogicalResult convertMemrefsToTensors(mlir::Operation *root);

/// Replaces the chain that ends in `apply` by one sdpa, or emits a missed remark with the reason.
mlir::FailureOr<SdpaOp> fuseChain(mlir::RewriterBase &rewriter, ApplyOp apply);

/// Replaces the spelled-out masks of `op` by a mask_mod region and attaches its key ranges.
void analyzeMask(mlir::RewriterBase &rewriter, SdpaOp op);

/// The schedule that the policy chooses for `op`; an error for an element type without kernels.
mlir::FailureOr<ScheduleAttr> selectSchedule(SdpaOp op, const TargetInfo &target);

/// An error where `op`, an sdpa or online_step, cannot have the schedule: on the target, or on any where it is null.
/// The error says what to write. Policy, schedules by hand and attn-tile all ask it.
mlir::LogicalResult verifySchedule(mlir::Operation *op, ScheduleAttr schedule, const TargetInfo *target = nullptr);

/// Bytes of a thread's stack for Q, the scores, the accumulator and the quotient that finalize transposes, of a CPU
/// tile of `rows` query rows (of a decode kernel those of all heads that share one of K); and how many a schedule may
/// need.
int64_t getTileStackBytes(mlir::Operation *op, int64_t rows, int64_t keyTile);
int64_t getMaxTileStackBytes(KernelKind kernel);
/// True where a decode tile of a sdpa or online_step may have `kvHeads` heads of K: a divisor of all, and all of them
/// visit the same keys.
bool canShareKeyLoop(mlir::Operation *op, int64_t kvHeads);

/// An error where no schedule makes `op`, an sdpa or online_step, a GPU kernel.
mlir::LogicalResult verifyGpuOp(mlir::Operation *op);
/// The one for a GPU.
mlir::FailureOr<ScheduleAttr> selectGpuSchedule(SdpaOp op, const TargetInfo &target);

/// True for additive scores.
bool hasScoreWeight(mlir::Operation *op);
/// True where the products of `op`, an sdpa or online_step, can be `product = dot`: pairs of bf16 that lie together.
/// Tiles of a prefill kernel hold K and V of 8 bits as bf16, which is exact.
bool canUseDotProducts(mlir::Operation *op, KernelKind kernel);
/// True where those of a decode kernel can: Q of 16 bits, rounded to integers of as many, times bytes of K, and the
/// weights likewise times V, whose rows lie together.
bool canUseByteDotProducts(mlir::Operation *op);
/// True where the products can be `product = amx`: pairs of bf16 in whole tiles.
bool canUseTileProducts(mlir::Operation *op);
/// That of the decode kernel, where few query rows make it the faster one.
std::optional<ScheduleAttr> selectDecodeSchedule(SdpaOp op, const TargetInfo &target);

/// A schedule by the names of its fields, and as text, "query_tile=64 key_tile=64 …".
struct ScheduleFields {
  int64_t queryTile = 1, keyTile = 1, lanes = 1, rowBlock = 1, laneVectors = 1;
  KernelKind kernel = KernelKind::Prefill;
  ProductKind product = ProductKind::FMA;
  int64_t splitKeys = 0, prefetch = 0, warps = 0, kvHeads = 1;

  ScheduleFields() = default;
  ScheduleFields(ScheduleAttr schedule);
  /// `fields` with those that the text names, separated by blanks or commas; the error says which one is wrong.
  static llvm::Expected<ScheduleFields> parse(llvm::StringRef text, ScheduleFields fields);
  /// All of them.
  std::string print() const;
  ScheduleAttr getAttr(mlir::MLIRContext *context) const;
};

/// True where the rows of all heads of a key lie between those of one head: (…, key, head, column), or pages of it.
bool hasHeadsSideBySide(SdpaOp op);

/// The largest part of a page, of at most `keyTile` keys, that is a tile; 0 where pages are too short, or gathered.
int64_t getPageTile(SdpaOp op, GatherPagesOp gather, int64_t keyTile);

/// The schedule of `op` with the fields that `text` names; an error where it becomes none that a kernel can have.
mlir::FailureOr<ScheduleAttr> overrideSchedule(SdpaOp op, llvm::StringRef text, const TargetInfo &target);

/// Tiles the online form that ends in `finalize`.
mlir::LogicalResult tileOnlineForm(mlir::RewriterBase &rewriter, FinalizeOp finalize);

/// A remark of category attn, in the function around `op`.
enum class RemarkOutcome { Passed, Missed, Analysis };
mlir::remark::detail::InFlightRemark emitRemark(mlir::Operation *op, RemarkOutcome outcome, llvm::StringRef reason);

} // namespace attn

#endif // ATTN_TRANSFORMS_TRANSFORMS_H
