//===- Decompose.h - attn ops in terms of simpler ones ----------*- C++ -*-===//
//
// The formulas of the ops as linalg on tensors, the rewrites between levels of
// the dialect that more than one layer needs (spelled-out masks to one mask_mod
// region, sdpa to the online form), and what they are made of: regions inlined,
// floats converted, random bits of dropout.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_IR_DECOMPOSE_H
#define ATTN_IR_DECOMPOSE_H

#include "attn/IR/Attn.h"

namespace attn {

/// Decomposes a structured op on tensors: sdpa into the online form, the others into linalg. Steps of the chain and
/// sdpa are computed in `computeType` (null: the accumulation type); ops on a state in the type of the state.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> decompose(mlir::OpBuilder &builder, mlir::Operation *op,
                                                          mlir::Type computeType);

/// True where `op` has words that expandWords makes regions of; and where it has mask sugar or a mask_mod region.
bool hasWordsToExpand(mlir::Operation *op);
bool hasPredicate(mlir::Operation *op);

/// Fills the empty `region` with the conjunction of the spelled-out masks of `op` (sdpa or mask) and its mask_mod. This
/// is the only place that knows what mask sugar means; a new word is a few lines in it. Numbers of
/// queries and keys that are dynamic are those of `domain`, an op that has the same and outlives `op`; null for `op`.
void buildPredicate(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Region &region,
                    mlir::Operation *domain = nullptr);
/// Fills the empty `region` with what the rows of a sdpa start with, by a word or a region, in `type`.
void buildStart(mlir::OpBuilder &builder, SdpaOp op, mlir::Region &region, mlir::Type type);
/// Fills the empty `region` with dropout as a function of a weight of `type` (Dropout.cpp).
void buildDropout(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value seed, mlir::Value offset, double p,
                  mlir::Type type, mlir::Region &region);

/// True where positions of `kind` in the regions of `op` begin at an origin that they do not have in them yet; where
/// those of any kind do (Origin.cpp).
bool isShifted(mlir::Operation *op, IndexKind kind);
bool hasOrigins(mlir::Operation *op);
/// `position` of `op` plus where positions of `kind` begin: `position` itself where that is 0. A null position is 0.
mlir::Value addOrigin(mlir::OpBuilder &builder, mlir::Operation *op, IndexKind kind, mlir::Value position);
/// The positions of a region in the whole.
void shiftByOrigins(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Region &region);
/// Takes the words away that all regions of `op` have in them, unless dropout still reads them.
void clearOrigins(mlir::Operation *op);
/// The integer of a list of one a batch index, inside of a region.
mlir::Value readPerBatch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value list);

/// Where the scale of quantised rows stands in the function of a score or weight that a region is.
enum class ScaleOrder { BeforeRegion, AfterRegion };
/// Multiplies by `scale`, an operand of kv_scale, in front of or behind what `region` computes (KvScale.cpp); the
/// region, which may be empty, then takes and yields `type`.
void composeKvScale(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale, ScaleOrder order, mlir::Type type,
                    mlir::Region &region);
/// The same of the gradient region beside a score_mod that got the scale of K in front of it.
void composeKeyScaleGradient(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale, mlir::Type type,
                             mlir::Region &scoreGrad);
/// The map of the operands of kv_scale over the domain of a sdpa that has them.
mlir::AffineMap getKvScaleMap(SdpaOp op);

/// Puts the regions that stand for the masks, sinks, origins and score functions that are words of `op` into `target`
/// (`op` itself or a copy of it) and takes the words away. New regions of scores are of `type`: null for that of the
/// accumulation.
void expandWords(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Operation *target, mlir::Type type = {});
/// The part of it that is score functions (ScoreWords.cpp).
bool hasScoreWords(mlir::Operation *op);
void expandScoreWords(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Operation *target, mlir::Type type);
/// Makes limit * tanh(score_mod(s) / limit) of what `scoreMod` computes; the region, which may be empty, then takes and
/// yields `type`.
void appendCap(mlir::OpBuilder &builder, mlir::Location loc, double limit, mlir::Type type, mlir::Region &scoreMod);
/// Writes the alignment of the mask sugar of a sdpa or mask that has none, where its numbers of queries and keys, which
/// were known to be equal, no longer are.
void spellOutAlignment(mlir::Operation *op);
/// Copies spelled-out masks of an attn.mask to an attn.sdpa.
void copySpelledOutMasks(MaskOp from, SdpaOp to);

/// True where the scores or weights depend on where their keys are, mask_mod aside.
bool asksForKeys(OnlineStepOp step);
bool asksForKeys(SdpaOp op);

/// True where one of `kinds` of index decides which keys a sdpa or online_step visits.
bool visitsKeysBy(mlir::Operation *op, llvm::ArrayRef<IndexKind> kinds);

/// True where a sdpa or online_step, which reads `gather` through `map`, visits no key beyond its lengths: pages can be
/// read where they lie, as what stands behind a length is not asked for.
bool visitsOnly(mlir::Operation *op, GatherPagesOp gather, mlir::AffineMap map);

/// The region of key ranges of a sdpa or online_step, null for other ops.
mlir::Region *getKeyRangesRegion(mlir::Operation *op);

/// A sdpa of packed sequences in terms of one of padded sequences (Packed.cpp): rows beyond a sequence are zero, and
/// its lengths are q_lengths and kv_lengths. Needs memory for the padding: what runs the reference, not the kernels.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> padSequences(mlir::OpBuilder &builder, SdpaOp op);

/// gather_pages as linalg on tensors, all of it in memory.
mlir::FailureOr<mlir::Value> decomposeGatherPages(mlir::OpBuilder &builder, GatherPagesOp op);

/// What attn.finalize writes for each row beside the output.
enum class RowResult { Lse, Max, LogSum };
/// Those that `op` writes with their destinations, in its order.
llvm::SmallVector<std::pair<RowResult, mlir::Value>> getRowResults(FinalizeOp op);
/// The result of `op` on tensors that is of this kind; null where it has none.
mlir::Value getRowResult(SdpaOp op, RowResult kind);
/// (l == 0) ? -inf : m + ln l, or m, or ln l, of one row.
mlir::Value buildRowResult(mlir::OpBuilder &builder, mlir::Location loc, RowResult kind, mlir::Value max,
                           mlir::Value sum);

/// A row of attn.finalize with `accumulate`: what its acc and its old output are multiplied by for the new output,
/// where a factor of 0 takes nothing, and the maximum and sum of both states.
struct MergedRow {
  mlir::Value factor, oldFactor, max, sum;
};
/// Of the state (max, sum) of new keys and the old results of the row, those that are not null.
MergedRow mergeRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value max, mlir::Value sum, mlir::Value oldLse,
                   mlir::Value oldMax, mlir::Value oldLogSum);
/// What becomes of an old result: it stays where the new keys are none, whose sum is `sum`.
mlir::Value mergeRowResult(mlir::OpBuilder &builder, mlir::Location loc, RowResult kind, const MergedRow &merged,
                           mlir::Value sum, mlir::Value old);

/// How the state of the online form is laid out.
enum class StateLayout {
  RowMajor,  ///< acc (batch…, query, value)
  LaneMajor, ///< acc (batch…, value, query): query rows are vector lanes
};

/// sdpa → init_state, online_step over all keys, finalize. Returns the finalize op; the regions of `op`, which is to be
/// erased, have moved to the new ops.
mlir::FailureOr<FinalizeOp> buildOnlineForm(mlir::OpBuilder &builder, SdpaOp op, mlir::Type stateType,
                                            StateLayout layout);

/// sdpa_backward → row_delta, backward_step over all queries and keys, and the sum that dsink is; what is 0 where no
/// step adds to it is filled. Returns what replaces the results; the regions of `op`, which is to be erased, have moved
/// to the step. Sums are in `type`, and rounded once where an output is narrower.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> buildBackwardForm(mlir::OpBuilder &builder, SdpaBackwardOp op,
                                                                  mlir::Type type);

/// True where batch indices or heads share a bias whose gradient is asked for, a part of it for each of them fits
/// memory, and the keys are too few for tasks that take them in turn: buildBackwardForm then sums the parts, so that
/// each task owns what it adds to.
bool hasBiasGradientParts(SdpaBackwardOp op);
/// True where tasks of `op`, a sdpa_backward or backward_step, add to one gradient of a bias: there are no parts of it.
bool sharesBiasGradient(mlir::Operation *op);

/// online_step → product, map_scores, row_max, rescale, weights, product (DecomposeStep.cpp), on tensors or memrefs.
/// Returns the new state on tensors, nothing on memrefs; fails for packed sequences. The regions of `op`, which is to
/// be erased, have moved to the new ops.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> decomposeStep(mlir::OpBuilder &builder, OnlineStepOp op);
/// backward_step → products, score_gradients, products (DecomposeBackwardStep.cpp), likewise; one that adds to dquery
/// alone has queries as rows of its tiles, one that adds to dkey or dvalue has keys. Fails for others.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> decomposeStep(mlir::OpBuilder &builder, BackwardStepOp op);

/// The maps of an online_step's state over the domain (batch…, query, value) of the other state ops.
llvm::SmallVector<mlir::AffineMap> getStateMaps(OnlineStepOp op);

/// Drops from the maps' domain every dimension that `kept` does not list.
mlir::AffineMap restrictDomain(mlir::AffineMap map, llvm::ArrayRef<unsigned> kept);

/// `value` as a constant of a float type, or of vectors of one.
mlir::Value createFloatConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// A float value in another float type.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type to);

/// An element of quantised keys or values, or a vector of them, as floats: i8 as integers, f8E4M3FN and f8E5M2 by their
/// bits. Exact. `hasHalf`: one instruction of the target widens f16.
mlir::Value convertQuantised(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::FloatType to,
                             bool hasHalf = false);

/// Clones the ops of a scalar region at the builder's position, with `getIndex` in the place of attn.index, what
/// `apply` builds, where it is given, in that of score functions, and `arguments` in that of the region's. Returns the
/// yielded values.
llvm::SmallVector<mlir::Value>
inlineRegion(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments,
             llvm::function_ref<mlir::Value(IndexOp)> getIndex,
             llvm::function_ref<mlir::Value(ScoreFunction, mlir::Value)> apply = nullptr);
/// What a region of one score or weight, which may be empty, makes of `x`, in the type of `x`; inside of another
/// region, which has the same positions.
mlir::Value inlineScoreRegion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &region, mlir::Value x);

} // namespace attn

#endif // ATTN_IR_DECOMPOSE_H
