//===- CPUSchedule.cpp - the schedules that a CPU kernel can have ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ScheduleVerifier.h"
#include "attn/IR/Decompose.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// An upper limit for every field: no kernel needs more, and products of fields must not overflow.
static constexpr int64_t kMaxNumber = int64_t(1) << 24;
/// Most accumulators of a register kernel: four times the largest register file. Larger blocks spill, and take minutes
/// to compile.
static constexpr int64_t kMaxAccumulators = 128;
/// Most keys of a block of a decode tile: as many segments are read in turn as in the read that measures the bandwidth
/// limit of decode.
static constexpr int64_t kMaxKeyBlock = 4;

//===----------------------------------------------------------------------===//
// Shared by all kinds
//===----------------------------------------------------------------------===//

LogicalResult attn::verifyNumbers(EmitError emitError, ArrayRef<NumberField> fields) {
  for (const NumberField &field : fields)
    if (field.number < field.minimum || field.number > kMaxNumber)
      return emitError() << "expected " << field.name << " to be a number from " << field.minimum << " to "
                         << kMaxNumber << ", found " << field.number;
  return success();
}

LogicalResult attn::verifySplit(EmitError emitError, int64_t splitKeys, int64_t keyTile) {
  if (splitKeys % keyTile == 0)
    return success();
  return emitError() << "expected split_keys to be a multiple of key_tile, " << keyTile << ", found " << splitKeys
                     << "; write split_keys = " << llvm::alignTo(splitKeys, keyTile);
}

LogicalResult attn::verifyTiledOp(Operation *op) {
  if (isa<SdpaBackwardOp, BackwardStepOp>(op))
    return op->emitOpError("schedule: expected that of a backward kernel; write #attn.backward<…>");
  if (ShapedType::isDynamic(getStaticSize(op, DimKind::HeadSize)) ||
      ShapedType::isDynamic(getStaticSize(op, DimKind::ValueSize)))
    return op->emitOpError("cannot be tiled: expected static head sizes, found dynamic ones");
  if (getStaticSize(op, DimKind::ValueSize) == 0)
    return op->emitOpError("cannot be tiled: expected at least one column of V, found none; run "
                           "attn-lower-to-reference on the attn.sdpa");
  // Maps of a tile may have this form, but those of whole ops may not: a part of a group would have no tile.
  unsigned numBatch = getNumBatchDims(op);
  int64_t heads = numBatch > 0 ? getStaticDomain(op)[numBatch - 1] : 1, groupSize = getGroupSize(op);
  if (!ShapedType::isDynamic(heads) && heads % groupSize != 0)
    return op->emitOpError("cannot be tiled: expected a multiple of the ")
           << groupSize << " query heads that share one head of K in its map, found " << heads
           << "; write 0 in its place where all heads share one";
  return success();
}

LogicalResult attn::verifySharedKeys(Operation *op, int64_t queryTile, StringRef other, bool takesDynamic) {
  int64_t queries = getStaticSize(op, DimKind::Query);
  if (getPackedSequences(op))
    return op->emitOpError("schedule: expected ")
           << other << " for packed sequences, whose tiles begin where a sequence does; write " << other;
  if (hasScoreWeight(op))
    return op->emitOpError("schedule: expected ") << other << " for additive scores (score_weight); write " << other;
  if (ShapedType::isDynamic(queries) && takesDynamic)
    return success();
  if (ShapedType::isDynamic(queries))
    return op->emitOpError("schedule: expected query_tile to be the number of query rows, found a dynamic one; write ")
           << other;
  if (queryTile != queries)
    return op->emitOpError("schedule: expected query_tile to be ")
           << queries << ", the number of query rows, found " << queryTile << "; write query_tile = " << queries;
  return success();
}

int64_t attn::getTileStackBytes(Operation *op, int64_t rows, int64_t keyTile) {
  int64_t columns = getStaticSize(op, DimKind::HeadSize) + 2 * getStaticSize(op, DimKind::ValueSize) + keyTile;
  Type type = getAccumulationType(getElementTypeOrSelf(op->getOperand(0).getType()));
  return rows * columns * (type.getIntOrFloatBitWidth() / 8);
}

int64_t attn::getNumParts(Type type) { return type.isF32() ? kMaxElementParts : type.isF16() ? 2 : 1; }

int64_t attn::getPartsBytes(Operation *op, int64_t queryTile, int64_t keyTile, int64_t parts) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  constexpr int64_t kPartBytes = 2;
  return parts == 1 ? 0 : parts * kPartBytes * ((queryTile + keyTile) * headSize + keyTile * valueSize);
}

bool attn::canShareKeyLoop(Operation *op, int64_t kvHeads) {
  unsigned numBatch = getNumBatchDims(op);
  int64_t heads = numBatch > 0 ? getStaticDomain(op)[numBatch - 1] : 1;
  return !ShapedType::isDynamic(heads) && heads % (getGroupSize(op) * kvHeads) == 0 &&
         !visitsKeysBy(op, {IndexKind::Head, IndexKind::KvHead});
}

static LogicalResult verifyStack(Operation *op, ScheduleAttr schedule, int64_t rows, int64_t maxBytes) {
  int64_t bytes = getTileStackBytes(op, rows, schedule.getKeyTile());
  if (bytes <= maxBytes)
    return success();
  return op->emitOpError("schedule: expected query_tile and key_tile of at most ")
         << maxBytes << " bytes of Q, scores and accumulators, found " << schedule.getQueryTile() << " and "
         << schedule.getKeyTile() << " that need " << bytes << "; write smaller ones";
}

LogicalResult attn::verifyCPUTarget(Operation *op, ScheduleAttr schedule, Type sum, const TargetInfo &target) {
  if (target.gpu)
    return op->emitOpError("schedule: expected one of a block of warps on target ")
           << target.describe() << ", found " << schedule << "; write #attn.block<…>";
  if (failed(verifyInstruction(op, schedule.getInfo(), sum, target)))
    return failure();
  int64_t lanes = target.getLanes(sum.getIntOrFloatBitWidth());
  if (schedule.getLanes() != lanes)
    return op->emitOpError("schedule: expected lanes to be ")
           << lanes << ", those of a vector of " << sum << " on target " << target.describe() << ", found "
           << schedule.getLanes() << "; write lanes = " << lanes;
  return success();
}

static LogicalResult verifyCPUOp(Operation *op, ScheduleAttr schedule, const TargetInfo *target) {
  Type sum = getAccumulationType(getElementTypeOrSelf(op->getOperand(0).getType()));
  if (failed(verifyTiledOp(op)) || (target && failed(schedule.verifyTarget(op, sum, *target))))
    return failure();
  return verifyInstruction(op, schedule);
}

//===----------------------------------------------------------------------===//
// #attn.prefill
//===----------------------------------------------------------------------===//

LogicalResult PrefillAttr::verify(EmitError emitError, int64_t queryTile, int64_t keyTile, int64_t lanes,
                                  int64_t blockRows, int64_t blockVectors, InstructionAttr instruction,
                                  int64_t prefetch, bool overlap, bool packFirst, int64_t parts) {
  if (failed(verifyNumbers(emitError, {{"query_tile", queryTile, 1},
                                       {"key_tile", keyTile, 1},
                                       {"lanes", lanes, 1},
                                       {"block_rows", blockRows, 1},
                                       {"block_vectors", blockVectors, 1},
                                       {"prefetch", prefetch, 0},
                                       {"parts", parts, 1}})))
    return failure();
  const InstructionInfo &info = instruction.getInfo();
  if (!info.isForPrefill)
    return emitError() << "expected instruction to be " << joinInstructions(&InstructionInfo::isForPrefill)
                       << ", found " << stringifyInstruction(instruction.getValue()) << "; write instruction = fma";
  if (keyTile % info.keyMultiple != 0)
    return emitError() << "expected key_tile to be a multiple of " << info.keyMultiple
                       << " with instruction = " << stringifyInstruction(instruction.getValue()) << ", found "
                       << keyTile << "; write key_tile = " << llvm::alignTo(keyTile, info.keyMultiple);
  if (queryTile % lanes != 0)
    return emitError() << "expected query_tile to be a multiple of the " << lanes << " lanes, found " << queryTile
                       << "; write query_tile = " << llvm::alignTo(queryTile, lanes);
  if (blockRows * blockVectors > kMaxAccumulators)
    return emitError() << "expected block_rows times block_vectors to be at most " << kMaxAccumulators << ", found "
                       << blockRows << " times " << blockVectors << "; write block_rows = 4, block_vectors = 4";
  if (overlap && info.valueLayout != OperandLayout::Columns)
    return emitError() << "expected instruction to be amx with overlap = true, found "
                       << stringifyInstruction(instruction.getValue()) << "; write overlap = false";
  if (parts > kMaxElementParts)
    return emitError() << "expected parts to be a number from 1 to " << kMaxElementParts << ", found " << parts
                       << "; write parts = " << kMaxElementParts;
  if (parts > 1 && info.valueLayout != OperandLayout::Columns)
    return emitError() << "expected instruction to be amx with parts = " << parts << ", found "
                       << stringifyInstruction(instruction.getValue()) << "; write parts = 1";
  if (overlap && queryTile % kUnitRows != 0)
    return emitError() << "expected query_tile to be a multiple of " << kUnitRows << " with overlap = true, found "
                       << queryTile
                       << "; write overlap = false or query_tile = " << llvm::alignTo(queryTile, kUnitRows);
  if (packFirst && info.valueLayout != OperandLayout::Columns)
    return emitError() << "expected instruction to be amx with pack_first = true, found "
                       << stringifyInstruction(instruction.getValue()) << "; write pack_first = false";
  if (packFirst && parts > 1)
    return emitError() << "expected parts = 1 with pack_first = true, found " << parts << "; write pack_first = false";
  return success();
}

LogicalResult PrefillAttr::verifyTarget(Operation *op, Type sum, const TargetInfo &target) const {
  return verifyCPUTarget(op, *this, sum, target);
}

/// Verifies the parts of a tile instruction: those of the element type.
static LogicalResult verifyParts(Operation *op, PrefillAttr schedule) {
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  int64_t parts = schedule.getParts(), wanted = getNumParts(type);
  if (schedule.getInfo().valueLayout != OperandLayout::Columns || parts == wanted || (type.isF32() && parts == 2))
    return success();
  return op->emitOpError("schedule: expected parts to be ")
         << wanted << (type.isF32() ? " or 2" : "") << " for instruction = amx and a Q of " << type << ", found "
         << parts << "; write parts = " << wanted;
}

/// Verifies the stack for Q, K and V of a tile in parts.
static LogicalResult verifyPartsStack(Operation *op, PrefillAttr schedule) {
  int64_t bytes = getPartsBytes(op, schedule.getQueryTile(), schedule.getKeyTile(), schedule.getParts());
  if (bytes <= kMaxPrefillStackBytes)
    return success();
  return op->emitOpError("schedule: expected query_tile and key_tile of at most ")
         << kMaxPrefillStackBytes << " bytes of parts of Q, K and V, found " << schedule.getQueryTile() << " and "
         << schedule.getKeyTile() << " that need " << bytes << "; write smaller ones";
}

LogicalResult PrefillAttr::verifyFor(Operation *op, const TargetInfo *target) const {
  if (failed(verifyCPUOp(op, *this, target)) || failed(verifyParts(op, *this)) || failed(verifyPartsStack(op, *this)))
    return failure();
  return verifyStack(op, *this, getQueryTile(), kMaxPrefillStackBytes);
}

//===----------------------------------------------------------------------===//
// #attn.decode
//===----------------------------------------------------------------------===//

LogicalResult DecodeAttr::verify(EmitError emitError, int64_t queryTile, int64_t keyTile, int64_t lanes,
                                 int64_t blockQueries, InstructionAttr instruction, int64_t splitKeys, int64_t prefetch,
                                 int64_t kvHeads, int64_t heads) {
  if (failed(verifyNumbers(emitError, {{"query_tile", queryTile, 1},
                                       {"key_tile", keyTile, 1},
                                       {"lanes", lanes, 1},
                                       {"block_queries", blockQueries, 1},
                                       {"split_keys", splitKeys, 0},
                                       {"prefetch", prefetch, 0},
                                       {"kv_heads", kvHeads, 1},
                                       {"heads", heads, 0}})))
    return failure();
  // Each sum combines as many products of rows and keys as lanes, by halves.
  if (blockQueries > lanes || !llvm::isPowerOf2_64(blockQueries) || !llvm::isPowerOf2_64(lanes))
    return emitError() << "expected block_queries to be at most the lanes, " << lanes << ", both powers of two, found "
                       << blockQueries << "; write block_queries = 1";
  if (!instruction.getInfo().isForDecode)
    return emitError() << "expected instruction to be " << joinInstructions(&InstructionInfo::isForDecode) << ", found "
                       << stringifyInstruction(instruction.getValue()) << "; write instruction = fma";
  if (kvHeads > 1 && heads > 0)
    return emitError() << "expected all heads of a group beside kv_heads greater than 1, found heads = " << heads
                       << "; write heads = 0";
  return verifySplit(emitError, splitKeys, keyTile);
}

int64_t DecodeAttr::getKeyBlock(int64_t rows) const {
  int64_t together = llvm::PowerOf2Ceil(std::min(rows, getBlockQueries()));
  return std::min<int64_t>(getLanes() / together, kMaxKeyBlock);
}

LogicalResult DecodeAttr::verifyTarget(Operation *op, Type sum, const TargetInfo &target) const {
  return verifyCPUTarget(op, *this, sum, target);
}

LogicalResult DecodeAttr::verifyFor(Operation *op, const TargetInfo *target) const {
  // With a dynamic number of queries, a tile has only the existing rows, at most query_tile.
  int64_t queries = getStaticSize(op, DimKind::Query);
  if (failed(verifyCPUOp(op, *this, target)) ||
      failed(verifySharedKeys(op, getQueryTile(), "#attn.prefill<…>", /*takesDynamic=*/true)))
    return failure();
  if (ShapedType::isDynamic(queries) && getInstruction().getValue() == Instruction::Bytes)
    return op->emitOpError(
        "schedule: expected instruction = fma for a dynamic number of query rows of int8 keys, found "
        "bytes; write instruction = fma");
  if (getKvHeads() > 1 && !canShareKeyLoop(op, getKvHeads()))
    return op->emitOpError(
               "schedule: expected kv_heads to divide the heads of K, all of which visit the same keys, found ")
           << getKvHeads() << "; write kv_heads = 1";
  int64_t groupSize = getGroupSize(op);
  if (getHeads() > 0 && groupSize % getHeads() != 0)
    return op->emitOpError("schedule: expected heads to divide the ")
           << groupSize << " query heads that share a head of K, found " << getHeads() << "; write heads = 0";
  int64_t rows = getQueryTile() * getHeadsOfGroup(groupSize);
  if (getInfo().keyMultiple > 1 && (ShapedType::isDynamic(queries) || rows % TargetInfo::kTileRows != 0))
    return op->emitOpError("schedule: expected a static number of query rows for instruction = ")
           << stringifyInstruction(getInstruction().getValue()) << ", with the heads of a tile a multiple of "
           << TargetInfo::kTileRows << ", found "
           << (ShapedType::isDynamic(queries) ? "a dynamic number" : Twine(rows).str()) << "; write instruction = fma";
  // Query heads that share a key head are rows of one decode tile.
  return verifyStack(op, *this, rows * getKvHeads(), kMaxDecodeStackBytes);
}
