//===- SelectBackwardSchedule.cpp - the tile of a backward kernel ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Vector registers with which a register kernel has twice the rows.
static constexpr int64_t kManyRegisters = 32;
/// Rows and vectors of a register kernel: 12 sums, 2 vectors of a panel, and a broadcast scalar.
static constexpr int64_t kBlockRows = 6, kBlockVectors = 2;
/// The best tile of a sweep on 16 registers: 16 blocks of rows, 8 panels of keys.
static constexpr int64_t kQueryTile = 96, kKeyTile = 128;
/// Query and key rows with tile instructions: blocks of 32 rows, and the products of a block are as deep as the tile.
static constexpr int64_t kTiledRows = 128;
/// Below kTasks heads, queries and keys are split into chunks for that many concurrent tasks. A chunk of kChunkQueries
/// queries is worth packing a key tile.
static constexpr int64_t kTasks = 8, kChunkQueries = 512;

/// As many positions as exist, rounded up to whole blocks, and at most `most`.
static int64_t getTile(int64_t size, int64_t block, int64_t most) {
  int64_t tile = std::max(block, most / block * block);
  return ShapedType::isDynamic(size) ? tile : std::clamp<int64_t>(llvm::alignTo(size, block), block, tile);
}

/// Chunks of queries and keys. They depend on the shape, as the order of sums does, and not on the number of threads.
static int64_t getChunks(SdpaBackwardOp op) {
  SmallVector<int64_t> domain = getStaticDomain(op);
  unsigned numBatch = getNumBatchDims(op);
  if (llvm::any_of(ArrayRef(domain).take_front(numBatch + 2), ShapedType::isDynamic) || !canHaveChunks(op))
    return 1;
  int64_t tasks = std::max<int64_t>(1, llvm::product_of(ArrayRef(domain).take_front(numBatch)) / getGroupSize(op));
  int64_t most = std::min(domain[numBatch], domain[numBatch + 1]) / kChunkQueries;
  return std::max<int64_t>(1, std::min<int64_t>(llvm::divideCeil(kTasks, tasks), most));
}

FailureOr<ScheduleAttr> attn::selectBackwardSchedule(SdpaBackwardOp op, const TargetInfo &target) {
  if (target.gpu)
    return selectGpuBackwardSchedule(op, target);
  if (std::string reason = explainNoBackwardKernel(op); !reason.empty())
    return op.emitOpError("has no kernel: ") << reason << "; run attn-lower-to-reference";
  Type type = getAccumulationType(getElementTypeOrSelf(op.getQuery().getType()));
  int64_t lanes = target.getLanes(type.getIntOrFloatBitWidth()), panel = lanes * kBlockVectors;
  int64_t rows = target.vectorRegisters >= kManyRegisters ? 2 * kBlockRows : kBlockRows;
  InstructionAttr instruction = selectInstruction(op, /*sharesKeys=*/false, target);
  int64_t mostRows = kQueryTile;
  if (int64_t multiple = instruction.getInfo().keyMultiple; multiple > 1) {
    rows = multiple;
    mostRows = kTiledRows;
  }
  int64_t queryTile = getTile(getStaticSize(op, DimKind::Query), rows, mostRows),
          keyTile = getTile(getStaticSize(op, DimKind::Key), panel, kKeyTile);
  // Large heads: smaller tiles, which fit a thread's stack.
  auto fits = [&] { return getBackwardStackBytes(op, queryTile, keyTile, panel) <= kMaxPrefillStackBytes; };
  while (!fits() && keyTile > panel)
    keyTile -= panel;
  while (!fits() && queryTile > rows)
    queryTile -= rows;
  auto schedule = ScheduleAttr(
      BackwardAttr::get(op.getContext(), queryTile, keyTile, lanes, rows, kBlockVectors, instruction, getChunks(op)));
  if (failed(schedule.verifyFor(op, &target)))
    return failure();
  return schedule;
}
