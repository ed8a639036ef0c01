//===- BackwardTile.cpp - the operands of a tile of gradients -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BackwardTile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// Rows of tiles are a cache line longer: columns of them then fall on all sets of the first-level cache.
static constexpr int64_t kLineBytes = 64;
/// Columns that attn.pack moves in whole vectors of every target.
static constexpr int64_t kPackedColumns = 16;

BackwardShape::BackwardShape(OpBuilder &b, BackwardStepOp step)
    : step(step), loc(step.getLoc()), domainSizes(getDomainSizes(b, step)), numBatch(getNumBatchDims(step)),
      type(cast<FloatType>(getElementTypeOrSelf(step.getDelta().getType()))), rowType(type) {
  if (step.getSchedule()->getInfo().takesNarrow)
    rowType = cast<FloatType>(getElementTypeOrSelf(step.getQuery().getType()));
  for (auto [map, spec] : llvm::zip(getMaps(step), getOperandSpecs(step)))
    maps[spec.name] = map;
  for (AffineExpr expr : maps["dkey"].getResults())
    if (numBatch > 0 && expr.isFunctionOfDim(numBatch - 1)) {
      auto group = dyn_cast<AffineBinaryOpExpr>(expr);
      groupSize = group ? cast<AffineConstantExpr>(group.getRHS()).getValue() : 1;
    }
}

BackwardStepOp attn::createBackwardTile(OpBuilder &b, const BackwardShape &s, const OperandTiles &tiles,
                                        ValueRange dcaptures, ValueRange transposed) {
  auto get = [&](StringRef name) { return tiles.lookup(name).value; };
  SmallVector<AffineMap> maps;
  for (const OperandSpec &spec : getOperandSpecs(s.step))
    if (AffineMap map = tiles.lookup(spec.name).map)
      maps.push_back(map);
  SmallVector<Type> types;
  for (StringRef name : {"dquery", "dkey", "dvalue", "dbias"})
    if (Value sum = get(name))
      types.push_back(sum.getType());
  llvm::append_range(types, dcaptures.getTypes());
  return BackwardStepOp::create(b, s.loc, types, get("query"), get("key"), get("value"), get("lse"), get("dout"),
                                get("delta"), get("log_sum"), get("bias"), get("mask"), get("dquery"), get("dkey"),
                                get("dvalue"), get("dbias"), dcaptures,
                                /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), s.step.getScaleValue(), transposed,
                                s.step.getScaleAttr(), b.getAffineMapArrayAttr(maps), s.step.getScheduleAttr());
}

BackwardOperands::BackwardOperands(RewriterBase &b, BackwardStepOp step)
    : b(b), loc(step.getLoc()), step(step), schedule(cast<BackwardAttr>(*step.getSchedule())),
      sizes(getDomainSizes(b, step)), numBatch(getNumBatchDims(step)),
      type(cast<FloatType>(getElementTypeOrSelf(step.getDelta().getType()))),
      rowType(schedule.getInfo().takesNarrow ? cast<FloatType>(getElementTypeOrSelf(step.getQuery().getType()))
                                             : type) {
  for (auto [map, spec] : llvm::zip(getMaps(step), getOperandSpecs(step)))
    maps[spec.name] = map;
}

Position BackwardOperands::inRows(Position at) {
  if (queryStart) {
    at[numBatch] = add(b, loc, queryStart, toIndex(at[numBatch]));
    at[numBatch + 1] = add(b, loc, keyStart, toIndex(at[numBatch + 1]));
  }
  return at;
}

Part BackwardOperands::getPart(Value operand, StringRef name, ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> partSizes) {
  AffineMap map = maps[name];
  Part part{operand, {}, {}, getOperandSlice(b, loc, map, offsets, partSizes)};
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs;
  for (auto [expr, size] : llvm::zip(map.getResults(), part.slice.sizes))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() >= numBatch) {
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
      exprs.push_back(b.getAffineDimExpr(dim.getPosition() - numBatch));
    }
  part.map = AffineMap::get(4, 0, exprs, b.getContext());
  auto partType = RankedTensorType::get(shape, getElementTypeOrSelf(operand.getType()));
  part.value = tensor::ExtractSliceOp::create(b, loc, partType, operand, part.slice.offsets, part.slice.sizes,
                                              part.slice.strides);
  return part;
}

Value BackwardOperands::insert(const Part &part, Value value) {
  return tensor::InsertSliceOp::create(b, loc, value, part.source, part.slice.offsets, part.slice.sizes,
                                       part.slice.strides);
}

Value BackwardOperands::createSpace(int64_t rows, int64_t columns, OpFoldResult usedRows, OpFoldResult usedColumns,
                                    Type elementType) {
  elementType = elementType ? elementType : type;
  int64_t line = kLineBytes / (elementType.getIntOrFloatBitWidth() / 8);
  auto spaceType = RankedTensorType::get({rows, int64_t(llvm::alignTo(columns, line)) + line}, elementType);
  // No tensor.empty: CSE makes one of two, and of two destinations in it bufferisation makes one a buffer of its own.
  Value space = bufferization::AllocTensorOp::create(b, loc, spaceType, /*dynamicSizes=*/ValueRange());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(b, loc, space, ArrayRef<OpFoldResult>{zero, zero}, {usedRows, usedColumns},
                                        {one, one});
}

AffineMap BackwardOperands::getRowMap() { return b.getMultiDimIdentityMap(2); }

AffineMap BackwardOperands::getRowMap(AffineMap map, unsigned row, unsigned column) {
  SmallVector<AffineExpr> dims(4, b.getAffineConstantExpr(0));
  dims[row] = b.getAffineDimExpr(0);
  dims[column] = b.getAffineDimExpr(1);
  return map.replaceDimsAndSymbols(dims, {}, 2, 0);
}

Value BackwardOperands::copyRows(const Part &rows, unsigned row, unsigned column, Value space, Value lse) {
  SmallVector<Value> inputs = {rows.value};
  SmallVector<AffineMap> copyMaps = {getRowMap(rows.map, row, column)};
  if (lse) {
    inputs.push_back(lse);
    copyMaps.push_back(AffineMap::get(2, 0, b.getAffineDimExpr(0)));
  }
  copyMaps.push_back(getRowMap());
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto build = [&](OpBuilder &nested, Location at, ValueRange x) {
    Value element = isQuantised(x[0].getType()) ? convertQuantised(nested, at, x[0], rowType)
                                                : convertFloat(nested, at, x[0], rowType);
    if (lse) {
      Value none = createFloatConstant(nested, at, x[1].getType(), -std::numeric_limits<double>::infinity());
      Value isEmpty = arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OEQ, x[1], none);
      element = arith::SelectOp::create(nested, at, isEmpty, createFloatConstant(nested, at, rowType, 0), element);
    }
    linalg::YieldOp::create(nested, at, element);
  };
  return linalg::GenericOp::create(b, loc, space.getType(), inputs, space, copyMaps, parallel, build).getResult(0);
}

Value BackwardOperands::transposeRows(const Part &rows, unsigned column, int64_t columns) {
  Value space =
      createSpace(columns, schedule.getKeyTile(), b.getIndexAttr(columns), b.getIndexAttr(schedule.getKeyTile()));
  AffineMap target = AffineMap::get(2, 0, {b.getAffineDimExpr(1), b.getAffineDimExpr(0)}, b.getContext());
  return PackOp::create(b, loc, space.getType(), rows.value, space,
                        b.getAffineMapArrayAttr({getRowMap(rows.map, 1, column), target}))
      ->getResult(0);
}

Value BackwardOperands::createPairs(int64_t pairs, int64_t others, OpFoldResult usedPairs) {
  int64_t line = kLineBytes / (2 * rowType.getWidth() / 8);
  auto spaceType = RankedTensorType::get({pairs, int64_t(llvm::alignTo(others, line)) + line, 2}, rowType);
  Value space = bufferization::AllocTensorOp::create(b, loc, spaceType, /*dynamicSizes=*/ValueRange());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(b, loc, space, ArrayRef<OpFoldResult>{zero, zero, zero},
                                        {usedPairs, b.getIndexAttr(others), b.getIndexAttr(2)}, {one, one, one});
}

Value BackwardOperands::transposePairs(const Part &rows, unsigned column, int64_t columns) {
  Value space = createPairs(columns / 2, schedule.getKeyTile(), b.getIndexAttr(columns / 2));
  AffineExpr row = b.getAffineDimExpr(0), paired = b.getAffineDimExpr(1);
  AffineMap target = AffineMap::get(2, 0, {paired.floorDiv(2), row, paired % 2}, b.getContext());
  return PackOp::create(b, loc, space.getType(), rows.value, space,
                        b.getAffineMapArrayAttr({getRowMap(rows.map, 1, column), target}))
      ->getResult(0);
}

Value BackwardOperands::pairRows(const Part &rows, unsigned column, int64_t columns, OpFoldResult count) {
  AffineExpr row = b.getAffineDimExpr(0), other = b.getAffineDimExpr(1);
  OpFoldResult pairs = affine::makeComposedFoldedAffineApply(b, loc, row.ceilDiv(2), {count});
  Value space = createPairs(llvm::divideCeil(schedule.getKeyTile(), 2), columns, pairs);
  AffineMap target = AffineMap::get(2, 0, {row.floorDiv(2), other, row % 2}, b.getContext());
  return PackOp::create(b, loc, space.getType(), rows.value, space,
                        b.getAffineMapArrayAttr({getRowMap(rows.map, 1, column), target}))
      ->getResult(0);
}

Value BackwardOperands::readRows(Value whole, StringRef name, unsigned column, int64_t columns, const Position &at,
                                 ArrayRef<OpFoldResult> tileSizes) {
  Value tile = transposeRows(getPart(whole, name, at, tileSizes), column, columns);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(b, loc, tile, ArrayRef<OpFoldResult>{zero, zero},
                                        {b.getIndexAttr(columns), tileSizes[numBatch + 1]}, {one, one});
}

Value BackwardOperands::writeRows(Value sums, Value whole, StringRef name, unsigned column, const Position &at,
                                  ArrayRef<OpFoldResult> tileSizes) {
  Part part = getPart(whole, name, at, tileSizes);
  AffineMap source = AffineMap::get(2, 0, {b.getAffineDimExpr(1), b.getAffineDimExpr(0)}, b.getContext());
  SmallVector<AffineMap> copyMaps = {source, getRowMap(part.map, 1, column)};
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  int64_t columns = cast<RankedTensorType>(sums.getType()).getDimSize(0);
  if (columns % kPackedColumns == 0 && part.map.getResults().back() == b.getAffineDimExpr(column) &&
      getElementTypeOrSelf(whole.getType()) == type) {
    // Columns are the rows of attn.pack: whole vectors of them.
    AffineMap packed = AffineMap::get(2, 0, {b.getAffineDimExpr(1), b.getAffineDimExpr(0)}, b.getContext());
    Value written =
        PackOp::create(b, loc, part.value.getType(), sums, part.value, b.getAffineMapArrayAttr({getRowMap(), packed}))
            ->getResult(0);
    return insert(part, written);
  }
  Value written = linalg::GenericOp::create(b, loc, part.value.getType(), sums, part.value, copyMaps, parallel,
                                            [&](OpBuilder &nested, Location where, ValueRange x) {
                                              linalg::YieldOp::create(nested, where, x[0]);
                                            })
                      .getResult(0);
  return insert(part, written);
}

void BackwardOperands::cloneRegion(Region &from, Region &to, const Position &at, Operation *before) {
  if (from.empty())
    return;
  IRMapping mapping;
  from.cloneInto(&to, mapping);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<IndexOp> indices;
  to.walk([&](IndexOp index) { indices.push_back(index); });
  for (IndexOp index : indices) {
    bool isKey = llvm::is_contained({IndexKind::Key, IndexKind::FirstKey, IndexKind::EndKey}, index.getKind());
    if (!isKey && index.getKind() != IndexKind::Query) {
      b.setInsertionPoint(before);
      index.getResult().replaceAllUsesWith(evaluateIndex(index, at));
      index.erase();
      continue;
    }
    b.setInsertionPoint(before);
    Value offset = toIndex(at[isKey ? numBatch + 1 : numBatch]);
    b.setInsertionPointAfter(index);
    auto shifted = arith::AddIOp::create(b, loc, index, offset);
    index.getResult().replaceAllUsesExcept(shifted, shifted);
  }
}

Value BackwardOperands::evaluateIndex(IndexOp index, const Position &at) {
  switch (index.getKind()) {
  case IndexKind::Batch: return toIndex(at[0]);
  case IndexKind::Head: return toIndex(at[numBatch - 1]);
  case IndexKind::KvHead: return affine::makeComposedAffineApply(b, loc, getKvHeadMap(step), {at[numBatch - 1]});
  default: llvm_unreachable("no index of a task");
  }
}
