//===- TilingChecks.cpp - what a tile of an attn op may be ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TilingChecks.h"
#include "attn/IR/Attn.h"
#include "attn/IR/Divisors.h"
#include "attn/IR/Structure.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace attn {

/// True for an op that writes a value per row besides the value columns of the row.
static bool writesRowStatistics(Operation *op) {
  if (auto sdpa = dyn_cast<SdpaOp>(op))
    return sdpa.getLse() || sdpa.getLogSum() || sdpa.getMax();
  if (auto finalize = dyn_cast<FinalizeOp>(op))
    return finalize.getLse() || finalize.getLogSum() || finalize.getMax();
  return isa<InitStateOp, OnlineStepOp, MergeStatesOp>(op);
}

/// True if a tile of `size` heads from `offset` on holds whole groups of `groupSize`, or a part of one group.
static bool isAlignedGroup(OpFoldResult offset, OpFoldResult size, int64_t groupSize) {
  std::optional<int64_t> numHeads = getConstantIntValue(size);
  if (!numHeads || *numHeads <= 0)
    return false;
  int64_t divisor = getKnownDivisor(offset);
  if (*numHeads % groupSize == 0)
    return divisor % groupSize == 0;
  return groupSize % *numHeads == 0 && divisor % *numHeads == 0;
}

/// True if each group of heads that `map` holds is whole, or split into equal parts.
static LogicalResult checkGroups(Operation *op, AffineMap map, ArrayRef<OpFoldResult> offsets,
                                 ArrayRef<OpFoldResult> sizes) {
  for (AffineExpr expr : map.getResults()) {
    auto group = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!group)
      continue;
    unsigned position = cast<AffineDimExpr>(group.getLHS()).getPosition();
    if (coversDim(op, position, offsets[position], sizes[position]))
      continue;
    if (position >= getNumBatchDims(op))
      return op->emitOpError("cannot be tiled over a dimension that it holds in pairs; tile before packing them");
    int64_t groupSize = cast<AffineConstantExpr>(group.getRHS()).getValue();
    if (!isAlignedGroup(offsets[position], sizes[position], groupSize))
      return op->emitOpError("cannot be tiled across groups of heads: expected a divisor or a multiple of the ")
             << groupSize << " heads that share one, from a multiple of it on";
  }
  return success();
}

/// True if the output may have rows that the input lacks: no tile of the input's rows would write them.
static bool mayPadRows(PackOp pack) {
  unsigned position = getDomainPosition(pack, DimKind::Query);
  SmallVector<AffineMap> maps = getMaps(pack);
  if (!maps[0].isFunctionOfDim(position)) // a single row serves all
    return false;
  int64_t numRows = getStaticSize(pack, DimKind::Query);
  AffineExpr row = getAffineDimExpr(position, pack.getContext());
  for (auto [i, expr] : llvm::enumerate(maps[1].getResults())) {
    int64_t size = cast<ShapedType>(pack.getOutput().getType()).getDimSize(i);
    if (expr == row)
      return ShapedType::isDynamic(numRows) || size != numRows;
    if (expr == row.floorDiv(2)) // the last odd row shares its pair with a written 0
      return ShapedType::isDynamic(numRows) || size != int64_t(llvm::divideCeil(numRows, 2));
  }
  return false;
}

bool isWholeProblem(Operation *op, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  return llvm::all_of(llvm::seq<unsigned>(0, getNumBatchDims(op) + 2),
                      [&](unsigned position) { return coversDim(op, position, offsets[position], sizes[position]); });
}

LogicalResult checkTile(Operation *op, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  if (getPackedSequences(op))
    return op->emitOpError("cannot be tiled through TilingInterface: its sequences are packed; attn-tile can");
  if (auto step = dyn_cast<OnlineStepOp>(op); step && !step.getQueryBytes().empty())
    return op->emitOpError("cannot be tiled: query_bytes are rows of a tile; tile before packing them");
  SmallVector<bool> isWhole;
  for (auto [i, offset, size] : llvm::enumerate(offsets, sizes))
    isWhole.push_back(coversDim(op, i, offset, size));
  for (auto [i, type] : llvm::enumerate(getIteratorTypes(op))) {
    bool isFolded = isa<OnlineStepOp>(op) && i == getDomainPosition(op, DimKind::Key);
    if (type == utils::IteratorType::reduction && !isWhole[i] && !isFolded)
      return op->emitOpError("cannot be tiled over a dimension that it reduces: only the keys of attn.online_step can");
  }
  if (writesRowStatistics(op) && !isWhole[getDomainPosition(op, DimKind::ValueSize)])
    return op->emitOpError("cannot be tiled over the value columns: each tile would write the row statistics again");
  if (auto sdpa = dyn_cast<SdpaOp>(op); sdpa && sdpa.getDropoutSeed() && !isWholeProblem(op, offsets, sizes))
    return op->emitOpError("cannot be tiled through TilingInterface: its dropout counts heads and rows of the whole "
                           "problem; attn-tile can, after attn-fuse");
  for (AffineMap map : getMaps(op))
    if (failed(checkGroups(op, map, offsets, sizes)))
      return failure();
  for (auto [operand, map] : llvm::zip(op->getOperands(), getMaps(op)))
    if (isa<OnlineStepOp, PackOp>(op) && getNumParts(operand, map) > 1)
      return op->emitOpError("cannot be tiled: its operands are parts of elements; tile before packing them");
  // After the groups: the message about pairs says better what to do.
  if (auto pack = dyn_cast<PackOp>(op); pack && mayPadRows(pack))
    return op->emitOpError("cannot be tiled where it pads its rows, which are no tile's: expected as many rows of the "
                           "output as of the input, of static size; tile before packing them");
  if (auto softmax = dyn_cast<SoftmaxOp>(op); softmax && softmax.getQLengths() &&
                                              isa<MemRefType>(softmax.getInput().getType()) &&
                                              !isWhole[getDomainPosition(op, DimKind::Query)])
    return op->emitOpError(
        "cannot be tiled over rows of memrefs, as each tile has q_lengths of its own: tile the op on "
        "tensors, then bufferise");
  return success();
}

} // namespace attn
