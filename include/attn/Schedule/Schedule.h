//===- Schedule.h - schedules: legality, text, facts ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCHEDULE_SCHEDULE_H
#define ATTN_SCHEDULE_SCHEDULE_H

#include "attn/IR/Attn.h"
#include "attn/Target/TargetInfo.h"

namespace attn {

/// Parses a schedule such as `#attn.prefill<key_tile = 32>`. Missing fields are those of `base`, if it is for the same
/// kind of kernel. The error says what to write.
llvm::Expected<ScheduleAttr> parseSchedule(llvm::StringRef text, ScheduleAttr base, mlir::MLIRContext *context);
/// The assembly of a schedule.
std::string printSchedule(ScheduleAttr schedule);

/// The target's fastest instruction for `op`, in a prefill kernel or one where heads share keys.
InstructionAttr selectInstruction(mlir::Operation *op, bool sharesKeys, const TargetInfo &target);
/// An error if the schedule's instruction cannot multiply `op` on any target.
mlir::LogicalResult verifyInstruction(mlir::Operation *op, ScheduleAttr schedule);
/// An error if the target lacks the instruction, or does not have it for sums of that type.
mlir::LogicalResult verifyInstruction(mlir::Operation *op, const InstructionInfo &info, mlir::Type sum,
                                      const TargetInfo &target);

/// Bytes of a thread's stack for a CPU tile of `rows` query rows: Q, the scores, the accumulator, and the quotient that
/// finalize transposes. Rows of a decode kernel are those of all heads that share a key head. The constants are the
/// limits of a prefill and of a decode kernel.
int64_t getTileStackBytes(mlir::Operation *op, int64_t rows, int64_t keyTile);
constexpr int64_t kMaxPrefillStackBytes = 1024 * 1024, kMaxDecodeStackBytes = 512 * 1024;
/// Parts of bf16 into which a tile instruction splits an element of Q, K and V (`parts` of #attn.prefill), and the
/// bytes of those of a tile; 0 for one part.
int64_t getNumParts(mlir::Type type);
int64_t getPartsBytes(mlir::Operation *op, int64_t queryTile, int64_t keyTile, int64_t parts);
/// True if a decode tile of an sdpa or online_step may have `kvHeads` key heads: it divides the number of heads, and
/// all of them visit the same keys.
bool canShareKeyLoop(mlir::Operation *op, int64_t kvHeads);
/// True for a step with the query rows of its schedule's tile, or with at most its keys. False without a schedule.
bool hasTileRows(OnlineStepOp step);
bool hasTileKeys(OnlineStepOp step);
/// The most keys of a tile; those of each segment if it has several.
int64_t getMaxTileKeys(OnlineStepOp step);
/// An error for more keys than the tile has, whose scores have no buffer, or fewer if the instruction needs all.
mlir::LogicalResult verifyTileKeys(OnlineStepOp step);
/// Why `op`, a sdpa_backward or backward_step, has no kernel on a CPU, as the text of an error; empty where it has one.
std::string explainNoBackwardKernel(mlir::Operation *op);
inline bool hasBackwardKernel(mlir::Operation *op) { return explainNoBackwardKernel(op).empty(); }
/// True if two tasks of `op`, a sdpa_backward or backward_step, with disjoint queries and keys never add to the same
/// element.
bool canHaveChunks(mlir::Operation *op);
/// Bytes of a thread's stack for a backward tile: Q and dout, G and P, K, V and their gradients.
int64_t getBackwardStackBytes(mlir::Operation *op, int64_t queryTile, int64_t keyTile, int64_t panelKeys);
/// True for additive scores.
bool hasScoreWeight(mlir::Operation *op);
/// Most columns of V for a GPU block's accumulators; Q and K are in shared memory and may have more.
constexpr int64_t kMaxBlockValueSize = 256, kMaxBlockHeadSize = 640;
/// An error if no schedule makes `op`, an sdpa or online_step, a GPU kernel, or several with at most `largestValue`
/// columns of V.
mlir::LogicalResult verifyGpuOp(mlir::Operation *op, int64_t largestValue = kMaxBlockValueSize);
/// The same for a sdpa_backward or backward_step.
mlir::LogicalResult verifyGpuBackward(mlir::Operation *op);

} // namespace attn

#endif // ATTN_SCHEDULE_SCHEDULE_H
