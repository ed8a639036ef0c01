//===- Decompose.h - attn ops in terms of simpler ones ----------*- C++ -*-===//
//
// The formulas of the ops as linalg on tensors; the rewrites between levels of
// the dialect that several layers need (spelled-out masks to one mask_mod
// region, sdpa to the online form); and their parts: inlined regions, float
// conversions, random bits of dropout.
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

/// True if `op` has words that expandWords makes regions of; and if it has mask sugar or a mask_mod region.
bool hasWordsToExpand(mlir::Operation *op);
bool hasPredicate(mlir::Operation *op);

/// Fills the empty `region` with the conjunction of the spelled-out masks of `op` (sdpa or mask) and its mask_mod. Only
/// this function knows what mask sugar means; a new word is a few lines in it. Dynamic numbers of queries and keys are
/// read from `domain`, an op of the same domain that outlives `op`; null for `op` itself.
void buildPredicate(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Region &region,
                    mlir::Operation *domain = nullptr);
/// Fills the empty `region` with the start of the rows of a sdpa, given by a word or a region, in `type`.
void buildStart(mlir::OpBuilder &builder, SdpaOp op, mlir::Region &region, mlir::Type type);
/// Fills the empty `region` with dropout as a function of a weight of `type` (Dropout.cpp).
void buildDropout(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value seed, mlir::Value offset, double p,
                  mlir::Type type, mlir::Region &region);
/// The four numbers of attn.random_keep, i32, from `index`, an i64 that is a multiple of 4.
std::array<mlir::Value, 4> buildRandomWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value index,
                                            mlir::Value seed, mlir::Value offset);
/// Replaces each attn.random_keep in `root` by its formula.
void expandRandomKeep(mlir::Operation *root);

/// True if positions of `kind` in the regions of `op` have an origin that is not added yet; and if those of any kind do
/// (Origin.cpp).
bool isShifted(mlir::Operation *op, IndexKind kind);
bool hasOrigins(mlir::Operation *op);
/// `position` of `op` plus the origin of positions of `kind`; `position` itself if that is 0. A null position is 0.
mlir::Value addOrigin(mlir::OpBuilder &builder, mlir::Operation *op, IndexKind kind, mlir::Value position);
/// Adds the origins to the positions in a region.
void shiftByOrigins(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Region &region);
/// Removes the origin words, which the regions of `op` now contain, unless dropout still reads them.
void clearOrigins(mlir::Operation *op);
/// The element of a per-batch list for the batch index of the enclosing region.
mlir::Value readPerBatch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value list);

/// Whether the scale of quantised rows applies before or after the region of a score or weight.
enum class ScaleOrder { BeforeRegion, AfterRegion };
/// Multiplies by `scale`, an operand of kv_scale, before or after the code of `region` (KvScale.cpp); the region, which
/// may be empty, then takes and yields `type`.
void composeKvScale(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale, ScaleOrder order, mlir::Type type,
                    mlir::Region &region);
/// The same for the gradient region of a score_mod that the scale of K was composed before.
void composeKeyScaleGradient(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scale, mlir::Type type,
                             mlir::Region &scoreGrad);
/// The map of the operands of kv_scale over the domain of a sdpa that has them.
mlir::AffineMap getKvScaleMap(SdpaOp op);

/// Replaces the words of `op` that are masks, sinks, origins and score functions by regions of `target` (`op` itself or
/// a copy of it). New regions of scores have `type`; null for that of the accumulation.
void expandWords(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Operation *target, mlir::Type type = {});
/// The score functions among them (ScoreWords.cpp).
bool hasScoreWords(mlir::Operation *op);
void expandScoreWords(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Operation *target, mlir::Type type);
/// Replaces the result of `scoreMod` by limit * tanh(score_mod(s) / limit); the region, which may be empty, then takes
/// and yields `type`.
void appendCap(mlir::OpBuilder &builder, mlir::Location loc, double limit, mlir::Type type, mlir::Region &scoreMod);
/// Writes the alignment of the mask sugar of a sdpa or mask that has none, where its numbers of queries and keys, which
/// were known to be equal, no longer are.
void spellOutAlignment(mlir::Operation *op);
/// Copies spelled-out masks of an attn.mask to an attn.sdpa.
void copySpelledOutMasks(MaskOp from, SdpaOp to);

/// True if the scores or weights depend on the positions of their keys, apart from mask_mod.
bool asksForKeys(OnlineStepOp step);
bool asksForKeys(SdpaOp op);

/// True if an index of one of `kinds` decides which keys a sdpa or online_step visits.
bool visitsKeysBy(mlir::Operation *op, llvm::ArrayRef<IndexKind> kinds);

/// True if a sdpa or online_step, which reads `gather` through `map`, visits no key past its lengths: pages can then be
/// read in place, as rows past a length are never read.
bool visitsOnly(mlir::Operation *op, GatherPagesOp gather, mlir::AffineMap map);

/// The region of key ranges of a sdpa or online_step, null for other ops.
mlir::Region *getKeyRangesRegion(mlir::Operation *op);

/// Rewrites a sdpa of packed sequences to one of padded sequences (Packed.cpp): rows past a sequence are zero, and its
/// lengths are q_lengths and kv_lengths. The padding takes memory: for the reference, not the kernels.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> padSequences(mlir::OpBuilder &builder, SdpaOp op);

/// gather_pages as linalg on tensors, all of it in memory.
mlir::FailureOr<mlir::Value> decomposeGatherPages(mlir::OpBuilder &builder, GatherPagesOp op);

/// The row results that attn.finalize writes besides the output.
enum class RowResult { Lse, Max, LogSum };
/// The row results of `op`, with their destinations, in operand order.
llvm::SmallVector<std::pair<RowResult, mlir::Value>> getRowResults(FinalizeOp op);
/// The result of this kind of `op` on tensors; null if it has none.
mlir::Value getRowResult(SdpaOp op, RowResult kind);
/// (l == 0) ? -inf : m + ln l, or m, or ln l, of one row.
mlir::Value buildRowResult(mlir::OpBuilder &builder, mlir::Location loc, RowResult kind, mlir::Value max,
                           mlir::Value sum);

/// A row of attn.finalize with `accumulate`: the factors of acc and of the old output, where a factor of 0 ignores its
/// operand, and the maximum and sum of both states.
struct MergedRow {
  mlir::Value factor, oldFactor, max, sum;
};
/// Merges the state (max, sum) of new keys with the old results of the row; null ones are missing.
MergedRow mergeRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value max, mlir::Value sum, mlir::Value oldLse,
                   mlir::Value oldMax, mlir::Value oldLogSum);
/// The new value of an old result: unchanged if there are no new keys, whose sum is `sum`.
mlir::Value mergeRowResult(mlir::OpBuilder &builder, mlir::Location loc, RowResult kind, const MergedRow &merged,
                           mlir::Value sum, mlir::Value old);

/// The memory layout of the state of the online form.
enum class StateLayout {
  RowMajor,  ///< acc (batch…, query, value)
  LaneMajor, ///< acc (batch…, value, query): query rows are vector lanes
};

/// sdpa → init_state, online_step over all keys, finalize. Returns the finalize op; the regions of `op`, which the
/// caller erases, have moved to the new ops.
mlir::FailureOr<FinalizeOp> buildOnlineForm(mlir::OpBuilder &builder, SdpaOp op, mlir::Type stateType,
                                            StateLayout layout);

/// sdpa_backward → row_delta, backward_step over all queries and keys, and the sum for dsink; outputs that no step adds
/// to are filled with 0. Returns the replacements of the results; the regions of `op`, which the caller erases, have
/// moved to the step. Sums are in `type`, and rounded once where an output is narrower.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> buildBackwardForm(mlir::OpBuilder &builder, SdpaBackwardOp op,
                                                                  mlir::Type type);

/// True if batch indices or heads share a bias whose gradient is requested, a part of it for each of them fits in
/// memory, and there are too few keys for tasks to take them in turn: buildBackwardForm then sums the parts, so that
/// each task owns its destination.
bool hasBiasGradientParts(SdpaBackwardOp op);
/// True if several tasks of `op`, a sdpa_backward or backward_step, add to one gradient of a bias, which has no parts.
bool sharesBiasGradient(mlir::Operation *op);

/// online_step → product, map_scores, row_max, rescale, weights, product (DecomposeStep.cpp), on tensors or memrefs.
/// Returns the new state on tensors, nothing on memrefs; fails for packed sequences. The regions of `op`, which the
/// caller erases, have moved to the new ops.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> decomposeStep(mlir::OpBuilder &builder, OnlineStepOp op);
/// backward_step → products, score_gradients, products (DecomposeBackwardStep.cpp), likewise. The rows of its tiles are
/// queries if it adds only to dquery, and keys if it adds to dkey or dvalue. Fails for others.
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

/// Clones the ops of a scalar region at the builder's position. `getIndex` replaces attn.index, `apply`, if given,
/// score functions (and attn.random_keep becomes its formula), and `arguments` the region's arguments. Returns the
/// yielded values.
llvm::SmallVector<mlir::Value>
inlineRegion(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments,
             llvm::function_ref<mlir::Value(IndexOp)> getIndex,
             llvm::function_ref<mlir::Value(ScoreFunction, mlir::Value)> apply = nullptr);
/// Applies a region of one score or weight, which may be empty, to `x`, in the type of `x`; inside another region of
/// the same positions.
mlir::Value inlineScoreRegion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &region, mlir::Value x);

} // namespace attn

#endif // ATTN_IR_DECOMPOSE_H
