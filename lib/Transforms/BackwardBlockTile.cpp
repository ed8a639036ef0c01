//===- BackwardBlockTile.cpp - operands of a block of gradients -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardBlockTile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

BackwardBlockOperands::BackwardBlockOperands(RewriterBase &b, BackwardStepOp step)
    : b(b), loc(step.getLoc()), step(step), schedule(cast<BlockAttr>(*step.getSchedule())),
      domainSizes(getDomainSizes(b, step)), numBatch(getNumBatchDims(step)),
      type(cast<FloatType>(getElementTypeOrSelf(step.getDelta().getType()))),
      rowType(schedule.getInfo().takesNarrow ? cast<FloatType>(getElementTypeOrSelf(step.getQuery().getType()))
                                             : type) {
  for (auto [map, spec] : llvm::zip(getMaps(step), getOperandSpecs(step)))
    maps[spec.name] = map;
  for (AffineExpr expr : maps["dkey"].getResults())
    if (numBatch > 0 && expr.isFunctionOfDim(numBatch - 1)) {
      auto group = dyn_cast<AffineBinaryOpExpr>(expr);
      groupSize = group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
    }
}

Value BackwardBlockOperands::slice(const BlockTile &at, Value operand, StringRef name, Slice *where) {
  AffineMap map = maps[name];
  Slice slice = getOperandSlice(b, loc, map, at.offsets, at.sizes);
  for (auto [expr, offset] : llvm::zip_equal(map.getResults(), slice.offsets)) {
    Value start = expr == b.getAffineDimExpr(queryPos()) ? at.queryStart
                  : expr == b.getAffineDimExpr(keyPos()) ? at.keyStart
                                                         : Value();
    if (start)
      offset = add(b, loc, start, toIndex(offset));
  }
  if (where)
    *where = slice;
  return createSlice(b, loc, operand, slice);
}

AffineMap BackwardBlockOperands::getRowMap(StringRef name, unsigned row) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : maps[name].getResults()) {
    AffineExpr position = b.getAffineConstantExpr(0);
    for (unsigned i = 0; i < numBatch; ++i)
      if (expr.isFunctionOfDim(i))
        position = b.getAffineDimExpr(i);
    exprs.push_back(expr == b.getAffineDimExpr(row)              ? b.getAffineDimExpr(numBatch)
                    : expr == b.getAffineDimExpr(getWidth(name)) ? b.getAffineDimExpr(numBatch + 1)
                                                                 : position);
  }
  return AffineMap::get(numBatch + 2, 0, exprs, b.getContext());
}

Value BackwardBlockOperands::createSpace(int64_t tileRows, unsigned width, Type elementType) {
  SmallVector<int64_t> shape(numBatch, 1);
  shape.append({tileRows, *getConstantIntValue(domainSizes[width])});
  auto tileType = RankedTensorType::get(shape, elementType);
  // No tensor.empty: CSE makes one of two, and bufferisation then one tile of two kernels, or copies of sums.
  return bufferization::AllocTensorOp::create(b, loc, tileType, /*dynamicSizes=*/ValueRange());
}

Value BackwardBlockOperands::sliceRows(Value tile, OpFoldResult count) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tile);
  if (isEqualConstantIntOrValue(sizes[numBatch], count))
    return tile;
  SmallVector<OpFoldResult> origin(sizes.size(), b.getIndexAttr(0)), unit(sizes.size(), b.getIndexAttr(1));
  sizes[numBatch] = count;
  return tensor::ExtractSliceOp::create(b, loc, tile, origin, sizes, unit);
}

Value BackwardBlockOperands::packRows(const BlockTile &at, StringRef name, unsigned row, int64_t tileRows, bool asFew) {
  Value rowsOf = slice(at, getOperand(name), name), tile = createSpace(tileRows, getWidth(name), rowType);
  if (asFew)
    tile = sliceRows(tile, at.sizes[row]);
  return PackOp::create(b, loc, tile.getType(), rowsOf, tile,
                        b.getAffineMapArrayAttr({getRowMap(name, row), b.getMultiDimIdentityMap(numBatch + 2)}))
      ->getResult(0);
}

void BackwardBlockOperands::cloneRegion(const BlockTile &at, Region &from, Region &to, Operation *before) {
  auto getEndRow = [&] { return add(b, loc, toIndex(at.offsets[rowPos()]), toIndex(at.sizes[rowPos()])); };
  bool isWhole = getConstantIntValue(at.sizes[rowPos()]).has_value();
  cloneTileRegion(b, from, to, before, step, at.offsets, rows == Rows::Queries ? IndexKind::Query : IndexKind::Key,
                  isWhole ? function_ref<Value()>() : function_ref<Value()>(getEndRow));
}

Value BackwardBlockOperands::evaluate(IndexOp op, const BlockTile &at) {
  auto end = [&](unsigned position) { return add(b, loc, toIndex(at.offsets[position]), toIndex(at.sizes[position])); };
  switch (op.getKind()) {
  case IndexKind::FirstQuery: return toIndex(at.offsets[queryPos()]);
  case IndexKind::EndQuery: return end(queryPos());
  case IndexKind::FirstKey: return toIndex(at.offsets[keyPos()]);
  case IndexKind::EndKey: return end(keyPos());
  case IndexKind::Batch: return toIndex(at.offsets[0]);
  case IndexKind::Head: return toIndex(at.offsets[numBatch - 1]);
  case IndexKind::KvHead:
    return affine::makeComposedAffineApply(b, loc, getKvHeadMap(step), {at.offsets[numBatch - 1]});
  case IndexKind::Query:
  case IndexKind::Key: break;
  }
  llvm_unreachable("refused by the verifier");
}
