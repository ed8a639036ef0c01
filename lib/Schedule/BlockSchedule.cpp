//===- BlockSchedule.cpp - the schedules that a GPU kernel can have -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ScheduleVerifier.h"
#include "attn/IR/Decompose.h"
#include "attn/Schedule/ColumnGroups.h"
#include "attn/Target/BlockLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Most warps of a block: a multiprocessor has four schedulers, each with a few warps.
static constexpr int64_t kMaxWarps = 16;
/// Rows and keys of a fragment.
static constexpr int64_t kFragment = 16;
/// Most tiles of K and V in flight: more than the memory of a multiprocessor can deliver.
static constexpr int64_t kMaxStages = 16, kMaxBackwardStages = 2;
/// Most columns of a wgmma, and its rows.
static constexpr int64_t kMaxWgmmaKeys = 256, kWgmmaRows = 64;
/// Warps of a kernel of all gradients: two warpgroups.
static constexpr int64_t kFusedWarps = 8;
/// A thread has 255 registers, and without tensor cores each product of a tile is an instruction. A larger tile spills,
/// and takes minutes to compile.
static constexpr int64_t kMaxThreadAccumulators = 1024, kMaxThreadProducts = 16 * 64;
/// A position in 32 bits, with room for sums of a few of them.
static constexpr int64_t kMaxPosition = int64_t(1) << 28;

LogicalResult BlockAttr::verify(EmitError emitError, int64_t queryTile, int64_t keyTile, int64_t warps,
                                int64_t warpRows, InstructionAttr instruction, bool sharedKeys, int64_t splitKeys,
                                int64_t stages, bool producer, bool fused) {
  if (failed(verifyNumbers(emitError, {{"query_tile", queryTile, 1},
                                       {"key_tile", keyTile, 1},
                                       {"warps", warps, 1},
                                       {"warp_rows", warpRows, 1},
                                       {"split_keys", splitKeys, 0},
                                       {"stages", stages, 1}})))
    return failure();
  for (auto [name, size] : {std::pair("warp_rows", warpRows), std::pair("key_tile", keyTile)})
    if (size % kFragment != 0)
      return emitError() << "expected " << name << " to be a multiple of " << kFragment << ", found " << size
                         << "; write " << name << " = " << llvm::alignTo(size, kFragment);
  if (!instruction.getInfo().isForBlock)
    return emitError() << "expected instruction to be " << joinInstructions(&InstructionInfo::isForBlock) << ", found "
                       << stringifyInstruction(instruction.getValue())
                       << "; write instruction = mma for inputs of 16 bits, else instruction = fma";
  const InstructionInfo &info = instruction.getInfo();
  if (warps % info.warps != 0)
    return emitError() << "expected warps to be a multiple of " << info.warps
                       << " for instruction = " << stringifyInstruction(instruction.getValue()) << ", found " << warps
                       << "; write warps = " << llvm::alignTo(warps, info.warps);
  if (info.readsPanels() && (warpRows != kFragment || keyTile > kMaxWgmmaKeys))
    return emitError() << "expected warp_rows = " << kFragment << " and key_tile of at most " << kMaxWgmmaKeys
                       << " for instruction = " << stringifyInstruction(instruction.getValue()) << ", found "
                       << warpRows << " and " << keyTile << "; write warp_rows = " << kFragment << ", key_tile = 128";
  if (stages > kMaxStages)
    return emitError() << "expected stages of at most " << kMaxStages << ", found " << stages << "; write stages = 2";
  if (producer && !info.readsPanels())
    return emitError() << "expected a producer with instruction = wgmma alone, found "
                       << stringifyInstruction(instruction.getValue())
                       << "; write instruction = wgmma, or producer = false";
  if (producer && stages == 1)
    return emitError()
           << "expected stages of at least 2 with a producer, found 1; write stages = 2, or producer = false";
  if (info.readsPanels() && stages > 1 && !producer)
    return emitError() << "expected a producer for stages of instruction = "
                       << stringifyInstruction(instruction.getValue()) << ", found none; write producer = true, or "
                       << "stages = 1";
  if (fused && (!info.readsPanels() || warps != kFusedWarps || (keyTile != kWgmmaRows && keyTile != 2 * kWgmmaRows)))
    return emitError() << "expected instruction = wgmma, warps = " << kFusedWarps << " and key_tile = " << kWgmmaRows
                       << " or " << 2 * kWgmmaRows
                       << " with fused, found instruction = " << stringifyInstruction(instruction.getValue())
                       << ", warps = " << warps << ", key_tile = " << keyTile << "; write these, or fused = false";
  if (!sharedKeys && queryTile > warpRows * warps)
    return emitError() << "expected query_tile to be at most warp_rows times warps, " << warpRows * warps << ", found "
                       << queryTile << "; write query_tile = " << warpRows * warps;
  if (!sharedKeys && splitKeys != 0)
    return emitError() << "expected split_keys only with shared_keys, found it without; write split_keys = 0";
  return verifySplit(emitError, splitKeys, keyTile);
}

BlockAttr BlockAttr::withoutProducer(int64_t stages) const {
  return get(getContext(), getQueryTile(), getKeyTile(), getWarps(), getWarpRows(), getInstruction(), getSharedKeys(),
             getSplitKeys(), stages, /*producer=*/false, getFused());
}

int64_t BlockAttr::getSharedBytes(Operation *op) const {
  int64_t bits = getElementTypeOrSelf(op->getOperand(0).getType()).getIntOrFloatBitWidth();
  if (isa<SdpaBackwardOp, BackwardStepOp>(op)) {
    // Rows of the block, and the tiles of columns, each of two operands.
    int64_t widths[] = {getStaticSize(op, DimKind::HeadSize), getStaticSize(op, DimKind::ValueSize)};
    return BlockLayout::getBackward(getBlockRows(), getKeyTile(), widths, widths, bits / 8,
                                    getInstruction().getInfo().readsPanels(), getStages(), getFused())
        .bytes;
  }
  int64_t d = getStaticSize(op, DimKind::HeadSize), dv = getStaticSize(op, DimKind::ValueSize), keyBytes = bits / 8;
  bool hasPanels = getInstruction().getInfo().readsPanels();
  if (isQuantised(getElementTypeOrSelf(op->getOperand(1).getType())))
    keyBytes = BlockLayout::getKeyBytes(d, dv, bits / 8, /*keyBytes=*/1, hasPanels, getWarps());
  bool isCopiedOnce = getProducer() && getColumnGroups(*this, dv) > 1 && readsColumnsOfKey(op);
  int64_t rows = getRowsOfBlock(*this, dv), copied = isCopiedOnce ? 0 : dv;
  return BlockLayout::get(rows, getKeyTile(), d, copied, bits / 8, keyBytes, hasPanels, getStages()).bytes;
}

/// A tensor or memref, and where a slice of it begins; `offsets` are empty where that is not known.
static std::pair<Value, SmallVector<OpFoldResult>> findBegin(Value slice) {
  int64_t rank = cast<ShapedType>(slice.getType()).getRank();
  SmallVector<OpFoldResult> offsets(rank, Builder(slice.getContext()).getIndexAttr(0));
  bool isKnown = true;
  while (auto op = slice.getDefiningOp<OffsetSizeAndStrideOpInterface>()) {
    slice = op->getOperand(0);
    isKnown &= cast<ShapedType>(slice.getType()).getRank() == rank;
    for (auto [sum, offset, stride] : llvm::zip(offsets, op.getMixedOffsets(), op.getMixedStrides())) {
      isKnown &= isConstantIntValue(stride, 1) && (isConstantIntValue(sum, 0) || isConstantIntValue(offset, 0));
      sum = isConstantIntValue(sum, 0) ? offset : sum;
    }
  }
  return {slice, isKnown ? offsets : SmallVector<OpFoldResult>()};
}

bool attn::areFirstColumns(Value part, Value rows) {
  auto [whole, offsets] = findBegin(part);
  auto [other, others] = findBegin(rows);
  return whole == other && !offsets.empty() && isEqualConstantIntOrValueArray(offsets, others);
}

bool attn::readsColumnsOfKey(Operation *op) {
  SmallVector<AffineMap> maps = getMaps(op);
  return areFirstColumns(op->getOperand(2), op->getOperand(1)) &&
         maps[1].getResults().drop_back() == maps[2].getResults().drop_back();
}

/// True where rows of K have another type than Q.
static bool convertsRows(Operation *op) {
  return getElementTypeOrSelf(op->getOperand(0).getType()) != getElementTypeOrSelf(op->getOperand(1).getType());
}

/// Suggests other head sizes, where one of these is not a multiple of `multiple` or too large.
static std::string adviseHeadSizes(Type type, int64_t headSize, int64_t valueSize, int64_t multiple, int64_t largest,
                                   int64_t largestValue) {
  if (ShapedType::isDynamic(headSize) || ShapedType::isDynamic(valueSize))
    return "write them as numbers";
  auto pad = [](int64_t size, int64_t multiple) { return llvm::alignTo(std::max(size, multiple), multiple); };
  int64_t head = pad(headSize, multiple), value = pad(valueSize, multiple);
  if (head <= largest && value <= largestValue)
    return llvm::formatv("pad Q and K with zeros to {0}, with the scale of {1}, and V to {2}", head, headSize, value);
  if (type.isF32() && head <= kMaxBlockHeadSize && value <= largestValue)
    return llvm::formatv("convert the inputs to bf16 or f16, of which Q and K have up to {0} columns, or compile it "
                         "for a CPU",
                         kMaxBlockHeadSize);
  return "compile it for a CPU";
}

LogicalResult attn::verifyGpuOp(Operation *op, int64_t largestValue) {
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!type.isBF16() && !type.isF16() && !type.isF32())
    return op->emitOpError("no GPU kernel for element type ")
           << type << ", expected bf16, f16 or f32; convert the inputs";
  if (hasScoreWeight(op))
    return op->emitOpError("no GPU kernel for additive scores (score_weight); compile it for a CPU");
  int64_t multiple = kChunkBytes / (type.getIntOrFloatBitWidth() / 8);
  int64_t headSize = getStaticSize(op, DimKind::HeadSize), valueSize = getStaticSize(op, DimKind::ValueSize);
  int64_t largest = type.isF32() ? kMaxBlockValueSize : kMaxBlockHeadSize;
  auto print = [](int64_t size) { return ShapedType::isDynamic(size) ? "?" : std::to_string(size); };
  for (auto [size, limit] : {std::pair(headSize, largest), std::pair(valueSize, largestValue)})
    if (ShapedType::isDynamic(size) || size < multiple || size > limit || size % multiple != 0)
      return op->emitOpError("no GPU kernel for head sizes ")
             << print(headSize) << " and " << print(valueSize) << ", expected static multiples of " << multiple
             << " from " << multiple << " to " << largest << " and " << largestValue
             << ": rows are copied in pieces of 16 bytes; "
             << adviseHeadSizes(type, headSize, valueSize, multiple, largest, largestValue);
  for (DimKind kind : {DimKind::Query, DimKind::Key})
    if (int64_t size = getStaticSize(op, kind); !ShapedType::isDynamic(size) && size >= kMaxPosition)
      return op->emitOpError("no GPU kernel for ") << size << " queries or keys, expected fewer than 2^28";
  return success();
}

LogicalResult BlockAttr::verifyTarget(Operation *op, Type sum, const TargetInfo &target) const {
  if (!target.gpu)
    return op->emitOpError("schedule: expected one of a processor on target ")
           << target.describe() << ", found " << *this << "; write #attn.prefill<…>, or compile for a GPU";
  if (getWarps() > kMaxWarps)
    return op->emitOpError("schedule: expected warps from 1 to ")
           << kMaxWarps << " on target " << target.name << ", found " << getWarps() << "; write warps = 4";
  if (int64_t bytes = getSharedBytes(op); bytes > target.gpu->sharedBytesPerBlock)
    return op->emitOpError("schedule: expected at most ")
           << target.gpu->sharedBytesPerBlock / 1024 << " KiB of shared memory on target " << target.name << ", found "
           << llvm::divideCeil(bytes, 1024) << "; write a smaller key_tile, fewer stages or fewer warps";
  if (getProducer() && !target.gpu->hasTensorMaps())
    return op->emitOpError("schedule: expected a producer on targets with tensor maps alone, sm_90a, found ")
           << target.name << "; write producer = false";
  return verifyInstruction(op, getInstruction().getInfo(), sum, target);
}

LogicalResult BlockAttr::verifyFor(Operation *op, const TargetInfo *target) const {
  auto emitError = [&] { return op->emitOpError("schedule: expected "); };
  bool isBackward = isa<SdpaBackwardOp, BackwardStepOp>(op);
  if (!isBackward && failed(verifyTiledOp(op)))
    return failure();
  if (op->getParentOfType<scf::ForallOp>())
    return op->emitOpError("cannot be tiled for a GPU inside of scf.forall, whose rounds are thread blocks already: "
                           "expected attention in the function itself; write the loop's dimensions as batch "
                           "dimensions of the attention");
  Type sum = getAccumulationType(getElementTypeOrSelf(op->getOperand(0).getType()));
  if (target && !target->gpu)
    return verifyTarget(op, sum, *target);
  if (isBackward) {
    if (failed(verifyGpuBackward(op)) || failed(verifyInstruction(op, *this)))
      return failure();
    if (getSharedKeys() || getQueryTile() != getBlockRows())
      return emitError() << "query_tile to be warp_rows times warps, " << getBlockRows()
                         << ", without shared_keys, found " << getQueryTile()
                         << "; write query_tile = " << getBlockRows();
    // Each warpgroup has half of the columns of dQ, which end with a panel, or half of its rows.
    int64_t headSize = getStaticSize(op, DimKind::HeadSize);
    bool isHalved = headSize % kFragment == 0 && (headSize <= kWgmmaRows || headSize == 2 * kWgmmaRows);
    if (getFused() && !isHalved)
      return emitError() << "head sizes that are multiples of " << kFragment << " up to " << kWgmmaRows << ", or "
                         << 2 * kWgmmaRows << ", with fused, found " << headSize << "; write fused = false";
    if (!getProducer() && getStages() > kMaxBackwardStages)
      return emitError() << "stages of at most " << kMaxBackwardStages << " for gradients, found " << getStages()
                         << "; write stages = " << kMaxBackwardStages;
    return target ? verifyTarget(op, sum, *target) : success();
  }
  if (getSharedKeys() && failed(verifySharedKeys(op, getQueryTile(), "shared_keys = false")))
    return failure();
  int64_t valueSize = getStaticSize(op, DimKind::ValueSize), columnGroups = getColumnGroups(*this, valueSize);
  if (failed(verifyGpuOp(op, std::min(columnGroups, kMaxColumnGroups) * kMaxBlockValueSize)) ||
      failed(verifyInstruction(op, *this)))
    return failure();
  int64_t groupWarps = columnGroups * getInstruction().getInfo().warps, groupColumns = columnGroups * kWgmmaRows;
  if (columnGroups > 1 && (getWarps() % groupWarps != 0 || valueSize % groupColumns != 0))
    return emitError() << "warps to be a multiple of " << groupWarps << ", and columns of V of " << groupColumns
                       << ", where " << columnGroups << " groups of warps share rows, found " << getWarps() << " and "
                       << valueSize << "; write warps = " << groupWarps << ", or instruction = mma for parts of V";
  int64_t rows = getRowsOfBlock(*this, valueSize), queries = getStaticSize(op, DimKind::Query);
  int64_t groupRows = getQueryTile() * getHeadsOfBlock(*this, getGroupSize(op), valueSize);
  if (getSharedKeys() && groupRows > rows)
    return emitError() << "warp_rows times warps with shared_keys to be at least the " << groupRows
                       << " query rows of a head of K, found " << rows
                       << "; write warps = " << llvm::divideCeil(groupRows, getWarpRows());
  if (!getSharedKeys() && getQueryTile() != rows && (ShapedType::isDynamic(queries) || getQueryTile() < queries))
    return emitError() << "query_tile to be warp_rows times warps, " << rows << ", or all query rows, found "
                       << getQueryTile() << "; write query_tile = " << rows;
  // Slices of a bias or mask have only the existing rows.
  if (!getSharedKeys() && queries > 0 && getQueryTile() > queries)
    return emitError() << "query_tile of at most the " << queries << " query rows, found " << getQueryTile()
                       << "; write query_tile = " << queries;
  int64_t columns = getKeyTile() + valueSize / columnGroups;
  if (getWarpRows() * columns > kMaxThreadAccumulators * getLanes())
    return emitError() << "warp_rows times columns of V and keys of a tile to be at most "
                       << kMaxThreadAccumulators * getLanes() << ", found " << getWarpRows() << " times " << columns
                       << "; write warp_rows = 16 and a smaller key_tile";
  if (getProducer() && convertsRows(op))
    return emitError() << "no producer where rows of K and V are converted on their way to shared memory; write "
                          "stages = 1, producer = false";
  if (getInstruction().getInfo().depth == 1 && getWarpRows() * getKeyTile() > kMaxThreadProducts)
    return emitError() << "warp_rows times key_tile without tensor cores to be at most " << kMaxThreadProducts
                       << ", found " << getWarpRows() << " times " << getKeyTile()
                       << "; write warp_rows = 16, key_tile = 32";
  return target ? verifyTarget(op, sum, *target) : success();
}
