//===- Slices.cpp - tiles of operands and of their regions ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/IR/Attn.h"
#include "attn/IR/Structure.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace attn {

static ArrayRef<int64_t> getShape(Value value) { return cast<ShapedType>(value.getType()).getShape(); }

Slice getOperandSlice(OpBuilder &builder, Location loc, AffineMap map, ArrayRef<OpFoldResult> offsets,
                      ArrayRef<OpFoldResult> sizes) {
  Slice slice;
  OpFoldResult one = builder.getIndexAttr(1);
  for (AffineExpr expr : map.getResults()) {
    slice.strides.push_back(one);
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      slice.offsets.push_back(offsets[dim.getPosition()]);
      slice.sizes.push_back(sizes[dim.getPosition()]);
      continue;
    }
    if (isa<AffineConstantExpr>(expr)) {
      slice.offsets.push_back(builder.getIndexAttr(0));
      slice.sizes.push_back(one);
      continue;
    }
    if (expr.getKind() == AffineExprKind::Mod) { // pairs, which no tile splits
      slice.offsets.push_back(builder.getIndexAttr(0));
      slice.sizes.push_back(builder.getIndexAttr(2));
      continue;
    }
    // h floordiv G: [o, o + n) touches groups o / G to (o + n - 1) / G.
    auto group = cast<AffineBinaryOpExpr>(expr);
    unsigned position = cast<AffineDimExpr>(group.getLHS()).getPosition();
    AffineExpr first, size;
    bindDims(builder.getContext(), first, size);
    AffineExpr groupSize = group.getRHS();
    // Whole groups, or a part of one if the tile is aligned, which checkTile (Tiling.cpp) ensures.
    int64_t numHeads = getConstantIntValue(sizes[position]).value_or(0);
    int64_t perGroup = cast<AffineConstantExpr>(groupSize).getValue();
    bool isWhole = numHeads > 0 && numHeads % perGroup == 0, isPart = numHeads > 0 && perGroup % numHeads == 0;
    OpFoldResult args[] = {offsets[position], sizes[position]};
    slice.offsets.push_back(affine::makeComposedFoldedAffineApply(builder, loc, first.floorDiv(groupSize), args));
    if (isWhole || isPart)
      slice.sizes.push_back(builder.getIndexAttr(isWhole ? numHeads / perGroup : 1));
    else
      slice.sizes.push_back(affine::makeComposedFoldedAffineApply(
          builder, loc, (first + size - 1).floorDiv(groupSize) - first.floorDiv(groupSize) + 1, args));
  }
  return slice;
}

Value createSlice(OpBuilder &builder, Location loc, Value operand, const Slice &slice) {
  // The whole operand needs no slice; if its size is 0, it can have none, as an offset of 0 is out of bounds.
  bool isWhole = llvm::all_of(llvm::zip_equal(slice.offsets, slice.sizes, getShape(operand)), [](auto dim) {
    auto [offset, size, whole] = dim;
    return isConstantIntValue(offset, 0) && !ShapedType::isDynamic(whole) && isConstantIntValue(size, whole);
  });
  if (isWhole)
    return operand;
  auto tensorType = dyn_cast<RankedTensorType>(operand.getType());
  if (tensorType && llvm::is_contained(getShape(operand), 0))
    return tensor::EmptyOp::create(builder, loc, slice.sizes, tensorType.getElementType(), tensorType.getEncoding());
  if (tensorType)
    return tensor::ExtractSliceOp::create(builder, loc, operand, slice.offsets, slice.sizes, slice.strides);
  return memref::SubViewOp::create(builder, loc, operand, slice.offsets, slice.sizes, slice.strides);
}

/// Replaces kv_head by head floordiv G, which stays valid for a tile of a part of the heads. Returns the head.
static IndexOp expandKvHead(OpBuilder &builder, Operation *op, IndexOp index) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(index);
  Location loc = index.getLoc();
  auto head = IndexOp::create(builder, loc, builder.getIndexType(), IndexKind::Head);
  AffineExpr expr = getKvHeadMap(op).getResult(0);
  Value kvHead = head;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    kvHead = arith::ConstantIndexOp::create(builder, loc, constant.getValue());
  else if (int64_t groupSize = getGroupSize(op); groupSize > 1)
    kvHead = arith::DivUIOp::create(builder, loc, head, arith::ConstantIndexOp::create(builder, loc, groupSize));
  index.getResult().replaceAllUsesWith(kvHead);
  index.erase();
  return head;
}

void shiftIndex(OpBuilder &builder, Region &region, ArrayRef<OpFoldResult> domainOffsets, Operation *op) {
  unsigned numBatch = getNumBatchDims(op);
  SmallVector<IndexOp> indices;
  region.walk([&](IndexOp index) { indices.push_back(index); });
  for (IndexOp index : indices) {
    if (index.getKind() == IndexKind::KvHead)
      index = expandKvHead(builder, op, index);
    // With one batch dimension, that dimension is the heads. A tile may hold several heads, but only one batch index.
    if (index.getKind() == IndexKind::Batch && numBatch == 1)
      index.setKind(IndexKind::Head);
    std::optional<unsigned> position;
    switch (index.getKind()) {
    case IndexKind::Batch: position = 0; break;
    case IndexKind::Head: position = numBatch - 1; break;
    case IndexKind::Query: position = numBatch; break;
    case IndexKind::Key: position = numBatch + 1; break;
    case IndexKind::KvHead: llvm_unreachable("expanded above");
    case IndexKind::FirstQuery:
    case IndexKind::EndQuery:
    case IndexKind::FirstKey:
    case IndexKind::EndKey: break; // tile bounds, relative to the whole problem
    }
    if (!position || isConstantIntValue(domainOffsets[*position], 0))
      continue;
    Value offset = getValueOrCreateConstantIndexOp(builder, index.getLoc(), domainOffsets[*position]);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(index);
    auto shifted = arith::AddIOp::create(builder, index.getLoc(), index, offset);
    index.getResult().replaceAllUsesExcept(shifted, shifted);
  }
}

} // namespace attn
