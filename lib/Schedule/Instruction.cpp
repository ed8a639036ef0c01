//===- Instruction.cpp - the instructions of products ---------------------===//
//
// The table of their properties, the rules which op and target can use which instruction, and the choice of the fastest
// one.
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Decompose.h"
#include "attn/Schedule/Schedule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

static constexpr OperandLayout kRows = OperandLayout::Rows, kPairs = OperandLayout::Pairs,
                               kColumns = OperandLayout::Columns;

/// In the order of the enumeration.
static constexpr InstructionInfo kInfos[] = {
    // instruction, prefill, decode, block, depth, narrow, bits, Q, V, head, keys, warps, transposed
    {Instruction::FMA, true, true, true, 1, false, 0, kRows, kRows, 1, 1, 1, 2},
    {Instruction::Pairs, true, true, false, 2, true, 0, kPairs, kPairs, 2, 1, 0, 3},
    {Instruction::Bytes, false, true, false, 4, false, 0, kRows, kRows, 1, 1, 0, 2},
    {Instruction::AMX, true, true, false, 32, true, 0, kPairs, kColumns, 32, TargetInfo::kTileDepth, 0, 5},
    {Instruction::MMA, false, false, true, 16, true, 0, kRows, kRows, 1, 1, 1, 2},
    {Instruction::TF32, false, false, true, 8, false, 11, kRows, kRows, 1, 1, 1, 2},
    {Instruction::WGMMA, false, false, true, 16, true, 0, kRows, kRows, 1, 1, 4, 2},
    {Instruction::FMALanes, true, false, false, 1, false, 0, kRows, kRows, 1, 1, 0, 2},
    {Instruction::Quads, true, false, false, 4, true, 0, kPairs, kPairs, 8, 1, 0, 3},
};

static const InstructionInfo &getInfo(Instruction instruction) { return kInfos[static_cast<size_t>(instruction)]; }

const InstructionInfo &InstructionAttr::getInfo() const { return ::getInfo(getValue()); }

std::string attn::joinInstructions(bool InstructionInfo::*isForKind) {
  SmallVector<StringRef> names;
  for (const InstructionInfo &info : kInfos)
    if (info.*isForKind)
      names.push_back(stringifyInstruction(info.instruction));
  return llvm::join(ArrayRef(names).drop_back(), ", ") + " or " + names.back().str();
}

bool attn::hasScoreWeight(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SdpaOp, OnlineStepOp>([](auto attention) { return attention.getScoreWeight() != nullptr; })
      .Default([](Operation *) { return false; });
}

static Type getType(Operation *op, unsigned operand) { return getElementTypeOrSelf(op->getOperand(operand).getType()); }

static Type getGradientOfOutput(Operation *op) {
  return llvm::TypeSwitch<Operation *, Type>(op).Case<SdpaBackwardOp, BackwardStepOp>(
      [](auto backward) { return getElementTypeOrSelf(backward.getDout().getType()); });
}

/// True for adjacent pairs of elements of Q's type. Prefill tiles convert 8-bit K and V to it, which is exact.
static bool haveFormOfPairs(Operation *op, bool sharesKeys) {
  for (unsigned i : {1u, 2u})
    if (Type type = getType(op, i); type != getType(op, 0) && (sharesKeys || !isQuantised(type)))
      return false;
  int64_t headSize = getStaticSize(op, DimKind::HeadSize);
  if (hasScoreWeight(op) || ShapedType::isDynamic(headSize) || headSize % 2 != 0)
    return false;
  AffineExpr head = getAffineDimExpr(getDomainPosition(op, DimKind::HeadSize), op->getContext());
  // Gradients of Q and K also need products of pairs along V.
  if (isa<SdpaBackwardOp, BackwardStepOp>(op)) {
    int64_t valueSize = getStaticSize(op, DimKind::ValueSize);
    AffineExpr column = getAffineDimExpr(getDomainPosition(op, DimKind::ValueSize), op->getContext());
    if (ShapedType::isDynamic(valueSize) || valueSize % 2 != 0 || getMaps(op)[2].getResults().back() != column ||
        isQuantised(getType(op, 1)) || !getGradientOfOutput(op).isBF16())
      return false;
  }
  return llvm::all_of(ArrayRef(getMaps(op)).take_front(2),
                      [&](AffineMap map) { return map.getResults().back() == head; });
}

static bool canMultiplyPairs(Operation *op, bool sharesKeys) {
  return getType(op, 0).isBF16() && haveFormOfPairs(op, sharesKeys);
}

/// Q of 16 bits, rounded to 16-bit integers, times bytes of K; the weights likewise times V. Rows of K and V must be
/// contiguous.
static bool canMultiplyBytes(Operation *op) {
  if (!isa<FloatType>(getType(op, 0)) || getType(op, 0).getIntOrFloatBitWidth() != 16 || !getType(op, 1).isInteger(8) ||
      !getType(op, 2).isInteger(8))
    return false;
  SmallVector<AffineMap> maps = getMaps(op);
  auto liesTogether = [&](DimKind kind, unsigned operand) {
    int64_t size = getStaticSize(op, kind);
    return !ShapedType::isDynamic(size) && size % TargetInfo::kByteDotColumns == 0 &&
           size <= TargetInfo::kMaxByteDotSum &&
           maps[operand].getResults().back() == getAffineDimExpr(getDomainPosition(op, kind), op->getContext());
  };
  return !hasScoreWeight(op) && liesTogether(DimKind::HeadSize, 1) && liesTogether(DimKind::ValueSize, 2);
}

/// Pairs that fill tiles, of bf16 or, in prefill kernels, of parts.
static bool canMultiplyTiles(Operation *op, bool sharesKeys) {
  Type type = getType(op, 0);
  bool takesParts = !sharesKeys && !isa<SdpaBackwardOp, BackwardStepOp>(op);
  if (!type.isBF16() && !(takesParts && (type.isF16() || type.isF32())))
    return false;
  // A decode kernel packs rows of V.
  AffineExpr column = getAffineDimExpr(getDomainPosition(op, DimKind::ValueSize), op->getContext());
  return haveFormOfPairs(op, /*sharesKeys=*/false) && (!sharesKeys || getMaps(op)[2].getResults().back() == column) &&
         getStaticSize(op, DimKind::HeadSize) % TargetInfo::kTileDepth == 0 &&
         getStaticSize(op, DimKind::ValueSize) % TargetInfo::kTileDepth == 0;
}

static bool isForward(Operation *op) { return !isa<SdpaBackwardOp, BackwardStepOp>(op); }

static bool canMultiplyQuads(Operation *op, bool sharesKeys) {
  return isForward(op) && !sharesKeys && canMultiplyPairs(op, sharesKeys) &&
         getStaticSize(op, DimKind::HeadSize) % getInfo(Instruction::Quads).headMultiple == 0;
}

/// Sums of f32, but of additive scores.
static bool canMultiplyLanes(Operation *op, bool sharesKeys) {
  return isForward(op) && !sharesKeys && !hasScoreWeight(op) && getAccumulationType(getType(op, 0)).isF32();
}

InstructionAttr attn::selectInstruction(Operation *op, bool sharesKeys, const TargetInfo &target) {
  auto get = [&](Instruction instruction) { return InstructionAttr::get(op->getContext(), instruction); };
  if (target.gpu)
    return get(getType(op, 0).isF32() ? Instruction::FMA : Instruction::MMA);
  if (sharesKeys && target.hasByteDot && canMultiplyBytes(op))
    return get(Instruction::Bytes);
  if (!sharesKeys && target.hasTiles() && canMultiplyTiles(op, sharesKeys))
    return get(Instruction::AMX);
  // True where the target multiplies pairs faster than widened elements. Decode kernels make pairs along the keys of
  // rows of V.
  AffineExpr column = getAffineDimExpr(getDomainPosition(op, DimKind::ValueSize), op->getContext());
  bool hasRows = !sharesKeys || getMaps(op)[2].getResults().back() == column;
  if (target.bf16DotRate > 1 && canMultiplyPairs(op, sharesKeys) && hasRows)
    return get(target.hasBf16Matrices && canMultiplyQuads(op, sharesKeys) ? Instruction::Quads : Instruction::Pairs);
  return get(target.takesLanes && canMultiplyLanes(op, sharesKeys) ? Instruction::FMALanes : Instruction::FMA);
}

static LogicalResult verifyBytes(Operation *op, int64_t keyTile) {
  if (keyTile > TargetInfo::kMaxByteDotSum)
    return op->emitOpError("schedule: expected key_tile of at most ")
           << TargetInfo::kMaxByteDotSum << " for instruction = bytes, found " << keyTile
           << "; write key_tile = " << TargetInfo::kMaxByteDotSum;
  auto gather = op->getOperand(1).getDefiningOp<GatherPagesOp>();
  if (gather && gather.getPageSize() % keyTile != 0)
    return op->emitOpError("schedule: expected key_tile to divide the ")
           << gather.getPageSize()
           << " keys of a page for instruction = bytes, as other pages are gathered and widened, "
           << "found " << keyTile << "; write key_tile = " << gather.getPageSize() << " or instruction = fma";
  return success();
}

namespace {
/// The targets that have an instruction, and the ops that can use it.
struct Requirement {
  bool (*fits)(Operation *op, ScheduleAttr schedule);
  bool (*isThere)(const TargetInfo &target);
  llvm::StringLiteral expected;
};
} // namespace

static bool isGpu(const TargetInfo &target) { return target.gpu.has_value(); }

/// In the order of the enumeration.
static constexpr Requirement kRequirements[] = {
    {[](Operation *op, ScheduleAttr schedule) { return !isa<BlockAttr>(schedule) || getType(op, 0).isF32(); },
     [](const TargetInfo &) { return true; }, "a Q of f32 on a GPU; write instruction = mma"},
    {[](Operation *op, ScheduleAttr schedule) { return canMultiplyPairs(op, schedule.sharesKeys()); },
     [](const TargetInfo &target) { return target.bf16DotRate > 0; },
     "Q, K and V of bf16, in #attn.prefill also K and V of 8 bits, of an even head size that is innermost, in "
     "#attn.backward all head sizes, without score_weight; write instruction = fma"},
    {[](Operation *op, ScheduleAttr) { return canMultiplyBytes(op); },
     [](const TargetInfo &target) { return target.hasByteDot; },
     "a Q of 16 bits, and int8 K and V of head sizes that are multiples of 16, at most 512 and innermost, without "
     "score_weight; write instruction = fma"},
    {[](Operation *op, ScheduleAttr schedule) { return canMultiplyTiles(op, schedule.sharesKeys()); },
     [](const TargetInfo &target) { return target.hasTiles(); },
     "a Q of bf16, f16 or f32, and K and V of that type or 8 bits, of head sizes that are multiples of 32 and "
     "innermost, "
     "without score_weight; write instruction = pairs or instruction = fma"},
    {[](Operation *op, ScheduleAttr) { return !getType(op, 0).isF32(); }, isGpu,
     "a Q of 16 bits; write instruction = fma"},
    {[](Operation *op, ScheduleAttr) { return getType(op, 0).isF32(); }, isGpu, "a Q of f32; write instruction = mma"},
    {[](Operation *op, ScheduleAttr) { return !getType(op, 0).isF32(); },
     [](const TargetInfo &target) { return target.gpu && target.gpu->hasWgmma; },
     "a Q of 16 bits; write instruction = fma"},
    {[](Operation *op, ScheduleAttr schedule) { return canMultiplyLanes(op, schedule.sharesKeys()); },
     [](const TargetInfo &target) { return target.takesLanes; },
     "sums of f32, without score_weight; write instruction = fma"},
    {[](Operation *op, ScheduleAttr schedule) { return canMultiplyQuads(op, schedule.sharesKeys()); },
     [](const TargetInfo &target) { return target.hasBf16Matrices; },
     "Q of bf16, and K and V of bf16 or 8 bits, of a head size that is a multiple of 8 and innermost, without "
     "score_weight; write instruction = pairs or instruction = fma"},
};

LogicalResult attn::verifyInstruction(Operation *op, ScheduleAttr schedule) {
  Instruction instruction = schedule.getInfo().instruction;
  const Requirement &requirement = kRequirements[static_cast<size_t>(instruction)];
  if (requirement.fits(op, schedule))
    return instruction == Instruction::Bytes ? verifyBytes(op, schedule.getKeyTile()) : success();
  return op->emitOpError("schedule: instruction = ")
         << stringifyInstruction(instruction) << ": found Q of " << getType(op, 0) << ", K of " << getType(op, 1)
         << " and head sizes " << getStaticSize(op, DimKind::HeadSize) << " and "
         << getStaticSize(op, DimKind::ValueSize) << ", expected " << requirement.expected;
}

LogicalResult attn::verifyInstruction(Operation *op, const InstructionInfo &info, Type sum, const TargetInfo &target) {
  bool isThere = kRequirements[static_cast<size_t>(info.instruction)].isThere(target);
  if (isThere && (sum.isF32() || info.instruction == Instruction::FMA))
    return success();
  return op->emitOpError("schedule: expected instruction = ")
         << stringifyInstruction(info.instruction) << " only on targets that have it, with sums of 'f32', found "
         << target.describe() << " and " << sum
         << "; write instruction = " << (isGpu(target) && info.takesNarrow ? "mma" : "fma");
}
