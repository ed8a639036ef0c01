//===- VerifySchedule.cpp - schedules that a kernel can have --------------===//
//
// The one place that says which schedule an op can have. What a schedule is for
// itself, ScheduleAttr::verify says; this is about the op, and about the target
// where it is known. Policy, --schedule, schedules in IR and attn-tile all ask it.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Target/BlockLayout.h"
#include "attn/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Warps of a block: those of a multiprocessor's four schedulers, a few times.
static constexpr int64_t kMaxWarps = 16;
/// Accumulators of a register kernel: four times the most registers that a processor has. A thread of a GPU has 255,
/// and without tensor cores each product of a tile is an instruction. What needs more spills, and takes minutes to
/// compile.
static constexpr int64_t kMaxAccumulators = 128, kMaxThreadAccumulators = 1024, kMaxThreadProducts = 16 * 64;

namespace {

/// One op, one schedule; each check emits an error that says what to write.
class ScheduleVerifier {
public:
  ScheduleVerifier(Operation *op, ScheduleAttr schedule, const TargetInfo *target)
      : op(op), schedule(schedule), target(target), isDecode(schedule.getKernel() == KernelKind::Decode),
        queries(getStaticSize(op, DimKind::Query)) {}

  LogicalResult verify() {
    if (failed(verifyOp()) || failed(verifyTarget()) || (isDecode && failed(verifyDecode())))
      return failure();
    return schedule.isGpu() ? verifyBlock() : verifyCPU();
  }

private:
  InFlightDiagnostic emitError() { return op->emitOpError("schedule: expected "); }

  LogicalResult verifyOp();
  LogicalResult verifyTarget();
  LogicalResult verifyDecode();
  LogicalResult verifyBlock();
  LogicalResult verifyCPU();
  LogicalResult verifyProduct();
  LogicalResult verifyByteProducts();

  Type getType(unsigned operand) { return getElementTypeOrSelf(op->getOperand(operand).getType()); }

  Operation *op;
  ScheduleAttr schedule;
  const TargetInfo *target; ///< null where it is not known
  bool isDecode;
  int64_t queries;
};

/// What no schedule changes.
LogicalResult ScheduleVerifier::verifyOp() {
  if (ShapedType::isDynamic(getStaticSize(op, DimKind::HeadSize)) ||
      ShapedType::isDynamic(getStaticSize(op, DimKind::ValueSize)))
    return op->emitOpError("cannot be tiled: expected static head sizes, found dynamic ones");
  if (getStaticSize(op, DimKind::ValueSize) == 0)
    return op->emitOpError("cannot be tiled: expected at least one column of V, found none; run "
                           "attn-lower-to-reference on the attn.sdpa");
  // What the maps of a tile may say, and whole ops may not: there would be no tile for a part of a group.
  unsigned numBatch = getNumBatchDims(op);
  int64_t heads = numBatch > 0 ? getStaticDomain(op)[numBatch - 1] : 1, groupSize = getGroupSize(op);
  if (!ShapedType::isDynamic(heads) && heads % groupSize != 0)
    return op->emitOpError("cannot be tiled: expected a multiple of the ")
           << groupSize << " query heads that share one head of K in its map, found " << heads
           << "; write 0 in its place where all heads share one";
  if (schedule.isGpu() && op->getParentOfType<scf::ForallOp>())
    return op->emitOpError("cannot be tiled for a GPU inside of scf.forall, whose rounds are thread blocks already: "
                           "expected attention in the function itself; write the loop's dimensions as batch "
                           "dimensions of the attention");
  return success();
}

LogicalResult ScheduleVerifier::verifyTarget() {
  if (!target)
    return success();
  if (target->gpu) {
    if (schedule.getWarps() >= 1 && schedule.getWarps() <= kMaxWarps)
      return success();
    return emitError() << "warps from 1 to " << kMaxWarps << " on target " << target->name << ", found "
                       << schedule.getWarps() << "; write warps=4";
  }
  if (schedule.isGpu())
    return emitError() << "no warps on target " << target->name << ", found " << schedule.getWarps()
                       << "; write warps=0, or compile for a GPU";
  Type type = getAccumulationType(getType(0));
  int64_t lanes = target->getLanes(type.getIntOrFloatBitWidth());
  if (schedule.getLanes() != lanes)
    return emitError() << "lanes to be " << lanes << ", those of a vector of " << type << " on target " << target->name
                       << ", found " << schedule.getLanes() << "; write lanes=" << lanes;
  return success();
}

/// A decode tile has all query rows of its heads, from the first one on.
LogicalResult ScheduleVerifier::verifyDecode() {
  if (getPackedSequences(op))
    return emitError() << "kernel=prefill for packed sequences, whose tiles begin where a sequence does, found "
                          "kernel=decode; write kernel=prefill";
  if (hasScoreWeight(op))
    return emitError() << "kernel=prefill for additive scores (score_weight), found kernel=decode; write "
                          "kernel=prefill";
  if (ShapedType::isDynamic(queries))
    return emitError() << "query_tile of kernel=decode to be the number of query rows, found a dynamic one; write "
                          "kernel=prefill";
  if (schedule.getQueryTile() != queries)
    return emitError() << "query_tile of kernel=decode to be " << queries << ", the number of query rows, found "
                       << schedule.getQueryTile() << "; write query_tile=" << queries;
  return success();
}

/// A block of warps: what it needs of shared memory, and how its rows go around.
LogicalResult ScheduleVerifier::verifyBlock() {
  if (failed(verifyGpuOp(op)))
    return failure();
  Type type = getType(0);
  bool isSingle = type.isF32();
  ProductKind product = schedule.getProduct();
  if (isSingle ? product != ProductKind::FMA && product != ProductKind::TF32 : product != ProductKind::MMA)
    return emitError() << (isSingle ? "product=fma or product=tf32" : "product=mma") << " for inputs of " << type
                       << " on a GPU, found product=" << stringifyProductKind(product)
                       << "; write product=" << (isSingle ? "fma" : "mma");
  int64_t rows = schedule.getBlockRows(), groupRows = schedule.getQueryTile() * getGroupSize(op);
  if (isDecode && groupRows > rows)
    return emitError() << "row_block times warps of kernel=decode to be at least the " << groupRows
                       << " query rows of a head of K, found " << rows
                       << "; write warps=" << llvm::divideCeil(groupRows, schedule.getRowBlock());
  if (!isDecode && schedule.getQueryTile() != rows &&
      (ShapedType::isDynamic(queries) || schedule.getQueryTile() < queries))
    return emitError() << "query_tile to be row_block times warps, " << rows << ", or all query rows, found "
                       << schedule.getQueryTile() << "; write query_tile=" << rows;
  // Slices of a bias or mask have the rows that there are.
  if (!isDecode && queries > 0 && schedule.getQueryTile() > queries)
    return emitError() << "query_tile of at most the " << queries << " query rows, found " << schedule.getQueryTile()
                       << "; write query_tile=" << queries;
  int64_t columns = schedule.getKeyTile() + getStaticSize(op, DimKind::ValueSize);
  if (schedule.getRowBlock() * columns > kMaxThreadAccumulators * schedule.getLanes())
    return emitError() << "row_block times columns of V and keys of a tile to be at most "
                       << kMaxThreadAccumulators * schedule.getLanes() << ", found " << schedule.getRowBlock()
                       << " times " << columns << "; write row_block=16 and a smaller key_tile";
  if (product == ProductKind::FMA && schedule.getRowBlock() * schedule.getKeyTile() > kMaxThreadProducts)
    return emitError() << "row_block times key_tile of product=fma to be at most " << kMaxThreadProducts << ", found "
                       << schedule.getRowBlock() << " times " << schedule.getKeyTile()
                       << "; write row_block=16 key_tile=32";
  if (!target)
    return success();
  int64_t bytes = BlockLayout::get(rows, schedule.getKeyTile(), getStaticSize(op, DimKind::HeadSize),
                                   getStaticSize(op, DimKind::ValueSize), type.getIntOrFloatBitWidth() / 8)
                      .bytes;
  if (bytes > target->gpu->sharedBytesPerBlock)
    return emitError() << "at most " << target->gpu->sharedBytesPerBlock / 1024 << " KiB of shared memory on target "
                       << target->name << ", found " << llvm::divideCeil(bytes, 1024)
                       << "; write a smaller key_tile or fewer warps";
  return success();
}

LogicalResult ScheduleVerifier::verifyCPU() {
  int64_t lanes = schedule.getLanes(), vectors = schedule.getLaneVectors(), kvHeads = schedule.getKvHeads();
  // As many products of rows and keys as lanes are added up together, by halves.
  if (isDecode && (schedule.getRowBlock() * vectors != lanes || !llvm::isPowerOf2_64(vectors)))
    return emitError() << "row_block times lane_vectors of kernel=decode to be its lanes, " << lanes
                       << ", both powers of two, found " << schedule.getRowBlock() << " times " << vectors
                       << "; write row_block=" << lanes << " lane_vectors=1";
  if (!isDecode && schedule.getRowBlock() * vectors > kMaxAccumulators)
    return emitError() << "row_block times lane_vectors to be at most " << kMaxAccumulators << ", found "
                       << schedule.getRowBlock() << " times " << vectors << "; write row_block=4 lane_vectors=4";
  if (kvHeads > 1 && !canShareKeyLoop(op, kvHeads))
    return emitError() << "kv_heads to divide the heads of K, all of which visit the same keys, found " << kvHeads
                       << "; write kv_heads=1";
  if (failed(verifyProduct()))
    return failure();
  // Query heads that share a head of K are rows of one decode tile.
  int64_t rows = schedule.getQueryTile() * (isDecode ? getGroupSize(op) * kvHeads : 1);
  int64_t bytes = getTileStackBytes(op, rows, schedule.getKeyTile()),
          maxBytes = getMaxTileStackBytes(schedule.getKernel());
  if (bytes > maxBytes)
    return emitError() << "query_tile and key_tile of at most " << maxBytes
                       << " bytes of Q, scores and accumulators, found " << schedule.getQueryTile() << " and "
                       << schedule.getKeyTile() << " that need " << bytes << "; write smaller ones";
  return success();
}

LogicalResult ScheduleVerifier::verifyProduct() {
  if (schedule.getProduct() == ProductKind::AMX) {
    if (target && !target->hasTiles)
      return emitError() << "product=amx only on targets with tiles of bf16, as sapphirerapids, found " << target->name
                         << "; write product=dot or product=fma";
    if (canUseTileProducts(op))
      return success();
    return emitError() << "product=amx only where Q is bf16 and K and V are bf16 or of 8 bits, of head sizes that are "
                          "multiples of "
                       << TargetInfo::kTileDepth << " and innermost, without score_weight, found Q of " << getType(0)
                       << ", K of " << getType(1) << " and head sizes " << getStaticSize(op, DimKind::HeadSize)
                       << " and " << getStaticSize(op, DimKind::ValueSize) << "; write product=dot or product=fma";
  }
  if (schedule.getProduct() != ProductKind::Dot)
    return success();
  if (isDecode && canUseByteDotProducts(op))
    return verifyByteProducts();
  if (target && target->bf16DotRate == 0)
    return emitError() << "product=dot only on targets with dot products of bf16, found " << target->name
                       << "; write product=fma";
  if (canUseDotProducts(op, schedule.getKernel()))
    return success();
  return emitError() << "product=dot only where Q, K and V are bf16, of an even head size, for kernel=prefill also K "
                        "and V of 8 bits; or where for kernel=decode Q has 16 bits and K and V are int8, of head sizes "
                        "that are multiples of "
                     << TargetInfo::kByteDotColumns << "; with the head size innermost and no score_weight, found Q of "
                     << getType(0) << " and K of " << getType(1) << "; write product=fma";
}

LogicalResult ScheduleVerifier::verifyByteProducts() {
  int64_t keyTile = schedule.getKeyTile();
  if (target && !target->hasByteDot)
    return emitError() << "product=dot only on targets with dot products of bytes, found " << target->name
                       << "; write product=fma";
  if (keyTile > TargetInfo::kMaxByteDotSum)
    return emitError() << "key_tile of at most " << TargetInfo::kMaxByteDotSum << " for product=dot of bytes, found "
                       << keyTile << "; write key_tile=" << TargetInfo::kMaxByteDotSum;
  auto gather = op->getOperand(1).getDefiningOp<GatherPagesOp>();
  if (gather && gather.getPageSize() % keyTile != 0)
    return emitError() << "key_tile to divide the " << gather.getPageSize()
                       << " keys of a page for product=dot of bytes, as other pages are gathered and widened, found "
                       << keyTile << "; write key_tile=" << gather.getPageSize() << " or product=fma";
  return success();
}

} // namespace

LogicalResult attn::verifySchedule(Operation *op, ScheduleAttr schedule, const TargetInfo *target) {
  return ScheduleVerifier(op, schedule, target).verify();
}
