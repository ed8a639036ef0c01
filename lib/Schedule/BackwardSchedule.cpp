//===- BackwardSchedule.cpp - the schedules that a backward kernel can have ===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ScheduleVerifier.h"
#include "attn/IR/CaptureParts.h"
#include "attn/IR/Decompose.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Most accumulators of a register kernel, as for the forward pass.
static constexpr int64_t kMaxAccumulators = 128;

/// The smallest tile on any target.
static constexpr int64_t kSmallestRows = 12, kSmallestKeys = 32;

/// Most keys of a panel on any target: two vectors of 16 lanes.
static constexpr int64_t kMaxPanelKeys = 32;

static Type getElement(Value value) { return getElementTypeOrSelf(value.getType()); }

namespace {
/// The maps of an op by operand name.
struct NamedMaps {
  explicit NamedMaps(Operation *op) {
    for (auto [map, spec] : llvm::zip(getMaps(op), getOperandSpecs(op)))
      maps[spec.name] = map;
  }
  AffineMap operator[](StringRef name) const { return maps.lookup(name); }
  llvm::StringMap<AffineMap> maps;
};
} // namespace

/// The result of `map` that depends on dimension `position`; null without one.
static AffineExpr getResultOf(AffineMap map, unsigned position) {
  for (AffineExpr expr : map.getResults())
    if (expr.isFunctionOfDim(position))
      return expr;
  return {};
}

template <typename OpTy> static std::string explain(OpTy op, bool hasOwnBias) {
  Type type = getElement(op.getQuery());
  if (!isa<RankedTensorType>(op.getQuery().getType()))
    return "expected tensors, found memrefs";
  if (!type.isF32() && !type.isF64() && !type.isF16() && !type.isBF16())
    return "expected f32, f64, bf16 or f16";
  auto schedule = dyn_cast_or_null<BackwardAttr>(op.getScheduleAttr());
  if (!haveCapturePartsRoom(op, schedule ? schedule.getPanelKeys() : kMaxPanelKeys))
    return "expected captured tensors whose gradients are asked for (dcaptures) to have parts of at most 2^26 elements "
           "in all tasks, or with open sizes of at most 2^15 in one, or of a row of queries or keys";
  if (op.getValue().template getDefiningOp<GatherPagesOp>())
    return "expected dense V, found pages";
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  if (ShapedType::isDynamic(headSize) || ShapedType::isDynamic(valueSize) || headSize == 0 || valueSize == 0)
    return "expected static head sizes of at least 1";
  if (getBackwardStackBytes(op, kSmallestRows, kSmallestKeys, kSmallestKeys) > kMaxPrefillStackBytes)
    return "expected smaller head sizes: no tile of them fits a thread's stack";
  NamedMaps maps(op);
  unsigned numBatch = getNumBatchDims(op);
  SmallVector<int64_t> domain = getStaticDomain(op);
  auto getDim = [&](unsigned position) { return getAffineDimExpr(position, op.getContext()); };
  // A task owns the elements that it adds to: one batch index, and a key head with the query heads that share it.
  // Packed sequences have rows of their own.
  for (unsigned position = getPackedSequences(op) ? 1 : 0; position < numBatch; ++position) {
    bool isHead = position == numBatch - 1;
    for (StringRef name : {"key", "value", "dkey", "dvalue"}) {
      AffineExpr expr = getResultOf(maps[name], position);
      bool isOwned = isHead ? expr == getResultOf(maps["dkey"], position) : expr == getDim(position);
      if (!isOwned && domain[position] != 1)
        return isHead ? "expected the heads of Q to share those of K, V and their gradients alike"
                      : "expected K and V of each batch index of their own";
    }
    // Tasks with a common bias take its keys in turn.
    if (!hasOwnBias && maps["dbias"] && !getResultOf(maps["dbias"], position) && domain[position] != 1 &&
        !sharesBiasGradient(op))
      return "expected a bias with keys, or of each batch index and head of its own, where its gradient is asked for, "
             "or static sizes of at most 2^26 elements";
  }
  if (maps["dquery"].getResults().back() != getDim(numBatch + 2))
    return "expected the columns of dquery to be its last dimension";
  return "";
}

std::string attn::explainNoBackwardKernel(Operation *op) {
  if (auto sdpa = dyn_cast<SdpaBackwardOp>(op))
    return explain(sdpa, hasBiasGradientParts(sdpa));
  return explain(cast<BackwardStepOp>(op), /*hasOwnBias=*/false);
}

bool attn::canHaveChunks(Operation *op) {
  NamedMaps maps(op);
  unsigned numBatch = getNumBatchDims(op);
  bool isOwned = !maps["dbias"] || getResultOf(maps["dbias"], numBatch) || getResultOf(maps["dbias"], numBatch + 1);
  bool hasCaptures = llvm::TypeSwitch<Operation *, bool>(op).Case<SdpaBackwardOp, BackwardStepOp>(
      [](auto backward) { return !backward.getDcaptures().empty(); });
  return isOwned && !hasCaptures && !getPackedSequences(op) && !sharesBiasGradient(op);
}

int64_t attn::getBackwardStackBytes(Operation *op, int64_t queryTile, int64_t keyTile, int64_t panelKeys) {
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  int64_t elements =
      queryTile * (keyTile + panelKeys + headSize + valueSize) + keyTile * (3 * headSize + 2 * valueSize);
  Type type = getAccumulationType(getElement(op->getOperand(0)));
  return elements * (type.getIntOrFloatBitWidth() / 8);
}

LogicalResult BackwardAttr::verify(EmitError emitError, int64_t queryTile, int64_t keyTile, int64_t lanes,
                                   int64_t blockRows, int64_t blockVectors, InstructionAttr instruction,
                                   int64_t chunks) {
  if (failed(verifyNumbers(emitError, {{"query_tile", queryTile, 1},
                                       {"key_tile", keyTile, 1},
                                       {"lanes", lanes, 1},
                                       {"block_rows", blockRows, 1},
                                       {"block_vectors", blockVectors, 1},
                                       {"chunks", chunks, 1}})))
    return failure();
  Instruction value = instruction.getValue();
  if (value != Instruction::FMA && value != Instruction::Pairs && value != Instruction::AMX)
    return emitError() << "expected instruction to be fma, pairs or amx, found " << stringifyInstruction(value)
                       << "; write instruction = fma";
  int64_t multiple = instruction.getInfo().keyMultiple;
  if (queryTile % multiple != 0)
    return emitError() << "expected query_tile to be a multiple of " << multiple << " with instruction = amx, found "
                       << queryTile << "; write query_tile = " << llvm::alignTo(queryTile, multiple);
  if (blockRows * blockVectors > kMaxAccumulators)
    return emitError() << "expected block_rows times block_vectors to be at most " << kMaxAccumulators << ", found "
                       << blockRows << " times " << blockVectors << "; write block_rows = 6, block_vectors = 2";
  int64_t panel = lanes * blockVectors;
  if (keyTile % panel != 0)
    return emitError() << "expected key_tile to be a multiple of the " << panel << " keys of a panel, found " << keyTile
                       << "; write key_tile = " << llvm::alignTo(keyTile, panel);
  if (panel % multiple != 0)
    return emitError() << "expected panels of a multiple of " << multiple
                       << " keys with instruction = amx, found lanes times block_vectors = " << panel
                       << "; write lanes = 16, block_vectors = 2";
  return success();
}

LogicalResult BackwardAttr::verifyTarget(Operation *op, Type sum, const TargetInfo &target) const {
  return verifyCPUTarget(op, *this, sum, target);
}

LogicalResult BackwardAttr::verifyFor(Operation *op, const TargetInfo *target) const {
  if (!isa<SdpaBackwardOp, BackwardStepOp>(op))
    return op->emitOpError("schedule: expected one of a forward kernel, found ") << *this << "; write #attn.prefill<…>";
  if (std::string reason = explainNoBackwardKernel(op); !reason.empty())
    return op->emitOpError("cannot be tiled: ") << reason << "; run attn-lower-to-reference";
  Type sum = getAccumulationType(getElement(op->getOperand(0)));
  if ((target && failed(verifyTarget(op, sum, *target))) || failed(verifyInstruction(op, *this)))
    return failure();
  if (getChunks() > 1 && !canHaveChunks(op))
    return op->emitOpError(
               "schedule: expected chunks = 1 for packed sequences, and where tasks share a gradient of a bias "
               "or of a captured tensor, found ")
           << getChunks() << "; write chunks = 1";
  int64_t bytes = getBackwardStackBytes(op, getQueryTile(), getKeyTile(), getPanelKeys());
  if (bytes > kMaxPrefillStackBytes)
    return op->emitOpError("schedule: expected query_tile and key_tile of at most ")
           << kMaxPrefillStackBytes << " bytes of a tile, found " << getQueryTile() << " and " << getKeyTile()
           << " that need " << bytes << "; write smaller ones";
  return success();
}
